//! Tables of groups that take cells in a stretch of rows at a time, for operators that compute the cells tile by tile.
//!
//! A group's cells are taken in one after the other, in the order of rows, however many columns are taken in together. So sums
//! have the bits of those that [`grouped_aggregate`](super::grouped_aggregate) gives.

use std::ops::Range;

use fulgurite_error::Result;

use crate::{
    lanes, memory,
    vector_math::{Work, maximum, minimum, two_sum, vectorized},
};

/// Tables have fewer groups.
pub const MOST_NUMBERED: usize = 1 << 30;

/// Columns whose cells are taken in together at most: those of a row fill a cache line.
pub const MOST_COLUMNS: usize = 8;

/// Rows that are numbered together.
const BLOCK: usize = 4;

/// Bytes of a table beyond which its lines are asked for ahead.
const AT_HAND: usize = 1 << 19;

/// Writes the place of the group of each row among these, which count from 0 where groups count from 1; of rows in none of them,
/// the place after the last.
pub fn numbers(groups: &[f64], among: Range<usize>, numbers: &mut [u32]) {
    vectorized(Numbers {
        groups,
        among,
        numbers,
    });
}

struct Numbers<'a> {
    groups: &'a [f64],
    among: Range<usize>,
    numbers: &'a mut [u32],
}

impl Work for Numbers<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (first, none) = (self.among.start as i32 + 1, self.among.end as f64 + 1.0);
        for (number, group) in self.numbers.iter_mut().zip(self.groups) {
            // Comparisons with NaN are false.
            let is_one = *group >= f64::from(first) && *group < none;
            let group = if is_one { *group } else { none };
            *number = (group as i32 - first) as u32;
        }
    }
}

/// Asks for the lines of a large table that these rows will change: there are more misses at a time than the processor comes by
/// as it takes cells in.
fn ask_for<T>(table: &[T], per_group: usize, numbers: &[u32]) {
    if size_of_val(table) <= AT_HAND {
        return;
    }
    let start = table.as_ptr();
    for number in numbers {
        lanes::prefetch(start.wrapping_add(*number as usize * per_group).cast());
    }
}

/// How many rows are in each group.
#[derive(Debug, Clone)]
pub struct GroupCounts {
    counts: Vec<u64>,
    groups: usize,
    lanes: usize,
}

impl GroupCounts {
    /// # Errors
    /// `memory` when there is none for so many.
    pub fn new(groups: usize) -> Result<Self> {
        /// Small tables are there several times, so that rows of one group do not wait for each other.
        const SMALL: usize = 1 << 11;
        let lanes = if groups <= SMALL { BLOCK } else { 1 };
        Ok(GroupCounts {
            counts: memory::zeros_of((groups + 1) * lanes)?,
            groups,
            lanes,
        })
    }

    /// Takes in rows by the [numbers] of their groups.
    pub fn take(&mut self, numbers: &[u32]) {
        let table = self.groups + 1;
        ask_for(&self.counts, 1, numbers);
        let mut add = |lane: usize, number: u32| {
            if let Some(count) = self.counts.get_mut(lane * table + number as usize) {
                *count += 1;
            }
        };
        if self.lanes == 1 {
            return numbers.iter().for_each(|number| add(0, *number));
        }
        let (blocks, rest) = numbers.as_chunks::<BLOCK>();
        for block in blocks {
            for (lane, number) in block.iter().enumerate() {
                add(lane, *number);
            }
        }
        rest.iter().for_each(|number| add(0, *number));
    }

    /// Takes in those of other rows.
    pub fn merge(&mut self, other: &Self) {
        for (count, other) in self.counts.iter_mut().zip(&other.counts) {
            *count += other;
        }
    }

    pub fn of(&self, group: usize) -> u64 {
        let lanes = (0..self.lanes).map(|lane| lane * (self.groups + 1) + group);
        lanes.map(|place| self.counts[place]).sum()
    }
}

/// What is kept of the cells of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupTotal {
    /// Their sum, and what was rounded away.
    Sum,
    /// The least; NaN if one is.
    Least,
    Greatest,
}

/// A total of each group and column.
#[derive(Debug, Clone)]
pub struct GroupTotals {
    total: GroupTotal,
    width: usize,
    /// The totals of a group side by side; after those, of sums, what was rounded away from each. The last group is none.
    cells: Vec<f64>,
}

impl GroupTotals {
    /// # Errors
    /// `memory` when there is none for so many.
    pub fn new(total: GroupTotal, groups: usize, width: usize) -> Result<Self> {
        let (parts, start) = match total {
            GroupTotal::Sum => (2, 0.0),
            GroupTotal::Least => (1, f64::INFINITY),
            GroupTotal::Greatest => (1, f64::NEG_INFINITY),
        };
        let cells = memory::cells(groups + 1, memory::cells(parts, width)?)?;
        let cells = match total {
            GroupTotal::Sum => memory::zeros(cells)?,
            GroupTotal::Least | GroupTotal::Greatest => memory::filled(cells, start)?,
        };
        Ok(GroupTotals {
            total,
            width,
            cells,
        })
    }

    /// Cells from a group to the next.
    fn per_group(&self) -> usize {
        match self.total {
            GroupTotal::Sum => 2 * self.width,
            GroupTotal::Least | GroupTotal::Greatest => self.width,
        }
    }

    /// Takes in rows, by the [numbers] of their groups, of up to [`MOST_COLUMNS`] columns: as many as the table has.
    pub fn take_columns(&mut self, numbers: &[u32], columns: &[&[f64]]) {
        debug_assert_eq!(columns.len(), self.width);
        ask_for(&self.cells, self.per_group(), numbers);
        vectorized(TakeColumns {
            totals: self,
            numbers,
            columns,
        });
    }

    /// Takes in rows, by the [numbers] of their groups: of each `width` cells, the first one in the column `first`, `stride`
    /// cells apart.
    pub fn take_rows(
        &mut self,
        numbers: &[u32],
        (first, width): (usize, usize),
        rows: &[f64],
        stride: usize,
    ) {
        ask_for(&self.cells, self.per_group(), numbers);
        vectorized(TakeRows {
            totals: self,
            numbers,
            columns: first..first + width,
            rows,
            stride,
        });
    }

    /// Takes in those of the rows that follow.
    pub fn merge(&mut self, other: &Self) {
        let width = self.width.max(1);
        match self.total {
            GroupTotal::Sum => {
                let groups = self.cells.chunks_exact_mut(2 * width);
                for (group, other) in groups.zip(other.cells.chunks_exact(2 * width)) {
                    let (totals, errors) = group.split_at_mut(width);
                    let (other, rounded) = other.split_at(width);
                    add(totals, errors, other);
                    for (error, rounded) in errors.iter_mut().zip(rounded) {
                        *error += rounded;
                    }
                }
            }
            GroupTotal::Least | GroupTotal::Greatest => {
                let better = self.better();
                for (extreme, other) in self.cells.iter_mut().zip(&other.cells) {
                    *extreme = better(*extreme, *other);
                }
            }
        }
    }

    /// The total of a group that has rows.
    pub fn result(&self, group: usize, column: usize) -> f64 {
        let place = group * self.per_group() + column;
        let total = self.cells[place];
        match self.total {
            GroupTotal::Sum => {
                let error = self.cells[place + self.width];
                // Infinite and NaN sums leave no meaningful error.
                if error.is_finite() {
                    total + error
                } else {
                    total
                }
            }
            GroupTotal::Least | GroupTotal::Greatest => total,
        }
    }

    fn better(&self) -> fn(f64, f64) -> f64 {
        match self.total {
            GroupTotal::Greatest => maximum,
            GroupTotal::Least | GroupTotal::Sum => minimum,
        }
    }
}

#[inline(always)]
fn add(totals: &mut [f64], errors: &mut [f64], cells: &[f64]) {
    for ((total, error), cell) in totals.iter_mut().zip(errors).zip(cells) {
        let (sum, rounded) = two_sum(*total, *cell);
        *total = sum;
        *error += rounded;
    }
}

struct TakeColumns<'a> {
    totals: &'a mut GroupTotals,
    numbers: &'a [u32],
    columns: &'a [&'a [f64]],
}

impl TakeColumns<'_> {
    /// Cells are turned into rows a block at a time, so that a vector of them meets a vector of totals.
    #[inline(always)]
    fn of<const WIDTH: usize>(self, take: impl Fn(&mut [f64], &[f64; WIDTH])) {
        let per_group = self.totals.per_group();
        let table = &mut self.totals.cells;
        let mut take = |number: u32, cells: &[f64; WIDTH]| {
            let from = number as usize * per_group;
            if let Some(group) = table.get_mut(from..from + per_group) {
                take(group, cells);
            }
        };
        let Some(columns) = self.columns.first_chunk::<WIDTH>() else {
            return;
        };
        let rows = self.numbers.len();
        if columns.iter().any(|column| column.len() < rows) {
            return;
        }
        let blocks = columns.map(|column| column[..rows].as_chunks::<BLOCK>());
        let (numbers, rest) = self.numbers.as_chunks::<BLOCK>();
        for (at, numbers) in numbers.iter().enumerate() {
            let mut block = [[0.0; WIDTH]; BLOCK];
            for (column, (blocks, _)) in blocks.iter().enumerate() {
                if let Some(cells) = blocks.get(at) {
                    for (row, cell) in cells.iter().enumerate() {
                        block[row][column] = *cell;
                    }
                }
            }
            for (number, cells) in numbers.iter().zip(&block) {
                take(*number, cells);
            }
        }
        for (at, number) in rest.iter().enumerate() {
            take(*number, &blocks.map(|(_, rest)| rest[at]));
        }
    }

    #[inline(always)]
    fn with_width<const WIDTH: usize>(self) {
        match self.totals.total {
            GroupTotal::Sum => self.of::<WIDTH>(|group, cells| {
                let (totals, errors) = group.split_at_mut(WIDTH);
                let chunks = (totals.first_chunk_mut(), errors.first_chunk_mut());
                if let (Some(totals), Some(errors)) = chunks {
                    let (totals, errors): (&mut [f64; WIDTH], &mut [f64; WIDTH]) = (totals, errors);
                    add(totals, errors, cells);
                }
            }),
            GroupTotal::Least => self.of::<WIDTH>(|group, cells| {
                for (extreme, cell) in group.iter_mut().zip(cells) {
                    *extreme = minimum(*extreme, *cell);
                }
            }),
            GroupTotal::Greatest => self.of::<WIDTH>(|group, cells| {
                for (extreme, cell) in group.iter_mut().zip(cells) {
                    *extreme = maximum(*extreme, *cell);
                }
            }),
        }
    }
}

impl Work for TakeColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.columns.len() {
            1 => self.with_width::<1>(),
            2 => self.with_width::<2>(),
            3 => self.with_width::<3>(),
            4 => self.with_width::<4>(),
            5 => self.with_width::<5>(),
            6 => self.with_width::<6>(),
            7 => self.with_width::<7>(),
            MOST_COLUMNS => self.with_width::<MOST_COLUMNS>(),
            other => debug_assert!(other == 0, "{other} columns are taken in together"),
        }
    }
}

struct TakeRows<'a> {
    totals: &'a mut GroupTotals,
    numbers: &'a [u32],
    columns: Range<usize>,
    rows: &'a [f64],
    stride: usize,
}

impl Work for TakeRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (total, per_group) = (self.totals.total, self.totals.per_group());
        let errors = self.totals.width;
        for (row, number) in self.numbers.iter().enumerate() {
            let group = *number as usize * per_group;
            let cells = self.rows.get(row * self.stride..);
            let cells = cells.and_then(|cells| cells.get(..self.columns.len()));
            let group = self.totals.cells.get_mut(group..group + per_group);
            let (Some(cells), Some(group)) = (cells, group) else {
                continue;
            };
            match total {
                GroupTotal::Sum => {
                    let (totals, errors) = group.split_at_mut(errors);
                    let columns = self.columns.clone();
                    add(&mut totals[columns.clone()], &mut errors[columns], cells);
                }
                GroupTotal::Least => {
                    for (extreme, cell) in group[self.columns.clone()].iter_mut().zip(cells) {
                        *extreme = minimum(*extreme, *cell);
                    }
                }
                GroupTotal::Greatest => {
                    for (extreme, cell) in group[self.columns.clone()].iter_mut().zip(cells) {
                        *extreme = maximum(*extreme, *cell);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::super::chance::Random, *};

    #[test]
    fn rows_without_a_group_have_the_number_after_the_last() {
        let groups = [
            1.0,
            3.9,
            3.0,
            4.0,
            0.5,
            0.0,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            1e30,
            2.0,
        ];
        let mut found = [0; 11];
        numbers(&groups, 0..3, &mut found);
        assert_eq!(found, [0, 2, 2, 3, 3, 3, 3, 3, 3, 3, 1]);
        numbers(&groups, 1..3, &mut found);
        assert_eq!(found, [2, 1, 1, 2, 2, 2, 2, 2, 2, 2, 0]);
        numbers(&[1.0, 2.0], 0..0, &mut found[..2]);
        assert_eq!(found[..2], [0, 0]);
    }

    #[test]
    fn cells_are_taken_in_as_by_a_loop() {
        for width in 1..=MOST_COLUMNS {
            for rows in [0, 1, 3, 4, 7, 1001] {
                let mut random = Random(rows as u64 + 7);
                let numbers: Vec<u32> = (0..rows).map(|_| random.below(4) as u32).collect();
                let cell = |_| random.below(1 << 30) as f64 / 7.0 - 1e7;
                let cells: Vec<f64> = (0..rows * width).map(cell).collect();
                let columns: Vec<&[f64]> = match rows {
                    0 => vec![&[]; width],
                    _ => cells.chunks(rows).collect(),
                };
                let turned: Vec<f64> = (0..rows)
                    .flat_map(|row| columns.iter().map(move |column| column[row]))
                    .collect();
                let mut counts = GroupCounts::new(3).unwrap();
                counts.take(&numbers);
                for total in [GroupTotal::Sum, GroupTotal::Least, GroupTotal::Greatest] {
                    let new = || GroupTotals::new(total, 3, width).unwrap();
                    let (mut by_column, mut by_row, mut merged) = (new(), new(), new());
                    by_column.take_columns(&numbers, &columns);
                    by_row.take_rows(&numbers, (0, width), &turned, width);
                    let half = rows / 2;
                    let halves = columns.iter().map(|column| &column[..half]);
                    merged.take_columns(&numbers[..half], &halves.collect::<Vec<_>>());
                    let mut rest = new();
                    rest.take_rows(&numbers[half..], (0, width), &turned[half * width..], width);
                    merged.merge(&rest);
                    for group in 0..3 {
                        let of = |number: &u32| *number as usize == group;
                        let count = numbers.iter().filter(|number| of(number)).count();
                        assert_eq!(counts.of(group), count as u64);
                        for (at, column) in columns.iter().enumerate() {
                            let members = column.iter().zip(&numbers);
                            let members = members.filter(|(_, number)| of(number));
                            let members = members.map(|(cell, _)| *cell);
                            let expected = match total {
                                GroupTotal::Sum => {
                                    let mut sum = (0.0, 0.0);
                                    for cell in members {
                                        let (total, error) = two_sum(sum.0, cell);
                                        sum = (total, sum.1 + error);
                                    }
                                    sum.0 + sum.1
                                }
                                GroupTotal::Least => members.fold(f64::INFINITY, f64::min),
                                GroupTotal::Greatest => members.fold(f64::NEG_INFINITY, f64::max),
                            };
                            let what = format!("{total:?} of {rows} x {width}");
                            assert_eq!(by_column.result(group, at), expected, "{what}");
                            assert_eq!(by_row.result(group, at), expected, "{what}");
                            let merged = merged.result(group, at);
                            let is_close = (merged - expected).abs() <= expected.abs() * 1e-15;
                            assert!(merged == expected || is_close, "{what}");
                        }
                    }
                }
            }
        }
    }
}
