//! Size rules of operators that select, replace and sort rows, and that combine vectors.

use fulgurite_error::Result;

use super::arguments::Arguments;
use crate::{
    Characteristics, Literal, ValueType, ops::cellwise::broadcast, variable_info::VariableInfo,
};

pub(super) fn remove_empty(call: &Arguments) -> Result<VariableInfo> {
    let size = call.main_size();
    let margin = call.named("margin").and_then(|place| call.fixed(place));
    let (rows, cols) = match margin {
        Some(Literal::String(margin)) if margin == "rows" => (None, size.cols),
        Some(Literal::String(margin)) if margin == "cols" => (size.rows, None),
        _ => (None, None),
    };
    Ok(VariableInfo::matrix(Characteristics {
        rows,
        cols,
        nnz: size.nnz,
    }))
}

pub(super) fn replace(call: &Arguments) -> Result<VariableInfo> {
    let size = call.main_size();
    let pattern = call.named("pattern").and_then(|place| call.fixed(place));
    let nnz = match pattern {
        Some(pattern) if pattern.as_f64().is_some_and(|value| value != 0.0) => size.nnz,
        // Zeros may be replaced.
        _ => size.cells(),
    };
    Ok(VariableInfo {
        characteristics: Characteristics { nnz, ..size },
        constant: None,
        ..call.input(call.main).clone()
    })
}

pub(super) fn order(call: &Arguments) -> Result<VariableInfo> {
    let size = call.main_size();
    let index = match call.named("index.return") {
        None => Some(false),
        Some(place) => match call.fixed(place) {
            Some(Literal::Boolean(index)) => Some(*index),
            _ => None,
        },
    };
    Ok(VariableInfo::matrix(match index {
        Some(false) => size,
        Some(true) => Characteristics::new(size.rows, Some(1), size.rows),
        None => Characteristics::new(size.rows, None, None),
    }))
}

/// A row for each group.
pub(super) fn groups(call: &Arguments) -> Result<VariableInfo> {
    let groups = match call.named("ngroups") {
        Some(place) => call.size(place)?,
        None => None,
    };
    let cols = call.main_size().cols;
    Ok(VariableInfo::matrix(Characteristics::new(
        groups, cols, None,
    )))
}

/// As large as the target.
pub(super) fn triangle(call: &Arguments) -> Result<VariableInfo> {
    Ok(VariableInfo::matrix(Characteristics {
        nnz: None,
        ..call.main_size()
    }))
}

pub(super) fn quantile(call: &Arguments) -> Result<VariableInfo> {
    Ok(match call.named("probabilities") {
        Some(place) if call.is_matrix(place) => VariableInfo::matrix(Characteristics {
            nnz: None,
            ..call.size_of(place)
        }),
        _ => VariableInfo::scalar(ValueType::Double),
    })
}

pub(super) fn outer(call: &Arguments) -> Result<VariableInfo> {
    let left = call.main;
    let size = call.main_size();
    let Some(right) = call.named("right") else {
        return Ok(VariableInfo::matrix(Characteristics::new(
            size.rows, None, None,
        )));
    };
    let row = call.size_of(right);
    if size.cols.is_some_and(|cols| cols != 1) || row.rows.is_some_and(|rows| rows != 1) {
        // As SystemDS has it: what is no column and row is combined cell by cell.
        let (rows, cols) = broadcast(call.call, &[left, right])?;
        return Ok(VariableInfo::matrix(Characteristics::new(rows, cols, None)));
    }
    Ok(VariableInfo::matrix(Characteristics::new(
        size.rows, row.cols, None,
    )))
}

/// The direction of an operator, where it is known: over all cells, each row or each column.
fn direction<'a>(call: &'a Arguments) -> Option<&'a str> {
    match call.named("dir") {
        None => Some("rc"),
        Some(place) => match call.fixed(place) {
            Some(Literal::String(direction)) => Some(direction),
            _ => None,
        },
    }
}

pub(super) fn unique(call: &Arguments) -> Result<VariableInfo> {
    let size = call.main_size();
    let (rows, cols) = match direction(call) {
        Some("r") => (size.rows, None),
        Some("c") => (None, size.cols),
        Some(_) => (None, Some(1)),
        None => (None, None),
    };
    Ok(VariableInfo::matrix(Characteristics::new(rows, cols, None)))
}

pub(super) fn count_distinct(call: &Arguments) -> Result<VariableInfo> {
    let size = call.main_size();
    Ok(match direction(call) {
        Some("r") => VariableInfo::matrix(Characteristics::new(size.rows, Some(1), None)),
        Some("c") => VariableInfo::matrix(Characteristics::new(Some(1), size.cols, None)),
        Some(_) => VariableInfo::scalar(ValueType::Int),
        None => call.declared(),
    })
}

pub(super) fn cumsumprod(call: &Arguments) -> Result<VariableInfo> {
    let size = call.main_size();
    if size.cols.is_some_and(|cols| cols != 2) {
        return Err(call.mismatch(format!(
            "cumsumprod of a matrix that is {}: it takes two columns",
            call.shape(call.main)
        )));
    }
    Ok(VariableInfo::matrix(Characteristics::new(
        size.rows,
        Some(1),
        None,
    )))
}

pub(super) fn bitwise(call: &Arguments) -> Result<VariableInfo> {
    let places: Vec<usize> = (0..call.arity()).collect();
    if places.iter().all(|place| call.is_scalar(*place)) {
        let is_int = |place: &usize| call.input(*place).value_type == ValueType::Int;
        return Ok(VariableInfo::scalar(match places.iter().all(is_int) {
            true => ValueType::Int,
            false => ValueType::Double,
        }));
    }
    let (rows, cols) = broadcast(call.call, &places)?;
    Ok(VariableInfo::matrix(Characteristics::new(rows, cols, None)))
}
