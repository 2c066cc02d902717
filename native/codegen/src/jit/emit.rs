//! The steps of a program as instructions, one after the other.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use cranelift_jit::JITModule;
use cranelift_module::{Linkage, Module};
use fulgurite_error::Result;
use fulgurite_fusion::cplan::{CNode, NodeId};
use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, UnaryOp};

use super::columns::{Pass, Spread};
use super::operands::{Place, Slots, readonly, writable};
use super::{Loops, avx, refused, signature_of};
use crate::primitives::{Primitive, code_of};
use crate::program::{Layout, Loop, Program, Read, Shape, Step};

/// Emits a program's function, and the loops that are functions of their own; gives these to read if they are asked for.
pub(super) fn emit(
    mut builder: FunctionBuilder<'_>,
    module: &mut JITModule,
    program: &Program,
    layout: &Layout,
    loops: Loops,
    with_listings: bool,
) -> Result<Vec<String>> {
    let frontend = module.target_config();
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let slots = Slots {
        program,
        layout,
        frame: builder.block_params(entry)[0],
    };
    let mut emitter = Emitter {
        builder: &mut builder,
        module,
        slots,
        functions: 0,
        listings: with_listings.then(Vec::new),
    };
    for step in &program.steps {
        match step {
            Step::Loop(step) => match loops {
                Loops::Avx => emitter.function(step)?,
                Loops::Pairs => emitter.cellwise(step),
            },
            Step::Call(id) => emitter.call(*id)?,
            Step::OuterProduct { left, right } => emitter.outer_product(*left, *right)?,
        }
    }
    let listings = emitter.listings.take();
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(frontend);
    Ok(listings.unwrap_or_default())
}

struct Emitter<'a, 'b> {
    builder: &'a mut FunctionBuilder<'b>,
    module: &'a mut JITModule,
    slots: Slots<'a>,
    /// Loops that became functions of their own.
    functions: usize,
    /// These to read, where somebody wants to.
    listings: Option<Vec<String>>,
}

/// Numbers for all cells of a loop that stay in registers. More are read again for each use: registers that the loop needs
/// would be spilled for them, which is as slow, and takes the compiler long to find out.
const MOST_IN_REGISTERS: usize = 8;

/// What a loop reads, in registers.
enum Operand {
    Literal(f64),
    Constant(usize),
    PerRow(Place),
    Stream(Place),
}

impl Emitter<'_, '_> {
    /// A loop as a function of its own, and its call.
    fn function(&mut self, step: &Loop) -> Result<()> {
        let Slots {
            program, layout, ..
        } = self.slots;
        let Some(code) = avx::assemble(program, layout, step, self.listings.is_some()) else {
            self.cellwise(step);
            return Ok(());
        };
        let convention = self.builder.func.signature.call_conv;
        let signature = signature_of(convention, 1);
        let name = format!("loop{}", self.functions);
        self.functions += 1;
        // Called by its address: it may come to lie far away.
        let linkage = Linkage::Preemptible;
        let function = self.module.declare_function(&name, linkage, &signature);
        let function = function.map_err(refused)?;
        self.module
            .define_function_bytes(function, avx::ALIGNMENT, &code.bytes, &[])
            .map_err(refused)?;
        if let (Some(listings), Some(listing)) = (&mut self.listings, code.listing) {
            listings.push(format!("{name}:\n{listing}"));
        }
        let function = self
            .module
            .declare_func_in_func(function, self.builder.func);
        self.builder.ins().call(function, &[self.slots.frame]);
        Ok(())
    }

    fn cellwise(&mut self, step: &Loop) {
        let Slots {
            program, layout, ..
        } = self.slots;
        let mut reads = Vec::new();
        for (id, read) in program.reads(layout, step) {
            let shape = program.shapes.of(id);
            let operand = match read {
                Read::Literal(literal) => Some(Operand::Literal(literal)),
                Read::Constant(slot) => Some(Operand::Constant(slot)),
                Read::PerRow(location) => {
                    let place = self.slots.at(self.builder, location, shape);
                    place.map(Operand::PerRow)
                }
                Read::Stream(location) => {
                    let place = self.slots.at(self.builder, location, shape);
                    place.map(Operand::Stream)
                }
            };
            reads.extend(operand.map(|operand| (id, operand)));
        }
        let mut stores = Vec::new();
        for (id, location) in program.stores(layout, step) {
            let place = self.slots.at(self.builder, location, step.shape);
            stores.extend(place.map(|place| (id, place)));
        }
        let rows = self.slots.rows(self.builder);
        match step.shape {
            Shape::Vector(_) => self.rows_of_cells(step, &reads, &stores, rows),
            // Numbers of successive rows are adjacent: the rows are the columns of one pass.
            Shape::PerRow | Shape::Constant => {
                let zero = self.builder.ins().iconst(types::I64, 0);
                self.pass(step, &reads, &stores, zero, rows);
            }
        }
    }

    fn rows_of_cells(
        &mut self,
        step: &Loop,
        reads: &[(NodeId, Operand)],
        stores: &[(NodeId, Place)],
        rows: Value,
    ) {
        let body = self.builder.create_block();
        let done = self.builder.create_block();
        let row = self.builder.append_block_param(body, types::I64);
        let first = self.builder.ins().iconst(types::I64, 0);
        self.builder.ins().jump(body, &[BlockArg::Value(first)]);

        self.builder.switch_to_block(body);
        let width = self.slots.width(self.builder, step.shape);
        let results = self.pass(step, reads, stores, row, width);
        for (id, result) in step.reductions.iter().zip(results) {
            if let Some(place) = self.slots.place(self.builder, *id) {
                let address = self.row_of(&place, row);
                self.builder.ins().store(writable(), result, address, 0);
            }
        }
        let next = self.builder.ins().iadd_imm_s(row, 1);
        let more = self.builder.ins().icmp(IntCC::UnsignedLessThan, next, rows);
        let again = [BlockArg::Value(next)];
        self.builder.ins().brif(more, body, &again, done, &[]);
        self.builder.switch_to_block(done);
    }

    fn row_of(&mut self, place: &Place, row: Value) -> Value {
        let cells = self.builder.ins().imul(row, place.row_stride);
        let bytes = self.builder.ins().ishl_imm_u(cells, 3);
        self.builder.ins().iadd(place.pointer, bytes)
    }

    fn pass(
        &mut self,
        step: &Loop,
        reads: &[(NodeId, Operand)],
        stores: &[(NodeId, Place)],
        row: Value,
        width: Value,
    ) -> Vec<Value> {
        let mut streams = HashMap::new();
        let mut spread = HashMap::new();
        let constants = reads
            .iter()
            .filter(|(_, read)| !matches!(read, Operand::Stream(_)));
        let in_registers = constants.count() <= MOST_IN_REGISTERS;
        for (id, read) in reads {
            let number = match read {
                Operand::Stream(place) => {
                    let address = self.row_of(place, row);
                    streams.insert(*id, (address, place.readonly));
                    continue;
                }
                Operand::Literal(literal) if in_registers => self.builder.ins().f64const(*literal),
                Operand::Constant(slot) if in_registers => self.slots.number(self.builder, *slot),
                Operand::Literal(literal) => {
                    spread.insert(*id, Spread::Literal(*literal));
                    continue;
                }
                Operand::Constant(slot) => {
                    let offset = (8 * slot) as i32;
                    spread.insert(*id, Spread::Memory(self.slots.frame, offset));
                    continue;
                }
                Operand::PerRow(place) => {
                    let address = self.row_of(place, row);
                    let flags = if place.readonly {
                        readonly()
                    } else {
                        writable()
                    };
                    self.builder.ins().load(types::F64, flags, address, 0)
                }
            };
            let pair = self.builder.ins().splat(types::F64X2, number);
            spread.insert(*id, Spread::Registers(number, pair));
        }
        let stores = stores
            .iter()
            .map(|(id, place)| (*id, self.row_of(place, row)))
            .collect();
        let body = &self.slots.program.nodes;
        let reductions = step
            .reductions
            .iter()
            .filter_map(|id| match &body[id.index()] {
                CNode::Reduce(op, operand) => Some((*op, *operand)),
                _ => None,
            })
            .collect();
        let pass = Pass {
            body,
            nodes: &step.nodes,
            streams,
            spread,
            stores,
            reductions,
            width,
        };
        pass.emit(self.builder)
    }

    /// Calls a primitive on the block.
    fn call(&mut self, id: NodeId) -> Result<()> {
        let program = self.slots.program;
        let shape = program.shapes.of(id);
        let Some(target) = self.slots.place(self.builder, id) else {
            return Ok(());
        };
        match &program.nodes[id.index()] {
            CNode::Unary(op, operand) => {
                let code = code_of(UnaryOp::ALL, op);
                self.rowwise(Primitive::Unary, code, *operand, target, shape)
            }
            CNode::Cumulative(op, operand) => {
                let code = code_of(CumulativeOp::ALL, op);
                self.rowwise(Primitive::Cumulative, code, *operand, target, shape)
            }
            CNode::Reduce(op, operand) => {
                let code = code_of(AggregateOp::ALL, op);
                let operand_shape = program.shapes.of(*operand);
                let Some(source) = self.slots.place(self.builder, *operand) else {
                    return Ok(());
                };
                let code = self.builder.ins().iconst(types::I64, code);
                let (rows, width) = self.extent(operand_shape);
                let arguments = [
                    code,
                    source.pointer,
                    source.row_stride,
                    target.pointer,
                    rows,
                    width,
                ];
                self.primitive(Primitive::Reduce, &arguments)
            }
            CNode::Binary(op, left, right) => {
                let code = code_of(BinaryOp::ALL, op);
                let code = self.builder.ins().iconst(types::I64, code);
                let mut arguments = vec![code];
                for operand in [*left, *right] {
                    let Some(place) = self.slots.place(self.builder, operand) else {
                        return Ok(());
                    };
                    let place = self.along(place, operand, shape);
                    arguments.extend([place.pointer, place.row_stride, place.column_stride]);
                }
                let (rows, width) = self.extent(shape);
                arguments.extend([target.pointer, target.row_stride, rows, width]);
                self.primitive(Primitive::Binary, &arguments)
            }
            CNode::Concatenate(parts) => self.concatenate(parts, target),
            CNode::VectorMatrix { vector, input, .. } => {
                self.vector_matrix(*vector, *input, target)
            }
            _ => Ok(()),
        }
    }

    /// Rows and columns that a cellwise call runs over: numbers of successive rows are one row.
    fn extent(&mut self, shape: Shape) -> (Value, Value) {
        let rows = self.slots.rows(self.builder);
        match shape {
            Shape::Vector(_) => (rows, self.slots.width(self.builder, shape)),
            _ => (self.builder.ins().iconst(types::I64, 1), rows),
        }
    }

    /// An operand's strides in a call over values of `shape`.
    fn along(&mut self, place: Place, operand: NodeId, shape: Shape) -> Place {
        match (self.slots.program.shapes.of(operand), shape) {
            (Shape::PerRow, Shape::PerRow) => Place {
                row_stride: place.column_stride,
                column_stride: place.row_stride,
                ..place
            },
            _ => place,
        }
    }

    /// A primitive with one operand of the result's shape.
    fn rowwise(
        &mut self,
        primitive: Primitive,
        code: i64,
        operand: NodeId,
        target: Place,
        shape: Shape,
    ) -> Result<()> {
        let Some(source) = self.slots.place(self.builder, operand) else {
            return Ok(());
        };
        let code = self.builder.ins().iconst(types::I64, code);
        let (rows, width) = self.extent(shape);
        let arguments = [
            code,
            source.pointer,
            source.row_stride,
            target.pointer,
            target.row_stride,
            rows,
            width,
        ];
        self.primitive(primitive, &arguments)
    }

    fn concatenate(&mut self, parts: &[NodeId], target: Place) -> Result<()> {
        let mut pointer = target.pointer;
        for part in parts {
            let Some(source) = self.slots.place(self.builder, *part) else {
                continue;
            };
            let shape = self.slots.program.shapes.of(*part);
            let rows = self.slots.rows(self.builder);
            let width = self.slots.width(self.builder, shape);
            let arguments = [
                source.pointer,
                source.row_stride,
                pointer,
                target.row_stride,
                rows,
                width,
            ];
            self.primitive(Primitive::Copy, &arguments)?;
            let bytes = self.builder.ins().ishl_imm_u(width, 3);
            pointer = self.builder.ins().iadd(pointer, bytes);
        }
        Ok(())
    }

    fn vector_matrix(&mut self, vector: NodeId, input: usize, target: Place) -> Result<()> {
        let Some(left) = self.slots.place(self.builder, vector) else {
            return Ok(());
        };
        let shape = self.slots.program.shapes.of(vector);
        let width = self.slots.width(self.builder, shape);
        let csr = self.slots.csr(self.builder, vector);
        let slot = self.slots.layout.input(input);
        let whole = self.slots.address(self.builder, slot);
        let rows = self.slots.rows(self.builder);
        let arguments = [
            left.pointer,
            left.row_stride,
            width,
            csr,
            whole,
            target.pointer,
            target.row_stride,
            rows,
        ];
        self.primitive(Primitive::VectorMatrix, &arguments)
    }

    fn outer_product(&mut self, left: NodeId, right: NodeId) -> Result<()> {
        let program = self.slots.program;
        let (Some(l), Some(r)) = (
            self.slots.place(self.builder, left),
            self.slots.place(self.builder, right),
        ) else {
            return Ok(());
        };
        let left_width = self.slots.width(self.builder, program.shapes.of(left));
        let right_width = self.slots.width(self.builder, program.shapes.of(right));
        let csr = self.slots.csr(self.builder, left);
        let slot = self.slots.layout.accumulator();
        let accumulator = self.slots.address(self.builder, slot);
        let rows = self.slots.rows(self.builder);
        let arguments = [
            l.pointer,
            l.row_stride,
            left_width,
            csr,
            r.pointer,
            r.row_stride,
            right_width,
            accumulator,
            rows,
        ];
        self.primitive(Primitive::OuterProduct, &arguments)
    }

    fn primitive(&mut self, primitive: Primitive, arguments: &[Value]) -> Result<()> {
        let convention = self.builder.func.signature.call_conv;
        let signature = signature_of(convention, arguments.len());
        let function = self
            .module
            .declare_function(primitive.name(), Linkage::Import, &signature)
            .map_err(refused)?;
        let reference = self
            .module
            .declare_func_in_func(function, self.builder.func);
        self.builder.ins().call(reference, arguments);
        Ok(())
    }
}
