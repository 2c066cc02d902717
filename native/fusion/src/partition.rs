//! Plan partitions and interesting points (Section 4.2).
//!
//! A partition is a connected component of fusion references: no fused operator spans two, so each is
//! optimised on its own. (The transpose of an input may belong to several: products make up for it at no cost.)

use fulgurite_hop::HopId;
use petgraph::unionfind::UnionFind;
use serde::Serialize;

use crate::{
    memo::{MemoEntry, MemoTable, Slots, TemplateType},
    roles::Role,
    view::DagView,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Partition {
    /// In topological order.
    pub hops: Vec<HopId>,
    /// Never referenced inside.
    pub roots: Vec<HopId>,
    /// Outside, read from inside.
    pub inputs: Vec<HopId>,
    /// Referenced, with more than one consumer.
    pub materialization_points: Vec<HopId>,
    /// The boolean decisions of the search space. (They serialise with what was decided.)
    #[serde(skip)]
    pub points: Vec<InterestingPoint>,
    /// Outputs of operators in every plan: roots, those read from outside (or roots of the DAG), and those
    /// with a consumer inside that can only read them materialised.
    pub outputs: Vec<HopId>,
}

/// A data dependency on which a plan may materialise: true forbids references across it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct InterestingPoint {
    pub consumer: HopId,
    pub target: HopId,
    pub kind: PointKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointKind {
    MaterializationPoint,
    /// The target has plans of a template that can't go on, or end, at the consumer; or it opens an Outer plan.
    TemplateSwitch,
    /// The target is distributed by itself, the consumer is not: fusing makes it, and its inputs, travel.
    ExecutionSwitch,
}

/// For each HOP, the slots that some entry references.
pub(crate) fn referenced_slots(view: &DagView, memo: &MemoTable) -> Vec<Slots> {
    let slots = |hop: HopId| {
        let entries = memo.group(hop).iter();
        entries.fold(Slots::NONE, |all, entry| {
            entry.references.iter().fold(all, Slots::with)
        })
    };
    view.dag.iter().map(|(hop, _)| slots(hop)).collect()
}

/// `is_distributed` says so of basic operators.
pub(crate) fn partitions(
    view: &DagView,
    memo: &MemoTable,
    references: &[Slots],
    is_distributed: &dyn Fn(HopId) -> bool,
) -> Vec<Partition> {
    // A product that covers the transpose of a matrix reads the matrix: what it shares with others is an input.
    let is_bare_transpose =
        |hop: HopId| view.role(hop) == Role::Transpose && references[hop.index()].is_empty();
    let mut components = UnionFind::<u32>::new(view.dag.len());
    for (hop, operator) in view.dag.iter() {
        for slot in references[hop.index()].iter() {
            if !is_bare_transpose(operator.inputs[slot]) {
                components.union(hop.0, operator.inputs[slot].0);
            }
        }
    }
    // A component's place in the result; components of one HOP are no partition.
    let mut sizes = vec![0u32; view.dag.len()];
    for (hop, operator) in view.dag.iter() {
        let references = references[hop.index()].iter();
        let bare = references.filter(|slot| is_bare_transpose(operator.inputs[*slot]));
        sizes[components.find_mut(hop.0) as usize] += 1 + bare.count() as u32;
    }
    let mut place = vec![usize::MAX; view.dag.len()];
    let mut members: Vec<Vec<HopId>> = Vec::new();
    for (hop, _) in view.dag.iter() {
        let component = components.find_mut(hop.0) as usize;
        if sizes[component] > 1 {
            if place[component] == usize::MAX {
                place[component] = members.len();
                members.push(Vec::new());
            }
            members[place[component]].push(hop);
        }
    }
    for hops in &mut members {
        let inputs = hops.iter().flat_map(|hop| {
            let inputs = &view.hop(*hop).inputs;
            references[hop.index()].iter().map(|slot| inputs[slot])
        });
        let mut bare: Vec<HopId> = inputs.filter(|input| is_bare_transpose(*input)).collect();
        if !bare.is_empty() {
            hops.append(&mut bare);
            hops.sort_unstable();
            hops.dedup();
        }
    }
    let mut analysis = Analysis {
        view,
        memo,
        is_distributed,
        references,
        inside: vec![u32::MAX; view.dag.len()],
        mark: vec![u32::MAX; view.dag.len()],
    };
    let number = |(index, hops)| analysis.partition(index as u32, hops);
    members.into_iter().enumerate().map(number).collect()
}

struct Analysis<'a> {
    view: &'a DagView<'a>,
    memo: &'a MemoTable,
    is_distributed: &'a dyn Fn(HopId) -> bool,
    references: &'a [Slots],
    /// The partition that each HOP was found in.
    inside: Vec<u32>,
    /// The partition that each HOP was last listed for as an input.
    mark: Vec<u32>,
}

impl Analysis<'_> {
    fn partition(&mut self, index: u32, hops: Vec<HopId>) -> Partition {
        for hop in &hops {
            self.inside[hop.index()] = index;
        }
        let is_inside = |hop: &HopId| self.inside[hop.index()] == index;
        let (mut roots, mut outputs, mut materialization_points) = (vec![], vec![], vec![]);
        for hop in &hops {
            let consumers = self.view.consumers(*hop);
            let is_referenced = consumers
                .iter()
                .any(|consumer| self.refers(*consumer, *hop));
            if !is_referenced {
                roots.push(*hop);
            } else if consumers.iter().any(|consumer| *consumer != consumers[0]) {
                materialization_points.push(*hop);
            }
            let must_be_there = |consumer: &HopId| {
                let covers_transpose = self.view.transposed_left(*consumer) == Some(*hop);
                let is_apart = !is_inside(consumer) && !covers_transpose;
                is_apart || self.reads_materialized(*consumer, *hop)
            };
            if self.view.is_root(*hop) || consumers.iter().any(must_be_there) {
                outputs.push(*hop);
            }
        }
        let mut inputs = Vec::new();
        for hop in &hops {
            for slot in 0..self.view.hop(*hop).inputs.len() {
                let input = self.view.operand(*hop, slot);
                if !(self.inside[input.index()] == index || self.mark[input.index()] == index) {
                    self.mark[input.index()] = index;
                    inputs.push(input);
                }
            }
        }
        inputs.sort_unstable();
        let points = self.points(&hops, &materialization_points);
        Partition {
            hops,
            roots,
            inputs,
            materialization_points,
            points,
            outputs,
        }
    }

    fn refers(&self, consumer: HopId, target: HopId) -> bool {
        let slots = self.references[consumer.index()];
        let inputs = &self.view.hop(consumer).inputs;
        slots.iter().any(|slot| inputs[slot] == target)
    }

    /// Some slot of the consumer takes the target, and no entry references it there. (A fused product may read
    /// what a transpose reads: it is not the transpose that must be there.)
    fn reads_materialized(&self, consumer: HopId, target: HopId) -> bool {
        let slots = self.references[consumer.index()];
        let inputs = &self.view.hop(consumer).inputs;
        let is_read = |slot: usize| inputs[slot] == target && !slots.contains(slot);
        (0..inputs.len()).any(is_read) && !self.view.is_transpose_of_product(consumer, target)
    }

    fn points(&self, hops: &[HopId], shared: &[HopId]) -> Vec<InterestingPoint> {
        let mut points: Vec<InterestingPoint> = Vec::new();
        for consumer in hops {
            let inputs = &self.view.hop(*consumer).inputs;
            for slot in self.references[consumer.index()].iter() {
                let target = inputs[slot];
                let kind = if shared.binary_search(&target).is_ok() {
                    PointKind::MaterializationPoint
                } else if self.is_switch(*consumer, target) {
                    PointKind::TemplateSwitch
                } else if (self.is_distributed)(target) && !(self.is_distributed)(*consumer) {
                    PointKind::ExecutionSwitch
                } else {
                    continue;
                };
                let is_first = !inputs[..slot].contains(&target);
                if is_first && self.is_decision(target) {
                    points.push(InterestingPoint {
                        consumer: *consumer,
                        target,
                        kind,
                    });
                }
            }
        }
        points
    }

    /// Going on from the target to the consumer shuts out a template that could end at the target, or commits
    /// to never holding an outer product.
    fn is_switch(&self, consumer: HopId, target: HopId) -> bool {
        let has = |hop: HopId, is: &dyn Fn(&MemoEntry) -> bool| self.memo.group(hop).iter().any(is);
        let can_end = |entry: &MemoEntry| entry.close.is_valid();
        let is_shut_out = |template: TemplateType| {
            let is_of = |entry: &MemoEntry| entry.template == template;
            let ends_in = |entry: &MemoEntry| is_of(entry) && can_end(entry);
            has(target, &is_of) && !has(consumer, &is_of)
                || has(target, &ends_in) && has(consumer, &can_end) && !has(consumer, &ends_in)
        };
        let opens_outer = |entry: &MemoEntry| {
            entry.template == TemplateType::Outer && entry.references.is_empty()
        };
        TemplateType::EXPLORED.into_iter().any(is_shut_out) || has(target, &opens_outer)
    }

    /// A fused product reads below a transpose: with nothing to fuse there, both choices are one plan.
    fn is_decision(&self, target: HopId) -> bool {
        self.view.role(target) != Role::Transpose || !self.references[target.index()].is_empty()
    }
}
