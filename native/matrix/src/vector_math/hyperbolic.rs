//! sinh, cosh and tanh, from e^|x| = 2^n (1 + fraction) and e^|x| - 1 = 2^n fraction + (2^n - 1), which loses nothing where
//! x is small.

use super::{exponential::Parts, over::Unary};
use crate::lanes::math::MathLanes;

/// Up to here, e^x is a normal number. Beyond, halves of it are, and e^-x no longer matters.
const NORMAL: f64 = 709.0;
/// Beyond, sinh and cosh are infinite, and the powers of two in use still finite.
const INFINITE: f64 = 710.6;

#[derive(Clone, Copy)]
pub(super) struct Sinh;

impl Unary for Sinh {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let (half, one) = (V::splat(0.5), V::splat(1.0));
        let size = x.abs().at_most(V::splat(INFINITE));
        let parts = Parts::of(size, V::splat(0.0));
        let power = parts.power_of_two(0);
        // e^|x| - 1
        let excess = power.mul_add(parts.fraction, power - one);
        let value = half * (excess + excess / (excess + one));
        let usual = size.less(V::splat(NORMAL));
        let value = match V::all(usual) {
            true => value,
            false => V::select(usual, value, half_of_exp(parts)),
        };
        value.with_sign_of(x)
    }

    fn scalar(self, x: f64) -> f64 {
        x.sinh()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Cosh;

impl Unary for Cosh {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        let size = x.abs().at_most(V::splat(INFINITE));
        let parts = Parts::of(size, V::splat(0.0));
        let power = parts.power_of_two(0);
        let exp = power.mul_add(parts.fraction, power);
        let value = V::splat(0.5) * (exp + V::splat(1.0) / exp);
        let usual = size.less(V::splat(NORMAL));
        match V::all(usual) {
            true => value,
            false => V::select(usual, value, half_of_exp(parts)),
        }
    }

    fn scalar(self, x: f64) -> f64 {
        x.cosh()
    }
}

/// e^x / 2 for large x, up to infinity.
#[inline(always)]
fn half_of_exp<V: MathLanes>(parts: Parts<V>) -> V {
    let quarter = parts.power_of_two(-2);
    V::splat(2.0) * quarter.mul_add(parts.fraction, quarter)
}

/// tanh x = (1 - e^-2x) / (1 + e^-2x)
#[derive(Clone, Copy)]
pub(super) struct Tanh;

impl Unary for Tanh {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        // tanh 20 rounds to 1.
        let size = x.abs().at_most(V::splat(20.0));
        let parts = Parts::of(V::splat(-2.0) * size, V::splat(0.0));
        let power = parts.power_of_two(0);
        // e^-2|x| - 1
        let excess = power.mul_add(parts.fraction, power - V::splat(1.0));
        (excess / (excess + V::splat(2.0))).with_sign_of(x)
    }

    fn scalar(self, x: f64) -> f64 {
        x.tanh()
    }
}
