//! Totals of each column or of each row, which cells are taken into as the basic operators take them: bits are theirs.

use fulgurite_error::Result;
use fulgurite_hop::AggregateOp;
use fulgurite_matrix::kernels::aggregate::{Accumulators, Max, Min, Product, Sums};
use fulgurite_matrix::{MatrixBlock, memory};

use super::{Output, cells_of};
use crate::aggregates::{self, Accumulation};

/// A run of totals of one aggregate.
#[derive(Debug, Clone)]
pub(super) struct VectorTotals {
    op: AggregateOp,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Sums(Sums),
    SumsOfSquares(Sums),
    Products(Vec<Product>),
    Minima(Vec<Min>),
    Maxima(Vec<Max>),
}

/// Does the same with the accumulators of whichever kind, and the function of a cell that is taken into them.
macro_rules! with_each {
    ($kind:expr, ($all:ident, $map:ident) => $done:expr) => {{
        let same = |x: f64| x;
        match $kind {
            Kind::Sums($all) => {
                let $map = same;
                $done
            }
            Kind::SumsOfSquares($all) => {
                let $map = |x: f64| x * x;
                $done
            }
            Kind::Products($all) => {
                let $map = same;
                $done
            }
            Kind::Minima($all) => {
                let $map = same;
                $done
            }
            Kind::Maxima($all) => {
                let $map = same;
                $done
            }
        }
    }};
}

impl VectorTotals {
    /// # Errors
    /// `memory` when there is none for so many.
    pub fn new(op: AggregateOp, count: usize) -> Result<Self> {
        let kind = match aggregates::accumulation(op) {
            Accumulation::Sum => Kind::Sums(Accumulators::start(count)?),
            Accumulation::SumOfSquares => Kind::SumsOfSquares(Accumulators::start(count)?),
            Accumulation::Product => Kind::Products(Accumulators::start(count)?),
            Accumulation::Minimum => Kind::Minima(Accumulators::start(count)?),
            Accumulation::Maximum => Kind::Maxima(Accumulators::start(count)?),
        };
        Ok(Self { op, kind })
    }

    /// One run for each aggregate.
    ///
    /// # Errors
    /// As [`VectorTotals::new`].
    pub fn of_each(ops: &[AggregateOp], count: usize) -> Result<Vec<Self>> {
        ops.iter().map(|op| Self::new(*op, count)).collect()
    }

    /// Takes rows of `width` cells, `stride` apart, into the totals of their columns from `first` on.
    pub fn take_columns(&mut self, first: usize, width: usize, rows: &[f64], stride: usize) {
        with_each!(&mut self.kind, (all, map) => all.take_columns((first, width), rows, stride, map));
    }

    /// Takes rows of `width` cells, one after the other, each into its own total from `first` on.
    pub fn take_rows(&mut self, first: usize, rows: &[f64], width: usize) {
        with_each!(&mut self.kind, (all, map) => all.take_rows(first, rows, width, map));
    }

    /// Takes in cells of scattered columns.
    pub fn take_cells(&mut self, columns: &[i32], cells: &[f64]) {
        with_each!(&mut self.kind, (all, map) => {
            for (column, cell) in columns.iter().zip(cells) {
                all.add(*column as usize, map(*cell));
            }
        });
    }

    /// Takes in that there were cells, all 0, that nobody visited.
    pub fn take_zeros(&mut self, at: usize) {
        with_each!(&mut self.kind, (all, map) => all.add(at, map(0.0)));
    }

    /// Takes in the totals of other cells.
    pub fn merge(&mut self, other: &VectorTotals) {
        match (&mut self.kind, &other.kind) {
            (Kind::Sums(all), Kind::Sums(others))
            | (Kind::SumsOfSquares(all), Kind::SumsOfSquares(others)) => all.merge(others),
            (Kind::Products(all), Kind::Products(others)) => all.merge(others),
            (Kind::Minima(all), Kind::Minima(others)) => all.merge(others),
            (Kind::Maxima(all), Kind::Maxima(others)) => all.merge(others),
            (
                Kind::Sums(_)
                | Kind::SumsOfSquares(_)
                | Kind::Products(_)
                | Kind::Minima(_)
                | Kind::Maxima(_),
                _,
            ) => {
                debug_assert!(false, "totals of different aggregates");
            }
        }
    }

    /// A result; `cells` is how many were taken in, for means.
    pub fn finish(&self, at: usize, cells: usize) -> f64 {
        let total = with_each!(&self.kind, (all, _map) => all.result(at));
        match aggregates::is_mean(self.op) {
            true => total / cells as f64,
            false => total,
        }
    }
}

/// The totals of all tasks, in their order; of none, those of no cells.
///
/// # Errors
/// As [`VectorTotals::new`].
pub(super) fn merged(
    ops: &[AggregateOp],
    count: usize,
    parts: Vec<Vec<VectorTotals>>,
) -> Result<Vec<VectorTotals>> {
    let mut all = VectorTotals::of_each(ops, count)?;
    for part in parts {
        for (all, part) in all.iter_mut().zip(&part) {
            all.merge(part);
        }
    }
    Ok(all)
}

/// The results of columns of so many rows: a row for each aggregate.
///
/// # Errors
/// `memory` when there is none for them.
pub(super) fn finished_columns(
    ops: &[AggregateOp],
    cols: usize,
    rows: usize,
    parts: Vec<Vec<VectorTotals>>,
) -> Result<Output> {
    in_rows(&merged(ops, cols, parts)?, cols, rows)
}

/// As [`finished_columns`].
pub(super) fn in_rows(all: &[VectorTotals], cols: usize, rows: usize) -> Result<Output> {
    let mut results = memory::room(cells_of(all.len(), cols)?)?;
    for totals in all {
        results.extend((0..cols).map(|col| totals.finish(col, rows)));
    }
    MatrixBlock::dense(all.len(), cols, results).map(Output::Matrix)
}

/// Writes the results of rows of so many columns, those of a row side by side.
pub(super) fn finished_rows(all: &[VectorTotals], cols: usize, output: &mut [f64]) {
    let rows = output.chunks_exact_mut(all.len().max(1));
    for (at, results) in rows.enumerate() {
        for (result, totals) in results.iter_mut().zip(all) {
            *result = totals.finish(at, cols);
        }
    }
}
