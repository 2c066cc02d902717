//! Cellwise operators as instructions, on two lanes or on one.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use fulgurite_fusion::cplan::{CNode, NodeId};
use fulgurite_hop::{AggregateOp, BinaryOp, TernaryOp, UnaryOp};

/// How many cells an instruction works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lanes {
    One,
    Two,
}

impl Lanes {
    pub fn ty(self) -> Type {
        match self {
            Lanes::One => types::F64,
            Lanes::Two => types::F64X2,
        }
    }

    pub fn cells(self) -> i64 {
        match self {
            Lanes::One => 1,
            Lanes::Two => 2,
        }
    }
}

/// Emits operators for one width of lanes.
pub(super) struct Cells<'a, 'b> {
    pub builder: &'a mut FunctionBuilder<'b>,
    pub lanes: Lanes,
}

impl Cells<'_, '_> {
    /// A number in all lanes. A pair is read from memory, which most instructions can do on the way.
    pub fn literal(&mut self, value: f64) -> Value {
        match self.lanes {
            Lanes::One => self.builder.ins().f64const(value),
            Lanes::Two => {
                let bytes: Vec<u8> = [value.to_le_bytes(); 2].concat();
                let constant = self.builder.func.dfg.constants.insert(bytes.into());
                self.builder.ins().vconst(types::F64X2, constant)
            }
        }
    }

    /// The value of an inline node of a body, from those of its operands.
    pub fn node(&mut self, body: &[CNode], node: &CNode, operands: &[Value]) -> Option<Value> {
        match (node, operands) {
            (CNode::Binary(op, ..), [x, y]) => match bound_of(body, node) {
                Some((Side::Right, number)) => Some(self.bounded(*op, *x, *y, number)),
                Some((Side::Left, number)) => Some(self.bounded(*op, *y, *x, number)),
                None => self.binary(*op, *x, *y),
            },
            (CNode::Unary(op, _), [x]) => self.unary(*op, *x),
            (CNode::Ternary(op, ..), [x, y, z]) => Some(self.ternary(*op, *x, *y, *z)),
            _ => None,
        }
    }

    fn unary(&mut self, op: UnaryOp, x: Value) -> Option<Value> {
        Some(match op {
            UnaryOp::Sqrt => self.builder.ins().sqrt(x),
            UnaryOp::Abs => self.builder.ins().fabs(x),
            UnaryOp::Floor => self.builder.ins().floor(x),
            UnaryOp::Ceil => self.builder.ins().ceil(x),
            UnaryOp::Sign => {
                let (zero, one) = (self.literal(0.0), self.literal(1.0));
                let minus_one = self.literal(-1.0);
                let positive = self.compare(FloatCC::GreaterThan, x, zero);
                let negative = self.compare(FloatCC::LessThan, x, zero);
                let value = self.choose(positive, one, x);
                self.choose(negative, minus_one, value)
            }
            UnaryOp::Not => {
                let zero = self.literal(0.0);
                let test = self.compare(FloatCC::Equal, x, zero);
                self.truth(test)
            }
            UnaryOp::Sprop => {
                let one = self.literal(1.0);
                let rest = self.builder.ins().fsub(one, x);
                self.builder.ins().fmul(x, rest)
            }
            UnaryOp::Pow2 => self.builder.ins().fmul(x, x),
            _ => return None,
        })
    }

    fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Option<Value> {
        let condition = match op {
            BinaryOp::Plus => return Some(self.builder.ins().fadd(x, y)),
            BinaryOp::Minus => return Some(self.builder.ins().fsub(x, y)),
            BinaryOp::Mult => return Some(self.builder.ins().fmul(x, y)),
            BinaryOp::Div => return Some(self.builder.ins().fdiv(x, y)),
            BinaryOp::IntDiv => {
                let quotient = self.builder.ins().fdiv(x, y);
                return Some(self.builder.ins().floor(quotient));
            }
            BinaryOp::Min => return Some(self.minimum(x, y)),
            BinaryOp::Max => return Some(self.maximum(x, y)),
            BinaryOp::Less => FloatCC::LessThan,
            BinaryOp::LessEqual => FloatCC::LessThanOrEqual,
            BinaryOp::Greater => FloatCC::GreaterThan,
            BinaryOp::GreaterEqual => FloatCC::GreaterThanOrEqual,
            BinaryOp::Equal => FloatCC::Equal,
            BinaryOp::NotEqual => FloatCC::NotEqual,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let (left, right) = (self.is_true(x), self.is_true(y));
                let test = match op {
                    BinaryOp::And => self.builder.ins().band(left, right),
                    BinaryOp::Or => self.builder.ins().bor(left, right),
                    _ => self.builder.ins().bxor(left, right),
                };
                return Some(self.truth(test));
            }
            BinaryOp::Modulus | BinaryOp::Pow | BinaryOp::LogBase => return None,
        };
        let test = self.compare(condition, x, y);
        Some(self.truth(test))
    }

    /// NaN if either is, and -0 rather than 0. A processor's instruction gives its second operand where one is NaN or both are
    /// zeros: the bits of both orders together are a NaN, or the negative zero. Cranelift's own form, for quiet NaNs without
    /// payload, takes eight instructions.
    fn minimum(&mut self, x: Value, y: Value) -> Value {
        match self.lanes {
            Lanes::One => self.builder.ins().fmin(x, y),
            Lanes::Two => {
                let (one, other) = (self.first_if_less(x, y), self.first_if_less(y, x));
                self.builder.ins().bor(one, other)
            }
        }
    }

    /// As [`Cells::minimum`]: the bits that both orders have are the positive zero, and where either is NaN all are set.
    fn maximum(&mut self, x: Value, y: Value) -> Value {
        match self.lanes {
            Lanes::One => self.builder.ins().fmax(x, y),
            Lanes::Two => {
                let (one, other) = (self.first_if_greater(x, y), self.first_if_greater(y, x));
                let both = self.builder.ins().band(one, other);
                let unordered = self.compare(FloatCC::Unordered, x, y);
                let unordered = self.as_cells(unordered);
                self.builder.ins().bor(both, unordered)
            }
        }
    }

    /// One instruction of x86.
    fn first_if_less(&mut self, x: Value, y: Value) -> Value {
        let test = self.compare(FloatCC::LessThan, x, y);
        self.choose(test, x, y)
    }

    /// One instruction of x86.
    fn first_if_greater(&mut self, x: Value, y: Value) -> Value {
        let test = self.compare(FloatCC::LessThan, y, x);
        self.choose(test, x, y)
    }

    /// The minimum or maximum of a value and a number, for which one instruction is enough: where the value is NaN, or both are
    /// zeros, it gives the value.
    fn bounded(&mut self, op: BinaryOp, value: Value, literal: Value, number: f64) -> Value {
        let chosen = match op {
            BinaryOp::Max => self.first_if_greater(literal, value),
            _ => self.first_if_less(literal, value),
        };
        match number == 0.0 && number.is_sign_positive() && op == BinaryOp::Max {
            // The larger one of -0 and 0 is 0, which is what their sum is.
            true => self.builder.ins().fadd(chosen, literal),
            false => chosen,
        }
    }

    fn ternary(&mut self, op: TernaryOp, x: Value, y: Value, z: Value) -> Value {
        match op {
            TernaryOp::IfElse => {
                let test = self.is_true(x);
                self.choose(test, y, z)
            }
            TernaryOp::PlusMult => {
                let product = self.builder.ins().fmul(y, z);
                self.builder.ins().fadd(x, product)
            }
            TernaryOp::MinusMult => {
                let product = self.builder.ins().fmul(y, z);
                self.builder.ins().fsub(x, product)
            }
        }
    }

    /// Lane-wise: a mask of 64-bit lanes, or an 8-bit truth value for one lane.
    fn compare(&mut self, condition: FloatCC, x: Value, y: Value) -> Value {
        self.builder.ins().fcmp(condition, x, y)
    }

    /// Not zero; NaN is true.
    fn is_true(&mut self, x: Value) -> Value {
        let zero = self.literal(0.0);
        self.compare(FloatCC::NotEqual, x, zero)
    }

    fn truth(&mut self, test: Value) -> Value {
        let (one, zero) = (self.literal(1.0), self.literal(0.0));
        self.choose(test, one, zero)
    }

    fn choose(&mut self, test: Value, x: Value, y: Value) -> Value {
        match self.lanes {
            Lanes::One => self.builder.ins().select(test, x, y),
            Lanes::Two => {
                let mask = self.as_cells(test);
                self.builder.ins().bitselect(mask, x, y)
            }
        }
    }

    /// The bits of a mask of two lanes.
    fn as_cells(&mut self, mask: Value) -> Value {
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.builder.ins().bitcast(types::F64X2, flags, mask)
    }

    /// An accumulator with a value taken in.
    pub fn accumulate(&mut self, op: AggregateOp, accumulator: Value, value: Value) -> Value {
        match op {
            AggregateOp::SumSq => {
                let square = self.builder.ins().fmul(value, value);
                self.builder.ins().fadd(accumulator, square)
            }
            other => self.combine(other, accumulator, value),
        }
    }

    /// Two accumulators as one.
    pub fn combine(&mut self, op: AggregateOp, left: Value, right: Value) -> Value {
        match op {
            AggregateOp::Min => self.minimum(left, right),
            AggregateOp::Max => self.maximum(left, right),
            AggregateOp::Prod => self.builder.ins().fmul(left, right),
            _ => self.builder.ins().fadd(left, right),
        }
    }
}

/// Which operand is the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// The number of a minimum or maximum of a value and a number, if one instruction gives what DML means.
pub(super) fn bound_of(body: &[CNode], node: &CNode) -> Option<(Side, f64)> {
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

/// Whether [`Cells::bounded`] gives what DML means: no NaN, and not the smaller zero of a minimum.
fn has_short_form(op: BinaryOp, number: f64) -> bool {
    let is_negative_zero = number == 0.0 && number.is_sign_negative();
    !(number.is_nan() || (op == BinaryOp::Min && is_negative_zero))
}
