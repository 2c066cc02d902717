//! A right operand that is laid out once for products with many blocks of rows.

use fulgurite_error::Result;

use super::{
    nest::{Coverage, DepthChunk, OutPart, TASK_ROWS},
    pack::{Panels, RightPanels},
    tile::{TileShape, Write},
    view::{View, ViewMut},
};
use crate::lanes::Instructions;

/// The panels of a right operand, which stays as it is.
///
/// ```
/// # use fulgurite_matrix::kernels::dense_product::{LaidOut, View, Write};
/// let right = [1.0, 2.0, 3.0, 4.0];
/// let right = LaidOut::new(View::of_rows(&right, 2, 2, 2))?;
/// let mut product = [0.0; 2];
/// right.multiply(View::of_rows(&[1.0, 10.0], 1, 2, 2), &mut product, 2, Write::Replace);
/// assert_eq!(product, [31.0, 42.0]);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
#[derive(Debug)]
pub struct LaidOut {
    instructions: Instructions,
    depth: usize,
    cols: usize,
    cells: Vec<f64>,
}

impl LaidOut {
    /// Of an operand inside its slice, on this thread.
    ///
    /// # Errors
    /// `memory` when there is none for as many cells as the operand has.
    pub fn new(right: View<'_>) -> Result<Self> {
        Self::with(right, Instructions::widest(), false)
    }

    /// The same on rayon's threads.
    ///
    /// # Errors
    /// As [`LaidOut::new`].
    pub fn new_in_parallel(right: View<'_>) -> Result<Self> {
        Self::with(right, Instructions::widest(), true)
    }

    /// For these instructions, which must be present.
    pub(super) fn with(
        right: View<'_>,
        instructions: Instructions,
        parallel: bool,
    ) -> Result<Self> {
        let (depth, cols) = match right.fits() {
            true => (right.rows(), right.cols()),
            false => (0, 0),
        };
        let right = right.part(0..depth, 0..cols);
        let mut panels = RightPanels::new(instructions, right, (depth, cols), false)?;
        panels.fill(right, parallel);
        Ok(LaidOut {
            instructions,
            depth,
            cols,
            cells: panels.into_cells(),
        })
    }

    /// `left %*% right` into the rows of `out`, `stride` apart, on this thread: says whether the shapes fit each other and their
    /// slices. Nothing is written if not. The bits are those of any other way.
    #[must_use]
    pub fn multiply(&self, left: View<'_>, out: &mut [f64], stride: usize, write: Write) -> bool {
        let fits = left.fits() && left.cols() == self.depth;
        let out = ViewMut::of_rows(out, left.rows(), self.cols, stride);
        let Some(mut out) = out.filter(|_| fits) else {
            return false;
        };
        if self.cols == 0 {
            return true;
        }
        let shape = TileShape::of(self.instructions);
        let chunk = DepthChunk {
            shape,
            instructions: self.instructions,
            left,
            coverage: Coverage::All,
            depth: 0..self.depth,
            first_col: 0,
            panels: Panels::laid_out(shape, (self.depth, self.cols), &self.cells),
            write,
        };
        let at_once = TASK_ROWS.next_multiple_of(shape.rows);
        for from in (0..left.rows()).step_by(at_once) {
            let to = (from + at_once).min(left.rows());
            chunk.run(OutPart {
                rows: from..to,
                cols: 0..self.cols,
                out: out.part(from..to, 0..self.cols),
            });
        }
        true
    }
}
