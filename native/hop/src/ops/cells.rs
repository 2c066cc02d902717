//! Operators that work cell by cell, with the scalar function each computes.
//!
//! The functions here are the definition: kernels and generated code must agree with them, up to the
//! last bits of transcendental functions.

use std::cmp::Ordering;

use fulgurite_matrix::vector_math::java_pow;

/// Declares an enum of operators with their facts, and look-ups both ways.
macro_rules! cell_ops {
    (
        $(#[$enum_doc:meta])* $enum:ident = $function:ty, ($($argument:ident),+);
        $( $(#[$doc:meta])* $variant:ident {
            code: $code:literal, dml: $dml:expr, flops: $flops:literal, zero: $zero:expr, eval: $eval:expr
        } )*
    ) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $enum { $( $(#[$doc])* $variant, )* }

        impl $enum {
            pub const ALL: &'static [$enum] = &[$($enum::$variant),*];

            /// SystemML's code, without the class prefix: `exp`, `*`, `+*`.
            pub fn code(self) -> &'static str {
                match self { $($enum::$variant => $code,)* }
            }

            /// The function's name in DML; `None` for what is written as an operator or arises in rewrites.
            pub fn dml_name(self) -> Option<&'static str> {
                match self { $($enum::$variant => $dml,)* }
            }

            /// Floating-point operations a cell, as the cost model counts them: divisions, roots and functions with a vector form
            /// by their time relative to that of `exp`.
            pub fn flops(self) -> f64 {
                match self { $($enum::$variant => $flops,)* }
            }

            pub fn from_code(code: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| op.code() == code)
            }

            pub fn from_dml_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| op.dml_name() == Some(name))
            }

            /// The scalar function. Inlined, so that a kernel compiled for one operator has its function only.
            #[inline(always)]
            pub fn eval(self, $($argument: f64),+) -> f64 {
                let function: $function = match self { $($enum::$variant => $eval,)* };
                function($($argument),+)
            }

            fn at_zero(self) -> Zero {
                match self { $($enum::$variant => $zero,)* }
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.code())
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let code = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::from_code(&code).ok_or_else(|| serde::de::Error::custom(format!("unknown operator '{code}'")))
            }
        }
    };
}

/// What an operator gives where an argument is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zero {
    /// Nothing can be said.
    No,
    /// f(0) = 0; for binaries and ternaries only that all arguments 0 give 0.
    Kept,
    /// f(0, y) = f(x, 0) = 0.
    Either,
    /// f(0, y) = 0.
    Left,
}

/// Whether an operator gives finite cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finite {
    Always,
    /// Where all its operands are.
    Kept,
    /// It may overflow, or give NaN.
    Unknown,
}

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// NaN if either is, as DML defines `min` and `max`; -0 is smaller than 0.
fn minimum(x: f64, y: f64) -> f64 {
    match x.partial_cmp(&y) {
        None => f64::NAN,
        Some(Ordering::Less) => x,
        Some(Ordering::Greater) => y,
        // Equal numbers have equal bits, but for zeros.
        Some(Ordering::Equal) => f64::from_bits(x.to_bits() | y.to_bits()),
    }
}

fn maximum(x: f64, y: f64) -> f64 {
    match x.partial_cmp(&y) {
        None => f64::NAN,
        Some(Ordering::Less) => y,
        Some(Ordering::Greater) => x,
        Some(Ordering::Equal) => f64::from_bits(x.to_bits() & y.to_bits()),
    }
}

cell_ops! {
    /// Functions of one cell.
    UnaryOp = fn(f64) -> f64, (x);
    /// e^x
    Exp { code: "exp", dml: Some("exp"), flops: 18.0, zero: Zero::No, eval: |x| x.exp() }
    /// Natural logarithm.
    Log { code: "log", dml: Some("log"), flops: 24.0, zero: Zero::No, eval: |x| x.ln() }
    Sqrt { code: "sqrt", dml: Some("sqrt"), flops: 8.0, zero: Zero::Kept, eval: |x| x.sqrt() }
    Abs { code: "abs", dml: Some("abs"), flops: 1.0, zero: Zero::Kept, eval: |x| x.abs() }
    /// floor(x + 0.5) as Java's Math.round: halves go up. NaN and infinities stay, and so do numbers too large for an int.
    Round { code: "round", dml: Some("round"), flops: 4.0, zero: Zero::Kept, eval: half_up }
    Floor { code: "floor", dml: Some("floor"), flops: 1.0, zero: Zero::Kept, eval: |x| x.floor() }
    Ceil { code: "ceil", dml: Some("ceil"), flops: 1.0, zero: Zero::Kept, eval: |x| x.ceil() }
    /// -1, 0 or 1; NaN stays NaN.
    Sign { code: "sign", dml: Some("sign"), flops: 1.0, zero: Zero::Kept,
           eval: |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x } }
    Sin { code: "sin", dml: Some("sin"), flops: 28.0, zero: Zero::Kept, eval: |x| x.sin() }
    Cos { code: "cos", dml: Some("cos"), flops: 29.0, zero: Zero::No, eval: |x| x.cos() }
    Tan { code: "tan", dml: Some("tan"), flops: 36.0, zero: Zero::Kept, eval: |x| x.tan() }
    Asin { code: "asin", dml: Some("asin"), flops: 30.0, zero: Zero::Kept, eval: |x| x.asin() }
    Acos { code: "acos", dml: Some("acos"), flops: 34.0, zero: Zero::No, eval: |x| x.acos() }
    Atan { code: "atan", dml: Some("atan"), flops: 38.0, zero: Zero::Kept, eval: |x| x.atan() }
    Sinh { code: "sinh", dml: Some("sinh"), flops: 30.0, zero: Zero::Kept, eval: |x| x.sinh() }
    Cosh { code: "cosh", dml: Some("cosh"), flops: 26.0, zero: Zero::No, eval: |x| x.cosh() }
    Tanh { code: "tanh", dml: Some("tanh"), flops: 28.0, zero: Zero::Kept, eval: |x| x.tanh() }
    /// Logical negation: 1 where x is 0, else 0 (NaN counts as true).
    Not { code: "!", dml: None, flops: 1.0, zero: Zero::No, eval: |x| truth(x == 0.0) }
    /// 1 / (1 + e^-x)
    Sigmoid { code: "sigmoid", dml: None, flops: 25.0, zero: Zero::No, eval: |x| 1.0 / (1.0 + (-x).exp()) }
    /// x (1 - x)
    Sprop { code: "sprop", dml: None, flops: 2.0, zero: Zero::Kept, eval: |x| x * (1.0 - x) }
    /// x^2
    Pow2 { code: "^2", dml: None, flops: 1.0, zero: Zero::Kept, eval: |x| x * x }
}

cell_ops! {
    /// Functions of two cells.
    BinaryOp = fn(f64, f64) -> f64, (x, y);
    Plus { code: "+", dml: None, flops: 1.0, zero: Zero::Kept, eval: |x, y| x + y }
    Minus { code: "-", dml: None, flops: 1.0, zero: Zero::Kept, eval: |x, y| x - y }
    Mult { code: "*", dml: None, flops: 1.0, zero: Zero::Either, eval: |x, y| x * y }
    Div { code: "/", dml: None, flops: 6.0, zero: Zero::Left, eval: |x, y| x / y }
    /// Floored modulo, as in R: the sign of the divisor.
    Modulus { code: "%%", dml: None, flops: 8.0, zero: Zero::Left, eval: floored_modulo }
    /// Floor division.
    IntDiv { code: "%/%", dml: None, flops: 6.0, zero: Zero::Left, eval: |x, y| (x / y).floor() }
    Pow { code: "^", dml: None, flops: 90.0, zero: Zero::No, eval: java_pow }
    Min { code: "min", dml: Some("min"), flops: 1.0, zero: Zero::Kept, eval: minimum }
    Max { code: "max", dml: Some("max"), flops: 1.0, zero: Zero::Kept, eval: maximum }
    Less { code: "<", dml: None, flops: 1.0, zero: Zero::Kept, eval: |x, y| truth(x < y) }
    LessEqual { code: "<=", dml: None, flops: 1.0, zero: Zero::No, eval: |x, y| truth(x <= y) }
    Greater { code: ">", dml: None, flops: 1.0, zero: Zero::Kept, eval: |x, y| truth(x > y) }
    GreaterEqual { code: ">=", dml: None, flops: 1.0, zero: Zero::No, eval: |x, y| truth(x >= y) }
    Equal { code: "==", dml: None, flops: 1.0, zero: Zero::No, eval: |x, y| truth(x == y) }
    NotEqual { code: "!=", dml: None, flops: 1.0, zero: Zero::Kept, eval: |x, y| truth(x != y) }
    And { code: "&", dml: None, flops: 1.0, zero: Zero::Either, eval: |x, y| truth(x != 0.0 && y != 0.0) }
    Or { code: "|", dml: None, flops: 1.0, zero: Zero::Kept, eval: |x, y| truth(x != 0.0 || y != 0.0) }
    Xor { code: "xor", dml: Some("xor"), flops: 1.0, zero: Zero::Kept,
          eval: |x, y| truth((x != 0.0) != (y != 0.0)) }
    /// log(x) / log(base)
    LogBase { code: "log", dml: None, flops: 30.0, zero: Zero::No, eval: |x, base| x.ln() / base.ln() }
}

cell_ops! {
    /// Functions of three cells.
    TernaryOp = fn(f64, f64, f64) -> f64, (x, y, z);
    /// y where x is not 0 (NaN counts as true), else z.
    IfElse { code: "ifelse", dml: Some("ifelse"), flops: 2.0, zero: Zero::Kept, eval: |x, y, z| if x != 0.0 { y } else { z } }
    /// x + y * z
    PlusMult { code: "+*", dml: None, flops: 2.0, zero: Zero::Kept, eval: |x, y, z| x + y * z }
    /// x - y * z
    MinusMult { code: "-*", dml: None, flops: 2.0, zero: Zero::Kept, eval: |x, y, z| x - y * z }
}

impl UnaryOp {
    /// f(0) = 0: only the non-zeros of a sparse operand need a visit.
    pub fn keeps_zero(self) -> bool {
        self.at_zero() == Zero::Kept
    }

    pub(crate) fn finite(self) -> Finite {
        use UnaryOp::*;
        match self {
            Not => Finite::Always,
            Abs | Round | Floor | Ceil | Sign | Sin | Cos | Atan | Tanh | Sigmoid => Finite::Kept,
            Exp | Log | Sqrt | Tan | Asin | Acos | Sinh | Cosh | Sprop | Pow2 => Finite::Unknown,
        }
    }
}

impl BinaryOp {
    pub(crate) fn finite(self) -> Finite {
        use BinaryOp::*;
        match self {
            Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual | And | Or | Xor => {
                Finite::Always
            }
            Min | Max => Finite::Kept,
            Plus | Minus | Mult | Div | Modulus | IntDiv | Pow | LogBase => Finite::Unknown,
        }
    }

    /// As [`BinaryOp::flops`], where the right operand may be known: some powers are products and roots
    /// ([`fulgurite_matrix::vector_math::pow`]).
    pub fn flops_with(self, right: Option<f64>) -> f64 {
        let Some(exponent) = right.filter(|_| self == BinaryOp::Pow) else {
            return self.flops();
        };
        match exponent {
            -1.0 => BinaryOp::Div.flops(),
            0.5 => UnaryOp::Sqrt.flops(),
            1.0 | 2.0 => UnaryOp::Pow2.flops(),
            3.0 => 6.0,
            _ => self.flops(),
        }
    }

    /// f(0, y) = 0 for every finite y.
    pub fn zero_on_left_zero(self) -> bool {
        matches!(self.at_zero(), Zero::Either | Zero::Left)
    }

    /// f(x, 0) = 0 for every finite x.
    pub fn zero_on_right_zero(self) -> bool {
        self.at_zero() == Zero::Either
    }

    /// f(0, 0) = 0. (0 / 0 is NaN.)
    pub fn zero_on_both_zero(self) -> bool {
        matches!(self.at_zero(), Zero::Either | Zero::Kept)
    }

    /// Gives 0 or 1 (a boolean when both operands are scalars).
    pub fn is_logical(self) -> bool {
        use BinaryOp::*;
        matches!(
            self,
            Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual | And | Or | Xor
        )
    }

    pub fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(
            self,
            Plus | Mult | Min | Max | Equal | NotEqual | And | Or | Xor
        )
    }
}

impl TernaryOp {
    /// f(0, 0, 0) = 0.
    pub fn zero_on_all_zero(self) -> bool {
        self.at_zero() == Zero::Kept
    }
}

fn half_up(x: f64) -> f64 {
    // 0.49999999999999994 + 0.5 rounds to 1 in doubles; Java gives 0.
    let floor = x.floor();
    let rounded = if x - floor >= 0.5 { floor + 1.0 } else { floor };
    rounded + 0.0
}

fn floored_modulo(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return f64::NAN;
    }
    let remainder = x % y;
    if remainder != 0.0 && (remainder < 0.0) != (y < 0.0) {
        remainder + y
    } else {
        remainder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_zeros_hold() {
        for op in UnaryOp::ALL {
            assert_eq!(op.keeps_zero(), op.eval(0.0) == 0.0, "{op:?}");
        }
        for op in BinaryOp::ALL {
            let others = [-2.5, 0.5, 3.0];
            if op.zero_on_left_zero() {
                assert!(others.iter().all(|y| op.eval(0.0, *y) == 0.0), "{op:?}");
            }
            if op.zero_on_right_zero() {
                assert!(others.iter().all(|x| op.eval(*x, 0.0) == 0.0), "{op:?}");
            }
            if op.zero_on_both_zero() {
                assert_eq!(op.eval(0.0, 0.0), 0.0, "{op:?}");
            }
        }
        for op in TernaryOp::ALL {
            assert_eq!(
                op.zero_on_all_zero(),
                op.eval(0.0, 0.0, 0.0) == 0.0,
                "{op:?}"
            );
        }
    }

    #[test]
    fn rounding_and_modulo_follow_java_and_r() {
        let round = |x| UnaryOp::Round.eval(x);
        assert_eq!(
            [0.5, 1.5, 2.5, -0.5, -1.5, -2.5].map(round),
            [1.0, 2.0, 3.0, 0.0, -1.0, -2.0]
        );
        assert_eq!(
            [1e300, -1e300, f64::INFINITY].map(round),
            [1e300, -1e300, f64::INFINITY]
        );
        assert!(round(f64::NAN).is_nan());
        let modulo = |x, y| BinaryOp::Modulus.eval(x, y);
        assert_eq!(
            [modulo(-5.0, 3.0), modulo(5.0, -3.0), modulo(5.0, 3.0)],
            [1.0, -1.0, 2.0]
        );
        assert!(modulo(1.0, 0.0).is_nan());
    }

    #[test]
    fn powers_follow_java() {
        let pow = |x, y| BinaryOp::Pow.eval(x, y);
        assert_eq!(
            [pow(f64::NAN, 0.0), pow(0.0, 0.0), pow(2.0, -1.0)],
            [1.0, 1.0, 0.5]
        );
        let nan = f64::NAN;
        for (x, y) in [
            (1.0, nan),
            (1.0, f64::INFINITY),
            (-1.0, f64::NEG_INFINITY),
            (-8.0, 1.0 / 3.0),
        ] {
            assert!(pow(x, y).is_nan(), "{x}^{y}");
        }
        assert_eq!(pow(0.5, f64::INFINITY), 0.0);
    }
}
