//! Numbers for equal keys, by hash tables on all threads.
//!
//! Each task has a table of its own. The tables are merged in the order of the rows, so that the numbers are those of first rows.

use std::hash::{BuildHasher, Hash};

use arrow::array::StringArray;
use fulgurite_error::Result;
use fulgurite_matrix::{Interrupt, memory};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::text_key::{SHORT_KEYS, TextKey, are_short, short_key};
use crate::parallel::{changed, filled, rows_of_a_thread};

/// Rows between two looks at the interrupt flag.
const ROWS_AT_ONCE: usize = 1 << 16;

/// A number for each row, from 0 in the order of first rows.
pub(crate) struct Coded {
    pub codes: Vec<u32>,
    pub first_rows: Vec<u32>,
}

/// Gives numbers to keys in the order in which they come.
pub(super) trait Numbering<K> {
    /// The number of the key of a row.
    ///
    /// # Errors
    /// `memory`.
    fn of(&mut self, key: K, row: u32) -> Result<u32>;
    fn into_first_rows(self) -> Vec<u32>;
}

/// Keys and their numbers. The table has the numbers alone: it stays in the cache longer than one of keys would.
pub(super) struct Codes<K> {
    numbers: HashTable<u32>,
    keys: Vec<K>,
    first_rows: Vec<u32>,
}

impl<K> Codes<K> {
    pub(super) fn new() -> Result<Self> {
        Ok(Codes {
            numbers: HashTable::new(),
            keys: Vec::new(),
            first_rows: Vec::new(),
        })
    }
}

impl<K: Copy + Eq + Hash> Numbering<K> for Codes<K> {
    #[inline]
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

    fn into_first_rows(self) -> Vec<u32> {
        self.first_rows
    }
}

/// Keys below a small range, which are places of an array.
struct Places {
    numbers: Vec<u32>,
    first_rows: Vec<u32>,
}

impl Places {
    const NONE: u32 = u32::MAX;

    fn new(range: usize) -> Result<Self> {
        Ok(Places {
            numbers: memory::filled(range, Self::NONE)?,
            first_rows: Vec::new(),
        })
    }
}

impl Numbering<usize> for Places {
    #[inline]
    fn of(&mut self, key: usize, row: u32) -> Result<u32> {
        let number = &mut self.numbers[key];
        if *number == Self::NONE {
            *number = self.first_rows.len() as u32;
            push(&mut self.first_rows, row)?;
        }
        Ok(*number)
    }

    fn into_first_rows(self) -> Vec<u32> {
        self.first_rows
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
    coded_by(rows, Codes::new, key)
}

/// Numbers for the texts of rows, of which null is one.
///
/// # Errors
/// As [`coded`].
pub(crate) fn coded_texts(
    texts: &StringArray,
    rows: usize,
    row: impl Fn(usize) -> usize + Sync,
) -> Result<Coded> {
    match are_short(texts)? {
        true => {
            let new = || Places::new(SHORT_KEYS);
            coded_by(rows, new, |at| short_key(texts, row(at)))
        }
        false => coded(rows, |at| TextKey::of(texts, row(at))),
    }
}

fn coded_by<K, N: Numbering<K>>(
    rows: usize,
    new: impl Fn() -> Result<N> + Sync,
    key: impl Fn(usize) -> K + Sync,
) -> Result<Coded> {
    let of_a_task = rows_of_a_thread(rows);
    let (mut codes, tasks) = filled(rows, of_a_task, |start, codes: &mut [u32]| {
        let interrupt = Interrupt::current();
        let mut known = new()?;
        for (offset, code) in codes.iter_mut().enumerate() {
            if offset % ROWS_AT_ONCE == 0 {
                interrupt.check()?;
            }
            let row = start + offset;
            *code = known.of(key(row), row as u32)?;
        }
        Ok(known.into_first_rows())
    })?;
    let mut tasks = tasks.into_iter();
    let first_rows = tasks.next().unwrap_or_default();
    if tasks.len() == 0 {
        return Ok(Coded { codes, first_rows });
    }
    let mut all = new()?;
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
        first_rows: all.into_first_rows(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_have_the_numbers_that_hashed_ones_have() {
        let some = ["", "a", "b", "\0", "\0\0", "a\0", "ab", "é", "b"];
        let rows = 3 << 16;
        let text = |row: usize| (!row.is_multiple_of(11)).then(|| some[row * row % some.len()]);
        let texts: StringArray = (0..rows).map(text).collect();
        assert!(are_short(&texts).unwrap());
        let (texts, back) = (texts.slice(3, rows - 3), |at: usize| rows - 4 - at);
        let short = coded_texts(&texts, rows - 3, back).unwrap();
        let hashed = coded(rows - 3, |at| TextKey::of(&texts, back(at))).unwrap();
        assert_eq!(short.codes, hashed.codes);
        assert_eq!(short.first_rows, hashed.first_rows);
        let longer: StringArray = (0..rows).map(|row| Some(["", "abc"][row % 2])).collect();
        assert!(!are_short(&longer).unwrap());
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
