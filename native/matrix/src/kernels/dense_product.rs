//! Dense products, by faer: AVX-512 or AVX2 assembly on x86-64, the `gemm` crate elsewhere.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use crate::Interrupt;

/// Columns of the right operand from which on these products are faster than dot products of rows with columns: below,
/// laying operands out anew takes too much of the time.
pub const WIDE_COLS: usize = 16;

/// A dense matrix inside a slice, by rows or, transposed, by columns.
///
/// ```
/// # use fulgurite_matrix::kernels::dense_product::{View, Write, multiply};
/// // Two rows of two cells, which stand three apart, and their transpose.
/// let cells = [1.0, 2.0, 9.0, 3.0, 4.0];
/// let view = View::of_rows(&cells, 2, 2, 3);
/// let mut product = vec![0.0; 4];
/// multiply(view, view.transposed(), &mut product, 2, Write::Replace)?;
/// assert_eq!(product, [5.0, 11.0, 11.0, 25.0]);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    cells: &'a [f64],
    rows: usize,
    cols: usize,
    stride: usize,
    is_transposed: bool,
}

impl<'a> View<'a> {
    /// Rows of `cols` cells, `stride` apart.
    pub fn of_rows(cells: &'a [f64], rows: usize, cols: usize, stride: usize) -> Self {
        View {
            cells,
            rows,
            cols,
            stride,
            is_transposed: false,
        }
    }

    pub fn transposed(self) -> Self {
        View {
            is_transposed: !self.is_transposed,
            ..self
        }
    }

    fn shape(&self) -> (usize, usize) {
        match self.is_transposed {
            true => (self.cols, self.rows),
            false => (self.rows, self.cols),
        }
    }

    /// Some rows of it.
    fn row_range(self, from: usize, to: usize) -> Self {
        let (skipped, rows, cols) = match self.is_transposed {
            true => (from, self.rows, to - from),
            false => (from * self.stride, to - from, self.cols),
        };
        View {
            cells: self.cells.get(skipped..).unwrap_or(&[]),
            rows,
            cols,
            ..self
        }
    }

    fn as_faer(&self) -> Option<MatRef<'a, f64>> {
        if !fits(self.cells.len(), self.rows, self.cols, self.stride) {
            return None;
        }
        let by_columns = MatRef::from_column_major_slice_with_stride(
            self.cells,
            self.cols,
            self.rows,
            self.stride,
        );
        Some(match self.is_transposed {
            true => by_columns,
            false => by_columns.transpose(),
        })
    }
}

/// Whether rows this far apart lie among so many cells.
fn fits(cells: usize, rows: usize, cols: usize, stride: usize) -> bool {
    rows == 0
        || cols == 0
        || (rows - 1)
            .checked_mul(stride)
            .and_then(|before| before.checked_add(cols))
            .is_some_and(|end| stride >= cols && end <= cells)
}

/// What becomes of the cells that a product is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    Replace,
    Add,
}

/// `left %*% right` into the rows of `out`, `stride` apart, on this thread.
///
/// # Errors
/// `internal` when the shapes don't fit each other or their slices.
pub fn multiply(
    left: View<'_>,
    right: View<'_>,
    out: &mut [f64],
    stride: usize,
    write: Write,
) -> Result<()> {
    let ((rows, depth), (inner, cols)) = (left.shape(), right.shape());
    let operands = left.as_faer().zip(right.as_faer());
    let Some((left, right)) =
        operands.filter(|_| depth == inner && fits(out.len(), rows, cols, stride))
    else {
        return Err(Error::internal(format!(
            "operands of a {rows} x {depth} by {inner} x {cols} product don't fit"
        )));
    };
    let out =
        MatMut::from_column_major_slice_with_stride_mut(out, cols, rows, stride).transpose_mut();
    let accumulate = match write {
        Write::Replace => Accum::Replace,
        Write::Add => Accum::Add,
    };
    matmul(out, accumulate, left, right, 1.0, Par::Seq);
    Ok(())
}

/// Multiplications that a task should have: less is not worth another thread.
const TASK_MULTIPLICATIONS: usize = 1 << 21;
/// Rows of a task of a large product. Each task lays out the whole right operand anew, which takes as long as
/// multiplying some forty rows by it.
const TASK_ROWS: usize = 256;
const LEAST_TASK_ROWS: usize = 32;

/// `left %*% right` into the rows of `out`, `stride` apart, on rayon's threads, which divide its rows.
///
/// # Errors
/// As [`multiply`].
pub(crate) fn multiply_in_parallel(
    left: View<'_>,
    right: View<'_>,
    out: &mut [f64],
    stride: usize,
) -> Result<()> {
    let ((rows, depth), (_, cols)) = (left.shape(), right.shape());
    let enough = TASK_MULTIPLICATIONS.div_ceil(depth.saturating_mul(cols).max(1));
    let wanted = rows.div_ceil(4).clamp(LEAST_TASK_ROWS, TASK_ROWS);
    let task_rows = wanted.max(enough).next_multiple_of(8);
    if task_rows >= rows {
        return multiply(left, right, out, stride, Write::Replace);
    }
    let end = out.len().min(rows.saturating_mul(stride));
    let parts = out[..end].par_chunks_mut(task_rows.saturating_mul(stride).max(1));
    let interrupt = Interrupt::current();
    parts.enumerate().try_for_each(|(task, out)| {
        interrupt.check()?;
        let from = task * task_rows;
        let left = left.row_range(from, (from + task_rows).min(rows));
        multiply(left, right, out, stride, Write::Replace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells that add up without rounding.
    fn cells(count: usize, seed: usize) -> Vec<f64> {
        let cell = |at: usize| ((at * 31 + seed * 17) % 13) as f64 - 6.0;
        (0..count).map(cell).collect()
    }

    fn at(view: &View, row: usize, col: usize) -> f64 {
        let (row, col) = if view.is_transposed {
            (col, row)
        } else {
            (row, col)
        };
        view.cells[row * view.stride + col]
    }

    #[test]
    fn products_of_any_strides_and_orientation_are_those_of_plain_loops() {
        let shapes = [
            (1, 1, 1),
            (3, 0, 2),
            (5, 7, 1),
            (17, 33, 9),
            (300, 70, 90),
            (64, 2, 40),
        ];
        for (rows, depth, cols) in shapes {
            for (left_turned, right_turned, gap) in [
                (false, false, 0),
                (true, false, 3),
                (false, true, 0),
                (true, true, 5),
            ] {
                let (height, width) = if left_turned {
                    (depth, rows)
                } else {
                    (rows, depth)
                };
                let left = cells(height * (width + gap), 1);
                let left = View::of_rows(&left, height, width, width + gap);
                let left = if left_turned { left.transposed() } else { left };
                let (height, width) = if right_turned {
                    (cols, depth)
                } else {
                    (depth, cols)
                };
                let right = cells(height * (width + gap), 2);
                let right = View::of_rows(&right, height, width, width + gap);
                let right = if right_turned {
                    right.transposed()
                } else {
                    right
                };
                let stride = cols + gap;
                let before = cells(rows * stride + 4, 3);
                let expected = |write| {
                    let mut out = before.clone();
                    for row in 0..rows {
                        for col in 0..cols {
                            let pair = |k| at(&left, row, k) * at(&right, k, col);
                            let dot: f64 = (0..depth).map(pair).sum();
                            let old = if write == Write::Add {
                                before[row * stride + col]
                            } else {
                                0.0
                            };
                            out[row * stride + col] = old + dot;
                        }
                    }
                    out
                };
                for write in [Write::Replace, Write::Add] {
                    let mut out = before.clone();
                    multiply(left, right, &mut out, stride, write).expect("operands fit");
                    assert_eq!(out, expected(write), "{rows} x {depth} x {cols}, {write:?}");
                }
                let mut out = before.clone();
                multiply_in_parallel(left, right, &mut out, stride).expect("operands fit");
                assert_eq!(
                    out,
                    expected(Write::Replace),
                    "{rows} x {depth} x {cols} in parallel"
                );
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let cells = [0.0; 12];
        let (three_by_four, two_by_four) = (
            View::of_rows(&cells, 3, 4, 4),
            View::of_rows(&cells, 2, 4, 4),
        );
        let beyond = View::of_rows(&cells, 4, 4, 4);
        for (left, right, length) in [
            (three_by_four, two_by_four, 12),
            (three_by_four, two_by_four.transposed(), 5),
            (beyond, two_by_four.transposed(), 12),
        ] {
            let mut out = vec![0.0; length];
            let refused = multiply(left, right, &mut out, 2, Write::Replace);
            assert!(refused.is_err(), "{left:?} {right:?}");
        }
    }
}
