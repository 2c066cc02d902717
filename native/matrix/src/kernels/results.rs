//! The layout of results, and their shape in messages.

use fulgurite_error::Result;

use crate::{Layout, MatrixBlock};

/// A sparse result in the layout that suits what it stores; reads the stored count only.
pub(crate) fn settle(result: impl Into<MatrixBlock>) -> Result<MatrixBlock> {
    let result = result.into();
    let best = Layout::best(result.rows(), result.cols(), result.stored());
    result.in_layout(best)
}

/// `RxC` as messages print shapes.
pub(crate) fn shape(block: &MatrixBlock) -> String {
    format!("{} x {}", block.rows(), block.cols())
}
