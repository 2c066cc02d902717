//! The encoder against the GNU assembler.

use std::path::Path;
use std::process::Command;

use super::encode::{
    Assembly, Condition, General, Instruction, Integer, Last, Memory, Opcode, Operand, Source,
    Vector,
};

const GENERALS: [General; 16] = [
    General::Rax,
    General::Rcx,
    General::Rdx,
    General::Rbx,
    General::Rsp,
    General::Rbp,
    General::Rsi,
    General::Rdi,
    General::R8,
    General::R9,
    General::R10,
    General::R11,
    General::R12,
    General::R13,
    General::R14,
    General::R15,
];
const DISPLACEMENTS: [i32; 6] = [0, 32, -128, 127, 128, -4096];

fn memories() -> Vec<Memory> {
    let mut memories = Vec::new();
    for displacement in DISPLACEMENTS {
        for base in GENERALS {
            memories.push(Memory::at(base, displacement));
            for index in [General::Rdx, General::R9] {
                memories.push(Memory::indexed(base, index, displacement));
            }
        }
    }
    memories.push(Memory::constant(0));
    memories.push(Memory::constant(1));
    memories
}

fn vector(
    opcode: Opcode,
    register: Vector,
    first: Option<Vector>,
    second: Source,
    last: Last,
) -> Instruction {
    Instruction::Vector {
        opcode,
        register,
        first,
        second,
        last,
    }
}

/// Every opcode with registers of both halves, and with every kind of address.
fn all_instructions() -> Vec<Instruction> {
    use Opcode::*;
    let (low, high) = (Vector(3), Vector(12));
    let mut all = Vec::new();
    let memories = memories();
    let three = [
        Add, Subtract, Multiply, Divide, Minimum, Maximum, And, Or, Xor, OddLanes,
    ];
    for register in [low, high] {
        for first in [low, high] {
            let vectors = [low, high].map(Source::Vector);
            let addresses = memories.iter().copied().map(Source::Memory);
            for second in vectors.into_iter().chain(addresses) {
                for opcode in three {
                    all.push(vector(opcode, register, Some(first), second, Last::None));
                }
                let compared = Last::Number(0x11);
                all.push(vector(Compare, register, Some(first), second, compared));
                for mask in [low, high] {
                    all.push(vector(
                        Blend,
                        register,
                        Some(first),
                        second,
                        Last::Mask(mask),
                    ));
                }
            }
            for memory in &memories {
                let second = Source::Memory(*memory);
                all.push(vector(
                    LoadMasked,
                    register,
                    Some(first),
                    second,
                    Last::None,
                ));
            }
            for general in [General::Rcx, General::R9] {
                let second = Source::General(general);
                all.push(vector(
                    FromInteger,
                    register,
                    Some(first),
                    second,
                    Last::None,
                ));
            }
        }
        for other in [low, high] {
            let second = Source::Vector(other);
            all.push(vector(SquareRoot, register, None, second, Last::None));
            all.push(vector(Round, register, None, second, Last::Number(9)));
            all.push(vector(UpperPair, register, None, second, Last::Number(1)));
        }
        for memory in &memories {
            let second = Source::Memory(*memory);
            for opcode in [Load, Store, StorePair, StoreOne, Broadcast, SquareRoot] {
                all.push(vector(opcode, register, None, second, Last::None));
            }
            all.push(vector(Round, register, None, second, Last::Number(10)));
        }
    }
    for register in GENERALS {
        let integers = [
            Integer::Move,
            Integer::Add,
            Integer::Subtract,
            Integer::And,
            Integer::Compare,
        ];
        for integer in integers {
            all.push(Instruction::General(
                integer,
                register,
                Operand::Number(-4096),
            ));
            all.push(Instruction::General(
                integer,
                register,
                Operand::Register(General::R9),
            ));
        }
        all.push(Instruction::General(
            Integer::Test,
            register,
            Operand::Number(1 << 20),
        ));
        all.push(Instruction::ShiftLeft(register, 3));
        all.push(Instruction::Push(register));
        all.push(Instruction::Pop(register));
    }
    for memory in memories {
        for register in [General::Rcx, General::R14] {
            for integer in [
                Integer::Move,
                Integer::Add,
                Integer::Multiply,
                Integer::Address,
            ] {
                all.push(Instruction::General(
                    integer,
                    register,
                    Operand::Memory(memory),
                ));
            }
            all.push(Instruction::Keep(memory, register));
        }
    }
    all.extend([Instruction::ClearUpper, Instruction::Return]);
    all
}

fn with_constants() -> Assembly {
    let mut assembly = Assembly::default();
    assembly.adjacent_constants([[1; 4], [2; 4]]);
    assembly
}

/// What the GNU disassembler reads in a file, an instruction a line.
fn disassembled(file: &Path, arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("objdump");
    command.args(["-d", "-Mintel", "--no-show-raw-insn"]);
    let output = command.args(arguments).arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let instructions = text.lines().filter_map(|line| line.split_once(":\t"));
    // Addresses of constants are apart by a constant in both files; what they are is seen when code runs.
    instructions
        .map(|(_, text)| text.split('#').next().unwrap_or(text).trim())
        .map(|text| match text.split_once("[rip+") {
            Some((before, after)) => {
                let after = after.split_once(']').map_or("", |(_, after)| after);
                format!("{before}[constant]{after}")
            }
            None => text.to_string(),
        })
        .collect()
}

#[test]
fn instructions_are_what_the_gnu_assembler_makes_of_their_text() {
    let folder = tempfile::tempdir().unwrap();
    let mut assembly = with_constants();
    assembly.instructions = all_instructions();
    let (text, object) = (folder.path().join("all.s"), folder.path().join("all.o"));
    let source = format!(".intel_syntax noprefix\n{assembly}");
    std::fs::write(&text, source).unwrap();
    let made = Command::new("as")
        .arg(&text)
        .arg("-o")
        .arg(&object)
        .output();
    let made = made.expect("the assembler of the linker's package");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let ours = folder.path().join("ours");
    std::fs::write(&ours, assembly.bytes()).unwrap();
    let ours = disassembled(&ours, &["-D", "-b", "binary", "-m", "i386:x86-64"]);
    let theirs = disassembled(&object, &[]);
    let count = assembly.instructions.len();
    assert!(theirs.len() >= count, "{} of {count}", theirs.len());
    for (at, instruction) in assembly.instructions.iter().enumerate() {
        assert_eq!(ours[at], theirs[at], "{instruction:?}");
    }
}

#[test]
fn jumps_and_constants_are_where_they_are_said_to_be() {
    let mut assembly = with_constants();
    let (back, on) = (assembly.label(), assembly.label());
    assembly.push(Instruction::Here(back));
    assembly.push(Instruction::Jump(Condition::Below, on));
    assembly.push(Instruction::Jump(Condition::Always, back));
    assembly.push(Instruction::Here(on));
    let constant = Source::Memory(Memory::constant(1));
    let rounded = vector(Opcode::Round, Vector(0), None, constant, Last::Number(9));
    assembly.push(rounded);
    let bytes = assembly.bytes();
    assert_eq!(bytes[..6], [0x0f, 0x82, 5, 0, 0, 0]);
    assert_eq!(bytes[6..11], [0xe9, 0xf5, 0xff, 0xff, 0xff]);
    // The instruction ends at 21, constants begin at 32, and the second one 32 bytes later.
    assert_eq!(bytes[16..21], [64 - 21, 0, 0, 0, 9]);
    assert_eq!(bytes[64..], [2u64.to_le_bytes(); 4].concat());
}
