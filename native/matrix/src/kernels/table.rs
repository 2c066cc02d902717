//! Contingency tables.

use fulgurite_error::{Error, Result};

use super::{elementwise::Operand, results::settle};
use crate::{
    CoordinateMatrix, Interrupt, MatrixBlock,
    memory::{self, zeros},
    parallel::cells,
};

/// Added before a double becomes an index, so that values just below 1 and 2 go up.
const INDEX_EPSILON: f64 = 1.1102230246251565e-16;

/// `table(a, b, weights)`: F with `F[a_i, b_i] += weights_i`, cell by cell of matrices of equal shape, or of
/// vectors of equal length, rows or columns. Pairs with a NaN are skipped. Without `dims` the result is as large as the largest indices; with them, pairs
/// outside are dropped. One row per row of a one-hot encoding makes a sparse result.
///
/// # Errors
/// `dimension` when the shapes differ, `runtime` for an index below 1.
pub fn table(
    a: Operand,
    b: Operand,
    weights: Operand,
    dims: Option<(usize, usize)>,
) -> Result<MatrixBlock> {
    let [a, b, weights] = same_shape([a, b, weights])?;
    let length = [&a, &b, &weights]
        .iter()
        .find_map(|column| column.length())
        .unwrap_or(1);
    let mut entries = memory::room(length)?;
    let (mut rows, mut cols) = (0, 0);
    for index in 0..length {
        let (a, b, weight) = (a.at(index), b.at(index), weights.at(index));
        if a.is_nan() || b.is_nan() || weight.is_nan() {
            continue;
        }
        let (row, col) = (category(a)?, category(b)?);
        if let Some((rows, cols)) = dims
            && (row > rows || col > cols)
        {
            continue;
        }
        (rows, cols) = (rows.max(row), cols.max(col));
        entries.push((row - 1, col - 1, weight));
    }
    let (rows, cols) = dims.unwrap_or((rows, cols));
    accumulate(rows, cols, entries)
}

/// A number as an index from 1.
fn category(value: f64) -> Result<usize> {
    let floor = (value + INDEX_EPSILON).floor();
    if floor < 1.0 {
        return Err(Error::runtime(format!(
            "table needs categories from 1 on, not {value}"
        )));
    }
    if floor > isize::MAX as f64 / 16.0 {
        return Err(Error::memory(format!(
            "a table with category {value} is larger than memory can be"
        )));
    }
    Ok(floor as usize)
}

/// Sums entries that share a cell, in their order.
fn accumulate(
    rows: usize,
    cols: usize,
    mut entries: Vec<(usize, usize, f64)>,
) -> Result<MatrixBlock> {
    let dense_cells = cells(rows, cols).ok();
    let sparse_fits = cols > 1 && i32::try_from(cols).is_ok();
    // Dense where it is small beside the entries.
    if dense_cells.is_some_and(|cells| cells <= 4 * entries.len()) || !sparse_fits {
        let mut values = zeros(cells(rows, cols)?)?;
        for (row, col, weight) in entries {
            values[row * cols + col] += weight;
        }
        return MatrixBlock::dense(rows, cols, values)?.in_best_layout();
    }
    if !entries.is_sorted_by_key(|(row, col, _)| (*row, *col)) {
        Interrupt::unwinding(|interrupt| {
            entries.sort_by_key(interrupt.key(|(row, col, _): &(usize, usize, f64)| (*row, *col)));
        })?;
    }
    let mut row_indices = Vec::<i64>::new();
    let (mut indices, mut values) = (Vec::<i32>::new(), Vec::<f64>::new());
    for (row, col, weight) in entries {
        let place = (Some(&(row as i64)), Some(&(col as i32)));
        match values.last_mut() {
            Some(value) if (row_indices.last(), indices.last()) == place => *value += weight,
            _ => {
                row_indices.push(row as i64);
                indices.push(col as i32);
                values.push(weight);
            }
        }
    }
    CoordinateMatrix::new(rows, cols, row_indices, indices, values).and_then(settle)
}

/// An operand's cells in row-major order.
enum Column {
    Cells(Vec<f64>),
    Same(f64),
}

impl Column {
    fn length(&self) -> Option<usize> {
        match self {
            Column::Cells(cells) => Some(cells.len()),
            Column::Same(_) => None,
        }
    }

    fn at(&self, index: usize) -> f64 {
        match self {
            Column::Cells(cells) => cells[index],
            Column::Same(value) => *value,
        }
    }
}

fn same_shape(operands: [Operand; 3]) -> Result<[Column; 3]> {
    let mut shape = None;
    for operand in operands {
        if let Operand::Matrix(matrix) = operand {
            let this = (matrix.rows(), matrix.cols());
            let (rows, cols) = *shape.get_or_insert(this);
            let are_vectors = (rows == 1 || cols == 1) && (this.0 == 1 || this.1 == 1);
            if (rows, cols) != this && !(are_vectors && rows * cols == this.0 * this.1) {
                return Err(Error::dimension(format!(
                    "table needs matrices of one shape, not {rows} x {cols} and {} x {}",
                    this.0, this.1
                )));
            }
        }
    }
    let [a, b, weights] = operands.map(|operand| {
        Ok(match operand {
            Operand::Matrix(matrix) => Column::Cells(matrix.to_dense()?.into_vec()?),
            Operand::Scalar(value) => Column::Same(value),
        })
    });
    Ok([a?, b?, weights?])
}
