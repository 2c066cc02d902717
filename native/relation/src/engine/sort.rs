//! The order of rows.
//!
//! One key of numbers or codes is sorted as integers of that order; several keys and plain text as rows of Arrow's row format, whose
//! bytes have the order of the values. Both zeros are equal, NaN is greater than all numbers.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, UInt32Array},
    compute::SortOptions,
    datatypes::{DataType, Float32Type, Float64Type, Int32Type},
    row::{RowConverter, SortField},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;

use super::aggregate::ranks;
use crate::kernels::value::{Number, failed, with_type};

/// What rows are sorted by.
pub(super) struct Key {
    pub column: ArrayRef,
    pub descending: bool,
    pub nulls_last: bool,
}

/// The rows in their order, or the first `limit` of them. Rows whose keys are equal stay in theirs.
pub(super) fn order(keys: &[Key], rows: usize, limit: Option<usize>) -> Result<Vec<u32>> {
    let interrupt = Interrupt::current();
    interrupt.check()?;
    let limit = limit.unwrap_or(rows).min(rows);
    let sorted = match keys {
        [] => memory::collected(0..limit as u32)?,
        [key] if key.column.data_type() != &DataType::Utf8 => {
            let numbers = numbers(&key.column)?;
            let nulls = key.column.logical_nulls();
            let turned = |number: u64| if key.descending { !number } else { number };
            // Nulls are before or behind all values.
            let placed =
                (0..rows).map(
                    |row| match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                        true => (u8::from(key.nulls_last) * 2, 0, row as u32),
                        false => (1, turned(numbers[row]), row as u32),
                    },
                );
            let mut placed = memory::collected(placed)?;
            if limit < rows && limit > 0 {
                placed.select_nth_unstable(limit - 1);
            }
            placed.truncate(limit);
            placed.par_sort_unstable();
            memory::collected(placed.into_iter().map(|(_, _, row)| row))?
        }
        _ => by_rows(keys, rows, limit)?,
    };
    interrupt.check()?;
    Ok(sorted)
}

fn by_rows(keys: &[Key], rows: usize, limit: usize) -> Result<Vec<u32>> {
    let columns = keys.iter().map(|key| plain(&key.column));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let fields = keys.iter().zip(&columns).map(|(key, column)| {
        let options = SortOptions {
            descending: key.descending,
            nulls_first: !key.nulls_last,
        };
        SortField::new_with_options(column.data_type().clone(), options)
    });
    let bytes = columns.iter().map(|column| column.get_buffer_memory_size());
    memory::admit(bytes.sum::<usize>().saturating_add(rows.saturating_mul(16)))?;
    let converter = RowConverter::new(fields.collect()).map_err(failed)?;
    let converted = converter.convert_columns(&columns).map_err(failed)?;
    let compare = |one: &u32, other: &u32| {
        let (a, b) = (converted.row(*one as usize), converted.row(*other as usize));
        a.cmp(&b).then(one.cmp(other))
    };
    let mut order: Vec<u32> = memory::collected(0..rows as u32)?;
    if limit < rows && limit > 0 {
        order.select_nth_unstable_by(limit - 1, compare);
    }
    order.truncate(limit);
    order.par_sort_unstable_by(compare);
    Ok(order)
}

/// A column whose bytes in the row format have the order of its values.
fn plain(column: &ArrayRef) -> Result<ArrayRef> {
    memory::admit(column.len().saturating_mul(8))?;
    Ok(match column.data_type() {
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>();
            let one_zero = values.unary::<_, Float32Type>(|value| match value.is_nan() {
                true => f32::NAN,
                false => value + 0.0,
            });
            Arc::new(one_zero)
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            let one_zero = values.unary::<_, Float64Type>(|value| match value.is_nan() {
                true => f64::NAN,
                false => value + 0.0,
            });
            Arc::new(one_zero)
        }
        DataType::Dictionary(..) => {
            let coded = column.as_dictionary::<Int32Type>();
            let ranks = ranks(coded.values().as_string::<i32>())?;
            let keys = coded.keys().iter();
            let ranks: UInt32Array = keys.map(|key| Some(ranks[key? as usize])).collect();
            Arc::new(ranks)
        }
        _ => Arc::clone(column),
    })
}

/// Numbers in the order of the values; nulls have any.
fn numbers(column: &ArrayRef) -> Result<Vec<u64>> {
    const SIGN: u64 = 1 << 63;
    let rows = column.len();
    match column.data_type() {
        DataType::Null => memory::filled(rows, 0),
        DataType::Boolean => {
            let values = column.as_boolean();
            memory::collected((0..rows).map(|row| u64::from(values.value(row))))
        }
        DataType::Dictionary(..) => {
            let coded = column.as_dictionary::<Int32Type>();
            let ranks = ranks(coded.values().as_string::<i32>())?;
            memory::collected((0..rows).map(|row| match coded.is_null(row) {
                true => 0,
                false => u64::from(ranks[coded.keys().value(row) as usize]),
            }))
        }
        kind => with_type!(kind, T => {
            let is_signed = !kind.is_unsigned_integer();
            let values = column.as_primitive::<T>().values();
            memory::collected(values.iter().map(|value| {
                let bits = value.key();
                match kind.is_floating() {
                    // Of negative numbers the larger bits are the smaller number.
                    true if bits & SIGN != 0 && !value.is_nan() => !bits,
                    true => bits | SIGN,
                    false if is_signed => bits ^ SIGN,
                    false => bits,
                }
            }))
        }, else Err(Error::internal(format!("an order of {kind}")))),
    }
}
