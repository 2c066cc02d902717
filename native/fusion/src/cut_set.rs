//! Structural pruning (Section 4.4): which points, when all are set, leave independent sub-problems.
//!
//! [`layout`] orders the points of a search space by the cut sets found among them, best score first.
//! [`components`] splits a search space once decisions have been made: what one component reads of another is
//! materialised in every plan, and operators of one reach into another only where nothing is left to decide.

use fulgurite_hop::HopId;

use crate::{
    memo::Slots,
    partition::{InterestingPoint, Partition},
    plan_cost::PartitionCosts,
    view::DagView,
};

/// A part of a partition that is searched on its own.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// Sorted.
    pub hops: Vec<HopId>,
    /// Sorted: these, and what operators reach from them.
    pub reach: Vec<HopId>,
    /// Sorted. Materialised in every plan.
    pub outputs: Vec<HopId>,
    /// The decisions to make.
    pub points: Vec<usize>,
}

impl Problem {
    pub fn whole(partition: &Partition) -> Self {
        Problem {
            hops: partition.hops.clone(),
            reach: partition.hops.clone(),
            outputs: partition.outputs.clone(),
            points: (0..partition.points.len()).collect(),
        }
    }
}

/// With fewer points, any order will do.
const MIN_POINTS: usize = 4;
/// Beyond this, pairs of targets are not tried as cut sets.
const MAX_PAIRED_TARGETS: usize = 16;

/// The points of the problem in the order of the search space: cut sets with ascending score (5), then the
/// others, those on large intermediates first because materialising these costs most.
///
/// Cutting only some of the edges to a target leaves it reachable over the others, so the candidates are all
/// the points of a target together, and pairs of these.
pub(crate) fn layout(costs: &PartitionCosts, problem: &Problem) -> Vec<usize> {
    let mut points = problem.points.clone();
    let bytes = |point: usize| costs.model.bytes(costs.point(point).target);
    points.sort_by(|a, b| bytes(*b).total_cmp(&bytes(*a)));
    if points.len() < MIN_POINTS {
        return points;
    }
    let mut candidates: Vec<Vec<usize>> = Vec::new();
    for point in &points {
        let target = costs.point(*point).target;
        let same = |known: &&mut Vec<usize>| costs.point(known[0]).target == target;
        match candidates.iter_mut().find(same) {
            Some(known) => known.push(*point),
            None => candidates.push(vec![*point]),
        }
    }
    let singles = candidates.len();
    if singles <= MAX_PAIRED_TARGETS {
        for a in 0..singles {
            for b in a + 1..singles {
                candidates.push([&candidates[a][..], &candidates[b][..]].concat());
            }
        }
    }
    let mut reach = Reachability::new(costs, problem);
    let scored = candidates.into_iter();
    let scored = scored.filter_map(|cut_set| Some((reach.score(&cut_set)?, cut_set)));
    let mut scored: Vec<(f64, Vec<usize>)> = scored.collect();
    scored.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let mut placed = vec![false; costs.partition.points.len()];
    let cut_sets = scored.into_iter().flat_map(|(_, cut_set)| cut_set);
    let ordered = cut_sets.chain(points);
    ordered
        .filter(|point| !std::mem::replace(&mut placed[*point], true))
        .collect()
}

/// Which points can be reached over fusion references.
struct Reachability<'c> {
    view: &'c DagView<'c>,
    points: &'c [InterestingPoint],
    references: &'c [Slots],
    blocked: &'c [Slots],
    problem: &'c Problem,
    /// Per HOP, the points with this consumer.
    of_consumer: Vec<(HopId, usize)>,
    /// Per HOP, the last walk that reached it.
    seen: Vec<u32>,
    walk: u32,
    stack: Vec<HopId>,
}

impl<'c> Reachability<'c> {
    fn new(costs: &'c PartitionCosts, problem: &'c Problem) -> Self {
        let points = problem.points.iter();
        let mut of_consumer: Vec<(HopId, usize)> = points
            .map(|point| (costs.point(*point).consumer, *point))
            .collect();
        of_consumer.sort_unstable();
        Reachability {
            view: costs.view,
            points: &costs.partition.points,
            references: costs.chooser.references,
            blocked: &costs.chooser.blocked,
            problem,
            of_consumer,
            seen: vec![0; costs.view.dag.len()],
            walk: 0,
            stack: Vec::new(),
        }
    }

    /// Score (5) as a share of all plans, so that it overflows for no number of points; `None` when the points
    /// above and below are not disjoint, or there are none on one side.
    fn score(&mut self, cut_set: &[usize]) -> Option<f64> {
        self.walk += 1;
        for point in cut_set {
            self.visit(self.points[*point].target);
        }
        let below = self.descend(&[]);
        let below_walk = self.walk;
        self.walk += 1;
        let problem = self.problem;
        for output in &problem.outputs {
            if self.seen[output.index()] != below_walk {
                self.visit(*output);
            }
        }
        let above = self.descend(cut_set);
        let is_above = |point: &usize| above.contains(point);
        if above.is_empty() || below.is_empty() || below.iter().any(is_above) {
            return None;
        }
        let all = self.problem.points.len() as f64;
        let cut = (-(cut_set.len() as f64)).exp2();
        let share = |points: &[usize]| (points.len() as f64 - all).exp2();
        Some((1.0 - cut) + cut * (share(&above) + share(&below)))
    }

    fn visit(&mut self, hop: HopId) {
        if self.seen[hop.index()] != self.walk {
            self.seen[hop.index()] = self.walk;
            self.stack.push(hop);
        }
    }

    /// The points that the walk reaches without crossing the cut set.
    fn descend(&mut self, cut_set: &[usize]) -> Vec<usize> {
        let mut reached = Vec::new();
        while let Some(hop) = self.stack.pop() {
            let first = self
                .of_consumer
                .partition_point(|(consumer, _)| *consumer < hop);
            let here = self.of_consumer[first..].iter();
            let here = here.take_while(|(consumer, _)| *consumer == hop);
            reached.extend(
                here.map(|(_, point)| *point)
                    .filter(|point| !cut_set.contains(point)),
            );
            let open = self.references[hop.index()].minus(self.blocked[hop.index()]);
            for slot in open.iter() {
                let input = self.view.hop(hop).inputs[slot];
                let is_cut = |point: &usize| {
                    let point = &self.points[*point];
                    point.consumer == hop && point.target == input
                };
                if !cut_set.iter().any(is_cut) {
                    self.visit(input);
                }
            }
        }
        reached
    }
}

/// Whether the problem may fall apart now that this point is set: its target is cut off from its consumers, or
/// reads only what is materialised.
pub(crate) fn may_split(costs: &PartitionCosts, problem: &Problem, point: usize) -> bool {
    let InterestingPoint {
        consumer, target, ..
    } = *costs.point(point);
    let refers = |consumer: &HopId| {
        let inputs = &costs.view.hop(*consumer).inputs;
        let is_inside = || problem.hops.binary_search(consumer).is_ok();
        open(costs, *consumer)
            .iter()
            .any(|slot| inputs[slot] == target)
            && is_inside()
    };
    !costs.view.is_transpose_of_product(consumer, target)
        && (open(costs, target).is_empty() || !costs.view.consumers(target).iter().any(refers))
}

/// Slots that operators over the HOP may reference.
fn open(costs: &PartitionCosts, hop: HopId) -> Slots {
    let chooser = &costs.chooser;
    chooser.references[hop.index()].minus(chooser.blocked[hop.index()])
}

/// The components of the problem, if several have points that are still free.
///
/// References that are not forbidden connect, and products with transposes. Not so references to HOPs that are
/// materialised in every plan, and from which operators reach only such HOPs, over edges where all is
/// decided: operators that go on into these compute them once more, whatever others do.
pub(crate) fn components(
    costs: &PartitionCosts,
    problem: &Problem,
    is_free: impl Fn(usize) -> bool,
) -> Option<Vec<Problem>> {
    let free = problem.points.iter().filter(|point| is_free(**point));
    if free.clone().count() < 2 {
        return None;
    }
    let local = |hop: &HopId| problem.hops.binary_search(hop).ok();
    let mut is_there = vec![false; problem.hops.len()];
    for output in outputs(costs, problem).iter().filter_map(local) {
        is_there[output] = true;
    }
    let mut components = petgraph::unionfind::UnionFind::<u32>::new(problem.hops.len());
    let mut is_settled = vec![false; problem.hops.len()];
    for (index, hop) in problem.hops.iter().enumerate() {
        is_settled[index] = is_there[index];
        let inputs = &costs.view.hop(*hop).inputs;
        let open = open(costs, *hop);
        for (slot, input) in inputs.iter().enumerate() {
            let is_open = open.contains(slot);
            let is_transpose = costs.view.is_transpose_of_product(*hop, *input);
            let Some(input) = local(input).filter(|_| is_open || is_transpose) else {
                continue;
            };
            let is_decided = !costs.table.point(*hop, slot).is_some_and(&is_free);
            is_settled[index] &= !is_transpose && is_decided && is_settled[input];
            if is_transpose || !is_settled[input] {
                components.union(index as u32, input as u32);
            }
        }
    }
    let mut parts: Vec<Problem> = Vec::new();
    let mut part_of = vec![usize::MAX; problem.hops.len()];
    for (index, hop) in problem.hops.iter().enumerate() {
        let first = components.find_mut(index as u32) as usize;
        if part_of[first] == usize::MAX {
            part_of[first] = parts.len();
            parts.push(Problem {
                hops: Vec::new(),
                reach: Vec::new(),
                outputs: Vec::new(),
                points: Vec::new(),
            });
        }
        part_of[index] = part_of[first];
        parts[part_of[first]].hops.push(*hop);
    }
    for point in free {
        if let Some(index) = local(&costs.point(*point).consumer) {
            parts[part_of[index]].points.push(*point);
        }
    }
    if parts.iter().filter(|part| !part.points.is_empty()).count() < 2 {
        return None;
    }
    for (index, hop) in problem
        .hops
        .iter()
        .enumerate()
        .filter(|(index, _)| is_there[*index])
    {
        parts[part_of[index]].outputs.push(*hop);
    }
    let mut reached_by = vec![usize::MAX; problem.reach.len()];
    for (number, part) in parts.iter_mut().enumerate() {
        part.reach = reach(costs, problem, &part.hops, number, &mut reached_by);
    }
    Some(parts)
}

/// HOPs of the problem that are materialised in every plan: what is read across a point is.
fn outputs(costs: &PartitionCosts, problem: &Problem) -> Vec<HopId> {
    let mut outputs = problem.outputs.clone();
    for hop in &problem.hops {
        for slot in costs.chooser.blocked[hop.index()].iter() {
            let input = costs.view.hop(*hop).inputs[slot];
            if !costs.view.is_transpose_of_product(*hop, input) {
                outputs.push(input);
            }
        }
    }
    outputs
}

/// These HOPs and what operators reach from them.
fn reach(
    costs: &PartitionCosts,
    problem: &Problem,
    hops: &[HopId],
    number: usize,
    reached_by: &mut [usize],
) -> Vec<HopId> {
    let mut reached = Vec::with_capacity(hops.len());
    let mut stack = hops.to_vec();
    while let Some(hop) = stack.pop() {
        let place = problem.reach.binary_search(&hop);
        let Some(mark) = place.ok().and_then(|place| reached_by.get_mut(place)) else {
            continue;
        };
        if std::mem::replace(mark, number) != number {
            reached.push(hop);
            let inputs = &costs.view.hop(hop).inputs;
            stack.extend(open(costs, hop).iter().map(|slot| inputs[slot]));
        }
    }
    reached.sort_unstable();
    reached
}
