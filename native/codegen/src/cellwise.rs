//! Cell-wise operators as instructions: what each one means to a code generator, said once.
//!
//! A code generator offers [`CellInstructions`]; the functions here make operators and aggregates of them. An operator that
//! has none here is a call of a primitive, see [`has_instructions`]. All give the bits that `eval` of the operator gives.

use fulgurite_fusion::cplan::{CNode, NodeId};
use fulgurite_hop::{AggregateOp, BinaryOp, TernaryOp, UnaryOp};

use crate::aggregates::{self, Accumulation};

/// Instructions on cells, one or several side by side.
pub(crate) trait CellInstructions {
    /// A number in each lane.
    type Value: Copy;
    /// A truth in each lane.
    type Truth: Copy;

    /// A number in all lanes.
    fn literal(&mut self, number: f64) -> Self::Value;

    fn add(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    fn subtract(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    fn multiply(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    fn divide(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    fn square_root(&mut self, x: Self::Value) -> Self::Value;
    fn magnitude(&mut self, x: Self::Value) -> Self::Value;
    fn floor(&mut self, x: Self::Value) -> Self::Value;
    fn ceiling(&mut self, x: Self::Value) -> Self::Value;

    fn compare(&mut self, comparison: Comparison, x: Self::Value, y: Self::Value) -> Self::Truth;
    fn both(&mut self, left: Self::Truth, right: Self::Truth) -> Self::Truth;
    fn either(&mut self, left: Self::Truth, right: Self::Truth) -> Self::Truth;
    fn one_of(&mut self, left: Self::Truth, right: Self::Truth) -> Self::Truth;
    /// 1 where it is true, else 0.
    fn truth(&mut self, test: Self::Truth) -> Self::Value;
    fn choose(&mut self, test: Self::Truth, x: Self::Value, y: Self::Value) -> Self::Value;

    /// `x` where it is less, else `y`: one instruction of x86. So is the next.
    fn lesser(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    /// `x` where it is greater, else `y`.
    fn greater(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    /// The bits that both have.
    fn common_bits(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    /// The bits that either has.
    fn all_bits(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    /// All bits where it is true, else those of `x`.
    fn fill_where(&mut self, x: Self::Value, test: Self::Truth) -> Self::Value;

    /// NaN if either is, and -0 rather than 0.
    fn minimum(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        minimum_of_bits(self, x, y)
    }

    /// NaN if either is, and 0 rather than -0.
    fn maximum(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        maximum_of_bits(self, x, y)
    }
}

/// All but the last are false where either number is NaN, [`Comparison::NotEqual`] is true there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    /// Either is NaN.
    Unordered,
}

/// A processor's instruction gives its second operand where one is NaN or both are zeros: the bits of both orders together are
/// a NaN, or the negative zero.
pub(crate) fn minimum_of_bits<I: CellInstructions + ?Sized>(
    code: &mut I,
    x: I::Value,
    y: I::Value,
) -> I::Value {
    let one = code.lesser(x, y);
    let other = code.lesser(y, x);
    code.all_bits(one, other)
}

/// As [`minimum_of_bits`]: the bits that both orders have are the positive zero, and where either is NaN all are set.
pub(crate) fn maximum_of_bits<I: CellInstructions + ?Sized>(
    code: &mut I,
    x: I::Value,
    y: I::Value,
) -> I::Value {
    let one = code.greater(x, y);
    let other = code.greater(y, x);
    let both = code.common_bits(one, other);
    let unordered = code.compare(Comparison::Unordered, x, y);
    code.fill_where(both, unordered)
}

/// The value of a node of a body from those of its operands; `None` if it [has no instructions](has_instructions).
pub(crate) fn node<I: CellInstructions>(
    code: &mut I,
    body: &[CNode],
    node: &CNode,
    operands: &[I::Value],
) -> Option<I::Value> {
    match (node, operands) {
        (CNode::Binary(op, ..), [x, y]) => match bound_of(body, node) {
            Some((Side::Right, number)) => Some(bounded(code, *op, *x, *y, number)),
            Some((Side::Left, number)) => Some(bounded(code, *op, *y, *x, number)),
            None => binary(code, *op, *x, *y),
        },
        (CNode::Unary(op, _), [x]) => unary(code, *op, *x),
        (CNode::Ternary(op, ..), [x, y, z]) => Some(ternary(code, *op, *x, *y, *z)),
        _ => None,
    }
}

/// Whether loops compute the node, rather than call a primitive for it.
pub(crate) fn has_instructions(node: &CNode) -> bool {
    match node {
        CNode::Unary(op, _) => unary(&mut Unwritten, *op, ()).is_some(),
        CNode::Binary(op, ..) => binary(&mut Unwritten, *op, (), ()).is_some(),
        CNode::Ternary(..) => true,
        CNode::Input(_)
        | CNode::Literal(_)
        | CNode::Reduce(..)
        | CNode::VectorMatrix { .. }
        | CNode::ColumnRange { .. }
        | CNode::Concatenate(_)
        | CNode::Cumulative(..)
        | CNode::FactorProduct { .. } => false,
    }
}

fn unary<I: CellInstructions>(code: &mut I, op: UnaryOp, x: I::Value) -> Option<I::Value> {
    Some(match op {
        UnaryOp::Sqrt => code.square_root(x),
        UnaryOp::Abs => code.magnitude(x),
        UnaryOp::Floor => code.floor(x),
        UnaryOp::Ceil => code.ceiling(x),
        UnaryOp::Round => {
            let half = code.literal(0.5);
            let floor = code.floor(x);
            let rest = code.subtract(x, floor);
            let goes_up = code.compare(Comparison::GreaterEqual, rest, half);
            let step = code.truth(goes_up);
            // Adding the zero makes -0 a 0.
            code.add(floor, step)
        }
        UnaryOp::RoundHalfEven => {
            // Sums with 2^52 are rounded to whole numbers. Larger numbers are whole, and NaN stays.
            let shift = code.literal(4_503_599_627_370_496.0);
            let size = code.magnitude(x);
            let sum = code.add(size, shift);
            let rounded = code.subtract(sum, shift);
            let sign = code.literal(-0.0);
            let sign = code.common_bits(x, sign);
            let rounded = code.all_bits(rounded, sign);
            let rounds = code.compare(Comparison::Less, size, shift);
            code.choose(rounds, rounded, x)
        }
        UnaryOp::Sign => {
            let (zero, one) = (code.literal(0.0), code.literal(1.0));
            let minus_one = code.literal(-1.0);
            let positive = code.compare(Comparison::Greater, x, zero);
            let negative = code.compare(Comparison::Less, x, zero);
            let value = code.choose(positive, one, x);
            code.choose(negative, minus_one, value)
        }
        UnaryOp::Not => {
            let zero = code.literal(0.0);
            let test = code.compare(Comparison::Equal, x, zero);
            code.truth(test)
        }
        UnaryOp::Sprop => {
            let one = code.literal(1.0);
            let rest = code.subtract(one, x);
            code.multiply(x, rest)
        }
        UnaryOp::Pow2 => code.multiply(x, x),
        UnaryOp::Exp
        | UnaryOp::ExpLess1
        | UnaryOp::Log
        | UnaryOp::LogOf1Plus
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Sigmoid => return None,
    })
}

fn binary<I: CellInstructions>(
    code: &mut I,
    op: BinaryOp,
    x: I::Value,
    y: I::Value,
) -> Option<I::Value> {
    let mut compared = |comparison| {
        let test = code.compare(comparison, x, y);
        code.truth(test)
    };
    Some(match op {
        BinaryOp::Less => compared(Comparison::Less),
        BinaryOp::LessEqual => compared(Comparison::LessEqual),
        BinaryOp::Greater => compared(Comparison::Greater),
        BinaryOp::GreaterEqual => compared(Comparison::GreaterEqual),
        BinaryOp::Equal => compared(Comparison::Equal),
        BinaryOp::NotEqual => compared(Comparison::NotEqual),
        BinaryOp::Plus => code.add(x, y),
        BinaryOp::Minus => code.subtract(x, y),
        BinaryOp::Mult => code.multiply(x, y),
        BinaryOp::Div => code.divide(x, y),
        BinaryOp::IntDiv => {
            let quotient = code.divide(x, y);
            code.floor(quotient)
        }
        BinaryOp::Min => code.minimum(x, y),
        BinaryOp::Max => code.maximum(x, y),
        BinaryOp::And => {
            let (left, right) = (is_true(code, x), is_true(code, y));
            let test = code.both(left, right);
            code.truth(test)
        }
        BinaryOp::Or => {
            let (left, right) = (is_true(code, x), is_true(code, y));
            let test = code.either(left, right);
            code.truth(test)
        }
        BinaryOp::Xor => {
            let (left, right) = (is_true(code, x), is_true(code, y));
            let test = code.one_of(left, right);
            code.truth(test)
        }
        BinaryOp::Modulus | BinaryOp::Pow | BinaryOp::LogBase => return None,
    })
}

fn ternary<I: CellInstructions>(
    code: &mut I,
    op: TernaryOp,
    x: I::Value,
    y: I::Value,
    z: I::Value,
) -> I::Value {
    match op {
        TernaryOp::IfElse => {
            let test = is_true(code, x);
            code.choose(test, y, z)
        }
        TernaryOp::PlusMult => {
            let product = code.multiply(y, z);
            code.add(x, product)
        }
        TernaryOp::MinusMult => {
            let product = code.multiply(y, z);
            code.subtract(x, product)
        }
    }
}

/// Not zero; NaN is true.
fn is_true<I: CellInstructions>(code: &mut I, x: I::Value) -> I::Truth {
    let zero = code.literal(0.0);
    code.compare(Comparison::NotEqual, x, zero)
}

/// The minimum or maximum of a value and a number, for which one instruction is enough: where the value is NaN, or both are
/// zeros, it gives the value.
fn bounded<I: CellInstructions>(
    code: &mut I,
    op: BinaryOp,
    value: I::Value,
    literal: I::Value,
    number: f64,
) -> I::Value {
    if op != BinaryOp::Max {
        return code.lesser(literal, value);
    }
    let chosen = code.greater(literal, value);
    match number == 0.0 && number.is_sign_positive() {
        // The larger one of -0 and 0 is 0, which is what their sum is.
        true => code.add(chosen, literal),
        false => chosen,
    }
}

/// A total with a value taken in.
pub(crate) fn accumulate<I: CellInstructions>(
    code: &mut I,
    op: AggregateOp,
    total: I::Value,
    value: I::Value,
) -> I::Value {
    let value = match aggregates::accumulation(op) {
        Accumulation::SumOfSquares => code.multiply(value, value),
        Accumulation::Sum
        | Accumulation::Product
        | Accumulation::Minimum
        | Accumulation::Maximum => value,
    };
    combine(code, op, total, value)
}

/// Two totals as one.
pub(crate) fn combine<I: CellInstructions>(
    code: &mut I,
    op: AggregateOp,
    left: I::Value,
    right: I::Value,
) -> I::Value {
    match aggregates::accumulation(op) {
        Accumulation::Minimum => code.minimum(left, right),
        Accumulation::Maximum => code.maximum(left, right),
        Accumulation::Product => code.multiply(left, right),
        Accumulation::Sum | Accumulation::SumOfSquares => code.add(left, right),
    }
}

/// Which operand is the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// The number of a minimum or maximum of a value and a number, if one instruction gives what DML means.
fn bound_of(body: &[CNode], node: &CNode) -> Option<(Side, f64)> {
    let CNode::Binary(op @ (BinaryOp::Min | BinaryOp::Max), left, right) = node else {
        return None;
    };
    let number = |id: NodeId| match body[id.index()] {
        CNode::Literal(number) if has_short_form(*op, number) => Some(number),
        _ => None,
    };
    let is_literal = |id: NodeId| matches!(body[id.index()], CNode::Literal(_));
    match (is_literal(*left), is_literal(*right)) {
        (false, true) => number(*right).map(|number| (Side::Right, number)),
        (true, false) => number(*left).map(|number| (Side::Left, number)),
        _ => None,
    }
}

/// Whether [`bounded`] gives what DML means: no NaN, and not the smaller zero of a minimum.
fn has_short_form(op: BinaryOp, number: f64) -> bool {
    let is_negative_zero = number == 0.0 && number.is_sign_negative();
    !(number.is_nan() || (op == BinaryOp::Min && is_negative_zero))
}

/// Writes nothing: tells which operators have instructions.
struct Unwritten;

impl CellInstructions for Unwritten {
    type Value = ();
    type Truth = ();

    fn literal(&mut self, _: f64) {}
    fn add(&mut self, (): (), (): ()) {}
    fn subtract(&mut self, (): (), (): ()) {}
    fn multiply(&mut self, (): (), (): ()) {}
    fn divide(&mut self, (): (), (): ()) {}
    fn square_root(&mut self, (): ()) {}
    fn magnitude(&mut self, (): ()) {}
    fn floor(&mut self, (): ()) {}
    fn ceiling(&mut self, (): ()) {}
    fn compare(&mut self, _: Comparison, (): (), (): ()) {}
    fn both(&mut self, (): (), (): ()) {}
    fn either(&mut self, (): (), (): ()) {}
    fn one_of(&mut self, (): (), (): ()) {}
    fn truth(&mut self, (): ()) {}
    fn choose(&mut self, (): (), (): (), (): ()) {}
    fn lesser(&mut self, (): (), (): ()) {}
    fn greater(&mut self, (): (), (): ()) {}
    fn common_bits(&mut self, (): (), (): ()) {}
    fn all_bits(&mut self, (): (), (): ()) {}
    fn fill_where(&mut self, (): (), (): ()) {}
}
