//! Symmetric results, of which products compute the upper triangle.

use crate::lanes::{Instructions, Kernel, Lanes, run_with};

/// Copies what is above the diagonal below it: of the first `n` cells of `n` rows, which are `stride` cells apart.
///
/// # Panics
/// If the cells are not in their slice.
pub(crate) fn mirror(cells: &mut [f64], n: usize, stride: usize, instructions: Instructions) {
    assert!(super::view::fits(cells.len(), n, n, stride));
    // SAFETY: the cells are there, and the caller found the instructions.
    unsafe { run_with(instructions, Mirror { cells, n, stride }) }
}

struct Mirror<'a> {
    cells: &'a mut [f64],
    n: usize,
    stride: usize,
}

impl Kernel for Mirror<'_> {
    /// # Safety
    /// The instructions are present, and the slice has the cells.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Mirror { cells, n, stride } = self;
        let cells = cells.as_mut_ptr();
        for top in (0..n).step_by(L::WIDTH) {
            let end = (top + L::WIDTH).min(n);
            let squares = if end - top == L::WIDTH { top } else { 0 };
            for left in (0..squares).step_by(L::WIDTH) {
                // SAFETY: both squares are in the matrix. They share no cell: one lies above the diagonal, the other one below.
                unsafe {
                    let square = cells.add(left * stride + top);
                    L::turn(square, stride, cells.add(top * stride + left), stride);
                }
            }
            for row in top..end {
                for col in squares..row {
                    // SAFETY: both cells are in the matrix.
                    unsafe { *cells.add(row * stride + col) = *cells.add(col * stride + row) };
                }
            }
        }
    }
}
