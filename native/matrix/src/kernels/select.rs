//! Choosing, replacing and ordering rows and columns.

use std::cmp::Ordering;

use fulgurite_error::{Error, Result};
use rayon::slice::ParallelSliceMut;

use super::{
    elementwise::unary,
    generate::fill,
    parallel::{csr_by_rows, dense_by_rows, settle, shape},
    reorganize::take_rows,
};
use crate::{ByRows, CsrMatrix, DenseMatrix, MatrixBlock};

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
            select
                .to_dense()
                .values()
                .iter()
                .map(|cell| *cell != 0.0)
                .collect()
        }
        None => not_empty(matrix, margin),
    };
    let kept: Vec<usize> = (0..size).filter(|index| keep[*index]).collect();
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

fn not_empty(matrix: &MatrixBlock, margin: Margin) -> Vec<bool> {
    match (margin, matrix.by_rows()) {
        (Margin::Rows, ByRows::Dense(dense)) => (0..dense.rows())
            .map(|row| dense.row(row).iter().any(|cell| *cell != 0.0))
            .collect(),
        (Margin::Rows, ByRows::Csr(csr)) => (0..csr.rows())
            .map(|row| csr.row(row).1.iter().any(|cell| *cell != 0.0))
            .collect(),
        (Margin::Cols, ByRows::Dense(dense)) => {
            let mut keep = vec![false; dense.cols()];
            for row in 0..dense.rows() {
                for (keep, cell) in keep.iter_mut().zip(dense.row(row)) {
                    *keep |= *cell != 0.0;
                }
            }
            keep
        }
        (Margin::Cols, ByRows::Csr(csr)) => {
            let mut keep = vec![false; csr.cols()];
            for (col, cell) in csr.indices().iter().zip(csr.values()) {
                keep[*col as usize] |= *cell != 0.0;
            }
            keep
        }
    }
}

/// Columns by ascending index.
fn take_cols(matrix: &MatrixBlock, kept: &[usize]) -> Result<MatrixBlock> {
    match matrix.by_rows() {
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
            let mut places = vec![None; csr.cols()];
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
            .map(settle)
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

fn order_index(matrix: &MatrixBlock, by: &[usize], decreasing: bool) -> Result<Vec<usize>> {
    if let Some(col) = by.iter().find(|col| **col >= matrix.cols()) {
        return Err(Error::dimension(format!(
            "order by column {} of a matrix with {} columns",
            col + 1,
            matrix.cols()
        )));
    }
    let keys: Vec<Vec<f64>> = by.iter().map(|col| column(matrix, *col)).collect();
    let mut permutation: Vec<usize> = (0..matrix.rows()).collect();
    permutation.par_sort_by(|left, right| {
        let ascending = keys
            .iter()
            .map(|key| nan_last(key[*left], key[*right]))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal);
        if decreasing {
            ascending.reverse()
        } else {
            ascending
        }
    });
    Ok(permutation)
}

fn nan_last(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

fn column(matrix: &MatrixBlock, col: usize) -> Vec<f64> {
    let cell = |csr: &CsrMatrix, row: usize| {
        let (indices, values) = csr.row(row);
        indices
            .binary_search(&(col as i32))
            .map_or(0.0, |at| values[at])
    };
    match matrix.by_rows() {
        ByRows::Dense(dense) => (0..dense.rows()).map(|row| dense.row(row)[col]).collect(),
        ByRows::Csr(csr) => (0..csr.rows()).map(|row| cell(&csr, row)).collect(),
    }
}
