//! Builtins with named inputs.

use fulgurite_error::Result;

use super::{Call, VariableInfo, cells};
use crate::{Characteristics, DataType, Literal, ParameterizedOp, ValueType};

pub(super) fn parameterized(call: &Call, op: ParameterizedOp) -> Result<VariableInfo> {
    use ParameterizedOp::*;
    let main = op.parameters().and_then(|names| call.named(names.first()?));
    let Some(main) = main else {
        // A list: what it holds is not tracked.
        return Ok(call.declared());
    };
    let size = call.size_of(main);
    let matrix = |rows, cols, nnz| VariableInfo::matrix(Characteristics { rows, cols, nnz });
    Ok(match op {
        RemoveEmpty => remove_empty(call, size),
        Replace => replace(call, main),
        Order => order(call, size),
        GroupedAggregate => {
            let groups = match call.named("ngroups") {
                Some(place) => call.size(place)?,
                None => None,
            };
            matrix(groups, size.cols, None)
        }
        LowerTri | UpperTri => matrix(size.rows, size.cols, None),
        Quantile => match call.named("probabilities") {
            Some(place) if call.is_matrix(place) => VariableInfo::matrix(Characteristics {
                nnz: None,
                ..call.size_of(place)
            }),
            _ => VariableInfo::scalar(ValueType::Double),
        },
        Outer => outer(call, main)?,
        Solve => solve(call, main)?,
        Inverse | Cholesky => {
            square(call, main)?;
            matrix(size.rows.or(size.cols), size.cols.or(size.rows), None)
        }
        Eigen => {
            square(call, main)?;
            let order = size.rows.or(size.cols);
            matrix(order, order.and_then(|order| order.checked_add(1)), None)
        }
        Lu => {
            square(call, main)?;
            let order = size.rows.or(size.cols);
            matrix(order, order.and_then(|order| order.checked_mul(3)), None)
        }
        Svd => svd(size),
        BitwAnd | BitwOr | BitwXor | BitwShiftL | BitwShiftR => bitwise(call)?,
        Cdf | InverseCdf | Moment | Cov | Median | InterQuartileMean => {
            VariableInfo::scalar(ValueType::Double)
        }
        ToString => VariableInfo::scalar(ValueType::String),
        List | Transform => call.declared(),
    })
}

fn remove_empty(call: &Call, size: Characteristics) -> VariableInfo {
    let margin = call.named("margin").and_then(|place| call.fixed(place));
    let (rows, cols) = match margin {
        Some(Literal::String(margin)) if margin == "rows" => (None, size.cols),
        Some(Literal::String(margin)) if margin == "cols" => (size.rows, None),
        _ => (None, None),
    };
    VariableInfo::matrix(Characteristics {
        rows,
        cols,
        nnz: size.nnz,
    })
}

fn replace(call: &Call, target: usize) -> VariableInfo {
    let size = call.size_of(target);
    let pattern = call.named("pattern").and_then(|place| call.fixed(place));
    let nnz = match pattern {
        Some(pattern) if pattern.as_f64().is_some_and(|value| value != 0.0) => size.nnz,
        // Zeros may be replaced.
        _ => size.cells(),
    };
    VariableInfo {
        characteristics: Characteristics { nnz, ..size },
        constant: None,
        ..call.input(target).clone()
    }
}

fn order(call: &Call, size: Characteristics) -> VariableInfo {
    let index = match call.named("index.return") {
        None => Some(false),
        Some(place) => match call.fixed(place) {
            Some(Literal::Boolean(index)) => Some(*index),
            _ => None,
        },
    };
    VariableInfo::matrix(match index {
        Some(false) => size,
        Some(true) => Characteristics::new(size.rows, Some(1), size.rows),
        None => Characteristics::new(size.rows, None, None),
    })
}

fn outer(call: &Call, left: usize) -> Result<VariableInfo> {
    let size = call.size_of(left);
    let Some(right) = call.named("right") else {
        return Ok(VariableInfo::matrix(Characteristics::new(
            size.rows, None, None,
        )));
    };
    let row = call.size_of(right);
    if size.cols.is_some_and(|cols| cols != 1) || row.rows.is_some_and(|rows| rows != 1) {
        return Err(call
            .mismatch(format!(
                "outer of {} and {}",
                call.shape(left),
                call.shape(right)
            ))
            .with_help("outer takes a column vector and a row vector"));
    }
    Ok(VariableInfo::matrix(Characteristics::new(
        size.rows, row.cols, None,
    )))
}

fn square(call: &Call, place: usize) -> Result<()> {
    let size = call.size_of(place);
    match (size.rows, size.cols) {
        (Some(rows), Some(cols)) if rows != cols => {
            Err(call.mismatch(format!("the matrix is not square: {}", call.shape(place))))
        }
        _ => Ok(()),
    }
}

fn solve(call: &Call, left: usize) -> Result<VariableInfo> {
    square(call, left)?;
    let size = call.size_of(left);
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

fn svd(size: Characteristics) -> VariableInfo {
    let dims = size.rows.zip(size.cols).and_then(|(rows, cols)| {
        let rank = rows.min(cols);
        Some((rows.checked_add(cols)?.checked_add(rank)?, rank))
    });
    VariableInfo::matrix(match dims {
        Some((rows, cols)) => Characteristics::dims(rows, cols),
        None => Characteristics::UNKNOWN,
    })
}

fn bitwise(call: &Call) -> Result<VariableInfo> {
    let places: Vec<usize> = (0..call.arity()).collect();
    if places.iter().all(|place| call.is_scalar(*place)) {
        return Ok(VariableInfo {
            data_type: DataType::Scalar,
            ..VariableInfo::scalar(ValueType::Int)
        });
    }
    let (rows, cols) = cells::broadcast(call, &places)?;
    Ok(VariableInfo::matrix(Characteristics::new(rows, cols, None)))
}
