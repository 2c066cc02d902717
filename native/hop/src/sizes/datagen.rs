//! Matrices from scalars.

use fulgurite_error::{Error, Result};

use super::{Call, VariableInfo, share};
use crate::{Characteristics, DataGenOp, Literal};

pub(super) fn datagen(call: &Call, op: DataGenOp) -> Result<VariableInfo> {
    match op {
        DataGenOp::Fill => fill(call),
        DataGenOp::Seq => seq(call),
        DataGenOp::Rand => rand(call),
        DataGenOp::Sample => {
            let size = call.size(1)?;
            Ok(VariableInfo::matrix(Characteristics::new(
                size,
                Some(1),
                size,
            )))
        }
    }
}

fn fill(call: &Call) -> Result<VariableInfo> {
    let size = Characteristics::new(call.size(1)?, call.size(2)?, None);
    let nnz = match (call.fixed(0), size.cells()) {
        (Some(Literal::String(text)), cells) => {
            let values: Vec<&str> = text.split_ascii_whitespace().collect();
            let fixed = call.fixed(1).is_some() && call.fixed(2).is_some();
            if let Some(cells) = cells
                && fixed
                && cells != values.len() as u64
            {
                return Err(call.mismatch(format!(
                    "a text of {} numbers for a matrix of {cells} cells",
                    values.len()
                )));
            }
            let is_zero = |text: &&&str| text.parse::<f64>().is_ok_and(|value| value == 0.0);
            Some((values.len() - values.iter().filter(is_zero).count()) as u64)
        }
        (Some(value), _) if value.as_f64() == Some(0.0) => Some(0),
        (Some(_), cells) => cells,
        (None, _) => None,
    };
    Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
}

/// A part of the rows that would be generated, of which the bounds are the inputs from `first` on.
fn part(call: &Call, first: usize, cols: Option<u64>) -> Result<VariableInfo> {
    let rows = call
        .size(first + 1)?
        .zip(call.size(first)?)
        .and_then(|(last, first)| (last + 1).checked_sub(first));
    Ok(VariableInfo::matrix(Characteristics::new(rows, cols, None)))
}

fn seq(call: &Call) -> Result<VariableInfo> {
    if call.arity() > 3 {
        return part(call, 3, Some(1));
    }
    let known = |place: usize| call.input(place).constant.is_some();
    let fixed = (0..3).all(|place| call.fixed(place).is_some());
    let mut rows = None;
    if (0..3).all(known)
        && let (Some(from), Some(to), Some(increment)) =
            (call.number(0), call.number(1), call.number(2))
    {
        rows = match seq_length(from, to, increment) {
            Ok(length) => Some(length),
            Err(error) if fixed => {
                return Err(error
                    .in_operator(call.hop().op.code())
                    .at_option(call.hop().position.as_ref()));
            }
            Err(_) => None,
        };
    }
    Ok(VariableInfo::matrix(Characteristics::new(
        rows,
        Some(1),
        rows,
    )))
}

/// How many values `seq(from, to, increment)` has. NaN for the increment means 1 or -1, whichever leads
/// from `from` to `to`.
///
/// # Errors
/// Argument, where the increment never reaches `to`, or a bound is not finite.
pub fn seq_length(from: f64, to: f64, increment: f64) -> Result<u64> {
    let increment = if !increment.is_nan() {
        increment
    } else if from <= to {
        1.0
    } else {
        -1.0
    };
    let steps = (to / increment - from / increment).floor();
    if steps >= 0.0 && steps < u64::MAX as f64 && increment != 0.0 {
        return Ok(steps as u64 + 1);
    }
    Err(
        Error::argument(format!("seq({from}, {to}, {increment}) has no values"))
            .with_help("the increment must lead from the first value towards the last"),
    )
}

fn rand(call: &Call) -> Result<VariableInfo> {
    if call.arity() > 8 {
        return part(call, 8, call.size(1)?);
    }
    let size = Characteristics::new(call.size(0)?, call.size(1)?, None);
    let uniform = matches!(call.fixed(6), Some(Literal::String(pdf)) if pdf == "uniform");
    let all_zero =
        uniform && call.fixed_number(2) == Some(0.0) && call.fixed_number(3) == Some(0.0);
    let sparsity = if all_zero {
        Some(0.0)
    } else {
        call.fixed_number(4)
    };
    let nnz = size
        .cells()
        .zip(sparsity)
        .map(|(cells, sparsity)| share(sparsity, cells));
    Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
}
