//! Where the values that a step reads and writes lie: addresses from the frame's slots.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;
use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};

use crate::program::{Home, Layout, Program, Shape};

/// A value per row and column: `pointer + 8 (row * row_stride + column * column_stride)`, strides in cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub pointer: Value,
    pub row_stride: Value,
    pub column_stride: Value,
    /// Nothing writes to it while the function runs.
    pub readonly: bool,
}

/// Reads the frame.
#[derive(Clone, Copy)]
pub(super) struct Slots<'a> {
    pub program: &'a Program,
    pub layout: &'a Layout,
    /// The function's parameter.
    pub frame: Value,
}

/// Slots do not change while the function runs.
pub(super) fn readonly() -> MemFlagsData {
    MemFlagsData::new()
        .with_notrap()
        .with_readonly()
        .with_can_move()
}

pub(super) fn writable() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Slots<'_> {
    pub fn integer(&self, builder: &mut FunctionBuilder<'_>, slot: usize) -> Value {
        let offset = (8 * slot) as i32;
        builder
            .ins()
            .load(types::I64, readonly(), self.frame, offset)
    }

    pub fn number(&self, builder: &mut FunctionBuilder<'_>, slot: usize) -> Value {
        let offset = (8 * slot) as i32;
        builder
            .ins()
            .load(types::F64, readonly(), self.frame, offset)
    }

    pub fn address(&self, builder: &mut FunctionBuilder<'_>, slot: usize) -> Value {
        builder.ins().iadd_imm_s(self.frame, 8 * slot as i64)
    }

    pub fn rows(&self, builder: &mut FunctionBuilder<'_>) -> Value {
        self.integer(builder, self.layout.rows())
    }

    /// Columns of a value: the class's width, or one.
    pub fn width(&self, builder: &mut FunctionBuilder<'_>, shape: Shape) -> Value {
        match shape {
            Shape::Vector(class) => self.integer(builder, self.layout.width(class)),
            _ => builder.ins().iconst(types::I64, 1),
        }
    }

    /// The slot of a constant: a scalar input, or a constant node.
    pub fn constant_slot(&self, id: NodeId) -> Option<usize> {
        match self.program.homes[id.index()] {
            Home::Input(input) if self.program.inputs[input] == InputBinding::Scalar => {
                Some(self.layout.input(input))
            }
            Home::Constant => self.layout.constant(id),
            _ => None,
        }
    }

    /// Where a node's value lies in memory; `None` for values that only exist inside a loop.
    pub fn place(&self, builder: &mut FunctionBuilder<'_>, id: NodeId) -> Option<Place> {
        let zero = |builder: &mut FunctionBuilder<'_>| builder.ins().iconst(types::I64, 0);
        let one = |builder: &mut FunctionBuilder<'_>| builder.ins().iconst(types::I64, 1);
        if let Some(slot) = self.constant_slot(id) {
            let stride = zero(builder);
            return Some(Place {
                pointer: self.address(builder, slot),
                row_stride: stride,
                column_stride: stride,
                readonly: true,
            });
        }
        let shape = self.program.shapes.of(id);
        let column_stride = match shape {
            Shape::Vector(_) => one(builder),
            _ => zero(builder),
        };
        Some(match self.program.homes[id.index()] {
            Home::Input(input) => {
                let slot = self.layout.input(input);
                Place {
                    pointer: self.integer(builder, slot),
                    row_stride: self.integer(builder, slot + 1),
                    column_stride,
                    readonly: true,
                }
            }
            Home::Buffer(buffer) => Place {
                pointer: self.integer(builder, self.layout.buffer(buffer)),
                row_stride: self.width(builder, shape),
                column_stride,
                readonly: false,
            },
            Home::View { of, skip } => {
                let base = self.place(builder, of)?;
                let skipped = i64::try_from(skip).ok()?.checked_mul(8)?;
                Place {
                    pointer: builder.ins().iadd_imm_s(base.pointer, skipped),
                    ..base
                }
            }
            Home::Output(place) => self.output(builder, shape, place),
            Home::None | Home::Constant => return None,
        })
    }

    /// The output's rows, or the numbers at one place of them.
    pub fn output(&self, builder: &mut FunctionBuilder<'_>, shape: Shape, place: usize) -> Place {
        let slot = self.layout.output();
        let across = i64::from(matches!(shape, Shape::Vector(_)));
        let pointer = match (self.integer(builder, slot), place) {
            (pointer, 0) => pointer,
            (pointer, place) => builder.ins().iadd_imm_s(pointer, 8 * place as i64),
        };
        Place {
            pointer,
            row_stride: self.integer(builder, slot + 1),
            column_stride: builder.ins().iconst(types::I64, across),
            readonly: false,
        }
    }

    /// Where a store goes to.
    pub fn target(
        &self,
        builder: &mut FunctionBuilder<'_>,
        id: NodeId,
        home: Home,
        shape: Shape,
    ) -> Option<Place> {
        match home {
            Home::Output(place) => Some(self.output(builder, shape, place)),
            _ => self.place(builder, id),
        }
    }

    /// The frame's description of an input's CSR rows, or a null pointer for computed values.
    pub fn csr(&self, builder: &mut FunctionBuilder<'_>, id: NodeId) -> Value {
        match &self.program.nodes[id.index()] {
            CNode::Input(input) if self.program.inputs[*input] != InputBinding::Scalar => {
                self.address(builder, self.layout.input(*input) + 2)
            }
            _ => builder.ins().iconst(types::I64, 0),
        }
    }
}
