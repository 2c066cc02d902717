//! Dense systems of linear equations by LU and Cholesky factors.
//!
//! Factorizations are blocked, so that nearly all operations are in [products](crate::kernels::dense_product). Solutions come by
//! blocked substitution: the right side is cut into groups of columns, which threads solve for. Start with [`solution`].
//!
//! Cells are finite. A matrix that the factors can't be trusted for gives None: orthogonal factors decide then.
//!
//! Products and triangular kernels have the same bits on any thread, and blocks and groups depend on sizes alone. So a result depends on
//! its operands alone, up to how the instructions round.

mod cholesky;
mod lu;
mod panel;
#[cfg(test)]
mod tests;

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use crate::{
    DenseMatrix, Interrupt,
    gemm::{
        ViewMut,
        substitution::{Triangle, substitute},
    },
    kernels::dense_product::{View, Write, multiply},
    memory::{self, NewCells},
};
pub(super) use cholesky::{Cholesky, Definite};
pub(super) use lu::Lu;

/// The x with `matrix %*% x = right`.
///
/// # Errors
/// `interrupted`, and `memory` when there is none for the factors or the solution.
pub(super) fn solution(matrix: &DenseMatrix, right: &DenseMatrix) -> Result<Option<DenseMatrix>> {
    match factors(matrix)? {
        Some(AnyFactors::Symmetric(factors)) => solved(&factors, right).map(Some),
        Some(AnyFactors::General(factors)) => solved(&factors, right).map(Some),
        None => Ok(None),
    }
}

/// The inverse of a matrix. That of a large symmetric positive definite matrix is symmetric.
///
/// # Errors
/// As [`solution`].
pub(super) fn inverse(matrix: &DenseMatrix) -> Result<Option<DenseMatrix>> {
    match factors(matrix)? {
        Some(AnyFactors::Symmetric(factors)) => factors.inverse().map(Some),
        Some(AnyFactors::General(factors)) => inverted(factors).map(Some),
        None => Ok(None),
    }
}

enum AnyFactors {
    Symmetric(Cholesky),
    General(Lu),
}

/// From this order on the time of a factorization matters. Below, all matrices get LU factors: square roots round, and solutions of small
/// systems of whole numbers would not be exact.
const LEAST_CHOLESKY_ORDER: usize = 64;

/// Factors that can be trusted.
fn factors(matrix: &DenseMatrix) -> Result<Option<AnyFactors>> {
    if matrix.rows() >= LEAST_CHOLESKY_ORDER
        && cholesky::may_be_definite(matrix)?
        && let Definite::Yes(factors) = Cholesky::factor(matrix)?
    {
        // With such pivots LU would do no better.
        return Ok(factors
            .is_accurate()
            .then_some(AnyFactors::Symmetric(factors)));
    }
    let factors = Lu::new(matrix)?;
    Ok(factors
        .is_accurate()
        .then_some(AnyFactors::General(factors)))
}

/// Whether a pivot is more than what rounding may have left of a column whose largest cell is that.
///
/// [`regular`](super::factorize) asks the same of orthogonal factors, with a smaller bound: what it refuses is refused here.
fn is_pivot(pivot: f64, largest: f64, order: usize) -> bool {
    /// Beyond, quotients may overflow or lose digits.
    const MAGNITUDES: Range<f64> = 1e-290..1e290;
    let order = order as f64;
    let noise = order * (order + 16.0) * f64::EPSILON * largest;
    MAGNITUDES.contains(&pivot.abs()) && pivot.abs() > noise
}

/// The triangular factors of a matrix, in blocks of unknowns.
trait Factors: Sync {
    fn order(&self) -> usize;
    /// Unknowns of a block.
    fn width(&self) -> usize;
    /// Exchanges rows of a right side, as it was done before this block was eliminated.
    fn exchange(&self, block: &Range<usize>, right: &mut [f64], cols: usize);
    /// Of the lower factor: what is on the diagonal, and what is below it in these columns.
    fn lower(&self, block: &Range<usize>) -> Triangle<'_>;
    fn below(&self, block: &Range<usize>) -> View<'_>;
    /// Of the upper factor: what is on the diagonal, and what is above it in these columns, from a row on.
    fn upper(&self, block: &Range<usize>) -> Triangle<'_>;
    fn above(&self, block: &Range<usize>, from: usize) -> View<'_>;
}

/// The unknowns in blocks, from one of them on.
fn blocks(factors: &impl Factors, from: usize) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let (order, width) = (factors.order(), factors.width());
    let first = from / width * width;
    let starts = (first..order).step_by(width);
    starts.map(move |from| from..(from + width).min(order))
}

/// Solves `lower %*% X = right` for rows that are zero before `from`.
fn forward(factors: &impl Factors, right: &mut [f64], cols: usize, from: usize) -> Result<()> {
    let interrupt = Interrupt::current();
    for block in blocks(factors, from) {
        interrupt.check()?;
        factors.exchange(&block, right, cols);
        let (solved, below) = right.split_at_mut(block.end * cols);
        let solved = &mut solved[block.start * cols..];
        if let Some(out) = ViewMut::of_rows(solved, block.len(), cols, cols) {
            substitute(factors.lower(&block), out);
        }
        let solved = View::of_rows(solved, block.len(), cols, cols);
        multiply(factors.below(&block), solved, below, cols, Write::Subtract)?;
    }
    Ok(())
}

/// Solves `upper %*% X = right` for the rows of the blocks from that of `from` on.
fn backward(factors: &impl Factors, right: &mut [f64], cols: usize, from: usize) -> Result<()> {
    let interrupt = Interrupt::current();
    let first = from / factors.width() * factors.width();
    for block in blocks(factors, from).rev() {
        interrupt.check()?;
        let (above, solved) = right.split_at_mut(block.start * cols);
        let solved = &mut solved[..block.len() * cols];
        if let Some(out) = ViewMut::of_rows(solved, block.len(), cols, cols) {
            substitute(factors.upper(&block), out);
        }
        multiply(
            factors.above(&block, first),
            View::of_rows(solved, block.len(), cols, cols),
            &mut above[first * cols..],
            cols,
            Write::Subtract,
        )?;
    }
    Ok(())
}

/// Columns of a right side that a task solves for: whole tiles of any instructions, whose cells stay in the second-level cache.
const GROUP: usize = 72;

fn solved(factors: &impl Factors, right: &DenseMatrix) -> Result<DenseMatrix> {
    let (rows, cols) = (right.rows(), right.cols());
    let groups = in_groups(rows, cols, |columns, out| {
        for (out, row) in out
            .chunks_exact_mut(columns.len())
            .zip(right.values().chunks_exact(cols))
        {
            out.copy_from_slice(&row[columns.clone()]);
        }
        forward(factors, out, columns.len(), 0)?;
        backward(factors, out, columns.len(), 0)
    })?;
    if cols <= GROUP {
        return DenseMatrix::new(rows, cols, groups);
    }
    by_rows(&groups, rows, cols, Columns::InPlace)
}

/// U^-1 L^-1 P: the columns of L^-1 are zero above its diagonal.
fn inverted(mut factors: Lu) -> Result<DenseMatrix> {
    let rows = factors.order_rows()?;
    let order = rows.len();
    let groups = in_groups(order, order, |columns, out| {
        unit_columns(&columns, out);
        forward(&factors, out, columns.len(), columns.start)?;
        backward(&factors, out, columns.len(), 0)
    })?;
    drop(factors);
    by_rows(&groups, order, order, Columns::At(&rows))
}

/// Columns of the identity, into zeros.
fn unit_columns(columns: &Range<usize>, out: &mut [f64]) {
    for (at, row) in columns.clone().enumerate() {
        out[row * columns.len() + at] = 1.0;
    }
}

/// Groups of columns, one after the other and each by rows, that `fill` writes on all threads. It gets zeros.
fn in_groups(
    rows: usize,
    cols: usize,
    fill: impl Fn(Range<usize>, &mut [f64]) -> Result<()> + Sync,
) -> Result<Vec<f64>> {
    let interrupt = Interrupt::current();
    let mut cells = NewCells::new(memory::cells(rows, cols)?)?;
    let groups = (0..cols).step_by(GROUP);
    let groups = groups.map(|from| from..(from + GROUP).min(cols));
    let parts = cells.parts(groups.clone().map(|columns| columns.len() * rows));
    let parts: Vec<_> = groups.zip(parts).collect();
    let parts = parts.into_par_iter().with_max_len(1);
    parts.try_for_each(|(columns, part)| {
        interrupt.check()?;
        interrupt.within(|| fill(columns, part.cells()))
    })?;
    Ok(cells.finish())
}

/// Where the columns of a matrix come from.
#[derive(Clone, Copy)]
enum Columns<'a> {
    InPlace,
    /// For each column, its place in the matrix.
    At(&'a [usize]),
    /// The lower triangle is given, and the upper one is its mirror image.
    Mirrored,
}

/// A matrix by rows, of one in groups of columns.
fn by_rows(groups: &[f64], rows: usize, cols: usize, columns: Columns<'_>) -> Result<DenseMatrix> {
    /// Rows of a task.
    const TASK_ROWS: usize = 32;
    // Some cells of a row, from a column on to the end of its group.
    let cells = |row: usize, col: usize| {
        let (number, at) = (col / GROUP, col % GROUP);
        let width = GROUP.min(cols - number * GROUP);
        &groups[number * GROUP * rows + row * width..][at..width]
    };
    let filled = memory::by_chunks(memory::cells(rows, cols)?, TASK_ROWS * cols, |task, out| {
        let first = task * TASK_ROWS;
        for (row, out) in (first..).zip(out.chunks_exact_mut(cols)) {
            for from in (0..cols).step_by(GROUP) {
                let cells = cells(row, from);
                match columns {
                    Columns::InPlace | Columns::Mirrored => {
                        out[from..from + cells.len()].copy_from_slice(cells);
                    }
                    Columns::At(places) => {
                        for (cell, place) in cells.iter().zip(&places[from..]) {
                            out[*place] = *cell;
                        }
                    }
                }
            }
        }
        if let Columns::Mirrored = columns {
            // Cells of a column that are neighbours here are written to the same places of neighbouring rows.
            let last = first + out.len() / cols;
            for below in first..rows {
                for row in first..last.min(below) {
                    out[(row - first) * cols + below] = cells(below, row)[0];
                }
            }
        }
    })?;
    Interrupt::current().check()?;
    DenseMatrix::new(rows, cols, filled)
}
