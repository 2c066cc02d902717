//! One form for all plans that differ only in the order in which they were written.
//!
//! Operands of commutative operators stand in an order that depends on what they compute, equal nodes are one,
//! nodes stand in the order in which outputs need them, and inputs are numbered in the order in which nodes read
//! them, after the main input. What nothing reads is left out.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use super::{CNode, CPlan, Fnv, InputBinding, NodeId, OuterOutput, RowOutput, Template};

impl CPlan {
    /// The canonical plan, and the number that each of its inputs had. The plan must be consistent.
    pub fn canonical(&self) -> (CPlan, Vec<usize>) {
        let mut form = Canonical {
            plan: self,
            keys: keys(self),
            inputs: vec![0],
            body: Vec::with_capacity(self.body.len()),
            places: vec![None; self.body.len()],
            known: HashMap::new(),
        };
        let template = form.template();
        let plan = CPlan {
            template,
            inputs: form.inputs.iter().map(|old| self.inputs[*old]).collect(),
            body: form.body,
        };
        (plan, form.inputs)
    }
}

/// Per node, a number that depends on what it computes, but neither on the order of its operands where that
/// does not matter nor on how inputs and nodes are numbered.
fn keys(plan: &CPlan) -> Vec<u64> {
    let mut keys: Vec<u64> = Vec::with_capacity(plan.body.len());
    for node in &plan.body {
        let mut hasher = Fnv::default();
        node.map(|_| NodeId(0), |_| 0).hash(&mut hasher);
        let bindings = node.inputs().into_iter().map(|input| plan.inputs[input]);
        bindings.collect::<Vec<InputBinding>>().hash(&mut hasher);
        let operands = node.operands();
        let mut operands: Vec<u64> = operands.iter().map(|id| keys[id.index()]).collect();
        if is_commutative(node) {
            operands.sort_unstable();
        }
        operands.hash(&mut hasher);
        keys.push(hasher.finish());
    }
    keys
}

fn is_commutative(node: &CNode) -> bool {
    matches!(node, CNode::Binary(op, ..) if op.is_commutative())
}

struct Canonical<'a> {
    plan: &'a CPlan,
    keys: Vec<u64>,
    /// Old numbers.
    inputs: Vec<usize>,
    body: Vec<CNode>,
    /// Per old node, the new one.
    places: Vec<Option<NodeId>>,
    known: HashMap<CNode, NodeId>,
}

impl Canonical<'_> {
    fn template(&mut self) -> Template {
        let mut template = self.plan.template.clone();
        match &mut template {
            Template::Cell(cell) => cell.value = self.node(cell.value),
            Template::Row(row) => match &mut row.output {
                RowOutput::NoAggregate(value)
                | RowOutput::RowAggregate(value)
                | RowOutput::ColumnAggregate(_, value)
                | RowOutput::FullAggregate(_, value) => *value = self.node(*value),
                RowOutput::OuterProduct { left, right } => {
                    *left = self.node(*left);
                    *right = self.node(*right);
                }
            },
            Template::Outer(outer) => {
                outer.value = self.node(outer.value);
                match &mut outer.output {
                    OuterOutput::NoAggregate | OuterOutput::FullAggregate(_) => {}
                    OuterOutput::RightMultiply { input } | OuterOutput::LeftMultiply { input } => {
                        *input = self.input(*input);
                    }
                }
            }
            Template::Group(group) => {
                group.groups = self.node(group.groups);
                for (_, value) in &mut group.aggregates {
                    *value = self.node(*value);
                }
                group.count = self.input(group.count);
            }
            Template::MultiAggregate(several) => {
                for (_, value) in &mut several.aggregates {
                    *value = self.node(*value);
                }
            }
        }
        template
    }

    /// Places a node after its operands.
    fn node(&mut self, root: NodeId) -> NodeId {
        let mut stack = vec![root];
        while let Some(id) = stack.last().copied() {
            let operands = self.operands(id);
            let waits = operands.iter().rev();
            let waits = waits.filter(|operand| self.places[operand.index()].is_none());
            let before = stack.len();
            stack.extend(waits);
            if stack.len() == before {
                stack.pop();
                if self.places[id.index()].is_none() {
                    self.place(id);
                }
            }
        }
        self.places[root.index()].unwrap_or(root)
    }

    fn operands(&self, id: NodeId) -> Vec<NodeId> {
        let node = &self.plan.body[id.index()];
        let mut operands = node.operands();
        if is_commutative(node) {
            operands.sort_by_key(|operand| self.keys[operand.index()]);
        }
        operands
    }

    fn place(&mut self, id: NodeId) {
        let node = &self.plan.body[id.index()];
        let operands = self.operands(id);
        let node = match (node, operands.as_slice()) {
            (CNode::Binary(op, ..), [a, b]) => CNode::Binary(*op, *a, *b),
            _ => node.clone(),
        };
        for input in node.inputs() {
            self.input(input);
        }
        let renumbered = node.map(
            |old| self.places[old.index()].unwrap_or(old),
            |old| {
                self.inputs
                    .iter()
                    .position(|known| *known == old)
                    .unwrap_or(old)
            },
        );
        let next = NodeId(self.body.len() as u32);
        let place = *self.known.entry(renumbered.clone()).or_insert(next);
        if place == next {
            self.body.push(renumbered);
        }
        self.places[id.index()] = Some(place);
    }

    fn input(&mut self, old: usize) -> usize {
        let known = self.inputs.iter().position(|known| *known == old);
        known.unwrap_or_else(|| {
            self.inputs.push(old);
            self.inputs.len() - 1
        })
    }
}
