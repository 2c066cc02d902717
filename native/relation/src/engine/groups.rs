//! Rows with equal keys: a small number for each group.
//!
//! Codes of text, truths and integers of a small range index an array; other keys are hashed. Several columns are combined pairwise, as
//! the product of their ranges where that is small and hashed otherwise. Null is a key, both zeros are one, and so are all NaNs.

use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::{DataType, Int32Type},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use rustc_hash::FxHashMap;

use crate::kernels::value::{Number, with_type};

/// Rows between two looks at the interrupt flag.
pub(super) const ROWS_AT_ONCE: usize = 1 << 16;

/// The groups of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The group of each row. Groups are numbered by their first rows.
    pub codes: Vec<u32>,
    /// The first row of each group, ascending.
    pub first_rows: Vec<u32>,
    pub count: usize,
}

/// The groups of rows that are equal in all of these columns, one at least.
///
/// # Errors
/// `memory`; `interrupted`; `internal` for a type that tables do not have.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array};
/// use fulgurite_relation::engine::groups::codes;
/// let keys: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(7)]));
/// let groups = codes(&[keys])?;
/// assert_eq!((groups.codes, groups.first_rows), (vec![0, 1, 0], vec![0, 1]));
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn codes(columns: &[ArrayRef]) -> Result<Groups> {
    codes_of(columns, columns.first().map_or(0, Array::len))
}

/// The same of so many rows, which are one group where there are no columns.
pub(super) fn codes_of(columns: &[ArrayRef], rows: usize) -> Result<Groups> {
    let mut keys: Option<Keys> = None;
    for column in columns {
        Interrupt::current().check()?;
        let of_column = keys_of(column)?;
        keys = Some(match keys {
            None => of_column,
            Some(keys) => combined(keys, &of_column)?,
        });
    }
    numbered(match keys {
        Some(keys) => keys,
        None => Keys {
            codes: memory::filled(rows, 0)?,
            range: 1,
        },
    })
}

/// Numbers below a range that are equal for equal keys.
struct Keys {
    codes: Vec<u32>,
    range: usize,
}

/// A range this large is still an array.
pub(super) fn largest_dense(rows: usize) -> usize {
    rows.saturating_mul(2).clamp(1 << 16, 1 << 28)
}

/// Numbers the groups by their first rows.
fn numbered(keys: Keys) -> Result<Groups> {
    let Keys { mut codes, range } = keys;
    const NONE: u32 = u32::MAX;
    let mut numbers = memory::filled(range, NONE)?;
    let mut first_rows: Vec<u32> = Vec::new();
    for (row, code) in codes.iter_mut().enumerate() {
        let number = &mut numbers[*code as usize];
        if *number == NONE {
            *number = first_rows.len() as u32;
            push(&mut first_rows, row as u32)?;
        }
        *code = *number;
    }
    let count = first_rows.len();
    Ok(Groups {
        codes,
        first_rows,
        count,
    })
}

pub(super) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        memory::reserve(values, values.len().max(16))?;
    }
    values.push(value);
    Ok(())
}

/// Numbers from 0 for keys, in the order in which they are asked for.
pub(super) struct Numbers<K>(FxHashMap<K, u32>);

impl<K: Eq + std::hash::Hash> Numbers<K> {
    pub(super) fn new() -> Self {
        Numbers(FxHashMap::default())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn of(&mut self, key: K) -> Result<u32> {
        let next = self.0.len();
        if next == self.0.capacity() {
            // The map is about to double.
            memory::admit(next.saturating_mul(2 * (size_of::<(K, u32)>() + 1)))?;
        }
        Ok(*self.0.entry(key).or_insert(next as u32))
    }

    pub(super) fn known(&self, key: &K) -> Option<u32> {
        self.0.get(key).copied()
    }
}

fn keys_of(column: &ArrayRef) -> Result<Keys> {
    let rows = column.len();
    match column.data_type() {
        DataType::Null => Ok(Keys {
            codes: memory::filled(rows, 0)?,
            range: 1,
        }),
        DataType::Boolean => {
            let values = column.as_boolean();
            let codes = (0..rows).map(|row| match values.is_null(row) {
                true => 2,
                false => u32::from(values.value(row)),
            });
            Ok(Keys {
                codes: memory::collected(codes)?,
                range: 3,
            })
        }
        DataType::Dictionary(..) => {
            let coded = column.as_dictionary::<Int32Type>();
            let null = coded.values().len() as u32;
            let keys = coded.keys();
            let codes = match keys.null_count() {
                0 => memory::collected(keys.values().iter().map(|key| *key as u32))?,
                _ => memory::collected((0..rows).map(|row| match keys.is_null(row) {
                    true => null,
                    false => keys.value(row) as u32,
                }))?,
            };
            Ok(Keys {
                codes,
                range: null as usize + 1,
            })
        }
        DataType::Utf8 => {
            let texts = column.as_string::<i32>();
            hashed(texts.iter().map(|text| text.map(str::as_bytes)))
        }
        kind => with_type!(kind, T => {
            let values = column.as_primitive::<T>();
            let valid = |row: usize| values.is_valid(row);
            if let Some(keys) = dense(kind, values.values(), values.null_count() > 0, valid)? {
                return Ok(keys);
            }
            hashed((0..rows).map(|row| {
                values.is_valid(row).then(|| values.values()[row].key())
            }))
        }, else Err(Error::internal(format!("groups of {kind}")))),
    }
}

/// Integers of a small range, by their distance from the least.
fn dense<N: Number + PartialOrd>(
    kind: &DataType,
    values: &[N],
    has_nulls: bool,
    is_valid: impl Fn(usize) -> bool,
) -> Result<Option<Keys>> {
    let Some((least, range)) = extent(kind, values, has_nulls, &is_valid) else {
        return Ok(None);
    };
    if range >= largest_dense(values.len()) as u64 {
        return Ok(None);
    }
    let least = least.key();
    let null = range as u32 + 1;
    let codes =
        match has_nulls {
            false => memory::collected(
                values
                    .iter()
                    .map(|value| value.key().wrapping_sub(least) as u32),
            )?,
            true => {
                memory::collected(values.iter().enumerate().map(|(row, value)| {
                    match is_valid(row) {
                        true => value.key().wrapping_sub(least) as u32,
                        false => null,
                    }
                }))?
            }
        };
    Ok(Some(Keys {
        codes,
        range: null as usize + 1,
    }))
}

/// The least integer and how far the greatest is from it; `None` of other types, and where all are null.
pub(super) fn extent<N: Number + PartialOrd>(
    kind: &DataType,
    values: &[N],
    has_nulls: bool,
    is_valid: impl Fn(usize) -> bool,
) -> Option<(N, u64)> {
    if kind.is_floating() {
        return None;
    }
    let mut valid = (0..values.len()).filter(|row| !has_nulls || is_valid(*row));
    let first = values[valid.next()?];
    let (mut least, mut greatest) = (first, first);
    for row in valid {
        let value = values[row];
        if value < least {
            least = value;
        }
        if value > greatest {
            greatest = value;
        }
    }
    Some((least, greatest.key().wrapping_sub(least.key())))
}

fn hashed<K: Eq + std::hash::Hash>(keys: impl ExactSizeIterator<Item = Option<K>>) -> Result<Keys> {
    let interrupt = Interrupt::current();
    let mut numbers = Numbers::new();
    let mut codes: Vec<u32> = memory::room(keys.len())?;
    const NULL: u32 = u32::MAX;
    let mut has_nulls = false;
    for (row, key) in keys.enumerate() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        codes.push(match key {
            Some(key) => numbers.of(key)?,
            None => {
                has_nulls = true;
                NULL
            }
        });
    }
    let null = numbers.len() as u32;
    if has_nulls {
        let nulls = codes.iter_mut().filter(|code| **code == NULL);
        nulls.for_each(|code| *code = null);
    }
    Ok(Keys {
        codes,
        range: null as usize + 1,
    })
}

fn combined(mut one: Keys, other: &Keys) -> Result<Keys> {
    let pairs = one.codes.iter_mut().zip(&other.codes);
    if let Some(range) = one.range.checked_mul(other.range)
        && range <= largest_dense(other.codes.len())
    {
        let width = other.range as u32;
        pairs.for_each(|(code, other)| *code = *code * width + other);
        one.range = range;
        return Ok(one);
    }
    let interrupt = Interrupt::current();
    let mut numbers = Numbers::new();
    for (row, (code, other)) in pairs.enumerate() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        *code = numbers.of(u64::from(*code) << 32 | u64::from(*other))?;
    }
    one.range = numbers.len();
    Ok(one)
}

/// How many different values each group has; null is a value.
pub(super) fn distinct_counts(groups: &[u32], count: usize, values: &ArrayRef) -> Result<Vec<u32>> {
    let keys = Keys {
        codes: memory::copied(groups)?,
        range: count.max(1),
    };
    let pairs = numbered(combined(keys, &keys_of(values)?)?)?;
    let mut counts = memory::filled(count, 0)?;
    for row in pairs.first_rows {
        counts[groups[row as usize] as usize] += 1;
    }
    Ok(counts)
}
