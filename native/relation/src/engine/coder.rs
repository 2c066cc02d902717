//! Numbers for equal keys, by hash tables on all threads.
//!
//! Each task has a table of its own. The tables are merged in the order of the rows, so that the numbers are those of first rows.

use std::hash::{BuildHasher, Hash};

use arrow::array::{Array, StringArray};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use hashbrown::HashTable;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use crate::parallel::{by_tasks, changed, filled, rows_of_a_task, rows_of_a_thread};

/// Rows between two looks at the interrupt flag.
const ROWS_AT_ONCE: usize = 1 << 16;

/// A number for each row, from 0 in the order of first rows.
pub(crate) struct Coded {
    pub codes: Vec<u32>,
    pub first_rows: Vec<u32>,
}

/// Gives numbers to keys in the order in which they come.
pub(crate) trait Numbering<K> {
    /// The number of the key of a row.
    ///
    /// # Errors
    /// `memory`.
    fn of(&mut self, key: K, row: u32) -> Result<u32>;
    fn into_first_rows(self) -> Vec<u32>;
}

/// Keys and their numbers. The table has the numbers alone: it stays in the cache longer than one of keys would.
struct Codes<K> {
    numbers: HashTable<u32>,
    keys: Vec<K>,
    first_rows: Vec<u32>,
}

impl<K> Codes<K> {
    fn new() -> Result<Self> {
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
    match rows >= LEAST_ROWS_OF_PLACES && are_short(texts)? {
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

/// How many rows have each key, from the first rows on.
pub(crate) struct Counted {
    pub first_rows: Vec<u32>,
    pub counts: Vec<u32>,
}

/// Keys of a table that stays in a cache.
const KEYS_IN_CACHE: usize = 1 << 18;

/// The rows of each key, without a number for each row.
///
/// # Errors
/// As [`coded`].
pub(crate) fn counted<K: Copy + Eq + Hash>(
    rows: usize,
    key: impl Fn(usize) -> K + Sync,
) -> Result<Counted> {
    match counted_by(rows, KEYS_IN_CACHE, Codes::new, &key)? {
        Some(counted) => Ok(counted),
        None => counted_in_parts(rows, key),
    }
}

/// The same for texts, of which null is one.
///
/// # Errors
/// As [`coded`].
pub(crate) fn counted_texts(texts: &StringArray) -> Result<Counted> {
    let rows = texts.len();
    if rows >= LEAST_ROWS_OF_PLACES && are_short(texts)? {
        let new = || Places::new(SHORT_KEYS);
        let counted = counted_by(rows, SHORT_KEYS, new, |row| short_key(texts, row))?;
        return counted.ok_or_else(|| Error::internal("more short texts than there are"));
    }
    counted(rows, |row| TextKey::of(texts, row))
}

/// Each task has a table; none where one has more keys than these.
fn counted_by<K, N: Numbering<K>>(
    rows: usize,
    most: usize,
    new: impl Fn() -> Result<N> + Sync,
    key: impl Fn(usize) -> K + Sync,
) -> Result<Option<Counted>> {
    let tasks = by_tasks(rows, rows_of_a_thread(rows), |rows| {
        let interrupt = Interrupt::current();
        let mut known = new()?;
        let mut counts = Vec::new();
        for start in rows.clone().step_by(ROWS_AT_ONCE) {
            interrupt.check()?;
            for row in start..rows.end.min(start + ROWS_AT_ONCE) {
                add(&mut counts, known.of(key(row), row as u32)?, 1)?;
            }
            if counts.len() > most {
                return Ok(None);
            }
        }
        let first_rows = known.into_first_rows();
        Ok(Some(Counted { first_rows, counts }))
    })?;
    let Some(mut tasks) = tasks.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    if tasks.len() <= 1 {
        return Ok(tasks.pop());
    }
    let (mut all, mut counts) = (new()?, Vec::new());
    for of_task in tasks {
        for (row, count) in of_task.first_rows.into_iter().zip(of_task.counts) {
            add(&mut counts, all.of(key(row as usize), row)?, count)?;
        }
    }
    Ok(Some(Counted {
        first_rows: all.into_first_rows(),
        counts,
    }))
}

/// So many parts have rows with keys of their own.
const PARTS: usize = 1 << 8;

/// The rows of each key, by parts of the keys: the table of a part stays in the cache, and none of them are merged.
fn counted_in_parts<K: Copy + Eq + Hash>(
    rows: usize,
    key: impl Fn(usize) -> K + Sync,
) -> Result<Counted> {
    // The lower bits are the table's.
    let part = |row: usize| (FxBuildHasher.hash_one(key(row)) >> 32) as usize % PARTS;
    let tasks = by_tasks(rows, rows_of_a_thread(rows), |rows| {
        let mut lengths = [0; PARTS];
        for row in rows.clone() {
            lengths[part(row)] += 1;
        }
        let parts = lengths.into_iter().map(memory::room);
        let mut parts: Vec<Vec<u32>> = parts.collect::<Result<_>>()?;
        for row in rows {
            parts[part(row)].push(row as u32);
        }
        Ok(parts)
    })?;
    let interrupt = Interrupt::current();
    let parts = (0..PARTS).into_par_iter().map(|part| {
        interrupt.check()?;
        let (mut known, mut counts) = (Codes::new()?, Vec::new());
        for row in tasks.iter().flat_map(|parts| &parts[part]) {
            add(&mut counts, known.of(key(*row as usize), *row)?, 1)?;
        }
        Ok(known.into_first_rows().into_iter().zip(counts))
    });
    let parts: Vec<_> = parts.collect::<Result<_>>()?;
    drop(tasks);
    let mut groups: Vec<(u32, u32)> = memory::room(parts.iter().map(|part| part.len()).sum())?;
    parts.into_iter().for_each(|part| groups.extend(part));
    groups.par_sort_unstable();
    let mut first_rows = memory::room(groups.len())?;
    first_rows.extend(groups.iter().map(|(first, _)| first));
    let mut counts = memory::room(groups.len())?;
    counts.extend(groups.iter().map(|(_, count)| count));
    Ok(Counted { first_rows, counts })
}

/// Adds rows to those of a number, which may be the next one.
fn add(counts: &mut Vec<u32>, number: u32, rows: u32) -> Result<()> {
    match counts.get_mut(number as usize) {
        Some(count) => *count += rows,
        None => push(counts, rows)?,
    }
    Ok(())
}

/// Bytes of a text that is short: flags, codes of countries and of states.
const SHORT_BYTES: usize = 2;
/// Short texts by their bytes and their number of bytes, and null.
const SHORT_KEYS: usize = ((SHORT_BYTES + 1) << 16) + 1;
/// Fewer rows are not worth so many places.
const LEAST_ROWS_OF_PLACES: usize = 1 << 16;

/// Whether no text is longer than a short one.
fn are_short(texts: &StringArray) -> Result<bool> {
    let offsets = texts.value_offsets();
    let all = offsets.last().zip(offsets.first());
    if all.is_none_or(|(last, first)| (last - first) as usize > SHORT_BYTES * texts.len()) {
        return Ok(false);
    }
    let tasks = by_tasks(texts.len(), rows_of_a_task(texts.len()), |rows| {
        let offsets = &offsets[rows.start..=rows.end];
        let lengths = offsets.iter().zip(&offsets[1..]);
        Ok(lengths.fold(0, |most, (from, to)| most.max(to - from)))
    })?;
    Ok(tasks.into_iter().all(|most| most as usize <= SHORT_BYTES))
}

/// The key of a row, whose text is short.
#[inline]
fn short_key(texts: &StringArray, row: usize) -> usize {
    if texts.is_null(row) {
        return SHORT_KEYS - 1;
    }
    let (offsets, data) = (texts.value_offsets(), texts.value_data());
    let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
    let bytes = match data.get(from..).and_then(|data| data.first_chunk()) {
        Some(bytes) => u16::from_le_bytes(*bytes),
        // The last one.
        None => u16::from(data.get(from).copied().unwrap_or(0)),
    };
    let length = to - from;
    let mask = (1usize << (8 * length)) - 1;
    length << 16 | usize::from(bytes) & mask
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
    fn short_texts_have_the_numbers_that_hashed_ones_have() {
        let some = ["", "a", "b", "\0", "\0\0", "a\0", "ab", "é", "b"];
        let rows = 3 * LEAST_ROWS_OF_PLACES;
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
    fn rows_are_counted_whether_a_table_stays_in_the_cache_or_not() {
        for distinct in [1000, 2 * KEYS_IN_CACHE as u64] {
            let rows = 3 * KEYS_IN_CACHE;
            let key = |row: usize| (row as u64).wrapping_mul(2_654_435_761) % distinct;
            let all = [counted(rows, key), counted_in_parts(rows, key)];
            let Coded { codes, first_rows } = coded(rows, key).unwrap();
            let mut counts = vec![0; first_rows.len()];
            codes.iter().for_each(|code| counts[*code as usize] += 1);
            for found in all {
                let found = found.unwrap();
                assert!(found.first_rows == first_rows && found.counts == counts);
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
