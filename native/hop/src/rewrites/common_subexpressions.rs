//! Operators that do the same to the same inputs become one.
//!
//! What has effects or gives something else each time stays apart, as do reads of files in a DAG that also
//! writes files. Operands of commutative operators count as equal in either order.

use std::collections::HashMap;

use super::{DagRule, rebuild};
use crate::{Dag, Hop, HopOp, ValueType};

pub(super) struct CommonSubexpressions;

impl DagRule for CommonSubexpressions {
    fn name(&self) -> &'static str {
        "common-subexpressions"
    }

    fn apply(&self, dag: &Dag) -> Dag {
        let writes_files = dag
            .iter()
            .any(|(_, hop)| matches!(hop.op, HopOp::PersistentWrite(_)));
        let mut first = HashMap::new();
        rebuild(dag, |new, id| {
            let hop = new.hop(id);
            let reads_file = matches!(hop.op, HopOp::PersistentRead(_));
            let is_unique =
                hop.op.has_effect() || !hop.op.is_deterministic() || (reads_file && writes_files);
            if is_unique {
                id
            } else {
                *first.entry(key(hop)).or_insert(id)
            }
        })
    }
}

/// Equal for HOPs that give the same. Text, as doubles have no hash: it tells 0.0 from -0.0 and 1 from 1.0.
fn key(hop: &Hop) -> String {
    let mut inputs = hop.inputs.clone();
    if let HopOp::Binary(op) = hop.op
        && op.is_commutative()
        && hop.value_type != ValueType::String
    {
        inputs.sort_unstable();
    }
    format!(
        "{:?} {inputs:?} {:?} {:?}",
        hop.op, hop.data_type, hop.value_type
    )
}
