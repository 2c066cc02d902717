//! Dense products of operands inside slices.

use fulgurite_error::{Error, Result};

pub use crate::gemm::{FEW_ROWS, LaidOut, View, Write};
use crate::{
    Interrupt,
    gemm::{Coverage, DenseProduct, ViewMut, mirror},
    lanes::Instructions,
};

/// Columns of the right operand from which on these products are faster than dot products of rows with columns: below,
/// laying operands out anew takes too much of the time.
pub const WIDE_COLS: usize = 16;

/// `left %*% right` into the rows of `out`, `stride` apart, on this thread.
///
/// # Errors
/// - `internal` when the shapes don't fit each other or their slices;
/// - `interrupted` when the run is to stop;
/// - `memory` when there is none for a few columns of an operand.
pub fn multiply(
    left: View<'_>,
    right: View<'_>,
    out: &mut [f64],
    stride: usize,
    write: Write,
) -> Result<()> {
    let (product, out) = checked(left, right, Coverage::All, out, stride)?;
    product.run(out, write)
}

/// As [`multiply`], for code that can report no error of a run: it goes on to its end, and without room for a few columns of an operand it
/// takes longer. The bits are the same.
///
/// # Errors
/// `internal` when the shapes don't fit each other or their slices.
pub fn multiply_in_any_room(
    left: View<'_>,
    right: View<'_>,
    out: &mut [f64],
    stride: usize,
    write: Write,
) -> Result<()> {
    let (product, out) = checked(left, right, Coverage::All, out, stride)?;
    run_in_any_room(&product, out, write);
    Ok(())
}

fn run_in_any_room(product: &DenseProduct<'_>, mut out: ViewMut<'_>, write: Write) {
    let unstoppable = Interrupt::default();
    // Room is asked for before anything is written.
    if unstoppable
        .within(|| product.run(out.whole(), write))
        .is_err()
    {
        product.run_in_place(out, write);
    }
}

/// Adds `t(matrix) %*% matrix` to the rows of `out`, `stride` apart, which are those of a symmetric matrix. As
/// [`multiply_in_any_room`] in half the time, with the same bits.
///
/// # Errors
/// `internal` when the matrix does not fit its slice, or the result.
///
/// ```
/// # use fulgurite_matrix::kernels::dense_product::{View, add_squares_in_any_room};
/// let matrix = View::of_rows(&[1.0, 2.0, 3.0, 4.0], 2, 2, 2);
/// let mut out = vec![1.0; 4];
/// add_squares_in_any_room(matrix, &mut out, 2)?;
/// assert_eq!(out, [11.0, 15.0, 15.0, 21.0]);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn add_squares_in_any_room(matrix: View<'_>, out: &mut [f64], stride: usize) -> Result<()> {
    let left = matrix.transposed();
    let (product, view) = checked(left, matrix, Coverage::Upper, out, stride)?;
    run_in_any_room(&product, view, Write::Add);
    mirror(out, matrix.cols(), stride, Instructions::widest());
    Ok(())
}

/// Copies the upper triangle of an `n x n` matrix, whose rows follow each other, to the lower one.
///
/// # Panics
/// If the matrix is not in its slice.
pub(crate) fn mirror_upper(cells: &mut [f64], n: usize) {
    mirror(cells, n, n, Instructions::widest());
}

/// The rows of `left %*% right`, computed on rayon's threads. The bits are those of [`multiply`].
///
/// # Errors
/// As [`multiply`], and `memory` when there is none for the result.
pub(crate) fn product_in_parallel(left: View<'_>, right: View<'_>) -> Result<Vec<f64>> {
    let product = DenseProduct::new(left, right, Coverage::All, Instructions::widest());
    let product = product.ok_or_else(|| misfit(left, right))?;
    product.collect_in_parallel()
}

/// Adds the upper triangle of `t(matrix) %*% matrix` to the rows of `out`, on this thread. Cells below the diagonal are worthless.
///
/// # Errors
/// As [`multiply`].
pub(crate) fn add_upper(matrix: View<'_>, out: &mut [f64], stride: usize) -> Result<()> {
    let (product, out) = checked(matrix.transposed(), matrix, Coverage::Upper, out, stride)?;
    product.run(out, Write::Add)
}

/// The upper triangle of `t(matrix) %*% matrix` into the rows of `out`, on rayon's threads. Cells below the diagonal are
/// worthless.
///
/// # Errors
/// As [`multiply`].
pub(crate) fn upper_in_parallel(matrix: View<'_>, out: &mut [f64], stride: usize) -> Result<()> {
    let (product, out) = checked(matrix.transposed(), matrix, Coverage::Upper, out, stride)?;
    product.run_in_parallel(out, Write::Replace)
}

/// Subtracts the upper triangle of `t(matrix) %*% matrix` from the rows of `out`, on rayon's threads. Cells below the diagonal are
/// worthless.
///
/// # Errors
/// As [`multiply`].
pub(crate) fn subtract_upper_in_parallel(
    matrix: View<'_>,
    out: &mut [f64],
    stride: usize,
) -> Result<()> {
    let (product, out) = checked(matrix.transposed(), matrix, Coverage::Upper, out, stride)?;
    product.run_in_parallel(out, Write::Subtract)
}

fn checked<'v, 'o>(
    left: View<'v>,
    right: View<'v>,
    coverage: Coverage,
    out: &'o mut [f64],
    stride: usize,
) -> Result<(DenseProduct<'v>, ViewMut<'o>)> {
    let instructions = Instructions::widest();
    let product = DenseProduct::new(left, right, coverage, instructions);
    let out = ViewMut::of_rows(out, left.rows(), right.cols(), stride);
    product.zip(out).ok_or_else(|| misfit(left, right))
}

fn misfit(left: View<'_>, right: View<'_>) -> Error {
    let (rows, depth, inner, cols) = (left.rows(), left.cols(), right.rows(), right.cols());
    Error::internal(format!(
        "operands of a {rows} x {depth} by {inner} x {cols} product don't fit"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{self, Budget};

    /// Cells that add up without rounding.
    fn cells(count: usize, seed: usize) -> Vec<f64> {
        let cell = |at: usize| ((at * 31 + seed * 17) % 13) as f64 - 6.0;
        (0..count).map(cell).collect()
    }

    fn at(view: &View, row: usize, col: usize) -> f64 {
        view.cells()[row * view.down() + col * view.across()]
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
                            let cell = &mut out[row * stride + col];
                            *cell = match write {
                                Write::Replace => dot,
                                Write::Add => *cell + dot,
                                Write::Subtract => *cell - dot,
                            };
                        }
                    }
                    out
                };
                for write in [Write::Replace, Write::Add, Write::Subtract] {
                    let mut out = before.clone();
                    multiply(left, right, &mut out, stride, write).expect("operands fit");
                    assert_eq!(out, expected(write), "{rows} x {depth} x {cols}, {write:?}");
                }
                let rows_apart = expected(Write::Replace);
                let out = product_in_parallel(left, right).expect("operands fit");
                for row in 0..rows {
                    let (from, from_apart) = (row * cols, row * stride);
                    assert_eq!(
                        out[from..from + cols],
                        rows_apart[from_apart..from_apart + cols],
                        "{rows} x {depth} x {cols} in parallel"
                    );
                }
            }
        }
    }

    #[test]
    fn sums_of_squares_are_those_of_any_product() {
        for (rows, cols, gap) in [(0, 3, 0), (1, 1, 1), (9, 70, 0), (130, 33, 2), (600, 24, 0)] {
            let matrix: Vec<f64> = cells(rows * (cols + gap), 1);
            let matrix: Vec<f64> = matrix.iter().map(|cell| cell / 7.0).collect();
            let view = View::of_rows(&matrix, rows, cols, cols + gap);
            let stride = cols + gap;
            let before = vec![0.25; cols * stride];
            let mut expected = before.clone();
            multiply(view.transposed(), view, &mut expected, stride, Write::Add)
                .expect("operands fit");
            let mut out = before.clone();
            add_squares_in_any_room(view, &mut out, stride).expect("the matrix fits");
            assert_eq!(out, expected, "{rows} x {cols}");
            let no_room = Budget {
                bytes: 1,
                setting: "fulgurite.memory.local",
            };
            let mut out = before.clone();
            memory::within(no_room, || add_squares_in_any_room(view, &mut out, stride))
                .expect("the matrix fits");
            assert_eq!(out, expected, "{rows} x {cols} without room");
        }
    }

    #[test]
    fn compiled_code_goes_on_in_an_ended_run() {
        let (left, right) = (cells(9 * 600, 1), cells(600 * 20, 2));
        let left = View::of_rows(&left, 9, 600, 600);
        let right = View::of_rows(&right, 600, 20, 20);
        let before = cells(9 * 20, 3);
        let ended = Interrupt::new();
        ended.set();
        for write in [Write::Replace, Write::Add, Write::Subtract] {
            let mut expected = before.clone();
            multiply(left, right, &mut expected, 20, write).expect("operands fit");
            let mut out = before.clone();
            ended.within(|| {
                assert!(multiply(left, right, &mut out.clone(), 20, write).is_err());
                multiply_in_any_room(left, right, &mut out, 20, write).expect("operands fit");
            });
            assert_eq!(out, expected, "{write:?}");
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
