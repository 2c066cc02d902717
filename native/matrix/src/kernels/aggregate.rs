//! Sums, extremes and moments over all cells, each row or each column.
//!
//! An [`Accumulator`] says what is accumulated; [`full`], [`rows`] and [`cols`] say over what. Sums carry
//! the rounding errors along, so they are as exact as if computed in about twice the precision. Partial
//! results are combined in an order that depends on the shape only.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::results::shape;
use crate::{ByRows, CsrMatrix, DenseMatrix, Interrupt, MatrixBlock, memory};
use crate::{
    parallel::{TASK_CELLS, dense_by_rows, reduction_tasks, row_tasks},
    vector_math::{Work, sum_of, two_sum, vectorized},
};

/// A reduction's running state.
pub trait Accumulator: Copy + Send + Sync {
    const START: Self;
    fn add(&mut self, value: f64);
    /// Takes in `count` times the same value.
    fn add_repeated(&mut self, value: f64, count: usize);
    fn merge(&mut self, other: Self);
    fn result(self) -> f64;

    /// Takes in a slice through a function.
    #[inline(always)]
    fn add_all(&mut self, values: &[f64], map: impl Fn(f64) -> f64) {
        for value in values {
            self.add(map(*value));
        }
    }
}

/// A sum with its rounding errors (Knuth's branch-free two-sum).
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    total: f64,
    error: f64,
}

impl Accumulator for Sum {
    const START: Self = Sum {
        total: 0.0,
        error: 0.0,
    };

    #[inline(always)]
    fn add(&mut self, value: f64) {
        let (total, error) = two_sum(self.total, value);
        self.error += error;
        self.total = total;
    }

    fn add_repeated(&mut self, value: f64, count: usize) {
        if count > 0 {
            self.add(value * count as f64);
        }
    }

    fn merge(&mut self, other: Self) {
        self.add(other.total);
        self.error += other.error;
    }

    /// Infinite and NaN sums leave no meaningful error.
    fn result(self) -> f64 {
        if self.error.is_finite() {
            self.total + self.error
        } else {
            self.total
        }
    }

    #[inline(always)]
    fn add_all(&mut self, values: &[f64], map: impl Fn(f64) -> f64) {
        if values.len() < SHORT {
            values.iter().for_each(|value| self.add(map(*value)));
        } else {
            let (total, error) = sum_of(values, map);
            self.merge(Sum { total, error });
        }
    }
}

/// Slices of fewer cells are not worth several chains of additions.
const SHORT: usize = 24;

/// The smallest value; NaN where any is NaN; infinity of nothing.
#[derive(Debug, Clone, Copy)]
pub struct Min(f64);

/// The largest value; NaN where any is NaN; -infinity of nothing.
#[derive(Debug, Clone, Copy)]
pub struct Max(f64);

macro_rules! extreme {
    ($name:ident, $start:expr, $better:tt) => {
        impl Accumulator for $name {
            const START: Self = $name($start);

            #[inline(always)]
            fn add(&mut self, value: f64) {
                // NaN compares false both ways: once held it stays, once seen it is taken.
                if value $better self.0 || value.is_nan() {
                    self.0 = if self.0.is_nan() { self.0 } else { value };
                }
            }

            fn add_repeated(&mut self, value: f64, count: usize) {
                if count > 0 {
                    self.add(value);
                }
            }

            fn merge(&mut self, other: Self) {
                self.add(other.0);
            }

            fn result(self) -> f64 {
                self.0
            }

            #[inline(always)]
            fn add_all(&mut self, values: &[f64], map: impl Fn(f64) -> f64) {
                const LANES: usize = 8;
                let mut best = [$start; LANES];
                let mut nan = [false; LANES];
                let chunks = values.chunks_exact(LANES);
                for value in chunks.remainder() {
                    self.add(map(*value));
                }
                for chunk in chunks {
                    for lane in 0..LANES {
                        let value = map(chunk[lane]);
                        best[lane] = if value $better best[lane] { value } else { best[lane] };
                        nan[lane] |= value.is_nan();
                    }
                }
                for value in best {
                    self.add(value);
                }
                if nan.contains(&true) {
                    self.0 = f64::NAN;
                }
            }
        }
    };
}
extreme!(Min, f64::INFINITY, <);
extreme!(Max, f64::NEG_INFINITY, >);

/// The product; 1 of nothing.
#[derive(Debug, Clone, Copy)]
pub struct Product(f64);

impl Accumulator for Product {
    const START: Self = Product(1.0);

    #[inline(always)]
    fn add(&mut self, value: f64) {
        self.0 *= value;
    }

    fn add_repeated(&mut self, value: f64, count: usize) {
        if count > 0 {
            self.0 *= value.powf(count as f64);
        }
    }

    fn merge(&mut self, other: Self) {
        self.0 *= other.0;
    }

    fn result(self) -> f64 {
        self.0
    }
}

/// Over all cells, through `map`.
pub fn full<A: Accumulator>(matrix: &MatrixBlock, map: impl Fn(f64) -> f64 + Sync) -> f64 {
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
    let work = matrix.values().len() / matrix.rows().max(1);
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

/// Over each column, through `map(column, cell)`: a row vector.
pub fn cols<A: Accumulator>(
    matrix: &MatrixBlock,
    map: impl Fn(usize, f64) -> f64 + Sync,
) -> Result<MatrixBlock> {
    let cols = matrix.cols();
    let totals = match matrix {
        MatrixBlock::Dense(dense) => cols_dense::<A>(dense, &map),
        MatrixBlock::Csr(csr) => cols_csr::<A>(csr, csr.rows(), &map),
        MatrixBlock::Coordinate(coordinates) => {
            cols_csr::<A>(&coordinates.compact().csr, coordinates.rows(), &map)
        }
    }?;
    let values = memory::collected(totals.into_iter().map(Accumulator::result))?;
    MatrixBlock::dense(1, cols, values)
}

fn cols_dense<A: Accumulator>(
    dense: &DenseMatrix,
    map: &(impl Fn(usize, f64) -> f64 + Sync),
) -> Result<Vec<A>> {
    let interrupt = Interrupt::current();
    let parts = reduction_tasks(dense.rows(), dense.cols())
        .into_par_iter()
        .map(|task| {
            let mut part = memory::filled(dense.cols(), A::START)?;
            interrupt.chunk(|| {
                vectorized(ColumnsOf {
                    rows: &dense.values()[task.start * dense.cols()..task.end * dense.cols()],
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
    part: &'a mut [A],
    map: &'a F,
}

impl<A: Accumulator, F: Fn(usize, f64) -> f64> Work for ColumnsOf<'_, A, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in self.rows.chunks_exact(self.part.len().max(1)) {
            for (col, (accumulator, value)) in self.part.iter_mut().zip(row).enumerate() {
                accumulator.add((self.map)(col, *value));
            }
        }
    }
}

/// The rows may be those that are not empty of a matrix that has `rows`.
fn cols_csr<A: Accumulator>(
    csr: &CsrMatrix,
    rows: usize,
    map: &(impl Fn(usize, f64) -> f64 + Sync),
) -> Result<Vec<A>> {
    let cols = csr.cols();
    // Each task has an accumulator for each column: not worth it where there are few stored cells.
    let per_row = (csr.stored() / csr.rows().max(1)).max(1);
    let tasks = if csr.stored() < 4 * cols {
        row_tasks(csr.rows(), csr.rows())
    } else {
        reduction_tasks(csr.rows(), per_row)
    };
    let parts = tasks
        .into_par_iter()
        .map(|task| {
            let mut part = memory::filled(cols, A::START)?;
            let mut counts: Vec<usize> = memory::zeros_of(cols)?;
            for row in task {
                let (indices, values) = csr.row(row);
                for (col, value) in indices.iter().zip(values) {
                    let col = *col as usize;
                    part[col].add(map(col, *value));
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
        total.add_repeated(map(col, 0.0), rows - count);
    }
    Ok(totals)
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
    let sums = cols::<Sum>(matrix, |_, x| x)?.to_dense()?;
    let means: Vec<f64> = sums.values().iter().map(|sum| sum / count).collect();
    let squares = cols::<Sum>(matrix, |col, x| {
        let deviation = x - means[col];
        deviation * deviation
    })?;
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
