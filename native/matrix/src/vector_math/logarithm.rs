//! Logarithms: natural, to a base, and in double-double for powers.
//!
//! ln x = k ln 2 + ln m with m in sqrt(1/2) .. sqrt(2), and ln m = 2 artanh s with s = (m - 1) / (m + 1).

use super::{
    exponential::{LN2_HIGH, LN2_LOW, MANTISSA_BITS},
    lanes::Lanes,
    over::{Binary, Unary, unary},
};

/// The bits of sqrt(1/2).
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE: u64 = 1023 << MANTISSA_BITS;
const MANTISSA: u64 = (1 << MANTISSA_BITS) - 1;
/// Integers become doubles in the mantissa of this one.
const TWO_52: f64 = 4_503_599_627_370_496.0;

const TWO_54: f64 = 18_014_398_509_481_984.0;

/// (2 artanh(s) - 2 s) / s by powers of s^2 (fdlibm's), within 2^-58.
const SERIES: [f64; 7] = [
    1.479_819_860_511_658_6e-1,
    1.531_383_769_920_937_3e-1,
    1.818_357_216_161_805e-1,
    2.222_219_843_214_978_4e-1,
    2.857_142_874_366_239e-1,
    3.999_999_999_940_942e-1,
    6.666_666_666_666_735e-1,
];

/// (artanh(s) / s - 1 - s^2 / 3) / s^4 by powers of s^2: 1/5, 1/7, ..., the last ones for the least error (Remez' exchange).
const LONG_SERIES: [f64; 9] = [
    5.464_596_152_579_184e-2,
    5.217_524_037_100_288e-2,
    5.883_966_935_552_119e-2,
    6.666_632_568_642_78e-2,
    7.692_308_131_463_145e-2,
    9.090_909_087_557_635e-2,
    1.111_111_111_112_497_4e-1,
    1.428_571_428_571_426e-1,
    0.2,
];
const THIRD_LOW: f64 = 1.850_371_707_708_594e-17;

/// x = 2^k m.
#[derive(Clone, Copy)]
pub(super) struct Split<V> {
    k: V,
    m: V,
}

impl<V: Lanes> Split<V> {
    /// Of positive normal numbers.
    #[inline(always)]
    pub fn normal(x: V) -> Self {
        let moved = x.add_bits(V::splat_bits(ONE - SQRT_HALF));
        let biased = moved.shift_right(MANTISSA_BITS);
        let k = biased.or_bits(V::splat(TWO_52)) - V::splat(TWO_52 + 1023.0);
        let mantissa = moved.and_bits(V::splat_bits(MANTISSA));
        let m = mantissa.add_bits(V::splat_bits(SQRT_HALF));
        Split { k, m }
    }

    /// Of positive numbers, subnormal ones among them.
    #[inline(always)]
    pub fn positive(x: V) -> Self {
        let subnormal = x.less(V::splat(f64::MIN_POSITIVE));
        let split = Self::normal(V::select(subnormal, x * V::splat(TWO_54), x));
        let k = V::select(subnormal, split.k - V::splat(54.0), split.k);
        Split { k, ..split }
    }

    /// ln x
    #[inline(always)]
    fn log(self) -> V {
        let f = self.m - V::splat(1.0);
        let s = f / (V::splat(2.0) + f);
        let z = s * s;
        let series = z * z.polynomial(&SERIES);
        let half_square = V::splat(0.5) * f * f;
        let low = s.mul_add(half_square + series, self.k * V::splat(LN2_LOW));
        // The large terms last.
        self.k.mul_add(V::splat(LN2_HIGH), f - (half_square - low))
    }

    /// ln x as the sum of two doubles, within 2^-66 of it.
    #[inline(always)]
    pub fn long_log(self) -> (V, V) {
        let (one, third) = (V::splat(1.0), V::splat(1.0 / 3.0));
        // 2 s = s + s_low, with the exact m + 1 = divisor + divisor_low.
        let f = self.m - one;
        let divisor = self.m + one;
        let divisor_low = self.m - (divisor - one);
        let reciprocal = one / divisor;
        let s = f * reciprocal;
        let remainder = divisor_low.subtracted_from(s, divisor.subtracted_from(s, f));
        let s_low = remainder * reciprocal;
        // z = s^2
        let z = s * s;
        let z_low = (s + s).mul_add(s_low, s.mul_add(s, -z));
        // c = 1/3 + z / 5 + ...
        let tail = z * z.polynomial(&LONG_SERIES);
        let c = third + tail;
        let c_low = (third - c) + tail + V::splat(THIRD_LOW);
        // q = artanh(s) / s - 1
        let q = z * c;
        let q_low = z_low.mul_add(c, z.mul_add(c_low, z.mul_add(c, -q)));
        // a = artanh s
        let t = s * q;
        let t_low = s_low.mul_add(q, s.mul_add(q_low, s.mul_add(q, -t)));
        let a = s + t;
        let a_low = (s - a) + t + (s_low + t_low);
        let (log_m, log_m_low) = (a + a, a_low + a_low);
        // k ln 2 is no smaller than ln m, or zero.
        let multiple = self.k * V::splat(LN2_HIGH);
        let high = multiple + log_m;
        let low = (multiple - high) + log_m;
        (high, low + self.k.mul_add(V::splat(LN2_LOW), log_m_low))
    }
}

/// ln x
#[inline(always)]
fn log<V: Lanes>(x: V) -> V {
    let normal = V::both(
        V::splat(f64::MIN_POSITIVE).less_equal(x),
        x.less(V::splat(f64::INFINITY)),
    );
    if V::all(normal) {
        return Split::normal(x).log();
    }
    let value = Split::positive(x).log();
    // Infinity and NaN stay themselves; zeros give -inf, negatives NaN.
    let value = V::select(x.less(V::splat(f64::INFINITY)), value, x);
    let zero = V::splat(0.0);
    let value = V::select(x.equal(zero), V::splat(f64::NEG_INFINITY), value);
    V::select(x.less(zero), V::splat(f64::NAN), value)
}

#[derive(Clone, Copy)]
pub(super) struct Log;

impl Unary for Log {
    #[inline(always)]
    fn lanes<V: Lanes>(self, x: V) -> V {
        log(x)
    }

    fn scalar(self, x: f64) -> f64 {
        x.ln()
    }
}

#[derive(Clone, Copy)]
pub(super) struct LogBase;

impl Binary for LogBase {
    #[inline(always)]
    fn lanes<V: Lanes>(self, x: V, base: V) -> V {
        log(x) / log(base)
    }

    fn scalar(self, x: f64, base: f64) -> f64 {
        x.ln() / base.ln()
    }
}

/// [`LogBase`] with one base.
#[derive(Clone, Copy)]
pub(super) struct LogTo {
    log_of_base: f64,
}

impl LogTo {
    pub fn base(base: f64) -> Self {
        let mut log = [0.0];
        unary(Log, &[base], &mut log);
        let [log_of_base] = log;
        LogTo { log_of_base }
    }
}

impl Unary for LogTo {
    #[inline(always)]
    fn lanes<V: Lanes>(self, x: V) -> V {
        log(x) / V::splat(self.log_of_base)
    }

    fn scalar(self, x: f64) -> f64 {
        x.ln() / self.log_of_base
    }
}
