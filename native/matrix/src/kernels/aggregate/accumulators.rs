//! What reductions accumulate: sums with their rounding errors, extremes, products.

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

/// Adds rows to the sums of as many columns and to their errors: four rows at a time, while these stay in registers.
#[inline(always)]
pub(super) fn sum_rows(
    (totals, errors): (&mut [f64], &mut [f64]),
    numbers: &[f64],
    rows: &[f64],
    stride: usize,
    map: &impl Fn(f64, f64) -> f64,
) {
    const TOGETHER: usize = 4;
    let cols = totals.len();
    let add = |total: &mut f64, error: &mut f64, value: f64| {
        let (sum, lost) = two_sum(*total, value);
        *total = sum;
        *error += lost;
    };
    for group in rows.chunks(TOGETHER * stride) {
        if group.len() <= (TOGETHER - 1) * stride {
            for row in group.chunks(stride) {
                let sums = totals.iter_mut().zip(errors.iter_mut());
                for ((total, error), (number, x)) in sums.zip(numbers.iter().zip(row)) {
                    add(total, error, map(*number, *x));
                }
            }
            continue;
        }
        let (first, rest) = group.split_at(stride);
        let (second, rest) = rest.split_at(stride);
        let (third, fourth) = rest.split_at(stride);
        let sums = totals.iter_mut().zip(errors.iter_mut()).zip(numbers);
        let upper = first[..cols].iter().zip(&second[..cols]);
        let lower = third[..cols].iter().zip(&fourth[..cols]);
        for (((total, error), number), ((x, y), (z, w))) in sums.zip(upper.zip(lower)) {
            let (mut sum, mut lost) = (*total, *error);
            add(&mut sum, &mut lost, map(*number, *x));
            add(&mut sum, &mut lost, map(*number, *y));
            add(&mut sum, &mut lost, map(*number, *z));
            add(&mut sum, &mut lost, map(*number, *w));
            (*total, *error) = (sum, lost);
        }
    }
}

/// Slices of fewer cells are not worth several chains of additions.
const SHORT: usize = 24;

/// The smallest value, where -0 is smaller than 0; NaN where any is NaN; infinity of nothing.
#[derive(Debug, Clone, Copy)]
pub struct Min(f64);

/// The largest value, where 0 is larger than -0; NaN where any is NaN; -infinity of nothing.
#[derive(Debug, Clone, Copy)]
pub struct Max(f64);

macro_rules! extreme {
    ($name:ident, $is_better:ident, $start:expr, $better:tt, $better_sign:ident) => {
        /// Of equal numbers only zeros differ, by their signs.
        #[inline(always)]
        fn $is_better(value: f64, than: f64) -> bool {
            (value $better than) | ((value == than) & value.$better_sign())
        }

        impl Accumulator for $name {
            const START: Self = $name($start);

            #[inline(always)]
            fn add(&mut self, value: f64) {
                // NaN compares false both ways: once held it stays, once seen it is taken. There is no branch, so that
                // vectors do the same.
                let is_taken = $is_better(value, self.0) | (value.is_nan() & !self.0.is_nan());
                self.0 = if is_taken { value } else { self.0 };
            }

            fn add_repeated(&mut self, value: f64, count: usize) {
                if count > 0 {
                    self.add(value);
                }
            }

            fn merge(&mut self, other: Self) {
                self.add(other.0);
            }

            fn result(self) -> f64 {
                self.0
            }

            #[inline(always)]
            fn add_all(&mut self, values: &[f64], map: impl Fn(f64) -> f64) {
                const LANES: usize = 8;
                let mut best = [$start; LANES];
                let mut nan = [false; LANES];
                let chunks = values.chunks_exact(LANES);
                for value in chunks.remainder() {
                    self.add(map(*value));
                }
                for chunk in chunks {
                    for lane in 0..LANES {
                        let value = map(chunk[lane]);
                        best[lane] = if $is_better(value, best[lane]) { value } else { best[lane] };
                        nan[lane] |= value.is_nan();
                    }
                }
                for value in best {
                    self.add(value);
                }
                if nan.contains(&true) {
                    self.0 = f64::NAN;
                }
            }
        }
    };
}
extreme!(Min, is_smaller, f64::INFINITY, <, is_sign_negative);
extreme!(Max, is_larger, f64::NEG_INFINITY, >, is_sign_positive);

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

    #[test]
    fn extremes_hold_a_nan_and_take_the_first() {
        let of = |values: &[f64]| {
            let (mut min, mut max) = (Min::START, Max::START);
            for value in values {
                min.add(*value);
                max.add(*value);
            }
            (min.result(), max.result())
        };
        let (min, max) = of(&[3.0, -2.0, 7.0]);
        assert_eq!((min, max), (-2.0, 7.0));
        for values in [
            [f64::NAN, 1.0, 2.0],
            [1.0, f64::NAN, 2.0],
            [1.0, 2.0, f64::NAN],
        ] {
            let (min, max) = of(&values);
            assert!(min.is_nan() && max.is_nan(), "{values:?}");
        }
        for zeros in [[0.0, -0.0], [-0.0, 0.0]] {
            let (min, max) = of(&zeros);
            let signs = (min.is_sign_negative(), max.is_sign_negative());
            assert_eq!(signs, (true, false), "{zeros:?}");
            let mut all = (Min::START, Max::START);
            all.0.add_all(&zeros.repeat(20), |x| x);
            all.1.add_all(&zeros.repeat(20), |x| x);
            let signs = (all.0.0.is_sign_negative(), all.1.0.is_sign_negative());
            assert_eq!(signs, (true, false), "{zeros:?}");
        }
        assert_eq!(of(&[f64::INFINITY]), (f64::INFINITY, f64::INFINITY));
        assert_eq!(of(&[]), (f64::INFINITY, f64::NEG_INFINITY));
    }
}
