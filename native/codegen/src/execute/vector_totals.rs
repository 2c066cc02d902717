//! Totals of each column or of each row, which cells are taken into as the basic operators take them: bits are theirs.

use fulgurite_error::Result;
use fulgurite_hop::AggregateOp;
use fulgurite_matrix::kernels::aggregate::{Accumulators, Max, Min, Product, Sums};
use fulgurite_matrix::{MatrixBlock, memory};

use super::{Output, cells_of};
use crate::aggregates::{self, Accumulation};
use crate::program::Taken;

/// The aggregates of an operator, and the totals that they come from. Those that take the same cells in alike share theirs: a
/// sum and a mean.
pub(super) struct Aggregates<'a> {
    ops: &'a [AggregateOp],
    /// What each run of totals takes in, and how.
    runs: Vec<(Taken, Accumulation)>,
    /// The run that each aggregate comes from.
    run_of: Vec<usize>,
}

impl<'a> Aggregates<'a> {
    /// Of the cells that each aggregate takes in.
    pub fn new(ops: &'a [AggregateOp], taken: &[Taken]) -> Self {
        let mut runs = Vec::new();
        let mut run_of = Vec::new();
        for (op, taken) in ops.iter().zip(taken) {
            let run = (*taken, aggregates::accumulation(*op));
            let known = runs.iter().position(|known| *known == run);
            run_of.push(known.unwrap_or(runs.len()));
            if known.is_none() {
                runs.push(run);
            }
        }
        Self { ops, runs, run_of }
    }

    /// The cells that each run takes in.
    pub fn taken(&self) -> impl Iterator<Item = Taken> {
        self.runs.iter().map(|(taken, _)| *taken)
    }

    /// All runs, of so many totals.
    ///
    /// # Errors
    /// `memory` when there is none for so many.
    pub fn start(&self, count: usize) -> Result<Vec<VectorTotals>> {
        let runs = self.runs.iter();
        runs.map(|(_, accumulation)| VectorTotals::new(*accumulation, count))
            .collect()
    }

    /// The totals of all tasks, in their order; of none, those of no cells.
    ///
    /// # Errors
    /// As [`Aggregates::start`].
    pub fn merged(&self, count: usize, parts: Vec<Vec<VectorTotals>>) -> Result<Vec<VectorTotals>> {
        let mut all = self.start(count)?;
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
    pub fn of_columns(&self, all: &[VectorTotals], cols: usize, rows: usize) -> Result<Output> {
        let mut results = memory::room(cells_of(self.ops.len(), cols)?)?;
        for (op, run) in self.ops.iter().zip(&self.run_of) {
            results.extend((0..cols).map(|col| all[*run].finish(*op, col, rows)));
        }
        MatrixBlock::dense(self.ops.len(), cols, results).map(Output::Matrix)
    }

    /// Writes the results of rows of so many columns, those of a row side by side.
    pub fn of_rows(&self, all: &[VectorTotals], cols: usize, output: &mut [f64]) {
        let rows = output.chunks_exact_mut(self.ops.len().max(1));
        for (at, results) in rows.enumerate() {
            for ((result, op), run) in results.iter_mut().zip(self.ops).zip(&self.run_of) {
                *result = all[*run].finish(*op, at, cols);
            }
        }
    }
}

/// A run of totals that take cells in alike.
#[derive(Debug, Clone)]
pub(super) enum VectorTotals {
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
            VectorTotals::Sums($all) => {
                let $map = same;
                $done
            }
            VectorTotals::SumsOfSquares($all) => {
                let $map = |x: f64| x * x;
                $done
            }
            VectorTotals::Products($all) => {
                let $map = same;
                $done
            }
            VectorTotals::Minima($all) => {
                let $map = same;
                $done
            }
            VectorTotals::Maxima($all) => {
                let $map = same;
                $done
            }
        }
    }};
}

impl VectorTotals {
    /// # Errors
    /// `memory` when there is none for so many.
    pub fn new(accumulation: Accumulation, count: usize) -> Result<Self> {
        Ok(match accumulation {
            Accumulation::Sum => Self::Sums(Accumulators::start(count)?),
            Accumulation::SumOfSquares => Self::SumsOfSquares(Accumulators::start(count)?),
            Accumulation::Product => Self::Products(Accumulators::start(count)?),
            Accumulation::Minimum => Self::Minima(Accumulators::start(count)?),
            Accumulation::Maximum => Self::Maxima(Accumulators::start(count)?),
        })
    }

    /// Takes rows of `width` cells, `stride` apart, into the totals of their columns from `first` on.
    pub fn take_columns(&mut self, first: usize, width: usize, rows: &[f64], stride: usize) {
        with_each!(self, (all, map) => all.take_columns((first, width), rows, stride, map));
    }

    /// Takes rows of `width` cells, one after the other, each into its own total from `first` on.
    pub fn take_rows(&mut self, first: usize, rows: &[f64], width: usize) {
        with_each!(self, (all, map) => all.take_rows(first, rows, width, map));
    }

    /// Takes in cells of scattered columns.
    pub fn take_cells(&mut self, columns: &[i32], cells: &[f64]) {
        with_each!(self, (all, map) => {
            for (column, cell) in columns.iter().zip(cells) {
                all.add(*column as usize, map(*cell));
            }
        });
    }

    /// Takes in that there were cells, all 0, that nobody visited.
    pub fn take_zeros(&mut self, at: usize) {
        with_each!(self, (all, map) => all.add(at, map(0.0)));
    }

    /// Takes in the totals of other cells.
    pub fn merge(&mut self, other: &VectorTotals) {
        match (self, other) {
            (VectorTotals::Sums(all), VectorTotals::Sums(others))
            | (VectorTotals::SumsOfSquares(all), VectorTotals::SumsOfSquares(others)) => {
                all.merge(others)
            }
            (VectorTotals::Products(all), VectorTotals::Products(others)) => all.merge(others),
            (VectorTotals::Minima(all), VectorTotals::Minima(others)) => all.merge(others),
            (VectorTotals::Maxima(all), VectorTotals::Maxima(others)) => all.merge(others),
            (
                VectorTotals::Sums(_)
                | VectorTotals::SumsOfSquares(_)
                | VectorTotals::Products(_)
                | VectorTotals::Minima(_)
                | VectorTotals::Maxima(_),
                _,
            ) => {
                debug_assert!(false, "totals of different aggregates");
            }
        }
    }

    /// The result of an aggregate; `cells` is how many were taken in, for means.
    pub fn finish(&self, op: AggregateOp, at: usize, cells: usize) -> f64 {
        let total = with_each!(self, (all, _map) => all.result(at));
        match aggregates::is_mean(op) {
            true => total / cells as f64,
            false => total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregates_that_take_the_same_cells_in_alike_share_totals() {
        let ops = [
            AggregateOp::Mean,
            AggregateOp::Max,
            AggregateOp::Sum,
            AggregateOp::SumSq,
            AggregateOp::Sum,
        ];
        let (input, result) = (Taken::Input(0), Taken::Result(0));
        let aggregates = Aggregates::new(&ops, &[input, input, input, input, result]);
        assert_eq!(aggregates.taken().count(), 4);
        let cells = [[1.0, -4.0, 3.0, 0.5], [10.0, 20.0, -30.0, 40.0]];
        let mut all = aggregates.start(2).unwrap();
        for (totals, taken) in all.iter_mut().zip(aggregates.taken()) {
            let cells = &cells[usize::from(taken == result)];
            totals.take_columns(0, 2, cells, 2);
        }
        let expected = [4.0, -3.5, 3.0, 0.5, 4.0, -3.5, 10.0, 16.25, -20.0, 60.0];
        let halved = |(at, value): (usize, &f64)| if at < 2 { value / 2.0 } else { *value };
        let expected: Vec<f64> = expected.iter().enumerate().map(halved).collect();
        match aggregates.of_columns(&all, 2, 2).unwrap() {
            Output::Matrix(matrix) => assert_eq!(matrix.to_dense().unwrap().values(), expected),
            Output::Scalar(_) => panic!("columns have a matrix"),
        }
        let mut rows = [0.0; 10];
        aggregates.of_rows(&all, 2, &mut rows);
        assert_eq!(rows[..5], [2.0, 3.0, 4.0, 10.0, -20.0]);
        assert_eq!(rows[5..], [-1.75, 0.5, -3.5, 16.25, 60.0]);
    }
}
