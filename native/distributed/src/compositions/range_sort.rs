//! Sorting keys that do not fit the driver, by ranges (regular sampling, as in PSRS): a few quantiles of each stripe
//! give the bounds of ranges, keys travel to the stripe of their range, and stripes sort their own.

use fulgurite_dataflow::{Assemble, Dataset, DistributedMatrix, Pieces, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Formulas, HopId};
use fulgurite_matrix::MatrixBlock;

use super::{routes::Routed, size};
use crate::{row_wise::Slot, task_builder::TaskBuilder, workers::Workers};

/// Quantiles that are taken of each stripe.
const SAMPLES: u64 = 4;
/// At most so many ranges. Only keys and row numbers are sorted in them, which are narrow.
const MOST_RANGES: u64 = 256;

/// Columns of a matrix to sort its rows by, the first one first.
pub(super) struct Keys<'a> {
    pub(super) workers: &'a Workers<'a>,
    pub(super) label: &'a str,
    pub(super) matrix: &'a DistributedMatrix,
    /// From 1.
    pub(super) by: &'a [u64],
    pub(super) decreasing: bool,
}

/// The sorted keys with the numbers of their rows beside them.
pub(super) struct Sorted<'a> {
    keys: &'a Keys<'a>,
    rows: DistributedMatrix,
}

impl<'a> Keys<'a> {
    /// Rows with equal keys keep their order.
    ///
    /// # Errors
    /// `memory`, where samples do not fit the driver; of the backend.
    pub(super) fn sort(&'a self) -> Result<Sorted<'a>> {
        let bounds = self.bounds()?;
        let ranges = bounds.len() as u64 + 1;
        let mut builder = TaskBuilder::new(self.workers, self.matrix);
        let mut cells = self.columns(&mut builder);
        let first = first(&cells)?;
        cells.push(row_numbers(&mut builder));
        cells.push(self.range_of(&mut builder, first, bounds)?);
        let root = builder.side_by_side(cells);
        let pieces = Pieces::Named { targets: ranges };
        let arrived = builder.shuffle(root, pieces, ranges, Assemble::Below, self.label)?;
        let width = self.by.len() as u64 + 1;
        let unordered = self.narrow(arrived, width);
        let mut builder = TaskBuilder::new(self.workers, &unordered);
        let root = self.ordered(&mut builder)?;
        let sorted = builder.map(root, self.label)?;
        Ok(Sorted {
            keys: self,
            rows: self.workers.placed(&sorted)?,
        })
    }

    /// Where the first key's ranges end, but for the last one; ascending.
    fn bounds(&self) -> Result<Vec<f64>> {
        let rows = size(self.matrix.stripes.rows)?;
        let ranges = rows
            .div_ceil(self.workers.config.blocksize)
            .clamp(1, MOST_RANGES);
        let shares = (0..SAMPLES).map(|sample| (sample as f64 + 0.5) / SAMPLES as f64);
        let shares = MatrixBlock::dense(SAMPLES as usize, 1, shares.collect::<Vec<_>>())?;
        let mut builder = TaskBuilder::new(self.workers, self.matrix);
        let first = first(&self.columns(&mut builder))?;
        let probabilities = builder.bind(Slot::Whole, &Variable::matrix(shares))?;
        let root = builder.quantiles(first, probabilities);
        let samples = builder.map(root, self.label)?;
        let samples = self.workers.placed(&samples)?;
        let (bytes, limit) = (
            size(samples.stripes.rows)? * 8,
            self.workers.config.memory_local,
        );
        if bytes > limit {
            return Err(Error::memory(format!(
                "ordering {rows} rows takes {bytes} bytes of the driver for samples of their keys, and fulgurite.memory.local is {limit}"
            ))
            .with_help("raise fulgurite.memory.local"));
        }
        let samples = samples.collect()?;
        let mut samples = samples.block().to_dense()?.into_vec()?;
        samples.retain(|sample| !sample.is_nan());
        samples.sort_by(f64::total_cmp);
        let bound = |range: u64| {
            let at = samples.len() as u64 * range / ranges;
            samples.get(at as usize).copied()
        };
        let mut bounds: Vec<f64> = (1..ranges).filter_map(bound).collect();
        bounds.dedup();
        Ok(bounds)
    }

    fn columns(&self, builder: &mut TaskBuilder) -> Vec<HopId> {
        let stripe = builder.lead();
        self.by
            .iter()
            .map(|column| {
                let column = builder.int(*column);
                builder.columns(stripe, column, column)
            })
            .collect()
    }

    /// The number of the range that a key is in, from 0: how many bounds are below it. NaN is above all of them.
    fn range_of(&self, builder: &mut TaskBuilder, key: HopId, bounds: Vec<f64>) -> Result<HopId> {
        let last = builder.number(bounds.len() as f64);
        let above = match bounds.len() {
            0 => builder.is_nan(key),
            count => {
                let bounds = Variable::matrix(MatrixBlock::dense(1, count, bounds)?);
                let bounds = builder.bind(Slot::Whole, &bounds)?;
                let above = builder.outer(key, bounds, ">");
                builder.sums_of_rows(above)
            }
        };
        let is_nan = builder.is_nan(key);
        let range = builder.if_else(is_nan, last, above);
        Ok(match self.decreasing {
            true => builder.minus(last, range),
            false => range,
        })
    }

    /// The stripe, in the order of all keys, which are its first columns.
    fn ordered(&self, builder: &mut TaskBuilder) -> Result<HopId> {
        let count = self.by.len();
        let by = (1..=count).map(|column| column as f64);
        let by = Variable::matrix(MatrixBlock::dense(1, count, by.collect::<Vec<_>>())?);
        let by = builder.bind(Slot::Whole, &by)?;
        let stripe = builder.lead();
        Ok(builder.in_given_order(stripe, by, self.decreasing))
    }

    fn narrow(&self, dataset: std::sync::Arc<Dataset>, width: u64) -> DistributedMatrix {
        let known =
            fulgurite_hop::Characteristics::new(self.matrix.stripes.rows, Some(width), None);
        DistributedMatrix::new(dataset, known)
    }
}

impl Sorted<'_> {
    /// The numbers (from 1) of the rows in their order.
    pub(super) fn permutation(&self) -> Result<Variable> {
        let mut builder = TaskBuilder::new(self.keys.workers, &self.rows);
        let root = self.numbers(&mut builder);
        let permutation = builder.map(root, self.keys.label)?;
        Ok(Variable::Distributed(self.keys.narrow(permutation, 1)))
    }

    /// For each row its place (from 0) in the order.
    pub(super) fn ranks(&self) -> Result<Variable> {
        let (workers, label) = (self.keys.workers, self.keys.label);
        let rows = size(self.rows.stripes.rows)?;
        let mut builder = TaskBuilder::new(workers, &self.rows);
        let numbers = self.numbers(&mut builder);
        let one = builder.int(1);
        let places = builder.minus(numbers, one);
        let ranks = row_numbers(&mut builder);
        let ranks = builder.minus(ranks, one);
        let routed = Routed::new(workers, &mut builder, &[numbers, ranks], places, rows);
        let arrived = self.keys.narrow(routed.shuffle(builder, label)?, 2);
        let mut builder = TaskBuilder::new(workers, &arrived);
        let (stripe, one, two) = (builder.lead(), builder.int(1), builder.int(2));
        let ordered = builder.in_order(stripe, one);
        let root = builder.columns(ordered, two, two);
        let placed = workers.placed(&builder.map(root, label)?)?;
        Ok(Variable::Distributed(placed))
    }

    fn numbers(&self, builder: &mut TaskBuilder) -> HopId {
        let stripe = builder.lead();
        let last = builder.int(self.keys.by.len() as u64 + 1);
        builder.columns(stripe, last, last)
    }
}

/// # Errors
/// `argument`, where rows are to be sorted by no column.
fn first(keys: &[HopId]) -> Result<HopId> {
    let first = keys.first().copied();
    first.ok_or_else(|| Error::argument("rows are ordered by at least one column"))
}

/// The numbers (from 1) of the stripe's rows in the matrix.
pub(super) fn row_numbers(builder: &mut TaskBuilder) -> HopId {
    let (first, last) = builder.first_and_last_row();
    let one = builder.int(1);
    builder.sequence(first, last, one)
}
