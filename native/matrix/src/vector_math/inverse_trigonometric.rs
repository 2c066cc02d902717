//! asin, acos and atan: polynomials of the least error (Remez' exchange) near 0, elsewhere identities that lead there.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::over::Unary;
use crate::lanes::math::MathLanes;

/// What pi/2 has beyond its double.
const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;
const FRAC_PI_4_LOW: f64 = 3.061_616_997_868_383e-17;

/// (asin(s) / s - 1) / s^2 by powers of s^2, for |s| <= 1/2.
const ARC_SINE: [f64; 13] = [
    3.248_713_936_010_435e-2,
    -2.075_972_380_660_798e-2,
    2.152_765_558_342_357e-2,
    3.785_409_460_327_427_6e-3,
    1.075_774_350_402_805e-2,
    1.140_326_856_181_537_5e-2,
    1.398_023_746_572_424e-2,
    1.735_166_591_226_859_6e-2,
    2.237_221_161_213_310_4e-2,
    3.038_194_284_530_366e-2,
    4.464_285_717_122_66e-2,
    7.499_999_999_975_179e-2,
    1.666_666_666_666_673_8e-1,
];

/// (atan(u) / u - 1) / u^2 by powers of u^2, for |u| <= tan(pi/8).
const ARC_TANGENT: [f64; 12] = [
    1.528_267_562_832_385_2e-2,
    -3.356_604_129_805_528e-2,
    4.507_755_121_895_274e-2,
    -5.219_517_948_537_821e-2,
    5.877_209_610_680_001e-2,
    -6.666_247_793_922_418e-2,
    7.692_284_341_069_68e-2,
    -9.090_908_223_534_185e-2,
    1.111_111_109_070_343_5e-1,
    -1.428_571_428_543_616_9e-1,
    1.999_999_999_999_814_7e-1,
    -3.333_333_333_333_333e-1,
];

/// asin |x| for |x| <= 1/2; beyond, where the mask holds, asin sqrt((1 - |x|) / 2), with which
/// asin |x| = pi/2 - 2 asin sqrt((1 - |x|) / 2).
#[inline(always)]
fn near_zero<V: MathLanes>(x: V) -> (V::Mask, V) {
    let half = V::splat(0.5);
    let size = x.abs();
    let beyond = half.less(size);
    let z = V::select(beyond, half * (V::splat(1.0) - size), size * size);
    let s = V::select(beyond, z.sqrt(), size);
    (beyond, (s * z).mul_add(z.polynomial(&ARC_SINE), s))
}

/// pi/2 - x
#[inline(always)]
fn complement<V: MathLanes>(x: V) -> V {
    V::splat(FRAC_PI_2) - (x - V::splat(FRAC_PI_2_LOW))
}

#[derive(Clone, Copy)]
pub(super) struct Asin;

impl Unary for Asin {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let (beyond, angle) = near_zero(x);
        V::select(beyond, complement(angle + angle), angle).with_sign_of(x)
    }

    fn scalar(self, x: f64) -> f64 {
        x.asin()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Acos;

impl Unary for Acos {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let (beyond, angle) = near_zero(x);
        let signed = V::select(beyond, angle, angle.with_sign_of(x));
        let from_right = complement(signed);
        // 2 asin sqrt((1 - |x|) / 2), or pi minus it.
        let half = V::select(x.top_bit(), from_right, angle);
        V::select(beyond, half + half, from_right)
    }

    fn scalar(self, x: f64) -> f64 {
        x.acos()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Atan;

impl Unary for Atan {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        let size = x.abs();
        // atan x = pi/4 + atan((x - 1) / (x + 1)) = pi/2 + atan(-1 / x)
        let middle = V::splat(0.414_213_562_373_095).less(size); // tan(pi/8)
        let large = V::splat(2.414_213_562_373_095).less(size); // tan(3 pi/8)
        let above = V::select(large, V::splat(-1.0), V::select(middle, size - one, size));
        let below = V::select(large, size, V::select(middle, size + one, one));
        let base = V::select(large, V::splat(FRAC_PI_2), V::splat(FRAC_PI_4));
        let base_low = V::select(large, V::splat(FRAC_PI_2_LOW), V::splat(FRAC_PI_4_LOW));
        let base = V::select(middle, base, zero);
        let base_low = V::select(middle, base_low, zero);
        let u = above / below;
        let z = u * u;
        let angle = (u * z).mul_add(z.polynomial(&ARC_TANGENT), u);
        (base + (angle + base_low)).with_sign_of(x)
    }

    fn scalar(self, x: f64) -> f64 {
        x.atan()
    }
}
