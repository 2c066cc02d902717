//! Functions of cells over slices: exponentials, logarithms, powers, trigonometric and hyperbolic functions, and those of a
//! few instructions.
//!
//! Each algorithm is written once over a vector of doubles ([`crate::lanes::math`]), and compiled for AVX-512, AVX2 with FMA and NEON; the best
//! that the processor has is chosen when a function is called. Where it has none, the scalar functions of the
//! standard library are used.
//!
//! A cell's result depends on the cell alone: not on its place in the slice, on the slice's length, nor on whether
//! an operand is given for each cell or once for all; and it is the same to the bit with all vector instructions. So fused and basic operators, which
//! cut their work differently, agree. NaN, infinities, zeros and subnormal numbers come out as from the scalar functions.
//!
//! Functions without a stated error give the bits of the scalar functions. Others' errors are in units in the last place (ULP): the largest that the tests found on tens of thousands of arguments a function, among
//! them the neighbourhoods of 0, 1 and overflow.
//!
//! Start in [`over`] for how a function of lanes becomes one of slices.

mod exponential;
mod few_instructions;
mod hyperbolic;
mod inverse_trigonometric;
mod logarithm;
mod over;
mod power;
mod rounding;
mod sum;
mod trigonometric;

#[cfg(test)]
mod tests;

pub use few_instructions::{maximum, minimum};
pub use over::Cells;
pub(crate) use over::{Work, vectorized};
pub use power::java_pow;
pub use rounding::{floored_modulo, half_up};
pub(crate) use sum::{sum_of, two_sum};

/// A function of one cell, over slices: writes as many cells as both have.
pub type UnaryForm = fn(&[f64], &mut [f64]);

/// A function of two cells, over stretches of cells: writes as many as all have.
pub type BinaryForm = fn(Cells, Cells, &mut [f64]);

/// A function of three cells, likewise.
pub type TernaryForm = fn([Cells; 3], &mut [f64]);

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
    /// e^x - 1, within 2.0 ULP.
    exp_less_1 = exponential::ExpLess1;
    /// ln (1 + x), within 1.5 ULP.
    log_of_1_plus = logarithm::LogOf1Plus;
    /// The logarithm to base 2, within 0.6 ULP.
    log2 = logarithm::Log2;
    /// The logarithm to base 10, within 0.6 ULP.
    log10 = logarithm::Log10;
    /// The nearest whole number, halves to even ones.
    round_half_even = rounding::HalfEven;
    /// The natural logarithm, within 0.8 ULP.
    log = logarithm::Log;
    /// As IEEE 754 has it.
    sqrt = few_instructions::SquareRoot;
    /// Without its sign.
    abs = few_instructions::Magnitude;
    /// -1, 0 or 1; NaN and zeros stay.
    sign = few_instructions::Sign;
    /// 1 where x is 0, else 0.
    not = few_instructions::Negation;
    /// x (1 - x).
    sprop = few_instructions::Sprop;
    /// x x.
    square = few_instructions::Square;
    /// The largest whole number that is not greater.
    floor = rounding::Floor;
    /// The smallest whole number that is not less.
    ceil = rounding::Ceiling;
    /// [`half_up`].
    round = rounding::HalfUp;
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

/// Declares the public function over stretches of cells of a function of lanes.
macro_rules! over_stretches {
    ($($(#[$doc:meta])* $name:ident = $function:expr;)*) => {
        $($(#[$doc])*
        pub fn $name(x: Cells, y: Cells, out: &mut [f64]) {
            over::binary($function, x, y, out);
        })*
    };
}

over_stretches! {
    /// x + y.
    add = few_instructions::Sum;
    /// x - y.
    subtract = few_instructions::Difference;
    /// x y.
    multiply = few_instructions::Product;
    /// x / y, as IEEE 754 has it.
    divide = few_instructions::Quotient;
    /// floor(x / y), where the quotient is rounded first.
    whole_quotient = rounding::WholeQuotient;
    /// [`floored_modulo`]. Pairs with quotients from 2^52 on go through the scalar function.
    remainder = rounding::Remainder;
    /// [`minimum`].
    min = few_instructions::Minimum;
    /// [`maximum`].
    max = few_instructions::Maximum;
    /// 1 where x < y, else 0.
    less = few_instructions::Less;
    /// 1 where x <= y, else 0.
    less_equal = few_instructions::LessEqual;
    /// 1 where x > y, else 0.
    greater = few_instructions::Greater;
    /// 1 where x >= y, else 0.
    greater_equal = few_instructions::GreaterEqual;
    /// 1 where x = y, else 0.
    equal = few_instructions::Equal;
    /// 1 where x and y differ or one is NaN, else 0.
    not_equal = few_instructions::NotEqual;
    /// 1 where neither is 0, else 0.
    and = few_instructions::Conjunction;
    /// 1 where one is not 0, else 0.
    or = few_instructions::Disjunction;
    /// 1 where exactly one is 0, else 0.
    xor = few_instructions::ExclusiveDisjunction;
}

/// y where x is not 0, else z.
pub fn if_else(operands: [Cells; 3], out: &mut [f64]) {
    over::ternary(few_instructions::Choice, operands, out);
}

/// x + y z, rounded twice.
pub fn plus_product(operands: [Cells; 3], out: &mut [f64]) {
    over::ternary(few_instructions::PlusProduct, operands, out);
}

/// x - y z, rounded twice.
pub fn minus_product(operands: [Cells; 3], out: &mut [f64]) {
    over::ternary(few_instructions::MinusProduct, operands, out);
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
