//! Gaussian elimination with partial pivoting of a few columns: what is left of a factorization when products have done their part.
//!
//! Columns stand one after the other, so that the search for a pivot and the update of a column go through neighbours. Each product is
//! rounded, and so is each difference: the bits are the same with all instructions.

use crate::lanes::{Instructions, Kernel, Lanes, run_with};

/// Columns that are eliminated one by one: with fewer, products are of too little depth to be worth their start.
pub(crate) const FEW_COLS: usize = 8;

/// Factors some columns into P, L and U: `columns` holds them `stride` apart, `rows` cells of each. The cell on the diagonal of the first
/// one is in row `top`, and the rows before it are left alone. `pivots` gets, for each column, the row that its diagonal was exchanged with.
///
/// A column without a pivot other than zero is left as it is.
///
/// # Panics
/// If the columns are not in their slice, or there are fewer rows than diagonals.
pub(crate) fn eliminate(
    columns: &mut [f64],
    stride: usize,
    rows: usize,
    top: usize,
    pivots: &mut [usize],
) {
    let elimination = Elimination {
        columns,
        stride,
        rows,
        top,
        pivots,
    };
    // SAFETY: the instructions are present, and the kernel needs nothing else.
    unsafe { run_with(Instructions::widest(), elimination) }
}

struct Elimination<'a> {
    columns: &'a mut [f64],
    stride: usize,
    rows: usize,
    top: usize,
    pivots: &'a mut [usize],
}

impl Kernel for Elimination<'_> {
    /// # Safety
    /// The instructions are present: plain loops are compiled for them.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Elimination {
            columns,
            stride,
            rows,
            top,
            pivots,
        } = self;
        for (at, pivot) in pivots.iter_mut().enumerate() {
            let (before, after) = columns.split_at_mut((at + 1) * stride);
            let column = &mut before[at * stride..][..rows];
            let diagonal = top + at;
            let row = diagonal + largest(&column[diagonal..]);
            *pivot = row;
            let value = column[row];
            if value != 0.0 {
                column.swap(diagonal, row);
                for cell in &mut column[diagonal + 1..] {
                    *cell /= value;
                }
            }
            let below = &before[at * stride..][diagonal + 1..rows];
            for column in after.chunks_mut(stride) {
                let column = &mut column[..rows];
                column.swap(diagonal, row);
                let factor = column[diagonal];
                for (cell, multiple) in column[diagonal + 1..].iter_mut().zip(below) {
                    *cell -= factor * multiple;
                }
            }
            // Rows of L are exchanged with those that follow.
            for column in before[..at * stride].chunks_mut(stride) {
                column.swap(diagonal, row);
            }
        }
    }
}

/// The first cell that is largest in magnitude. NaN counts as smallest.
#[inline(always)]
fn largest(cells: &[f64]) -> usize {
    /// Cells that are looked at together, and lanes in which the largest of them are kept.
    const BLOCK: usize = 128;
    const LANES: usize = 16;
    let (mut most, mut from) = (0.0, 0);
    for (number, block) in cells.chunks(BLOCK).enumerate() {
        let (chunks, rest) = block.as_chunks::<LANES>();
        let mut lanes = [0.0f64; LANES];
        for chunk in chunks {
            for (lane, cell) in lanes.iter_mut().zip(chunk) {
                *lane = greater(*lane, cell.abs());
            }
        }
        let mut best = 0.0;
        for lane in lanes {
            best = greater(best, lane);
        }
        for cell in rest {
            best = greater(best, cell.abs());
        }
        if best > most {
            (most, from) = (best, number * BLOCK);
        }
    }
    let block = cells[from..].iter().take(BLOCK);
    let place = block.map(|cell| cell.abs()).position(|cell| cell == most);
    from + place.unwrap_or(0)
}

/// An instruction, unlike [`f64::max`].
#[inline(always)]
fn greater(most: f64, cell: f64) -> f64 {
    if cell > most { cell } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_largest_is_found() {
        for length in [1, 5, 16, 127, 128, 129, 400] {
            for place in [0, length / 2, length - 1] {
                let mut cells = vec![1.0; length];
                cells[place] = -3.0;
                cells[length - 1] = 3.0;
                assert_eq!(largest(&cells), place);
            }
        }
        assert_eq!(largest(&[f64::NAN, 0.0, -1.0, f64::NAN]), 2);
        assert_eq!(largest(&[f64::NAN]), 0);
        assert_eq!(largest(&[-0.0, 0.0]), 0);
    }

    #[test]
    fn columns_become_the_factors_of_their_rows_in_another_order() {
        // Of (2 1; 4 6; 1 2) below a row that stays.
        let mut columns = [9.0, 2.0, 4.0, 1.0, 0.0, 8.0, 1.0, 6.0, 2.0, 0.0];
        let mut pivots = [0; 2];
        eliminate(&mut columns, 5, 4, 1, &mut pivots);
        assert_eq!(pivots, [2, 2]);
        assert_eq!(
            columns,
            [9.0, 4.0, 0.5, 0.25, 0.0, 8.0, 6.0, -2.0, -0.25, 0.0]
        );
    }
}
