//! Operators that no root needs are left out.

use super::DagRule;
use crate::{Dag, Hop, HopId};

pub(super) struct DeadCode;

impl DagRule for DeadCode {
    fn name(&self) -> &'static str {
        "dead-code"
    }

    fn apply(&self, dag: &Dag) -> Dag {
        without_dead(dag)
    }
}

pub(super) fn without_dead(dag: &Dag) -> Dag {
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
    let mut new = Dag::new();
    let mut moved = vec![HopId(0); dag.len()];
    for (id, hop) in dag.iter().filter(|(id, _)| needed[id.index()]) {
        let inputs = hop.inputs.iter().map(|input| moved[input.index()]);
        moved[id.index()] = new.push(Hop {
            inputs: inputs.collect(),
            ..hop.clone()
        });
    }
    new.roots = dag.roots.iter().map(|root| moved[root.index()]).collect();
    new
}
