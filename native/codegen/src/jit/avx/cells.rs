//! Vector instructions on cells, whose registers are not chosen yet.

use fulgurite_hop::AggregateOp;

use super::encode::{Opcode, Vector};
use crate::cellwise::{self, CellInstructions, Comparison};

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

    /// A total, which is in a register, with a value taken in.
    pub fn accumulate(&mut self, op: AggregateOp, total: Vector, value: Operand) {
        let taken = cellwise::accumulate(self, op, Operand::Register(total), value);
        self.keep(total, taken);
    }

    /// Two totals as one, in the register of the first.
    pub fn combine(&mut self, op: AggregateOp, total: Vector, other: Operand) {
        let combined = cellwise::combine(self, op, Operand::Register(total), other);
        self.keep(total, combined);
    }
}

impl CellInstructions for Cells<'_> {
    type Value = Operand;
    /// All bits of a lane, or none.
    type Truth = Operand;

    fn literal(&mut self, number: f64) -> Operand {
        self.uniforms.add(Uniform::Literal(number.to_bits()))
    }

    fn add(&mut self, x: Operand, y: Operand) -> Operand {
        self.two(Opcode::Add, x, y)
    }

    fn subtract(&mut self, x: Operand, y: Operand) -> Operand {
        self.two(Opcode::Subtract, x, y)
    }

    fn multiply(&mut self, x: Operand, y: Operand) -> Operand {
        self.two(Opcode::Multiply, x, y)
    }

    fn divide(&mut self, x: Operand, y: Operand) -> Operand {
        self.two(Opcode::Divide, x, y)
    }

    fn square_root(&mut self, x: Operand) -> Operand {
        self.operation(Opcode::SquareRoot, None, x, Last::None)
    }

    fn magnitude(&mut self, x: Operand) -> Operand {
        let all_but_the_sign = self.literal(f64::from_bits(u64::MAX >> 1));
        self.two(Opcode::And, x, all_but_the_sign)
    }

    fn floor(&mut self, x: Operand) -> Operand {
        self.operation(Opcode::Round, None, x, Last::Number(DOWN))
    }

    fn ceiling(&mut self, x: Operand) -> Operand {
        self.operation(Opcode::Round, None, x, Last::Number(UP))
    }

    fn compare(&mut self, comparison: Comparison, x: Operand, y: Operand) -> Operand {
        let predicate = match comparison {
            Comparison::Less => 0x11,
            Comparison::LessEqual => 0x12,
            Comparison::Greater => 0x1e,
            Comparison::GreaterEqual => 0x1d,
            Comparison::Equal => 0x00,
            Comparison::NotEqual => 0x04,
            Comparison::Unordered => 0x03,
        };
        self.operation(Opcode::Compare, Some(x), y, Last::Number(predicate))
    }

    fn both(&mut self, left: Operand, right: Operand) -> Operand {
        self.two(Opcode::And, left, right)
    }

    fn either(&mut self, left: Operand, right: Operand) -> Operand {
        self.two(Opcode::Or, left, right)
    }

    fn one_of(&mut self, left: Operand, right: Operand) -> Operand {
        self.two(Opcode::Xor, left, right)
    }

    fn truth(&mut self, test: Operand) -> Operand {
        let one = self.literal(1.0);
        self.two(Opcode::And, test, one)
    }

    fn choose(&mut self, test: Operand, x: Operand, y: Operand) -> Operand {
        self.operation(Opcode::Blend, Some(y), x, Last::Mask(test))
    }

    fn lesser(&mut self, x: Operand, y: Operand) -> Operand {
        self.two(Opcode::Minimum, x, y)
    }

    fn greater(&mut self, x: Operand, y: Operand) -> Operand {
        self.two(Opcode::Maximum, x, y)
    }

    fn common_bits(&mut self, x: Operand, y: Operand) -> Operand {
        self.two(Opcode::And, x, y)
    }

    fn all_bits(&mut self, x: Operand, y: Operand) -> Operand {
        self.two(Opcode::Or, x, y)
    }

    fn fill_where(&mut self, x: Operand, test: Operand) -> Operand {
        self.two(Opcode::Or, x, test)
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
