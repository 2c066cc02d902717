//! Linear combinations of loop counters and of whole numbers that stay the same during the loop.

use std::collections::BTreeMap;

use fulgurite_hop::{BinaryOp, Literal};

use super::Known;
use crate::syntax::ast::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};

/// Beyond, doubles no longer tell neighbouring whole numbers apart.
const LARGEST: i128 = 1 << 53;

/// What a coefficient belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Term {
    /// How often a loop has gone round; see [`super::accesses::Counter`].
    Counter(usize),
    /// A whole number that the loop leaves alone.
    Invariant(String),
}

/// `constant + coefficient * term + …`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Affine {
    pub constant: i128,
    /// No coefficient is 0.
    pub terms: BTreeMap<Term, i128>,
}

impl Affine {
    pub fn constant(constant: i128) -> Self {
        Affine {
            constant,
            terms: BTreeMap::new(),
        }
    }

    pub fn term(term: Term) -> Self {
        Affine {
            constant: 0,
            terms: [(term, 1)].into(),
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    pub fn coefficient(&self, term: &Term) -> i128 {
        self.terms.get(term).copied().unwrap_or(0)
    }

    /// `None` where numbers get too large to be exact.
    pub fn add(&self, other: &Self) -> Option<Self> {
        let mut terms = self.terms.clone();
        for (term, coefficient) in &other.terms {
            let sum = terms.entry(term.clone()).or_insert(0);
            *sum += coefficient;
        }
        Affine {
            constant: self.constant + other.constant,
            terms,
        }
        .in_range()
    }

    pub fn times(&self, factor: i128) -> Option<Self> {
        let mut terms = self.terms.clone();
        for coefficient in terms.values_mut() {
            *coefficient = coefficient.checked_mul(factor)?;
        }
        Affine {
            constant: self.constant.checked_mul(factor)?,
            terms,
        }
        .in_range()
    }

    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.add(&other.times(-1)?)
    }

    fn in_range(mut self) -> Option<Self> {
        self.terms.retain(|_, coefficient| *coefficient != 0);
        let fits = |number: &i128| number.abs() <= LARGEST;
        (self.terms.values().all(fits) && fits(&self.constant)).then_some(self)
    }
}

/// What variables stand for at a point of the body.
pub(super) struct Environment<'a> {
    pub known: &'a dyn Known,
    /// Scalars that the body assigns, where they are linear, and the counters of loops.
    pub values: BTreeMap<String, Affine>,
    /// All that the body assigns: what is known of them before the loop does not hold.
    pub assigned: std::collections::BTreeSet<String>,
}

impl Environment<'_> {
    /// The expression as a linear combination of whole numbers; `None` if it isn't one.
    pub fn affine(&self, expression: &Expression) -> Option<Affine> {
        match &expression.kind {
            ExpressionKind::Literal(literal) => whole_number(literal).map(Affine::constant),
            ExpressionKind::Variable(name) => self.variable(name),
            ExpressionKind::Argument(name) => {
                let number = self.known.argument(name)?;
                Affine::constant(number.into()).in_range()
            }
            ExpressionKind::Unary(UnaryOperator::Minus, operand) => self.affine(operand)?.times(-1),
            ExpressionKind::Unary(UnaryOperator::Plus, operand) => self.affine(operand),
            ExpressionKind::Binary(BinaryOperator::Cell(operator), left, right) => {
                let (left, right) = (self.affine(left)?, self.affine(right)?);
                match operator {
                    BinaryOp::Plus => left.add(&right),
                    BinaryOp::Minus => left.minus(&right),
                    BinaryOp::Mult => match (left.number(), right.number()) {
                        (Some(factor), _) => right.times(factor),
                        (_, Some(factor)) => left.times(factor),
                        _ => None,
                    },
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn variable(&self, name: &str) -> Option<Affine> {
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

fn whole_number(literal: &Literal) -> Option<i128> {
    let number = match literal {
        Literal::Int(number) => i128::from(*number),
        Literal::Double(number) if number.fract() == 0.0 && number.abs() <= LARGEST as f64 => {
            *number as i128
        }
        _ => return None,
    };
    (number.abs() <= LARGEST).then_some(number)
}
