//! Blocked right-looking LU with partial pivoting, `P %*% A = L %*% U`.
//!
//! This is LAPACK's dgetrf (Golub and van Loan, "Matrix Computations", 4th edition, 3.4). The matrix is cut into blocks of columns, each of
//! which is laid out by rows. One block after the other is factored as a [panel](Panel), and those after it are updated: the rows are
//! exchanged, U comes from a triangular system, and a product does the rest. The next panel is factored while other threads still update
//! what comes after it (look-ahead: Kurzak and Dongarra, "Implementing Linear Algebra Routines on Multi-Core Processors with Pipelining
//! and a Look Ahead", 2007).
//!
//! A block is updated by one task, and blocks depend on the order of the matrix alone. So do the bits.

use std::{mem, ops::Range};

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{Factors, panel::Panel};
use crate::{
    DenseMatrix, Interrupt,
    gemm::{
        ViewMut,
        substitution::{Half, Triangle, substitute},
    },
    kernels::dense_product::{View, Write, multiply},
    memory::{self, NewCells},
};

/// Both factors of a matrix, in blocks of columns.
pub(in crate::kernels) struct Lu {
    order: usize,
    width: usize,
    /// The blocks one after the other: U, and below its diagonal L.
    cells: Vec<f64>,
    /// For each column, the row that its diagonal was exchanged with.
    pivots: Vec<usize>,
    /// The largest magnitude in each column of the matrix.
    largest: Vec<f64>,
}

/// Columns of a block. Whole tiles of any instructions; wide blocks make products deep, narrow ones keep all threads busy.
fn block_width(order: usize) -> usize {
    match order {
        0..768 => 48,
        768..1536 => 96,
        _ => 144,
    }
}

impl Lu {
    /// # Errors
    /// `interrupted`, and `memory` when there is none for the factors.
    pub fn new(matrix: &DenseMatrix) -> Result<Self> {
        let order = matrix.rows();
        let width = block_width(order);
        let (cells, largest) = column_blocks(matrix, width)?;
        let mut lu = Lu {
            order,
            width,
            cells,
            pivots: memory::zeros_of(order)?,
            largest,
        };
        lu.factor()?;
        Ok(lu)
    }

    fn factor(&mut self) -> Result<()> {
        let (order, size) = (self.order, self.order * self.width);
        let interrupt = Interrupt::current();
        let mut panel = Panel::new(order, self.width)?;
        let (mut blocks, mut pivots) = (&mut self.cells[..], &mut self.pivots[..]);
        let mut next = 0..self.width.min(order);
        if let Some(first) = blocks.chunks_mut(size.max(1)).next() {
            panel.factor(first, &mut pivots[next.clone()])?;
        }
        while next.end < order {
            interrupt.check()?;
            let (block, later) = mem::take(&mut blocks).split_at_mut(size);
            let (exchanged, later_pivots) = mem::take(&mut pivots).split_at_mut(next.len());
            let elimination = Elimination {
                order,
                block,
                columns: next.clone(),
                pivots: exchanged,
            };
            next = next.end..(next.end + self.width).min(order);
            let (next_block, others) = later.split_at_mut(size.min(later.len()));
            let next_pivots = &mut later_pivots[..next.len()];
            let (panel, factored) = (&mut panel, next.clone());
            let look_ahead = || {
                elimination.update(next_block)?;
                let below = &mut next_block[factored.start * factored.len()..];
                panel.factor(below, next_pivots)?;
                next_pivots
                    .iter_mut()
                    .for_each(|pivot| *pivot += factored.start);
                Ok(())
            };
            let others = others.par_chunks_mut(size).with_max_len(1);
            let (ahead, updated) = rayon::join(
                || interrupt.within(look_ahead),
                || {
                    others.try_for_each(|block| {
                        interrupt.check()?;
                        interrupt.within(|| elimination.update(block))
                    })
                },
            );
            ahead.and(updated)?;
            (blocks, pivots) = (later, later_pivots);
        }
        Ok(())
    }

    /// The determinant of the matrix.
    pub fn determinant(&self) -> f64 {
        let exchanges = self.pivots.iter().enumerate();
        let exchanges = exchanges.filter(|(row, pivot)| row != *pivot).count();
        let sign = if exchanges.is_multiple_of(2) {
            1.0
        } else {
            -1.0
        };
        (0..self.order).fold(sign, |product, place| product * self.cell(place, place))
    }

    /// Whether the factors give solutions as accurate as those of orthogonal ones.
    ///
    /// They may not where a pivot is nearly nothing of its column, as in singular matrices, and where eliminated cells have grown:
    /// partial pivoting does not exclude that (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, 9.3).
    pub fn is_accurate(&self) -> bool {
        /// Growth that costs three of the sixteen digits.
        const MOST_GROWTH: f64 = 1e3;
        let largest = self.largest.iter().fold(0.0, |most: f64, x| most.max(*x));
        let limit = MOST_GROWTH * largest;
        let blocks = self.cells.par_chunks((self.order * self.width).max(1));
        blocks.enumerate().all(|(number, cells)| {
            let (columns, _) = self.block(number * self.width);
            let rows = cells.chunks_exact(columns.len()).enumerate();
            let mut is_small = true;
            for (row, cells) in rows.take(columns.end) {
                let from = row.saturating_sub(columns.start);
                for cell in &cells[from..] {
                    // False for NaN.
                    is_small &= cell.abs() <= limit;
                }
            }
            is_small
                && columns.enumerate().all(|(at, column)| {
                    let pivot = cells[column * cells.len() / self.order + at];
                    super::is_pivot(pivot, self.largest[column], self.order)
                })
        })
    }

    /// Exchanges rows of L with those that were exchanged after its columns were eliminated. It says which row of the matrix is in each
    /// row of the factors.
    ///
    /// # Errors
    /// As [`memory::room`].
    pub fn order_rows(&mut self) -> Result<Vec<usize>> {
        let (order, width) = (self.order, self.width);
        let pivots = &self.pivots;
        let blocks = self.cells.par_chunks_mut((order * width).max(1));
        blocks.enumerate().for_each(|(number, cells)| {
            let to = ((number + 1) * width).min(order);
            exchange_rows(cells, to - number * width, to, &pivots[to..]);
        });
        let mut rows = memory::collected(0..order)?;
        for (row, pivot) in self.pivots.iter_mut().enumerate() {
            rows.swap(row, *pivot);
            *pivot = row;
        }
        Ok(rows)
    }

    /// U, and below its diagonal L.
    pub fn cell(&self, row: usize, col: usize) -> f64 {
        let number = col / self.width;
        let (columns, cells) = self.block(number * self.width);
        cells[row * columns.len() + col - columns.start]
    }

    /// The block that begins with a column.
    fn block(&self, from: usize) -> (Range<usize>, &[f64]) {
        let to = (from + self.width).min(self.order);
        (from..to, &self.cells[from * self.order..to * self.order])
    }

    /// Rows of the block that begins with a column.
    fn rows(&self, from: usize, rows: Range<usize>) -> View<'_> {
        let (columns, cells) = self.block(from);
        let width = columns.len();
        View::of_rows(&cells[rows.start * width..], rows.len(), width, width)
    }
}

impl Factors for Lu {
    fn order(&self) -> usize {
        self.order
    }

    fn width(&self) -> usize {
        self.width
    }

    fn exchange(&self, block: &Range<usize>, right: &mut [f64], cols: usize) {
        exchange_rows(right, cols, block.start, &self.pivots[block.clone()]);
    }

    fn lower(&self, block: &Range<usize>) -> Triangle<'_> {
        Triangle {
            cells: self.rows(block.start, block.clone()),
            half: Half::Lower,
            is_unit: true,
        }
    }

    fn below(&self, block: &Range<usize>) -> View<'_> {
        self.rows(block.start, block.end..self.order)
    }

    fn upper(&self, block: &Range<usize>) -> Triangle<'_> {
        Triangle {
            cells: self.rows(block.start, block.clone()),
            half: Half::Upper,
            is_unit: false,
        }
    }

    fn above(&self, block: &Range<usize>, from: usize) -> View<'_> {
        self.rows(block.start, from..block.start)
    }
}

/// A factored block, to be eliminated from those after it.
struct Elimination<'a> {
    order: usize,
    block: &'a [f64],
    columns: Range<usize>,
    pivots: &'a [usize],
}

impl Elimination<'_> {
    fn update(&self, cells: &mut [f64]) -> Result<()> {
        let (Range { start, end }, depth) = (self.columns.clone(), self.columns.len());
        let cols = cells.len() / self.order;
        exchange_rows(cells, cols, start, self.pivots);
        let (solved, below) = cells.split_at_mut(end * cols);
        let right = &mut solved[start * cols..];
        let lower = Triangle {
            cells: View::of_rows(&self.block[start * depth..], depth, depth, depth),
            half: Half::Lower,
            is_unit: true,
        };
        if let Some(right) = ViewMut::of_rows(right, depth, cols, cols) {
            substitute(lower, right);
        }
        multiply(
            View::of_rows(&self.block[end * depth..], self.order - end, depth, depth),
            View::of_rows(right, depth, cols, cols),
            below,
            cols,
            Write::Subtract,
        )
    }
}

/// Exchanges rows from one on with those that are named, one after the other.
fn exchange_rows(cells: &mut [f64], cols: usize, first: usize, with: &[usize]) {
    for (row, other) in (first..).zip(with) {
        if row < *other {
            let (before, after) = cells.split_at_mut(other * cols);
            before[row * cols..][..cols].swap_with_slice(&mut after[..cols]);
        }
    }
}

/// Blocks of columns, and the largest magnitude in each column.
fn column_blocks(matrix: &DenseMatrix, width: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let (order, interrupt) = (matrix.rows(), Interrupt::current());
    let mut largest = memory::zeros(order)?;
    let mut cells = NewCells::new(memory::cells(order, order)?)?;
    let widths = (0..order)
        .step_by(width)
        .map(|from| width.min(order - from));
    let parts = cells.parts(widths.map(|width| width * order));
    let parts = parts.into_par_iter().zip(largest.par_chunks_mut(width));
    parts
        .enumerate()
        .try_for_each(|(number, (part, largest))| {
            interrupt.check()?;
            let from = number * width;
            let rows = part.cells().chunks_exact_mut(largest.len());
            for (out, row) in rows.zip(matrix.values().chunks_exact(order)) {
                out.copy_from_slice(&row[from..from + out.len()]);
                for (most, cell) in largest.iter_mut().zip(out) {
                    let cell = cell.abs();
                    *most = if cell > *most { cell } else { *most };
                }
            }
            Ok(())
        })?;
    Ok((cells.finish(), largest))
}
