//! Functions of a few instructions: arithmetic, comparisons, truths and choices. They have the bits of the scalar functions.
//!
//! Compiled code has instructions for them. Kernels and interpreted steps take them from here, on the widest vectors that
//! the processor has: divisions and roots take it as long for two cells as for four.

use std::cmp::Ordering;

use super::Cells;
use super::over::{Binary, Ternary, Unary, each_pair};
use crate::lanes::math::MathLanes;

/// The smaller one as DML defines it: NaN if either is; -0 is smaller than 0.
#[inline]
pub fn minimum(x: f64, y: f64) -> f64 {
    match x.partial_cmp(&y) {
        None => f64::NAN,
        Some(Ordering::Less) => x,
        Some(Ordering::Greater) => y,
        // Equal numbers have equal bits, but for zeros.
        Some(Ordering::Equal) => f64::from_bits(x.to_bits() | y.to_bits()),
    }
}

/// The larger one, as [`minimum`].
#[inline]
pub fn maximum(x: f64, y: f64) -> f64 {
    match x.partial_cmp(&y) {
        None => f64::NAN,
        Some(Ordering::Less) => y,
        Some(Ordering::Greater) => x,
        Some(Ordering::Equal) => f64::from_bits(x.to_bits() & y.to_bits()),
    }
}

/// Declares functions with an expression of lanes, and one of cells for where there are no vectors.
macro_rules! functions {
    (Unary ($x:ident): $($name:ident = $lanes:expr, of a cell $scalar:expr;)*) => {
        $(#[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Unary for $name {
            #[inline(always)]
            fn lanes<V: MathLanes>(self, $x: V) -> V {
                $lanes
            }

            fn scalar(self, $x: f64) -> f64 {
                $scalar
            }
        })*
    };
    (Binary ($x:ident, $y:ident): $($name:ident = $lanes:expr, of cells $scalar:expr;)*) => {
        $(#[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Binary for $name {
            #[inline(always)]
            fn lanes<V: MathLanes>(self, $x: V, $y: V) -> V {
                $lanes
            }

            fn scalar(self, $x: f64, $y: f64) -> f64 {
                $scalar
            }

            #[inline(always)]
            fn whole_vectors<V: MathLanes>(self, x: Cells, y: Cells, out: &mut [f64]) {
                each_pair::<V>(self, x, y, out);
            }
        })*
    };
    (Ternary ($x:ident, $y:ident, $z:ident): $($name:ident = $lanes:expr, of cells $scalar:expr;)*) => {
        $(#[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Ternary for $name {
            #[inline(always)]
            fn lanes<V: MathLanes>(self, $x: V, $y: V, $z: V) -> V {
                $lanes
            }

            fn scalar(self, $x: f64, $y: f64, $z: f64) -> f64 {
                $scalar
            }
        })*
    };
}

functions! { Unary (x):
    SquareRoot = x.sqrt(), of a cell x.sqrt();
    Magnitude = x.abs(), of a cell x.abs();
    Sign = {
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        V::select(zero.less(x), one, V::select(x.less(zero), -one, x))
    }, of a cell if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x };
    Negation = truth(is_zero(x)), of a cell truth_of(x == 0.0);
    Sprop = x * (V::splat(1.0) - x), of a cell x * (1.0 - x);
    Square = x * x, of a cell x * x;
}

functions! { Binary (x, y):
    Sum = x + y, of cells x + y;
    Difference = x - y, of cells x - y;
    Product = x * y, of cells x * y;
    Quotient = x / y, of cells x / y;
    Minimum = {
        let unequal = V::select(x.less(y), x, V::select(y.less(x), y, V::splat(f64::NAN)));
        V::select(x.equal(y), x.or_bits(y), unequal)
    }, of cells minimum(x, y);
    Maximum = {
        let unequal = V::select(x.less(y), y, V::select(y.less(x), x, V::splat(f64::NAN)));
        V::select(x.equal(y), x.and_bits(y), unequal)
    }, of cells maximum(x, y);
    Less = truth(x.less(y)), of cells truth_of(x < y);
    LessEqual = truth(x.less_equal(y)), of cells truth_of(x <= y);
    Greater = truth(y.less(x)), of cells truth_of(x > y);
    GreaterEqual = truth(y.less_equal(x)), of cells truth_of(x >= y);
    Equal = truth(x.equal(y)), of cells truth_of(x == y);
    NotEqual = falsehood(x.equal(y)), of cells truth_of(x != y);
    Conjunction = falsehood(V::either(is_zero(x), is_zero(y))), of cells truth_of(x != 0.0 && y != 0.0);
    Disjunction = falsehood(V::both(is_zero(x), is_zero(y))), of cells truth_of(x != 0.0 || y != 0.0);
    ExclusiveDisjunction = {
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        let (of_zero, otherwise) = (falsehood(is_zero(y)), V::select(is_zero(y), one, zero));
        V::select(is_zero(x), of_zero, otherwise)
    }, of cells truth_of((x != 0.0) != (y != 0.0));
}

functions! { Ternary (x, y, z):
    Choice = V::select(is_zero(x), z, y), of cells if x != 0.0 { y } else { z };
    PlusProduct = x + y * z, of cells x + y * z;
    MinusProduct = x - y * z, of cells x - y * z;
}

/// False where it is NaN.
#[inline(always)]
fn is_zero<V: MathLanes>(x: V) -> V::Mask {
    x.equal(V::splat(0.0))
}

#[inline(always)]
fn truth<V: MathLanes>(mask: V::Mask) -> V {
    V::select(mask, V::splat(1.0), V::splat(0.0))
}

#[inline(always)]
fn falsehood<V: MathLanes>(mask: V::Mask) -> V {
    V::select(mask, V::splat(0.0), V::splat(1.0))
}

fn truth_of(value: bool) -> f64 {
    f64::from(u8::from(value))
}
