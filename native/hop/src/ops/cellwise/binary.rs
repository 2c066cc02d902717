//! Functions of two cells.

use std::{borrow::Cow, cmp::Ordering};

use fulgurite_error::Result;
use fulgurite_matrix::vector_math::{self, BinaryForm, Cells};

use super::{
    CERTAIN, UnaryOp, Vectors, WITHOUT_TEXT_AND_INTS, Written, Zero, broadcast, cell_operators,
    cells, precedence, truth,
};
use crate::{
    Characteristics, ValueType,
    ops::{
        call::Call,
        estimates::{known_sparsity, product_is_zero, share},
        operator::{
            AtZeros, Cellwise, Facts, Finite, Form, Gives, Input, Inputs, Memory, Operator, Purity,
            Zeros,
        },
    },
    variable_info::VariableInfo,
};

struct BinaryFacts {
    code: &'static str,
    written: Written,
    flops: f64,
    zero: Zero,
    finite: Finite,
    scalars: OfScalars,
    commutes: bool,
    vectors: Vectors<BinaryForm>,
}

/// What it gives of two scalars.
#[derive(Clone, Copy)]
pub(crate) enum OfScalars {
    /// A double, of ints too.
    Double,
    /// By this function an int of two ints, else a double.
    Number(fn(i64, i64) -> IntResult),
    /// A boolean, whose function takes doubles.
    Boolean,
    /// A boolean, by the order of the operands, which may be texts; `None` is that of NaN.
    Comparison(fn(Option<Ordering>) -> bool),
}

/// What an operator gives of two ints.
pub(crate) enum IntResult {
    Int(i64),
    /// A number that no int holds.
    TooLarge,
    DividedByZero,
    NaN,
}

impl From<Option<i64>> for IntResult {
    fn from(checked: Option<i64>) -> Self {
        checked.map_or(IntResult::TooLarge, IntResult::Int)
    }
}

cell_operators! {
    /// Functions of two cells.
    BinaryOp: BinaryFacts = fn(f64, f64) -> f64, (x, y);
    /// Sum; of strings, the joined text.
    Plus {
        eval: |x, y| x + y,
        code: "+", written: Written::Symbol(precedence::ADDITIVE), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalars::Number(|x, y| x.checked_add(y).into()),
        commutes: true, vectors: Vectors::Kernels(vector_math::add),
    }
    /// Difference.
    Minus {
        eval: |x, y| x - y,
        code: "-", written: Written::Symbol(precedence::ADDITIVE), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Unknown, scalars: OfScalars::Number(|x, y| x.checked_sub(y).into()),
        commutes: false, vectors: Vectors::Kernels(vector_math::subtract),
    }
    /// Product.
    Mult {
        eval: |x, y| x * y,
        code: "*", written: Written::Symbol(precedence::MULTIPLICATIVE), flops: 1.0, zero: Zero::Either,
        finite: Finite::Unknown, scalars: OfScalars::Number(|x, y| x.checked_mul(y).into()),
        commutes: true, vectors: Vectors::Kernels(vector_math::multiply),
    }
    /// Quotient.
    Div {
        eval: |x, y| x / y,
        code: "/", written: Written::Symbol(precedence::MULTIPLICATIVE), flops: 6.0, zero: Zero::Left,
        finite: Finite::Unknown, scalars: OfScalars::Double,
        commutes: false, vectors: Vectors::Kernels(vector_math::divide),
    }
    /// Floored modulo, as in R: the sign of the divisor.
    Modulus {
        eval: vector_math::floored_modulo,
        code: "%%", written: Written::Symbol(precedence::INTEGER_DIVISION), flops: 26.0, zero: Zero::Left,
        finite: Finite::Unknown, scalars: OfScalars::Number(int_remainder),
        commutes: false, vectors: Vectors::Shared(vector_math::remainder),
    }
    /// Floor division.
    IntDiv {
        eval: |x, y| (x / y).floor(),
        code: "%/%", written: Written::Symbol(precedence::INTEGER_DIVISION), flops: 6.0, zero: Zero::Left,
        finite: Finite::Unknown, scalars: OfScalars::Number(int_quotient),
        commutes: false, vectors: Vectors::Kernels(vector_math::whole_quotient),
    }
    /// Power, as Java's Math.pow.
    Pow {
        eval: vector_math::java_pow,
        code: "^", written: Written::Symbol(precedence::POWER), flops: 90.0, zero: Zero::No,
        finite: Finite::Unknown, scalars: OfScalars::Double,
        commutes: false, vectors: Vectors::Shared(vector_math::pow),
    }
    /// The smaller one; NaN if either is.
    Min {
        eval: vector_math::minimum,
        code: "min", written: Written::Function("min"), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalars::Number(|x, y| IntResult::Int(x.min(y))),
        commutes: true, vectors: Vectors::Kernels(vector_math::min),
    }
    /// The larger one; NaN if either is.
    Max {
        eval: vector_math::maximum,
        code: "max", written: Written::Function("max"), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Kept, scalars: OfScalars::Number(|x, y| IntResult::Int(x.max(y))),
        commutes: true, vectors: Vectors::Kernels(vector_math::max),
    }
    /// Whether x is less than y.
    Less {
        eval: |x, y| truth(x < y),
        code: "<", written: Written::Symbol(precedence::RELATIONAL), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Always, scalars: OfScalars::Comparison(|order| order.is_some_and(Ordering::is_lt)),
        commutes: false, vectors: Vectors::Kernels(vector_math::less),
    }
    /// Whether x is at most y.
    LessEqual {
        eval: |x, y| truth(x <= y),
        code: "<=", written: Written::Symbol(precedence::RELATIONAL), flops: 1.0, zero: Zero::No,
        finite: Finite::Always, scalars: OfScalars::Comparison(|order| order.is_some_and(Ordering::is_le)),
        commutes: false, vectors: Vectors::Kernels(vector_math::less_equal),
    }
    /// Whether x is greater than y.
    Greater {
        eval: |x, y| truth(x > y),
        code: ">", written: Written::Symbol(precedence::RELATIONAL), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Always, scalars: OfScalars::Comparison(|order| order.is_some_and(Ordering::is_gt)),
        commutes: false, vectors: Vectors::Kernels(vector_math::greater),
    }
    /// Whether x is at least y.
    GreaterEqual {
        eval: |x, y| truth(x >= y),
        code: ">=", written: Written::Symbol(precedence::RELATIONAL), flops: 1.0, zero: Zero::No,
        finite: Finite::Always, scalars: OfScalars::Comparison(|order| order.is_some_and(Ordering::is_ge)),
        commutes: false, vectors: Vectors::Kernels(vector_math::greater_equal),
    }
    /// Whether both are equal; NaN equals nothing.
    Equal {
        eval: |x, y| truth(x == y),
        code: "==", written: Written::Symbol(precedence::RELATIONAL), flops: 1.0, zero: Zero::No,
        finite: Finite::Always, scalars: OfScalars::Comparison(|order| order.is_some_and(Ordering::is_eq)),
        commutes: true, vectors: Vectors::Kernels(vector_math::equal),
    }
    /// Whether both differ.
    NotEqual {
        eval: |x, y| truth(x != y),
        code: "!=", written: Written::Symbol(precedence::RELATIONAL), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Always, scalars: OfScalars::Comparison(|order| order.is_none_or(Ordering::is_ne)),
        commutes: true, vectors: Vectors::Kernels(vector_math::not_equal),
    }
    /// Whether both are true; NaN counts as true.
    And {
        eval: |x, y| truth(x != 0.0 && y != 0.0),
        code: "&", written: Written::Symbol(precedence::AND), flops: 1.0, zero: Zero::Either,
        finite: Finite::Always, scalars: OfScalars::Boolean,
        commutes: true, vectors: Vectors::Kernels(vector_math::and),
    }
    /// Whether one is true; NaN counts as true.
    Or {
        eval: |x, y| truth(x != 0.0 || y != 0.0),
        code: "|", written: Written::Symbol(precedence::OR), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Always, scalars: OfScalars::Boolean,
        commutes: true, vectors: Vectors::Kernels(vector_math::or),
    }
    /// Whether exactly one is true; NaN counts as true.
    Xor {
        eval: |x, y| truth((x != 0.0) != (y != 0.0)),
        code: "xor", written: Written::Function("xor"), flops: 1.0, zero: Zero::Kept,
        finite: Finite::Always, scalars: OfScalars::Boolean,
        commutes: true, vectors: Vectors::Kernels(vector_math::xor),
    }
    /// Logarithm to a base: log(x) / log(base).
    LogBase {
        eval: |x, base| x.ln() / base.ln(),
        code: "log", written: Written::Overload("log"), flops: 30.0, zero: Zero::No,
        finite: Finite::Unknown, scalars: OfScalars::Double,
        commutes: false, vectors: Vectors::Shared(vector_math::log_base),
    }
}

impl BinaryOp {
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
        matches!(self.declared().zero, Zero::Either | Zero::Left)
    }

    /// f(x, 0) = 0 for every finite x.
    pub fn zero_on_right_zero(self) -> bool {
        self.declared().zero == Zero::Either
    }

    /// f(0, 0) = 0. (0 / 0 is NaN.)
    pub fn zero_on_both_zero(self) -> bool {
        matches!(self.declared().zero, Zero::Either | Zero::Kept)
    }

    /// Gives 0 or 1 (a boolean when both operands are scalars).
    pub fn is_logical(self) -> bool {
        match self.of_scalars() {
            OfScalars::Boolean | OfScalars::Comparison(_) => true,
            OfScalars::Double | OfScalars::Number(_) => false,
        }
    }

    /// How tightly it binds where scripts write it between its operands; functions bind as calls do.
    pub fn precedence(self) -> u8 {
        self.declared().written.precedence()
    }

    pub fn is_commutative(self) -> bool {
        self.declared().commutes
    }

    /// The operator that gives the same with its operands exchanged.
    pub(crate) fn turned_round(self) -> Option<BinaryOp> {
        match self {
            BinaryOp::Less => Some(BinaryOp::Greater),
            BinaryOp::LessEqual => Some(BinaryOp::GreaterEqual),
            BinaryOp::Greater => Some(BinaryOp::Less),
            BinaryOp::GreaterEqual => Some(BinaryOp::LessEqual),
            op => op.is_commutative().then_some(op),
        }
    }

    pub(crate) fn of_scalars(self) -> OfScalars {
        self.declared().scalars
    }

    /// The type of its result on scalars.
    pub(crate) fn value_type_of(self, left: ValueType, right: ValueType) -> ValueType {
        match self.of_scalars() {
            OfScalars::Boolean | OfScalars::Comparison(_) => ValueType::Boolean,
            OfScalars::Number(_) if self.joins(left, right) => ValueType::String,
            OfScalars::Number(_) => match (left, right) {
                (ValueType::Int, ValueType::Int) => ValueType::Int,
                _ => ValueType::Double,
            },
            OfScalars::Double => ValueType::Double,
        }
    }

    /// Whether its scalar operands may be texts, which it joins or compares.
    pub fn takes_texts(self) -> bool {
        let joins = self.joins(ValueType::String, ValueType::String);
        joins || matches!(self.of_scalars(), OfScalars::Comparison(_))
    }

    /// Whether it joins two scalars of these types to a text.
    pub(crate) fn joins(self, left: ValueType, right: ValueType) -> bool {
        self == BinaryOp::Plus && (left == ValueType::String || right == ValueType::String)
    }

    /// Its form over vectors, which compiled code calls.
    pub fn vector_form(self) -> Option<BinaryForm> {
        match self.declared().vectors {
            Vectors::Shared(form) => Some(form),
            Vectors::Kernels(_) => None,
        }
    }

    /// The function of each pair of cells, by its vector form; stretches are of one length.
    pub fn eval_cells(self, x: Cells, y: Cells, out: &mut [f64]) {
        let (Vectors::Shared(form) | Vectors::Kernels(form)) = self.declared().vectors;
        form(x, y, out);
    }

    fn nnz(self, call: &dyn Call, cells: u64) -> Option<u64> {
        let sparsity = |place: usize| known_sparsity(&call.size_of(place));
        // Zero divided by zero is NaN: an estimate, but none that says there are no non-zeros at all.
        let divides = self.zero_on_left_zero() && !self.zero_on_right_zero();
        let known_divisor = call.fixed_number(1).is_some_and(|y| y != 0.0);
        let uncertain = divides && !known_divisor;
        let sparsity = match (call.is_scalar(0), call.is_scalar(1)) {
            (true, _) => {
                // Where the matrix is zero, this scalar decides.
                let kept = call
                    .fixed_number(0)
                    .map_or_else(|| self.zero_on_right_zero(), |x| self.eval(x, 0.0) == 0.0);
                if kept { sparsity(1)? } else { 1.0 }
            }
            (_, true) => {
                let kept = call
                    .fixed_number(1)
                    .map_or_else(|| self.zero_on_left_zero(), |y| self.eval(0.0, y) == 0.0);
                if kept { sparsity(0)? } else { 1.0 }
            }
            _ if self.zero_on_left_zero() && self.zero_on_right_zero() => {
                match (sparsity(0), sparsity(1)) {
                    (None, None) => return None,
                    (left, right) => left.unwrap_or(1.0) * right.unwrap_or(1.0),
                }
            }
            // Division: 0 / 0 is NaN, but zero divisors are rare where the dividend is zero.
            _ if self.zero_on_left_zero() => sparsity(0)?,
            _ if self.zero_on_both_zero() => (sparsity(0)? + sparsity(1)?).min(1.0),
            _ => 1.0,
        };
        if uncertain && sparsity == 0.0 {
            return None;
        }
        let is_product = self == BinaryOp::Mult;
        let certain = !is_product || sparsity > 0.0 || product_is_zero(call, 0, 1);
        Some(share(sparsity, cells).max(if certain { 0 } else { cells.min(1) }))
    }
}

const INPUTS: &[Input] = &[cells("x"), cells("y")];

impl Operator for BinaryOp {
    fn code(&self) -> Cow<'static, str> {
        format!("b({})", BinaryOp::code(*self)).into()
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
            total: WITHOUT_TEXT_AND_INTS,
            zeros: Zeros::Cells(self),
            memory: Memory::COORDINATES,
            form: declared.written.form(Form::Infix(declared.code)),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        if call.is_scalar(0) && call.is_scalar(1) {
            let (left, right) = (call.input(0).value_type, call.input(1).value_type);
            return Ok(VariableInfo::scalar(self.value_type_of(left, right)));
        }
        let (rows, cols) = broadcast(call, &[0, 1])?;
        let size = Characteristics::new(rows, cols, None);
        let nnz = size.cells().and_then(|cells| self.nnz(call, cells));
        Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
    }
}

impl Cellwise for BinaryOp {
    fn value_type(&self, operands: &[ValueType]) -> Option<ValueType> {
        Some(self.value_type_of(*operands.first()?, *operands.get(1)?))
    }

    fn at_zeros(&self, operands: &[AtZeros]) -> Option<f64> {
        let [x, y] = operands else { return None };
        let decides = |decided: &AtZeros, other: &AtZeros| {
            decided.value() == Some(0.0) && *other == AtZeros::Unknown
        };
        if self.zero_on_left_zero() && decides(x, y) || self.zero_on_right_zero() && decides(y, x) {
            return Some(0.0);
        }
        Some(self.eval(x.value()?, y.value()?))
    }
}

/// Floored division; `None` where the divisor is 0 or the quotient does not fit.
pub fn floor_div(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let inexact = left.wrapping_rem(right) != 0;
    Some(quotient - i64::from(inexact && (left < 0) != (right < 0)))
}

/// Floored modulo, which has the sign of the divisor; `None` where that is 0.
pub fn floor_mod(left: i64, right: i64) -> Option<i64> {
    if right == 0 {
        return None;
    }
    // The smallest int modulo -1 overflows on the way to 0.
    let remainder = left.wrapping_rem(right);
    let is_other_sign = remainder != 0 && (remainder < 0) != (right < 0);
    Some(if is_other_sign {
        remainder + right
    } else {
        remainder
    })
}

fn int_quotient(left: i64, right: i64) -> IntResult {
    match right {
        0 => IntResult::DividedByZero,
        _ => floor_div(left, right).into(),
    }
}

fn int_remainder(left: i64, right: i64) -> IntResult {
    floor_mod(left, right).map_or(IntResult::NaN, IntResult::Int)
}
