//! Instructions as bytes and as text: those that loops over cells consist of, and no others.
//!
//! Encodings are those of AMD's and Intel's manuals (VEX prefixes with 256-bit vectors, which Cranelift does not emit). A test
//! compares them with what the GNU assembler makes of the text.

use std::fmt;

/// A register of four cells, 0 to 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Vector(pub u8);

/// A general register, by its number in encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum General {
    Rax,
    Rcx,
    Rdx,
    Rbx,
    Rsp,
    Rbp,
    Rsi,
    Rdi,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Register(General),
    /// The vector of that number among [`Assembly::constants`].
    Constant(usize),
}

/// An address: base, index and displacement added up, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    pub base: Base,
    pub index: Option<General>,
    pub displacement: i32,
}

impl Memory {
    pub fn at(base: General, displacement: i32) -> Self {
        Memory {
            base: Base::Register(base),
            index: None,
            displacement,
        }
    }

    pub fn indexed(base: General, index: General, displacement: i32) -> Self {
        Memory {
            index: Some(index),
            ..Memory::at(base, displacement)
        }
    }

    pub fn constant(number: usize) -> Self {
        Memory {
            base: Base::Constant(number),
            index: None,
            displacement: 0,
        }
    }
}

/// The operand of a vector instruction that may be in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Vector(Vector),
    General(General),
    Memory(Memory),
}

/// The last operand of a general instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Register(General),
    Memory(Memory),
    Number(i32),
}

/// What a vector instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opcode {
    Load,
    Store,
    /// The lower two lanes.
    StorePair,
    /// The lowest lane.
    StoreOne,
    /// The lanes that a mask names; zeros in the others.
    LoadMasked,
    /// One number into all lanes.
    Broadcast,
    Add,
    Subtract,
    Multiply,
    Divide,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    SquareRoot,
    Round,
    Compare,
    /// The second operand where the mask is set, else the first.
    Blend,
    /// The upper two lanes, of `register`, to the lower ones of `second`.
    UpperPair,
    /// The odd lanes of two vectors.
    OddLanes,
    FromInteger,
}

/// How an opcode is encoded.
struct Encoding {
    name: &'static str,
    prefix: u8,
    map: u8,
    byte: u8,
    /// W of the VEX prefix.
    wide: bool,
    /// Bits of a vector.
    bits: u32,
}

impl Opcode {
    fn encoding(self) -> Encoding {
        use Opcode::*;
        // The prefix's number for 66, F3, F2; the map's for 0F, 0F38, 0F3A.
        let (name, prefix, map, byte) = match self {
            Load => ("vmovupd", 1, 1, 0x10),
            Store | StorePair => ("vmovupd", 1, 1, 0x11),
            StoreOne => ("vmovsd", 3, 1, 0x11),
            LoadMasked => ("vmaskmovpd", 1, 2, 0x2d),
            Broadcast => ("vbroadcastsd", 1, 2, 0x19),
            Add => ("vaddpd", 1, 1, 0x58),
            Multiply => ("vmulpd", 1, 1, 0x59),
            Subtract => ("vsubpd", 1, 1, 0x5c),
            Minimum => ("vminpd", 1, 1, 0x5d),
            Divide => ("vdivpd", 1, 1, 0x5e),
            Maximum => ("vmaxpd", 1, 1, 0x5f),
            And => ("vandpd", 1, 1, 0x54),
            Or => ("vorpd", 1, 1, 0x56),
            Xor => ("vxorpd", 1, 1, 0x57),
            SquareRoot => ("vsqrtpd", 1, 1, 0x51),
            Round => ("vroundpd", 1, 3, 0x09),
            Compare => ("vcmppd", 1, 1, 0xc2),
            Blend => ("vblendvpd", 1, 3, 0x4b),
            UpperPair => ("vextractf128", 1, 3, 0x19),
            OddLanes => ("vunpckhpd", 1, 1, 0x15),
            FromInteger => ("vcvtsi2sd", 3, 1, 0x2a),
        };
        Encoding {
            name,
            prefix,
            map,
            byte,
            wide: self == FromInteger,
            bits: match self {
                StorePair | StoreOne | FromInteger => 128,
                _ => 256,
            },
        }
    }

    /// Whether the operands can be exchanged.
    pub fn is_commutative(self) -> bool {
        use Opcode::*;
        matches!(self, Add | Multiply | And | Or | Xor)
    }

    fn writes_second(self) -> bool {
        use Opcode::*;
        matches!(self, Store | StorePair | StoreOne | UpperPair)
    }
}

/// The last operand of some vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    None,
    Number(u8),
    Mask(Vector),
}

/// What a general instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integer {
    Move,
    Add,
    Subtract,
    And,
    Compare,
    Multiply,
    Test,
    /// The address of an operand.
    Address,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Below,
    AboveOrEqual,
    /// The bits tested are none.
    Zero,
    NotEqual,
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instruction {
    Vector {
        opcode: Opcode,
        register: Vector,
        first: Option<Vector>,
        second: Source,
        last: Last,
    },
    General(Integer, General, Operand),
    /// A register to memory.
    Keep(Memory, General),
    ShiftLeft(General, u8),
    Push(General),
    Pop(General),
    Jump(Condition, Label),
    Here(Label),
    /// Upper halves of vector registers are clean again: code for older vectors would be slow otherwise.
    ClearUpper,
    Return,
}

/// Instructions, and the vectors in memory that they read.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    pub instructions: Vec<Instruction>,
    constants: Vec<[u64; 4]>,
    labels: usize,
}

/// Where bytes are filled in once it is known where everything lies.
enum Fix {
    Label(usize),
    /// A constant, and the bytes of the instruction after the place.
    Constant(usize, usize),
}

impl Assembly {
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    pub fn push(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    /// The number of a vector in memory.
    pub fn constant(&mut self, lanes: [u64; 4]) -> usize {
        let known = self.constants.iter().position(|known| *known == lanes);
        known.unwrap_or_else(|| {
            self.constants.push(lanes);
            self.constants.len() - 1
        })
    }

    /// Vectors at numbers that follow each other; gives that of the first.
    pub fn adjacent_constants(&mut self, vectors: [[u64; 4]; 2]) -> usize {
        let known = self.constants.windows(2).position(|pair| pair == vectors);
        known.unwrap_or_else(|| {
            self.constants.extend(vectors);
            self.constants.len() - 2
        })
    }

    /// The bytes of the instructions and, at a multiple of 32 after them, of the constants.
    pub fn bytes(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        let mut labels = vec![0; self.labels];
        for instruction in &self.instructions {
            match instruction {
                Instruction::Here(label) => labels[label.0] = encoder.bytes.len(),
                other => encoder.instruction(other),
            }
        }
        let Encoder { mut bytes, fixes } = encoder;
        bytes.resize(bytes.len().next_multiple_of(32), 0xcc);
        let constants = bytes.len();
        for (place, fix) in fixes {
            let (target, next) = match fix {
                Fix::Label(label) => (labels[label], place + 4),
                Fix::Constant(number, after) => (constants + 32 * number, place + 4 + after),
            };
            let distance = target as i64 - next as i64 + read_i32(&bytes, place);
            bytes[place..place + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        for lane in self.constants.iter().flatten() {
            bytes.extend(lane.to_le_bytes());
        }
        bytes
    }
}

fn read_i32(bytes: &[u8], place: usize) -> i64 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[place..place + 4]);
    i64::from(i32::from_le_bytes(number))
}

#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    fixes: Vec<(usize, Fix)>,
}

/// The `rm` operand of an encoding.
#[derive(Clone, Copy)]
enum Second {
    Register(u8),
    Memory(Memory),
}

impl Second {
    /// Bits that prefixes have for the registers' upper halves: of the index, of the base.
    fn upper_bits(self) -> (bool, bool) {
        match self {
            Second::Register(number) => (false, number >= 8),
            Second::Memory(memory) => {
                let index = memory.index.is_some_and(|index| index as u8 >= 8);
                let base = matches!(memory.base, Base::Register(base) if base as u8 >= 8);
                (index, base)
            }
        }
    }
}

impl From<Source> for Second {
    fn from(source: Source) -> Self {
        match source {
            Source::Vector(vector) => Second::Register(vector.0),
            Source::General(general) => Second::Register(general as u8),
            Source::Memory(memory) => Second::Memory(memory),
        }
    }
}

impl Encoder {
    fn instruction(&mut self, instruction: &Instruction) {
        match *instruction {
            Instruction::Vector {
                opcode,
                register,
                first,
                second,
                last,
            } => self.vector(opcode, register, first, second, last),
            Instruction::General(operation, register, operand) => {
                self.general(operation, register as u8, operand);
            }
            Instruction::Keep(memory, register) => {
                self.with_rex(&[0x89], register as u8, Second::Memory(memory), 0);
            }
            Instruction::ShiftLeft(register, by) => {
                self.with_rex(&[0xc1], 4, Second::Register(register as u8), 1);
                self.bytes.push(by);
            }
            Instruction::Push(register) => self.short(0x50, register),
            Instruction::Pop(register) => self.short(0x58, register),
            Instruction::Jump(condition, label) => {
                let opcode: &[u8] = match condition {
                    Condition::Below => &[0x0f, 0x82],
                    Condition::AboveOrEqual => &[0x0f, 0x83],
                    Condition::Zero => &[0x0f, 0x84],
                    Condition::NotEqual => &[0x0f, 0x85],
                    Condition::Always => &[0xe9],
                };
                self.bytes.extend(opcode);
                self.fixes.push((self.bytes.len(), Fix::Label(label.0)));
                self.bytes.extend([0; 4]);
            }
            Instruction::Here(_) => {}
            Instruction::ClearUpper => self.bytes.extend([0xc5, 0xf8, 0x77]),
            Instruction::Return => self.bytes.push(0xc3),
        }
    }

    fn vector(
        &mut self,
        opcode: Opcode,
        register: Vector,
        first: Option<Vector>,
        second: Source,
        last: Last,
    ) {
        let encoding = opcode.encoding();
        let second = Second::from(second);
        let (index, base) = second.upper_bits();
        let bit = |set: bool, at: u8| u8::from(set) << at;
        // Registers' numbers are inverted there.
        let vvvv = (!first.map_or(0, |first| first.0) & 0xf) << 3;
        let rest = vvvv | bit(encoding.bits == 256, 2) | encoding.prefix;
        if index || base || encoding.wide || encoding.map != 1 {
            let upper = bit(register.0 < 8, 7) | bit(!index, 6) | bit(!base, 5);
            let wide = bit(encoding.wide, 7);
            self.bytes.extend([0xc4, upper | encoding.map, wide | rest]);
        } else {
            self.bytes.extend([0xc5, bit(register.0 < 8, 7) | rest]);
        }
        self.bytes.push(encoding.byte);
        let last = match last {
            Last::None => None,
            Last::Number(number) => Some(number),
            Last::Mask(mask) => Some(mask.0 << 4),
        };
        self.operands(register.0, second, usize::from(last.is_some()));
        self.bytes.extend(last);
    }

    fn general(&mut self, operation: Integer, register: u8, operand: Operand) {
        // With a register or memory, and with a number: the latter's opcode has an extension.
        let (opcode, of_number): (&[u8], (u8, u8)) = match operation {
            Integer::Move => (&[0x8b], (0xc7, 0)),
            Integer::Add => (&[0x03], (0x81, 0)),
            Integer::Subtract => (&[0x2b], (0x81, 5)),
            Integer::And => (&[0x23], (0x81, 4)),
            Integer::Compare => (&[0x3b], (0x81, 7)),
            Integer::Multiply => (&[0x0f, 0xaf], (0x69, register)),
            Integer::Test => (&[0x85], (0xf7, 0)),
            Integer::Address => (&[0x8d], (0x81, 0)),
        };
        match operand {
            Operand::Register(other) => {
                self.with_rex(opcode, register, Second::Register(other as u8), 0);
            }
            Operand::Memory(memory) => self.with_rex(opcode, register, Second::Memory(memory), 0),
            Operand::Number(number) => {
                let (opcode, extension) = of_number;
                self.with_rex(&[opcode], extension, Second::Register(register), 4);
                self.bytes.extend(number.to_le_bytes());
            }
        }
    }

    fn with_rex(&mut self, opcode: &[u8], register: u8, second: Second, after: usize) {
        let (index, base) = second.upper_bits();
        let upper = u8::from(register >= 8) << 2 | u8::from(index) << 1 | u8::from(base);
        self.bytes.push(0x48 | upper);
        self.bytes.extend(opcode);
        self.operands(register, second, after);
    }

    fn short(&mut self, opcode: u8, register: General) {
        let number = register as u8;
        if number >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.push(opcode + (number & 7));
    }

    /// The bytes that name a register and a register or memory; `after`: the bytes that follow in the instruction.
    fn operands(&mut self, register: u8, second: Second, after: usize) {
        let register = (register & 7) << 3;
        let memory = match second {
            Second::Register(number) => {
                self.bytes.push(0xc0 | register | number & 7);
                return;
            }
            Second::Memory(memory) => memory,
        };
        let base = match memory.base {
            Base::Register(base) => base as u8 & 7,
            Base::Constant(number) => {
                self.bytes.push(register | 5);
                self.fixes
                    .push((self.bytes.len(), Fix::Constant(number, after)));
                self.bytes.extend(memory.displacement.to_le_bytes());
                return;
            }
        };
        // The number of rbp and r13 without a displacement means something else, and that of rsp and r12 asks for an index.
        let short = i8::try_from(memory.displacement);
        let mode = match short {
            Ok(0) if base != 5 => 0x00,
            Ok(_) => 0x40,
            Err(_) => 0x80,
        };
        match memory.index {
            None if base != 4 => self.bytes.push(mode | register | base),
            index => {
                let index = index.map_or(4, |index| index as u8 & 7);
                self.bytes.extend([mode | register | 4, index << 3 | base]);
            }
        }
        match (mode, short) {
            (0x00, _) => {}
            (0x40, Ok(short)) => self.bytes.extend(short.to_le_bytes()),
            _ => self.bytes.extend(memory.displacement.to_le_bytes()),
        }
    }
}

impl fmt::Display for General {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            Base::Register(base) => write!(f, "[{base}")?,
            Base::Constant(number) => write!(f, "[rip+constant{number}")?,
        }
        if let Some(index) = self.index {
            write!(f, "+{index}")?;
        }
        match self.displacement {
            0 => write!(f, "]"),
            some => write!(f, "{some:+}]"),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Register(register) => write!(f, "{register}"),
            Operand::Memory(memory) => write!(f, "{memory}"),
            Operand::Number(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instruction::Vector {
                opcode,
                register,
                first,
                second,
                last,
            } => {
                let encoding = opcode.encoding();
                let named = |vector: Vector, bits: u32| match bits {
                    256 => format!("ymm{}", vector.0),
                    _ => format!("xmm{}", vector.0),
                };
                let bits = encoding.bits;
                let second = match second {
                    Source::Vector(vector) if *opcode == Opcode::UpperPair => named(*vector, 128),
                    Source::Vector(vector) => named(*vector, bits),
                    Source::General(general) => general.to_string(),
                    Source::Memory(memory) => memory.to_string(),
                };
                let mut operands = vec![named(*register, bits)];
                operands.extend(first.map(|first| named(first, bits)));
                operands.push(second);
                if opcode.writes_second() {
                    operands.reverse();
                }
                match last {
                    Last::None => {}
                    Last::Number(number) => operands.push(number.to_string()),
                    Last::Mask(mask) => operands.push(named(*mask, 256)),
                }
                write!(f, "  {} {}", encoding.name, operands.join(", "))
            }
            Instruction::General(operation, register, operand) => {
                let name = match operation {
                    Integer::Move => "mov",
                    Integer::Add => "add",
                    Integer::Subtract => "sub",
                    Integer::And => "and",
                    Integer::Compare => "cmp",
                    Integer::Multiply => "imul",
                    Integer::Test => "test",
                    Integer::Address => "lea",
                };
                write!(f, "  {name} {register}, {operand}")
            }
            Instruction::Keep(memory, register) => write!(f, "  mov {memory}, {register}"),
            Instruction::ShiftLeft(register, by) => write!(f, "  shl {register}, {by}"),
            Instruction::Push(register) => write!(f, "  push {register}"),
            Instruction::Pop(register) => write!(f, "  pop {register}"),
            Instruction::Jump(condition, label) => {
                let name = match condition {
                    Condition::Below => "jb",
                    Condition::AboveOrEqual => "jae",
                    Condition::Zero => "jz",
                    Condition::NotEqual => "jne",
                    Condition::Always => "jmp",
                };
                write!(f, "  {name} label{}", label.0)
            }
            Instruction::Here(label) => write!(f, "label{}:", label.0),
            Instruction::ClearUpper => f.write_str("  vzeroupper"),
            Instruction::Return => f.write_str("  ret"),
        }
    }
}

impl fmt::Display for Assembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for instruction in &self.instructions {
            writeln!(f, "{instruction}")?;
        }
        for (number, lanes) in self.constants.iter().enumerate() {
            let lanes = lanes.map(|lane| format!("{lane:#x}"));
            writeln!(f, "constant{number}: .quad {}", lanes.join(", "))?;
        }
        Ok(())
    }
}
