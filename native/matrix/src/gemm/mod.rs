//! Products of dense matrices: packed operands, and tiles of the result whose sums stay in registers.
//!
//! The loops are those of BLIS (Van Zee and van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS Functionality", 2015), over
//! [lanes](crate::lanes) of any width. Start with [`nest`].
//!
//! A cell is summed up in blocks of 256 products. Each block is a chain of fused multiply-adds from zero on, and the blocks are added one
//! after the other. So its bits depend on its row, its column and the depth alone: not on the shape, on threads, on where operands lie
//! or which instructions there are. Plain arrays round each product, too, and may differ in the last bits.
//!
//! Factorizations do what is left beside products by [`elimination`] of a few columns and by [`substitution`] in a few rows.

pub(crate) mod elimination;
mod laid_out;
mod mirror;
mod nest;
mod pack;
mod small;
pub(crate) mod substitution;
#[cfg(test)]
mod tests;
mod tile;
mod view;

pub use laid_out::LaidOut;
pub(crate) use mirror::mirror;
pub use nest::FEW_ROWS;
pub(crate) use nest::{Coverage, DenseProduct};
pub use tile::Write;
pub use view::View;
pub(crate) use view::ViewMut;
