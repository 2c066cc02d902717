//! Sparse-safety as a property of values: the matrices at whose zeros the value of an expression is known, and is zero.
//!
//! `X * exp(Y)` is zero wherever X is; `X * Y + X` wherever X is; `abs(X - X * Y)` too. `X + 1` is one there, and so `log(X + 1)` is
//! zero. A fused operator may skip the zeros of its main input exactly if that is a zero carrier of its value. That is what
//! plans are made from, and holds for finite operands and divisors without zeros. When the operands are there, the operator looks
//! whether they are such, and visits all cells if they are not (`execute/exact.rs` in `codegen`): 0 * Inf and 0 / 0 are NaN in every
//! layout and plan. Only an Outer operator goes by its driver alone, since it never builds the product beside it.

use crate::{
    Dag, DataType, HopId,
    ops::{AtZeros, Cellwise, Zeros},
};

/// More are forgotten, the latest first: a plan then visits cells it could skip.
const MAX_CARRIERS: usize = 16;

/// Per HOP, the matrices of its shape at whose zeros its value is known.
#[derive(Debug, Default)]
pub struct ZeroCarriers {
    /// Sorted by matrix: the value where that is zero.
    values: Vec<Vec<(HopId, f64)>>,
    /// Sorted: of these the matrices at whose zeros the HOP is zero, too, itself included.
    carriers: Vec<Vec<HopId>>,
}

impl ZeroCarriers {
    /// Of all HOPs that are live.
    pub fn new(dag: &Dag, is_live: impl Fn(HopId) -> bool) -> Self {
        let mut zeros = ZeroCarriers {
            values: Vec::with_capacity(dag.len()),
            carriers: Vec::with_capacity(dag.len()),
        };
        for (id, _) in dag.iter() {
            match is_live(id) {
                true => zeros.push(dag, id),
                false => zeros.push_nothing(),
            }
        }
        zeros
    }

    /// The matrices at whose zeros this one is zero, itself included.
    pub fn of(&self, hop: HopId) -> &[HopId] {
        self.carriers.get(hop.index()).map_or(&[], Vec::as_slice)
    }

    /// Appends what is known of the next HOP; inputs come before it.
    pub fn push(&mut self, dag: &Dag, id: HopId) {
        if dag.hop(id).data_type != DataType::Matrix {
            return self.push_nothing();
        }
        let mut values = self.values_of(dag, id);
        // Inputs come first: they are what main inputs are chosen from.
        values.truncate(MAX_CARRIERS - 1);
        values.push((id, 0.0));
        let carriers = values.iter().filter(|(_, value)| *value == 0.0);
        self.carriers.push(carriers.map(|(hop, _)| *hop).collect());
        self.values.push(values);
    }

    fn push_nothing(&mut self) {
        self.values.push(Vec::new());
        self.carriers.push(Vec::new());
    }

    fn values_of(&self, dag: &Dag, id: HopId) -> Vec<(HopId, f64)> {
        let hop = dag.hop(id);
        let operands = || hop.inputs.iter().map(|input| self.operand(dag, id, *input));
        hop.op.facts(|facts| match facts.zeros {
            Zeros::Unknown => Vec::new(),
            Zeros::Cells(function) => at_carriers(function, &operands().collect::<Vec<_>>()),
        })
    }

    fn operand(&self, dag: &Dag, result: HopId, id: HopId) -> Operand<'_> {
        let (hop, result) = (dag.hop(id), dag.hop(result));
        let shape = (hop.rows(), hop.cols());
        match hop.op.constant() {
            Some(literal) => literal.as_f64().map_or(Operand::Unknown, Operand::Literal),
            // Vectors that are spread are zero in other cells than their own.
            _ if shape == (result.rows(), result.cols())
                && shape.0.is_some()
                && shape.1.is_some() =>
            {
                Operand::Matrix(self.values.get(id.index()).map_or(&[], Vec::as_slice))
            }
            _ => Operand::Unknown,
        }
    }
}

/// The values of a function at zeros of those matrices where they are known.
fn at_carriers(function: &dyn Cellwise, operands: &[Operand]) -> Vec<(HopId, f64)> {
    let mut carriers: Vec<HopId> = (operands.iter())
        .filter_map(|operand| match operand {
            Operand::Matrix(values) => Some(values.iter().map(|(carrier, _)| *carrier)),
            Operand::Literal(_) | Operand::Unknown => None,
        })
        .flatten()
        .collect();
    carriers.sort_unstable();
    carriers.dedup();
    let known = |carrier: HopId| {
        let operands = operands.iter().map(|operand| operand.at(carrier));
        match function.at_zeros(&operands.collect::<Vec<_>>()) {
            Some(value) if !value.is_nan() => Some((carrier, value)),
            _ => None,
        }
    };
    carriers.into_iter().filter_map(known).collect()
}

enum Operand<'a> {
    Literal(f64),
    /// Its values at zeros of other matrices.
    Matrix(&'a [(HopId, f64)]),
    Unknown,
}

impl Operand<'_> {
    /// Its value where the carrier is zero.
    fn at(&self, carrier: HopId) -> AtZeros {
        match self {
            Operand::Literal(value) => AtZeros::Literal(*value),
            Operand::Matrix(values) => {
                let place = values.binary_search_by_key(&carrier, |(hop, _)| *hop);
                place.map_or(AtZeros::Unknown, |place| AtZeros::Known(values[place].1))
            }
            Operand::Unknown => AtZeros::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryOp, Characteristics, Hop, HopOp, Literal, TernaryOp, UnaryOp, ValueType};

    struct Expression {
        dag: Dag,
        x: HopId,
        y: HopId,
    }

    impl Expression {
        fn new() -> Self {
            let mut dag = Dag::new();
            let mut read = |name: &str| {
                let read = Hop::matrix(HopOp::TransientRead(name.to_owned()), Vec::new());
                dag.push(read.with(Characteristics::dims(3, 2)))
            };
            let (x, y) = (read("X"), read("Y"));
            Expression { dag, x, y }
        }

        fn number(&mut self, value: f64) -> HopId {
            self.dag.push(Hop::literal(Literal::Double(value)))
        }

        fn scalar(&mut self) -> HopId {
            let read = HopOp::TransientRead("s".to_owned());
            self.dag
                .push(Hop::scalar(read, Vec::new(), ValueType::Double))
        }

        fn of(&mut self, op: HopOp, inputs: &[HopId]) -> HopId {
            let hop = Hop::matrix(op, inputs.to_vec());
            self.dag.push(hop.with(Characteristics::dims(3, 2)))
        }

        /// Whether it is zero wherever X is.
        fn carries(&self, result: HopId) -> bool {
            let zeros = ZeroCarriers::new(&self.dag, |_| true);
            zeros.of(result).contains(&self.x)
        }
    }

    #[test]
    fn values_that_are_not_zero_carry_zeros_on() {
        let mut e = Expression::new();
        let (x, y, one, zero) = (e.x, e.y, e.number(1.0), e.number(0.0));
        let shifted = e.of(HopOp::Binary(BinaryOp::Plus), &[x, one]);
        let log = e.of(HopOp::Unary(UnaryOp::Log), &[shifted]);
        assert!(!e.carries(shifted) && e.carries(log));
        let exp = e.of(HopOp::Unary(UnaryOp::Exp), &[x]);
        let less = e.of(HopOp::Binary(BinaryOp::Minus), &[exp, one]);
        assert!(!e.carries(exp) && e.carries(less));
        let is_zero = e.of(HopOp::Binary(BinaryOp::Equal), &[x, zero]);
        let reciprocal = e.of(HopOp::Binary(BinaryOp::Div), &[one, x]);
        let chosen = e.of(
            HopOp::Ternary(TernaryOp::IfElse),
            &[is_zero, zero, reciprocal],
        );
        assert!(!e.carries(reciprocal) && e.carries(chosen));
        let other = e.of(HopOp::Ternary(TernaryOp::IfElse), &[is_zero, y, reciprocal]);
        assert!(!e.carries(other));
        let product = e.of(HopOp::Binary(BinaryOp::Mult), &[log, y]);
        let sum = e.of(HopOp::Ternary(TernaryOp::PlusMult), &[less, product, y]);
        assert!(e.carries(product) && e.carries(sum));
        let with_y = e.of(HopOp::Ternary(TernaryOp::PlusMult), &[y, product, x]);
        assert!(!e.carries(with_y));
    }

    #[test]
    fn what_may_not_be_zero_carries_none() {
        let mut e = Expression::new();
        let (x, zero, scalar) = (e.x, e.number(0.0), e.scalar());
        let quotient = e.of(HopOp::Binary(BinaryOp::Div), &[x, zero]);
        assert!(!e.carries(quotient));
        let shifted = e.of(HopOp::Binary(BinaryOp::Plus), &[x, scalar]);
        assert!(!e.carries(shifted));
        let scaled = e.of(HopOp::Binary(BinaryOp::Mult), &[x, scalar]);
        assert!(e.carries(scaled));
        let vector = e.dag.push(
            Hop::matrix(HopOp::TransientRead("v".to_owned()), Vec::new())
                .with(Characteristics::dims(3, 1)),
        );
        let log = e.of(HopOp::Unary(UnaryOp::Abs), &[vector]);
        let spread = e.of(HopOp::Binary(BinaryOp::Mult), &[x, log]);
        let zeros = ZeroCarriers::new(&e.dag, |_| true);
        assert!(e.carries(spread) && !zeros.of(spread).contains(&vector));
    }
}
