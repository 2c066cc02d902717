//! Values in other types. A value that does not fit is an error that names its row.

use std::{fmt::Write, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, StringBuilder,
        new_null_array,
    },
    compute::{CastOptions, cast_with_options},
    datatypes::{DataType, Date32Type, Int32Type, TimestampMicrosecondType},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

use super::value::{failed, with_type};
use crate::{literal::civil, types};

/// Text as `Utf8`; everything else as it is.
pub fn flattened(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let coded = array.as_dictionary::<Int32Type>();
            let texts = coded.values().as_string::<i32>();
            let mut bytes = 0usize;
            for key in coded.keys().iter().flatten() {
                bytes = bytes.saturating_add(texts.value_length(key as usize) as usize);
            }
            memory::admit(bytes.saturating_add(4 * array.len()))?;
            arrow::compute::take(coded.values(), coded.keys(), None).map_err(failed)
        }
        _ => Ok(Arc::clone(array)),
    }
}

/// Whether values of one type can be cast to another.
pub fn is_possible(from: &DataType, to: &DataType) -> bool {
    if from == to || *from == DataType::Null {
        return true;
    }
    let is_plain = |kind: &DataType| types::is_number(kind) || *kind == DataType::Boolean;
    match (from, to) {
        (_, DataType::Utf8 | DataType::Dictionary(..)) => true,
        (DataType::Utf8 | DataType::Dictionary(..), to) => types::is_number(to),
        (DataType::Decimal128(..), to) => types::is_number(to),
        (_, DataType::Decimal128(..)) => false,
        (from, to) if types::is_date(from) => types::is_date(to) || types::is_number(to),
        (from, to) if types::is_date(to) => types::is_number(from),
        (from, to) => is_plain(from) && is_plain(to),
    }
}

/// # Errors
/// `data` with the row and the value that has no place in the type; `memory`.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let from = array.data_type();
    if from == to {
        return Ok(Arc::clone(array));
    }
    Interrupt::current().check()?;
    if *from == DataType::Null {
        return Ok(new_null_array(to, array.len()));
    }
    memory::admit(
        array
            .len()
            .saturating_mul(to.primitive_width().unwrap_or(16)),
    )?;
    let array = &flattened(array)?;
    match (array.data_type(), to) {
        (from, to) if from == to => return Ok(Arc::clone(array)),
        (DataType::Utf8, DataType::Dictionary(..)) => {
            return arrow::compute::cast(array, to).map_err(failed);
        }
        (_, DataType::Dictionary(..)) => return cast(&cast(array, &DataType::Utf8)?, to),
        (DataType::Utf8, _) => return parsed(array, to),
        (_, DataType::Utf8) => return texts(array),
        (DataType::Timestamp(..), DataType::Date32) => {
            let days: PrimitiveArray<Date32Type> = array
                .as_primitive::<TimestampMicrosecondType>()
                .unary(|micros| micros.div_euclid(86_400_000_000) as i32);
            return Ok(Arc::new(days));
        }
        _ => {}
    }
    let through = match (array.data_type(), to) {
        // Days and microseconds as numbers.
        (DataType::Date32, to) if types::is_number(to) => Some(DataType::Int32),
        (DataType::Timestamp(..), to) if types::is_number(to) => Some(DataType::Int64),
        (from, DataType::Date32) if *from != DataType::Int32 && types::is_number(from) => {
            Some(DataType::Int32)
        }
        (from, DataType::Timestamp(..)) if *from != DataType::Int64 && types::is_number(from) => {
            Some(DataType::Int64)
        }
        _ => None,
    };
    if let Some(through) = through
        && through != *to
    {
        return strict(&strict(array, &through)?, to);
    }
    strict(array, to)
}

fn strict(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions {
        safe: true,
        ..CastOptions::default()
    };
    let result = cast_with_options(array, to, &options).map_err(failed)?;
    if result.null_count() > array.null_count() {
        let row = (0..array.len()).find(|row| array.is_valid(*row) && result.is_null(*row));
        return Err(unfit(array, row.unwrap_or(0), to)?);
    }
    Ok(result)
}

fn unfit(array: &ArrayRef, row: usize, to: &DataType) -> Result<Error> {
    let value = texts(&array.slice(row, 1))?;
    let value = value.as_string::<i32>().value(0);
    let shown = match array.data_type() {
        DataType::Utf8 => format!("{value:?}"),
        _ => value.to_owned(),
    };
    Ok(Error::data(format!(
        "row {}: {shown} of type {} does not fit into {}",
        row + 1,
        types::name(array.data_type()),
        types::name(to)
    )))
}

fn parsed(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    fn of<T: ArrowPrimitiveType<Native: std::str::FromStr>>(
        array: &ArrayRef,
        to: &DataType,
    ) -> Result<ArrayRef> {
        let texts = array.as_string::<i32>();
        let mut values = memory::room(texts.len())?;
        for (row, text) in texts.iter().enumerate() {
            values.push(match text.map(str::parse::<T::Native>) {
                None => T::Native::default(),
                Some(Ok(value)) => value,
                Some(Err(_)) => return Err(unfit(array, row, to)?),
            });
        }
        let nulls = texts.nulls().cloned();
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
    }
    if !types::is_number(to) {
        return Err(Error::internal(format!("a cast of text to {to}")));
    }
    with_type!(to, T => of::<T>(array, to), else Err(Error::internal("a cast of text")))
}

/// Values as Polars writes them.
fn texts(array: &ArrayRef) -> Result<ArrayRef> {
    let mut builder = StringBuilder::new();
    let rows = array.len();
    let mut shown = String::new();
    let mut each = |write: &mut dyn FnMut(&mut String, usize)| -> Result<()> {
        for row in 0..rows {
            if row.is_power_of_two() {
                // The builder is about to double.
                memory::admit(row.saturating_mul(2 * 24))?;
            }
            if array.is_null(row) {
                builder.append_null();
                continue;
            }
            shown.clear();
            write(&mut shown, row);
            builder.append_value(&shown);
        }
        Ok(())
    };
    match array.data_type() {
        DataType::Utf8 => return Ok(Arc::clone(array)),
        DataType::Boolean => {
            let values: &BooleanArray = array.as_boolean();
            each(&mut |to, row| to.push_str(if values.value(row) { "true" } else { "false" }))?;
        }
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            each(&mut |to, row| date(to, days.value(row).into()))?;
        }
        DataType::Timestamp(..) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>();
            each(&mut |to, row| {
                let value = micros.value(row);
                date(to, value.div_euclid(86_400_000_000));
                let time = value.rem_euclid(86_400_000_000);
                let (seconds, micros) = (time / 1_000_000, time % 1_000_000);
                let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
                // Writing to a string does not fail.
                let _ = write!(to, " {hour:02}:{minute:02}:{second:02}.{micros:06}");
            })?;
        }
        DataType::Decimal128(..) => {
            return arrow::compute::cast(array, &DataType::Utf8).map_err(failed);
        }
        DataType::Float32 => {
            let values = array.as_primitive::<arrow::datatypes::Float32Type>();
            each(&mut |to, row| float(to, format_args!("{:?}", values.value(row))))?;
        }
        DataType::Float64 => {
            let values = array.as_primitive::<arrow::datatypes::Float64Type>();
            each(&mut |to, row| float(to, format_args!("{:?}", values.value(row))))?;
        }
        kind => with_type!(kind, T => {
            let values = array.as_primitive::<T>();
            each(&mut |to, row| {
                let _ = write!(to, "{:?}", values.value(row));
            })?;
        }, else return Err(Error::internal(format!("{kind} as text")))),
    }
    Ok(Arc::new(builder.finish()))
}

fn date(to: &mut String, days: i64) {
    let (year, month, day) = civil(days);
    let _ = write!(to, "{year:04}-{month:02}-{day:02}");
}

/// The exponent has a sign, and starts at 1e-6.
fn float(to: &mut String, shown: std::fmt::Arguments<'_>) {
    let from = to.len();
    let _ = write!(to, "{shown}");
    let Some(at) = to[from..].find('e').map(|at| from + at) else {
        return;
    };
    if !to[at + 1..].starts_with('-') {
        to.insert(at + 1, '+');
    } else if to[at + 1..] == *"-5" {
        let digits: String = to[from..at].chars().filter(char::is_ascii_digit).collect();
        let sign = if to[from..].starts_with('-') { "-" } else { "" };
        let plain = format!("{sign}0.0000{digits}");
        to.truncate(from);
        to.push_str(&plain);
    }
}
