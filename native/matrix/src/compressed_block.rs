//! Compressed cells as a block sees them.
//!
//! What they are is the business of [`crate::compressed`], which computes with the kernels of blocks and so comes after them. Kernels
//! know this much: whatever they have no way of its own for, they expand.

use std::{any::Any, fmt::Debug, ops::Range, sync::Arc};

use fulgurite_error::Result;

use crate::{CsrMatrix, DenseMatrix, Extent};

/// Cells that are not stored one by one.
pub trait CompressedCells: Debug + Send + Sync {
    fn rows(&self) -> usize;

    fn cols(&self) -> usize;

    /// Cells that are not 0 (NaN counts).
    fn nnz(&self) -> usize;

    /// Bytes of the buffers.
    fn memory_bytes(&self) -> usize;

    /// Cell (row, col), counted from 0.
    fn cell(&self, row: usize, col: usize) -> f64;

    /// Of all cells.
    fn extent(&self) -> Extent;

    /// Calls `visit(row, column, value)` for all cells but those that are +0, in the order of rows, then columns.
    fn for_each_filled(&self, visit: &mut dyn FnMut(usize, usize, f64));

    /// # Errors
    /// `memory` when there is none for all cells.
    fn to_dense(&self) -> Result<DenseMatrix>;

    /// # Errors
    /// `unsupported` when there are more columns than a CSR index can hold; `memory`.
    fn to_csr(&self) -> Result<CsrMatrix>;

    /// Rows `range` (from 0).
    ///
    /// # Errors
    /// `dimension` when the rows are not there; `memory`.
    fn rows_of(&self, range: Range<usize>) -> Result<CompressedBlock>;

    /// Whether the other cells are encoded in the same way and are the same.
    fn is(&self, other: &dyn CompressedCells) -> bool;

    fn as_any(&self) -> &dyn Any;
}

/// Compressed cells. Immutable; clones share them.
#[derive(Debug, Clone)]
pub struct CompressedBlock(Arc<dyn CompressedCells>);

impl CompressedBlock {
    pub fn new(cells: impl CompressedCells + 'static) -> Self {
        CompressedBlock(Arc::new(cells))
    }

    pub fn cells(&self) -> &dyn CompressedCells {
        &*self.0
    }
}

impl PartialEq for CompressedBlock {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(other.cells())
    }
}
