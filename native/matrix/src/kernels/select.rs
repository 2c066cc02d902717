//! Choosing, replacing and ordering rows and columns.

use std::cmp::Ordering;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::{
    elementwise::unary,
    generate::fill,
    radix::{rank, sorted, sorted_cells},
    reorganize::take_rows,
    results::{settle, shape},
};
use crate::{
    ByRows, CsrMatrix, DenseMatrix, Interrupt, MatrixBlock, memory,
    parallel::{csr_by_rows, dense_by_rows, reduction_tasks, row_tasks, rows_per_task},
};

/// Whether rows or columns are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Margin {
    Rows,
    Cols,
}

/// `removeEmpty`: the rows (columns) that are not all zero, NaN counting as non-zero; with `select`, those
/// where the indicator vector is not zero. Where nothing is left: one zero row (column) with
/// `empty_return`, else none.
///
/// # Errors
/// `dimension` when `select` has another length than the margin.
pub fn remove_empty(
    matrix: &MatrixBlock,
    margin: Margin,
    select: Option<&MatrixBlock>,
    empty_return: bool,
) -> Result<MatrixBlock> {
    if let (MatrixBlock::Coordinate(coordinates), Margin::Rows, None) = (matrix, margin, select) {
        let filled = MatrixBlock::Csr(coordinates.compact().csr);
        return remove_empty(&filled, margin, None, empty_return)?.in_best_layout();
    }
    let size = match margin {
        Margin::Rows => matrix.rows(),
        Margin::Cols => matrix.cols(),
    };
    let keep: Vec<bool> = match select {
        Some(select) => {
            if select.rows() * select.cols() != size || (select.rows() != 1 && select.cols() != 1) {
                return Err(Error::dimension(format!(
                    "removeEmpty on a {} matrix needs a select vector of {size} cells, not {}",
                    shape(matrix),
                    shape(select)
                )));
            }
            let select = select.to_dense()?;
            memory::collected(select.values().iter().map(|cell| *cell != 0.0))?
        }
        None => not_empty(matrix, margin)?,
    };
    let mut kept = memory::room(keep.iter().filter(|is_kept| **is_kept).count())?;
    kept.extend((0..size).filter(|index| keep[*index]));
    if kept.is_empty() && empty_return {
        return match margin {
            Margin::Rows => fill(0.0, 1, matrix.cols()),
            Margin::Cols => fill(0.0, matrix.rows(), 1),
        };
    }
    if kept.len() == size {
        return Ok(matrix.clone());
    }
    match margin {
        Margin::Rows => take_rows(matrix, kept.len(), |row| kept[row]),
        Margin::Cols => take_cols(matrix, &kept),
    }
}

fn not_empty(matrix: &MatrixBlock, margin: Margin) -> Result<Vec<bool>> {
    let matrix = matrix.by_rows()?;
    let (rows, cols, per_row) = match &matrix {
        ByRows::Dense(dense) => (dense.rows(), dense.cols(), dense.cols()),
        ByRows::Csr(csr) => (csr.rows(), csr.cols(), csr.stored() / csr.rows().max(1) + 1),
    };
    let size = match margin {
        Margin::Rows => rows,
        Margin::Cols => cols,
    };
    let is_not_zero = |cell: &f64| *cell != 0.0;
    let tasks = match margin {
        Margin::Rows => row_tasks(rows, rows_per_task(per_row)),
        Margin::Cols => reduction_tasks(rows, per_row),
    };
    let parts = tasks.into_par_iter().map(|task| match (margin, &matrix) {
        (Margin::Rows, ByRows::Dense(dense)) => {
            memory::collected(task.map(|row| dense.row(row).iter().any(is_not_zero)))
        }
        (Margin::Rows, ByRows::Csr(csr)) => {
            memory::collected(task.map(|row| csr.row(row).1.iter().any(is_not_zero)))
        }
        (Margin::Cols, ByRows::Dense(dense)) => {
            let mut keep = memory::filled(cols, false)?;
            for row in task {
                for (keep, cell) in keep.iter_mut().zip(dense.row(row)) {
                    *keep |= is_not_zero(cell);
                }
            }
            Ok(keep)
        }
        (Margin::Cols, ByRows::Csr(csr)) => {
            let mut keep = memory::filled(cols, false)?;
            let stored = csr.pointers()[task.start] as usize..csr.pointers()[task.end] as usize;
            for (col, cell) in csr.indices()[stored.clone()]
                .iter()
                .zip(&csr.values()[stored])
            {
                keep[*col as usize] |= is_not_zero(cell);
            }
            Ok(keep)
        }
    });
    let parts = parts.collect::<Result<Vec<Vec<bool>>>>()?;
    let mut all = memory::filled(size, false)?;
    let mut above = 0;
    for part in &parts {
        for (keep, is_kept) in all[above..].iter_mut().zip(part) {
            *keep |= is_kept;
        }
        if margin == Margin::Rows {
            above += part.len();
        }
    }
    Ok(all)
}

/// Columns by ascending index.
fn take_cols(matrix: &MatrixBlock, kept: &[usize]) -> Result<MatrixBlock> {
    match matrix.by_rows()? {
        ByRows::Dense(dense) => {
            dense_by_rows(dense.rows(), kept.len(), dense.cols(), |task, out| {
                for (row, out) in task.zip(out.chunks_exact_mut(kept.len())) {
                    let row = dense.row(row);
                    for (out, col) in out.iter_mut().zip(kept) {
                        *out = row[*col];
                    }
                }
            })
            .map(MatrixBlock::Dense)
        }
        ByRows::Csr(csr) => {
            let mut places = memory::filled(csr.cols(), None)?;
            for (place, col) in kept.iter().enumerate() {
                places[*col] = Some(place);
            }
            let per_row = csr.stored() / csr.rows().max(1) + 1;
            csr_by_rows(csr.rows(), kept.len(), per_row, |task, out| {
                for row in task {
                    let (indices, values) = csr.row(row);
                    for (col, value) in indices.iter().zip(values) {
                        if let Some(place) = places[*col as usize] {
                            out.push(place, *value);
                        }
                    }
                    out.end_row();
                }
            })
            .and_then(settle)
        }
    }
}

/// Each cell that equals `pattern` (NaN matches NaN) becomes `replacement`.
pub fn replace(matrix: &MatrixBlock, pattern: f64, replacement: f64) -> Result<MatrixBlock> {
    if pattern.is_nan() {
        unary(matrix, |x| if x.is_nan() { replacement } else { x })
    } else {
        unary(matrix, |x| if x == pattern { replacement } else { x })
    }
}

/// The rows ordered by the columns `by` (from 0), the first one first. Ties keep their order; NaN is larger
/// than anything.
///
/// # Errors
/// `dimension` when there is no such column.
pub fn order(matrix: &MatrixBlock, by: &[usize], decreasing: bool) -> Result<MatrixBlock> {
    check_columns(matrix, by)?;
    if let (MatrixBlock::Dense(dense), 1, false) = (matrix, matrix.cols(), by.is_empty()) {
        let cells = sorted_cells(dense.values(), decreasing)?;
        return MatrixBlock::dense(dense.rows(), 1, cells);
    }
    let permutation = order_index(matrix, by, decreasing)?;
    take_rows(matrix, matrix.rows(), |row| permutation[row])
}

/// The row numbers (from 1) in the order of [`order`], as a column vector.
///
/// # Errors
/// As [`order`].
pub fn order_permutation(
    matrix: &MatrixBlock,
    by: &[usize],
    decreasing: bool,
) -> Result<MatrixBlock> {
    let numbers: Vec<f64> = order_index(matrix, by, decreasing)?
        .into_iter()
        .map(|row| (row + 1) as f64)
        .collect();
    DenseMatrix::new(numbers.len(), 1, numbers).map(MatrixBlock::Dense)
}

fn check_columns(matrix: &MatrixBlock, by: &[usize]) -> Result<()> {
    if let Some(col) = by.iter().find(|col| **col >= matrix.cols()) {
        return Err(Error::dimension(format!(
            "order by column {} of a matrix with {} columns",
            col + 1,
            matrix.cols()
        )));
    }
    Ok(())
}

fn order_index(matrix: &MatrixBlock, by: &[usize], decreasing: bool) -> Result<Vec<usize>> {
    check_columns(matrix, by)?;
    let ranks = |col: &usize| -> Result<Vec<u64>> {
        let cells = column(matrix, *col)?.into_iter();
        memory::collected(cells.map(|cell| directed_rank(cell, decreasing)))
    };
    let ranks = by.iter().map(ranks).collect::<Result<Vec<Vec<u64>>>>()?;
    let (first, later) = match ranks.split_first() {
        Some(ranks) => ranks,
        None => return memory::collected(0..matrix.rows()),
    };
    // The first column goes with the row, as looking it up would be a miss of the cache for each comparison.
    let mut rows: Vec<(u64, usize)> = memory::room(first.len())?;
    rows.extend(first.iter().copied().zip(0..));
    if later.is_empty() {
        rows = sorted(&rows, |(rank, _)| *rank)?;
        return memory::collected(rows.into_iter().map(|(_, row)| row));
    }
    Interrupt::unwinding(|interrupt| {
        let order = |(left_rank, left): &(u64, usize), (right_rank, right): &(u64, usize)| {
            let of_later = || later.iter().map(|ranks| ranks[*left].cmp(&ranks[*right]));
            (left_rank.cmp(right_rank))
                .then_with(|| {
                    of_later()
                        .find(|order| order.is_ne())
                        .unwrap_or(Ordering::Equal)
                })
                .then_with(|| left.cmp(right))
        };
        rows.par_sort_unstable_by(interrupt.order(order));
    })?;
    memory::collected(rows.into_iter().map(|(_, row)| row))
}

/// As [`rank`], or the other way round.
#[inline(always)]
fn directed_rank(value: f64, decreasing: bool) -> u64 {
    match decreasing {
        true => !rank(value),
        false => rank(value),
    }
}

fn column(matrix: &MatrixBlock, col: usize) -> Result<Vec<f64>> {
    let cell = |csr: &CsrMatrix, row: usize| {
        let (indices, values) = csr.row(row);
        indices
            .binary_search(&(col as i32))
            .map_or(0.0, |at| values[at])
    };
    match matrix.by_rows()? {
        ByRows::Dense(dense) => memory::collected((0..dense.rows()).map(|row| dense.row(row)[col])),
        ByRows::Csr(csr) => memory::collected((0..csr.rows()).map(|row| cell(&csr, row))),
    }
}
