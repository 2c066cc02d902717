//! Quotients and square roots: one instruction each, but one that takes a processor as long for two cells as for four, so
//! that compiled code, which has vectors of two, leaves them to the widest ones.

use super::over::{Binary, Unary};
use crate::lanes::math::MathLanes;

#[derive(Clone, Copy)]
pub(super) struct Quotient;

impl Binary for Quotient {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V, y: V) -> V {
        x / y
    }

    fn scalar(self, x: f64, y: f64) -> f64 {
        x / y
    }
}

#[derive(Clone, Copy)]
pub(super) struct SquareRoot;

impl Unary for SquareRoot {
    #[inline(always)]
    fn lanes<V: MathLanes>(self, x: V) -> V {
        x.sqrt()
    }

    fn scalar(self, x: f64) -> f64 {
        x.sqrt()
    }
}
