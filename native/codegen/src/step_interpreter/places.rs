//! Where the values that a step reads and writes lie: what the frame's slots say, as pointers.

use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};

use crate::primitives::{CsrRows, Whole};
use crate::program::{Home, Layout, Program, Shape};

/// A frame's slots, read as the layout says.
pub(super) struct Frame<'a> {
    pub program: &'a Program,
    pub layout: &'a Layout,
    pub slots: &'a [u64],
}

/// A value per row and column, strides in cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub pointer: *mut f64,
    pub row_stride: usize,
    pub column_stride: usize,
}

impl Place {
    /// Some adjacent cells of a row.
    ///
    /// # Safety
    /// The cells are there for `'a`, and nobody writes to them.
    pub unsafe fn cells<'a>(self, row: usize, from: usize, count: usize) -> &'a [f64] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.cell(row, from), count) }
    }

    /// # Safety
    /// The cells are there for `'a`, can be written, and nobody else has them.
    pub unsafe fn cells_mut<'a>(self, row: usize, from: usize, count: usize) -> &'a mut [f64] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.cell(row, from), count) }
    }

    fn cell(self, row: usize, col: usize) -> *mut f64 {
        self.pointer.wrapping_add(row * self.row_stride + col)
    }
}

impl Frame<'_> {
    pub fn rows(&self) -> usize {
        self.slots[self.layout.rows()] as usize
    }

    /// Columns of a value: the class's width, or one.
    pub fn width(&self, shape: Shape) -> usize {
        match shape {
            Shape::Vector(class) => self.slots[self.layout.width(class)] as usize,
            _ => 1,
        }
    }

    /// Rows and columns that a cellwise call runs over: numbers of successive rows are one row.
    pub fn extent(&self, shape: Shape) -> (usize, usize) {
        match shape {
            Shape::Vector(_) => (self.rows(), self.width(shape)),
            _ => (1, self.rows()),
        }
    }

    fn pointer(&self, slot: usize) -> *mut f64 {
        self.slots[slot] as usize as *mut f64
    }

    fn address<T>(&self, slot: usize) -> *const T {
        self.slots[slot..].as_ptr().cast()
    }

    /// Where a node's value lies in memory; `None` for values that only exist inside a loop.
    pub fn place(&self, id: NodeId) -> Option<Place> {
        let shape = self.program.shapes.of(id);
        let column_stride = usize::from(matches!(shape, Shape::Vector(_)));
        let constant = |slot: usize| Place {
            pointer: self.address::<f64>(slot).cast_mut(),
            row_stride: 0,
            column_stride: 0,
        };
        Some(match self.program.homes[id.index()] {
            Home::Input(input) => {
                let slot = self.layout.input(input);
                if self.program.inputs[input] == InputBinding::Scalar {
                    return Some(constant(slot));
                }
                Place {
                    pointer: self.pointer(slot),
                    row_stride: self.slots[slot + 1] as usize,
                    column_stride,
                }
            }
            Home::Constant => constant(self.layout.constant(id)?),
            Home::Buffer(buffer) => Place {
                pointer: self.pointer(self.layout.buffer(buffer)),
                row_stride: self.width(shape),
                column_stride,
            },
            Home::View { of, skip } => {
                let base = self.place(of)?;
                Place {
                    pointer: base.pointer.wrapping_add(usize::try_from(skip).ok()?),
                    ..base
                }
            }
            Home::Output(place) => self.output(shape, place),
            Home::None => return None,
        })
    }

    /// The rows of a part of the output, or the numbers at one place of its rows.
    fn output(&self, shape: Shape, place: usize) -> Place {
        let (part, skip) = match self.program.output_parts() {
            1 => (0, place),
            _ => (place, 0),
        };
        let slot = self.layout.output(part);
        Place {
            pointer: self.pointer(slot).wrapping_add(skip),
            row_stride: self.slots[slot + 1] as usize,
            column_stride: usize::from(matches!(shape, Shape::Vector(_))),
        }
    }

    /// Where a store goes to.
    pub fn target(&self, id: NodeId, home: Home, shape: Shape) -> Option<Place> {
        match home {
            Home::Output(place) => Some(self.output(shape, place)),
            _ => self.place(id),
        }
    }

    /// An operand of a cellwise call over values of `shape`, whose numbers of successive rows are one row.
    pub fn along(&self, operand: NodeId, shape: Shape) -> Option<Place> {
        let place = self.place(operand)?;
        Some(match (self.program.shapes.of(operand), shape) {
            (Shape::PerRow, Shape::PerRow) => Place {
                row_stride: place.column_stride,
                column_stride: place.row_stride,
                ..place
            },
            _ => place,
        })
    }

    /// The frame's description of an input's CSR rows, or a null pointer for computed values.
    pub fn csr(&self, id: NodeId) -> *const CsrRows {
        match &self.program.nodes[id.index()] {
            CNode::Input(input) if self.program.inputs[*input] != InputBinding::Scalar => {
                self.address(self.layout.input(*input) + 2)
            }
            _ => std::ptr::null(),
        }
    }

    /// The matrix that is described from a slot on.
    pub fn whole(&self, slot: usize) -> *const Whole {
        self.address(slot)
    }
}
