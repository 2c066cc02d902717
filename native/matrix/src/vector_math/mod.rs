//! Elementary functions over slices: exponentials, logarithms, powers, trigonometric and hyperbolic functions.
//!
//! Each algorithm is written once over a vector of doubles ([`crate::lanes::math`]), and compiled for AVX-512, AVX2 with FMA and NEON; the best
//! that the processor has is chosen when a function is called. Where it has none, the scalar functions of the
//! standard library are used.
//!
//! A cell's result depends on the cell alone: not on its place in the slice, on the slice's length, nor on whether
//! an operand is given for each cell or once for all; and it is the same to the bit with all vector instructions. So fused and basic operators, which
//! cut their work differently, agree. NaN, infinities, zeros and subnormal numbers come out as from the scalar functions.
//!
//! Errors are given in units in the last place (ULP): the largest that the tests found on tens of thousands of arguments a function, among
//! them the neighbourhoods of 0, 1 and overflow.
//!
//! Start in [`over`] for how a function of lanes becomes one of slices.

mod exponential;
mod hyperbolic;
mod inverse_trigonometric;
mod logarithm;
mod over;
mod power;
mod slow_arithmetic;
mod sum;
mod trigonometric;

#[cfg(test)]
mod tests;

pub use over::Cells;
pub(crate) use over::{Work, vectorized};
pub use power::java_pow;
pub(crate) use sum::{sum_of, two_sum};

/// A function of one cell, over slices: writes as many cells as both have.
pub type UnaryForm = fn(&[f64], &mut [f64]);

/// A function of two cells, over stretches of cells: writes as many as all have.
pub type BinaryForm = fn(Cells, Cells, &mut [f64]);

/// Declares the public function over slices of a function of lanes.
macro_rules! over_slices {
    ($($(#[$doc:meta])* $name:ident = $function:expr;)*) => {
        $($(#[$doc])*
        pub fn $name(x: &[f64], out: &mut [f64]) {
            over::unary($function, x, out);
        })*
    };
}

over_slices! {
    /// e^x, within 1.0 ULP.
    exp = exponential::Exp;
    /// The natural logarithm, within 0.8 ULP.
    log = logarithm::Log;
    /// As IEEE 754 has it.
    sqrt = slow_arithmetic::SquareRoot;
    /// 1 / (1 + e^-x), within 2.0 ULP while e^-x is finite; zero beyond.
    sigmoid = exponential::Sigmoid;
    /// Within 2.4 ULP.
    sinh = hyperbolic::Sinh;
    /// Within 1.4 ULP.
    cosh = hyperbolic::Cosh;
    /// Within 2.5 ULP.
    tanh = hyperbolic::Tanh;
    /// Within 1.5 ULP. Arguments from 2^30 on go through the scalar function.
    sin = trigonometric::Sin;
    /// Within 1.4 ULP. Arguments from 2^30 on go through the scalar function.
    cos = trigonometric::Cos;
    /// Within 2.6 ULP. Arguments from 2^30 on go through the scalar function.
    tan = trigonometric::Tan;
    /// Within 2.1 ULP.
    asin = inverse_trigonometric::Asin;
    /// Within 1.2 ULP.
    acos = inverse_trigonometric::Acos;
    /// Within 2.3 ULP.
    atan = inverse_trigonometric::Atan;
}

/// x / y, as IEEE 754 has it.
pub fn divide(x: Cells, y: Cells, out: &mut [f64]) {
    over::binary(slow_arithmetic::Quotient, x, y, out);
}

/// x^y as Java's Math.pow defines it, within 1.1 ULP. Exponents of -1, 0.5, 1, 2 and 3 cost a few operations.
pub fn pow(x: Cells, y: Cells, out: &mut [f64]) {
    if let (Cells::Each(x), Cells::Same(exponent)) = (x, y) {
        return match power::ShortCut::of(exponent) {
            Some(short_cut) => over::unary(short_cut, x, out),
            None => over::unary(power::PowTo { exponent }, x, out),
        };
    }
    over::binary(power::Pow, x, y, out);
}

/// ln x / ln base, within 2.5 ULP.
pub fn log_base(x: Cells, base: Cells, out: &mut [f64]) {
    if let (Cells::Each(x), Cells::Same(base)) = (x, base) {
        return over::unary(logarithm::LogTo::base(base), x, out);
    }
    over::binary(logarithm::LogBase, x, base, out);
}
