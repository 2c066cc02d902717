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

    /// As [`Accumulators::take_columns`], with a stride that is not 0. Must be `#[inline(always)]`.
    fn add_to_columns(
        &mut self,
        columns: (usize, usize),
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64) -> f64,
    );

    /// Takes cells into one accumulator, through a function. Must be `#[inline(always)]`.
    fn add_all(&mut self, at: usize, cells: &[f64], map: impl Fn(f64) -> f64);

    /// Takes in those of other cells, accumulator by accumulator.
    fn merge(&mut self, other: &Self);

    fn result(&self, at: usize) -> f64;

    /// Takes rows of cells, `stride` apart, into the accumulators of their columns: the first one, and how many.
    fn take_columns(
        &mut self,
        columns: (usize, usize),
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64) -> f64,
    ) {
        vectorized(Columns {
            all: self,
            columns,
            rows,
            stride: stride.max(1),
            map,
        });
    }

    /// Takes rows of `width` cells, one after the other, each into its own accumulator from `first` on.
    fn take_rows(&mut self, first: usize, rows: &[f64], width: usize, map: impl Fn(f64) -> f64) {
        vectorized(Rows {
            all: self,
            first,
            rows,
            width: width.max(1),
            map,
        });
    }
}

struct Columns<'a, A, F> {
    all: &'a mut A,
    columns: (usize, usize),
    rows: &'a [f64],
    stride: usize,
    map: F,
}

impl<A: Accumulators, F: Fn(f64) -> f64> Work for Columns<'_, A, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        (self.all).add_to_columns(self.columns, self.rows, self.stride, self.map);
    }
}

struct Rows<'a, A, F> {
    all: &'a mut A,
    first: usize,
    rows: &'a [f64],
    width: usize,
    map: F,
}

impl<A: Accumulators, F: Fn(f64) -> f64> Work for Rows<'_, A, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (at, row) in self.rows.chunks_exact(self.width).enumerate() {
            self.all.add_all(self.first + at, row, &self.map);
        }
    }
}

impl<A: Accumulator> Accumulators for Vec<A> {
    fn start(count: usize) -> Result<Self> {
        memory::filled(count, A::START)
    }

    fn add(&mut self, at: usize, value: f64) {
        self[at].add(value);
    }

    #[inline(always)]
    fn add_to_columns(
        &mut self,
        (first, width): (usize, usize),
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64) -> f64,
    ) {
        let columns = &mut self[first..first + width];
        A::add_rows(columns, None, rows, stride, |_, x| map(x));
    }

    #[inline(always)]
    fn add_all(&mut self, at: usize, cells: &[f64], map: impl Fn(f64) -> f64) {
        self[at].add_all(cells, map);
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

    #[inline(always)]
    fn add_to_columns(
        &mut self,
        (first, width): (usize, usize),
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64) -> f64,
    ) {
        let map = |_: f64, x: f64| map(x);
        let totals = &mut self.totals[first..first + width];
        let errors = &mut self.errors[first..first + width];
        for rows in rows.chunks(rows_together(width, stride)) {
            let strips = totals.chunks_mut(STRIP).zip(errors.chunks_mut(STRIP));
            for (strip, (totals, errors)) in strips.enumerate() {
                let numbers = numbers_of(None, strip, totals.len());
                let rows = &rows[strip * STRIP..];
                sum_rows((totals, errors), numbers, rows, stride, &map);
            }
        }
    }

    #[inline(always)]
    fn add_all(&mut self, at: usize, cells: &[f64], map: impl Fn(f64) -> f64) {
        let mut sum = self.of(at);
        sum.add_all(cells, map);
        self.set(at, sum);
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
