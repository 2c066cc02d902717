//! Multiplications by -1, which is what a minus sign compiles to.

use super::{LocalRule, can_stand_for, instead, literal_number};
use crate::{BinaryOp, Dag, HopId, HopOp, ValueType};

/// `-(-x)` is x.
pub(super) struct DoubleNegation;

impl LocalRule for DoubleNegation {
    fn name(&self) -> &'static str {
        "double-negation"
    }

    fn replace(&self, dag: &mut Dag, id: HopId) -> Option<HopId> {
        let value = negated(dag, negated(dag, id)?)?;
        can_stand_for(dag, value, id).then_some(value)
    }
}

/// `x + -y` is `x - y`, and `x - -y` is `x + y`.
pub(super) struct NegatedSummand;

impl LocalRule for NegatedSummand {
    fn name(&self) -> &'static str {
        "negated-summand"
    }

    fn replace(&self, dag: &mut Dag, id: HopId) -> Option<HopId> {
        let hop = dag.hop(id);
        let (HopOp::Binary(op), [x, y]) = (&hop.op, hop.inputs.as_slice()) else {
            return None;
        };
        let (op, x, y) = (*op, *x, *y);
        let (op, inputs) = match op {
            BinaryOp::Plus => match (negated(dag, x), negated(dag, y)) {
                (_, Some(y)) => (BinaryOp::Minus, vec![x, y]),
                (Some(x), None) => (BinaryOp::Minus, vec![y, x]),
                (None, None) => return None,
            },
            BinaryOp::Minus => (BinaryOp::Plus, vec![x, negated(dag, y)?]),
            _ => return None,
        };
        // Ints could overflow elsewhere, and strings join.
        let doubles = hop.value_type == ValueType::Double
            && inputs
                .iter()
                .all(|input| dag.hop(*input).value_type == ValueType::Double);
        doubles.then(|| instead(dag, id, HopOp::Binary(op), inputs))
    }
}

/// `x`, if the HOP is `-1 * x` or `x * -1`.
fn negated(dag: &Dag, id: HopId) -> Option<HopId> {
    let hop = dag.hop(id);
    let (HopOp::Binary(BinaryOp::Mult), [x, y]) = (&hop.op, hop.inputs.as_slice()) else {
        return None;
    };
    let is_minus_one = |id: &HopId| literal_number(dag, *id) == Some(-1.0);
    let value = match (is_minus_one(x), is_minus_one(y)) {
        (true, _) => *y,
        (_, true) => *x,
        _ => return None,
    };
    can_stand_for(dag, value, id).then_some(value)
}
