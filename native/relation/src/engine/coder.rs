//! Numbers for equal keys, by hash tables on all threads.
//!
//! Each task has a table of its own. The tables are merged in the order of the rows, so that the numbers are those of first rows.

use std::hash::{BuildHasher, Hash};

use arrow::array::{Array, StringArray};
use fulgurite_error::Result;
use fulgurite_matrix::{Interrupt, memory};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::parallel::{changed, filled, rows_of_a_thread};

/// Rows between two looks at the interrupt flag.
const ROWS_AT_ONCE: usize = 1 << 16;

/// A number for each row, from 0 in the order of first rows.
pub(crate) struct Coded {
    pub codes: Vec<u32>,
    pub first_rows: Vec<u32>,
}

/// Keys and their numbers. The table has the numbers alone: it stays in the cache longer than one of keys would.
struct Codes<K> {
    numbers: HashTable<u32>,
    keys: Vec<K>,
    first_rows: Vec<u32>,
}

impl<K: Copy + Eq + Hash> Codes<K> {
    fn new() -> Self {
        Codes {
            numbers: HashTable::new(),
            keys: Vec::new(),
            first_rows: Vec::new(),
        }
    }

    fn of(&mut self, key: K, row: u32) -> Result<u32> {
        let keys = &self.keys;
        let hash = |key: &K| FxBuildHasher.hash_one(key);
        if let Some(number) = self
            .numbers
            .find(hash(&key), |number| keys[*number as usize] == key)
        {
            return Ok(*number);
        }
        let next = self.keys.len() as u32;
        if self.numbers.len() == self.numbers.capacity() {
            // The table is about to double.
            memory::admit(
                self.numbers
                    .len()
                    .saturating_mul(2 * (size_of::<u32>() + 1)),
            )?;
        }
        self.numbers
            .insert_unique(hash(&key), next, |number| hash(&keys[*number as usize]));
        push(&mut self.keys, key)?;
        push(&mut self.first_rows, row)?;
        Ok(next)
    }
}

/// Puts a value behind others, with memory that is asked for.
///
/// # Errors
/// `memory`.
pub(super) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        memory::reserve(values, values.len().max(16))?;
    }
    values.push(value);
    Ok(())
}

/// Numbers for the keys of rows.
///
/// # Errors
/// `memory`; `interrupted`.
pub(crate) fn coded<K: Copy + Eq + Hash>(
    rows: usize,
    key: impl Fn(usize) -> K + Sync,
) -> Result<Coded> {
    let of_a_task = rows_of_a_thread(rows);
    let (mut codes, tasks) = filled(rows, of_a_task, |start, codes: &mut [u32]| {
        let interrupt = Interrupt::current();
        let mut known = Codes::new();
        for (offset, code) in codes.iter_mut().enumerate() {
            if offset % ROWS_AT_ONCE == 0 {
                interrupt.check()?;
            }
            let row = start + offset;
            *code = known.of(key(row), row as u32)?;
        }
        Ok(known.first_rows)
    })?;
    let mut tasks = tasks.into_iter();
    let first_rows = tasks.next().unwrap_or_default();
    if tasks.len() == 0 {
        return Ok(Coded { codes, first_rows });
    }
    let mut all = Codes::new();
    for row in first_rows {
        all.of(key(row as usize), row)?;
    }
    let mut renumbered: Vec<Vec<u32>> = Vec::new();
    for first_rows in tasks {
        let mut numbers = memory::room(first_rows.len())?;
        for row in first_rows {
            numbers.push(all.of(key(row as usize), row)?);
        }
        renumbered.push(numbers);
    }
    // The first task has its numbers.
    let later = codes.get_mut(of_a_task..).unwrap_or_default();
    changed(later, of_a_task, |start, codes| {
        let numbers = &renumbered[start / of_a_task];
        for code in codes {
            *code = numbers[*code as usize];
        }
    })?;
    Ok(Coded {
        codes,
        first_rows: all.first_rows,
    })
}

/// A text that is compared by its first bytes before the rest of it.
#[derive(Clone, Copy)]
pub(crate) struct TextKey<'a> {
    /// Fifteen bytes, and the length of shorter texts.
    first: u128,
    rest: &'a [u8],
}

const FIRST_BYTES: usize = 15;
const IS_LONG: u128 = 0xFF << 120;
const IS_NULL: u128 = 0xFE << 120;

impl PartialEq for TextKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        // Most texts are short, and have no rest.
        self.first == other.first && (self.rest.is_empty() || self.rest == other.rest)
    }
}

impl Eq for TextKey<'_> {}

impl Hash for TextKey<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.first as u64);
        state.write_u64((self.first >> 64) as u64);
        if !self.rest.is_empty() {
            state.write(self.rest);
        }
    }
}

impl<'a> TextKey<'a> {
    /// The key of a row; null is one.
    pub fn of(texts: &'a StringArray, row: usize) -> Self {
        let (offsets, data) = (texts.value_offsets(), texts.value_data());
        if texts.is_null(row) {
            return TextKey {
                first: IS_NULL,
                rest: &[],
            };
        }
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        let first = match data.get(from..).and_then(|data| data.first_chunk()) {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => {
                let mut bytes = [0; 16];
                let known = &data[from..to.min(from + 16)];
                bytes[..known.len()].copy_from_slice(known);
                u128::from_le_bytes(bytes)
            }
        };
        let length = to - from;
        match length <= FIRST_BYTES {
            true => TextKey {
                first: first & ((1 << (8 * length)) - 1) | (length as u128) << 120,
                rest: &[],
            },
            false => TextKey {
                first: first & ((1 << 120) - 1) | IS_LONG,
                rest: &data[from + FIRST_BYTES..to],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_equal_where_their_keys_are() {
        let long = "a text of more than fifteen bytes";
        let texts = [
            "",
            "\0",
            "a",
            "a\0",
            "ab",
            &long[..14],
            &long[..15],
            &long[..16],
            &long[..20],
            long,
            "é",
        ];
        let texts: StringArray = texts.iter().map(|text| Some(*text)).chain([None]).collect();
        for row in 0..texts.len() {
            for other in 0..texts.len() {
                let (one, two) = (TextKey::of(&texts, row), TextKey::of(&texts, other));
                assert_eq!(one == two, row == other, "{row} {other}");
            }
        }
    }

    #[test]
    fn numbers_are_those_of_first_rows_whatever_the_tasks() {
        let keys: Vec<u64> = (0..200_000u64)
            .map(|row| row.wrapping_mul(row) % 977)
            .collect();
        let Coded { codes, first_rows } = coded(keys.len(), |row| keys[row]).unwrap();
        assert!(first_rows.is_sorted());
        for (code, key) in codes.iter().zip(&keys) {
            assert_eq!(keys[first_rows[*code as usize] as usize], *key);
        }
        let seen = first_rows.iter().enumerate();
        for (code, row) in seen {
            assert_eq!(codes[*row as usize] as usize, code);
            assert!(!keys[..*row as usize].contains(&keys[*row as usize]));
        }
    }
}
