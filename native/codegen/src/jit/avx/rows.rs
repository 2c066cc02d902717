//! A loop over rows with passes over their cells: unrolled vectors, vectors, and the last cells of a row under a mask.

use std::collections::HashMap;

use fulgurite_fusion::cplan::{CNode, NodeId};
use fulgurite_hop::AggregateOp;

use super::cells::{Cells, Last, Operand, Operation, Target, Uniform, Uniforms};
use super::encode::{
    self, Assembly, Condition, General, Instruction, Integer, Memory, Opcode, Source, Vector,
};
use super::registers::{
    Allocation, OFFSET, Pointer, REST, SCRATCH, Spills, Surroundings, most_needed,
};
use crate::aggregates::{self, identity};
use crate::cellwise::{self, CellInstructions};
use crate::program::{Layout, Location, Loop, Program, Read, Shape, Stride};

/// Vector registers of a processor.
const REGISTERS: usize = 16;
/// Registers that operations have at least: more than one of them reads and writes.
const LEAST: usize = 5;
/// Accumulators at most.
const MOST_ACCUMULATORS: usize = 8;
/// Operations on a cell of loops that are read and written faster eight vectors at a time than four.
const FEW: usize = 2;
/// Operations of a body beyond which more vectors together would take longer to compile than they save.
const LONGEST_BODY: usize = 1200;

/// The function's parameter.
const FRAME: General = General::Rdi;
/// The number of the row.
const ROW: General = General::Rsi;
/// Bytes of a pass.
const BYTES: General = General::Rax;
/// Addresses of streams; further ones wait in memory.
const POINTERS: [General; 9] = [
    General::R8,
    General::R9,
    General::R10,
    General::R11,
    General::Rbx,
    General::R12,
    General::R13,
    General::R14,
    General::R15,
];
/// Registers that belong to the caller.
const SAVED: [General; 6] = [
    General::Rbx,
    General::Rbp,
    General::R12,
    General::R13,
    General::R14,
    General::R15,
];
/// Where the stack frame has the caller's stack pointer, and how many rows there are.
const CALLERS_STACK: Memory = at_stack(0);
const ROWS: Memory = at_stack(8);
/// Where vectors begin there.
const VECTORS: i32 = 32;
/// Bytes of a stack frame at most.
const LARGEST_FRAME: i32 = 32 << 10;
/// Bytes of the stack from one touch to the next, so that none jumps over the page that guards it.
const PAGE: i32 = 4 << 10;

const fn at_stack(displacement: i32) -> Memory {
    Memory {
        base: encode::Base::Register(General::Rsp),
        index: None,
        displacement,
    }
}

/// What a loop's nodes are, to the code of its cells.
struct Body<'a> {
    nodes: &'a [CNode],
    step: &'a Loop,
    /// Streams by the node whose cells they have, and how often these are read.
    streams: HashMap<NodeId, (usize, usize)>,
    spread: HashMap<NodeId, Uniform>,
    stores: Vec<(NodeId, usize)>,
    reductions: Vec<(AggregateOp, NodeId)>,
    /// Locations of streams, those of stores after those that are read.
    locations: Vec<Location>,
    /// Locations of numbers for a row each.
    per_row: Vec<Location>,
}

impl<'a> Body<'a> {
    fn of(program: &'a Program, layout: &Layout, step: &'a Loop) -> Self {
        let mut body = Body {
            nodes: &program.nodes,
            step,
            streams: HashMap::new(),
            spread: HashMap::new(),
            stores: Vec::new(),
            reductions: Vec::new(),
            locations: Vec::new(),
            per_row: Vec::new(),
        };
        for (id, read) in program.reads(layout, step) {
            let uniform = match read {
                Read::Literal(literal) => Uniform::Literal(literal.to_bits()),
                Read::Constant(slot) => Uniform::Slot(slot),
                Read::PerRow(location) => {
                    body.per_row.push(location);
                    Uniform::PerRow(body.per_row.len() - 1)
                }
                Read::Stream(location) => {
                    body.streams.insert(id, (body.locations.len(), 0));
                    body.locations.push(location);
                    continue;
                }
            };
            body.spread.insert(id, uniform);
        }
        for (id, location) in program.stores(layout, step) {
            body.stores.push((id, body.locations.len()));
            body.locations.push(location);
        }
        for id in &step.reductions {
            if let CNode::Reduce(op, operand) = &program.nodes[id.index()] {
                body.reductions.push((*op, *operand));
            }
        }
        let read = step
            .nodes
            .iter()
            .flat_map(|id| body.nodes[id.index()].operands());
        let read = read.chain(body.stores.iter().map(|(id, _)| *id));
        let read = read.chain(body.reductions.iter().map(|(_, id)| *id));
        for id in read {
            if let Some((_, uses)) = body.streams.get_mut(&id) {
                *uses += 1;
            }
        }
        body
    }

    /// How many vectors are worked on together, so that the operations of one need not wait for each other. `live`: how many values of a
    /// cell are needed at once.
    fn copies(&self, live: usize) -> usize {
        let (nodes, reductions) = (self.step.nodes.len(), self.reductions.len());
        let fits = |copies: &usize| {
            let accumulators = copies * reductions;
            accumulators <= MOST_ACCUMULATORS
                && copies * nodes <= LONGEST_BODY
                && accumulators + copies * live < REGISTERS
                && (nodes <= FEW || *copies <= 4)
        };
        [8, 4, 2].into_iter().find(fits).unwrap_or(1)
    }

    /// The operations for some vectors that follow each other, operation by operation. `accumulators` has those of each reduction,
    /// one for each vector.
    fn code(
        &self,
        uniforms: &mut Uniforms,
        copies: usize,
        accumulators: &[Vec<Vector>],
        mask: Option<Vector>,
    ) -> (Vec<Operation>, usize) {
        let mut cells = Cells::new(uniforms);
        let mut known: Vec<Vec<Option<Operand>>> = vec![vec![None; self.nodes.len()]; copies];
        let read =
            |cells: &mut Cells<'_>, known: &mut [Option<Operand>], copy: usize, id: NodeId| {
                if let Some(operand) = known[id.index()] {
                    return Some(operand);
                }
                if let Some(uniform) = self.spread.get(&id) {
                    return Some(cells.uniform(*uniform));
                }
                let (stream, uses) = *self.streams.get(&id)?;
                let operand = Operand::Cells(stream, 32 * copy as i32);
                if uses == 1 {
                    return Some(operand);
                }
                let loaded = cells.load(operand);
                known[id.index()] = Some(loaded);
                Some(loaded)
            };
        for id in &self.step.nodes {
            let node = &self.nodes[id.index()];
            for (copy, known) in known.iter_mut().enumerate() {
                let operands = node.operands().into_iter();
                let operands: Vec<Operand> = operands
                    .filter_map(|operand| read(&mut cells, known, copy, operand))
                    .collect();
                known[id.index()] = cellwise::node(&mut cells, self.nodes, node, &operands);
            }
        }
        for (id, stream) in &self.stores {
            for (copy, known) in known.iter_mut().enumerate() {
                if let Some(value) = read(&mut cells, known, copy, *id) {
                    cells.store(Target::Cells(*stream, 32 * copy as i32), value);
                }
            }
        }
        for ((op, id), accumulators) in self.reductions.iter().zip(accumulators) {
            for (copy, known) in known.iter_mut().enumerate() {
                let Some(mut value) = read(&mut cells, known, copy, *id) else {
                    continue;
                };
                if let Some(mask) = mask {
                    let identity = cells.literal(identity(*op));
                    value = cells.choose(Operand::Register(mask), value, identity);
                }
                cells.accumulate(*op, accumulators[copy], value);
            }
        }
        (cells.operations, cells.values)
    }
}

/// The function for a loop; `None` where something lies too far away for an instruction, there are more reductions than registers, or
/// so much waits in memory that the stack frame would be too large.
pub(super) fn assemble(program: &Program, layout: &Layout, step: &Loop) -> Option<Assembly> {
    let body = Body::of(program, layout, step);
    let skipped = body.locations.iter().chain(&body.per_row);
    let mut skipped = skipped.map(|location| i32::try_from(location.skip * 8));
    if skipped.any(|skip| skip.is_err()) || i32::try_from(8 * layout.length()).is_err() {
        return None;
    }
    // A register for the mask is needed, too.
    if body.reductions.len() + LEAST >= REGISTERS {
        return None;
    }
    Function::new(program, layout, &body).assemble()
}

/// A function while it is put together.
struct Function<'a> {
    program: &'a Program,
    layout: &'a Layout,
    body: &'a Body<'a>,
    copies: usize,
    /// Of each reduction, one for each copy.
    accumulators: Vec<Vec<Vector>>,
    /// Registers that nobody has for the whole loop.
    free: Vec<Vector>,
    uniforms: Uniforms,
    /// Where each number for all cells is.
    homes: Vec<Source>,
    pointers: Vec<Pointer>,
    spills: Spills,
    assembly: Assembly,
}

impl<'a> Function<'a> {
    fn new(program: &'a Program, layout: &'a Layout, body: &'a Body<'a>) -> Self {
        // What the code names, and how many registers a vector needs: the same whichever its accumulators are.
        let mut uniforms = Uniforms::default();
        let any = vec![vec![Vector(0)]; body.reductions.len()];
        let (operations, values) = body.code(&mut uniforms, 1, &any, None);
        body.code(&mut uniforms, 1, &any, Some(Vector(0)));
        if body
            .reductions
            .iter()
            .any(|(op, _)| aggregates::is_mean(*op))
        {
            uniforms.add(Uniform::Count);
        }
        let live = most_needed(&operations, values);
        let copies = body.copies(live);
        let needed = (copies * live).max(LEAST);
        let mut registers = (0..REGISTERS as u8).map(Vector).collect::<Vec<_>>();
        let mut take = |count: usize| registers.split_off(registers.len() - count);
        let accumulators = body.reductions.iter().map(|_| take(copies)).collect();
        let mut function = Function {
            program,
            layout,
            body,
            copies,
            accumulators,
            free: Vec::new(),
            homes: Vec::new(),
            pointers: Vec::new(),
            spills: Spills {
                first: VECTORS,
                count: 0,
            },
            assembly: Assembly::default(),
            uniforms,
        };
        let spare = registers.len().saturating_sub(needed);
        function.place_uniforms(&operations, &mut registers, spare);
        function.free = registers;
        function.place_pointers();
        function
    }

    /// Those that are read most often come into registers.
    fn place_uniforms(
        &mut self,
        operations: &[Operation],
        registers: &mut Vec<Vector>,
        spare: usize,
    ) {
        let mut uses = vec![0; self.uniforms.0.len()];
        for operation in operations {
            for operand in operation.operands() {
                if let Operand::Uniform(at) = operand {
                    // A first operand would have to be loaded.
                    let is_first = operation.first == Some(operand);
                    uses[at] += if is_first { 2 } else { 1 };
                }
            }
        }
        let mut order: Vec<usize> = (0..uses.len()).filter(|at| uses[*at] > 0).collect();
        order.sort_by_key(|at| std::cmp::Reverse(uses[*at]));
        order.truncate(spare);
        for at in 0..uses.len() {
            let home = match (order.contains(&at), self.uniforms.0[at]) {
                (true, _) => registers.pop().map(Source::Vector),
                _ => None,
            };
            let home = home.unwrap_or_else(|| match self.uniforms.0[at] {
                Uniform::Literal(bits) => {
                    Source::Memory(Memory::constant(self.assembly.constant([bits; 4])))
                }
                _ => Source::Memory(self.spills.take()),
            });
            self.homes.push(home);
        }
    }

    fn place_pointers(&mut self) {
        for at in 0..self.body.locations.len() {
            let pointer = match POINTERS.get(at) {
                Some(register) => Pointer::Register(*register),
                None => Pointer::Memory(self.spills.take()),
            };
            self.pointers.push(pointer);
        }
    }

    fn assemble(mut self) -> Option<Assembly> {
        let next_row = self.assembly.label();
        self.measure_pass();
        self.fill_uniforms_once();
        self.general(Integer::Move, ROW, encode::Operand::Number(0));
        self.assembly.push(Instruction::Here(next_row));
        self.enter_row();
        self.passes();
        self.finish_row();
        self.general(Integer::Add, ROW, encode::Operand::Number(1));
        self.general(Integer::Compare, ROW, encode::Operand::Memory(ROWS));
        self.jump(Condition::Below, next_row);
        // How large the stack frame is has become known.
        let inner = std::mem::take(&mut self.assembly.instructions);
        for register in SAVED {
            self.assembly.push(Instruction::Push(register));
        }
        let size = VECTORS + 32 * self.spills.count as i32;
        if size > LARGEST_FRAME {
            return None;
        }
        let stack = General::Rsp;
        self.general(
            Integer::Move,
            General::Rax,
            encode::Operand::Register(stack),
        );
        for _ in 0..size / PAGE {
            self.general(Integer::Subtract, stack, encode::Operand::Number(PAGE));
            self.assembly
                .push(Instruction::Keep(CALLERS_STACK, General::Rax));
        }
        let rest = encode::Operand::Number(size % PAGE);
        self.general(Integer::Subtract, stack, rest);
        self.general(Integer::And, stack, encode::Operand::Number(-32));
        self.assembly
            .push(Instruction::Keep(CALLERS_STACK, General::Rax));
        self.assembly.instructions.extend(inner);
        self.general(Integer::Move, stack, encode::Operand::Memory(CALLERS_STACK));
        for register in SAVED.into_iter().rev() {
            self.assembly.push(Instruction::Pop(register));
        }
        self.assembly.push(Instruction::ClearUpper);
        self.assembly.push(Instruction::Return);
        Some(self.assembly)
    }

    fn slot(slot: usize) -> Memory {
        Memory::at(FRAME, 8 * slot as i32)
    }

    /// How many bytes a pass has, and how many passes there are.
    fn measure_pass(&mut self) {
        let rows = Self::slot(self.layout.rows());
        let Shape::Vector(class) = self.body.step.shape else {
            // Numbers of successive rows are adjacent: the rows are the cells of one pass.
            self.general(Integer::Move, BYTES, encode::Operand::Memory(rows));
            self.assembly.push(Instruction::ShiftLeft(BYTES, 3));
            self.general(Integer::Move, REST, encode::Operand::Number(1));
            self.assembly.push(Instruction::Keep(ROWS, REST));
            return;
        };
        let width = self.layout.width(class);
        self.general(
            Integer::Move,
            BYTES,
            encode::Operand::Memory(Self::slot(width)),
        );
        self.assembly.push(Instruction::ShiftLeft(BYTES, 3));
        self.general(Integer::Move, REST, encode::Operand::Memory(rows));
        self.assembly.push(Instruction::Keep(ROWS, REST));
        if self.body.per_row.is_empty() && self.body.reductions.is_empty() {
            self.join_rows(width);
        }
    }

    /// Rows that follow each other without a gap in all streams are one.
    fn join_rows(&mut self, width: usize) {
        let apart = self.assembly.label();
        self.general(
            Integer::Move,
            REST,
            encode::Operand::Memory(Self::slot(width)),
        );
        let mut strides: Vec<usize> = Vec::new();
        for location in &self.body.locations {
            match location.row_stride {
                Stride::Slot(slot) if slot != width && !strides.contains(&slot) => {
                    strides.push(slot);
                }
                _ => {}
            }
        }
        for stride in strides {
            self.general(
                Integer::Compare,
                REST,
                encode::Operand::Memory(Self::slot(stride)),
            );
            self.jump(Condition::NotEqual, apart);
        }
        let rows = encode::Operand::Memory(Self::slot(self.layout.rows()));
        self.general(Integer::Multiply, BYTES, rows);
        self.general(Integer::Move, REST, encode::Operand::Number(1));
        self.assembly.push(Instruction::Keep(ROWS, REST));
        self.assembly.push(Instruction::Here(apart));
    }

    fn fill_uniforms_once(&mut self) {
        for at in 0..self.homes.len() {
            match (self.uniforms.0[at], self.homes[at]) {
                (Uniform::Slot(slot), home) => self.broadcast(Self::slot(slot), home),
                (Uniform::Literal(bits), Source::Vector(register)) => {
                    let constant = Memory::constant(self.assembly.constant([bits; 4]));
                    self.vector(Opcode::Load, register, Source::Memory(constant));
                }
                (Uniform::Count, Source::Memory(memory)) => {
                    let cells = Self::slot(match self.body.step.shape {
                        Shape::Vector(class) => self.layout.width(class),
                        _ => self.layout.rows(),
                    });
                    let any = self.free[0];
                    self.general(Integer::Move, REST, encode::Operand::Memory(cells));
                    self.assembly.push(Instruction::Vector {
                        opcode: Opcode::FromInteger,
                        register: any,
                        first: Some(any),
                        second: Source::General(REST),
                        last: encode::Last::None,
                    });
                    self.vector(Opcode::Store, any, Source::Memory(memory));
                }
                _ => {}
            }
        }
    }

    /// A number from memory into all lanes of a register, or of a vector in memory.
    fn broadcast(&mut self, number: Memory, home: Source) {
        match home {
            Source::Vector(register) => {
                self.vector(Opcode::Broadcast, register, Source::Memory(number));
            }
            memory => {
                let any = self.free[0];
                self.vector(Opcode::Broadcast, any, Source::Memory(number));
                self.vector(Opcode::Store, any, memory);
            }
        }
    }

    fn enter_row(&mut self) {
        for at in 0..self.body.locations.len() {
            let location = self.body.locations[at];
            match self.pointers[at] {
                Pointer::Register(register) => self.address(location, register),
                Pointer::Memory(memory) => {
                    self.address(location, SCRATCH);
                    self.assembly.push(Instruction::Keep(memory, SCRATCH));
                }
            }
        }
        for at in 0..self.homes.len() {
            if let Uniform::PerRow(number) = self.uniforms.0[at] {
                self.address(self.body.per_row[number], SCRATCH);
                self.broadcast(Memory::at(SCRATCH, 0), self.homes[at]);
            }
        }
        for at in 0..self.accumulators.len() {
            let (op, _) = self.body.reductions[at];
            let identity = identity(op).to_bits();
            let identity = Memory::constant(self.assembly.constant([identity; 4]));
            for copy in 0..self.copies {
                let register = self.accumulators[at][copy];
                self.vector(Opcode::Load, register, Source::Memory(identity));
            }
        }
    }

    /// The address of the row's first cell.
    fn address(&mut self, location: Location, register: General) {
        match location.row_stride {
            Stride::Slot(slot) => {
                let stride = encode::Operand::Memory(Self::slot(slot));
                self.general(Integer::Move, register, stride);
                self.general(Integer::Multiply, register, encode::Operand::Register(ROW));
            }
            Stride::One => self.general(Integer::Move, register, encode::Operand::Register(ROW)),
        }
        self.assembly.push(Instruction::ShiftLeft(register, 3));
        let pointer = encode::Operand::Memory(Self::slot(location.pointer));
        self.general(Integer::Add, register, pointer);
        if location.skip > 0 {
            let skipped = encode::Operand::Number(8 * location.skip as i32);
            self.general(Integer::Add, register, skipped);
        }
    }

    fn passes(&mut self) {
        self.general(Integer::Move, OFFSET, encode::Operand::Number(0));
        if self.copies > 1 {
            self.whole_vectors(self.copies);
            self.merge_copies();
        }
        self.whole_vectors(1);
        let done = self.assembly.label();
        let bytes = encode::Operand::Register(BYTES);
        self.general(Integer::Compare, OFFSET, bytes);
        self.jump(Condition::AboveOrEqual, done);
        // How many bytes are left decides from where on a row of ones and zeros is read.
        let (mut free, mask) = (self.free.clone(), self.mask());
        free.retain(|register| *register != mask);
        let table = self.assembly.adjacent_constants([[u64::MAX; 4], [0; 4]]);
        let zeros = encode::Operand::Memory(Memory::constant(table + 1));
        self.general(Integer::Move, REST, bytes);
        self.general(Integer::Subtract, REST, encode::Operand::Register(OFFSET));
        self.general(Integer::Address, SCRATCH, zeros);
        self.general(Integer::Subtract, SCRATCH, encode::Operand::Register(REST));
        self.vector(Opcode::Load, mask, Source::Memory(Memory::at(SCRATCH, 0)));
        let code = self
            .body
            .code(&mut self.uniforms, 1, &self.accumulators, Some(mask));
        self.emit(code, &free, Some(mask));
        self.assembly.push(Instruction::Here(done));
    }

    /// A register for the mask: an accumulator's that was merged with another, or a free one.
    fn mask(&self) -> Vector {
        let merged = self.accumulators.first().and_then(|copies| copies.get(1));
        merged.or(self.free.last()).copied().unwrap_or(Vector(0))
    }

    /// A loop over what is left of the row, so many vectors at a time.
    fn whole_vectors(&mut self, copies: usize) {
        let (again, done) = (self.assembly.label(), self.assembly.label());
        let step = 32 * copies as i32;
        self.general(Integer::Move, REST, encode::Operand::Register(BYTES));
        self.general(Integer::And, REST, encode::Operand::Number(-step));
        let end = encode::Operand::Register(REST);
        self.general(Integer::Compare, OFFSET, end);
        self.jump(Condition::AboveOrEqual, done);
        self.assembly.push(Instruction::Here(again));
        let code = self
            .body
            .code(&mut self.uniforms, copies, &self.accumulators, None);
        let free = self.free.clone();
        self.emit(code, &free, None);
        self.general(Integer::Add, OFFSET, encode::Operand::Number(step));
        self.general(Integer::Compare, OFFSET, end);
        self.jump(Condition::Below, again);
        self.assembly.push(Instruction::Here(done));
    }

    fn emit(
        &mut self,
        (operations, values): (Vec<Operation>, usize),
        free: &[Vector],
        mask: Option<Vector>,
    ) {
        let surroundings = Surroundings {
            free,
            uniforms: &self.homes,
            streams: &self.pointers,
            mask,
        };
        Allocation::emit(
            &operations,
            values,
            &surroundings,
            &mut self.assembly,
            &mut self.spills,
        );
    }

    /// One accumulator for each reduction, from those of the copies.
    fn merge_copies(&mut self) {
        let mut cells = Cells::new(&mut self.uniforms);
        for ((op, _), copies) in self.body.reductions.iter().zip(&self.accumulators) {
            let mut apart = copies.len() / 2;
            while apart > 0 {
                for at in 0..apart {
                    let other = Operand::Register(copies[at + apart]);
                    cells.combine(*op, copies[at], other);
                }
                apart /= 2;
            }
        }
        let code = (cells.operations, cells.values);
        let free = self.free.clone();
        self.emit(code, &free, None);
    }

    /// Writes the results of the reductions for the row.
    fn finish_row(&mut self) {
        for at in 0..self.body.reductions.len() {
            let (op, _) = self.body.reductions[at];
            let id = self.body.step.reductions[at];
            let Some(location) = self.program.location(self.layout, id) else {
                continue;
            };
            let total = self.accumulators[at][0];
            let mut cells = Cells::new(&mut self.uniforms);
            let known = Operand::Register(total);
            let upper = cells.operation(Opcode::UpperPair, None, known, Last::Number(1));
            cells.combine(op, total, upper);
            let odd = cells.two(Opcode::OddLanes, known, known);
            cells.combine(op, total, odd);
            if aggregates::is_mean(op) {
                let count = cells.uniform(Uniform::Count);
                let mean = cells.two(Opcode::Divide, known, count);
                cells.keep(total, mean);
            }
            let code = (cells.operations, cells.values);
            let free = self.free.clone();
            self.emit(code, &free, None);
            self.address(location, SCRATCH);
            let target = Source::Memory(Memory::at(SCRATCH, 0));
            self.vector(Opcode::StoreOne, total, target);
        }
    }

    fn general(&mut self, operation: Integer, register: General, operand: encode::Operand) {
        self.assembly
            .push(Instruction::General(operation, register, operand));
    }

    fn vector(&mut self, opcode: Opcode, register: Vector, second: Source) {
        self.assembly.push(Instruction::Vector {
            opcode,
            register,
            first: None,
            second,
            last: encode::Last::None,
        });
    }

    fn jump(&mut self, condition: Condition, label: encode::Label) {
        self.assembly.push(Instruction::Jump(condition, label));
    }
}
