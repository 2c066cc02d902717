//! Logarithms: natural, to a base, and in double-double for powers.
//!
//! ln x = k ln 2 + ln c + ln(1 + r) with x = 2^k m, c from a table of 16 and r = m / c - 1, which takes no division.

use super::{
    exponential::{LN2_HIGH, LN2_LOW, MANTISSA_BITS},
    over::{Binary, Unary, unary},
};
use crate::lanes::math::MathLanes;

const ONE: u64 = 1023 << MANTISSA_BITS;
const MANTISSA: u64 = (1 << MANTISSA_BITS) - 1;
/// Integers become doubles in the mantissa of this one.
const TWO_52: f64 = 4_503_599_627_370_496.0;

const TWO_54: f64 = 18_014_398_509_481_984.0;

/// Pieces of the mantissas from [`START`] to its double, by their upper four bits.
const PIECE_BITS: i32 = 4;
/// The bits of 45/64. 1 is in the middle of a piece.
const START: u64 = 0x3fe6_8000_0000_0000;
/// 1 / c for a c near the middle of each piece; for that of 1, 1. Of the multiples of 2^-27 there, the one whose logarithm is nearest to
/// a multiple of 2^-42 (Gal's accurate tables).
const RECIPROCALS: [f64; 16] = [
    1.389_717_213_809_490_2,
    1.333_095_349_371_433_3,
    1.278_308_726_847_171_8,
    1.231_786_638_498_306_3,
    1.186_095_848_679_542_5,
    1.142_920_523_881_912_2,
    1.102_616_503_834_724_4,
    1.066_410_191_357_135_8,
    1.031_435_616_314_411_2,
    1.0,
    0.941_730_059_683_322_9,
    0.889_027_856_290_340_4,
    0.842_550_709_843_635_6,
    0.799_358_621_239_662_2,
    0.761_350_870_132_446_3,
    0.728_001_855_313_777_9,
];
/// ln c in multiples of 2^-42, so that sums with multiples of [`LN2_HIGH`] are exact.
const LOGS: [f64; 16] = [
    -0.329_100_283_142_679_5,
    -0.287_503_568_549_482_2,
    -0.245_537_897_084_886_94,
    -0.208_465_667_076_325_2,
    -0.170_667_114_071_875_4,
    -0.133_586_849_483_435_8,
    -0.097_685_995_168_376_4,
    -0.064_298_046_623_207_48,
    -0.030_951_634_047_823_973,
    0.0,
    0.060_036_606_317_908_08,
    0.117_626_709_549_313_09,
    0.171_321_428_841_565_65,
    0.223_945_596_316_752_93,
    0.272_660_962_815_052_7,
    0.317_451_682_280_761_8,
];
/// What these lack: less than 2^-59.
const LOGS_LOW: [f64; 16] = [
    -2.932_413_166_806_741_5e-20,
    -2.283_397_766_125_41e-19,
    -3.142_946_021_084_202e-19,
    -5.737_074_564_336_044e-20,
    -6.154_116_329_222_971_5e-19,
    -1.854_018_543_734_895_7e-19,
    1.033_338_058_953_464e-19,
    1.284_875_265_610_357_5e-19,
    -1.249_967_437_879_662_5e-19,
    0.0,
    3.896_620_859_170_501_3e-19,
    1.757_616_624_154_298_4e-19,
    9.792_827_972_795_356e-20,
    -5.315_960_808_563_347e-19,
    1.011_685_618_822_093_9e-18,
    -2.331_389_750_534_893_4e-19,
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
/// (ln(1 + r) - r + r^2 / 2) / r^3 likewise; times r^3, within 2^-69.
const LONG_SERIES: [f64; 9] = [
    0.091_102_448_956_823_18,
    -0.100_209_467_877_695_43,
    0.111_110_949_260_345_95,
    -0.124_999_824_665_346_94,
    0.142_857_142_907_306_64,
    -0.166_666_666_721_009_52,
    0.199_999_999_999_995_8,
    -0.249_999_999_999_995_45,
    0.333_333_333_333_333_3,
];

/// What biased exponents have over 2^52 when they stand in its mantissa.
const BIASED: f64 = TWO_52 + 1023.0;

/// 2^1023. Splitting a number below takes no exponent beyond those of doubles.
const MODERATE: f64 = 8.988_465_674_311_58e307;

/// x = 2^k m, with m from [`START`] to its double.
#[derive(Clone, Copy)]
struct Split<V> {
    k: V,
    m: V,
    /// The number of m's piece in its low bits.
    piece: V,
}

impl<V: MathLanes> Split<V> {
    /// Of normal x below [`MODERATE`].
    #[inline(always)]
    fn of_moderate(x: V) -> Self {
        let moved = Self::moved(x);
        Self::of_moved(moved, moved.exponent())
    }

    /// Of x 2^-n for positive normal x, with `biased` = [`BIASED`] + n.
    #[inline(always)]
    fn of(x: V, biased: V) -> Self {
        let moved = Self::moved(x);
        let exponent = moved.shift_right(MANTISSA_BITS);
        Self::of_moved(moved, exponent.or_bits(V::splat(TWO_52)) - biased)
    }

    /// Numbers from a power of two times [`START`] on have the exponent of the power, and a mantissa that says how far on.
    #[inline(always)]
    fn moved(x: V) -> V {
        x.add_bits(V::splat_bits(ONE - START))
    }

    #[inline(always)]
    fn of_moved(moved: V, k: V) -> Self {
        let mantissa = moved.and_bits(V::splat_bits(MANTISSA));
        Split {
            k,
            m: mantissa.add_bits(V::splat_bits(START)),
            piece: moved.shift_right(MANTISSA_BITS - PIECE_BITS),
        }
    }

    /// k ln 2 + ln c but for k [`LN2_LOW`] and what [`LOGS`] lack: a multiple of 2^-42, and 0 or larger than any r.
    #[inline(always)]
    fn of_piece(self) -> V {
        self.k.mul_add(V::splat(LN2_HIGH), self.piece.pick(&LOGS))
    }
}

/// ln (2^k m) in one double.
#[inline(always)]
fn short_log<V: MathLanes>(split: Split<V>) -> V {
    let reciprocal = split.piece.pick(&RECIPROCALS);
    let r = split.m.mul_add(reciprocal, V::splat(-1.0));
    let log = split.of_piece();
    let sum = log + r;
    let low = split.k.mul_add(V::splat(LN2_LOW), (log - sum) + r);
    sum + (r * r).mul_add(r.polynomial(&SERIES), low)
}

/// ln x of positive numbers as the sum of two doubles, the second below the last place of the first, within 2^-63 of it.
#[inline(always)]
pub(super) fn long_log<V: MathLanes>(x: V) -> (V, V) {
    let subnormal = x.less(V::splat(f64::MIN_POSITIVE));
    long_log_of_split(Split::of(
        V::select(subnormal, x * V::splat(TWO_54), x),
        V::select(subnormal, V::splat(BIASED + 54.0), V::splat(BIASED)),
    ))
}

/// [`long_log`] of normal numbers below 2^1023.
#[inline(always)]
pub(super) fn long_log_of_moderate<V: MathLanes>(x: V) -> (V, V) {
    long_log_of_split(Split::of_moderate(x))
}

/// Normal numbers below 2^1023.
#[inline(always)]
pub(super) fn is_moderate<V: MathLanes>(x: V) -> V::Mask {
    V::both(
        V::splat(f64::MIN_POSITIVE).less_equal(x),
        x.less(V::splat(MODERATE)),
    )
}

#[inline(always)]
fn long_log_of_split<V: MathLanes>(split: Split<V>) -> (V, V) {
    let one = V::splat(1.0);
    let half = V::splat(0.5);
    let reciprocal = split.piece.pick(&RECIPROCALS);
    // r + r_low = m / c - 1. The product is so near to 1 that subtracting it is exact.
    let product = split.m * reciprocal;
    let product_low = split.m.mul_add(reciprocal, -product);
    let r = split.m.mul_add(reciprocal, -one);
    let r_low = product_low - (r - (product - one));
    // ln(1 + r) = r - r^2 / 2 + r^3 tail, of which the last is small enough not to need a second part.
    let square = r * r;
    let square_low = r.mul_add(r, -square);
    let cube = (r * square) * r.polynomial(&LONG_SERIES);
    let log = split.of_piece();
    let log_low = split.piece.pick(&LOGS_LOW);
    let low = split.k.mul_add(V::splat(LN2_LOW), log_low);
    let first = log + r;
    let first_low = (log - first) + r;
    let second = square.subtracted_from(half, first);
    let second_low = square.subtracted_from(half, first - second);
    // What r_low adds is r_low / (1 + r).
    let low = r.subtracted_from(r_low, low + r_low);
    let low = square_low.subtracted_from(half, low + first_low);
    let low = (low + second_low) + cube;
    let sum = second + low;
    (sum, (second - sum) + low)
}

/// ln x
#[inline(always)]
fn log<V: MathLanes>(x: V) -> V {
    if V::all(is_moderate(x)) {
        return short_log(Split::of_moderate(x));
    }
    let subnormal = x.less(V::splat(f64::MIN_POSITIVE));
    let value = short_log(Split::of(
        V::select(subnormal, x * V::splat(TWO_54), x),
        V::select(subnormal, V::splat(BIASED + 54.0), V::splat(BIASED)),
    ));
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
    fn lanes<V: MathLanes>(self, x: V) -> V {
        log(x)
    }

    fn scalar(self, x: f64) -> f64 {
        x.ln()
    }
}

/// ln (1 + x), which loses nothing where x is small: ln u + c / u, where u + c = 1 + x is exact.
#[derive(Clone, Copy)]
pub(super) struct LogOf1Plus;

impl Unary for LogOf1Plus {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let one = V::splat(1.0);
        let u = one + x;
        let of_x = u - one;
        let c = (one - (u - of_x)) + (x - of_x);
        let value = log(u);
        // Where u is 0 or infinite, ln u is all there is.
        let corrects = V::both(V::splat(0.0).less(u), u.less(V::splat(f64::INFINITY)));
        let value = V::select(corrects, value + c / u, value);
        // Zeros stay, and so does NaN.
        V::select(x.equal(V::splat(0.0)), x, value)
    }

    fn scalar(self, x: f64) -> f64 {
        x.ln_1p()
    }
}

/// The logarithm to base 2: whole for powers of 2.
#[derive(Clone, Copy)]
pub(super) struct Log2;

impl Unary for Log2 {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        in_base(x, (std::f64::consts::LOG2_E, LOG2_E_LOW))
    }

    fn scalar(self, x: f64) -> f64 {
        x.log2()
    }
}

/// The logarithm to base 10: whole for powers of 10.
#[derive(Clone, Copy)]
pub(super) struct Log10;

impl Unary for Log10 {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        in_base(x, (std::f64::consts::LOG10_E, LOG10_E_LOW))
    }

    fn scalar(self, x: f64) -> f64 {
        x.log10()
    }
}

/// What [`std::f64::consts::LOG2_E`] lacks, and [`std::f64::consts::LOG10_E`].
const LOG2_E_LOW: f64 = 2.035_527_374_093_103_3e-17;
const LOG10_E_LOW: f64 = 1.098_319_650_216_765e-17;

/// ln x times a factor in two parts, rounded once.
#[inline(always)]
fn in_base<V: MathLanes>(x: V, (factor, factor_low): (f64, f64)) -> V {
    let usual = V::both(V::splat(0.0).less(x), x.less(V::splat(f64::INFINITY)));
    let (log, log_low) = long_log(V::select(usual, x, V::splat(1.0)));
    let factor = V::splat(factor);
    let product = log * factor;
    let rest = log.mul_add(factor, -product);
    let value = product + (log_low.mul_add(factor, log * V::splat(factor_low)) + rest);
    match V::all(usual) {
        true => value,
        // Zeros, negative numbers, infinity and NaN.
        false => V::select(usual, value, self::log(x)),
    }
}

#[derive(Clone, Copy)]
pub(super) struct LogBase;

impl Binary for LogBase {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V, base: V) -> V {
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
    fn lanes<V: MathLanes>(self, x: V) -> V {
        log(x) / V::splat(self.log_of_base)
    }

    fn scalar(self, x: f64) -> f64 {
        x.ln() / self.log_of_base
    }
}
