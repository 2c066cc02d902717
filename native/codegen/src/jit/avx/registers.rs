//! Registers for straight-line code. There are no branches in it, so that what is needed again last can be seen, and is what makes
//! room (Belady, *A study of replacement algorithms*, 1966).

use super::cells::{Last, Operand, Operation, Target, Value};
use super::encode::{self, Assembly, General, Instruction, Memory, Opcode, Source, Vector};

/// Where everything is that straight-line code names.
pub(super) struct Surroundings<'a> {
    /// Registers that it may use.
    pub free: &'a [Vector],
    /// Numbers for all cells: in registers, or as vectors in memory.
    pub uniforms: &'a [Source],
    /// The addresses of streams, where the loop's offset is 0.
    pub streams: &'a [Pointer],
    /// Set for the last cells of a row, which are no whole vector: names them.
    pub mask: Option<Vector>,
}

/// Where the address of a stream's row is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pointer {
    Register(General),
    Memory(Memory),
}

/// Cells from the start of the row to where the loop stands, in bytes.
pub(super) const OFFSET: General = General::Rdx;
/// Bytes of the row's last cells that are no whole vector.
pub(super) const REST: General = General::Rcx;
/// For addresses that have no register of their own.
pub(super) const SCRATCH: General = General::Rbp;

/// How many registers the code needs at once.
pub(super) fn most_needed(operations: &[Operation], values: usize) -> usize {
    let last = last_uses(operations, values);
    let (mut live, mut most) = (0, 0);
    for (at, operation) in operations.iter().enumerate() {
        // An operand that has to be loaded takes a register meanwhile.
        let in_memory = |operand: &Operand| !matches!(operand, Operand::Value(_));
        let loaded = operation.first.filter(in_memory).is_some();
        most = most.max(live + usize::from(loaded));
        let mut ended: Vec<Value> = values_of(operation).collect();
        ended.retain(|value| last[value.0] == Some(at));
        ended.dedup();
        live -= ended.len().min(live);
        if let Target::Value(value) = operation.target
            && last[value.0].is_some()
        {
            live += 1;
            most = most.max(live);
        }
    }
    most
}

fn values_of(operation: &Operation) -> impl Iterator<Item = Value> {
    operation.operands().filter_map(|operand| match operand {
        Operand::Value(value) => Some(value),
        _ => None,
    })
}

fn last_uses(operations: &[Operation], values: usize) -> Vec<Option<usize>> {
    let mut last = vec![None; values];
    for (at, operation) in operations.iter().enumerate() {
        for value in values_of(operation) {
            last[value.0] = Some(at);
        }
    }
    last
}

/// Where a value is.
#[derive(Debug, Clone, Copy, Default)]
struct Home {
    register: Option<Vector>,
    /// Its vector in memory.
    spilled: Option<Memory>,
}

/// Emits operations with registers.
pub(super) struct Allocation<'a> {
    surroundings: &'a Surroundings<'a>,
    assembly: &'a mut Assembly,
    /// Vectors in the stack frame that were given out.
    spills: &'a mut Spills,
    homes: Vec<Home>,
    /// Uses of each value that are still to come, the next one last.
    uses: Vec<Vec<usize>>,
    free: Vec<Vector>,
    /// Values in registers.
    held: Vec<(Vector, Value)>,
    /// Registers of the operation at hand.
    pinned: Vec<Vector>,
}

/// Vectors of the stack frame in which values wait that no register is left for.
#[derive(Debug)]
pub(super) struct Spills {
    pub first: i32,
    pub count: usize,
}

impl Spills {
    pub fn take(&mut self) -> Memory {
        self.count += 1;
        Memory::at(General::Rsp, self.first + 32 * (self.count as i32 - 1))
    }
}

impl<'a> Allocation<'a> {
    pub fn emit(
        operations: &[Operation],
        values: usize,
        surroundings: &'a Surroundings<'a>,
        assembly: &'a mut Assembly,
        spills: &'a mut Spills,
    ) {
        let mut uses = vec![Vec::new(); values];
        for (at, operation) in operations.iter().enumerate().rev() {
            for value in values_of(operation) {
                uses[value.0].push(at);
            }
        }
        let mut allocation = Allocation {
            surroundings,
            assembly,
            spills,
            homes: vec![Home::default(); values],
            uses,
            free: surroundings.free.iter().rev().copied().collect(),
            held: Vec::new(),
            pinned: Vec::new(),
        };
        for operation in operations {
            allocation.operation(operation);
        }
    }

    fn operation(&mut self, operation: &Operation) {
        let mut borrowed = Vec::new();
        self.pinned.clear();
        // Before anything makes room: registers that operands are in stay theirs.
        for value in values_of(operation) {
            self.pinned.extend(self.homes[value.0].register);
        }
        let opcode = operation.opcode;
        let (mut first, mut second) = (operation.first, operation.second);
        if let Some(other) = first
            && opcode.is_commutative()
            && !self.is_in_register(other)
            && self.is_in_register(second)
        {
            (first, second) = (Some(second), other);
        }
        let first = first.map(|operand| self.in_register(operand, &mut borrowed));
        let last = match operation.last {
            Last::None => encode::Last::None,
            Last::Number(number) => encode::Last::Number(number),
            Last::Mask(mask) => encode::Last::Mask(self.in_register(mask, &mut borrowed)),
        };
        let writes = matches!(operation.target, Target::Cells(..)) || opcode == Opcode::UpperPair;
        let second = match writes {
            true => Source::Vector(self.in_register(second, &mut borrowed)),
            false => self.source(second, &mut borrowed),
        };
        self.end_uses(operation);
        self.free.extend(borrowed);
        match (operation.target, second) {
            (Target::Value(value), Source::Vector(source)) if opcode == Opcode::UpperPair => {
                let target = self.register_for(value);
                self.vector(opcode, source, None, Source::Vector(target), last);
            }
            (Target::Value(value), second) => {
                let target = self.register_for(value);
                self.vector(opcode, target, first, second, last);
            }
            (Target::Register(target), second) => self.vector(opcode, target, first, second, last),
            (Target::Cells(stream, bytes), Source::Vector(value)) => {
                self.store(stream, bytes, value);
            }
            // What is stored was put into a register above.
            (Target::Cells(..), _) => {}
        }
    }

    /// Registers of values that are not needed any more are free again.
    fn end_uses(&mut self, operation: &Operation) {
        for value in values_of(operation) {
            self.uses[value.0].pop();
        }
        let (uses, free) = (&self.uses, &mut self.free);
        self.held.retain(|(register, value)| {
            let is_needed = !uses[value.0].is_empty();
            if !is_needed {
                free.push(*register);
            }
            is_needed
        });
    }

    fn is_in_register(&self, operand: Operand) -> bool {
        match operand {
            Operand::Value(value) => self.homes[value.0].register.is_some(),
            Operand::Register(_) => true,
            Operand::Cells(..) => false,
            Operand::Uniform(at) => matches!(self.surroundings.uniforms[at], Source::Vector(_)),
        }
    }

    fn in_register(&mut self, operand: Operand, borrowed: &mut Vec<Vector>) -> Vector {
        let source = self.source(operand, borrowed);
        match (source, operand) {
            (Source::Vector(register), _) => register,
            (source, Operand::Value(value)) => {
                let register = self.take();
                self.hold(value, register);
                self.pinned.push(register);
                self.vector(Opcode::Load, register, None, source, encode::Last::None);
                register
            }
            (source, _) => {
                let register = self.borrow(borrowed);
                self.vector(Opcode::Load, register, None, source, encode::Last::None);
                register
            }
        }
    }

    /// An operand as instructions can read it. Cells beyond the row must not be, so that a mask names those that may.
    fn source(&mut self, operand: Operand, borrowed: &mut Vec<Vector>) -> Source {
        match operand {
            Operand::Register(register) => Source::Vector(register),
            Operand::Uniform(at) => self.surroundings.uniforms[at],
            Operand::Value(value) => match self.homes[value.0] {
                Home {
                    register: Some(register),
                    ..
                } => Source::Vector(register),
                // A value that is in no register was spilled when it left it.
                Home { spilled, .. } => {
                    debug_assert!(spilled.is_some(), "{value:?} is nowhere");
                    Source::Memory(spilled.unwrap_or(Memory::constant(0)))
                }
            },
            Operand::Cells(stream, bytes) => {
                let memory = self.cells(stream, bytes);
                let Some(mask) = self.surroundings.mask else {
                    return Source::Memory(memory);
                };
                let register = self.borrow(borrowed);
                let memory = Source::Memory(memory);
                let mask = Some(mask);
                self.vector(
                    Opcode::LoadMasked,
                    register,
                    mask,
                    memory,
                    encode::Last::None,
                );
                Source::Vector(register)
            }
        }
    }

    fn borrow(&mut self, borrowed: &mut Vec<Vector>) -> Vector {
        let register = self.take();
        self.pinned.push(register);
        borrowed.push(register);
        register
    }

    fn register_for(&mut self, value: Value) -> Vector {
        let register = self.take();
        match self.uses[value.0].is_empty() {
            true => self.free.push(register),
            false => self.hold(value, register),
        }
        register
    }

    fn hold(&mut self, value: Value, register: Vector) {
        self.homes[value.0].register = Some(register);
        self.held.push((register, value));
    }

    /// A register, if need be that of the value whose next use is farthest away.
    fn take(&mut self) -> Vector {
        if let Some(register) = self.free.pop() {
            return register;
        }
        let next = |value: Value| self.uses[value.0].last().copied();
        let candidates = self.held.iter().enumerate();
        let evictable = candidates.filter(|(_, (register, _))| !self.pinned.contains(register));
        let farthest = evictable.max_by_key(|(_, (_, value))| next(*value));
        // There are more registers than an operation can pin.
        let at = farthest.map_or(0, |(at, _)| at);
        let (register, value) = self.held.swap_remove(at);
        self.homes[value.0].register = None;
        if self.homes[value.0].spilled.is_none() {
            let memory = self.spills.take();
            self.homes[value.0].spilled = Some(memory);
            let memory = Source::Memory(memory);
            self.vector(Opcode::Store, register, None, memory, encode::Last::None);
        }
        register
    }

    /// The address of a stream's cells where the loop stands.
    fn cells(&mut self, stream: usize, bytes: i32) -> Memory {
        let base = match self.surroundings.streams[stream] {
            Pointer::Register(register) => register,
            Pointer::Memory(memory) => {
                let load = encode::Operand::Memory(memory);
                self.assembly
                    .push(Instruction::General(encode::Integer::Move, SCRATCH, load));
                SCRATCH
            }
        };
        Memory::indexed(base, OFFSET, bytes)
    }

    fn store(&mut self, stream: usize, bytes: i32, value: Vector) {
        let memory = self.cells(stream, bytes);
        let store = |this: &mut Self, opcode, value, memory| {
            this.vector(
                opcode,
                value,
                None,
                Source::Memory(memory),
                encode::Last::None,
            );
        };
        if self.surroundings.mask.is_none() {
            store(self, Opcode::Store, value, memory);
            return;
        }
        // Masked stores take a processor long: the first two, and one more, or only one.
        let (one, done) = (self.assembly.label(), self.assembly.label());
        let upper = self.take();
        let third = Memory {
            displacement: memory.displacement + 16,
            ..memory
        };
        let has = |this: &mut Self, bytes: i32, otherwise| {
            let bytes = encode::Operand::Number(bytes);
            let test = Instruction::General(encode::Integer::Test, REST, bytes);
            this.assembly.push(test);
            let jump = Instruction::Jump(encode::Condition::Zero, otherwise);
            this.assembly.push(jump);
        };
        has(self, 16, one);
        store(self, Opcode::StorePair, value, memory);
        has(self, 8, done);
        self.vector(
            Opcode::UpperPair,
            value,
            None,
            Source::Vector(upper),
            encode::Last::Number(1),
        );
        store(self, Opcode::StoreOne, upper, third);
        self.assembly
            .push(Instruction::Jump(encode::Condition::Always, done));
        self.assembly.push(Instruction::Here(one));
        store(self, Opcode::StoreOne, value, memory);
        self.assembly.push(Instruction::Here(done));
        self.free.push(upper);
    }

    fn vector(
        &mut self,
        opcode: Opcode,
        register: Vector,
        first: Option<Vector>,
        second: Source,
        last: encode::Last,
    ) {
        self.assembly.push(Instruction::Vector {
            opcode,
            register,
            first,
            second,
            last,
        });
    }
}
