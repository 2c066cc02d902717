//! Functions that round to whole numbers, and the remainder that is left. They have the bits of the scalar functions.

use super::Cells;
use super::over::{Binary, Unary, each_pair};
use crate::lanes::math::MathLanes;

/// floor(x + 0.5), as Java's Math.round: halves go up. NaN and infinities stay.
#[inline]
pub fn half_up(x: f64) -> f64 {
    // 0.49999999999999994 + 0.5 rounds to 1 in doubles; Java gives 0.
    let floor = x.floor();
    let rounded = if x - floor >= 0.5 { floor + 1.0 } else { floor };
    rounded + 0.0
}

/// The remainder of a division that rounds down: it has the sign of `y`, or is a zero with that of `x`. NaN where `y` is 0.
#[inline]
pub fn floored_modulo(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return f64::NAN;
    }
    let remainder = x % y;
    if remainder != 0.0 && (remainder < 0.0) != (y < 0.0) {
        remainder + y
    } else {
        remainder
    }
}

#[derive(Clone, Copy)]
pub(super) struct Floor;

impl Unary for Floor {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        x.floor()
    }

    fn scalar(self, x: f64) -> f64 {
        x.floor()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Ceiling;

impl Unary for Ceiling {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        -(-x).floor()
    }

    fn scalar(self, x: f64) -> f64 {
        x.ceil()
    }
}

#[derive(Clone, Copy)]
pub(super) struct HalfUp;

impl Unary for HalfUp {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let floor = x.floor();
        let goes_up = V::splat(0.5).less_equal(x - floor);
        // Adding the zero makes -0 a 0.
        floor + V::select(goes_up, V::splat(1.0), V::splat(0.0))
    }

    fn scalar(self, x: f64) -> f64 {
        half_up(x)
    }
}

/// The nearest whole number, halves to even ones.
#[derive(Clone, Copy)]
pub(super) struct HalfEven;

impl Unary for HalfEven {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        // Sums with 2^52 are rounded to whole numbers. Larger numbers are whole, and NaN stays.
        let shift = V::splat(LARGEST_QUOTIENT);
        let size = x.abs();
        let rounded = ((size + shift) - shift).with_sign_of(x);
        V::select(size.less(shift), rounded, x)
    }

    fn scalar(self, x: f64) -> f64 {
        x.round_ties_even()
    }
}

#[derive(Clone, Copy)]
pub(super) struct WholeQuotient;

impl Binary for WholeQuotient {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V, y: V) -> V {
        (x / y).floor()
    }

    fn scalar(self, x: f64, y: f64) -> f64 {
        (x / y).floor()
    }

    #[inline(always)]
    fn whole_vectors<V: MathLanes>(self, x: Cells, y: Cells, out: &mut [f64]) {
        each_pair::<V>(self, x, y, out);
    }
}

/// Quotients below this are rounded to at most the next whole number.
const LARGEST_QUOTIENT: f64 = 4_503_599_627_370_496.0;

#[derive(Clone, Copy)]
pub(super) struct Remainder;

impl Binary for Remainder {
    /// The whole quotient may be one too large in size, because the quotient was rounded. What is left then has the other sign,
    /// and is a multiple of the last place of `y` that is smaller than `y`, so that it is exact: `y` is added to it, as to
    /// the remainder of `x` and `y` with different signs.
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V, y: V) -> V {
        let quotient = x / y;
        let rest = quotient.floor().subtracted_from(y, x);
        // Also where `y` is infinite, times which 0 would be NaN.
        let rest = V::select(x.abs().less(y.abs()), x, rest);
        let is_zero = rest.equal(V::splat(0.0));
        let other_sign = V::both(rest.xor_bits(y).top_bit(), V::not(is_zero));
        let rest = V::select(other_sign, rest + y, rest);
        let rest = V::select(is_zero, rest.with_sign_of(x), rest);
        // Not where it is NaN.
        let is_large = V::splat(LARGEST_QUOTIENT).less_equal(quotient.abs());
        match V::any(is_large) {
            true => rest.with_scalar_of_two(is_large, (x, y), floored_modulo),
            false => rest,
        }
    }

    fn scalar(self, x: f64, y: f64) -> f64 {
        floored_modulo(x, y)
    }

    #[inline(always)]
    fn whole_vectors<V: MathLanes>(self, x: Cells, y: Cells, out: &mut [f64]) {
        each_pair::<V>(self, x, y, out);
    }
}
