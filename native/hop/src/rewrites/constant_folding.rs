//! `2 * 3` becomes `6`. What fails, as an int that overflows, is left to fail when it is reached.

use super::LocalRule;
use crate::{Dag, Hop, HopId, HopOp, Literal, scalar};

pub(super) struct ConstantFolding;

impl LocalRule for ConstantFolding {
    fn name(&self) -> &'static str {
        "constant-folding"
    }

    fn replace(&self, dag: &mut Dag, id: HopId) -> Option<HopId> {
        let hop = dag.hop(id);
        if !hop.is_scalar() || hop.inputs.is_empty() {
            return None;
        }
        let inputs: Vec<&Literal> = hop
            .inputs
            .iter()
            .map(|input| match &dag.hop(*input).op {
                HopOp::Literal(value) => Some(value),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let value = scalar::eval_scalar(&hop.op, &inputs)?.ok()?;
        let position = hop.position.clone();
        Some(dag.push(Hop {
            position,
            ..Hop::literal(value)
        }))
    }
}
