//! x^y = e^(y ln |x|), with the logarithm in double-double, and the sign and limits of Java's Math.pow.
//!
//! What an exponent in [`SHORT_CUTS`] does is the same whether all cells have it or one.

use super::{
    exponential::{NORMAL, Parts, exp},
    logarithm::{is_moderate, long_log, long_log_of_moderate},
    over::{Binary, Unary, each_vector},
};
use crate::lanes::math::MathLanes;

/// As Java's Math.pow: what is not certain is NaN, where C has 1^NaN = 1^Inf = (-1)^Inf = 1.
pub fn java_pow(x: f64, y: f64) -> f64 {
    if y.is_nan() || (y.is_infinite() && x.abs() == 1.0) {
        f64::NAN
    } else {
        x.powf(y)
    }
}

const TWO_52: f64 = 4_503_599_627_370_496.0;

#[derive(Clone, Copy)]
pub(super) struct Pow;

impl Binary for Pow {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V, y: V) -> V {
        by_short_cuts(x, y, by_logarithm(x, y))
    }

    fn scalar(self, x: f64, y: f64) -> f64 {
        match ShortCut::of(y) {
            Some(short_cut) => short_cut.scalar(x),
            None => java_pow(x, y),
        }
    }
}

/// [`Pow`] with one exponent, which has no [`ShortCut`].
#[derive(Clone, Copy)]
pub(super) struct PowTo {
    pub exponent: f64,
}

impl Unary for PowTo {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        by_logarithm(x, V::splat(self.exponent))
    }

    fn scalar(self, x: f64) -> f64 {
        java_pow(x, self.exponent)
    }

    #[inline(always)]
    fn whole_vectors<V: MathLanes>(self, x: &[f64], out: &mut [f64]) {
        for (out, x) in out.chunks_mut(STAGE).zip(x.chunks(STAGE)) {
            if !in_stages::<V>(x, V::splat(self.exponent), out) {
                each_vector::<V>(self, x, out);
            }
        }
    }
}

/// Cells that pass from stage to stage together. The operations of a power wait for each other for so long that the processor does
/// not look ahead to the next vector's; each stage by itself is short enough.
const STAGE: usize = 64;

/// [`of_moderate`] of whole vectors, at most [`STAGE`] cells. False, and nothing is written, where a cell needs more.
#[inline(always)]
fn in_stages<V: MathLanes>(x: &[f64], y: V, out: &mut [f64]) -> bool {
    let (mut exponents, mut lows) = ([0.0; STAGE], [0.0; STAGE]);
    let places = || (0..x.len()).step_by(V::WIDTH);
    for at in places() {
        let x = V::read(&x[at..]);
        let (exponent, low) = times(y, long_log_of_moderate(x));
        let fits = V::both(is_moderate(x), exponent.abs().less(V::splat(NORMAL)));
        if !V::all(fits) {
            return false;
        }
        exponent.write(&mut exponents[at..]);
        low.write(&mut lows[at..]);
    }
    for at in places() {
        let parts = Parts::of(V::read(&exponents[at..]), V::read(&lows[at..]));
        parts.normal().write(&mut out[at..]);
    }
    true
}

#[inline(always)]
fn by_logarithm<V: MathLanes>(x: V, y: V) -> V {
    match V::all(is_moderate(x)) {
        true => of_moderate(x, y),
        false => anywhere(x, y),
    }
}

/// y times a logarithm in two parts, likewise.
#[inline(always)]
fn times<V: MathLanes>(y: V, (log, log_low): (V, V)) -> (V, V) {
    let product = y * log;
    (product, y.mul_add(log_low, y.mul_add(log, -product)))
}

/// x^y for normal positive x below 2^1023.
#[inline(always)]
fn of_moderate<V: MathLanes>(x: V, y: V) -> V {
    let (exponent, low) = times(y, long_log_of_moderate(x));
    // Does not hold where y is NaN or infinite either.
    match V::all(exponent.abs().less(V::splat(NORMAL))) {
        true => Parts::of(exponent, low).normal(),
        false => anywhere(x, y),
    }
}

/// x^y for all x and y.
#[inline(always)]
fn anywhere<V: MathLanes>(x: V, y: V) -> V {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let infinity = V::splat(f64::INFINITY);
    let (x_size, y_size) = (x.abs(), y.abs());

    let (exponent, low) = times(y, long_log(x_size));
    let near = exponent.abs().less(V::splat(1000.0));
    let size = exp(exponent, V::select(near, low, zero));

    // Limits, where the logarithm or its product is infinite.
    let y_infinite = y_size.equal(infinity);
    let at_limit = V::either(
        y_infinite,
        V::either(x_size.equal(zero), x_size.equal(infinity)),
    );
    let grows = V::either(
        V::both(one.less(x_size), zero.less(y)),
        V::both(x_size.less(one), y.less(zero)),
    );
    let size = V::select(at_limit, V::select(grows, infinity, zero), size);
    let y_zero = y.equal(zero);
    let size = V::select(y_zero, one, size);

    // From 2^52 on all numbers are integral, from 2^53 on even. Below, adding 2^52 rounds and moves the unit to the last bit.
    let two_52 = V::splat(TWO_52);
    let small = y_size.less(two_52);
    let aligned = V::select(small, y_size + two_52, y_size);
    let integral = V::either(V::not(small), (aligned - two_52).equal(y_size));
    let odd = V::both(
        V::both(integral, y_size.less(V::splat(2.0 * TWO_52))),
        aligned.shift_left(63).top_bit(),
    );
    let value = V::select(V::both(x.top_bit(), odd), -size, size);

    let root_of_negative = V::both(
        V::both(x.less(zero), x_size.less(infinity)),
        V::not(integral),
    );
    let x_nan = V::not(V::either(x.equal(x), y_zero));
    let y_nan = V::not(y.equal(y));
    let undecided = V::both(y_infinite, x_size.equal(one));
    let nan = V::either(
        V::either(root_of_negative, undecided),
        V::either(x_nan, y_nan),
    );
    V::select(nan, V::splat(f64::NAN), value)
}

/// Exponents that need no logarithm, and are more precise and faster without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ShortCut {
    Reciprocal,
    SquareRoot,
    Itself,
    Square,
    Cube,
}

pub(super) const SHORT_CUTS: [(f64, ShortCut); 5] = [
    (-1.0, ShortCut::Reciprocal),
    (0.5, ShortCut::SquareRoot),
    (1.0, ShortCut::Itself),
    (2.0, ShortCut::Square),
    (3.0, ShortCut::Cube),
];

impl ShortCut {
    pub fn of(exponent: f64) -> Option<Self> {
        let mut known = SHORT_CUTS.iter();
        let found = known.find(|(known, _)| *known == exponent);
        found.map(|(_, short_cut)| *short_cut)
    }
}

/// The values, but those of short cuts where the exponent has one.
#[inline(always)]
fn by_short_cuts<V: MathLanes>(x: V, y: V, values: V) -> V {
    let mut any = y.equal(V::splat(SHORT_CUTS[0].0));
    for (exponent, _) in &SHORT_CUTS[1..] {
        any = V::either(any, y.equal(V::splat(*exponent)));
    }
    if !V::any(any) {
        return values;
    }
    let mut values = values;
    for (exponent, short_cut) in SHORT_CUTS {
        let here = y.equal(V::splat(exponent));
        values = V::select(here, short_cut.lanes(x), values);
    }
    values
}

impl Unary for ShortCut {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        match self {
            ShortCut::Reciprocal => V::splat(1.0) / x,
            ShortCut::SquareRoot => {
                // The root of -0 is 0 here, and of -infinity infinity.
                let below_all = x.equal(V::splat(f64::NEG_INFINITY));
                V::select(below_all, -x, (x + V::splat(0.0)).sqrt())
            }
            ShortCut::Itself => x,
            ShortCut::Square => x * x,
            ShortCut::Cube => cube(x),
        }
    }

    fn scalar(self, x: f64) -> f64 {
        match self {
            ShortCut::Reciprocal => 1.0 / x,
            ShortCut::SquareRoot => java_pow(x, 0.5),
            ShortCut::Itself => x,
            ShortCut::Square => x * x,
            ShortCut::Cube => java_pow(x, 3.0),
        }
    }
}

/// x^3, with what the products lose where there is something to add it to.
#[inline(always)]
fn cube<V: MathLanes>(x: V) -> V {
    let square = x * x;
    let square_low = x.mul_add(x, -square);
    let product = square * x;
    let low = square_low.mul_add(x, square.mul_add(x, -product));
    let size = product.abs();
    let between = V::both(V::splat(0.0).less(size), size.less(V::splat(f64::INFINITY)));
    V::select(between, product + low, product)
}
