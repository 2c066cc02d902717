//! Logarithms: natural, to a base, and in double-double for powers.
//!
//! ln x = k ln 2 + ln m. Alone, ln m = ln c + ln(1 + r) with c from a table of 16 and r = m / c - 1, which takes no division. In
//! double-double, with m in sqrt(1/2) .. sqrt(2), ln m = 2 artanh s with s = (m - 1) / (m + 1).

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

/// Pieces of the mantissas from [`START`] to its double, by their upper four bits.
const PIECE_BITS: i32 = 4;
/// The bits of 45/64. 1 is in the middle of a piece.
const START: u64 = 0x3fe6_8000_0000_0000;
/// 1 / c for a c near the middle of each piece; for that of 1, 1. They have so few digits that m / c - 1 is exact where that
/// is small.
const RECIPROCALS: [f64; 16] = [
    1.40625, 1.34375, 1.28125, 1.21875, 1.1875, 1.15625, 1.09375, 1.0625, 1.03125, 1.0, 0.9375,
    0.890625, 0.84375, 0.796875, 0.765625, 0.734375,
];
/// ln c in multiples of 2^-42, so that sums with multiples of [`LN2_HIGH`] are exact.
const LOGS: [f64; 16] = [
    -0.340_926_586_970_681_46,
    -0.295_464_212_893_875_8,
    -0.247_836_163_904_594_3,
    -0.197_825_743_329_985_93,
    -0.171_850_256_926_745_71,
    -0.145_182_009_844_575_08,
    -0.089_612_158_689_760_69,
    -0.060_624_621_816_486_98,
    -0.030_771_658_666_708_39,
    0.0,
    0.064_538_521_137_592_4,
    0.115_831_815_525_098_14,
    0.169_899_036_795_413_85,
    0.227_057_450_635_356_87,
    0.267_062_785_248_981_5,
    0.308_735_481_649_591_75,
];
/// What these lack.
const LOGS_LOW: [f64; 16] = [
    8.824_526_332_125_64e-14,
    3.993_416_384_387_844e-14,
    1.302_979_717_330_866_3e-14,
    6.604_544_877_082_384e-14,
    8.649_239_607_212_071e-14,
    7.718_001_336_828_099e-14,
    7.355_770_219_435_029e-14,
    5.213_620_639_136_504e-14,
    -4.529_814_257_790_929e-14,
    0.0,
    -2.122_560_804_480_999_7e-14,
    2.356_882_218_203_875_6e-14,
    -1.637_627_641_409_750_3e-14,
    -1.078_736_749_871_691e-14,
    6.371_947_269_815_667e-14,
    2.152_212_749_164_288_8e-14,
];
/// (ln(1 + r) - r) / r^2 for |r| < 0.0333, by powers of r (Chebyshev's approximation), within 2^-55; times r, within 2^-60.
const SERIES: [f64; 9] = [
    -0.100_207_587_983_415_35,
    0.111_337_566_599_600_81,
    -0.124_999_827_796_829_33,
    0.142_856_955_003_641_87,
    -0.166_666_666_719_560_54,
    0.200_000_000_057_700_88,
    -0.249_999_999_999_995_61,
    0.333_333_333_333_328_54,
    -0.5,
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

/// What biased exponents have over 2^52 when they stand in its mantissa.
const BIASED: f64 = TWO_52 + 1023.0;

/// ln x - n ln 2 for positive normal x, with `biased` = [`BIASED`] + n.
#[inline(always)]
fn log_of_normal<V: Lanes>(x: V, biased: V) -> V {
    let moved = x.add_bits(V::splat_bits(ONE - START));
    let exponent = moved.shift_right(MANTISSA_BITS);
    let k = exponent.or_bits(V::splat(TWO_52)) - biased;
    let m = moved.and_bits(V::splat_bits(MANTISSA));
    let m = m.add_bits(V::splat_bits(START));
    let piece = moved.shift_right(MANTISSA_BITS - PIECE_BITS);
    let r = m.mul_add(piece.pick(&RECIPROCALS), V::splat(-1.0));
    let log = k.mul_add(V::splat(LN2_HIGH), piece.pick(&LOGS));
    let low = k.mul_add(V::splat(LN2_LOW), piece.pick(&LOGS_LOW));
    // Where `log` is not 0 it is larger than r.
    let sum = log + r;
    let low = (log - sum) + r + low;
    sum + (r * r).mul_add(r.polynomial(&SERIES), low)
}

/// ln x
#[inline(always)]
fn log<V: Lanes>(x: V) -> V {
    let normal = V::both(
        V::splat(f64::MIN_POSITIVE).less_equal(x),
        x.less(V::splat(f64::INFINITY)),
    );
    if V::all(normal) {
        return log_of_normal(x, V::splat(BIASED));
    }
    let subnormal = x.less(V::splat(f64::MIN_POSITIVE));
    let value = log_of_normal(
        V::select(subnormal, x * V::splat(TWO_54), x),
        V::select(subnormal, V::splat(BIASED + 54.0), V::splat(BIASED)),
    );
    let zero = V::splat(0.0);
    // Infinity and NaN stay themselves; zeros give -inf, negatives NaN.
    let value = V::select(x.less(V::splat(f64::INFINITY)), value, x);
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
