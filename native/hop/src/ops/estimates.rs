//! Estimates that size rules share.

use super::call::Call;
use crate::Characteristics;

/// Share of non-zeros, where it is known.
pub(super) fn known_sparsity(size: &Characteristics) -> Option<f64> {
    let sparsity = || match size.cells() {
        Some(0) => 0.0,
        _ => size.sparsity(),
    };
    size.nnz.and(size.cells()).map(|_| sparsity())
}

/// So many of the cells, rounded up.
pub(super) fn share(sparsity: f64, cells: u64) -> u64 {
    ((sparsity * cells as f64).ceil() as u64).min(cells)
}

/// Whether a product with an empty matrix is certainly empty: zero times NaN or infinity is not zero.
pub(super) fn product_is_zero(call: &dyn Call, left: usize, right: usize) -> bool {
    call.is_finite(left) && call.is_finite(right)
}

/// Bytes of all cells.
pub(super) fn dense_bytes(size: &Characteristics) -> Option<u64> {
    Some(size.cells()?.saturating_mul(8))
}
