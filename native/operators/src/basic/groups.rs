//! Basic operators on column groups as they are. Each gives `None` where it has no way of its own.

use std::ops::Range;

use fulgurite_error::Result;
use fulgurite_hop::{BinaryOp, Literal, TernaryOp, UnaryOp, scalar};
use fulgurite_matrix::{
    MatrixBlock,
    compressed::CompressedMatrix,
    kernels::{self, IndexRange},
    vector_math::Cells,
};

use super::super::value::Value;

/// Ranges of fewer cells are decoded: what reads them has less to do than to look at groups.
const DECODED_RANGE: usize = 1 << 16;

/// How a product reads its operands.
#[derive(Debug, Clone, Copy, Default)]
pub struct Factors {
    pub is_left_transposed: bool,
    pub are_same: bool,
}

pub fn unary(op: UnaryOp, matrix: &MatrixBlock) -> Result<Option<Value>> {
    let Some(groups) = CompressedMatrix::of(matrix) else {
        return Ok(None);
    };
    let mapped = groups.unary_over_slices(|x, out| op.eval_cells(x, out))?;
    Ok(Some(matrix_of(mapped)))
}

/// Where all operands but one are numbers.
pub fn ternary(op: TernaryOp, operands: [&Value; 3]) -> Result<Option<Value>> {
    let mut place = None;
    let mut numbers = [0.0; 3];
    for (at, operand) in operands.into_iter().enumerate() {
        match (number(operand)?, operand) {
            (Some(value), _) => numbers[at] = value,
            (None, Value::Matrix(matrix)) if place.is_none() => place = Some((at, matrix)),
            (None, _) => return Ok(None),
        }
    }
    let groups = place.and_then(|(at, matrix)| Some((at, CompressedMatrix::of(matrix)?)));
    let Some((at, groups)) = groups else {
        return Ok(None);
    };
    let mapped = groups.unary_over_slices(|x, out| {
        let mut cells = numbers.map(Cells::Same);
        cells[at] = Cells::Each(x);
        op.eval_cells(cells, out);
    })?;
    Ok(Some(matrix_of(mapped)))
}

fn matrix_of(groups: CompressedMatrix) -> Value {
    Value::Matrix(groups.into())
}

/// A scalar, or the only cell of a matrix.
pub fn number(value: &Value) -> Result<Option<f64>> {
    Ok(match value {
        Value::Scalar(value) => Some(scalar::number(value)?),
        Value::Matrix(matrix) if (matrix.rows(), matrix.cols()) == (1, 1) => Some(matrix.get(0, 0)),
        Value::Matrix(_) | Value::Range(_) => None,
    })
}

pub fn product(left: &MatrixBlock, right: &MatrixBlock, factors: Factors) -> Result<Option<Value>> {
    let of = CompressedMatrix::of;
    let product = match (of(left), of(right), factors.is_left_transposed) {
        (Some(groups), _, true) if factors.are_same => groups.tsmm()?,
        (Some(groups), _, true) if left.rows() == right.rows() => {
            groups.transposed_matmult(&*right.plain()?)?
        }
        (None, Some(groups), true) if left.rows() == right.rows() => {
            kernels::transpose(&groups.transposed_matmult(left)?)?
        }
        (Some(groups), _, false) if left.cols() == right.rows() => {
            groups.matmult(&*right.plain()?)?
        }
        (None, Some(groups), false) if left.cols() == right.rows() => groups.left_matmult(left)?,
        // Whose error it is, the kernel says.
        _ => return Ok(None),
    };
    Ok(Some(Value::Matrix(product)))
}

pub fn binary(op: BinaryOp, left: &Value, right: &Value, are_same: bool) -> Result<Option<Value>> {
    let groups_of = |value: &Value| match value {
        Value::Matrix(matrix) => CompressedMatrix::of(matrix).cloned(),
        Value::Range(_) | Value::Scalar(_) => None,
    };
    let (groups, other, is_swapped) = match (groups_of(left), groups_of(right)) {
        (Some(groups), Some(_)) if are_same => {
            let mapped = groups.unary_over_slices(|x, out| {
                op.eval_cells(Cells::Each(x), Cells::Each(x), out);
            })?;
            return Ok(Some(matrix_of(mapped)));
        }
        (Some(groups), None) => (groups, right, false),
        (None, Some(groups)) => (groups, left, true),
        (Some(_), Some(_)) | (None, None) => return Ok(None),
    };
    if let Some(value) = number(other)? {
        let mapped = groups.unary_over_slices(|x, out| match is_swapped {
            false => op.eval_cells(Cells::Each(x), Cells::Same(value), out),
            true => op.eval_cells(Cells::Same(value), Cells::Each(x), out),
        })?;
        return Ok(Some(matrix_of(mapped)));
    }
    let Value::Matrix(row) = other else {
        return Ok(None);
    };
    if (row.rows(), row.cols()) != (1, groups.cols()) || groups.rows() == 1 {
        return Ok(None);
    }
    let row = row.to_dense()?;
    // To the bit as the kernels over stretches.
    let eval = |x: f64, y: f64| {
        let mut out = [0.0];
        op.eval_cells(Cells::Same(x), Cells::Same(y), &mut out);
        out[0]
    };
    let mapped = match is_swapped {
        false => groups.with_row(row.values(), eval)?,
        true => groups.with_row(row.values(), |x, y| eval(y, x))?,
    };
    Ok(Some(matrix_of(mapped)))
}

/// `X[rows, cols]`: whole columns stay groups, as do long ranges of rows.
pub fn range(matrix: &MatrixBlock, bounds: &[Value]) -> Result<Option<Value>> {
    let (Some(groups), [a, b, c, d]) = (CompressedMatrix::of(matrix), bounds) else {
        return Ok(None);
    };
    let mut numbers = [0; 4];
    for (number, bound) in numbers.iter_mut().zip([a, b, c, d]) {
        let Value::Scalar(bound) = bound else {
            return Ok(None);
        };
        *number = match bound {
            Literal::Int(value) => *value,
            other => scalar::double_to_int(scalar::number(other)?),
        };
    }
    let (rows, cols) = (groups.rows(), groups.cols());
    let within = |from: i64, to: i64, size: usize| -> Option<Range<usize>> {
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        (1 <= from && from <= to && to <= size).then(|| from - 1..to)
    };
    let (Some(row_range), Some(col_range)) = (
        within(numbers[0], numbers[1], rows),
        within(numbers[2], numbers[3], cols),
    ) else {
        // Whose error it is, the kernel says.
        let ends = |from, to| IndexRange::new(from, to);
        let checked = kernels::right_index(
            matrix,
            ends(numbers[0], numbers[1]),
            ends(numbers[2], numbers[3]),
        )?;
        return Ok(Some(Value::Matrix(checked)));
    };
    let mut part = groups.clone();
    if row_range.len() < rows {
        part = part.slice_rows(row_range)?;
    }
    if col_range.len() < cols {
        part = part.slice_cols(col_range)?;
    }
    let is_small = part.rows().saturating_mul(part.cols()) <= DECODED_RANGE;
    Ok(Some(Value::Matrix(match is_small {
        true => part.to_block()?,
        false => part.into(),
    })))
}

/// `cbind`: others become groups of their own.
pub fn beside(inputs: &[Value]) -> Result<Option<Value>> {
    let mut parts = Vec::new();
    for input in inputs {
        let Value::Matrix(matrix) = input else {
            return Ok(None);
        };
        parts.push(match CompressedMatrix::of(matrix) {
            Some(groups) => groups.clone(),
            None => CompressedMatrix::beside(matrix.clone())?,
        });
    }
    let rows = parts.first().map_or(0, CompressedMatrix::rows);
    if parts.iter().any(|part| part.rows() != rows) {
        return Ok(None);
    }
    let parts: Vec<&CompressedMatrix> = parts.iter().collect();
    Ok(Some(matrix_of(CompressedMatrix::cbind(&parts)?)))
}
