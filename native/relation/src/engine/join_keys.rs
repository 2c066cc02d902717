//! Numbers for the keys of both sides of a join: equal keys have equal ones.
//!
//! A hash table (or an array, for integers of a small range) of the smaller side has the numbers; the larger side looks its own up.

use arrow::{
    array::{Array, ArrayRef, AsArray, StringArray},
    buffer::BooleanBuffer,
    datatypes::{DataType, Int32Type},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

use super::{
    groups::{Numbers, ROWS_AT_ONCE, extent, largest_dense},
    text_key::TextKey,
};
use crate::{
    kernels::value::{Number, with_type},
    parallel::{changed, filled, rows_of_a_task},
};

/// The number of a key that has no partner, and the place of a row that has none.
pub(super) const NONE: u32 = u32::MAX;

/// Key columns of one side, and which of the rows take part.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub columns: &'a [ArrayRef],
    pub flags: Option<&'a BooleanBuffer>,
}

/// A number below the range for each key; equal keys have equal ones, and keys without a partner may have [`NONE`].
pub(super) struct Numbered {
    pub left: Vec<u32>,
    pub right: Vec<u32>,
    pub range: usize,
}

/// Numbers for the keys of rows that take part; others have [`NONE`].
///
/// # Errors
/// `memory`; `interrupted`.
pub(super) fn numbers(left: Keys<'_>, right: Keys<'_>, nulls_equal: bool) -> Result<Numbered> {
    let mut numbered: Option<Numbered> = None;
    for (of_left, of_right) in left.columns.iter().zip(right.columns) {
        Interrupt::current().check()?;
        let of_column = numbers_of(
            Side::of(of_left, left.flags),
            Side::of(of_right, right.flags),
            nulls_equal,
        )?;
        numbered = Some(match numbered {
            None => of_column,
            Some(before) => combined(before, of_column)?,
        });
    }
    numbered.ok_or_else(|| Error::internal("a join without keys"))
}

/// A key column of one side.
#[derive(Clone, Copy)]
struct Side<'a> {
    column: &'a ArrayRef,
    flags: Option<&'a BooleanBuffer>,
    has_nulls: bool,
}

impl<'a> Side<'a> {
    fn of(column: &'a ArrayRef, flags: Option<&'a BooleanBuffer>) -> Self {
        Side {
            column,
            flags,
            has_nulls: column.null_count() > 0,
        }
    }

    fn rows(self) -> usize {
        self.column.len()
    }

    fn takes_part(self, row: usize) -> bool {
        self.flags.is_none_or(|flags| flags.value(row))
    }

    /// Whether a row takes part and its key is there.
    fn has_key(self, row: usize) -> bool {
        self.takes_part(row) && !(self.has_nulls && self.column.is_null(row))
    }

    /// A number for each row that has a key, by tasks.
    fn numbers(self, number: impl Fn(usize) -> u32 + Sync) -> Result<Vec<u32>> {
        let rows = self.rows();
        let (numbers, _) = filled(rows, rows_of_a_task(rows), |start, places| {
            for (offset, place) in places.iter_mut().enumerate() {
                *place = match self.has_key(start + offset) {
                    true => number(start + offset),
                    false => NONE,
                };
            }
            Ok(())
        })?;
        Ok(numbers)
    }
}

fn numbers_of(left: Side<'_>, right: Side<'_>, nulls_equal: bool) -> Result<Numbered> {
    let swapped = left.rows() < right.rows();
    let (small, large) = if swapped {
        (left, right)
    } else {
        (right, left)
    };
    let (mut of_small, mut of_large, mut range) = match small.column.data_type() {
        DataType::Utf8 => {
            let (few, many) = (
                small.column.as_string::<i32>(),
                large.column.as_string::<i32>(),
            );
            looked_up(
                small,
                large,
                |row| TextKey::of(few, row),
                |row| TextKey::of(many, row),
            )?
        }
        DataType::Dictionary(..) => coded(small, large)?,
        DataType::Boolean => {
            let (few, many) = (small.column.as_boolean(), large.column.as_boolean());
            let number = |truth: bool| u32::from(truth);
            (
                small.numbers(|row| number(few.value(row)))?,
                large.numbers(|row| number(many.value(row)))?,
                2,
            )
        }
        DataType::Null => (
            memory::filled(small.rows(), NONE)?,
            memory::filled(large.rows(), NONE)?,
            0,
        ),
        kind => with_type!(kind, T => {
            let few = small.column.as_primitive::<T>().values();
            let many = large.column.as_primitive::<T>().values();
            let is_valid = |row: usize| small.column.is_valid(row);
            match extent(kind, few, small.has_nulls, is_valid)? {
                Some((least, range)) if range < largest_dense(many.len()) as u64 => {
                    let least = least.key();
                    let number = |value: u64| match value.wrapping_sub(least) {
                        distance if distance <= range => distance as u32,
                        _ => NONE,
                    };
                    (
                        small.numbers(|row| number(few[row].key()))?,
                        large.numbers(|row| number(many[row].key()))?,
                        range as usize + 1,
                    )
                }
                _ => looked_up(small, large, |row| few[row].key(), |row| many[row].key())?,
            }
        }, else return Err(Error::internal(format!("a join on {kind}")))),
    };
    if nulls_equal {
        let number = range as u32;
        for (numbers, side) in [(&mut of_small, small), (&mut of_large, large)] {
            let Some(nulls) = side.column.logical_nulls() else {
                continue;
            };
            changed(numbers, rows_of_a_task(side.rows()), |start, numbers| {
                for (offset, place) in numbers.iter_mut().enumerate() {
                    if nulls.is_null(start + offset) && side.takes_part(start + offset) {
                        *place = number;
                    }
                }
            })?;
        }
        range += 1;
    }
    let (left, right) = if swapped {
        (of_small, of_large)
    } else {
        (of_large, of_small)
    };
    Ok(Numbered { left, right, range })
}

/// Numbers the keys of one side and looks those of the other up.
fn looked_up<K: Eq + std::hash::Hash + Send + Sync>(
    small: Side<'_>,
    large: Side<'_>,
    few: impl Fn(usize) -> K,
    many: impl Fn(usize) -> K + Sync,
) -> Result<(Vec<u32>, Vec<u32>, usize)> {
    let interrupt = Interrupt::current();
    let mut numbers = Numbers::new();
    let mut of_small = memory::room(small.rows())?;
    for row in 0..small.rows() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        of_small.push(match small.has_key(row) {
            true => numbers.of(few(row))?,
            false => NONE,
        });
    }
    let of_large = large.numbers(|row| numbers.known(&many(row)).unwrap_or(NONE))?;
    Ok((of_small, of_large, numbers.len()))
}

/// Coded text by the distinct values of both sides.
fn coded(small: Side<'_>, large: Side<'_>) -> Result<(Vec<u32>, Vec<u32>, usize)> {
    let few = small.column.as_dictionary::<Int32Type>();
    let many = large.column.as_dictionary::<Int32Type>();
    let (few_texts, many_texts) = (few.values(), many.values());
    let texts = |texts: &ArrayRef| -> StringArray { texts.as_string::<i32>().clone() };
    let (of_few, of_many) = (texts(few_texts), texts(many_texts));
    let (numbers_of_few, numbers_of_many, range) = looked_up(
        Side::of(few_texts, None),
        Side::of(many_texts, None),
        |at| TextKey::of(&of_few, at),
        |at| TextKey::of(&of_many, at),
    )?;
    Ok((
        small.numbers(|row| numbers_of_few[few.keys().value(row) as usize])?,
        large.numbers(|row| numbers_of_many[many.keys().value(row) as usize])?,
        range,
    ))
}

/// Numbers for pairs of numbers.
fn combined(one: Numbered, other: Numbered) -> Result<Numbered> {
    let range = one.range.checked_mul(other.range);
    if let Some(range) = range.filter(|range| *range <= largest_dense(one.left.len())) {
        let width = other.range as u32;
        let products = |mut one: Vec<u32>, other: &[u32]| -> Result<Vec<u32>> {
            let of_a_task = rows_of_a_task(one.len());
            changed(&mut one, of_a_task, |start, one| {
                for (one, other) in one.iter_mut().zip(&other[start..]) {
                    *one = match *one == NONE || *other == NONE {
                        true => NONE,
                        false => *one * width + other,
                    };
                }
            })?;
            Ok(one)
        };
        return Ok(Numbered {
            left: products(one.left, &other.left)?,
            right: products(one.right, &other.right)?,
            range,
        });
    }
    let of_pairs = |one: &[u32], other: &[u32], numbers: &mut Numbers<u64>, is_new: bool| {
        let mut found: Vec<u32> = memory::room(one.len())?;
        for (one, other) in one.iter().zip(other) {
            let pair = u64::from(*one) << 32 | u64::from(*other);
            found.push(match *one == NONE || *other == NONE {
                true => NONE,
                false if is_new => numbers.of(pair)?,
                false => numbers.known(&pair).unwrap_or(NONE),
            });
        }
        Ok::<_, Error>(found)
    };
    let mut numbers = Numbers::new();
    let (left, right);
    if one.left.len() < one.right.len() {
        left = of_pairs(&one.left, &other.left, &mut numbers, true)?;
        right = of_pairs(&one.right, &other.right, &mut numbers, false)?;
    } else {
        right = of_pairs(&one.right, &other.right, &mut numbers, true)?;
        left = of_pairs(&one.left, &other.left, &mut numbers, false)?;
    }
    Ok(Numbered {
        left,
        right,
        range: numbers.len(),
    })
}
