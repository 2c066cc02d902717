//! `t(t(X))` and `rev(rev(X))` are X.

use super::{LocalRule, can_stand_for};
use crate::{Dag, HopId, HopOp};

pub(super) struct DoubleReorganization;

impl LocalRule for DoubleReorganization {
    fn name(&self) -> &'static str {
        "double-reorganization"
    }

    fn replace(&self, dag: &mut Dag, id: HopId) -> Option<HopId> {
        let hop = dag.hop(id);
        if !matches!(hop.op, HopOp::Transpose | HopOp::Rev) {
            return None;
        }
        let inner = dag.hop(*hop.inputs.first()?);
        if inner.op != hop.op {
            return None;
        }
        let value = *inner.inputs.first()?;
        can_stand_for(dag, value, id).then_some(value)
    }
}
