//! Sums, extremes and moments over all cells, each row or each column.
//!
//! An [`Accumulator`] says what is accumulated; [`full`], [`rows`] and [`cols`] say over what. Sums carry
//! the rounding errors along, so they are as exact as if computed in about twice the precision. Partial
//! results are combined in an order that depends on the shape only.

mod accumulators;
mod extremes;
mod many;

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::results::shape;
use crate::{ByRows, CsrMatrix, DenseMatrix, Interrupt, MatrixBlock, memory};
use crate::{
    parallel::{TASK_CELLS, dense_by_rows, reduction_tasks, row_tasks},
    vector_math::{Work, vectorized},
};
pub use accumulators::{Accumulator, Product, Sum};
pub use extremes::{Max, Min};
pub use many::{Accumulators, Sums};

/// Over all cells, through `map`.
pub fn full<A: Accumulator>(matrix: &MatrixBlock, map: impl Fn(f64) -> f64 + Sync) -> f64 {
    if let MatrixBlock::Compressed(compressed) = matrix {
        let mut accumulator = A::START;
        let mut zeros = matrix.rows().saturating_mul(matrix.cols());
        compressed.cells().for_each_filled(&mut |_, _, value| {
            accumulator.add(map(value));
            zeros -= 1;
        });
        accumulator.add_repeated(map(0.0), zeros);
        return accumulator.result();
    }
    let values = matrix.values();
    let zeros = matrix.rows().saturating_mul(matrix.cols()) - values.len();
    let fold = |values: &[f64]| {
        let accumulator = A::START;
        vectorized(Fold {
            accumulator,
            values,
            map: &map,
        })
    };
    let mut accumulator = if values.len() <= TASK_CELLS {
        fold(values)
    } else {
        let interrupt = Interrupt::current();
        let parts: Vec<A> = values
            .par_chunks(TASK_CELLS)
            .map(|part| interrupt.chunk(|| fold(part)).unwrap_or(A::START))
            .collect();
        merged(parts)
    };
    accumulator.add_repeated(map(0.0), zeros);
    accumulator.result()
}

fn merged<A: Accumulator>(parts: Vec<A>) -> A {
    let mut all = A::START;
    for part in parts {
        all.merge(part);
    }
    all
}

/// An accumulator that takes in a slice.
struct Fold<'a, A, F> {
    accumulator: A,
    values: &'a [f64],
    map: &'a F,
}

impl<A: Accumulator, F: Fn(f64) -> f64> Work for Fold<'_, A, F> {
    type Output = A;

    #[inline(always)]
    fn run(mut self) -> A {
        self.accumulator.add_all(self.values, self.map);
        self.accumulator
    }
}

/// What a row is reduced to.
trait RowReduction: Sync {
    /// Of the stored cells, and the number of those that are not stored. Must be `#[inline(always)]`.
    fn reduce(&self, row: usize, stored: &[f64], zeros: usize) -> f64;
}

struct Accumulated<A, F> {
    start: A,
    map: F,
}

impl<A: Accumulator, F: Fn(usize, f64) -> f64 + Sync> RowReduction for Accumulated<A, F> {
    #[inline(always)]
    fn reduce(&self, row: usize, stored: &[f64], zeros: usize) -> f64 {
        let mut accumulator = self.start;
        accumulator.add_all(stored, |value| (self.map)(row, value));
        accumulator.add_repeated((self.map)(row, 0.0), zeros);
        accumulator.result()
    }
}

/// Over each row, through `map(row, cell)`: a column vector.
pub fn rows<A: Accumulator>(
    matrix: &MatrixBlock,
    map: impl Fn(usize, f64) -> f64 + Sync,
) -> Result<MatrixBlock> {
    let start = A::START;
    per_row(matrix, Accumulated { start, map })
}

/// A column vector of what each row is reduced to.
fn per_row(matrix: &MatrixBlock, reduction: impl RowReduction) -> Result<MatrixBlock> {
    let work = matrix.stored() / matrix.rows().max(1);
    let by_rows = matrix.by_rows()?;
    dense_by_rows(matrix.rows(), 1, work, |rows, out| {
        vectorized(RowsOf {
            matrix: &by_rows,
            rows,
            out,
            reduction: &reduction,
        })
    })
    .map(MatrixBlock::Dense)
}

struct RowsOf<'a, R> {
    matrix: &'a ByRows<'a>,
    rows: Range<usize>,
    out: &'a mut [f64],
    reduction: &'a R,
}

impl<R: RowReduction> Work for RowsOf<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (row, out) in self.rows.zip(self.out) {
            let (stored, zeros) = match self.matrix {
                ByRows::Dense(dense) => (dense.row(row), 0),
                ByRows::Csr(csr) => {
                    let values = csr.row(row).1;
                    (values, csr.cols() - values.len())
                }
            };
            *out = self.reduction.reduce(row, stored, zeros);
        }
    }
}

/// Over each column, through `map`: a row vector.
pub fn cols<A: Accumulator>(
    matrix: &MatrixBlock,
    map: impl Fn(f64) -> f64 + Sync,
) -> Result<MatrixBlock> {
    cols_with::<A>(matrix, None, |_, cell| map(cell))
}

/// Over each column, through `map(number, cell)` with a number of the column: a row vector.
fn cols_with<A: Accumulator>(
    matrix: &MatrixBlock,
    numbers: Option<&[f64]>,
    map: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<MatrixBlock> {
    let totals = match matrix {
        MatrixBlock::Dense(dense) => cols_dense::<A>(dense, numbers, &map),
        MatrixBlock::Csr(csr) => cols_csr::<A>(csr, csr.rows(), numbers, &map),
        MatrixBlock::Coordinate(coordinates) => {
            let csr = &coordinates.compact().csr;
            cols_csr::<A>(csr, coordinates.rows(), numbers, &map)
        }
        MatrixBlock::Compressed(_) => return cols_with::<A>(&*matrix.plain()?, numbers, map),
    }?;
    let values = memory::collected(totals.into_iter().map(Accumulator::result))?;
    MatrixBlock::dense(1, matrix.cols(), values)
}

fn cols_dense<A: Accumulator>(
    dense: &DenseMatrix,
    numbers: Option<&[f64]>,
    map: &(impl Fn(f64, f64) -> f64 + Sync),
) -> Result<Vec<A>> {
    let interrupt = Interrupt::current();
    let parts = reduction_tasks(dense.rows(), dense.cols())
        .into_par_iter()
        .map(|task| {
            let mut part = memory::filled(dense.cols(), A::START)?;
            interrupt.chunk(|| {
                vectorized(ColumnsOf {
                    rows: &dense.values()[task.start * dense.cols()..task.end * dense.cols()],
                    numbers,
                    part: &mut part,
                    map,
                });
            });
            Ok(part)
        })
        .collect::<Result<Vec<Vec<A>>>>()?;
    merge_columns(parts, dense.cols())
}

/// Columns of some rows' cells, each of which an accumulator takes in.
struct ColumnsOf<'a, A, F> {
    rows: &'a [f64],
    numbers: Option<&'a [f64]>,
    part: &'a mut [A],
    map: &'a F,
}

impl<A: Accumulator, F: Fn(f64, f64) -> f64> Work for ColumnsOf<'_, A, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let stride = self.part.len().max(1);
        A::add_rows(self.part, self.numbers, self.rows, stride, self.map);
    }
}

/// The rows may be those that are not empty of a matrix that has `rows`.
fn cols_csr<A: Accumulator>(
    csr: &CsrMatrix,
    rows: usize,
    numbers: Option<&[f64]>,
    map: &(impl Fn(f64, f64) -> f64 + Sync),
) -> Result<Vec<A>> {
    let cols = csr.cols();
    let number = |col: usize| numbers.map_or(0.0, |numbers| numbers[col]);
    let parts = column_tasks_of_stored(csr)
        .into_par_iter()
        .map(|task| {
            let mut part = memory::filled(cols, A::START)?;
            let mut counts: Vec<usize> = memory::zeros_of(cols)?;
            for row in task {
                let (indices, values) = csr.row(row);
                for (col, value) in indices.iter().zip(values) {
                    let col = *col as usize;
                    part[col].add(map(number(col), *value));
                    counts[col] += 1;
                }
            }
            Ok((part, counts))
        })
        .collect::<Result<Vec<(Vec<A>, Vec<usize>)>>>()?;
    let mut counts: Vec<usize> = memory::zeros_of(cols)?;
    for (_, part) in &parts {
        for (count, part) in counts.iter_mut().zip(part) {
            *count += part;
        }
    }
    let mut totals = merge_columns(parts.into_iter().map(|(part, _)| part).collect(), cols)?;
    for (col, (total, count)) in totals.iter_mut().zip(counts).enumerate() {
        total.add_repeated(map(number(col), 0.0), rows - count);
    }
    Ok(totals)
}

/// Tasks of rows over which columns are accumulated, of a dense matrix.
pub fn column_tasks(rows: usize, cols: usize) -> Vec<Range<usize>> {
    reduction_tasks(rows, cols)
}

/// As [`column_tasks`], over stored cells. Each task has an accumulator for each column: not worth it where there are few
/// stored cells.
pub fn column_tasks_of_stored(csr: &CsrMatrix) -> Vec<Range<usize>> {
    let per_row = (csr.stored() / csr.rows().max(1)).max(1);
    if csr.stored() < 4 * csr.cols() {
        row_tasks(csr.rows(), csr.rows())
    } else {
        reduction_tasks(csr.rows(), per_row)
    }
}

fn merge_columns<A: Accumulator>(parts: Vec<Vec<A>>, cols: usize) -> Result<Vec<A>> {
    let mut totals = memory::filled(cols, A::START)?;
    for part in parts {
        for (total, part) in totals.iter_mut().zip(part) {
            total.merge(part);
        }
    }
    Ok(totals)
}

/// Unbiased variance of all cells (n - 1); 0 of one cell, NaN of none. Two passes.
pub fn variance(matrix: &MatrixBlock) -> f64 {
    let count = matrix.rows() as f64 * matrix.cols() as f64;
    let mean = full::<Sum>(matrix, |x| x) / count;
    let squares = full::<Sum>(matrix, |x| (x - mean) * (x - mean));
    unbiased(squares, count)
}

/// Unbiased variance of each row.
pub fn row_variances(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    let count = matrix.cols() as f64;
    per_row(matrix, Variance { count })
}

/// Of a row of so many cells, in two passes.
struct Variance {
    count: f64,
}

impl RowReduction for Variance {
    #[inline(always)]
    fn reduce(&self, _: usize, stored: &[f64], zeros: usize) -> f64 {
        let mut sum = Sum::START;
        sum.add_all(stored, |x| x);
        let mean = sum.result() / self.count;
        let mut squares = Sum::START;
        squares.add_all(stored, |x| (x - mean) * (x - mean));
        squares.add_repeated(mean * mean, zeros);
        unbiased(squares.result(), self.count)
    }
}

/// Unbiased variance of each column.
pub fn col_variances(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    let count = matrix.rows() as f64;
    let sums = cols::<Sum>(matrix, |x| x)?.to_dense()?;
    let means = memory::collected(sums.values().iter().map(|sum| sum / count))?;
    let squares = cols_with::<Sum>(matrix, Some(&means), |mean, x| (x - mean) * (x - mean))?;
    super::unary(&squares, |squares| unbiased(squares, count))
}

fn unbiased(squares: f64, count: f64) -> f64 {
    if count == 1.0 && !squares.is_nan() {
        0.0
    } else {
        squares / (count - 1.0)
    }
}

/// Sum of the diagonal.
///
/// # Errors
/// `dimension` when the matrix is not square.
pub fn trace(matrix: &MatrixBlock) -> Result<f64> {
    if matrix.rows() != matrix.cols() {
        return Err(Error::dimension(format!(
            "trace needs a square matrix, not {}",
            shape(matrix)
        )));
    }
    let mut sum = Sum::START;
    for index in 0..matrix.rows() {
        sum.add(matrix.get(index, index));
    }
    Ok(sum.result())
}

/// The column (from 1) of each row's maximum: the last one on ties; NaN is skipped; 1 where nothing is left.
pub fn row_index_max(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    row_index(matrix, f64::NEG_INFINITY, |value, best| value > best)
}

/// As [`row_index_max`], of the minimum.
pub fn row_index_min(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    row_index(matrix, f64::INFINITY, |value, best| value < best)
}

fn row_index(
    matrix: &MatrixBlock,
    start: f64,
    better: impl Fn(f64, f64) -> bool + Sync,
) -> Result<MatrixBlock> {
    if matrix.cols() == 0 {
        return Err(Error::dimension(format!(
            "the rows of a {} matrix have no cell that could be the largest or smallest",
            shape(matrix)
        )));
    }
    // The best cell, and where it stands last.
    let scan = |cells: &[f64]| {
        let best = vectorized(Best {
            cells,
            start,
            better: &better,
        });
        (best, cells.iter().rposition(|value| *value == best))
    };
    let by_rows = matrix.by_rows()?;
    let index = |row: usize| match &by_rows {
        ByRows::Dense(dense) => scan(dense.row(row)).1.unwrap_or(0),
        ByRows::Csr(csr) => {
            let (indices, values) = csr.row(row);
            let (best, at) = scan(values);
            let at = at.map(|at| indices[at] as usize);
            match (at, last_not_stored(indices, csr.cols())) {
                (Some(at), Some(zero)) if best == 0.0 => at.max(zero),
                (Some(_), Some(zero)) if better(0.0, best) => zero,
                (at, zero) => at.or(zero).unwrap_or(0),
            }
        }
    };
    dense_by_rows(matrix.rows(), 1, matrix.cols(), |task, out| {
        for (row, out) in task.zip(out) {
            *out = (index(row) + 1) as f64;
        }
    })
    .map(MatrixBlock::Dense)
}

/// The best of a row's cells, `start` if there is none; NaN is not better than any.
struct Best<'a, F> {
    cells: &'a [f64],
    start: f64,
    better: &'a F,
}

impl<F: Fn(f64, f64) -> bool> Work for Best<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        const LANES: usize = 16;
        let mut best = [self.start; LANES];
        let chunks = self.cells.chunks_exact(LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            for lane in 0..LANES {
                let is_better = (self.better)(chunk[lane], best[lane]);
                best[lane] = if is_better { chunk[lane] } else { best[lane] };
            }
        }
        let mut all = self.start;
        for value in best.iter().chain(rest) {
            all = if (self.better)(*value, all) {
                *value
            } else {
                all
            };
        }
        all
    }
}

/// The last column that a sparse row does not store.
fn last_not_stored(indices: &[i32], cols: usize) -> Option<usize> {
    let run = indices
        .iter()
        .rev()
        .zip((0..cols).rev())
        .take_while(|(stored, col)| **stored as usize == *col)
        .count();
    cols.checked_sub(run + 1)
}
