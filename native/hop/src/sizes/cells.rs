//! Operators that work cell by cell, with broadcasting of vectors and 1 x 1 matrices on either side.

use fulgurite_error::Result;

use super::{Call, VariableInfo, known_sparsity, share};
use crate::{BinaryOp, Characteristics, TernaryOp, UnaryOp, scalar};

pub(super) fn unary(call: &Call, op: UnaryOp) -> VariableInfo {
    let input = call.input(0);
    if call.is_scalar(0) {
        return VariableInfo::scalar(scalar::unary_value_type(op, input.value_type));
    }
    let size = input.characteristics;
    let nnz = if op.keeps_zero() {
        size.nnz
    } else {
        size.cells()
    };
    VariableInfo::matrix(Characteristics { nnz, ..size })
}

pub(super) fn binary(call: &Call, op: BinaryOp) -> Result<VariableInfo> {
    if call.is_scalar(0) && call.is_scalar(1) {
        let (left, right) = (call.input(0).value_type, call.input(1).value_type);
        let value_type = scalar::binary_value_type(op, left, right);
        return Ok(VariableInfo::scalar(value_type));
    }
    let (rows, cols) = broadcast(call, &[0, 1])?;
    let size = Characteristics::new(rows, cols, None);
    let nnz = size.cells().and_then(|cells| binary_nnz(call, op, cells));
    Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
}

fn binary_nnz(call: &Call, op: BinaryOp, cells: u64) -> Option<u64> {
    let sparsity = |place: usize| known_sparsity(&call.size_of(place));
    // Zero divided by zero is NaN: an estimate, but none that says there are no non-zeros at all.
    let divides = op.zero_on_left_zero() && !op.zero_on_right_zero();
    let known_divisor = call.fixed_number(1).is_some_and(|y| y != 0.0);
    let uncertain = divides && !known_divisor;
    let sparsity = match (call.is_scalar(0), call.is_scalar(1)) {
        (true, _) => {
            // Where the matrix is zero, this scalar decides.
            let kept = call
                .fixed_number(0)
                .map_or_else(|| op.zero_on_right_zero(), |x| op.eval(x, 0.0) == 0.0);
            if kept { sparsity(1)? } else { 1.0 }
        }
        (_, true) => {
            let kept = call
                .fixed_number(1)
                .map_or_else(|| op.zero_on_left_zero(), |y| op.eval(0.0, y) == 0.0);
            if kept { sparsity(0)? } else { 1.0 }
        }
        _ if op.zero_on_left_zero() && op.zero_on_right_zero() => {
            match (sparsity(0), sparsity(1)) {
                (None, None) => return None,
                (left, right) => left.unwrap_or(1.0) * right.unwrap_or(1.0),
            }
        }
        // Division: 0 / 0 is NaN, but zero divisors are rare where the dividend is zero.
        _ if op.zero_on_left_zero() => sparsity(0)?,
        _ if op.zero_on_both_zero() => (sparsity(0)? + sparsity(1)?).min(1.0),
        _ => 1.0,
    };
    if uncertain && sparsity == 0.0 {
        return None;
    }
    let is_product = op == BinaryOp::Mult;
    let certain = !is_product || sparsity > 0.0 || product_is_zero(call, 0, 1);
    Some(share(sparsity, cells).max(if certain { 0 } else { cells.min(1) }))
}

/// Whether a product with an empty matrix is certainly empty: zero times NaN or infinity is not zero.
pub(super) fn product_is_zero(call: &Call, left: usize, right: usize) -> bool {
    call.is_finite(left) && call.is_finite(right)
}

pub(super) fn ternary(call: &Call, op: TernaryOp) -> Result<VariableInfo> {
    if (0..3).all(|place| call.is_scalar(place)) {
        let (left, right) = (call.input(1), call.input(2));
        return Ok(match op {
            TernaryOp::IfElse => match left.merge(right) {
                Some(either) => VariableInfo::scalar(either.value_type),
                None => VariableInfo::scalar(call.declared().value_type),
            },
            TernaryOp::PlusMult | TernaryOp::MinusMult => call.declared(),
        });
    }
    let (rows, cols) = broadcast(call, &[0, 1, 2])?;
    let size = Characteristics::new(rows, cols, None);
    let nnz = size.cells().and_then(|cells| ternary_nnz(call, op, cells));
    Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
}

fn ternary_nnz(call: &Call, op: TernaryOp, cells: u64) -> Option<u64> {
    let sparsity = |place: usize| {
        if call.is_scalar(place) {
            let is_zero = call.fixed_number(place).map(|value| value == 0.0);
            Some(if is_zero == Some(true) { 0.0 } else { 1.0 })
        } else {
            known_sparsity(&call.size_of(place))
        }
    };
    let sparsity = match op {
        TernaryOp::IfElse => {
            let chosen = match (sparsity(0), sparsity(1)) {
                (None, None) => return None,
                (condition, value) => condition.unwrap_or(1.0).min(value.unwrap_or(1.0)),
            };
            chosen + sparsity(2)?
        }
        TernaryOp::PlusMult | TernaryOp::MinusMult => {
            let sparsity = sparsity(0)? + sparsity(1)? * sparsity(2)?;
            if sparsity == 0.0 && !product_is_zero(call, 1, 2) {
                return Some(cells.min(1));
            }
            sparsity
        }
    };
    Some(share(sparsity.min(1.0), cells))
}

/// The shape that the matrices among these inputs have together.
pub(super) fn broadcast(call: &Call, places: &[usize]) -> Result<(Option<u64>, Option<u64>)> {
    let matrices = || {
        places
            .iter()
            .copied()
            .filter(|place| call.is_matrix(*place))
    };
    let mut shape: Option<(Option<u64>, Option<u64>)> = None;
    for place in matrices() {
        let size = call.size_of(place);
        let next = (size.rows, size.cols);
        let fitted = match shape {
            None => Some(next),
            Some(sofar) => fit(sofar.0, next.0).zip(fit(sofar.1, next.1)),
        };
        let Some(fitted) = fitted else {
            return Err(shapes_differ(call, matrices()));
        };
        shape = Some(fitted);
    }
    let shape = shape.unwrap_or_default();
    // A column with a row would give their outer combination, which DML writes outer().
    let has_shape = |place| {
        let size = call.size_of(place);
        let may_be = |size: Option<u64>, whole: Option<u64>| {
            size.is_none() || whole.is_none() || size == whole
        };
        may_be(size.rows, shape.0) && may_be(size.cols, shape.1)
    };
    if matrices().any(has_shape) {
        Ok(shape)
    } else {
        Err(shapes_differ(call, matrices()).with_help(
            "a column vector and a row vector are combined by outer(column, row, \"operator\")",
        ))
    }
}

/// One dimension of two operands together; `None` where they can't fit.
fn fit(left: Option<u64>, right: Option<u64>) -> Option<Option<u64>> {
    match (left, right) {
        (Some(left), Some(right)) if left == right => Some(Some(left)),
        (Some(1), Some(other)) | (Some(other), Some(1)) => Some(Some(other)),
        (Some(_), Some(_)) => None,
        // Whatever the other is, it must be stretched to this one. A 1 could itself be stretched.
        (Some(known), None) | (None, Some(known)) if known != 1 => Some(Some(known)),
        _ => Some(None),
    }
}

fn shapes_differ(call: &Call, places: impl Iterator<Item = usize>) -> fulgurite_error::Error {
    let shapes: Vec<String> = places.map(|place| call.shape(place)).collect();
    call.mismatch(format!("shapes do not fit: {}", shapes.join(" and ")))
        .with_help("operands need equal shapes, or one is a vector as long as the other's side")
}
