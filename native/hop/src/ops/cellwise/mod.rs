//! Operators that work cell by cell, with broadcasting of vectors and 1 x 1 matrices on either side.
//!
//! The functions are the definition: kernels and generated code must agree with them, up to the last bits of
//! transcendental functions. [`unary`], [`binary`] and [`ternary`] are the tables of operators; a new one is declared there.

mod binary;
mod broadcast;
pub mod precedence;
mod ternary;
#[cfg(test)]
mod tests;
mod unary;

pub use binary::{BinaryOp, floor_div, floor_mod};
pub(crate) use binary::{IntResult, OfScalars};
pub(super) use broadcast::broadcast;
pub use ternary::TernaryOp;
pub use unary::UnaryOp;

use super::{
    call::Known,
    operator::{Accepts, Certain, Form, Input},
};
use crate::ValueType;

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

/// How a script writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// As a built-in function of this name.
    Function(&'static str),
    /// As a built-in function that with fewer arguments is another operator.
    Overload(&'static str),
    /// By its code, as a symbol that binds this tightly.
    Symbol(u8),
    /// Not at all: rewrites make it. Its name in expressions that people read.
    Internal(&'static str),
}

impl Written {
    fn function(self) -> Option<&'static str> {
        match self {
            Written::Function(name) => Some(name),
            Written::Overload(_) | Written::Symbol(_) | Written::Internal(_) => None,
        }
    }

    fn precedence(self) -> u8 {
        match self {
            Written::Symbol(precedence) => precedence,
            Written::Function(_) | Written::Overload(_) | Written::Internal(_) => {
                precedence::PRIMARY
            }
        }
    }

    fn form(self, symbol: Form<'static>) -> Form<'static> {
        match self {
            Written::Function(name) | Written::Overload(name) => Form::Function(name),
            Written::Symbol(_) => symbol,
            Written::Internal(name) => Form::Internal(name),
        }
    }
}

const fn cells(name: &'static str) -> Input {
    (name, Accepts::MatrixOrScalar)
}

/// Ints overflow, and texts have few operators.
const CERTAIN: Certain = Certain::If(|result, inputs| {
    let is_double = |value: &Known| value.value_type == ValueType::Double;
    result.is_matrix() && !inputs.iter().any(Known::is_text)
        || is_double(result) && inputs.iter().any(is_double)
});

const WITHOUT_TEXT: Certain = Certain::If(|_, inputs| !inputs.iter().any(Known::is_text));

/// Products of ints overflow.
const WITHOUT_TEXT_AND_INTS: Certain = Certain::If(|result, inputs| {
    let is_double = matches!(result.value_type, ValueType::Double | ValueType::Boolean);
    !inputs.iter().any(Known::is_text) && (result.is_matrix() || is_double)
});

/// The same function over slices, several cells at a time.
#[derive(Debug, Clone, Copy)]
enum Vectors<F> {
    /// Compiled code calls it, too, so that a fused operator gives the same bits as the basic ones.
    Shared(F),
    /// Compiled code has instructions, which give the bits of the scalar function, as the form does.
    Kernels(F),
}

/// Declares the operators of a family with the function that each computes.
macro_rules! cell_operators {
    (
        $(#[$enum_doc:meta])* $enum:ident: $facts:ident = $function:ty, ($($argument:ident),+);
        $( $(#[doc = $doc:literal])+ $variant:ident { eval: $eval:expr, $($fact:tt)+ } )*
    ) => {
        $crate::ops::declare::operators! {
            $(#[$enum_doc])* $enum: $facts;
            $( $(#[doc = $doc])+ $variant { $($fact)+ } )*
        }

        impl $enum {
            /// The scalar function. Inlined, so that a kernel compiled for one operator has its function only.
            #[inline(always)]
            pub fn eval(self, $($argument: f64),+) -> f64 {
                let function: $function = match self { $($enum::$variant => $eval,)* };
                function($($argument),+)
            }

            /// The function's name in DML; `None` for what is written as an operator or arises in rewrites.
            pub fn dml_name(self) -> Option<&'static str> {
                self.declared().written.function()
            }

            pub fn from_dml_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| op.dml_name() == Some(name))
            }

            /// Floating-point operations a cell, as the cost model counts them: divisions, roots and functions with a vector form
            /// by their time relative to that of `exp`.
            pub fn flops(self) -> f64 {
                self.declared().flops
            }
        }
    };
}

use cell_operators;

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}
