//! `x ^ 2` is the unary square, which costs one multiplication.

use super::{LocalRule, instead, literal_number};
use crate::{BinaryOp, Dag, HopId, HopOp, UnaryOp};

pub(super) struct Square;

impl LocalRule for Square {
    fn name(&self) -> &'static str {
        "square"
    }

    fn replace(&self, dag: &mut Dag, id: HopId) -> Option<HopId> {
        let hop = dag.hop(id);
        let (HopOp::Binary(BinaryOp::Pow), [x, exponent]) = (&hop.op, hop.inputs.as_slice()) else {
            return None;
        };
        let x = *x;
        if literal_number(dag, *exponent) != Some(2.0) {
            return None;
        }
        Some(instead(dag, id, HopOp::Unary(UnaryOp::Pow2), vec![x]))
    }
}
