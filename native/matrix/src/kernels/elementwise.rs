//! Cell-by-cell functions of one, two and three operands, with broadcasting.
//!
//! The functions are type parameters, so that the inner loops are compiled for each one. They are given for a cell, or (`.._over_slices`)
//! for stretches of cells, as those of [`crate::vector_math`] are. Whether a
//! sparse operand may stay sparse is not declared but asked of the function itself (is f(0, y) zero for
//! the y at hand?): results equal the dense ones also where NaN and infinities are about.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::{
    broadcast::{Side, over_rows, result_shape},
    results::{settle, shape},
    sparse_union::{merge, over_union},
};
use crate::{
    CoordinateMatrix, CsrMatrix, MatrixBlock,
    memory::{self, NewCells, by_chunks},
    parallel::{TASK_CELLS, dense_by_rows, row_tasks, rows_per_task},
    vector_math::Cells,
};

pub use super::broadcast::Operand;

/// f of each cell. Sparse layouts stay where f(0) = 0.
///
/// # Errors
/// `memory` when a sparse matrix would become dense and too large.
pub fn unary(matrix: &MatrixBlock, f: impl Fn(f64) -> f64 + Sync) -> Result<MatrixBlock> {
    unary_over_slices(matrix, |cells, out| {
        for (out, value) in out.iter_mut().zip(cells) {
            *out = f(*value);
        }
    })
}

/// As [`unary`], with f over slices of one length.
///
/// # Errors
/// As [`unary`].
pub fn unary_over_slices(
    matrix: &MatrixBlock,
    f: impl Fn(&[f64], &mut [f64]) + Sync,
) -> Result<MatrixBlock> {
    match matrix {
        MatrixBlock::Coordinate(coordinates) => {
            if value_at_zero(&f) != 0.0 {
                return unary_over_slices(&coordinates.to_csr()?.into(), f);
            }
            let values = map_flat(coordinates.stored(), |range, out| {
                f(&coordinates.values()[range], out)
            })?;
            coordinates.with_values(values).map(MatrixBlock::Coordinate)
        }
        MatrixBlock::Csr(csr) => {
            let at_zero = value_at_zero(&f);
            let values = map_flat(csr.stored(), |range, out| f(&csr.values()[range], out))?;
            let result = csr.with_values(values)?;
            if at_zero == 0.0 {
                return Ok(MatrixBlock::Csr(result));
            }
            let cols = result.cols();
            dense_by_rows(result.rows(), cols, cols, |task, out| {
                out.fill(at_zero);
                for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
                    let (indices, values) = result.row(row);
                    for (col, value) in indices.iter().zip(values) {
                        out[*col as usize] = *value;
                    }
                }
            })
            .map(MatrixBlock::Dense)
        }
        MatrixBlock::Dense(dense) => {
            let cells = dense.values();
            let values = map_flat(cells.len(), |range, out| f(&cells[range], out))?;
            MatrixBlock::dense(dense.rows(), dense.cols(), values)
        }
        MatrixBlock::Compressed(_) => unary_over_slices(&*matrix.plain()?, f),
    }
}

fn value_at_zero(f: impl Fn(&[f64], &mut [f64])) -> f64 {
    let mut at_zero = [0.0];
    f(&[0.0], &mut at_zero);
    at_zero[0]
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
    binary_by(left, right, &f, |x, y, out| apply_binary(x, y, out, &f))
}

/// As [`binary`], with f over stretches of cells of the output's length.
///
/// # Errors
/// As [`binary`].
pub fn binary_over_slices<F>(left: Operand, right: Operand, over: F) -> Result<MatrixBlock>
where
    F: Fn(Cells, Cells, &mut [f64]) + Sync,
{
    let f = |x, y| {
        let mut out = [0.0];
        over(Cells::Same(x), Cells::Same(y), &mut out);
        out[0]
    };
    binary_by(left, right, f, &over)
}

/// As [`binary`], where `over` is the same function of stretches, to the bit: what few cells need is done cell by cell.
///
/// # Errors
/// As [`binary`].
pub fn binary_by<F, O>(left: Operand, right: Operand, f: F, over: O) -> Result<MatrixBlock>
where
    F: Fn(f64, f64) -> f64 + Sync,
    O: Fn(Cells, Cells, &mut [f64]) + Sync,
{
    let (rows, cols) = result_shape(&[left, right])?;
    let (left, right) = (Side::of(left, rows, cols)?, Side::of(right, rows, cols)?);
    match (&left, &right) {
        (Side::Coordinate(left), Side::Coordinate(right)) if f(0.0, 0.0) == 0.0 => {
            return settle(left.merge(right, f));
        }
        (Side::Coordinate(coordinates), other) if other.all(|y| f(0.0, y) == 0.0) => {
            return over_coordinates(coordinates, other, &over).map(MatrixBlock::Coordinate);
        }
        (other, Side::Coordinate(coordinates)) if other.all(|x| f(x, 0.0) == 0.0) => {
            let swapped = |y: Cells, x: Cells, out: &mut [f64]| over(x, y, out);
            return over_coordinates(coordinates, other, swapped).map(MatrixBlock::Coordinate);
        }
        (Side::Csr(csr), Side::Coordinate(coordinates)) if f(0.0, 0.0) == 0.0 => {
            return merge(csr, &coordinates.to_csr()?, &over).and_then(settle);
        }
        (Side::Coordinate(coordinates), Side::Csr(csr)) if f(0.0, 0.0) == 0.0 => {
            return merge(&coordinates.to_csr()?, csr, &over).and_then(settle);
        }
        (Side::Csr(left), Side::Csr(right)) if f(0.0, 0.0) == 0.0 => {
            return merge(left, right, &over).and_then(settle);
        }
        (Side::Csr(csr), other) if other.all(|y| f(0.0, y) == 0.0) => {
            return over_stored(csr, other, &over).map(MatrixBlock::Csr);
        }
        (other, Side::Csr(csr)) if other.all(|x| f(x, 0.0) == 0.0) => {
            let swapped = |y: Cells, x: Cells, out: &mut [f64]| over(x, y, out);
            return over_stored(csr, other, swapped).map(MatrixBlock::Csr);
        }
        _ => {}
    }
    let of_cells = |[x, y]: [f64; 2]| f(x, y);
    if let Some(result) = over_union([&left, &right], (rows, cols), of_cells)? {
        return settle(result);
    }
    if let (Some(left), Some(right)) = (left.flat(), right.flat()) {
        let values = map_flat(crate::parallel::cells(rows, cols)?, |range, out| {
            over(left.part(range.clone()), right.part(range), out);
        })?;
        return MatrixBlock::dense(rows, cols, values);
    }
    let sides = [&left, &right];
    let dense = over_rows(sides, (rows, cols), |[x, y], out| over(x, y, out))?;
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
    let over = |[x, y, z]: [Cells; 3], out: &mut [f64]| apply_ternary(x, y, z, out, &f);
    ternary_by([first, second, third], &f, over)
}

/// As [`ternary`], where `over` is the same function of stretches, to the bit.
///
/// # Errors
/// As [`binary`].
pub fn ternary_by<F, O>(operands: [Operand; 3], f: F, over: O) -> Result<MatrixBlock>
where
    F: Fn(f64, f64, f64) -> f64 + Sync,
    O: Fn([Cells; 3], &mut [f64]) + Sync,
{
    let [first, second, third] = operands;
    let (rows, cols) = result_shape(&[first, second, third])?;
    let [first, second, third] =
        [first, second, third].map(|operand| Side::of(operand, rows, cols));
    let sides = [first?, second?, third?];
    let of_cells = |[x, y, z]: [f64; 3]| f(x, y, z);
    if let Some(result) = over_union(sides.each_ref(), (rows, cols), of_cells)? {
        return settle(result);
    }
    if let [Some(first), Some(second), Some(third)] = sides.each_ref().map(Side::flat) {
        let values = map_flat(crate::parallel::cells(rows, cols)?, |range, out| {
            let [first, second, third] =
                [first, second, third].map(|flat| flat.part(range.clone()));
            over([first, second, third], out);
        })?;
        return MatrixBlock::dense(rows, cols, values);
    }
    let dense = over_rows(sides.each_ref(), (rows, cols), over)?;
    let any_sparse = (sides.iter()).any(|side| matches!(side, Side::Csr(_) | Side::Coordinate(_)));
    let result = MatrixBlock::Dense(dense);
    match any_sparse {
        true => result.in_best_layout(),
        false => Ok(result),
    }
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
    outer_over_slices(column, row, |x, y, out| apply_binary(x, y, out, &f))
}

/// As [`outer`], with f over stretches of cells of the output's length.
///
/// # Errors
/// As [`outer`].
pub fn outer_over_slices(
    column: &MatrixBlock,
    row: &MatrixBlock,
    over: impl Fn(Cells, Cells, &mut [f64]) + Sync,
) -> Result<MatrixBlock> {
    if column.cols() != 1 || row.rows() != 1 {
        return Err(Error::dimension(format!(
            "outer needs a column vector and a row vector, not {} and {}",
            shape(column),
            shape(row)
        )));
    }
    let (column, row) = (column.to_dense()?, row.to_dense()?);
    let (xs, ys) = (column.values(), row.values());
    dense_by_rows(xs.len(), ys.len(), ys.len(), |task, out| {
        for (x, out) in xs[task].iter().zip(out.chunks_exact_mut(ys.len())) {
            over(Cells::Same(*x), Cells::Each(ys), out);
        }
    })
    .map(MatrixBlock::Dense)
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

fn map_flat(cells: usize, fill: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Result<Vec<f64>> {
    by_chunks(cells, TASK_CELLS, |chunk, out| {
        let from = chunk * TASK_CELLS;
        fill(from..from + out.len(), out);
    })
}

/// f(stored cell, cell of the other side) where only stored cells count.
fn over_stored(
    csr: &CsrMatrix,
    other: &Side,
    over: impl Fn(Cells, Cells, &mut [f64]) + Sync,
) -> Result<CsrMatrix> {
    if let Side::Scalar(y) = other {
        let values = map_flat(csr.stored(), |range, out| {
            over(Cells::Each(&csr.values()[range]), Cells::Same(*y), out);
        })?;
        return csr.with_values(values);
    }
    let per_row = csr.stored() / csr.rows().max(1) + 1;
    let tasks = row_tasks(csr.rows(), rows_per_task(per_row));
    let stored = |task: &Range<usize>| csr.pointers()[task.end] - csr.pointers()[task.start];
    let mut values = NewCells::new(csr.stored())?;
    let parts = values.parts(tasks.iter().map(|task| stored(task) as usize));
    let tasks = tasks.into_par_iter().zip(parts);
    tasks.try_for_each(|(task, part)| {
        let out = part.cells();
        let first = csr.pointers()[task.start] as usize;
        let stored = &csr.values()[first..first + out.len()];
        let mut others = memory::room(out.len())?;
        for row in task {
            let (indices, _) = csr.row(row);
            match other {
                Side::ColumnVector(cells) => {
                    others.extend(std::iter::repeat_n(cells[row], indices.len()));
                }
                _ => others.extend(indices.iter().map(|col| other.at(row, *col as usize))),
            }
        }
        over(Cells::Each(stored), Cells::Each(&others), out);
        Ok::<(), Error>(())
    })?;
    csr.with_values(values.finish())
}

/// As [`over_stored`], of coordinates.
fn over_coordinates(
    coordinates: &CoordinateMatrix,
    other: &Side,
    over: impl Fn(Cells, Cells, &mut [f64]) + Sync,
) -> Result<CoordinateMatrix> {
    let stored = coordinates.values();
    let values = map_flat(stored.len(), |range, out| {
        let places = coordinates.row_indices()[range.clone()]
            .iter()
            .zip(&coordinates.indices()[range.clone()]);
        let others: Vec<f64> = places
            .map(|(row, col)| other.at(*row as usize, *col as usize))
            .collect();
        over(Cells::Each(&stored[range]), Cells::Each(&others), out);
    })?;
    coordinates.with_values(values)
}
