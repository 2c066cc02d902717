//! Cell-by-cell functions of one, two and three operands, with broadcasting.
//!
//! The functions are type parameters, so that the inner loops are compiled for each one. Whether a
//! sparse operand may stay sparse is not declared but asked of the function itself (is f(0, y) zero for
//! the y at hand?): results equal the dense ones also where NaN and infinities are about.

use std::{borrow::Cow, ops::Range};

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::parallel::{SparseRows, TASK_CELLS, csr_by_rows, dense_by_rows, settle, shape};
use crate::{CsrMatrix, DenseMatrix, MatrixBlock};

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
    fn shape(&self) -> (usize, usize) {
        match self {
            Operand::Matrix(matrix) => (matrix.rows(), matrix.cols()),
            Operand::Scalar(_) => (1, 1),
        }
    }
}

/// f of each cell. CSR stays CSR where f(0) = 0.
///
/// # Errors
/// `memory` when a sparse matrix would become dense and too large.
pub fn unary(matrix: &MatrixBlock, f: impl Fn(f64) -> f64 + Sync) -> Result<MatrixBlock> {
    match matrix {
        MatrixBlock::Csr(csr) if f(0.0) == 0.0 => {
            let mut values = vec![0.0; csr.stored()];
            map_flat(&mut values, |range, out| {
                for (out, value) in out.iter_mut().zip(&csr.values()[range]) {
                    *out = f(*value);
                }
            });
            with_values(csr, values).map(MatrixBlock::Csr)
        }
        MatrixBlock::Csr(csr) => {
            let at_zero = f(0.0);
            let cols = csr.cols();
            dense_by_rows(csr.rows(), cols, cols, |task, out| {
                out.fill(at_zero);
                for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
                    let (indices, values) = csr.row(row);
                    for (col, value) in indices.iter().zip(values) {
                        out[*col as usize] = f(*value);
                    }
                }
            })
            .map(MatrixBlock::Dense)
        }
        MatrixBlock::Dense(dense) => {
            let mut values = vec![0.0; dense.values().len()];
            map_flat(&mut values, |range, out| {
                for (out, value) in out.iter_mut().zip(&dense.values()[range]) {
                    *out = f(*value);
                }
            });
            MatrixBlock::dense(dense.rows(), dense.cols(), values)
        }
    }
}

/// f of each pair of cells. Shapes are equal, or one side is a scalar, a 1 x 1 matrix, or a row or column
/// vector that fits the other, which is repeated.
///
/// # Errors
/// `dimension` when the shapes do not fit; `memory` as [`unary`].
pub fn binary<F>(left: Operand, right: Operand, f: F) -> Result<MatrixBlock>
where
    F: Fn(f64, f64) -> f64 + Sync,
{
    let (rows, cols) = result_shape(&[left, right])?;
    let (left, right) = (Side::of(left, rows, cols), Side::of(right, rows, cols));
    match (&left, &right) {
        (Side::Csr(left), Side::Csr(right)) if f(0.0, 0.0) == 0.0 => {
            return merge(left, right, f).map(settle);
        }
        (Side::Csr(csr), other) if other.all(|y| f(0.0, y) == 0.0) => {
            return over_stored(csr, other, &f).map(MatrixBlock::Csr);
        }
        (other, Side::Csr(csr)) if other.all(|x| f(x, 0.0) == 0.0) => {
            return over_stored(csr, other, |y, x| f(x, y)).map(MatrixBlock::Csr);
        }
        _ => {}
    }
    if let (Some(left), Some(right)) = (left.flat(), right.flat()) {
        let mut values = vec![0.0; super::parallel::cells(rows, cols)?];
        map_flat(&mut values, |range, out| {
            apply_binary(left.part(range.clone()), right.part(range), out, &f);
        });
        return MatrixBlock::dense(rows, cols, values);
    }
    let dense = dense_by_rows(rows, cols, cols, |task, out| {
        let mut scratch = [left.scratch(cols), right.scratch(cols)];
        let [left_scratch, right_scratch] = &mut scratch;
        for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
            apply_binary(
                left.row(row, left_scratch),
                right.row(row, right_scratch),
                out,
                &f,
            );
        }
    })?;
    Ok(MatrixBlock::Dense(dense))
}

/// f of each triple of cells; shapes as in [`binary`].
///
/// # Errors
/// As [`binary`].
pub fn ternary<F>(first: Operand, second: Operand, third: Operand, f: F) -> Result<MatrixBlock>
where
    F: Fn(f64, f64, f64) -> f64 + Sync,
{
    let (rows, cols) = result_shape(&[first, second, third])?;
    let sides = [first, second, third].map(|operand| Side::of(operand, rows, cols));
    if let [Some(first), Some(second), Some(third)] = sides.each_ref().map(Side::flat) {
        let mut values = vec![0.0; super::parallel::cells(rows, cols)?];
        map_flat(&mut values, |range, out| {
            let [first, second, third] =
                [first, second, third].map(|flat| flat.part(range.clone()));
            apply_ternary(first, second, third, out, &f);
        });
        return MatrixBlock::dense(rows, cols, values);
    }
    let dense = dense_by_rows(rows, cols, cols, |task, out| {
        let mut scratch = sides.each_ref().map(|side| side.scratch(cols));
        for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
            let [s0, s1, s2] = &mut scratch;
            apply_ternary(
                sides[0].row(row, s0),
                sides[1].row(row, s1),
                sides[2].row(row, s2),
                out,
                &f,
            );
        }
    })?;
    let any_sparse = sides.iter().any(|side| matches!(side, Side::Csr(_)));
    let result = MatrixBlock::Dense(dense);
    Ok(if any_sparse {
        result.in_best_layout()
    } else {
        result
    })
}

/// f of each pair of a cell of the column vector and a cell of the row vector.
///
/// # Errors
/// `dimension` when `column` is no column vector or `row` is no row vector.
pub fn outer(
    column: &MatrixBlock,
    row: &MatrixBlock,
    f: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<MatrixBlock> {
    if column.cols() != 1 || row.rows() != 1 {
        return Err(Error::dimension(format!(
            "outer needs a column vector and a row vector, not {} and {}",
            shape(column),
            shape(row)
        )));
    }
    let (column, row) = (column.to_dense(), row.to_dense());
    let (xs, ys) = (column.values(), row.values());
    dense_by_rows(xs.len(), ys.len(), ys.len(), |task, out| {
        for (x, out) in xs[task].iter().zip(out.chunks_exact_mut(ys.len())) {
            apply_binary(Cells::Same(*x), Cells::Each(ys), out, &f);
        }
    })
    .map(MatrixBlock::Dense)
}

/// The shape of a broadcast: each operand has it, is a vector along it, or is a single cell.
fn result_shape(operands: &[Operand]) -> Result<(usize, usize)> {
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
    })
}

fn fits(shape: (usize, usize), result: (usize, usize)) -> bool {
    shape == result
        || shape == (1, 1)
        || (shape.0 == 1 && shape.1 == result.1)
        || (shape.1 == 1 && shape.0 == result.0)
}

/// How an operand gives the cells of the result's rows.
enum Side<'a> {
    Dense(&'a DenseMatrix),
    Csr(&'a CsrMatrix),
    RowVector(Cow<'a, [f64]>),
    ColumnVector(Cow<'a, [f64]>),
    Scalar(f64),
}

impl<'a> Side<'a> {
    fn of(operand: Operand<'a>, rows: usize, cols: usize) -> Self {
        let matrix = match operand {
            Operand::Scalar(value) => return Side::Scalar(value),
            Operand::Matrix(matrix) => matrix,
        };
        match (matrix.rows(), matrix.cols()) {
            shape if shape == (rows, cols) => match matrix {
                MatrixBlock::Dense(dense) => Side::Dense(dense),
                MatrixBlock::Csr(csr) => Side::Csr(csr),
            },
            (1, 1) => Side::Scalar(matrix.get(0, 0)),
            (1, _) => Side::RowVector(cells_of(matrix)),
            _ => Side::ColumnVector(cells_of(matrix)),
        }
    }

    /// Whether a test holds for every cell.
    fn all(&self, test: impl Fn(f64) -> bool + Sync) -> bool {
        let test_slice = |cells: &[f64]| cells.iter().all(|cell| test(*cell));
        match self {
            Side::Dense(dense) => dense.values().par_chunks(TASK_CELLS).all(test_slice),
            Side::Csr(csr) => test(0.0) && test_slice(csr.values()),
            Side::RowVector(cells) | Side::ColumnVector(cells) => test_slice(cells),
            Side::Scalar(value) => test(*value),
        }
    }

    fn at(&self, row: usize, col: usize) -> f64 {
        match self {
            Side::Dense(dense) => dense.row(row)[col],
            Side::Csr(csr) => {
                let (indices, values) = csr.row(row);
                match indices.binary_search(&(col as i32)) {
                    Ok(at) => values[at],
                    Err(_) => 0.0,
                }
            }
            Side::RowVector(cells) => cells[col],
            Side::ColumnVector(cells) => cells[row],
            Side::Scalar(value) => *value,
        }
    }

    /// All cells at once, where rows do not matter.
    fn flat(&self) -> Option<Cells<'_>> {
        match self {
            Side::Dense(dense) => Some(Cells::Each(dense.values())),
            Side::Scalar(value) => Some(Cells::Same(*value)),
            _ => None,
        }
    }

    /// Room for [`Side::row`] to spread a sparse row out.
    fn scratch(&self, cols: usize) -> Vec<f64> {
        match self {
            Side::Csr(_) => vec![0.0; cols],
            _ => Vec::new(),
        }
    }

    fn row<'s>(&'s self, row: usize, scratch: &'s mut [f64]) -> Cells<'s> {
        match self {
            Side::Dense(dense) => Cells::Each(dense.row(row)),
            Side::Csr(csr) => {
                let (indices, values) = csr.row(row);
                scratch.fill(0.0);
                for (col, value) in indices.iter().zip(values) {
                    scratch[*col as usize] = *value;
                }
                Cells::Each(scratch)
            }
            Side::RowVector(cells) => Cells::Each(cells),
            Side::ColumnVector(cells) => Cells::Same(cells[row]),
            Side::Scalar(value) => Cells::Same(*value),
        }
    }
}

fn cells_of(vector: &MatrixBlock) -> Cow<'_, [f64]> {
    match vector {
        MatrixBlock::Dense(dense) => Cow::Borrowed(dense.values()),
        MatrixBlock::Csr(_) => Cow::Owned(vector.to_dense().values().to_vec()),
    }
}

/// A stretch of cells: one each, or the same for all.
#[derive(Clone, Copy)]
enum Cells<'a> {
    Each(&'a [f64]),
    Same(f64),
}

impl<'a> Cells<'a> {
    fn part(self, range: Range<usize>) -> Cells<'a> {
        match self {
            Cells::Each(cells) => Cells::Each(&cells[range]),
            Cells::Same(value) => Cells::Same(value),
        }
    }

    fn at(self, index: usize) -> f64 {
        match self {
            Cells::Each(cells) => cells[index],
            Cells::Same(value) => value,
        }
    }
}

fn apply_binary(left: Cells, right: Cells, out: &mut [f64], f: &impl Fn(f64, f64) -> f64) {
    match (left, right) {
        (Cells::Each(xs), Cells::Each(ys)) => {
            for ((out, x), y) in out.iter_mut().zip(xs).zip(ys) {
                *out = f(*x, *y);
            }
        }
        (Cells::Each(xs), Cells::Same(y)) => {
            for (out, x) in out.iter_mut().zip(xs) {
                *out = f(*x, y);
            }
        }
        (Cells::Same(x), Cells::Each(ys)) => {
            for (out, y) in out.iter_mut().zip(ys) {
                *out = f(x, *y);
            }
        }
        (Cells::Same(x), Cells::Same(y)) => out.fill(f(x, y)),
    }
}

fn apply_ternary(
    first: Cells,
    second: Cells,
    third: Cells,
    out: &mut [f64],
    f: &impl Fn(f64, f64, f64) -> f64,
) {
    match (first, second, third) {
        (Cells::Each(xs), Cells::Each(ys), Cells::Each(zs)) => {
            for (((out, x), y), z) in out.iter_mut().zip(xs).zip(ys).zip(zs) {
                *out = f(*x, *y, *z);
            }
        }
        // x +* s y, the other form that matters.
        (Cells::Each(xs), Cells::Same(y), Cells::Each(zs)) => {
            for ((out, x), z) in out.iter_mut().zip(xs).zip(zs) {
                *out = f(*x, y, *z);
            }
        }
        _ => {
            for (index, out) in out.iter_mut().enumerate() {
                *out = f(first.at(index), second.at(index), third.at(index));
            }
        }
    }
}

fn map_flat(values: &mut [f64], fill: impl Fn(Range<usize>, &mut [f64]) + Sync) {
    if values.len() <= TASK_CELLS {
        fill(0..values.len(), values);
        return;
    }
    values
        .par_chunks_mut(TASK_CELLS)
        .enumerate()
        .for_each(|(index, out)| {
            let from = index * TASK_CELLS;
            fill(from..from + out.len(), out);
        });
}

/// f(stored cell, cell of the other side) where only stored cells count.
fn over_stored(
    csr: &CsrMatrix,
    other: &Side,
    f: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<CsrMatrix> {
    let per_row = csr.stored() / csr.rows().max(1) + 1;
    let parts: Vec<Vec<f64>> =
        super::parallel::row_tasks(csr.rows(), super::parallel::rows_per_task(per_row))
            .into_par_iter()
            .map(|task| {
                let mut part = Vec::new();
                for row in task {
                    let (indices, values) = csr.row(row);
                    part.extend(
                        indices
                            .iter()
                            .zip(values)
                            .map(|(col, value)| f(*value, other.at(row, *col as usize))),
                    );
                }
                part
            })
            .collect();
    with_values(csr, parts.concat())
}

/// f of the cells stored on either side, where f(0, 0) = 0.
fn merge(
    left: &CsrMatrix,
    right: &CsrMatrix,
    f: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<CsrMatrix> {
    let per_row = (left.stored() + right.stored()) / left.rows().max(1) + 1;
    csr_by_rows(
        left.rows(),
        left.cols(),
        per_row,
        |task, out: &mut SparseRows| {
            for row in task {
                let (left_cols, xs) = left.row(row);
                let (right_cols, ys) = right.row(row);
                let (mut i, mut j) = (0, 0);
                while i < left_cols.len() || j < right_cols.len() {
                    let l = left_cols.get(i).copied().unwrap_or(i32::MAX);
                    let r = right_cols.get(j).copied().unwrap_or(i32::MAX);
                    let col = l.min(r);
                    let (mut x, mut y) = (0.0, 0.0);
                    if l == col {
                        x = xs[i];
                        i += 1;
                    }
                    if r == col {
                        y = ys[j];
                        j += 1;
                    }
                    out.push(col as usize, f(x, y));
                }
                out.end_row();
            }
        },
    )
}

/// The same pattern with other values.
fn with_values(csr: &CsrMatrix, values: Vec<f64>) -> Result<CsrMatrix> {
    let (pointers, indices, _) = csr.clone().into_buffers();
    CsrMatrix::new(csr.rows(), csr.cols(), pointers, indices, values)
}
