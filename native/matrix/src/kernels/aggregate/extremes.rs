//! The smallest and the largest of cells.

use crate::lanes::fetch_ahead;

use super::accumulators::{
    Accumulator, GROUP, Group, STRETCH, STRIP, numbers_of, one_by_one, rows_together,
};

/// The smallest value, where -0 is smaller than 0; NaN where any is NaN; infinity of nothing.
#[derive(Debug, Clone, Copy)]
pub struct Min(f64);

/// The largest value, where 0 is larger than -0; NaN where any is NaN; -infinity of nothing.
#[derive(Debug, Clone, Copy)]
pub struct Max(f64);

macro_rules! extreme {
    ($name:ident, $is_better:ident, $start:expr, $better:tt, $better_sign:ident, $signs:tt) => {
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
                let (stretches, rest) = values.as_chunks::<LANES>();
                for value in rest {
                    self.add(map(*value));
                }
                if !stretches.is_empty() {
                    self.add(extreme_of::<Self>(stretches, &map));
                }
            }

            #[inline(always)]
            fn add_rows(
                columns: &mut [Self],
                numbers: Option<&[f64]>,
                rows: &[f64],
                stride: usize,
                map: impl Fn(f64, f64) -> f64,
            ) {
                extremes_of_rows(columns, numbers, rows, stride, &map);
            }
        }

        impl Extreme for $name {
            const SIGNS: u64 = f64::to_bits($start);

            #[inline(always)]
            fn better(value: f64, than: f64) -> f64 {
                if value $better than { value } else { than }
            }

            #[inline(always)]
            fn signs(left: u64, right: u64) -> u64 {
                left $signs right
            }
        }
    };
}
extreme!(Min, is_smaller, f64::INFINITY, <, is_sign_negative, |);
extreme!(Max, is_larger, f64::NEG_INFINITY, >, is_sign_positive, &);

/// What columns of cells need to know to find their best ones by comparisons alone, which see neither NaN nor the signs of
/// zeros.
trait Extreme: Accumulator {
    /// Changes no signs.
    const SIGNS: u64;

    /// `than` where one is NaN, or both are zeros.
    fn better(value: f64, than: f64) -> f64;

    /// Has the sign of the best of numbers with these signs, if it is a zero.
    fn signs(left: u64, right: u64) -> u64;
}

/// Cells that are looked at together: as many vectors of them as take their turns without waiting for each other.
const LANES: usize = 32;

/// Of all cells through `map`; NaN where any is NaN.
#[inline(always)]
fn extreme_of<E: Extreme>(stretches: &[[f64; LANES]], map: &impl Fn(f64) -> f64) -> f64 {
    let mut best = [E::START.result(); LANES];
    let (mut signs, mut nan) = ([E::SIGNS; LANES], [0u64; LANES]);
    for stretch in stretches {
        fetch_ahead(stretch);
        for (lane, value) in stretch.iter().enumerate() {
            let value = map(*value);
            best[lane] = E::better(value, best[lane]);
            signs[lane] = E::signs(signs[lane], value.to_bits());
            nan[lane] |= if value.is_nan() { u64::MAX } else { 0 };
        }
    }
    if nan.iter().any(|nan| *nan != 0) {
        return f64::NAN;
    }
    let mut all = E::START;
    for (best, signs) in best.into_iter().zip(signs) {
        let zero = 0f64.copysign(f64::from_bits(signs));
        all.add(if best == 0.0 { zero } else { best });
    }
    all.result()
}

/// Fewer cells are sooner taken in one by one.
const FEW_CELLS: usize = 2048;

/// As [`Accumulator::add_rows`].
#[inline(always)]
fn extremes_of_rows<E: Extreme>(
    columns: &mut [E],
    numbers: Option<&[f64]>,
    rows: &[f64],
    stride: usize,
    map: &impl Fn(f64, f64) -> f64,
) {
    if rows.len() < FEW_CELLS {
        return one_by_one(columns, numbers, rows, stride, map);
    }
    for rows in rows.chunks(rows_together(columns.len(), stride)) {
        for (strip, columns) in columns.chunks_mut(STRIP).enumerate() {
            let cols = columns.len();
            let numbers = numbers_of(numbers, strip, cols);
            let mut best = [E::START.result(); STRIP];
            let (mut signs, mut nan) = ([E::SIGNS; STRIP], [0; STRIP]);
            let seen = Seen {
                best: &mut best[..cols],
                signs: &mut signs[..cols],
                nan: &mut nan[..cols],
            };
            seen.add_rows::<E>(numbers, &rows[strip * STRIP..], stride, map);
            for (at, column) in columns.iter_mut().enumerate() {
                let zero = 0f64.copysign(f64::from_bits(signs[at]));
                let best = if best[at] == 0.0 { zero } else { best[at] };
                column.add(if nan[at] == 0 { best } else { f64::NAN });
            }
        }
    }
}

/// What was seen of the cells of columns.
struct Seen<'a> {
    best: &'a mut [f64],
    /// The topmost bits are.
    signs: &'a mut [u64],
    /// Not 0 where there was one.
    nan: &'a mut [u64],
}

impl Seen<'_> {
    #[inline(always)]
    fn add_rows<E: Extreme>(
        self,
        numbers: &[f64],
        rows: &[f64],
        stride: usize,
        map: &impl Fn(f64, f64) -> f64,
    ) {
        let cols = numbers.len();
        for group in rows.chunks(GROUP * stride) {
            let Some(group) = Group::of(group, cols, stride) else {
                for row in group.chunks(stride) {
                    let (best, signs, nan) = (&mut *self.best, &mut *self.signs, &mut *self.nan);
                    Seen { best, signs, nan }.add::<E>(numbers, [row; GROUP], map);
                }
                continue;
            };
            let (stretches, rest) = group.stretches::<STRETCH>();
            let (best_stretches, best) = self.best.as_chunks_mut::<STRETCH>();
            let (sign_stretches, signs) = self.signs.as_chunks_mut::<STRETCH>();
            let (nan_stretches, nan) = self.nan.as_chunks_mut::<STRETCH>();
            let (number_stretches, numbers) = numbers.as_chunks::<STRETCH>();
            let seen = best_stretches.iter_mut().zip(sign_stretches);
            let seen = seen.zip(nan_stretches).zip(number_stretches);
            for (at, (((best, signs), nan), numbers)) in seen.enumerate() {
                group.fetch_after(at * STRETCH..(at + 1) * STRETCH);
                let rows = stretches.map(|stretches| &stretches[at][..]);
                Seen { best, signs, nan }.add::<E>(numbers, rows, map);
            }
            group.fetch_after(cols - rest[0].len()..cols);
            Seen { best, signs, nan }.add::<E>(numbers, rest, map);
        }
    }

    /// Cells of some rows. One may come several times.
    #[inline(always)]
    fn add<E: Extreme>(
        self,
        numbers: &[f64],
        [first, second, third, fourth]: [&[f64]; GROUP],
        map: &impl Fn(f64, f64) -> f64,
    ) {
        let seen = self.best.iter_mut().zip(self.signs).zip(self.nan);
        let cells = first.iter().zip(second).zip(third.iter().zip(fourth));
        let cells = numbers.iter().zip(cells);
        for (((best, signs), nan), (number, ((x, y), (z, w)))) in seen.zip(cells) {
            let (x, y) = (map(*number, *x), map(*number, *y));
            let (z, w) = (map(*number, *z), map(*number, *w));
            let of_rows = E::better(E::better(x, y), E::better(z, w));
            *best = E::better(of_rows, *best);
            let of_rows = [x, y, z, w].map(f64::to_bits).into_iter();
            *signs = of_rows.fold(*signs, E::signs);
            let is_any_nan = (x.is_nan() | y.is_nan()) | (z.is_nan() | w.is_nan());
            *nan |= if is_any_nan { u64::MAX } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of the extremes of columns that take in rows, and of those that take in cells one by one.
    fn bits_of_columns<E: Extreme>(cols: usize, rows: &[f64]) -> [Vec<u64>; 2] {
        let (mut together, mut alone) = (vec![E::START; cols], vec![E::START; cols]);
        E::add_rows(&mut together, None, rows, cols, |_, x| x);
        for (at, cell) in rows.iter().enumerate() {
            alone[at % cols].add(*cell);
        }
        [together, alone].map(|columns| {
            let results = columns.into_iter().map(E::result);
            // One NaN is as good as the other.
            results
                .map(|result| if result.is_nan() { 0 } else { result.to_bits() })
                .collect()
        })
    }

    #[test]
    fn rows_taken_together_give_the_extremes_of_their_cells() {
        let cells = [
            -0.0,
            0.0,
            1.5,
            -1.5,
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        // The first kinds of cells only, so that there are columns of zeros and of numbers alone.
        for kinds in [1, 2, 3, 4, 8] {
            for cols in [1, 7, 8, 13, 200, STRIP, 2 * STRIP + 3] {
                for count in [1, 3, 4, 5, 64, 67, FEW_CELLS / cols + 1] {
                    let kind = |place: usize| (place * 7919 + place / cols) / 3 % kinds;
                    for sign in [1.0, -1.0] {
                        let rows: Vec<f64> = (0..cols * count)
                            .map(|place| sign * cells[kind(place)])
                            .collect();
                        let [together, alone] = bits_of_columns::<Max>(cols, &rows);
                        assert_eq!(together, alone, "max of {kinds} kinds, {count} x {cols}");
                        let [together, alone] = bits_of_columns::<Min>(cols, &rows);
                        assert_eq!(together, alone, "min of {kinds} kinds, {count} x {cols}");
                    }
                }
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
