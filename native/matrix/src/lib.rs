//! Matrix blocks: the data Fulgurite computes on.
//!
//! A [`MatrixBlock`] is a dense or CSR matrix of `f64`, an ultra-sparse one as coordinates, or one in
//! compressed column groups, whose buffers are reference-counted Arrow
//! buffers, so that it crosses JNI, shuffles and threads without a copy of its values. Cloning is
//! cheap; blocks are immutable once shared.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod arrow_block;
pub mod compressed;
pub mod io;
pub mod kernels;
pub mod lanes;
pub mod memory;
pub mod vector_math;

mod block;
mod checksum;
mod compressed_block;
mod coordinate;
mod cores;
mod csr;
mod dense;
mod extent;
mod gemm;
mod interrupt;
mod number;
mod parallel;
mod progress;

pub use arrow::buffer::ScalarBuffer;
pub use arrow_block::Block;
pub use block::{
    ByRows, Layout, MatrixBlock, SPARSE_THRESHOLD, TALL_ROWS, TALL_SHARE, ULTRA_SPARSE_ROWS,
};
pub use compressed_block::{CompressedBlock, CompressedCells};
pub use coordinate::{CompactRows, CoordinateMatrix};
pub use cores::cores;
pub use csr::CsrMatrix;
pub use dense::DenseMatrix;
pub use extent::Extent;
pub use interrupt::Interrupt;
pub use number::{JavaDouble, java_double, parse_double};
pub use progress::{Parts, Progress, Seen};
