//! Where the values that a step reads and writes lie: addresses from the frame's slots.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;
use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};

use crate::program::{Layout, Location, Program, Shape, Stride};

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

    /// Where a node's value lies in memory; `None` for values that only exist inside a loop.
    pub fn place(&self, builder: &mut FunctionBuilder<'_>, id: NodeId) -> Option<Place> {
        if let Some(slot) = self.program.constant_slot(self.layout, id) {
            let stride = builder.ins().iconst(types::I64, 0);
            return Some(Place {
                pointer: self.address(builder, slot),
                row_stride: stride,
                column_stride: stride,
                readonly: true,
            });
        }
        let location = self.program.location(self.layout, id)?;
        self.at(builder, location, self.program.shapes.of(id))
    }

    /// The cells at a location, of a value of that shape.
    pub fn at(
        &self,
        builder: &mut FunctionBuilder<'_>,
        location: Location,
        shape: Shape,
    ) -> Option<Place> {
        let across = i64::from(matches!(shape, Shape::Vector(_)));
        let skipped = i64::try_from(location.skip).ok()?.checked_mul(8)?;
        let pointer = match (self.integer(builder, location.pointer), skipped) {
            (pointer, 0) => pointer,
            (pointer, skipped) => builder.ins().iadd_imm_s(pointer, skipped),
        };
        Some(Place {
            pointer,
            row_stride: match location.row_stride {
                Stride::Slot(slot) => self.integer(builder, slot),
                Stride::One => builder.ins().iconst(types::I64, 1),
            },
            column_stride: builder.ins().iconst(types::I64, across),
            readonly: location.readonly,
        })
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
