//! Logarithms: natural, to a base, and in double-double for powers.
//!
//! ln x = k ln 2 + ln c + ln(1 + r) with x = 2^k m, c from a table of 16 and r = m / c - 1, which takes no division.

use super::{
    exponential::{LN2_HIGH, LN2_LOW, MANTISSA_BITS},
    lanes::Lanes,
    over::{Binary, Unary, unary},
};

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

/// x = 2^k m, with m from [`START`] to its double.
#[derive(Clone, Copy)]
struct Split<V> {
    k: V,
    m: V,
    /// The number of m's piece in its low bits.
    piece: V,
}

impl<V: Lanes> Split<V> {
    /// Of x 2^-n for positive normal x, with `biased` = [`BIASED`] + n.
    #[inline(always)]
    fn of(x: V, biased: V) -> Self {
        let moved = x.add_bits(V::splat_bits(ONE - START));
        let exponent = moved.shift_right(MANTISSA_BITS);
        let mantissa = moved.and_bits(V::splat_bits(MANTISSA));
        Split {
            k: exponent.or_bits(V::splat(TWO_52)) - biased,
            m: mantissa.add_bits(V::splat_bits(START)),
            piece: moved.shift_right(MANTISSA_BITS - PIECE_BITS),
        }
    }

    /// k ln 2 + ln c in two parts: the first is a multiple of 2^-42, and 0 or larger than any r.
    #[inline(always)]
    fn of_piece(self) -> (V, V) {
        let Split { k, piece, .. } = self;
        (
            k.mul_add(V::splat(LN2_HIGH), piece.pick(&LOGS)),
            k.mul_add(V::splat(LN2_LOW), piece.pick(&LOGS_LOW)),
        )
    }
}

/// ln x - n ln 2 for positive normal x, with `biased` = [`BIASED`] + n.
#[inline(always)]
fn log_of_normal<V: Lanes>(x: V, biased: V) -> V {
    let split = Split::of(x, biased);
    let r = split
        .m
        .mul_add(split.piece.pick(&RECIPROCALS), V::splat(-1.0));
    let (log, low) = split.of_piece();
    let sum = log + r;
    let low = (log - sum) + r + low;
    sum + (r * r).mul_add(r.polynomial(&SERIES), low)
}

/// ln x of positive numbers as the sum of two doubles, the second below the last place of the first, within 2^-63 of it.
#[inline(always)]
pub(super) fn long_log<V: Lanes>(x: V) -> (V, V) {
    let subnormal = x.less(V::splat(f64::MIN_POSITIVE));
    long_log_shifted(
        V::select(subnormal, x * V::splat(TWO_54), x),
        V::select(subnormal, V::splat(BIASED + 54.0), V::splat(BIASED)),
    )
}

/// [`long_log`] of normal numbers.
#[inline(always)]
pub(super) fn long_log_of_normals<V: Lanes>(x: V) -> (V, V) {
    long_log_shifted(x, V::splat(BIASED))
}

/// ln x - n ln 2 likewise, for normal x, with `biased` = [`BIASED`] + n.
#[inline(always)]
fn long_log_shifted<V: Lanes>(x: V, biased: V) -> (V, V) {
    let one = V::splat(1.0);
    let half = V::splat(0.5);
    let split = Split::of(x, biased);
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
    let (log, low) = split.of_piece();
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
