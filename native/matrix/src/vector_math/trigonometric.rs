//! sin, cos and tan.
//!
//! |x| = j pi/2 + r with |r| <= pi/4, by three subtractions of j times a part of pi/2 (Cody and Waite; multiply-add makes the first
//! one exact); then fdlibm's polynomials for sin r and cos r. Arguments from 2^30 on need more of pi and go through the scalar functions.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::{exponential::SHIFTER, over::Unary};
use crate::lanes::math::MathLanes;

/// pi/2, 160 bits.
pub(super) const HALF_PI: [f64; 3] = [
    FRAC_PI_2,
    6.123_233_995_736_766e-17,
    -1.497_384_904_859_169_8e-33,
];

/// From here on the scalar function is called.
const LARGE: f64 = 1_073_741_824.0; // 2^30

/// (sin(r) / r - 1) / r^2 by powers of r^2.
const SINE: [f64; 6] = [
    1.589_690_995_211_55e-10,
    -2.505_076_025_340_686_3e-8,
    2.755_731_370_707_006_8e-6,
    -1.984_126_982_985_795e-4,
    8.333_333_333_322_49e-3,
    -1.666_666_666_666_663_2e-1,
];

/// (cos(r) - 1 + r^2 / 2) / r^4 by powers of r^2.
const COSINE: [f64; 6] = [
    -1.135_964_755_778_819_5e-11,
    2.087_572_321_298_175e-9,
    -2.755_731_435_139_066_3e-7,
    2.480_158_728_947_673e-5,
    -1.388_888_888_887_411e-3,
    4.166_666_666_666_66e-2,
];

/// The sine and cosine of r, and j in the low bits.
struct Reduced<V> {
    sine: V,
    cosine: V,
    quadrant: V,
}

impl<V: MathLanes> Reduced<V> {
    #[inline(always)]
    fn of(size: V) -> Self {
        let shifter = V::splat(SHIFTER);
        let quadrant = size.mul_add(V::splat(FRAC_2_PI), shifter);
        let j = quadrant - shifter;
        let mut r = size;
        for part in HALF_PI {
            r = j.subtracted_from(V::splat(part), r);
        }
        let z = r * r;
        let sine = (z * r).mul_add(z.polynomial(&SINE), r);
        // 1 - z/2, and what that lost.
        let (one, half) = (V::splat(1.0), V::splat(0.5) * z);
        let most = one - half;
        let lost = (one - most) - half;
        let cosine = most + (z * z).mul_add(z.polynomial(&COSINE), lost);
        Reduced {
            sine,
            cosine,
            quadrant,
        }
    }

    /// Whether j is odd: sine and cosine change places.
    #[inline(always)]
    fn odd(&self) -> V::Mask {
        self.quadrant.shift_left(63).top_bit()
    }
}

/// The sign bit where the second lowest bit is set.
#[inline(always)]
fn sign_of_half_turn<V: MathLanes>(quadrant: V) -> V {
    quadrant.shift_left(62).sign()
}

/// `value`, but the scalar function where x is large, infinite or NaN.
#[inline(always)]
fn or_scalar<V: MathLanes>(value: V, x: V, function: fn(f64) -> f64) -> V {
    let large = V::not(x.abs().less(V::splat(LARGE)));
    match V::any(large) {
        true => value.with_scalar(large, x, function),
        false => value,
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sin;

impl Unary for Sin {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let reduced = Reduced::of(x.abs());
        let size = V::select(reduced.odd(), reduced.cosine, reduced.sine);
        let sign = sign_of_half_turn(reduced.quadrant).xor_bits(x.sign());
        or_scalar(size.xor_bits(sign), x, f64::sin)
    }

    fn scalar(self, x: f64) -> f64 {
        x.sin()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Cos;

impl Unary for Cos {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let reduced = Reduced::of(x.abs());
        let size = V::select(reduced.odd(), reduced.sine, reduced.cosine);
        let next = reduced.quadrant.add_bits(V::splat_bits(1));
        or_scalar(size.xor_bits(sign_of_half_turn(next)), x, f64::cos)
    }

    fn scalar(self, x: f64) -> f64 {
        x.cos()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Tan;

impl Unary for Tan {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let reduced = Reduced::of(x.abs());
        let odd = reduced.odd();
        let above = V::select(odd, reduced.cosine, reduced.sine);
        let below = V::select(odd, reduced.sine, reduced.cosine);
        let sign = reduced.quadrant.shift_left(63).sign().xor_bits(x.sign());
        or_scalar((above / below).xor_bits(sign), x, f64::tan)
    }

    fn scalar(self, x: f64) -> f64 {
        x.tan()
    }
}
