//! Operations that leave their operand as it is.

use super::{LocalRule, can_stand_for, literal_number};
use crate::{BinaryOp, Dag, HopId, HopOp, ValueType};

/// `x * 1`, `1 * x`, `x / 1` and `x ^ 1` are x.
pub(super) struct NeutralFactor;

impl LocalRule for NeutralFactor {
    fn name(&self) -> &'static str {
        "neutral-factor"
    }

    fn replace(&self, dag: &mut Dag, id: HopId) -> Option<HopId> {
        let hop = dag.hop(id);
        let [x, y] = *hop.inputs.as_slice() else {
            return None;
        };
        let is_one = |id| literal_number(dag, id) == Some(1.0);
        let value = match hop.op {
            HopOp::Binary(BinaryOp::Mult | BinaryOp::Div | BinaryOp::Pow) if is_one(y) => x,
            HopOp::Binary(BinaryOp::Mult) if is_one(x) => y,
            _ => return None,
        };
        can_stand_for(dag, value, id).then_some(value)
    }
}

/// `x - 0` is x, and so is `x + -0.0`; `x + 0` is x only for ints, as -0.0 + 0 is 0.0.
pub(super) struct NeutralSummand;

impl LocalRule for NeutralSummand {
    fn name(&self) -> &'static str {
        "neutral-summand"
    }

    fn replace(&self, dag: &mut Dag, id: HopId) -> Option<HopId> {
        let hop = dag.hop(id);
        let [x, y] = *hop.inputs.as_slice() else {
            return None;
        };
        let is_int = hop.is_scalar() && hop.value_type == ValueType::Int;
        let is_zero = |id, negative: bool| {
            literal_number(dag, id)
                .is_some_and(|zero| zero == 0.0 && (is_int || zero.is_sign_negative() == negative))
        };
        let value = match hop.op {
            HopOp::Binary(BinaryOp::Minus) if is_zero(y, false) => x,
            HopOp::Binary(BinaryOp::Plus) if is_zero(y, true) => x,
            HopOp::Binary(BinaryOp::Plus) if is_zero(x, true) => y,
            _ => return None,
        };
        can_stand_for(dag, value, id).then_some(value)
    }
}
