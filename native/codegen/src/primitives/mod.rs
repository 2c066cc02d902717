//! Vector primitives that compiled code calls, each on a whole block of rows; and those that skeletons call, behind
//! checked slices ([`stored`]).
//!
//! Those of compiled code take raw pointers (compiled code can't pass slices), never panic and never allocate. Pointers are valid
//! for the rows and columns given: [`crate::frame::Frame`] checks that before compiled code starts, and compiled
//! code passes on what the frame says. Strides count cells.

pub(crate) mod cells;
mod dense;
mod narrow;
pub(crate) mod rows;
mod sparse;
mod sparse_vector;
pub(crate) mod stored;
#[cfg(test)]
mod tests;
pub(crate) mod wide;

use fulgurite_matrix::kernels::dense_product::LaidOut;

/// CSR rows as the frame describes them: `pointers` starts at the block's first row and indexes `indices` and
/// `values`. All null for dense rows.
#[repr(C)]
pub(crate) struct CsrRows {
    pub pointers: *const i64,
    pub indices: *const i32,
    pub values: *const f64,
}

/// A matrix used whole: a right operand, or the accumulator of outer products. Transposed for
/// dense left operands, unless it is [wide]: then it is laid out in panels, or row-major for few rows. Row-major for CSR ones. Null where it isn't needed. All
/// rows have `row_stride` cells, of which those beyond the columns are nobody's; a single column has none. So have those of the
/// transposed matrix.
#[repr(C)]
pub(crate) struct Whole {
    pub row_major: *mut f64,
    pub row_stride: usize,
    pub transposed: *mut f64,
    pub transposed_stride: usize,
    pub rows: usize,
    pub cols: usize,
    pub laid_out: *const LaidOut,
    /// Not 0 where rows of dense operands are asked for ahead: those of an operand that is in a cache already come later so.
    pub fetches: usize,
}

/// What compiled code can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Primitive {
    Unary,
    Binary,
    Reduce,
    Cumulative,
    Copy,
    VectorMatrix,
    OuterProduct,
}

impl Primitive {
    const ALL: [Primitive; 7] = [
        Primitive::Unary,
        Primitive::Binary,
        Primitive::Reduce,
        Primitive::Cumulative,
        Primitive::Copy,
        Primitive::VectorMatrix,
        Primitive::OuterProduct,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Primitive::Unary => "fulgurite_unary",
            Primitive::Binary => "fulgurite_binary",
            Primitive::Reduce => "fulgurite_reduce",
            Primitive::Cumulative => "fulgurite_cumulative",
            Primitive::Copy => "fulgurite_copy",
            Primitive::VectorMatrix => "fulgurite_vector_matrix",
            Primitive::OuterProduct => "fulgurite_outer_product",
        }
    }

    fn address(self) -> *const u8 {
        match self {
            Primitive::Unary => cells::unary as *const u8,
            Primitive::Binary => cells::binary as *const u8,
            Primitive::Reduce => cells::reduce as *const u8,
            Primitive::Cumulative => cells::cumulative as *const u8,
            Primitive::Copy => cells::copy as *const u8,
            Primitive::VectorMatrix => rows::vector_matrix as *const u8,
            Primitive::OuterProduct => rows::outer_product as *const u8,
        }
    }
}

/// Names and addresses, for the linker of compiled code.
pub(crate) fn symbols() -> impl Iterator<Item = (&'static str, *const u8)> {
    Primitive::ALL
        .into_iter()
        .map(|primitive| (primitive.name(), primitive.address()))
}

/// The number by which compiled code names an operator to a primitive: its place among all.
pub(crate) fn code_of<T: PartialEq>(all: &[T], op: &T) -> i64 {
    let place = all.iter().position(|known| known == op);
    place.map_or(-1, |place| place as i64)
}
