//! LU of a tall panel: recursive elimination with partial pivoting.
//!
//! The left half of the columns is factored, the right half updated by one triangular system and one product, and then factored: Toledo,
//! "Locality of Reference in LU Decomposition with Partial Pivoting", 1997. So most operations of a panel are in products, too.
//!
//! The panel is laid out column by column, as searches for pivots go down columns.

use fulgurite_error::Result;

use crate::{
    gemm::{
        ViewMut,
        elimination::{FEW_COLS, eliminate},
        substitution::{Half, Triangle, substitute},
    },
    kernels::dense_product::{View, Write, multiply},
    memory,
};

/// Room for a panel.
pub(super) struct Panel {
    columns: Vec<f64>,
    /// A part of U, by rows.
    upper: Vec<f64>,
}

impl Panel {
    /// Room for panels of up to so many rows and columns.
    ///
    /// # Errors
    /// As [`memory::zeros`].
    pub fn new(rows: usize, cols: usize) -> Result<Self> {
        Ok(Panel {
            columns: memory::zeros(memory::cells(stride(rows), cols)?)?,
            upper: memory::zeros(memory::cells(cols, cols)?)?,
        })
    }

    /// Factors rows of `pivots.len()` cells, as many as there are or more. They become U, and below its diagonal L; `pivots` gets, for each
    /// column, the row that its diagonal was exchanged with.
    ///
    /// # Errors
    /// `interrupted`, and `memory` when there is none for a few columns.
    pub fn factor(&mut self, cells: &mut [f64], pivots: &mut [usize]) -> Result<()> {
        let cols = pivots.len();
        let rows = cells.len() / cols;
        let stride = stride(rows);
        let columns = &mut self.columns[..stride * cols];
        to_columns(cells, cols, columns, stride);
        let mut part = Part {
            columns,
            stride,
            rows,
            top: 0,
        };
        part.factor(pivots, &mut self.upper)?;
        to_rows(columns, stride, cells, cols);
        Ok(())
    }
}

/// From a column to the next one: an odd number of cache lines, so that cells of a row lie in different sets of the cache.
fn stride(rows: usize) -> usize {
    const LINE: usize = 8;
    (rows.div_ceil(LINE) | 1) * LINE
}

/// Columns of a panel. The diagonal of the first one is in row `top`.
struct Part<'a> {
    columns: &'a mut [f64],
    stride: usize,
    rows: usize,
    top: usize,
}

impl Part<'_> {
    fn factor(&mut self, pivots: &mut [usize], upper: &mut [f64]) -> Result<()> {
        let (stride, rows, top) = (self.stride, self.rows, self.top);
        let cols = pivots.len();
        if cols <= FEW_COLS {
            eliminate(self.columns, stride, rows, top, pivots);
            return Ok(());
        }
        let half = (cols / 2).next_multiple_of(FEW_COLS);
        let rest = cols - half;
        let (left, right) = self.columns.split_at_mut(half * stride);
        let (left_pivots, right_pivots) = pivots.split_at_mut(half);
        let mut part = Part {
            columns: left,
            ..*self
        };
        part.factor(left_pivots, upper)?;
        exchange(right, stride, top, left_pivots);

        // U of the right half, above its diagonal.
        let upper_part = &mut upper[..half * rest];
        for (row, cells) in upper_part.chunks_exact_mut(rest).enumerate() {
            for (cell, column) in cells.iter_mut().zip(right.chunks(stride)) {
                *cell = column[top + row];
            }
        }
        let lower = Triangle {
            cells: View::of_rows(&left[top..], half, half, stride).transposed(),
            half: Half::Lower,
            is_unit: true,
        };
        if let Some(right) = ViewMut::of_rows(upper_part, half, rest, rest) {
            substitute(lower, right);
        }
        for (row, cells) in upper_part.chunks_exact(rest).enumerate() {
            for (cell, column) in cells.iter().zip(right.chunks_mut(stride)) {
                column[top + row] = *cell;
            }
        }

        let below = top + half;
        if below < rows {
            multiply(
                View::of_rows(upper_part, half, rest, rest).transposed(),
                View::of_rows(&left[below..], half, rows - below, stride),
                &mut right[below..],
                stride,
                Write::Subtract,
            )?;
        }
        let mut part = Part {
            columns: right,
            top: below,
            ..*self
        };
        part.factor(right_pivots, upper)?;
        exchange(left, stride, below, right_pivots);
        Ok(())
    }
}

/// Exchanges rows from `top` on with their pivots.
fn exchange(columns: &mut [f64], stride: usize, top: usize, pivots: &[usize]) {
    for column in columns.chunks_mut(stride) {
        for (row, pivot) in (top..).zip(pivots) {
            column.swap(row, *pivot);
        }
    }
}

/// Rows and columns of a square that is turned in registers and the first-level cache.
const SIDE: usize = 8;

fn to_columns(cells: &[f64], cols: usize, columns: &mut [f64], stride: usize) {
    for (number, rows) in cells.chunks(SIDE * cols).enumerate() {
        let count = rows.len() / cols;
        for from in (0..cols).step_by(SIDE) {
            let to = (from + SIDE).min(cols);
            for col in from..to {
                let column = &mut columns[col * stride + number * SIDE..][..count];
                for (cell, row) in column.iter_mut().zip(rows.chunks_exact(cols)) {
                    *cell = row[col];
                }
            }
        }
    }
}

fn to_rows(columns: &[f64], stride: usize, cells: &mut [f64], cols: usize) {
    for (number, rows) in cells.chunks_mut(SIDE * cols).enumerate() {
        for from in (0..cols).step_by(SIDE) {
            let to = (from + SIDE).min(cols);
            for (at, row) in rows.chunks_exact_mut(cols).enumerate() {
                let first = from * stride + number * SIDE + at;
                let column = columns[first..].iter().step_by(stride);
                for (cell, value) in row[from..to].iter_mut().zip(column) {
                    *cell = *value;
                }
            }
        }
    }
}
