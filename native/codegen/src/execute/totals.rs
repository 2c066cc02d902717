//! Totals of aggregates: compensated where sums are concerned, so that they don't lose digits over many blocks.

use fulgurite_hop::{AggregateOp, scalar};

use crate::aggregates::{self, Accumulation, identity};

/// A running total over numbers, or over totals of blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Total {
    op: AggregateOp,
    value: f64,
    /// What was rounded away from a sum (Neumaier).
    correction: f64,
}

impl Total {
    pub fn new(op: AggregateOp) -> Self {
        Total {
            op,
            value: identity(op),
            correction: 0.0,
        }
    }

    /// Takes in a cell.
    pub fn take(&mut self, cell: f64) {
        match aggregates::accumulation(self.op) {
            Accumulation::SumOfSquares => self.combine(cell * cell),
            Accumulation::Sum
            | Accumulation::Product
            | Accumulation::Minimum
            | Accumulation::Maximum => self.combine(cell),
        }
    }

    /// Takes in the total of a block.
    pub fn combine(&mut self, total: f64) {
        match aggregates::accumulation(self.op) {
            Accumulation::Minimum => self.value = scalar::minimum(self.value, total),
            Accumulation::Maximum => self.value = scalar::maximum(self.value, total),
            Accumulation::Product => self.value *= total,
            Accumulation::Sum | Accumulation::SumOfSquares => {
                let sum = self.value + total;
                let lost = if self.value.abs() >= total.abs() {
                    (self.value - sum) + total
                } else {
                    (total - sum) + self.value
                };
                self.value = sum;
                self.correction += lost;
            }
        }
    }

    /// Takes in a total of other blocks.
    pub fn merge(&mut self, other: &Total) {
        self.combine(other.value);
        self.correction += other.correction;
    }

    /// The result; `count` is the number of cells, for the mean.
    pub fn finish(&self, count: usize) -> f64 {
        // Once the sum is infinite, the correction is NaN and there is nothing to correct.
        let value = if self.correction.is_finite() {
            self.value + self.correction
        } else {
            self.value
        };
        match aggregates::is_mean(self.op) {
            true => value / count as f64,
            false => value,
        }
    }
}

/// Totals that are taken in together, one for each aggregate.
#[derive(Debug, Clone)]
pub(super) struct Totals(Vec<Total>);

impl Totals {
    pub fn new(ops: &[AggregateOp]) -> Self {
        Totals(ops.iter().map(|op| Total::new(*op)).collect())
    }

    /// Takes in the totals of rows of a block: numbers of a row stand side by side.
    pub fn combine(&mut self, rows: &[f64]) {
        for row in rows.chunks_exact(self.0.len().max(1)) {
            for (total, partial) in self.0.iter_mut().zip(row) {
                total.combine(*partial);
            }
        }
    }

    /// Takes in that there were cells, all 0, that nobody visited.
    pub fn take_zeros(&mut self) {
        self.0.iter_mut().for_each(|total| total.combine(0.0));
    }

    pub fn merge(&mut self, other: &Totals) {
        for (total, other) in self.0.iter_mut().zip(&other.0) {
            total.merge(other);
        }
    }

    /// The results; `count` is the number of cells, for means.
    pub fn finish(&self, count: usize) -> Vec<f64> {
        self.0.iter().map(|total| total.finish(count)).collect()
    }
}
