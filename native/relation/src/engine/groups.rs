//! Rows with equal keys: a small number for each group.
//!
//! Codes of text, truths and integers of a small range index an array; other keys are hashed. Several columns are combined pairwise, as
//! the product of their ranges where that is small and hashed otherwise. Null is a key, both zeros are one, and so are all NaNs.

use std::hash::Hash;

use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::{DataType, Int32Type},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use rustc_hash::FxHashMap;

use super::{
    coder::{Coded, coded},
    text_key::{SHORT_KEYS, TextKey, are_short, short_key},
};
use crate::{
    kernels::value::{Number, with_type},
    parallel::{by_tasks, changed, filled, rows_of_a_task, rows_of_a_thread},
};

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
        None => keys_by(rows, 1, |_| 0)?,
    })
}

/// Numbers below a range that are equal for equal keys.
struct Keys {
    codes: Vec<u32>,
    range: usize,
    /// The first row of each number, where numbers are those of groups.
    first_rows: Option<Vec<u32>>,
}

impl From<Coded> for Keys {
    fn from(Coded { codes, first_rows }: Coded) -> Self {
        Keys {
            codes,
            range: first_rows.len(),
            first_rows: Some(first_rows),
        }
    }
}

/// A range this large is still an array.
pub(super) fn largest_dense(rows: usize) -> usize {
    rows.saturating_mul(2).clamp(1 << 16, 1 << 28)
}

/// No row, or no number.
const NONE: u32 = u32::MAX;

/// Numbers the groups by their first rows.
fn numbered(keys: Keys) -> Result<Groups> {
    let Keys {
        mut codes,
        range,
        first_rows,
    } = keys;
    if let Some(first_rows) = first_rows {
        let count = first_rows.len();
        return Ok(Groups {
            codes,
            first_rows,
            count,
        });
    }
    let rows = codes.len();
    let of_a_task = rows_of_a_thread(rows);
    let firsts = by_tasks(rows, of_a_task, |rows| {
        let mut firsts = memory::filled(range, NONE)?;
        for (row, code) in rows.clone().zip(&codes[rows]) {
            let first = &mut firsts[*code as usize];
            *first = row.min(*first as usize) as u32;
        }
        Ok(firsts)
    })?;
    let mut firsts = firsts.into_iter();
    let mut first_of = firsts.next().unwrap_or_default();
    for later in firsts {
        for (first, later) in first_of.iter_mut().zip(later) {
            *first = later.min(*first);
        }
    }
    let there = first_of.iter().filter(|row| **row != NONE);
    let mut first_rows = memory::room(there.clone().count())?;
    first_rows.extend(there);
    first_rows.sort_unstable();
    // From here on the number of each code.
    for (number, row) in first_rows.iter().enumerate() {
        let code = codes[*row as usize];
        first_of[code as usize] = number as u32;
    }
    changed(&mut codes, rows_of_a_task(rows), |_, codes| {
        for code in codes {
            *code = first_of[*code as usize];
        }
    })?;
    let count = first_rows.len();
    Ok(Groups {
        codes,
        first_rows,
        count,
    })
}

/// Numbers from 0 for keys, in the order in which they are asked for.
pub(super) struct Numbers<K>(FxHashMap<K, u32>);

impl<K: Eq + Hash> Numbers<K> {
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

/// Codes of a range that has no numbers yet.
fn keys_by(rows: usize, range: usize, code: impl Fn(usize) -> u32 + Sync) -> Result<Keys> {
    let (codes, _) = filled(rows, rows_of_a_task(rows), |start, codes| {
        for (offset, place) in codes.iter_mut().enumerate() {
            *place = code(start + offset);
        }
        Ok(())
    })?;
    Ok(Keys {
        codes,
        range,
        first_rows: None,
    })
}

/// What somebody makes of the keys of a column.
pub(super) trait KeyVisitor {
    type Made;

    /// Of keys that are numbers below a range.
    fn dense(
        self,
        rows: usize,
        range: usize,
        code: impl Fn(usize) -> u32 + Sync,
    ) -> Result<Self::Made>;

    fn hashed<K: Copy + Eq + Hash>(
        self,
        rows: usize,
        key: impl Fn(usize) -> K + Sync,
    ) -> Result<Self::Made>;
}

/// Numbers for keys.
struct Coding;

impl KeyVisitor for Coding {
    type Made = Keys;

    fn dense(self, rows: usize, range: usize, code: impl Fn(usize) -> u32 + Sync) -> Result<Keys> {
        keys_by(rows, range, code)
    }

    fn hashed<K: Copy + Eq + Hash>(
        self,
        rows: usize,
        key: impl Fn(usize) -> K + Sync,
    ) -> Result<Keys> {
        coded(rows, key).map(Keys::from)
    }
}

fn keys_of(column: &ArrayRef) -> Result<Keys> {
    with_keys_of(column, Coding)
}

/// # Errors
/// Those of the visitor; `internal` for a type that tables do not have.
pub(super) fn with_keys_of<V: KeyVisitor>(column: &ArrayRef, visitor: V) -> Result<V::Made> {
    let rows = column.len();
    match column.data_type() {
        DataType::Null => visitor.dense(rows, 1, |_| 0),
        DataType::Boolean => {
            let values = column.as_boolean();
            visitor.dense(rows, 3, |row| match values.is_null(row) {
                true => 2,
                false => u32::from(values.value(row)),
            })
        }
        DataType::Dictionary(..) => {
            let coded = column.as_dictionary::<Int32Type>();
            let null = coded.values().len() as u32;
            let range = null as usize + 1;
            let keys = coded.keys();
            match keys.null_count() {
                0 => visitor.dense(rows, range, |row| keys.values()[row] as u32),
                _ => visitor.dense(rows, range, |row| match keys.is_null(row) {
                    true => null,
                    false => keys.value(row) as u32,
                }),
            }
        }
        DataType::Utf8 => {
            let texts = column.as_string::<i32>();
            match are_short(texts)? {
                true => visitor.dense(rows, SHORT_KEYS, |row| short_key(texts, row) as u32),
                false => visitor.hashed(rows, |row| TextKey::of(texts, row)),
            }
        }
        kind => with_type!(kind, T => {
            let values = column.as_primitive::<T>();
            let cells = values.values();
            let has_nulls = values.null_count() > 0;
            let found = extent(kind, cells, has_nulls, |row| values.is_valid(row))?;
            match found {
                Some((least, range)) if range < largest_dense(rows) as u64 => {
                    let (least, null) = (least.key(), range as u32 + 1);
                    let code = |row: usize| cells[row].key().wrapping_sub(least) as u32;
                    let range = null as usize + 1;
                    match has_nulls {
                        false => visitor.dense(rows, range, code),
                        true => visitor.dense(rows, range, |row| match values.is_valid(row) {
                            true => code(row),
                            false => null,
                        }),
                    }
                }
                _ => match has_nulls {
                    false => visitor.hashed(rows, |row| cells[row].key()),
                    true => visitor.hashed(rows, |row| values.is_valid(row).then(|| cells[row].key())),
                },
            }
        }, else Err(Error::internal(format!("groups of {kind}")))),
    }
}

/// The least integer and how far the greatest is from it; `None` of other types, and where all are null.
pub(super) fn extent<N: Number + PartialOrd + Send + Sync>(
    kind: &DataType,
    values: &[N],
    has_nulls: bool,
    is_valid: impl Fn(usize) -> bool + Sync,
) -> Result<Option<(N, u64)>> {
    if kind.is_floating() {
        return Ok(None);
    }
    let wider = |(least, greatest): (N, N), value: N| {
        (
            if value < least { value } else { least },
            if value > greatest { value } else { greatest },
        )
    };
    let extents = by_tasks(values.len(), rows_of_a_task(values.len()), |rows| {
        let all = &values[rows.clone()];
        Ok(match has_nulls {
            false => all.first().map(|first| {
                let widest = (*first, *first);
                all.iter()
                    .fold(widest, |widest, value| wider(widest, *value))
            }),
            true => {
                let mut valid = rows.filter(|row| is_valid(*row)).map(|row| values[row]);
                let first = valid.next();
                first.map(|first| valid.fold((first, first), wider))
            }
        })
    })?;
    let widest = extents.into_iter().flatten();
    let widest = widest.reduce(|one, (least, greatest)| wider(wider(one, least), greatest));
    Ok(widest.map(|(least, greatest)| (least, greatest.key().wrapping_sub(least.key()))))
}

fn combined(mut one: Keys, other: &Keys) -> Result<Keys> {
    let rows = one.codes.len();
    if let Some(range) = one.range.checked_mul(other.range)
        && range <= largest_dense(rows)
    {
        let width = other.range as u32;
        changed(&mut one.codes, rows_of_a_task(rows), |start, codes| {
            for (code, other) in codes.iter_mut().zip(&other.codes[start..]) {
                *code = *code * width + other;
            }
        })?;
        return Ok(Keys {
            range,
            first_rows: None,
            ..one
        });
    }
    let pair = |row: usize| u64::from(one.codes[row]) << 32 | u64::from(other.codes[row]);
    coded(rows, pair).map(Keys::from)
}

/// How many different values each group has; null is a value.
pub(super) fn distinct_counts(groups: &[u32], count: usize, values: &ArrayRef) -> Result<Vec<u32>> {
    let keys = Keys {
        codes: memory::copied(groups)?,
        range: count.max(1),
        first_rows: None,
    };
    let pairs = numbered(combined(keys, &keys_of(values)?)?)?;
    let mut counts = memory::filled(count, 0)?;
    for row in pairs.first_rows {
        counts[groups[row as usize] as usize] += 1;
    }
    Ok(counts)
}
