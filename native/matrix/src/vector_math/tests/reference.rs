//! Elementary functions in double-double arithmetic, by their Taylor series: slow, and precise to about 2^-80.

use crate::vector_math::trigonometric::HALF_PI;

/// An unevaluated sum; the low part is at most half a unit of the high one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Long {
    pub high: f64,
    pub low: f64,
}

/// `number * 2^exponent`, for results beyond the range of doubles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaled {
    pub number: Long,
    pub exponent: i32,
}

const LN_2: Long = Long {
    high: std::f64::consts::LN_2,
    low: 2.319_046_813_846_299_6e-17,
};

impl From<f64> for Long {
    fn from(high: f64) -> Self {
        Long { high, low: 0.0 }
    }
}

impl From<Long> for Scaled {
    fn from(number: Long) -> Self {
        Scaled {
            number,
            exponent: 0,
        }
    }
}

fn sum(a: f64, b: f64) -> Long {
    let high = a + b;
    let b_part = high - a;
    let low = (a - (high - b_part)) + (b - b_part);
    Long { high, low }
}

fn product(a: f64, b: f64) -> Long {
    let high = a * b;
    Long {
        high,
        low: a.mul_add(b, -high),
    }
}

impl std::ops::Add for Long {
    type Output = Long;

    fn add(self, other: Long) -> Long {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = sum(high.high, high.low + low.high);
        sum(first.high, first.low + low.low)
    }
}

impl std::ops::Neg for Long {
    type Output = Long;

    fn neg(self) -> Long {
        Long {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl std::ops::Sub for Long {
    type Output = Long;

    fn sub(self, other: Long) -> Long {
        self + -other
    }
}

impl std::ops::Mul for Long {
    type Output = Long;

    fn mul(self, other: Long) -> Long {
        let high = product(self.high, other.high);
        let cross = self.high * other.low + self.low * other.high;
        sum(high.high, high.low + cross)
    }
}

impl std::ops::Div for Long {
    type Output = Long;

    fn div(self, other: Long) -> Long {
        let first = self.high / other.high;
        let rest = self - other * Long::from(first);
        let second = rest.high / other.high;
        let rest = rest - other * Long::from(second);
        sum(first, second) + Long::from(rest.high / other.high)
    }
}

impl Long {
    fn square_root(self) -> Long {
        let first = Long::from(self.high.sqrt());
        first + (self - first * first) / (first + first)
    }
}

/// The sum of `start` and of the terms that `ratio(k)` makes from the one before, for k from 1.
fn series(start: Long, ratio: impl Fn(f64) -> Long) -> Long {
    let (mut term, mut total) = (start, start);
    for k in 1..40 {
        term = term * ratio(f64::from(k));
        total = total + term;
    }
    total
}

pub(super) fn exp(x: Long) -> Scaled {
    let n = (x.high / LN_2.high).round();
    let r = x - LN_2 * Long::from(n);
    Scaled {
        number: series(Long::from(1.0), |k| r / Long::from(k)),
        exponent: n as i32,
    }
}

/// Of a positive normal number.
pub(super) fn log(x: f64) -> Long {
    if (x - 1.0).abs() < 0.1 {
        let s = Long::from(x - 1.0) / (Long::from(x) + Long::from(1.0));
        let z = s * s;
        return series(s + s, |k| {
            z * Long::from(2.0 * k - 1.0) / Long::from(2.0 * k + 1.0)
        });
    }
    // Newton's step from the double, which is off by e = x e^-y - 1.
    let (mantissa, exponent) = split(x);
    let y = x.ln();
    let inverse = exp(Long::from(-y));
    let factor = 2f64.powi(exponent + inverse.exponent);
    let e = Long::from(mantissa * factor) * inverse.number - Long::from(1.0);
    Long::from(y) + e - e * e * Long::from(0.5)
}

/// A normal number as mantissa and exponent.
fn split(x: f64) -> (f64, i32) {
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
    let unit = 1023 << 52;
    (
        f64::from_bits(x.to_bits() & !(0x7ff << 52) | unit),
        exponent,
    )
}

pub(super) fn log_of_1_plus(x: f64) -> Long {
    if x.abs() < 0.1 {
        let s = Long::from(x) / (Long::from(2.0) + Long::from(x));
        let z = s * s;
        return series(s + s, |k| {
            z * Long::from(2.0 * k - 1.0) / Long::from(2.0 * k + 1.0)
        });
    }
    // As for the logarithm.
    let (mantissa, exponent) = split(x.max(1.0));
    let y = x.ln_1p();
    let inverse = exp(Long::from(-y));
    let scaled = match x < 1.0 {
        true => Long::from(1.0) + Long::from(x),
        false => Long::from(mantissa) + Long::from(2f64.powi(-exponent)),
    };
    let exponent = if x < 1.0 { 0 } else { exponent };
    let factor = Long::from(2f64.powi(exponent + inverse.exponent));
    let e = scaled * factor * inverse.number - Long::from(1.0);
    Long::from(y) + e - e * e * Long::from(0.5)
}

pub(super) fn exp_less_1(x: f64) -> Scaled {
    if x.abs() < SMALL {
        let long = Long::from(x);
        let square = long * long;
        let cube = square * long;
        return (long + square / Long::from(2.0) + cube / Long::from(6.0)).into();
    }
    let exp = exp(Long::from(x));
    if x > BIG {
        return exp;
    }
    (exp.number * Long::from(2f64.powi(exp.exponent)) - Long::from(1.0)).into()
}

pub(super) fn log2(x: f64) -> Long {
    log(x) / log(2.0)
}

pub(super) fn log10(x: f64) -> Long {
    log(x) / log(10.0)
}

pub(super) fn pow(x: f64, y: f64) -> Scaled {
    exp(log(x) * Long::from(y))
}

pub(super) fn sigmoid(x: f64) -> Long {
    let exp = exp(Long::from(-x));
    let scale = 2f64.powi(exp.exponent);
    let exp = exp.number * Long::from(scale);
    Long::from(1.0) / (Long::from(1.0) + exp)
}

/// Sine and cosine of an argument below 2^30.
pub(super) fn sine_and_cosine(x: f64) -> (Long, Long) {
    let j = (x / HALF_PI[0]).round();
    let mut r = Long::from(x);
    for part in HALF_PI {
        r = r - product(j, part);
    }
    let z = -(r * r);
    let sine = series(r, |k| z / Long::from(2.0 * k * (2.0 * k + 1.0)));
    let cosine = series(Long::from(1.0), |k| {
        z / Long::from(2.0 * k * (2.0 * k - 1.0))
    });
    match (j as i64).rem_euclid(4) {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

pub(super) fn tan(x: f64) -> Long {
    let (sine, cosine) = sine_and_cosine(x);
    sine / cosine
}

pub(super) fn atan(x: f64) -> Long {
    let first = x.atan();
    let tangent = tan(first);
    let x = Long::from(x);
    Long::from(first) + (x - tangent) / (Long::from(1.0) + x * tangent)
}

/// For |x| <= 0.8.
fn small_asin(x: Long) -> Long {
    let first = x.high.asin();
    let (sine, cosine) = sine_and_cosine(first);
    let step = (x - sine) / cosine;
    Long::from(first) + step + step * step * (sine / cosine) * Long::from(0.5)
}

pub(super) fn acos(x: f64) -> Long {
    if x.abs() <= 0.5 {
        return sum(HALF_PI[0], HALF_PI[1]) - small_asin(Long::from(x));
    }
    let z = (Long::from(1.0) - Long::from(x.abs())) * Long::from(0.5);
    let near_one = if z.high == 0.0 {
        z
    } else {
        let half = small_asin(z.square_root());
        half + half
    };
    if x > 0.0 {
        return near_one;
    }
    let half_turn = sum(HALF_PI[0], HALF_PI[1]);
    half_turn + half_turn - near_one
}

pub(super) fn asin(x: f64) -> Long {
    if x.abs() <= 0.5 {
        return small_asin(Long::from(x));
    }
    let size = sum(HALF_PI[0], HALF_PI[1]) - acos(x.abs());
    if x < 0.0 { -size } else { size }
}

/// For |x| < 2^-20: x + c x^3 + d x^5.
fn odd(x: f64, c: f64, d: f64) -> Long {
    let long = Long::from(x);
    let cubed = long * long * long;
    let fifth = cubed * long * long;
    long + cubed / Long::from(c) + fifth / Long::from(d)
}

const SMALL: f64 = 1e-6;

/// Where e^-|x| matters no more, only e^|x| is left.
const BIG: f64 = 100.0;

pub(super) fn sinh(x: f64) -> Scaled {
    if x.abs() < SMALL {
        return odd(x, 6.0, 120.0).into();
    }
    let size = exponentials(x.abs(), |large, small| large - small);
    Scaled {
        number: if x < 0.0 { -size.number } else { size.number },
        ..size
    }
}

pub(super) fn cosh(x: f64) -> Scaled {
    exponentials(x.abs(), |large, small| large + small)
}

fn exponentials(x: f64, combine: impl Fn(Long, Long) -> Long) -> Scaled {
    let large = exp(Long::from(x));
    if x > BIG {
        return Scaled {
            exponent: large.exponent - 1,
            ..large
        };
    }
    let large = large.number * Long::from(2f64.powi(large.exponent));
    let both = combine(large, Long::from(1.0) / large);
    (both * Long::from(0.5)).into()
}

pub(super) fn tanh(x: f64) -> Long {
    if x.abs() < SMALL {
        return odd(x, -3.0, 7.5);
    }
    if x.abs() > BIG {
        return Long::from(x.signum());
    }
    let exp = exp(Long::from(2.0 * x));
    let exp = exp.number * Long::from(2f64.powi(exp.exponent));
    (exp - Long::from(1.0)) / (exp + Long::from(1.0))
}
