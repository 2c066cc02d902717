//! Size rules of linear algebra on square matrices, and of the singular value decomposition.

use fulgurite_error::Result;

use super::arguments::Arguments;
use crate::{Characteristics, ValueType, variable_info::VariableInfo};

/// The number of rows, which is that of columns.
fn square(call: &Arguments) -> Result<Option<u64>> {
    let size = call.main_size();
    match (size.rows, size.cols) {
        (Some(rows), Some(cols)) if rows != cols => Err(call.mismatch(format!(
            "the matrix is not square: {}",
            call.shape(call.main)
        ))),
        _ => Ok(size.rows.or(size.cols)),
    }
}

/// As large as the matrix.
pub(super) fn same(call: &Arguments) -> Result<VariableInfo> {
    square(call)?;
    let size = call.main_size();
    let (rows, cols) = (size.rows.or(size.cols), size.cols.or(size.rows));
    Ok(VariableInfo::matrix(Characteristics::new(rows, cols, None)))
}

/// A column of eigenvalues, then one eigenvector a column.
pub(super) fn eigen(call: &Arguments) -> Result<VariableInfo> {
    let order = square(call)?;
    let cols = order.and_then(|order| order.checked_add(1));
    Ok(VariableInfo::matrix(Characteristics::new(
        order, cols, None,
    )))
}

pub(super) fn determinant(call: &Arguments) -> Result<VariableInfo> {
    square(call)?;
    Ok(VariableInfo::scalar(ValueType::Double))
}

/// Three square matrices side by side.
pub(super) fn lu(call: &Arguments) -> Result<VariableInfo> {
    let order = square(call)?;
    let cols = order.and_then(|order| order.checked_mul(3));
    Ok(VariableInfo::matrix(Characteristics::new(
        order, cols, None,
    )))
}

pub(super) fn solve(call: &Arguments) -> Result<VariableInfo> {
    square(call)?;
    let left = call.main;
    let size = call.main_size();
    let right = call
        .named("right")
        .map(|place| (place, call.size_of(place)));
    let (rows, cols) = match right {
        Some((place, right)) => {
            if let (Some(rows), Some(expected)) = (right.rows, size.rows.or(size.cols))
                && rows != expected
            {
                return Err(call.mismatch(format!(
                    "shapes do not fit: {} and {}",
                    call.shape(left),
                    call.shape(place)
                )));
            }
            (size.cols.or(size.rows).or(right.rows), right.cols)
        }
        None => (size.cols.or(size.rows), None),
    };
    Ok(VariableInfo::matrix(Characteristics::new(rows, cols, None)))
}

/// One below the other: left singular vectors, singular values, right singular vectors.
pub(super) fn svd(call: &Arguments) -> Result<VariableInfo> {
    let size = call.main_size();
    let dims = size.rows.zip(size.cols).and_then(|(rows, cols)| {
        let rank = rows.min(cols);
        Some((rows.checked_add(cols)?.checked_add(rank)?, rank))
    });
    Ok(VariableInfo::matrix(match dims {
        Some((rows, cols)) => Characteristics::dims(rows, cols),
        None => Characteristics::UNKNOWN,
    }))
}
