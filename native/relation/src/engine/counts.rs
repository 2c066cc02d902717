//! How many rows have equal keys, without a number for each row.
//!
//! Each task counts in a table of its own, and the tables are added up. Where keys are so many that a table would leave the cache, the
//! rows are first put into parts, by bits of the hashes of their keys: each part has keys, and a table, of its own.

use std::{
    hash::{BuildHasher, Hash},
    ops::Range,
};

use arrow::array::ArrayRef;
use fulgurite_error::Result;
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::{
    coder::{Codes, Numbering, push},
    groups::{KeyVisitor, ROWS_AT_ONCE, with_keys_of},
};
use crate::parallel::{by_tasks, rows_of_a_thread};

/// The first row of each group, ascending, and how many rows there are.
pub(crate) struct Counted {
    pub first_rows: Vec<u32>,
    pub counts: Vec<u32>,
}

/// The groups of rows that are equal in a column; null is a key.
///
/// # Errors
/// `memory`; `interrupted`; `internal` for a type that tables do not have.
pub(crate) fn counts(column: &ArrayRef) -> Result<Counted> {
    with_keys_of(column, Counting)
}

/// The first row of a group, and how many there are.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    first: u32,
    count: u32,
}

impl Group {
    fn add(&mut self, later: Group) {
        if self.count == 0 {
            self.first = later.first;
        }
        self.count += later.count;
    }
}

impl Counted {
    fn of(mut groups: Vec<Group>) -> Result<Self> {
        groups.par_sort_unstable_by_key(|group| group.first);
        let mut first_rows = memory::room(groups.len())?;
        first_rows.extend(groups.iter().map(|group| group.first));
        let mut counts = memory::room(groups.len())?;
        counts.extend(groups.iter().map(|group| group.count));
        Ok(Counted { first_rows, counts })
    }
}

struct Counting;

/// Tables of numbers below a range have together so many places for each row at most.
const PLACES_OF_A_ROW: usize = 4;

impl KeyVisitor for Counting {
    type Made = Counted;

    fn dense(
        self,
        rows: usize,
        range: usize,
        code: impl Fn(usize) -> u32 + Sync,
    ) -> Result<Counted> {
        let of_a_task = rows_of_a_thread(rows).max(range / PLACES_OF_A_ROW);
        let tasks = by_tasks(rows, of_a_task, |rows| {
            let mut groups = memory::filled(range, Group::default())?;
            for some in stretches(rows) {
                some?.for_each(|row| groups[code(row) as usize].add(one(row)));
            }
            Ok(groups)
        })?;
        let mut tasks = tasks.into_iter();
        let mut groups = tasks.next().unwrap_or_default();
        for later in tasks {
            let both = groups.par_iter_mut().zip(later);
            both.for_each(|(group, later)| group.add(later));
        }
        groups.retain(|group| group.count > 0);
        Counted::of(groups)
    }

    fn hashed<K: Copy + Eq + Hash>(
        self,
        rows: usize,
        key: impl Fn(usize) -> K + Sync,
    ) -> Result<Counted> {
        match counted_by_tasks(rows, &key)? {
            Some(counted) => Ok(counted),
            None => counted_by_parts(rows, key),
        }
    }
}

fn one(row: usize) -> Group {
    Group {
        first: row as u32,
        count: 1,
    }
}

/// Rows in stretches, between which the run may end.
fn stretches(rows: Range<usize>) -> impl Iterator<Item = Result<Range<usize>>> {
    let interrupt = Interrupt::current();
    let end = rows.end;
    rows.step_by(ROWS_AT_ONCE).map(move |start| {
        interrupt.check()?;
        Ok(start..end.min(start + ROWS_AT_ONCE))
    })
}

/// Groups by hashed keys.
struct Table<K> {
    codes: Codes<K>,
    groups: Vec<Group>,
}

impl<K: Copy + Eq + Hash> Table<K> {
    fn new() -> Result<Self> {
        Ok(Table {
            codes: Codes::new()?,
            groups: Vec::new(),
        })
    }

    fn add(&mut self, key: K, rows: Group) -> Result<()> {
        let number = self.codes.of(key, rows.first)? as usize;
        match self.groups.get_mut(number) {
            Some(group) => group.add(rows),
            None => push(&mut self.groups, rows)?,
        }
        Ok(())
    }
}

/// Keys of a table that stays in a cache.
const KEYS_IN_CACHE: usize = 1 << 18;

/// Each task has a table; none where one would have more keys than stay in a cache.
fn counted_by_tasks<K: Copy + Eq + Hash>(
    rows: usize,
    key: impl Fn(usize) -> K + Sync,
) -> Result<Option<Counted>> {
    let tasks = by_tasks(rows, rows_of_a_thread(rows), |rows| {
        let mut table = Table::new()?;
        for some in stretches(rows) {
            for row in some? {
                table.add(key(row), one(row))?;
            }
            if table.groups.len() > KEYS_IN_CACHE {
                return Ok(None);
            }
        }
        Ok(Some(table.groups))
    })?;
    let Some(tasks) = tasks.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let mut all = Table::new()?;
    for group in tasks.into_iter().flatten() {
        all.add(key(group.first as usize), group)?;
    }
    Counted::of(all.groups).map(Some)
}

const PARTS: usize = 1 << 8;

/// The part of a key. The hash has its best bits last: the lowest of them are the places of a table.
fn part_of(key: impl Hash) -> usize {
    (FxBuildHasher.hash_one(key) >> 18) as usize % PARTS
}

fn counted_by_parts<K: Copy + Eq + Hash>(
    rows: usize,
    key: impl Fn(usize) -> K + Sync,
) -> Result<Counted> {
    let tasks = by_tasks(rows, rows_of_a_thread(rows), |rows| {
        let mut lengths = [0; PARTS];
        for some in stretches(rows.clone()) {
            some?.for_each(|row| lengths[part_of(key(row))] += 1);
        }
        let parts = lengths.into_iter().map(memory::room);
        let mut parts: Vec<Vec<u32>> = parts.collect::<Result<_>>()?;
        for some in stretches(rows) {
            some?.for_each(|row| parts[part_of(key(row))].push(row as u32));
        }
        Ok(parts)
    })?;
    let parts = by_tasks(PARTS, 1, |part| {
        let mut table = Table::new()?;
        for row in tasks.iter().flat_map(|parts| &parts[part.start]) {
            table.add(key(*row as usize), one(*row as usize))?;
        }
        Ok(table.groups)
    })?;
    drop(tasks);
    let mut groups = memory::room(parts.iter().map(Vec::len).sum())?;
    parts.into_iter().for_each(|part| groups.extend(part));
    Counted::of(groups)
}

#[cfg(test)]
mod tests {
    use super::{super::coder::coded, *};

    #[test]
    fn rows_are_counted_whether_a_table_stays_in_the_cache_or_not() {
        for distinct in [1000, 2 * KEYS_IN_CACHE as u64] {
            let rows = 3 * KEYS_IN_CACHE;
            let key = |row: usize| (row as u64).wrapping_mul(2_654_435_761) % distinct;
            let expected = coded(rows, key).unwrap();
            let mut counts = vec![0; expected.first_rows.len()];
            let rows_of = expected.codes.iter();
            rows_of.for_each(|code| counts[*code as usize] += 1);
            for found in [
                Counting.hashed(rows, key),
                counted_by_parts(rows, key),
                Counting.dense(rows, distinct as usize, |row| key(row) as u32),
            ] {
                let found = found.unwrap();
                assert!(found.first_rows == expected.first_rows && found.counts == counts);
            }
        }
    }

    #[test]
    fn parts_have_about_as_many_keys_whatever_their_bits() {
        const KEYS: u64 = 1 << 18;
        let keys: [fn(u64) -> u64; 4] = [
            |key| key,
            |key| key << 32,
            |key| key * 2_654_435_761,
            |key| (key as f64).to_bits(),
        ];
        for (kind, of) in keys.iter().enumerate() {
            let mut lengths = [0; PARTS];
            (0..KEYS).for_each(|key| lengths[part_of(of(key))] += 1);
            let most = lengths.iter().max().unwrap();
            assert!(*most < 4 * KEYS / PARTS as u64, "{kind}: {most}");
        }
    }
}
