//! Sums, products and their kin. Integers wrap, as in Polars; both arguments have the type of the result.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, ArrowNativeTypeOp, Float32Array, Float64Array, PrimitiveArray,
        new_null_array,
    },
    buffer::{BooleanBuffer, NullBuffer},
    datatypes::{DataType, Float32Type, Float64Type, UInt32Type},
};
use fulgurite_error::Result;
use fulgurite_matrix::memory;

use super::{
    Invocation, Value, text,
    value::{Number, binary, nulls_of, with_type},
};
use crate::types;

pub fn add(call: &Invocation<'_>) -> Result<ArrayRef> {
    if *call.to == DataType::Null {
        return Ok(new_null_array(call.to, call.rows));
    }
    if types::is_text(call.to) {
        return text::concat(call);
    }
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    with_type!(call.to, T => {
        Ok(Arc::new(binary::<T, T>(left, right, call.rows, |a, b| a.add_wrapping(b))?))
    }, else call.unexpected())
}

pub fn sub(call: &Invocation<'_>) -> Result<ArrayRef> {
    if *call.to == DataType::Null {
        return Ok(new_null_array(call.to, call.rows));
    }
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    with_type!(call.to, T => {
        Ok(Arc::new(binary::<T, T>(left, right, call.rows, |a, b| a.sub_wrapping(b))?))
    }, else call.unexpected())
}

pub fn mul(call: &Invocation<'_>) -> Result<ArrayRef> {
    if *call.to == DataType::Null {
        return Ok(new_null_array(call.to, call.rows));
    }
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    with_type!(call.to, T => {
        Ok(Arc::new(binary::<T, T>(left, right, call.rows, |a, b| a.mul_wrapping(b))?))
    }, else call.unexpected())
}

/// Of floating-point numbers.
pub fn div(call: &Invocation<'_>) -> Result<ArrayRef> {
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    match call.to {
        DataType::Float32 => Ok(Arc::new(binary::<Float32Type, Float32Type>(
            left,
            right,
            call.rows,
            |a, b| a / b,
        )?)),
        DataType::Float64 => Ok(Arc::new(binary::<Float64Type, Float64Type>(
            left,
            right,
            call.rows,
            |a, b| a / b,
        )?)),
        _ => call.unexpected(),
    }
}

/// The largest integer that is not above the quotient; null for integers divided by zero.
pub fn floor_div(call: &Invocation<'_>) -> Result<ArrayRef> {
    if *call.to == DataType::Null {
        return Ok(new_null_array(call.to, call.rows));
    }
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    with_type!(call.to, T => {
        let quotients = binary::<T, T>(left, right, call.rows, Number::floor_divided)?;
        Ok(Arc::new(without_zeros(quotients, right, call.rows)))
    }, else call.unexpected())
}

/// What [`floor_div`] leaves, with the sign of the divisor.
pub fn modulo(call: &Invocation<'_>) -> Result<ArrayRef> {
    if *call.to == DataType::Null {
        return Ok(new_null_array(call.to, call.rows));
    }
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    with_type!(call.to, T => {
        let rests = binary::<T, T>(left, right, call.rows, Number::modulo)?;
        Ok(Arc::new(without_zeros(rests, right, call.rows)))
    }, else call.unexpected())
}

/// What truncated division leaves, with the sign of the dividend; exact for floats, too.
pub fn remainder(call: &Invocation<'_>) -> Result<ArrayRef> {
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    with_type!(call.to, T => {
        let rests = binary::<T, T>(left, right, call.rows, Number::remainder)?;
        Ok(Arc::new(without_zeros(rests, right, call.rows)))
    }, else call.unexpected())
}

/// Null where integers are divided by zero.
fn without_zeros<T>(results: PrimitiveArray<T>, by: &Value, rows: usize) -> PrimitiveArray<T>
where
    T: arrow::array::ArrowPrimitiveType<Native: Number>,
{
    let divisors = by.primitive::<T>();
    if !divisors.values().iter().any(|value| value.is_nothing()) {
        return results;
    }
    let (_, values, nulls) = results.into_parts();
    let divisors = divisors.values();
    let valid = match by.is_single && rows != 1 {
        true => NullBuffer::new_null(rows),
        false => NullBuffer::new(BooleanBuffer::collect_bool(rows, |at| {
            !divisors[at].is_nothing()
        })),
    };
    PrimitiveArray::new(values, NullBuffer::union(nulls.as_ref(), Some(&valid)))
}

/// An integer has an exponent of the type `UInt32`, a floating-point number one of its own type.
pub fn pow(call: &Invocation<'_>) -> Result<ArrayRef> {
    let (base, exponent) = (call.arg(0)?, call.arg(1)?);
    match call.to {
        DataType::Float32 => Ok(Arc::new(binary::<Float32Type, Float32Type>(
            base,
            exponent,
            call.rows,
            f32::powf,
        )?)),
        DataType::Float64 => Ok(Arc::new(binary::<Float64Type, Float64Type>(
            base,
            exponent,
            call.rows,
            |a, b| if b == 2.0 { a * a } else { a.powf(b) },
        )?)),
        _ => with_type!(call.to, T => {
            memory::admit(call.rows.saturating_mul(8))?;
            let nulls = nulls_of(&[base, exponent], call.rows);
            let (bases, exponents) = (base.primitive::<T>(), exponent.primitive::<UInt32Type>());
            let at = |value: &Value, row: usize| if value.is_single { 0 } else { row };
            let values = (0..call.rows).map(|row| {
                bases.values()[at(base, row)].power(exponents.values()[at(exponent, row)])
            });
            let values = memory::collected(values)?;
            Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
        }, else call.unexpected()),
    }
}

pub fn neg(call: &Invocation<'_>) -> Result<ArrayRef> {
    unary(call, Unary::Negate)
}

pub fn abs(call: &Invocation<'_>) -> Result<ArrayRef> {
    unary(call, Unary::Absolute)
}

pub fn sign(call: &Invocation<'_>) -> Result<ArrayRef> {
    unary(call, Unary::Sign)
}

#[derive(Clone, Copy)]
enum Unary {
    Negate,
    Absolute,
    Sign,
}

fn unary(call: &Invocation<'_>, op: Unary) -> Result<ArrayRef> {
    let arg = call.arg(0)?;
    memory::admit(arg.array.get_buffer_memory_size())?;
    with_type!(call.to, T => {
        let values = arg.primitive::<T>();
        let result: PrimitiveArray<T> = match op {
            Unary::Negate => values.unary(Number::negated),
            Unary::Absolute => values.unary(Number::absolute),
            Unary::Sign => values.unary(Number::sign),
        };
        Ok(Arc::new(result))
    }, else call.unexpected())
}

/// Values within bounds, either of which may be missing. The lower bound wins where they cross.
pub fn clip(call: &Invocation<'_>) -> Result<ArrayRef> {
    let x = call.arg(0)?.spread(call.rows)?;
    let (low, high) = (call.arg(1)?, call.arg(2)?);
    memory::admit(call.rows.saturating_mul(8))?;
    with_type!(call.to, T => {
        let x = Value::column(x);
        let (values, lows, highs) = (x.primitive::<T>(), low.primitive::<T>(), high.primitive::<T>());
        let bound = |bounds: &PrimitiveArray<T>, value: &Value, row: usize| {
            let at = if value.is_single { 0 } else { row };
            bounds.is_valid(at).then(|| bounds.values()[at])
        };
        let clipped = values.values().iter().enumerate().map(|(row, value)| {
            match (bound(lows, low, row), bound(highs, high, row)) {
                // Comparisons with NaN are false.
                (Some(low), _) if *value < low => low,
                (_, Some(high)) if *value > high => high,
                _ => *value,
            }
        });
        let clipped = memory::collected(clipped)?;
        Ok(Arc::new(PrimitiveArray::<T>::new(clipped.into(), values.nulls().cloned())))
    }, else call.unexpected())
}

/// Applied to each value of a column of floating-point numbers.
pub fn floats(
    call: &Invocation<'_>,
    single: impl Fn(f32) -> f32,
    double: impl Fn(f64) -> f64,
) -> Result<ArrayRef> {
    let arg = call.arg(0)?;
    memory::admit(arg.array.get_buffer_memory_size())?;
    match arg.data_type() {
        DataType::Float32 => {
            let result: Float32Array = arg.primitive::<Float32Type>().unary(single);
            Ok(Arc::new(result))
        }
        DataType::Float64 => {
            let result: Float64Array = arg.primitive::<Float64Type>().unary(double);
            Ok(Arc::new(result))
        }
        _ => call.unexpected(),
    }
}
