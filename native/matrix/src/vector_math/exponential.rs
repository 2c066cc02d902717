//! e^x and 1 / (1 + e^-x).
//!
//! e^x = 2^n e^r with |r| <= ln(2)/2. With n = round(x / ln 2), r comes from two subtractions of n times a part of ln 2
//! (Cody and Waite); what e^r has over 1 is a polynomial of degree 11, the best one by Remez' exchange.

use std::f64::consts::LOG2_E;

use super::over::Unary;
use crate::lanes::math::MathLanes;

/// ln 2 in two parts. The high one ends in zeros, so that its products with exponents are exact (as in fdlibm).
pub(super) const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
pub(super) const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Adding it rounds to an integer and moves that into the low bits.
pub(super) const SHIFTER: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

pub(super) const MANTISSA_BITS: i32 = 52;
const EXPONENT_BIAS: u64 = 1023;

/// Up to here in both directions, e^x and all factors of it are normal numbers.
pub(super) const NORMAL: f64 = 708.0;
/// Below, e^x rounds to zero.
const VANISHES: f64 = -745.133_219_101_941_2;

/// (e^r - 1 - r) / r^2 within 2^-57.
const TAIL: [f64; 10] = [
    2.499_812_536_545_689_5e-8,
    2.762_952_303_214_744e-7,
    2.755_758_981_026_853_6e-6,
    2.480_149_532_628_523e-5,
    1.984_126_950_674_565e-4,
    1.388_888_894_123_622_4e-3,
    8.333_333_333_491_798e-3,
    4.166_666_666_654_056e-2,
    1.666_666_666_666_642_1e-1,
    5.000_000_000_000_009e-1,
];

/// e^x as 2^n (1 + fraction).
#[derive(Clone, Copy)]
pub(super) struct Parts<V> {
    /// n in its low bits.
    shifted: V,
    pub fraction: V,
}

impl<V: MathLanes> Parts<V> {
    /// Of `high + low`, where `low` is below the last place of `high`, or zero. Of use while |high| < 2^20.
    #[inline(always)]
    pub fn of(high: V, low: V) -> Self {
        let shifter = V::splat(SHIFTER);
        let shifted = high.mul_add(V::splat(LOG2_E), shifter);
        let n = shifted - shifter;
        let r = n.subtracted_from(V::splat(LN2_HIGH), high);
        let r = r + n.subtracted_from(V::splat(LN2_LOW), low);
        // r + r^2 tail: the large term last.
        let fraction = (r * r).mul_add(r.polynomial(&TAIL), r);
        Parts { shifted, fraction }
    }

    /// 2^(n + offset), which is to be a normal number.
    #[inline(always)]
    pub fn power_of_two(self, offset: i64) -> V {
        let biased = EXPONENT_BIAS.wrapping_add_signed(offset);
        self.shifted
            .add_bits(V::splat_bits(biased))
            .shift_left(MANTISSA_BITS)
    }

    /// e^x where it is a normal number.
    #[inline(always)]
    pub fn normal(self) -> V {
        let one_and_fraction = self.fraction + V::splat(1.0);
        one_and_fraction.add_bits(self.shifted.shift_left(MANTISSA_BITS))
    }

    /// e^x where it may be subnormal or infinite, but not far beyond: 2^n in two factors.
    #[inline(always)]
    fn scaled(self) -> V {
        let shifter = V::splat(SHIFTER);
        let n = self.shifted - shifter;
        let half = n.mul_add(V::splat(0.5), shifter);
        let rest = n - (half - shifter) + shifter;
        let first = Parts {
            shifted: half,
            ..self
        }
        .power_of_two(0);
        let second = Parts {
            shifted: rest,
            ..self
        }
        .power_of_two(0);
        (self.fraction + V::splat(1.0)) * first * second
    }
}

/// e^(high + low), `low` as in [`Parts::of`].
#[inline(always)]
pub(super) fn exp<V: MathLanes>(high: V, low: V) -> V {
    if V::all(high.abs().less(V::splat(NORMAL))) {
        return Parts::of(high, low).normal();
    }
    // Zeros are put there at the end: products that are subnormal take a hundred cycles.
    let vanishes = high.less(V::splat(VANISHES));
    let infinite = V::splat(710.0);
    let bounded = V::select(vanishes, V::splat(0.0), high.at_most(infinite));
    let value = Parts::of(bounded, low).scaled();
    V::select(vanishes, V::splat(0.0), value)
}

#[derive(Clone, Copy)]
pub(super) struct Exp;

impl Unary for Exp {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        exp(x, V::splat(0.0))
    }

    fn scalar(self, x: f64) -> f64 {
        x.exp()
    }
}

/// e^x - 1, which loses nothing where x is small: 2^n fraction + (2^n - 1).
#[derive(Clone, Copy)]
pub(super) struct ExpLess1;

impl Unary for ExpLess1 {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        // Below, it rounds to -1.
        let least = V::splat(-40.0);
        let bounded = V::select(x.less(least), least, x);
        let usual = bounded.less(V::splat(NORMAL));
        let parts = Parts::of(V::select(usual, bounded, V::splat(0.0)), V::splat(0.0));
        let power = parts.power_of_two(0);
        let value = power.mul_add(parts.fraction, power - V::splat(1.0));
        let value = match V::all(usual) {
            true => value,
            // Infinity and NaN, too.
            false => V::select(usual, value, exp(x, V::splat(0.0))),
        };
        value.with_sign_of(x)
    }

    fn scalar(self, x: f64) -> f64 {
        x.exp_m1()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sigmoid;

impl Unary for Sigmoid {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let one = V::splat(1.0);
        one / (one + exp(-x, V::splat(0.0)))
    }

    fn scalar(self, x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }
}
