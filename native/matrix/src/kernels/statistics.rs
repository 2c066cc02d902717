//! Statistics of column vectors: moments, order statistics, and aggregates by group; optionally weighted,
//! a weight standing for so many equal observations.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::{
    aggregate::{Accumulator, Sum},
    index::{IndexRange, right_index},
    radix::{at_places, rank, sorted},
    results::shape,
};
use crate::{
    DenseMatrix, Interrupt, MatrixBlock, memory,
    parallel::{TASK_CELLS, cells, extent_of_cells, reduction_tasks, row_tasks},
    vector_math::{maximum, minimum},
};

/// A value and its weight.
type Observation = (f64, f64);

fn observations(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<Vec<Observation>> {
    let (values, weights) = columns(values, weights)?;
    let values = values.values().iter().copied();
    match &weights {
        Some(weights) => memory::collected(values.zip(weights.values().iter().copied())),
        None => memory::collected(values.map(|value| (value, 1.0))),
    }
}

/// Values, and a weight for each.
fn columns(
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
) -> Result<(DenseMatrix, Option<DenseMatrix>)> {
    let (values, weights) = (column(values)?, weights.map(column).transpose()?);
    match &weights {
        Some(weights) if weights.rows() != values.rows() => Err(Error::dimension(format!(
            "{} values have {} weights",
            values.rows(),
            weights.rows()
        ))),
        _ => Ok((values, weights)),
    }
}

/// The cells of a column vector: those of a dense one are shared.
fn column(matrix: &MatrixBlock) -> Result<DenseMatrix> {
    if matrix.cols() != 1 {
        return Err(Error::dimension(format!(
            "a column vector is needed, not a {} matrix",
            shape(matrix)
        )));
    }
    matrix.to_dense()
}

fn total(terms: impl Iterator<Item = f64>) -> f64 {
    let mut sum = Sum::START;
    for term in terms {
        sum.add(term);
    }
    sum.result()
}

/// `moment(values, weights, order)`: the central moment of order 2, 3 or 4, divided by the total weight.
///
/// # Errors
/// `argument` for another order, `dimension` for anything but column vectors of one length.
pub fn central_moment(
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
    order: i64,
) -> Result<f64> {
    let power = match order {
        2..=4 => order as i32,
        _ => {
            return Err(Error::argument(format!(
                "moments are of order 2, 3 or 4, not {order}"
            )));
        }
    };
    Ok(moment_of(&observations(values, weights)?, power))
}

fn moment_of(observations: &[Observation], power: i32) -> f64 {
    let weight = total(observations.iter().map(|(_, weight)| *weight));
    let mean = total(observations.iter().map(|(value, weight)| value * weight)) / weight;
    total(
        observations
            .iter()
            .map(|(value, weight)| weight * (value - mean).powi(power)),
    ) / weight
}

/// `cov(left, right, weights)`: the covariance, divided by the total weight less 1.
///
/// # Errors
/// `dimension` for anything but column vectors of one length.
pub fn covariance(
    left: &MatrixBlock,
    right: &MatrixBlock,
    weights: Option<&MatrixBlock>,
) -> Result<f64> {
    let (left, right) = (observations(left, weights)?, column(right)?);
    let right = right.values();
    if left.len() != right.len() {
        return Err(Error::dimension(format!(
            "the covariance of {} and {} values",
            left.len(),
            right.len()
        )));
    }
    let weight = total(left.iter().map(|(_, weight)| *weight));
    let left_mean = total(left.iter().map(|(value, weight)| value * weight)) / weight;
    let weighted_right = left
        .iter()
        .zip(right)
        .map(|((_, weight), value)| value * weight);
    let right_mean = total(weighted_right) / weight;
    let products = left
        .iter()
        .zip(right)
        .map(|((x, weight), y)| weight * (x - left_mean) * (y - right_mean));
    Ok(total(products) / (weight - 1.0))
}

/// Observations by ascending value, and their total weight.
struct Sorted {
    observations: Vec<Observation>,
    weight: f64,
}

impl Sorted {
    fn new(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<Self> {
        let observations = observations(values, weights)?;
        if observations.is_empty() {
            return Err(Error::dimension(NO_VALUE));
        }
        let observations = sorted(&observations, |(value, _)| rank(*value))?;
        let weight = total(observations.iter().map(|(_, weight)| *weight));
        Ok(Sorted {
            observations,
            weight,
        })
    }

    /// The value of the `rank`-th observation (from 1), counting weights.
    fn at(&self, rank: f64) -> f64 {
        let mut running = 0.0;
        for (value, weight) in &self.observations {
            running += weight;
            if running >= rank {
                return *value;
            }
        }
        self.observations
            .last()
            .map_or(f64::NAN, |(value, _)| *value)
    }
}

const NO_VALUE: &str = "order statistics need at least one value";

/// Observations that are asked for the values of ranks.
enum Ranked {
    Weighted(Sorted),
    /// In any order: selecting ranks takes less time than sorting all.
    Equal(DenseMatrix),
}

impl Ranked {
    fn new(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<Self> {
        if weights.is_some() {
            return Sorted::new(values, weights).map(Ranked::Weighted);
        }
        match column(values)? {
            values if values.rows() == 0 => Err(Error::dimension(NO_VALUE)),
            values => Ok(Ranked::Equal(values)),
        }
    }

    fn weight(&self) -> f64 {
        match self {
            Ranked::Weighted(sorted) => sorted.weight,
            Ranked::Equal(values) => values.rows() as f64,
        }
    }

    /// As [`Sorted::at`], of each rank.
    fn at(&self, ranks: &[f64]) -> Result<Vec<f64>> {
        match self {
            Ranked::Weighted(sorted) => {
                memory::collected(ranks.iter().map(|rank| sorted.at(*rank)))
            }
            Ranked::Equal(values) => {
                let place = |rank: &f64| (rank.ceil() as usize).clamp(1, values.rows()) - 1;
                let places = memory::collected(ranks.iter().map(place))?;
                at_places(values.values(), &places, |value| rank(*value))
            }
        }
    }
}

/// `quantile(values, weights, probabilities)`: the sorted value at rank ceil(p n), without interpolation.
///
/// # Errors
/// `argument` for a probability outside 0 to 1, `dimension` for anything but column vectors.
pub fn quantiles(
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
    probabilities: &[f64],
) -> Result<Vec<f64>> {
    let ranked = Ranked::new(values, weights)?;
    let outside = |probability: &&f64| !(0.0..=1.0).contains(*probability);
    if let Some(probability) = probabilities.iter().find(outside) {
        return Err(Error::argument(format!(
            "a quantile's probability is from 0 to 1, not {probability}"
        )));
    }
    let rank = |probability: &f64| (probability * ranked.weight()).ceil().max(1.0);
    ranked.at(&memory::collected(probabilities.iter().map(rank))?)
}

/// The middle value, or the mean of the two middle ones.
///
/// # Errors
/// `dimension` for anything but column vectors of one length, with at least one value.
pub fn median(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<f64> {
    let ranked = Ranked::new(values, weights)?;
    let half = ranked.weight() / 2.0;
    let middle = match half.floor() == half {
        true => ranked.at(&[half, half + 1.0])?,
        false => ranked.at(&[half.ceil()])?,
    };
    Ok(middle.iter().sum::<f64>() / middle.len() as f64)
}

/// The mean of the central half, whose edges count in part.
///
/// # Errors
/// As [`median`].
pub fn interquartile_mean(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<f64> {
    let sorted = Sorted::new(values, weights)?;
    let (low, high) = (0.25 * sorted.weight, 0.75 * sorted.weight);
    let mut running = 0.0;
    let mut low_edge = None;
    let mut between = Sum::START;
    let mut high_edge = 0.0;
    for (value, weight) in &sorted.observations {
        running += weight;
        if low_edge.is_some() {
            between.add(value * weight);
        } else if running >= low.ceil() {
            low_edge = Some((running - low) * value);
        }
        if low_edge.is_some() && running >= high.ceil() {
            high_edge = (running - high) * value;
            break;
        }
    }
    let low_edge = low_edge.unwrap_or(0.0);
    Ok((between.result() + low_edge - high_edge) / (0.5 * sorted.weight))
}

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

/// The results of tallies, to which `add` adds a range of rows. Each task has a table of them; the tables are merged in
/// the order of tasks.
fn in_tables<T: Tally>(
    rows: usize,
    cells_per_row: usize,
    tallies: usize,
    add: impl Fn(Range<usize>, &mut [T]) + Sync,
) -> Result<Vec<f64>> {
    let mut tasks = reduction_tasks(rows, cells_per_row);
    // Tables are small beside what goes into them, or there is one.
    const TABLES_SHARE: usize = 4;
    if tasks.len().saturating_mul(tallies) > rows.saturating_mul(cells_per_row) / TABLES_SHARE {
        tasks = row_tasks(rows, rows);
    }
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
    fn order_statistics() {
        let iqm = |cells: &[f64]| interquartile_mean(&vector(cells), None).unwrap();
        assert!((iqm(&[9.0, 1.0, 2.0, 3.0, 5.0, 7.0]) - 4.166666666666667).abs() < 1e-12);
        assert!((iqm(&[1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 9.0]) - 4.071428571428571).abs() < 1e-12);
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!((iqm(&ten) - 5.5).abs() < 1e-12);
        let (values, weights) = (vector(&[3.0, 1.0]), vector(&[1.0, 3.0]));
        assert_eq!(median(&values, None).unwrap(), 2.0);
        assert_eq!(median(&values, Some(&weights)).unwrap(), 1.0);
        assert_eq!(median(&vector(&[3.0, 1.0, 9.0]), None).unwrap(), 3.0);
        let quantiles = quantiles(&vector(&ten), None, &[0.0, 0.25, 0.5, 1.0]).unwrap();
        assert_eq!(quantiles, [1.0, 3.0, 5.0, 10.0]);
        assert!(super::quantiles(&vector(&ten), None, &[1.5]).is_err());
        assert!(median(&vector(&[]), None).is_err());
    }

    #[test]
    fn moments_and_covariance() {
        let values = vector(&[1.0, 2.0, 4.0]);
        let repeated = vector(&[1.0, 2.0, 2.0, 4.0, 4.0, 4.0]);
        let weights = vector(&[1.0, 2.0, 3.0]);
        for order in 2..=4 {
            let weighted = central_moment(&values, Some(&weights), order).unwrap();
            let plain = central_moment(&repeated, None, order).unwrap();
            assert!((weighted - plain).abs() < 1e-12);
        }
        assert!(central_moment(&values, None, 5).is_err());
        let covariance = covariance(&values, &vector(&[2.0, 4.0, 8.0]), None).unwrap();
        assert!((covariance - 2.0 * 7.0 / 3.0).abs() < 1e-12);
        assert!(super::covariance(&values, &repeated, None).is_err());
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

    #[test]
    fn order_statistics_of_special_cells_and_of_weights() {
        let nan = [f64::NAN, 2.0, -0.0, 0.0, f64::INFINITY];
        let found = quantiles(&vector(&nan), None, &[0.2, 0.4, 0.6, 0.8, 1.0]).unwrap();
        assert_eq!(
            bits(&found),
            bits(&[-0.0, 0.0, 2.0, f64::INFINITY, f64::NAN])
        );
        let mut random = Random(9);
        let values: Vec<f64> = (0..90_001).map(|_| random.below(5000) as f64).collect();
        let ones = MatrixBlock::filled(values.len(), 1, 1.0).unwrap();
        let values = vector(&values);
        let tenths: Vec<f64> = (0..=10).map(|tenth| f64::from(tenth) / 10.0).collect();
        let weighted = quantiles(&values, Some(&ones), &tenths).unwrap();
        assert_eq!(quantiles(&values, None, &tenths).unwrap(), weighted);
        assert_eq!(median(&values, None), median(&values, Some(&ones)));
        assert_eq!(quantiles(&values, None, &[]).unwrap(), [0.0; 0]);
    }
}
