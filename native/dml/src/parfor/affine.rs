//! Linear combinations of loop counters and of whole numbers that stay the same during the loop.

use std::collections::BTreeMap;

use fulgurite_hop::{Affine, Literal};

use super::Known;
use crate::syntax::ast::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};

/// What a coefficient belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Term {
    /// How often a loop has gone round; see [`super::accesses::Counter`].
    Counter(usize),
    /// A whole number that the loop leaves alone.
    Invariant(String),
}

/// What variables stand for at a point of the body.
pub(super) struct Environment<'a> {
    pub known: &'a dyn Known,
    /// Scalars that the body assigns, where they are linear, and the counters of loops.
    pub values: BTreeMap<String, Affine<Term>>,
    /// All that the body assigns: what is known of them before the loop does not hold.
    pub assigned: std::collections::BTreeSet<String>,
}

impl Environment<'_> {
    /// The expression as a linear combination of whole numbers; `None` if it isn't one.
    pub fn affine(&self, expression: &Expression) -> Option<Affine<Term>> {
        match &expression.kind {
            ExpressionKind::Literal(literal) => whole_number(literal),
            ExpressionKind::Variable(name) => self.variable(name),
            ExpressionKind::Argument(name) => {
                let number = self.known.argument(name)?;
                Affine::constant(number.into()).in_range()
            }
            ExpressionKind::Unary(UnaryOperator::Minus, operand) => self.affine(operand)?.times(-1),
            ExpressionKind::Unary(UnaryOperator::Plus, operand) => self.affine(operand),
            ExpressionKind::Binary(BinaryOperator::Cell(operator), left, right) => {
                let (left, right) = (self.affine(left)?, self.affine(right)?);
                Affine::of(*operator, &left, &right)
            }
            _ => None,
        }
    }

    fn variable(&self, name: &str) -> Option<Affine<Term>> {
        if let Some(value) = self.values.get(name) {
            return Some(value.clone());
        }
        if self.assigned.contains(name) {
            return None;
        }
        match self.known.constant(name) {
            Some(number) => Affine::constant(number.into()).in_range(),
            None if self.known.is_int(name) => Some(Affine::term(Term::Invariant(name.to_owned()))),
            None => None,
        }
    }
}

fn whole_number(literal: &Literal) -> Option<Affine<Term>> {
    let number = match literal {
        Literal::Int(number) => i128::from(*number),
        Literal::Double(number) if number.fract() == 0.0 => *number as i128,
        _ => return None,
    };
    Affine::constant(number).in_range()
}
