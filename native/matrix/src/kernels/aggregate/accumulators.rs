//! What reductions accumulate: sums with their rounding errors, extremes, products.

use std::ops::Range;

use crate::lanes::{self, CACHE_LINE};
use crate::vector_math::{sum_of, two_sum};

/// A reduction's running state.
pub trait Accumulator: Copy + Send + Sync {
    const START: Self;
    fn add(&mut self, value: f64);
    /// Takes in `count` times the same value.
    fn add_repeated(&mut self, value: f64, count: usize);
    fn merge(&mut self, other: Self);
    fn result(self) -> f64;

    /// Takes in a slice through a function.
    #[inline(always)]
    fn add_all(&mut self, values: &[f64], map: impl Fn(f64) -> f64) {
        for value in values {
            self.add(map(*value));
        }
    }

    /// Takes rows of cells, `stride` apart, into the accumulators of their columns, through a function of a number of the
    /// column and of the cell. There is such a number for each column, or it is 0.
    #[inline(always)]
    fn add_rows(
        columns: &mut [Self],
        numbers: Option<&[f64]>,
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64, f64) -> f64,
    ) {
        one_by_one(columns, numbers, rows, stride, &map);
    }
}

/// [`Accumulator::add_rows`], where an accumulator takes in one cell after the other.
#[inline(always)]
pub(super) fn one_by_one<A: Accumulator>(
    columns: &mut [A],
    numbers: Option<&[f64]>,
    rows: &[f64],
    stride: usize,
    map: &impl Fn(f64, f64) -> f64,
) {
    for rows in rows.chunks(rows_together(columns.len(), stride)) {
        for (strip, columns) in columns.chunks_mut(STRIP).enumerate() {
            let numbers = numbers_of(numbers, strip, columns.len());
            for row in rows.chunks(stride) {
                let cells = numbers.iter().zip(&row[strip * STRIP..]);
                for (column, (number, value)) in columns.iter_mut().zip(cells) {
                    column.add(map(*number, *value));
                }
            }
        }
    }
}

/// Columns whose totals and errors stay in the first-level cache; cells of as many lie in a page.
pub(super) const STRIP: usize = 512;
/// Rows of a strip before the next one takes its turn.
const ROWS_TOGETHER: usize = 64;

/// Cells of rows that strips pass over in turn; all if there is one strip.
#[inline(always)]
pub(super) fn rows_together(cols: usize, stride: usize) -> usize {
    match cols <= STRIP {
        true => usize::MAX / stride * stride,
        false => stride * ROWS_TOGETHER,
    }
}

/// The numbers of a strip of columns.
#[inline(always)]
pub(super) fn numbers_of(numbers: Option<&[f64]>, strip: usize, columns: usize) -> &[f64] {
    static ZEROS: [f64; STRIP] = [0.0; STRIP];
    match numbers {
        Some(numbers) => &numbers[strip * STRIP..][..columns],
        None => &ZEROS[..columns],
    }
}

/// A sum with its rounding errors (Knuth's branch-free two-sum).
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    pub(super) total: f64,
    pub(super) error: f64,
}

impl Accumulator for Sum {
    const START: Self = Sum {
        total: 0.0,
        error: 0.0,
    };

    #[inline(always)]
    fn add(&mut self, value: f64) {
        let (total, error) = two_sum(self.total, value);
        self.error += error;
        self.total = total;
    }

    fn add_repeated(&mut self, value: f64, count: usize) {
        if count > 0 {
            self.add(value * count as f64);
        }
    }

    fn merge(&mut self, other: Self) {
        self.add(other.total);
        self.error += other.error;
    }

    /// Infinite and NaN sums leave no meaningful error.
    fn result(self) -> f64 {
        if self.error.is_finite() {
            self.total + self.error
        } else {
            self.total
        }
    }

    #[inline(always)]
    fn add_all(&mut self, values: &[f64], map: impl Fn(f64) -> f64) {
        if values.len() < SHORT {
            values.iter().for_each(|value| self.add(map(*value)));
        } else {
            let (total, error) = sum_of(values, map);
            self.merge(Sum { total, error });
        }
    }

    /// Totals and errors of some columns lie apart meanwhile, so that a vector of cells meets a vector of each.
    #[inline(always)]
    fn add_rows(
        columns: &mut [Self],
        numbers: Option<&[f64]>,
        rows: &[f64],
        stride: usize,
        map: impl Fn(f64, f64) -> f64,
    ) {
        for rows in rows.chunks(rows_together(columns.len(), stride)) {
            for (strip, columns) in columns.chunks_mut(STRIP).enumerate() {
                let numbers = numbers_of(numbers, strip, columns.len());
                let (mut totals, mut errors) = ([0.0; STRIP], [0.0; STRIP]);
                for ((column, total), error) in columns.iter().zip(&mut totals).zip(&mut errors) {
                    (*total, *error) = (column.total, column.error);
                }
                let count = columns.len();
                let sums = (&mut totals[..count], &mut errors[..count]);
                sum_rows(sums, numbers, &rows[strip * STRIP..], stride, &map);
                for ((column, total), error) in columns.iter_mut().zip(totals).zip(errors) {
                    *column = Sum { total, error };
                }
            }
        }
    }
}

/// Rows that are passed over together: their columns' accumulators are read and written once meanwhile.
pub(super) const GROUP: usize = 4;
/// Cells that are asked for ahead of those that are worked on. The processor foresees four rows side by side badly: without,
/// sums of 200 columns took two thirds longer.
const AHEAD: usize = 768;

/// Cells of a row that are asked for together: so many that the compiler makes a loop over vectors of them.
pub(super) const STRETCH: usize = 32;

/// A group of rows, whose following ones are asked for as it is passed over.
pub(super) struct Group<'a> {
    rows: [&'a [f64]; GROUP],
    /// Cells from one of these rows to the one that is asked for meanwhile.
    ahead: usize,
}

impl<'a> Group<'a> {
    /// The first cells of rows `stride` apart; `None` where there are fewer.
    #[inline(always)]
    pub fn of(rows: &'a [f64], cols: usize, stride: usize) -> Option<Self> {
        if rows.len() <= (GROUP - 1) * stride {
            return None;
        }
        let (first, rest) = rows.split_at(stride);
        let (second, rest) = rest.split_at(stride);
        let (third, fourth) = rest.split_at(stride);
        let groups_ahead = AHEAD.div_ceil(GROUP * cols.max(1));
        Some(Group {
            rows: [
                &first[..cols],
                &second[..cols],
                &third[..cols],
                &fourth[..cols],
            ],
            ahead: groups_ahead * GROUP * stride,
        })
    }

    /// The stretches of each row that have so many cells, and what is left.
    #[inline(always)]
    pub fn stretches<const CELLS: usize>(
        &self,
    ) -> ([&'a [[f64; CELLS]]; GROUP], [&'a [f64]; GROUP]) {
        let [first, second, third, fourth] = self.rows.map(<[f64]>::as_chunks);
        (
            [first.0, second.0, third.0, fourth.0],
            [first.1, second.1, third.1, fourth.1],
        )
    }

    /// Asks for the cells that come after those of these columns.
    #[inline(always)]
    pub fn fetch_after(&self, columns: Range<usize>) {
        for row in self.rows {
            for column in columns.clone().step_by(CACHE_LINE) {
                lanes::prefetch(row.as_ptr().wrapping_add(self.ahead + column));
            }
        }
    }
}

/// Adds rows to the sums of as many columns and to their errors: a group of rows at a time, while these stay in registers.
#[inline(always)]
pub(super) fn sum_rows(
    (totals, errors): (&mut [f64], &mut [f64]),
    numbers: &[f64],
    rows: &[f64],
    stride: usize,
    map: &impl Fn(f64, f64) -> f64,
) {
    let cols = totals.len();
    for group in rows.chunks(GROUP * stride) {
        let Some(group) = Group::of(group, cols, stride) else {
            for row in group.chunks(stride) {
                let sums = totals.iter_mut().zip(errors.iter_mut());
                for ((total, error), (number, x)) in sums.zip(numbers.iter().zip(row)) {
                    add_to(total, error, map(*number, *x));
                }
            }
            continue;
        };
        let (stretches, rest) = group.stretches::<STRETCH>();
        let (total_stretches, totals) = totals.as_chunks_mut::<STRETCH>();
        let (error_stretches, errors) = errors.as_chunks_mut::<STRETCH>();
        let (number_stretches, numbers) = numbers.as_chunks::<STRETCH>();
        let sums = total_stretches.iter_mut().zip(error_stretches);
        for (at, ((totals, errors), numbers)) in sums.zip(number_stretches).enumerate() {
            group.fetch_after(at * STRETCH..(at + 1) * STRETCH);
            let rows = stretches.map(|stretches| &stretches[at][..]);
            add_group((totals, errors), numbers, rows, map);
        }
        group.fetch_after(cols - rest[0].len()..cols);
        add_group((totals, errors), numbers, rest, map);
    }
}

#[inline(always)]
fn add_to(total: &mut f64, error: &mut f64, value: f64) {
    let (sum, lost) = two_sum(*total, value);
    *total = sum;
    *error += lost;
}

#[inline(always)]
fn add_group(
    (totals, errors): (&mut [f64], &mut [f64]),
    numbers: &[f64],
    [first, second, third, fourth]: [&[f64]; GROUP],
    map: &impl Fn(f64, f64) -> f64,
) {
    let sums = totals.iter_mut().zip(errors).zip(numbers);
    let cells = first.iter().zip(second).zip(third.iter().zip(fourth));
    for (((total, error), number), ((x, y), (z, w))) in sums.zip(cells) {
        let (mut sum, mut lost) = (*total, *error);
        add_to(&mut sum, &mut lost, map(*number, *x));
        add_to(&mut sum, &mut lost, map(*number, *y));
        add_to(&mut sum, &mut lost, map(*number, *z));
        add_to(&mut sum, &mut lost, map(*number, *w));
        (*total, *error) = (sum, lost);
    }
}

/// Slices of fewer cells are not worth several chains of additions.
const SHORT: usize = 24;

/// The product; 1 of nothing.
#[derive(Debug, Clone, Copy)]
pub struct Product(f64);

impl Accumulator for Product {
    const START: Self = Product(1.0);

    #[inline(always)]
    fn add(&mut self, value: f64) {
        self.0 *= value;
    }

    fn add_repeated(&mut self, value: f64, count: usize) {
        if count > 0 {
            self.0 *= value.powf(count as f64);
        }
    }

    fn merge(&mut self, other: Self) {
        self.0 *= other.0;
    }

    fn result(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of columns, each added to by itself.
    fn one_by_one(cols: usize, numbers: &[f64], rows: &[f64]) -> Vec<(u64, u64)> {
        let of_column = |col: usize| {
            let mut sum = Sum::START;
            for cell in rows.iter().skip(col).step_by(cols) {
                sum.add(cell - numbers[col]);
            }
            (sum.total.to_bits(), sum.error.to_bits())
        };
        (0..cols).map(of_column).collect()
    }

    #[test]
    fn strips_of_columns_sum_up_as_columns_alone() {
        for cols in [1, 2, STRIP - 1, STRIP, STRIP + 1, 2 * STRIP + 3] {
            for count in [0, 1, ROWS_TOGETHER - 1, ROWS_TOGETHER, ROWS_TOGETHER + 1] {
                let cell =
                    |place: usize| (place as f64 * 0.7).sin() * 10f64.powi(place as i32 % 20);
                let rows: Vec<f64> = (0..cols * count).map(cell).collect();
                let numbers: Vec<f64> = (0..cols).map(|col| col as f64 / 3.0).collect();
                let mut columns = vec![Sum::START; cols];
                Sum::add_rows(&mut columns, Some(&numbers), &rows, cols, |number, cell| {
                    cell - number
                });
                let bits = columns.iter();
                let bits: Vec<_> = bits
                    .map(|sum| (sum.total.to_bits(), sum.error.to_bits()))
                    .collect();
                assert_eq!(bits, one_by_one(cols, &numbers, &rows), "{count} x {cols}");
            }
        }
    }
}
