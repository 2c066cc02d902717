//! Functions of one cell.

use std::borrow::Cow;

use fulgurite_error::Result;
use fulgurite_matrix::vector_math::{self, UnaryForm};

use super::{
    CERTAIN, Vectors, WITHOUT_TEXT, Written, Zero, cell_operators, cells, precedence, truth,
};
use crate::{
    Characteristics, ValueType,
    ops::{
        call::Call,
        operator::{
            AtZeros, Cellwise, Facts, Finite, Form, Gives, Input, Inputs, Memory, Operator, Purity,
            Zeros,
        },
    },
    variable_info::VariableInfo,
};

struct UnaryFacts {
    code: &'static str,
    written: Written,
    flops: f64,
    zero: Zero,
    finite: Finite,
    scalars: OfScalar,
    vectors: Vectors<UnaryForm>,
}

/// What it gives of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfScalar {
    Double,
    /// An int of an int, else a double.
    Number,
    Boolean,
}

cell_operators! {
    /// Functions of one cell.
    UnaryOp: UnaryFacts = fn(f64) -> f64, (x);
    /// e to the x.
    Exp {
        eval: |x| x.exp(),
        code: "exp", written: Written::Function("exp"), flops: 18.0, zero: Zero::No,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::exp),
    }
    /// Natural logarithm.
    Log {
        eval: |x| x.ln(),
        code: "log", written: Written::Function("log"), flops: 24.0, zero: Zero::No,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::log),
    }
    /// e to the x, less 1.
    ExpLess1 {
        eval: |x| x.exp_m1(),
        code: "expm1", written: Written::Internal("expm1"), flops: 22.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::exp_less_1),
    }
    /// Natural logarithm of 1 + x.
    LogOf1Plus {
        eval: |x| x.ln_1p(),
        code: "log1p", written: Written::Internal("log1p"), flops: 34.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::log_of_1_plus),
    }
    /// Logarithm to base 2.
    Log2 {
        eval: |x| x.log2(),
        code: "log2", written: Written::Internal("log2"), flops: 40.0, zero: Zero::No,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::log2),
    }
    /// Logarithm to base 10.
    Log10 {
        eval: |x| x.log10(),
        code: "log10", written: Written::Internal("log10"), flops: 40.0, zero: Zero::No,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::log10),
    }
    /// Square root.
    Sqrt {
        eval: |x| x.sqrt(),
        code: "sqrt", written: Written::Function("sqrt"), flops: 8.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Kernels(vector_math::sqrt),
    }
    /// Absolute value.
    Abs {
        eval: |x| x.abs(),
        code: "abs", written: Written::Function("abs"), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Number, vectors: Vectors::Kernels(vector_math::abs),
    }
    /// floor(x + 0.5), as Java's Math.round: halves go up. NaN, infinities and numbers too large for an int stay.
    Round {
        eval: vector_math::half_up,
        code: "round", written: Written::Function("round"), flops: 4.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Kernels(vector_math::round),
    }
    /// The nearest whole number, halves to even ones.
    RoundHalfEven {
        eval: |x| x.round_ties_even(),
        code: "rint", written: Written::Internal("rint"), flops: 4.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Kernels(vector_math::round_half_even),
    }
    /// The largest whole number that is not greater.
    Floor {
        eval: |x| x.floor(),
        code: "floor", written: Written::Function("floor"), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Kernels(vector_math::floor),
    }
    /// The smallest whole number that is not less.
    Ceil {
        eval: |x| x.ceil(),
        code: "ceil", written: Written::Function("ceil"), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Kernels(vector_math::ceil),
    }
    /// -1, 0 or 1; NaN stays NaN.
    Sign {
        eval: |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x },
        code: "sign", written: Written::Function("sign"), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Kernels(vector_math::sign),
    }
    /// Sine.
    Sin {
        eval: |x| x.sin(),
        code: "sin", written: Written::Function("sin"), flops: 28.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::sin),
    }
    /// Cosine.
    Cos {
        eval: |x| x.cos(),
        code: "cos", written: Written::Function("cos"), flops: 29.0, zero: Zero::No,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::cos),
    }
    /// Tangent.
    Tan {
        eval: |x| x.tan(),
        code: "tan", written: Written::Function("tan"), flops: 36.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::tan),
    }
    /// Inverse sine.
    Asin {
        eval: |x| x.asin(),
        code: "asin", written: Written::Function("asin"), flops: 30.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::asin),
    }
    /// Inverse cosine.
    Acos {
        eval: |x| x.acos(),
        code: "acos", written: Written::Function("acos"), flops: 34.0, zero: Zero::No,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::acos),
    }
    /// Inverse tangent.
    Atan {
        eval: |x| x.atan(),
        code: "atan", written: Written::Function("atan"), flops: 38.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::atan),
    }
    /// Hyperbolic sine.
    Sinh {
        eval: |x| x.sinh(),
        code: "sinh", written: Written::Function("sinh"), flops: 30.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::sinh),
    }
    /// Hyperbolic cosine.
    Cosh {
        eval: |x| x.cosh(),
        code: "cosh", written: Written::Function("cosh"), flops: 26.0, zero: Zero::No,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::cosh),
    }
    /// Hyperbolic tangent.
    Tanh {
        eval: |x| x.tanh(),
        code: "tanh", written: Written::Function("tanh"), flops: 28.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::tanh),
    }
    /// Logical negation: 1 where x is 0, else 0. NaN counts as true.
    Not {
        eval: |x| truth(x == 0.0),
        code: "!", written: Written::Symbol(precedence::NOT), flops: 1.0, zero: Zero::No,
        finite: Finite::Always, scalars: OfScalar::Boolean, vectors: Vectors::Kernels(vector_math::not),
    }
    /// 1 / (1 + e^-x).
    Sigmoid {
        eval: |x| 1.0 / (1.0 + (-x).exp()),
        code: "sigmoid", written: Written::Function("sigmoid"), flops: 25.0, zero: Zero::No,
        finite: Finite::Kept, scalars: OfScalar::Double, vectors: Vectors::Shared(vector_math::sigmoid),
    }
    /// x (1 - x).
    Sprop {
        eval: |x| x * (1.0 - x),
        code: "sprop", written: Written::Internal("sprop"), flops: 2.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Kernels(vector_math::sprop),
    }
    /// The square.
    Pow2 {
        eval: |x| x * x,
        code: "^2", written: Written::Internal("square"), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalar::Double, vectors: Vectors::Kernels(vector_math::square),
    }
}

impl UnaryOp {
    /// f(0) = 0: only the non-zeros of a sparse operand need a visit.
    pub fn keeps_zero(self) -> bool {
        self.declared().zero == Zero::Kept
    }

    /// The type of its result on a scalar.
    pub(crate) fn value_type_of(self, operand: ValueType) -> ValueType {
        match self.declared().scalars {
            OfScalar::Boolean => ValueType::Boolean,
            OfScalar::Number if operand == ValueType::Int => ValueType::Int,
            OfScalar::Number | OfScalar::Double => ValueType::Double,
        }
    }

    /// Its form over vectors, which compiled code calls.
    pub fn vector_form(self) -> Option<UnaryForm> {
        match self.declared().vectors {
            Vectors::Shared(form) => Some(form),
            Vectors::Kernels(_) => None,
        }
    }

    /// The function of each cell, by its vector form; slices are of one length.
    pub fn eval_cells(self, x: &[f64], out: &mut [f64]) {
        let (Vectors::Shared(form) | Vectors::Kernels(form)) = self.declared().vectors;
        form(x, out);
    }
}

const INPUTS: &[Input] = &[cells("x")];

impl Operator for UnaryOp {
    fn code(&self) -> Cow<'static, str> {
        format!("u({})", UnaryOp::code(*self)).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.declared();
        Facts {
            doc: self.doc(),
            inputs: Inputs::of(INPUTS),
            gives: Gives::Cells(self),
            purity: Purity::Pure,
            finite: declared.finite,
            certain: CERTAIN,
            total: WITHOUT_TEXT,
            zeros: Zeros::Cells(self),
            memory: Memory::COORDINATES,
            form: declared.written.form(Form::Prefix(declared.code)),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let input = call.input(0);
        if call.is_scalar(0) {
            return Ok(VariableInfo::scalar(self.value_type_of(input.value_type)));
        }
        let size = input.characteristics;
        let nnz = if self.keeps_zero() {
            size.nnz
        } else {
            size.cells()
        };
        Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
    }
}

impl Cellwise for UnaryOp {
    fn value_type(&self, operands: &[ValueType]) -> Option<ValueType> {
        Some(self.value_type_of(*operands.first()?))
    }

    fn at_zeros(&self, operands: &[AtZeros]) -> Option<f64> {
        Some(self.eval(operands.first()?.value()?))
    }
}
