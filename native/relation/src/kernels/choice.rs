//! One of several values for each row. All choices have the type of the result.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray},
    buffer::BooleanBuffer,
    compute::kernels::zip::zip,
    datatypes::{DataType, Float32Type, Float64Type},
};
use fulgurite_error::Result;
use fulgurite_matrix::memory;

use super::{
    Invocation, Value,
    compare::less,
    value::{failed, nulls_of, truths},
};

/// The second argument where the first is true, else the third.
pub fn if_else(call: &Invocation<'_>) -> Result<ArrayRef> {
    let (condition, yes, no) = (call.arg(0)?, call.arg(1)?, call.arg(2)?);
    let truths = condition.array.as_boolean();
    if condition.is_single {
        return match truths.is_valid(0) && truths.value(0) {
            true => yes.spread(call.rows),
            false => no.spread(call.rows),
        };
    }
    chosen(truths, yes, no)
}

fn chosen(mask: &BooleanArray, yes: &Value, no: &Value) -> Result<ArrayRef> {
    if yes.data_type() == &DataType::Null {
        return yes.spread(mask.len());
    }
    let widest = |value: &Value| match value.is_single {
        true => mask
            .len()
            .saturating_mul(value.array.get_buffer_memory_size().min(64)),
        false => value.array.get_buffer_memory_size(),
    };
    memory::admit(widest(yes).saturating_add(widest(no)))?;
    zip(mask, &*yes.datum(), &*no.datum()).map_err(failed)
}

/// The first argument that is not null.
pub fn coalesce(call: &Invocation<'_>) -> Result<ArrayRef> {
    let mut result = call.arg(0)?.clone();
    for other in &call.args[1..] {
        let Some(nulls) = nulls_of(&[&result], call.rows) else {
            break;
        };
        let mask = BooleanArray::new(nulls.into_inner(), None);
        result = Value::column(chosen(&mask, &result, other)?);
    }
    result.spread(call.rows)
}

/// The second argument where the first is NaN.
pub fn fill_nan(call: &Invocation<'_>) -> Result<ArrayRef> {
    let x = call.arg(0)?.spread(call.rows)?;
    let nan = |at: usize| match x.data_type() {
        DataType::Float32 => x.as_primitive::<Float32Type>().value(at).is_nan(),
        DataType::Float64 => x.as_primitive::<Float64Type>().value(at).is_nan(),
        _ => false,
    };
    if !x.data_type().is_floating() {
        return Ok(x);
    }
    let bits = BooleanBuffer::collect_bool(x.len(), |at| x.is_valid(at) && nan(at));
    let mask = BooleanArray::new(bits, None);
    chosen(&mask, call.arg(1)?, &Value::column(Arc::clone(&x)))
}

pub fn min_horizontal(call: &Invocation<'_>) -> Result<ArrayRef> {
    extreme(call, false)
}

pub fn max_horizontal(call: &Invocation<'_>) -> Result<ArrayRef> {
    extreme(call, true)
}

/// The least or greatest of the arguments that are neither null nor NaN, if there is one.
fn extreme(call: &Invocation<'_>, greatest: bool) -> Result<ArrayRef> {
    let rows = call.rows;
    let mut best = Value::column(call.arg(0)?.spread(rows)?);
    for other in &call.args[1..] {
        let is_better = match (greatest, call.to) {
            (false, _) => less(other, &best, rows)?,
            (true, DataType::Float64) => {
                truths::<Float64Type>(&best, other, rows, |a, b| (a < b) | a.is_nan())?
            }
            (true, DataType::Float32) => {
                truths::<Float32Type>(&best, other, rows, |a, b| (a < b) | a.is_nan())?
            }
            (true, _) => less(&best, other, rows)?,
        };
        // Null where one of the two is: then the other one is taken.
        let nulls = nulls_of(&[&best], rows);
        let bits = BooleanBuffer::collect_bool(rows, |row| {
            match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                true => true,
                false => is_better.is_valid(row) && is_better.value(row),
            }
        });
        best = Value::column(chosen(&BooleanArray::new(bits, None), other, &best)?);
    }
    Ok(best.array)
}
