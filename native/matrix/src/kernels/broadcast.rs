//! Operands of cell-by-cell functions, repeated along rows and columns to the shape of the result.

use std::{borrow::Cow, ops::Range};

use fulgurite_error::{Code, Error, Result};
use rayon::prelude::*;

use crate::{
    CoordinateMatrix, CsrMatrix, DenseMatrix, MatrixBlock, memory,
    parallel::{TASK_CELLS, dense_by_rows},
    vector_math::Cells,
};

/// A matrix or one number for all cells.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    Matrix(&'a MatrixBlock),
    Scalar(f64),
}

impl<'a> From<&'a MatrixBlock> for Operand<'a> {
    fn from(matrix: &'a MatrixBlock) -> Self {
        Operand::Matrix(matrix)
    }
}

impl From<f64> for Operand<'_> {
    fn from(value: f64) -> Self {
        Operand::Scalar(value)
    }
}

impl Operand<'_> {
    pub(super) fn shape(&self) -> (usize, usize) {
        match self {
            Operand::Matrix(matrix) => (matrix.rows(), matrix.cols()),
            Operand::Scalar(_) => (1, 1),
        }
    }
}

/// The shape of a broadcast: each operand has it, is a vector along it, or is a single cell.
pub(super) fn result_shape(operands: &[Operand]) -> Result<(usize, usize)> {
    let shapes: Vec<_> = operands.iter().map(Operand::shape).collect();
    let result = shapes
        .iter()
        .copied()
        .find(|candidate| shapes.iter().all(|shape| fits(*shape, *candidate)));
    result.ok_or_else(|| {
        let listed: Vec<_> = shapes
            .iter()
            .map(|(rows, cols)| format!("{rows} x {cols}"))
            .collect();
        Error::dimension(format!(
            "shapes {} do not fit cell by cell",
            listed.join(" and ")
        ))
        .with_code(Code::ShapesDiffer)
    })
}

fn fits(shape: (usize, usize), result: (usize, usize)) -> bool {
    shape == result
        || shape == (1, 1)
        || (shape.0 == 1 && shape.1 == result.1)
        || (shape.1 == 1 && shape.0 == result.0)
}

/// How an operand gives the cells of the result's rows.
pub(super) enum Side<'a> {
    /// A copy, of a compressed operand.
    Dense(Cow<'a, DenseMatrix>),
    Csr(&'a CsrMatrix),
    Coordinate(&'a CoordinateMatrix),
    RowVector(Cow<'a, [f64]>),
    ColumnVector(Cow<'a, [f64]>),
    Scalar(f64),
}

impl<'a> Side<'a> {
    /// # Errors
    /// `memory` when there is none for the cells of a sparse vector.
    pub fn of(operand: Operand<'a>, rows: usize, cols: usize) -> Result<Self> {
        let matrix = match operand {
            Operand::Scalar(value) => return Ok(Side::Scalar(value)),
            Operand::Matrix(matrix) => matrix,
        };
        Ok(match (matrix.rows(), matrix.cols()) {
            shape if shape == (rows, cols) => match matrix {
                MatrixBlock::Dense(dense) => Side::Dense(Cow::Borrowed(dense)),
                MatrixBlock::Csr(csr) => Side::Csr(csr),
                MatrixBlock::Coordinate(coordinates) => Side::Coordinate(coordinates),
                MatrixBlock::Compressed(compressed) => {
                    Side::Dense(Cow::Owned(compressed.cells().to_dense()?))
                }
            },
            (1, 1) => Side::Scalar(matrix.get(0, 0)),
            (1, _) => Side::RowVector(cells_of(matrix)?),
            _ => Side::ColumnVector(cells_of(matrix)?),
        })
    }

    /// Whether a test holds for every cell.
    pub fn all(&self, test: impl Fn(f64) -> bool + Sync) -> bool {
        let test_slice = |cells: &[f64]| cells.iter().all(|cell| test(*cell));
        match self {
            Side::Dense(dense) => dense.values().par_chunks(TASK_CELLS).all(test_slice),
            Side::Csr(csr) => test(0.0) && test_slice(csr.values()),
            Side::Coordinate(coordinates) => test(0.0) && test_slice(coordinates.values()),
            Side::RowVector(cells) | Side::ColumnVector(cells) => test_slice(cells),
            Side::Scalar(value) => test(*value),
        }
    }

    /// Cells that a sparse operand stores; none of others.
    pub fn stored(&self) -> usize {
        match self {
            Side::Csr(csr) => csr.stored(),
            Side::Coordinate(coordinates) => coordinates.stored(),
            _ => 0,
        }
    }

    pub fn at(&self, row: usize, col: usize) -> f64 {
        match self {
            Side::Dense(dense) => dense.row(row)[col],
            Side::Csr(csr) => cell_of(csr.row(row), col),
            Side::Coordinate(coordinates) => cell_of(coordinates.row(row), col),
            Side::RowVector(cells) => cells[col],
            Side::ColumnVector(cells) => cells[row],
            Side::Scalar(value) => *value,
        }
    }

    /// All cells at once, where rows do not matter.
    pub fn flat(&self) -> Option<Cells<'_>> {
        match self {
            Side::Dense(dense) => Some(Cells::Each(dense.values())),
            Side::Scalar(value) => Some(Cells::Same(*value)),
            _ => None,
        }
    }

    /// Room for so many rows where they are no cells as they stand.
    fn scratch(&self, rows: usize, cols: usize) -> Vec<f64> {
        match self {
            Side::Csr(_) | Side::Coordinate(_) => vec![0.0; rows * cols],
            Side::ColumnVector(_) if rows > 1 => vec![0.0; rows * cols],
            Side::RowVector(cells) if rows > 1 => {
                let mut repeated = vec![0.0; rows * cols];
                for row in repeated.chunks_exact_mut(cols) {
                    row.copy_from_slice(cells);
                }
                repeated
            }
            _ => Vec::new(),
        }
    }

    /// The cells of a row.
    pub fn row<'s>(&'s self, row: usize, scratch: &'s mut [f64]) -> Cells<'s> {
        match self {
            Side::Dense(dense) => Cells::Each(dense.row(row)),
            Side::Csr(csr) => Cells::Each(spread(csr.row(row), scratch)),
            Side::Coordinate(coordinates) => Cells::Each(spread(coordinates.row(row), scratch)),
            Side::RowVector(cells) => Cells::Each(cells),
            Side::ColumnVector(cells) => Cells::Same(cells[row]),
            Side::Scalar(value) => Cells::Same(*value),
        }
    }

    /// The cells of several rows, one row after the other.
    fn rows<'s>(&'s self, rows: Range<usize>, cols: usize, scratch: &'s mut [f64]) -> Cells<'s> {
        let all = rows.start * cols..rows.end * cols;
        let used = rows.len().saturating_mul(cols).min(scratch.len());
        let scratch = &mut scratch[..used];
        match self {
            Side::Dense(dense) => return Cells::Each(&dense.values()[all]),
            Side::Scalar(value) => return Cells::Same(*value),
            // It is there as often as there are rows.
            Side::RowVector(_) => {}
            Side::ColumnVector(cells) => {
                for (row, cell) in scratch.chunks_exact_mut(cols).zip(&cells[rows]) {
                    row.fill(*cell);
                }
            }
            Side::Csr(csr) => {
                for (row, cells) in rows.zip(scratch.chunks_exact_mut(cols)) {
                    spread(csr.row(row), cells);
                }
            }
            Side::Coordinate(coordinates) => {
                for (row, cells) in rows.zip(scratch.chunks_exact_mut(cols)) {
                    spread(coordinates.row(row), cells);
                }
            }
        }
        Cells::Each(scratch)
    }
}

/// Columns up to which a call for each row would take longer than the row's cells.
const NARROW_COLS: usize = 64;
/// Cells of narrow rows that are taken together. They stay in the first-level cache.
const CELLS_TOGETHER: usize = 512;

/// Rows that [`over_rows`] takes together.
fn rows_together(cols: usize) -> usize {
    match cols <= NARROW_COLS {
        true => CELLS_TOGETHER / cols.max(1),
        false => 1,
    }
}

/// A function of cells over all rows, as a dense matrix.
///
/// # Errors
/// `memory`; `interrupted`.
pub(super) fn over_rows<const N: usize>(
    sides: [&Side; N],
    (rows, cols): (usize, usize),
    over: impl Fn([Cells; N], &mut [f64]) + Sync,
) -> Result<DenseMatrix> {
    let together = rows_together(cols);
    let scratches = sides.iter().filter(|side| side.flat().is_none()).count();
    let cells = scratches.saturating_mul(together.saturating_mul(cols));
    memory::admit(memory::bytes_of::<f64>(cells)?)?;
    dense_by_rows(rows, cols, cols, |task, out| {
        let mut sides = sides.map(|side| (side, side.scratch(together, cols)));
        let starts = task.clone().step_by(together);
        for (start, out) in starts.zip(out.chunks_mut(together * cols)) {
            let rows = start..task.end.min(start + together);
            let cells = sides.each_mut().map(|(side, scratch)| match together {
                1 => side.row(start, scratch),
                _ => side.rows(rows.clone(), cols, scratch),
            });
            over(cells, out);
        }
    })
}

/// The cell of a sparse row.
fn cell_of((indices, values): (&[i32], &[f64]), col: usize) -> f64 {
    match indices.binary_search(&(col as i32)) {
        Ok(at) => values[at],
        Err(_) => 0.0,
    }
}

/// A sparse row with all its zeros.
pub(super) fn spread<'s>((indices, values): (&[i32], &[f64]), row: &'s mut [f64]) -> &'s [f64] {
    row.fill(0.0);
    for (col, value) in indices.iter().zip(values) {
        row[*col as usize] = *value;
    }
    row
}

fn cells_of(vector: &MatrixBlock) -> Result<Cow<'_, [f64]>> {
    Ok(match vector {
        MatrixBlock::Dense(dense) => Cow::Borrowed(dense.values()),
        sparse => Cow::Owned(sparse.to_dense()?.into_vec()?),
    })
}
