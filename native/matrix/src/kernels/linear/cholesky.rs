//! Blocked right-looking Cholesky factorization, `A = t(R) %*% R` with an upper triangle R.
//!
//! This is LAPACK's dpotrf (Golub and van Loan, "Matrix Computations", 4th edition, 4.2). A square on the diagonal is factored, the rows
//! to its right are solved for, and their product with themselves is taken from what is left of the upper triangle.

use std::ops::Range;

use fulgurite_error::Result;

use super::{Columns, Factors, backward, by_rows, forward, in_groups, unit_columns};
use crate::{
    DenseMatrix, Interrupt,
    gemm::{
        ViewMut,
        substitution::{Half, Triangle, substitute_in_parallel},
    },
    kernels::{
        TASK_CELLS,
        dense_product::{View, subtract_upper_in_parallel},
    },
    memory,
};

/// Rows of a block.
const WIDTH: usize = 96;

/// The upper factor of a symmetric positive definite matrix.
pub(in crate::kernels) struct Cholesky {
    order: usize,
    /// By rows. Below the diagonal they may be any.
    cells: Vec<f64>,
    /// The diagonal of the matrix.
    diagonal: Vec<f64>,
}

/// What a factorization found.
pub(in crate::kernels) enum Definite {
    Yes(Cholesky),
    /// The first upper left part that is not positive definite has so many rows.
    No(usize),
}

/// Whether a matrix is symmetric, to the bit, and its diagonal positive.
///
/// # Errors
/// `interrupted`.
pub(super) fn may_be_definite(matrix: &DenseMatrix) -> Result<bool> {
    /// Rows and columns of squares that are compared: they stay in the first-level cache.
    const SIDE: usize = 32;
    let (order, cells) = (matrix.rows(), matrix.values());
    let interrupt = Interrupt::current();
    if !(0..order).all(|at| cells[at * order + at] > 0.0) {
        return Ok(false);
    }
    for top in (0..order).step_by(SIDE) {
        interrupt.check()?;
        for left in (0..=top).step_by(SIDE) {
            for row in top..(top + SIDE).min(order) {
                let cols = left..(left + SIDE).min(row);
                let row_cells = &cells[row * order..][cols.clone()];
                let mut pairs = row_cells.iter().zip(cols);
                if !pairs.all(|(cell, col)| *cell == cells[col * order + row]) {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

impl Cholesky {
    /// Reads the upper triangle.
    ///
    /// # Errors
    /// `interrupted`, and `memory` when there is none for the factor.
    pub fn factor(matrix: &DenseMatrix) -> Result<Definite> {
        let order = matrix.rows();
        let mut cells = memory::by_chunks(matrix.values().len(), TASK_CELLS, |number, out| {
            out.copy_from_slice(&matrix.values()[number * TASK_CELLS..][..out.len()]);
        })?;
        let diagonal = memory::collected((0..order).map(|at| cells[at * order + at]))?;
        let mut square = memory::zeros(WIDTH * WIDTH)?;
        let interrupt = Interrupt::current();
        for from in (0..order).step_by(WIDTH) {
            interrupt.check()?;
            let to = (from + WIDTH).min(order);
            let depth = to - from;
            let (rows, below) = cells.split_at_mut(to * order);
            let rows = &mut rows[from * order..];
            let square = &mut square[..depth * depth];
            for (copy, row) in square.chunks_exact_mut(depth).zip(rows.chunks_exact(order)) {
                copy.copy_from_slice(&row[from..to]);
            }
            if let Err(at) = factor_square(square, depth) {
                return Ok(Definite::No(from + at + 1));
            }
            for (copy, row) in square.chunks_exact(depth).zip(rows.chunks_exact_mut(order)) {
                row[from..to].copy_from_slice(copy);
            }
            let right = &mut rows[to..];
            let lower = Triangle {
                cells: View::of_rows(square, depth, depth, depth).transposed(),
                half: Half::Lower,
                is_unit: false,
            };
            if let Some(right) = ViewMut::of_rows(right, depth, order - to, order) {
                substitute_in_parallel(lower, right);
            }
            if to < order {
                let solved = View::of_rows(right, depth, order - to, order);
                subtract_upper_in_parallel(solved, &mut below[to..], order)?;
            }
        }
        Ok(Definite::Yes(Cholesky {
            order,
            cells,
            diagonal,
        }))
    }

    /// Whether the factor gives solutions as accurate as those of orthogonal ones: no pivot is nearly nothing of its cell.
    pub fn is_accurate(&self) -> bool {
        let mut pivots = self.diagonal.iter().enumerate();
        pivots.all(|(at, cell)| {
            let pivot = self.cell(at, at);
            super::is_pivot(pivot * pivot, *cell, self.order)
        })
    }

    /// A cell of R.
    pub fn cell(&self, row: usize, col: usize) -> f64 {
        self.cells[row * self.order + col]
    }

    /// R^-1 t(R)^-1, whose lower triangle is computed and mirrored.
    ///
    /// # Errors
    /// `interrupted`, and `memory` when there is none for the inverse.
    pub(super) fn inverse(self) -> Result<DenseMatrix> {
        let order = self.order;
        let groups = in_groups(order, order, |columns, out| {
            unit_columns(&columns, out);
            forward(&self, out, columns.len(), columns.start)?;
            backward(&self, out, columns.len(), columns.start)
        })?;
        drop(self);
        by_rows(&groups, order, order, Columns::Mirrored)
    }

    fn part(&self, rows: Range<usize>, cols: Range<usize>) -> View<'_> {
        let from = rows.start * self.order + cols.start;
        let cells = self.cells.get(from..).unwrap_or(&[]);
        View::of_rows(cells, rows.len(), cols.len(), self.order)
    }
}

impl Factors for Cholesky {
    fn order(&self) -> usize {
        self.order
    }

    fn width(&self) -> usize {
        WIDTH
    }

    fn exchange(&self, _: &Range<usize>, _: &mut [f64], _: usize) {}

    fn lower(&self, block: &Range<usize>) -> Triangle<'_> {
        Triangle {
            cells: self.part(block.clone(), block.clone()).transposed(),
            half: Half::Lower,
            is_unit: false,
        }
    }

    fn below(&self, block: &Range<usize>) -> View<'_> {
        self.part(block.clone(), block.end..self.order).transposed()
    }

    fn upper(&self, block: &Range<usize>) -> Triangle<'_> {
        Triangle {
            cells: self.part(block.clone(), block.clone()),
            half: Half::Upper,
            is_unit: false,
        }
    }

    fn above(&self, block: &Range<usize>, from: usize) -> View<'_> {
        self.part(from..block.start, block.clone())
    }
}

/// Factors a square in place, row by row. The error is the row without a positive pivot.
fn factor_square(square: &mut [f64], order: usize) -> std::result::Result<(), usize> {
    for at in 0..order {
        let (before, below) = square.split_at_mut((at + 1) * order);
        let row = &mut before[at * order..];
        let pivot = row[at];
        if pivot <= 0.0 || pivot.is_nan() {
            return Err(at);
        }
        let root = pivot.sqrt();
        row[at] = root;
        for cell in &mut row[at + 1..] {
            *cell /= root;
        }
        for (number, out) in (at + 1..).zip(below.chunks_exact_mut(order)) {
            let factor = row[number];
            for (cell, multiple) in out[number..].iter_mut().zip(&row[number..]) {
                *cell -= factor * multiple;
            }
        }
    }
    Ok(())
}
