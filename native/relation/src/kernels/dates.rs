//! Parts of dates and moments.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray},
    datatypes::{DataType, Date32Type, Int8Type, Int32Type, TimestampMicrosecondType},
};
use fulgurite_error::Result;
use fulgurite_matrix::memory;

use super::Invocation;
use crate::literal::civil;

const DAY: i64 = 86_400_000_000;

pub fn year(call: &Invocation<'_>) -> Result<ArrayRef> {
    of_days::<Int32Type>(call, |days| civil(days).0 as i32)
}

pub fn month(call: &Invocation<'_>) -> Result<ArrayRef> {
    of_days::<Int8Type>(call, |days| civil(days).1 as i8)
}

pub fn day(call: &Invocation<'_>) -> Result<ArrayRef> {
    of_days::<Int8Type>(call, |days| civil(days).2 as i8)
}

/// Monday is 1.
pub fn weekday(call: &Invocation<'_>) -> Result<ArrayRef> {
    of_days::<Int8Type>(call, |days| ((days + 3).rem_euclid(7) + 1) as i8)
}

pub fn hour(call: &Invocation<'_>) -> Result<ArrayRef> {
    of_time(call, |time| (time / 3_600_000_000) as i8)
}

pub fn minute(call: &Invocation<'_>) -> Result<ArrayRef> {
    of_time(call, |time| (time / 60_000_000 % 60) as i8)
}

pub fn second(call: &Invocation<'_>) -> Result<ArrayRef> {
    of_time(call, |time| (time / 1_000_000 % 60) as i8)
}

fn of_days<O: ArrowPrimitiveType>(
    call: &Invocation<'_>,
    f: impl Fn(i64) -> O::Native,
) -> Result<ArrayRef> {
    let arg = call.arg(0)?;
    memory::admit(call.rows.saturating_mul(size_of::<O::Native>()))?;
    let parts: PrimitiveArray<O> = match arg.data_type() {
        DataType::Date32 => arg.primitive::<Date32Type>().unary(|days| f(days.into())),
        DataType::Timestamp(..) => arg
            .primitive::<TimestampMicrosecondType>()
            .unary(|micros| f(micros.div_euclid(DAY))),
        _ => return call.unexpected(),
    };
    Ok(Arc::new(parts))
}

fn of_time(call: &Invocation<'_>, f: impl Fn(i64) -> i8) -> Result<ArrayRef> {
    let arg = call.arg(0)?;
    memory::admit(call.rows)?;
    let DataType::Timestamp(..) = arg.data_type() else {
        return call.unexpected();
    };
    let parts: PrimitiveArray<Int8Type> = arg
        .primitive::<TimestampMicrosecondType>()
        .unary(|micros| f(micros.rem_euclid(DAY)));
    Ok(Arc::new(parts))
}
