//! Cellwise operators as vector instructions whose registers are not chosen yet. They mean what those of [`super::super::lanes`]
//! mean, to the bit.

use fulgurite_fusion::cplan::CNode;
use fulgurite_hop::{AggregateOp, BinaryOp, TernaryOp, UnaryOp};

use super::super::lanes::{Side, bound_of};
use super::encode::{Opcode, Vector};

/// The value of an operation, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value(pub usize);

/// What an operation reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Value(Value),
    Register(Vector),
    /// Cells of a stream, so many bytes from where the loop stands.
    Cells(usize, i32),
    /// A number for all cells, by its place in [`Uniforms`].
    Uniform(usize),
}

/// Where an operation's result goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Value(Value),
    Register(Vector),
    Cells(usize, i32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    None,
    Number(u8),
    Mask(Operand),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    pub opcode: Opcode,
    pub target: Target,
    pub first: Option<Operand>,
    pub second: Operand,
    pub last: Last,
}

impl Operation {
    /// The operands that it reads.
    pub fn operands(&self) -> impl Iterator<Item = Operand> {
        let mask = match self.last {
            Last::Mask(mask) => Some(mask),
            _ => None,
        };
        self.first.into_iter().chain([self.second]).chain(mask)
    }
}

/// A number that is the same for all cells of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uniform {
    /// The bits of a literal.
    Literal(u64),
    /// What a slot of the frame has.
    Slot(usize),
    /// A number per row, by its place among the loop's.
    PerRow(usize),
    /// How many cells a pass has.
    Count,
}

/// Numbers for all cells, each once.
#[derive(Debug, Default)]
pub(super) struct Uniforms(pub Vec<Uniform>);

impl Uniforms {
    pub fn add(&mut self, uniform: Uniform) -> Operand {
        let known = self.0.iter().position(|known| *known == uniform);
        Operand::Uniform(known.unwrap_or_else(|| {
            self.0.push(uniform);
            self.0.len() - 1
        }))
    }
}

// Predicates of comparisons: of numbers that are in order, but for the last two.
const LESS: u8 = 0x11;
const LESS_EQUAL: u8 = 0x12;
const GREATER: u8 = 0x1e;
const GREATER_EQUAL: u8 = 0x1d;
const EQUAL: u8 = 0x00;
const NOT_EQUAL: u8 = 0x04;
const UNORDERED: u8 = 0x03;

// Modes of rounding that raise no exceptions.
const DOWN: u8 = 9;
const UP: u8 = 10;

/// Straight-line code.
pub(super) struct Cells<'u> {
    pub operations: Vec<Operation>,
    pub values: usize,
    uniforms: &'u mut Uniforms,
}

impl<'u> Cells<'u> {
    pub fn new(uniforms: &'u mut Uniforms) -> Self {
        Cells {
            operations: Vec::new(),
            values: 0,
            uniforms,
        }
    }

    pub fn literal(&mut self, value: f64) -> Operand {
        self.uniforms.add(Uniform::Literal(value.to_bits()))
    }

    pub fn uniform(&mut self, uniform: Uniform) -> Operand {
        self.uniforms.add(uniform)
    }

    pub fn operation(
        &mut self,
        opcode: Opcode,
        first: Option<Operand>,
        second: Operand,
        last: Last,
    ) -> Operand {
        let value = Value(self.values);
        self.values += 1;
        self.operations.push(Operation {
            opcode,
            target: Target::Value(value),
            first,
            second,
            last,
        });
        Operand::Value(value)
    }

    pub fn two(&mut self, opcode: Opcode, x: Operand, y: Operand) -> Operand {
        self.operation(opcode, Some(x), y, Last::None)
    }

    pub fn load(&mut self, operand: Operand) -> Operand {
        self.operation(Opcode::Load, None, operand, Last::None)
    }

    pub fn store(&mut self, target: Target, value: Operand) {
        self.operations.push(Operation {
            opcode: Opcode::Store,
            target,
            first: None,
            second: value,
            last: Last::None,
        });
    }

    /// The value into a register that stays.
    pub fn keep(&mut self, register: Vector, value: Operand) {
        match self.operations.last_mut() {
            Some(last) if Operand::from(last.target) == Some(value) => {
                last.target = Target::Register(register);
            }
            _ => self.operations.push(Operation {
                opcode: Opcode::Load,
                target: Target::Register(register),
                first: None,
                second: value,
                last: Last::None,
            }),
        }
    }

    /// The value of an inline node of a body, from those of its operands.
    pub fn node(&mut self, body: &[CNode], node: &CNode, operands: &[Operand]) -> Option<Operand> {
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

    fn unary(&mut self, op: UnaryOp, x: Operand) -> Option<Operand> {
        let round = |mode| (Opcode::Round, Last::Number(mode));
        let (opcode, last) = match op {
            UnaryOp::Sqrt => (Opcode::SquareRoot, Last::None),
            UnaryOp::Floor => round(DOWN),
            UnaryOp::Ceil => round(UP),
            UnaryOp::Abs => {
                let all_but_the_sign = self.literal(f64::from_bits(u64::MAX >> 1));
                return Some(self.two(Opcode::And, x, all_but_the_sign));
            }
            UnaryOp::Sign => {
                let (zero, one) = (self.literal(0.0), self.literal(1.0));
                let minus_one = self.literal(-1.0);
                let positive = self.compare(GREATER, x, zero);
                let negative = self.compare(LESS, x, zero);
                let value = self.choose(positive, one, x);
                return Some(self.choose(negative, minus_one, value));
            }
            UnaryOp::Not => {
                let zero = self.literal(0.0);
                let test = self.compare(EQUAL, x, zero);
                return Some(self.truth(test));
            }
            UnaryOp::Sprop => {
                let one = self.literal(1.0);
                let rest = self.two(Opcode::Subtract, one, x);
                return Some(self.two(Opcode::Multiply, x, rest));
            }
            UnaryOp::Pow2 => return Some(self.two(Opcode::Multiply, x, x)),
            _ => return None,
        };
        Some(self.operation(opcode, None, x, last))
    }

    fn binary(&mut self, op: BinaryOp, x: Operand, y: Operand) -> Option<Operand> {
        let predicate = match op {
            BinaryOp::Plus => return Some(self.two(Opcode::Add, x, y)),
            BinaryOp::Minus => return Some(self.two(Opcode::Subtract, x, y)),
            BinaryOp::Mult => return Some(self.two(Opcode::Multiply, x, y)),
            BinaryOp::Div => return Some(self.two(Opcode::Divide, x, y)),
            BinaryOp::IntDiv => {
                let quotient = self.two(Opcode::Divide, x, y);
                return Some(self.operation(Opcode::Round, None, quotient, Last::Number(DOWN)));
            }
            BinaryOp::Min => return Some(self.minimum(x, y)),
            BinaryOp::Max => return Some(self.maximum(x, y)),
            BinaryOp::Less => LESS,
            BinaryOp::LessEqual => LESS_EQUAL,
            BinaryOp::Greater => GREATER,
            BinaryOp::GreaterEqual => GREATER_EQUAL,
            BinaryOp::Equal => EQUAL,
            BinaryOp::NotEqual => NOT_EQUAL,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let (left, right) = (self.is_true(x), self.is_true(y));
                let test = match op {
                    BinaryOp::And => self.two(Opcode::And, left, right),
                    BinaryOp::Or => self.two(Opcode::Or, left, right),
                    _ => self.two(Opcode::Xor, left, right),
                };
                return Some(self.truth(test));
            }
            BinaryOp::Modulus | BinaryOp::Pow | BinaryOp::LogBase => return None,
        };
        let test = self.compare(predicate, x, y);
        Some(self.truth(test))
    }

    /// A processor's instruction gives its second operand where one is NaN or both are zeros.
    fn minimum(&mut self, x: Operand, y: Operand) -> Operand {
        let one = self.two(Opcode::Minimum, x, y);
        let other = self.two(Opcode::Minimum, y, x);
        self.two(Opcode::Or, one, other)
    }

    fn maximum(&mut self, x: Operand, y: Operand) -> Operand {
        let one = self.two(Opcode::Maximum, x, y);
        let other = self.two(Opcode::Maximum, y, x);
        let both = self.two(Opcode::And, one, other);
        let unordered = self.compare(UNORDERED, x, y);
        self.two(Opcode::Or, both, unordered)
    }

    /// The minimum or maximum of a value and a number, for which one instruction is enough: where the value is NaN, or both are
    /// zeros, it gives the value.
    fn bounded(&mut self, op: BinaryOp, value: Operand, literal: Operand, number: f64) -> Operand {
        if op != BinaryOp::Max {
            return self.two(Opcode::Minimum, literal, value);
        }
        let chosen = self.two(Opcode::Maximum, literal, value);
        match number == 0.0 && number.is_sign_positive() {
            // The larger one of -0 and 0 is 0, which is what their sum is.
            true => self.two(Opcode::Add, chosen, literal),
            false => chosen,
        }
    }

    fn ternary(&mut self, op: TernaryOp, x: Operand, y: Operand, z: Operand) -> Operand {
        match op {
            TernaryOp::IfElse => {
                let test = self.is_true(x);
                self.choose(test, y, z)
            }
            TernaryOp::PlusMult => {
                let product = self.two(Opcode::Multiply, y, z);
                self.two(Opcode::Add, x, product)
            }
            TernaryOp::MinusMult => {
                let product = self.two(Opcode::Multiply, y, z);
                self.two(Opcode::Subtract, x, product)
            }
        }
    }

    /// Lanes of all bits or none.
    fn compare(&mut self, predicate: u8, x: Operand, y: Operand) -> Operand {
        self.operation(Opcode::Compare, Some(x), y, Last::Number(predicate))
    }

    /// Not zero; NaN is true.
    fn is_true(&mut self, x: Operand) -> Operand {
        let zero = self.literal(0.0);
        self.compare(NOT_EQUAL, x, zero)
    }

    fn truth(&mut self, test: Operand) -> Operand {
        let one = self.literal(1.0);
        self.two(Opcode::And, test, one)
    }

    pub fn choose(&mut self, test: Operand, x: Operand, y: Operand) -> Operand {
        self.operation(Opcode::Blend, Some(y), x, Last::Mask(test))
    }

    /// An accumulator with a value taken in.
    pub fn accumulate(&mut self, op: AggregateOp, accumulator: Vector, value: Operand) {
        let value = match op {
            AggregateOp::SumSq => self.two(Opcode::Multiply, value, value),
            _ => value,
        };
        self.combine(op, accumulator, value);
    }

    /// Two accumulators as one.
    pub fn combine(&mut self, op: AggregateOp, accumulator: Vector, other: Operand) {
        let known = Operand::Register(accumulator);
        let combined = match op {
            AggregateOp::Min => self.minimum(known, other),
            AggregateOp::Max => self.maximum(known, other),
            AggregateOp::Prod => self.two(Opcode::Multiply, known, other),
            _ => self.two(Opcode::Add, known, other),
        };
        self.keep(accumulator, combined);
    }
}

impl Operand {
    fn from(target: Target) -> Option<Self> {
        match target {
            Target::Value(value) => Some(Operand::Value(value)),
            _ => None,
        }
    }
}
