//! Operators that do the same to the same inputs become one.
//!
//! What has effects or gives something else each time stays apart, as do reads of files in a DAG that also
//! writes files. Operands of commutative operators count as equal in either order.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    mem,
};

use super::{Action, Kept, Precision, Rule, dead_code};
use crate::{Dag, Hop, HopId, HopOp, Literal, ValueType};

pub(super) const RULE: Rule = Rule {
    name: "common-subexpressions",
    formula: "f(X), f(X) -> f(X)",
    condition: "the operator is deterministic and has no effect; computed once, read twice",
    precision: Precision::Exact,
    action: Action::Whole(merged),
};

fn merged(dag: &Dag) -> Option<Kept> {
    let writes_files = dag.iter().any(|(_, hop)| hop.op.writes_file());
    // For each HOP, the first that is equal to it.
    let mut first: Vec<HopId> = Vec::with_capacity(dag.len());
    let mut seen: HashMap<u64, Vec<HopId>> = HashMap::with_capacity(dag.len());
    let mut inputs: Vec<Vec<HopId>> = Vec::with_capacity(dag.len());
    for (id, hop) in dag.iter() {
        let read = hop.inputs.iter().map(|input| first[input.index()]);
        inputs.push(in_order(hop, read.collect()));
        let reads_file = hop.op.reads_file();
        let is_unique =
            hop.op.has_effect() || !hop.op.is_deterministic() || (reads_file && writes_files);
        if is_unique {
            first.push(id);
            continue;
        }
        let candidates = seen.entry(hash(hop, &inputs[id.index()])).or_default();
        let equal = candidates.iter().find(|other| {
            inputs[other.index()] == inputs[id.index()] && does_the_same(dag.hop(**other), hop)
        });
        match equal.copied() {
            Some(equal) => first.push(equal),
            None => {
                candidates.push(id);
                first.push(id);
            }
        }
    }
    if dag.iter().all(|(id, _)| first[id.index()] == id) {
        return None;
    }
    let mut merged = Dag::new();
    for (_, hop) in dag.iter() {
        let inputs = hop.inputs.iter().map(|input| first[input.index()]);
        merged.push(Hop {
            inputs: inputs.collect(),
            ..hop.clone()
        });
    }
    merged.roots = dag.roots.iter().map(|root| first[root.index()]).collect();
    dead_code::without_dead(&merged)
}

/// Operands that commute, in one order.
fn in_order(hop: &Hop, mut inputs: Vec<HopId>) -> Vec<HopId> {
    if let HopOp::Binary(op) = hop.op
        && op.is_commutative()
        && hop.value_type != ValueType::String
    {
        inputs.sort_unstable();
    }
    inputs
}

fn hash(hop: &Hop, inputs: &[HopId]) -> u64 {
    let mut hasher = DefaultHasher::new();
    mem::discriminant(&hop.op).hash(&mut hasher);
    match &hop.op {
        HopOp::Literal(Literal::Double(value)) => value.to_bits().hash(&mut hasher),
        HopOp::Literal(Literal::Int(value)) => value.hash(&mut hasher),
        HopOp::Literal(Literal::String(text)) | HopOp::TransientRead(text) => {
            text.hash(&mut hasher);
        }
        HopOp::Unary(op) => op.hash(&mut hasher),
        HopOp::Binary(op) => op.hash(&mut hasher),
        HopOp::Aggregate(op, direction) => (op, direction).hash(&mut hasher),
        // The rest differ by their inputs, or are told apart by comparing.
        _ => {}
    }
    inputs.hash(&mut hasher);
    hasher.finish()
}

fn does_the_same(left: &Hop, right: &Hop) -> bool {
    let same_op = match (&left.op, &right.op) {
        // 0.0 is not -0.0.
        (HopOp::Literal(Literal::Double(left)), HopOp::Literal(Literal::Double(right))) => {
            left.to_bits() == right.to_bits()
        }
        (left, right) => left == right,
    };
    same_op && left.data_type == right.data_type && left.value_type == right.value_type
}
