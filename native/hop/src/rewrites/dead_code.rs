//! Operators that no root needs are left out.

use super::{Action, Kept, Precision, Rule};
use crate::{Dag, Hop, HopId};

pub(super) const RULE: Rule = Rule {
    name: "dead-code",
    formula: "X -> nothing",
    condition: "no write and no effect needs X",
    precision: Precision::Exact,
    action: Action::Whole(without_dead),
};

pub(crate) fn without_dead(dag: &Dag) -> Option<Kept> {
    let mut needed = vec![false; dag.len()];
    for root in &dag.roots {
        needed[root.index()] = true;
    }
    for (id, hop) in dag.iter().rev() {
        if needed[id.index()] {
            for input in &hop.inputs {
                needed[input.index()] = true;
            }
        }
    }
    if needed.iter().all(|needed| *needed) {
        return None;
    }
    let mut kept = Kept {
        dag: Dag::new(),
        sources: Vec::new(),
    };
    let mut moved = vec![HopId(0); dag.len()];
    for (id, hop) in dag.iter().filter(|(id, _)| needed[id.index()]) {
        let inputs = hop.inputs.iter().map(|input| moved[input.index()]);
        moved[id.index()] = kept.dag.push(Hop {
            inputs: inputs.collect(),
            ..hop.clone()
        });
        kept.sources.push(id);
    }
    kept.dag.roots = dag.roots.iter().map(|root| moved[root.index()]).collect();
    Some(kept)
}
