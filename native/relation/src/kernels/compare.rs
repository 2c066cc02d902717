//! Comparisons. NaN is equal to NaN and greater than all numbers, both zeros are equal, as in Polars.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray},
    buffer::{BooleanBuffer, NullBuffer},
    compute::kernels::cmp,
    datatypes::{DataType, Int64Type, UInt64Type},
};
use fulgurite_error::Result;
use fulgurite_matrix::memory;

use super::{
    Invocation, Value,
    casts::flattened,
    text::over_values,
    value::{Number, failed, nulls_of, truths, with_type},
};

pub fn eq(call: &Invocation<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(equal(call.arg(0)?, call.arg(1)?, call.rows)?))
}

pub fn ne(call: &Invocation<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(inverted(equal(
        call.arg(0)?,
        call.arg(1)?,
        call.rows,
    )?)))
}

pub fn lt(call: &Invocation<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(less(call.arg(0)?, call.arg(1)?, call.rows)?))
}

pub fn le(call: &Invocation<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(inverted(less(
        call.arg(1)?,
        call.arg(0)?,
        call.rows,
    )?)))
}

pub fn gt(call: &Invocation<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(less(call.arg(1)?, call.arg(0)?, call.rows)?))
}

pub fn ge(call: &Invocation<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(inverted(less(
        call.arg(0)?,
        call.arg(1)?,
        call.rows,
    )?)))
}

/// Nulls are equal to each other and to nothing else.
pub fn eq_missing(call: &Invocation<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(same(call)?))
}

pub fn ne_missing(call: &Invocation<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(inverted(same(call)?)))
}

fn same(call: &Invocation<'_>) -> Result<BooleanArray> {
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    let (equal, _) = equal(left, right, call.rows)?.into_parts();
    let nulls = |value: &Value| nulls_of(&[value], call.rows);
    let (left, right) = (nulls(left), nulls(right));
    let valid = |nulls: &Option<NullBuffer>, row: usize| {
        nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    };
    let bits = BooleanBuffer::collect_bool(call.rows, |row| {
        match (valid(&left, row), valid(&right, row)) {
            (true, true) => equal.value(row),
            (left, right) => left == right,
        }
    });
    Ok(BooleanArray::new(bits, None))
}

fn inverted(truths: BooleanArray) -> BooleanArray {
    let (bits, nulls) = truths.into_parts();
    BooleanArray::new(!&bits, nulls)
}

#[derive(Clone, Copy)]
enum Comparison {
    Equal,
    Less,
}

/// Whether values are equal; null where one is null.
pub fn equal(left: &Value, right: &Value, rows: usize) -> Result<BooleanArray> {
    compared(left, right, rows, Comparison::Equal)
}

/// Whether those on the left are less; null where one is null.
pub fn less(left: &Value, right: &Value, rows: usize) -> Result<BooleanArray> {
    compared(left, right, rows, Comparison::Less)
}

fn compared(left: &Value, right: &Value, rows: usize, op: Comparison) -> Result<BooleanArray> {
    memory::admit(rows / 8)?;
    match (left.data_type(), right.data_type()) {
        (DataType::Int64, DataType::UInt64) => {
            let (a, b) = (
                left.primitive::<Int64Type>(),
                right.primitive::<UInt64Type>(),
            );
            return Ok(mixed(left, right, rows, |x, y| {
                let (a, b) = (i128::from(a.value(x)), i128::from(b.value(y)));
                match op {
                    Comparison::Equal => a == b,
                    Comparison::Less => a < b,
                }
            }));
        }
        (DataType::UInt64, DataType::Int64) => {
            let (a, b) = (
                left.primitive::<UInt64Type>(),
                right.primitive::<Int64Type>(),
            );
            return Ok(mixed(left, right, rows, |x, y| {
                let (a, b) = (i128::from(a.value(x)), i128::from(b.value(y)));
                match op {
                    Comparison::Equal => a == b,
                    Comparison::Less => a < b,
                }
            }));
        }
        (DataType::Dictionary(..), _) if right.is_single && !left.is_single => {
            let result = over_values(&left.array, |values| {
                let values = Value::column(Arc::new(values.clone()));
                let rows = values.array.len();
                let text = Value::single(flattened(&right.array)?);
                Ok(Arc::new(compared(&values, &text, rows, op)?))
            })?;
            return Ok(result.as_boolean().clone());
        }
        (_, DataType::Dictionary(..)) if left.is_single && !right.is_single => {
            let result = over_values(&right.array, |values| {
                let values = Value::column(Arc::new(values.clone()));
                let rows = values.array.len();
                let text = Value::single(flattened(&left.array)?);
                Ok(Arc::new(compared(&text, &values, rows, op)?))
            })?;
            return Ok(result.as_boolean().clone());
        }
        (DataType::Null, _) | (_, DataType::Null) => return Ok(BooleanArray::new_null(rows)),
        _ => {}
    }
    with_type!(left.data_type(), T => match op {
        Comparison::Equal => truths::<T>(left, right, rows, Number::equals),
        Comparison::Less => truths::<T>(left, right, rows, Number::less),
    }, else {
        let flat = |value: &Value| -> Result<Value> {
            Ok(Value { array: flattened(&value.array)?, is_single: value.is_single })
        };
        let (left, right) = (flat(left)?.datum(), flat(right)?.datum());
        match op {
            Comparison::Equal => cmp::eq(&*left, &*right).map_err(failed),
            Comparison::Less => cmp::lt(&*left, &*right).map_err(failed),
        }
    })
}

/// Of values by their places.
fn mixed(
    left: &Value,
    right: &Value,
    rows: usize,
    f: impl Fn(usize, usize) -> bool,
) -> BooleanArray {
    let at = |value: &Value, row: usize| if value.is_single { 0 } else { row };
    let bits = BooleanBuffer::collect_bool(rows, |row| f(at(left, row), at(right, row)));
    BooleanArray::new(bits, nulls_of(&[left, right], rows))
}
