//! Accumulators of many columns or of many rows, for operators that compute the cells block by block. They take cells in as
//! the reductions of matrices do, and so give the same bits.

use fulgurite_error::Result;

use super::accumulators::{Accumulator, STRIP, Sum, numbers_of, rows_together, sum_rows};
use crate::memory;
use crate::vector_math::{Work, vectorized};

/// A run of accumulators of one kind: for columns, or for rows.
pub trait Accumulators: Sized {
    /// # Errors
    /// `memory` when there is none for so many.
    fn start(count: usize) -> Result<Self>;

    fn add(&mut self, at: usize, value: f64);

    /// Takes rows of cells, `stride` apart, into the accumulators of their columns: the first one, and how many.
    fn take_columns(
        &mut self,
        columns: (usize, usize),
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64) -> f64,
    );

    /// Takes rows of `width` cells, one after the other, each into its own accumulator from `first` on.
    fn take_rows(&mut self, first: usize, rows: &[f64], width: usize, map: impl Fn(f64) -> f64);

    /// Takes in those of other cells, accumulator by accumulator.
    fn merge(&mut self, other: &Self);

    fn result(&self, at: usize) -> f64;
}

impl<A: Accumulator> Accumulators for Vec<A> {
    fn start(count: usize) -> Result<Self> {
        memory::filled(count, A::START)
    }

    fn add(&mut self, at: usize, value: f64) {
        self[at].add(value);
    }

    fn take_columns(
        &mut self,
        (first, width): (usize, usize),
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64) -> f64,
    ) {
        struct Columns<'a, A, F> {
            columns: &'a mut [A],
            rows: &'a [f64],
            stride: usize,
            map: F,
        }

        impl<A: Accumulator, F: Fn(f64) -> f64> Work for Columns<'_, A, F> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                let map = self.map;
                A::add_rows(self.columns, None, self.rows, self.stride, |_, x| map(x));
            }
        }

        let columns = &mut self[first..first + width];
        vectorized(Columns {
            columns,
            rows,
            stride: stride.max(1),
            map,
        });
    }

    fn take_rows(&mut self, first: usize, rows: &[f64], width: usize, map: impl Fn(f64) -> f64) {
        struct Rows<'a, A, F> {
            accumulators: &'a mut [A],
            rows: &'a [f64],
            width: usize,
            map: F,
        }

        impl<A: Accumulator, F: Fn(f64) -> f64> Work for Rows<'_, A, F> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                let rows = self.rows.chunks_exact(self.width);
                for (accumulator, row) in self.accumulators.iter_mut().zip(rows) {
                    accumulator.add_all(row, &self.map);
                }
            }
        }

        vectorized(Rows {
            accumulators: &mut self[first..],
            rows,
            width: width.max(1),
            map,
        });
    }

    fn merge(&mut self, other: &Self) {
        for (accumulator, other) in self.iter_mut().zip(other) {
            accumulator.merge(*other);
        }
    }

    fn result(&self, at: usize) -> f64 {
        self[at].result()
    }
}

/// Sums whose totals lie apart from their errors, so that vectors of each are read and written.
#[derive(Debug, Clone)]
pub struct Sums {
    totals: Vec<f64>,
    errors: Vec<f64>,
}

impl Sums {
    fn of(&self, at: usize) -> Sum {
        Sum {
            total: self.totals[at],
            error: self.errors[at],
        }
    }

    fn set(&mut self, at: usize, sum: Sum) {
        self.totals[at] = sum.total;
        self.errors[at] = sum.error;
    }
}

impl Accumulators for Sums {
    fn start(count: usize) -> Result<Self> {
        Ok(Sums {
            totals: memory::zeros(count)?,
            errors: memory::zeros(count)?,
        })
    }

    fn add(&mut self, at: usize, value: f64) {
        let mut sum = self.of(at);
        sum.add(value);
        self.set(at, sum);
    }

    fn take_columns(
        &mut self,
        (first, width): (usize, usize),
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64) -> f64,
    ) {
        struct Columns<'a, F> {
            totals: &'a mut [f64],
            errors: &'a mut [f64],
            rows: &'a [f64],
            stride: usize,
            map: F,
        }

        impl<F: Fn(f64) -> f64> Work for Columns<'_, F> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                let (stride, map) = (self.stride, |_: f64, x: f64| (self.map)(x));
                for rows in self.rows.chunks(rows_together(self.totals.len(), stride)) {
                    let totals = self.totals.chunks_mut(STRIP);
                    let sums = totals.zip(self.errors.chunks_mut(STRIP));
                    for (strip, (totals, errors)) in sums.enumerate() {
                        let numbers = numbers_of(None, strip, totals.len());
                        let rows = &rows[strip * STRIP..];
                        sum_rows((totals, errors), numbers, rows, stride, &map);
                    }
                }
            }
        }

        vectorized(Columns {
            totals: &mut self.totals[first..first + width],
            errors: &mut self.errors[first..first + width],
            rows,
            stride: stride.max(1),
            map,
        });
    }

    fn take_rows(&mut self, first: usize, rows: &[f64], width: usize, map: impl Fn(f64) -> f64) {
        struct Rows<'a, F> {
            sums: &'a mut Sums,
            first: usize,
            rows: &'a [f64],
            width: usize,
            map: F,
        }

        impl<F: Fn(f64) -> f64> Work for Rows<'_, F> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                for (at, row) in self.rows.chunks_exact(self.width).enumerate() {
                    let mut sum = self.sums.of(self.first + at);
                    sum.add_all(row, &self.map);
                    self.sums.set(self.first + at, sum);
                }
            }
        }

        vectorized(Rows {
            sums: self,
            first,
            rows,
            width: width.max(1),
            map,
        });
    }

    fn merge(&mut self, other: &Self) {
        for at in 0..self.totals.len() {
            let mut sum = self.of(at);
            sum.merge(other.of(at));
            self.set(at, sum);
        }
    }

    fn result(&self, at: usize) -> f64 {
        self.of(at).result()
    }
}
