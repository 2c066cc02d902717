//! `aggregate`: something of the values of each group.

pub mod tables;

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use self::tables::{GroupCounts, GroupTotal, GroupTotals};
use super::{
    aggregate::{Accumulator, Sum},
    index::{IndexRange, right_index},
    results::shape,
    statistics::{Observation, column, columns, moment_of, observations, total},
};
use crate::{
    Interrupt, MatrixBlock, memory,
    parallel::{TASK_CELLS, cells, extent_of_cells, reduction_tasks, row_tasks},
    vector_math::{maximum, minimum},
};

/// What is computed of each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupFunction {
    Sum,
    Count,
    Mean,
    /// Of values times weights.
    Min,
    /// Of values times weights.
    Max,
    Variance,
    /// Of order 2, 3 or 4.
    CentralMoment(i64),
}

/// `aggregate(target, groups, fn, weights, ngroups)`: a row for each group 1, 2, ...; 0 where nobody is in
/// it. Without `group_count` there are as many as the largest group says; larger ones are dropped. Each
/// column of the target is aggregated.
///
/// # Errors
/// `dimension` where lengths differ, `runtime` for a group below 1.
pub fn grouped_aggregate(
    target: &MatrixBlock,
    groups: &MatrixBlock,
    weights: Option<&MatrixBlock>,
    function: GroupFunction,
    group_count: Option<usize>,
) -> Result<MatrixBlock> {
    let (count, groups) = (group_count_of(groups, group_count)?, column(groups)?);
    let groups = Groups {
        cells: groups.values(),
        count,
    };
    let rows = groups.cells.len();
    if rows != target.rows() {
        return Err(Error::dimension(format!(
            "a {} matrix is aggregated by {rows} groups",
            shape(target),
        )));
    }
    if target.cols() > 1 && (function != GroupFunction::Sum || weights.is_some()) {
        return by_columns(target, count, |column| {
            groups.aggregated(column, weights, function)
        });
    }
    if target.cols() > 1 {
        let cols = target.cols();
        let target = target.to_dense()?;
        let add = |task: Range<usize>, sums: &mut [TotalOf]| {
            for row in task {
                if let Some(group) = groups.of(groups.cells[row]) {
                    let sums = &mut sums[group * cols..(group + 1) * cols];
                    for (sum, value) in sums.iter_mut().zip(target.row(row)) {
                        sum.add(*value, 1.0);
                    }
                }
            }
        };
        let sums = in_tables(rows, cols, cells(count, cols)?, add)?;
        return MatrixBlock::dense(count, cols, sums);
    }
    let values = groups.aggregated(target, weights, function)?;
    MatrixBlock::dense(count, 1, values)
}

/// What is computed of each column, side by side.
fn by_columns(
    target: &MatrixBlock,
    rows: usize,
    aggregated: impl Fn(&MatrixBlock) -> Result<Vec<f64>>,
) -> Result<MatrixBlock> {
    let cols = target.cols();
    let mut result = memory::filled(cells(rows, cols)?, 0.0)?;
    for col in 0..cols {
        let place = IndexRange::new(col as i64 + 1, col as i64 + 1);
        let all = IndexRange::new(1, target.rows() as i64);
        let column = right_index(target, all, place)?;
        for (row, value) in aggregated(&column)?.into_iter().enumerate() {
            result[row * cols + col] = value;
        }
    }
    MatrixBlock::dense(rows, cols, result)
}

/// Beyond it a table of groups is larger than memory can be.
const MOST_GROUPS: f64 = isize::MAX as f64 / 16.0;

/// As many as the caller says, or as the largest group.
fn group_count_of(groups: &MatrixBlock, given: Option<usize>) -> Result<usize> {
    if let Some(count) = given {
        return Ok(count);
    }
    let extent = groups.extent_by(extent_of_cells);
    if groups.rows() == 0 {
        return Ok(0);
    }
    if !extent.has_nan && extent.least >= 1.0 && extent.greatest < MOST_GROUPS {
        return Ok(extent.greatest as usize);
    }
    let groups = column(groups)?;
    let is_group = |group: &&f64| (1.0..MOST_GROUPS).contains(*group);
    let wrong = groups.values().iter().find(|group| !is_group(group));
    Err(Error::runtime(format!(
        "aggregate needs groups from 1 on, not {}",
        wrong.unwrap_or(&extent.least)
    )))
}

/// The group of each row, from 1 to so many; other rows are in none.
struct Groups<'a> {
    cells: &'a [f64],
    count: usize,
}

impl Groups<'_> {
    /// The group of a cell, from 0.
    #[inline(always)]
    fn of(&self, cell: f64) -> Option<usize> {
        // Comparisons with NaN are false. Of what is at least 1, the integer is the floor. Processors have an instruction
        // for signed integers.
        match cell >= 1.0 {
            true => Some(cell as i64 as usize - 1).filter(|group| *group < self.count),
            false => None,
        }
    }

    /// One aggregate of each group of a column.
    fn aggregated(
        &self,
        target: &MatrixBlock,
        weights: Option<&MatrixBlock>,
        function: GroupFunction,
    ) -> Result<Vec<f64>> {
        if weights.is_none() && self.count < tables::MOST_NUMBERED {
            match function {
                GroupFunction::Count => return self.counted(),
                GroupFunction::Sum => return self.summed(column(target)?.values()),
                _ => {}
            }
        }
        match function {
            GroupFunction::Sum => self.tallied::<TotalOf>(target, weights),
            GroupFunction::Count => self.tallied::<WeightOf>(target, weights),
            GroupFunction::Mean => self.tallied::<MeanOf>(target, weights),
            GroupFunction::Min => self.tallied::<ExtremeOf<false>>(target, weights),
            GroupFunction::Max => self.tallied::<ExtremeOf<true>>(target, weights),
            GroupFunction::Variance => self.moments(target, weights, |members, weight| {
                moment_of(members, 2) * weight / (weight - 1.0)
            }),
            GroupFunction::CentralMoment(order @ 2..=4) => {
                self.moments(target, weights, |members, _| {
                    moment_of(members, order as i32)
                })
            }
            GroupFunction::CentralMoment(order) => Err(Error::argument(format!(
                "moments are of order 2, 3 or 4, not {order}"
            ))),
        }
    }

    fn counted(&self) -> Result<Vec<f64>> {
        let new = |groups: usize| GroupCounts::new(groups);
        let take = |counts: &mut GroupCounts, numbers: &[u32], _: Range<usize>| {
            counts.take(numbers);
        };
        let parts = self.by_numbers(new, take, GroupCounts::merge)?;
        let counts = parts
            .iter()
            .flat_map(|(groups, counts)| (0..*groups).map(|group| counts.of(group) as f64));
        let mut results = memory::room(self.count)?;
        results.extend(counts);
        Ok(results)
    }

    fn summed(&self, values: &[f64]) -> Result<Vec<f64>> {
        let new = |groups: usize| GroupTotals::new(GroupTotal::Sum, groups, 1);
        let take = |totals: &mut GroupTotals, numbers: &[u32], rows: Range<usize>| {
            totals.take_columns(numbers, &[&values[rows]]);
        };
        let parts = self.by_numbers(new, take, GroupTotals::merge)?;
        let sums = parts
            .iter()
            .flat_map(|(groups, totals)| (0..*groups).map(|group| totals.result(group, 0)));
        let mut results = memory::room(self.count)?;
        results.extend(sums);
        Ok(results)
    }

    /// Tables of groups, each with how many it has, one after the other.
    fn by_numbers<T: Send>(
        &self,
        new: impl Fn(usize) -> Result<T> + Sync,
        take: impl Fn(&mut T, &[u32], Range<usize>) + Sync,
        merge: impl Fn(&mut T, &T),
    ) -> Result<Vec<(usize, T)>> {
        /// Rows whose numbers, and cells, stay in the first-level cache.
        const STRETCH: usize = 1024;
        let (length, interrupt) = (self.cells.len(), Interrupt::current());
        let of = |rows: Range<usize>, groups: Range<usize>| {
            let mut table = new(groups.len())?;
            let mut numbers = [0; STRETCH];
            for (at, from) in rows.clone().step_by(STRETCH).enumerate() {
                if at % (TASK_CELLS / STRETCH) == 0 {
                    interrupt.check()?;
                }
                let stretch = from..rows.end.min(from + STRETCH);
                let numbers = &mut numbers[..stretch.len()];
                tables::numbers(&self.cells[stretch.clone()], groups.clone(), numbers);
                take(&mut table, numbers, stretch);
            }
            Ok(table)
        };
        let threads = rayon::current_num_threads();
        match GroupTasks::new(length, 1, self.count, threads) {
            GroupTasks::Rows(tasks) => {
                let parts = tasks.into_par_iter().map(|rows| of(rows, 0..self.count));
                let mut parts = parts.collect::<Result<Vec<T>>>()?.into_iter();
                let mut all = parts.next().map_or_else(|| new(self.count), Ok)?;
                parts.for_each(|part| merge(&mut all, &part));
                Ok(vec![(self.count, all)])
            }
            GroupTasks::Groups(parts) => {
                let parts = parts.into_par_iter().map(|groups| {
                    let count = groups.len();
                    Ok((count, of(0..length, groups)?))
                });
                parts.collect()
            }
        }
    }

    fn tallied<T: Tally>(
        &self,
        values: &MatrixBlock,
        weights: Option<&MatrixBlock>,
    ) -> Result<Vec<f64>> {
        let (values, weights) = columns(values, weights)?;
        let (rows, values) = (self.cells.len(), values.values());
        // A loop of its own for each, in which a weight of 1 costs nothing.
        match &weights {
            None => in_tables(rows, 1, self.count, |task, tallies: &mut [T]| {
                for (cell, value) in self.cells[task.clone()].iter().zip(&values[task]) {
                    if let Some(group) = self.of(*cell) {
                        tallies[group].add(*value, 1.0);
                    }
                }
            }),
            Some(weights) => {
                let weights = weights.values();
                in_tables(rows, 1, self.count, |task, tallies: &mut [T]| {
                    let observations = values[task.clone()].iter().zip(&weights[task.clone()]);
                    for (cell, (value, weight)) in self.cells[task].iter().zip(observations) {
                        if let Some(group) = self.of(*cell) {
                            tallies[group].add(*value, *weight);
                        }
                    }
                })
            }
        }
    }

    /// What `moment` says of the members of each group and their total weight; 0 of fewer than two.
    fn moments(
        &self,
        values: &MatrixBlock,
        weights: Option<&MatrixBlock>,
        moment: impl Fn(&[Observation], f64) -> f64,
    ) -> Result<Vec<f64>> {
        let observations = observations(values, weights)?;
        let mut groups: Vec<Vec<Observation>> = memory::filled(self.count, Vec::new())?;
        for (cell, observation) in self.cells.iter().zip(observations) {
            if let Some(group) = self.of(*cell) {
                groups[group].push(observation);
            }
        }
        let moments = groups.iter().map(|members| match members.as_slice() {
            [] | [_] => 0.0,
            members => moment(members, total(members.iter().map(|(_, weight)| *weight))),
        });
        memory::collected(moments)
    }
}

/// What is kept of the rows of a group.
trait Tally: Copy + Send + Sync {
    const START: Self;
    fn add(&mut self, value: f64, weight: f64);
    fn merge(&mut self, other: Self);
    /// 0 of no rows.
    fn result(self) -> f64;
}

/// The sum of values times weights.
#[derive(Clone, Copy)]
struct TotalOf(Sum);

impl Tally for TotalOf {
    const START: Self = TotalOf(Sum::START);

    #[inline(always)]
    fn add(&mut self, value: f64, weight: f64) {
        self.0.add(value * weight);
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    fn result(self) -> f64 {
        self.0.result()
    }
}

/// The sum of weights.
#[derive(Clone, Copy)]
struct WeightOf(Sum);

impl Tally for WeightOf {
    const START: Self = WeightOf(Sum::START);

    #[inline(always)]
    fn add(&mut self, _: f64, weight: f64) {
        self.0.add(weight);
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    fn result(self) -> f64 {
        self.0.result()
    }
}

/// The largest value times its weight, or the smallest; NaN if one is.
#[derive(Clone, Copy)]
struct ExtremeOf<const LARGEST: bool>(Option<f64>);

impl<const LARGEST: bool> Tally for ExtremeOf<LARGEST> {
    const START: Self = ExtremeOf(None);

    #[inline(always)]
    fn add(&mut self, value: f64, weight: f64) {
        let value = value * weight;
        let better = if LARGEST { maximum } else { minimum };
        self.0 = Some(self.0.map_or(value, |extreme| better(extreme, value)));
    }

    fn merge(&mut self, other: Self) {
        if let Some(value) = other.0 {
            self.add(value, 1.0);
        }
    }

    fn result(self) -> f64 {
        self.0.unwrap_or(0.0)
    }
}

/// The mean of values by their weights.
#[derive(Clone, Copy)]
struct MeanOf {
    total: TotalOf,
    weight: WeightOf,
    /// Weights may be zero together.
    any: bool,
}

impl Tally for MeanOf {
    const START: Self = MeanOf {
        total: TotalOf::START,
        weight: WeightOf::START,
        any: false,
    };

    #[inline(always)]
    fn add(&mut self, value: f64, weight: f64) {
        self.total.add(value, weight);
        self.weight.add(value, weight);
        self.any = true;
    }

    fn merge(&mut self, other: Self) {
        self.total.merge(other.total);
        self.weight.merge(other.weight);
        self.any |= other.any;
    }

    fn result(self) -> f64 {
        match self.any {
            true => self.total.result() / self.weight.result(),
            false => 0.0,
        }
    }
}

/// How aggregates by groups are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupTasks {
    /// Rows that have a table each, which are merged in their order.
    Rows(Vec<Range<usize>>),
    /// Groups, counted from 0, that have a table each. All rows pass by each of them.
    Groups(Vec<Range<usize>>),
}

impl GroupTasks {
    /// Cut by shapes, so that bits are: each row has one place in one sum, whichever threads there are. Tables are small beside
    /// what goes into them, or there is one, of which threads have parts.
    pub fn new(rows: usize, cells_per_row: usize, groups: usize, threads: usize) -> Self {
        let cells = rows.saturating_mul(cells_per_row);
        let tasks = tasks(rows, cells_per_row, groups.saturating_mul(cells_per_row));
        if tasks.len() > 1 || threads < 2 || cells < 2 * TASK_CELLS || groups < threads {
            return GroupTasks::Rows(tasks);
        }
        GroupTasks::Groups(row_tasks(groups, groups.div_ceil(threads)))
    }
}

fn tasks(rows: usize, cells_per_row: usize, tallies: usize) -> Vec<Range<usize>> {
    const TABLES_SHARE: usize = 4;
    let tasks = reduction_tasks(rows, cells_per_row);
    let are_small =
        tasks.len().saturating_mul(tallies) <= rows.saturating_mul(cells_per_row) / TABLES_SHARE;
    match are_small {
        true => tasks,
        false => row_tasks(rows, rows),
    }
}

/// The results of tallies, to which `add` adds a range of rows. Each task has a table of them; the tables are merged in
/// the order of tasks.
fn in_tables<T: Tally>(
    rows: usize,
    cells_per_row: usize,
    tallies: usize,
    add: impl Fn(Range<usize>, &mut [T]) + Sync,
) -> Result<Vec<f64>> {
    let tasks = tasks(rows, cells_per_row, tallies);
    let interrupt = Interrupt::current();
    let tables = tasks.into_par_iter().map(|task| {
        let mut table = memory::filled(tallies, T::START)?;
        for from in task.clone().step_by(TASK_CELLS) {
            interrupt.check()?;
            add(from..task.end.min(from + TASK_CELLS), &mut table);
        }
        Ok(table)
    });
    let mut tables = tables.collect::<Result<Vec<Vec<T>>>>()?.into_iter();
    let mut all = tables
        .next()
        .map_or_else(|| memory::filled(tallies, T::START), Ok)?;
    for table in tables {
        for (tally, other) in all.iter_mut().zip(table) {
            tally.merge(other);
        }
    }
    memory::collected(all.into_iter().map(T::result))
}

#[cfg(test)]
mod tests {
    use super::{super::chance::Random, *};

    fn vector(cells: &[f64]) -> MatrixBlock {
        MatrixBlock::dense(cells.len(), 1, cells.to_vec()).unwrap()
    }

    #[test]
    fn groups() {
        let target = vector(&[1.0, 2.0, 3.0, 4.0]);
        let groups = vector(&[1.0, 3.0, 1.9, 3.0]);
        let of = |function, count| {
            grouped_aggregate(&target, &groups, None, function, count)
                .unwrap()
                .to_dense()
                .unwrap()
                .into_vec()
                .unwrap()
        };
        assert_eq!(of(GroupFunction::Sum, None), [4.0, 0.0, 6.0]);
        assert_eq!(of(GroupFunction::Count, Some(4)), [2.0, 0.0, 2.0, 0.0]);
        assert_eq!(of(GroupFunction::Mean, Some(1)), [2.0]);
        assert_eq!(of(GroupFunction::Min, None), [1.0, 0.0, 2.0]);
        assert_eq!(of(GroupFunction::Max, None), [3.0, 0.0, 4.0]);
        assert_eq!(of(GroupFunction::Variance, None), [2.0, 0.0, 2.0]);
        assert_eq!(of(GroupFunction::CentralMoment(2), None), [1.0, 0.0, 1.0]);
        let two = MatrixBlock::dense(2, 2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let same = vector(&[2.0, 2.0]);
        let sums = grouped_aggregate(&two, &same, None, GroupFunction::Sum, Some(2)).unwrap();
        assert_eq!(
            sums.to_dense().unwrap().into_vec().unwrap(),
            [0.0, 0.0, 4.0, 6.0]
        );
        let zero = vector(&[0.0, 1.0, 1.0, 1.0]);
        assert!(grouped_aggregate(&target, &zero, None, GroupFunction::Sum, None).is_err());
    }

    /// Lengths with one task and with many.
    fn lengths() -> impl Iterator<Item = usize> {
        (0..=64).chain([127, 1021, 65_537, 200_003])
    }

    fn on_threads(work: impl Fn() + Sync + Send) {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(&work);
        }
    }

    fn bits(cells: &[f64]) -> Vec<u64> {
        cells.iter().map(|cell| cell.to_bits()).collect()
    }

    #[test]
    fn tallies_of_groups_are_those_of_a_loop() {
        const GROUPS: usize = 7;
        let check = |length: usize| {
            let mut random = Random(length as u64);
            // Sums of quarters are exact, in whatever order. The last group has nobody, or weights of 0 only.
            let cell = |_| (random.below(2001) as f64 - 1000.0) / 4.0;
            let values: Vec<f64> = (0..length).map(cell).collect();
            let groups: Vec<f64> = (0..length)
                .map(|_| 1.0 + random.below(4 * GROUPS as u64 - 4) as f64 / 4.0)
                .collect();
            let weights: Vec<f64> = groups
                .iter()
                .map(|group| (random.below(5) * u64::from(*group < 6.0)) as f64)
                .collect();
            for weights in [None, Some(&weights)] {
                let mut sums = [(0.0, 0.0, false); GROUPS];
                for row in 0..length {
                    let sum = &mut sums[groups[row] as usize - 1];
                    let weight = weights.map_or(1.0, |weights| weights[row]);
                    *sum = (sum.0 + values[row] * weight, sum.1 + weight, true);
                }
                for (function, result) in [
                    (
                        GroupFunction::Sum,
                        (|(sum, ..)| sum) as fn((f64, f64, bool)) -> f64,
                    ),
                    (GroupFunction::Count, |(_, weight, _)| weight),
                    (GroupFunction::Mean, |(sum, weight, any)| match any {
                        true => sum / weight,
                        false => 0.0,
                    }),
                ] {
                    let weights = weights.map(|weights| vector(weights));
                    let (values, groups) = (vector(&values), vector(&groups));
                    let found = grouped_aggregate(
                        &values,
                        &groups,
                        weights.as_ref(),
                        function,
                        Some(GROUPS),
                    );
                    let found = found.unwrap().to_dense().unwrap();
                    for (found, sum) in found.values().iter().zip(sums) {
                        let expected = result(sum);
                        let same = *found == expected || (found.is_nan() && expected.is_nan());
                        assert!(same, "{length} {function:?}: {found} {expected}");
                    }
                    let all = grouped_aggregate(&values, &groups, weights.as_ref(), function, None)
                        .unwrap();
                    let most = groups
                        .values()
                        .iter()
                        .fold(0.0, |most: f64, group| most.max(*group));
                    assert_eq!(all.rows(), most as usize);
                }
            }
        };
        on_threads(|| lengths().for_each(check));
    }

    #[test]
    fn sums_of_groups_are_exact_and_the_same_on_any_number_of_threads() {
        let mut random = Random(3);
        let length = 300_000;
        // Large values that cancel in each group, and small ones that are left.
        let cell = |row: usize| match row % 4 {
            0 => 1e17,
            2 => -1e17,
            _ => 0.25,
        };
        let values: Vec<f64> = (0..length).map(|row| cell(row / 3)).collect();
        let groups: Vec<f64> = (0..length).map(|row| (row % 3) as f64 + 1.0).collect();
        let noise: Vec<f64> = (0..length)
            .map(|_| random.below(1 << 30) as f64 / 7.0)
            .collect();
        let of = |values: &[f64]| {
            let (values, groups) = (vector(values), vector(&groups));
            let sums = grouped_aggregate(&values, &groups, None, GroupFunction::Sum, None);
            sums.unwrap().to_dense().unwrap().into_vec().unwrap()
        };
        let first = bits(&of(&noise));
        on_threads(|| {
            assert_eq!(of(&values), [12_500.0; 3]);
            assert_eq!(bits(&of(&noise)), first);
        });
    }

    #[test]
    fn rows_in_no_group_are_left_out() {
        let odd = [f64::NAN, 0.99, -3.0, f64::INFINITY, 4.0, 1e30, 0.0];
        let length = 140_000;
        let groups: Vec<f64> = (0..length)
            .map(|row| match row % 8 {
                0 => 1.0 + (row / 8 % 3) as f64,
                other => odd[other - 1],
            })
            .collect();
        let of = |values: &MatrixBlock, count| {
            grouped_aggregate(values, &vector(&groups), None, GroupFunction::Sum, count)
        };
        let ones = MatrixBlock::filled(length, 2, 1.0).unwrap();
        let sums = of(&ones, Some(3)).unwrap().to_dense().unwrap();
        let expected = [5834.0, 5834.0, 5833.0, 5833.0, 5833.0, 5833.0];
        assert_eq!(sums.values(), expected);
        let column = MatrixBlock::filled(length, 1, 1.0).unwrap();
        let sums = of(&column, Some(3)).unwrap().to_dense().unwrap();
        assert_eq!(sums.values(), [5834.0, 5833.0, 5833.0]);
        let refused = of(&column, None).unwrap_err();
        assert_eq!(
            refused.message(),
            "aggregate needs groups from 1 on, not NaN"
        );
    }
}
