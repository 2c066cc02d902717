//! Structural pruning (Section 4.4): which points, when all are set, leave independent sub-problems.
//!
//! [`layout`] orders the points of a search space by the cut sets found among them, best score first.
//! [`components`] splits a search space once decisions have been made: what one component reads of another is
//! materialised in every plan, and operators of one reach into another only where nothing is left to decide.

use fulgurite_hop::HopId;

use crate::{
    memo::Slots, partition::InterestingPoint, plan_cost::PartitionCosts, problem::Problem,
    view::DagView,
};

/// With fewer points, any order will do.
const MIN_POINTS: usize = 4;
/// Beyond this, pairs of targets are not tried as cut sets.
const MAX_PAIRED_TARGETS: usize = 16;
/// HOPs that may be visited to score candidates; further candidates are left in the order of their sizes.
const SCORED_HOPS: usize = 1 << 14;

/// The points of the problem in the order of the search space: cut sets with ascending score (5), then the
/// others, those on large intermediates first because materialising these costs most.
///
/// Cutting only some of the edges to a target leaves it reachable over the others, so the candidates are all
/// the points of a target together, and pairs of these.
pub(crate) fn layout(costs: &PartitionCosts, problem: &Problem) -> Vec<usize> {
    let points = by_size(costs, problem);
    if points.len() < MIN_POINTS {
        return points;
    }
    // Points of one target follow each other.
    let same_target = |a: &usize, b: &usize| costs.point(*a).target == costs.point(*b).target;
    let mut candidates: Vec<Vec<usize>> = points.chunk_by(same_target).map(<[_]>::to_vec).collect();
    let singles = candidates.len();
    if singles <= MAX_PAIRED_TARGETS {
        for a in 0..singles {
            for b in a + 1..singles {
                candidates.push([&candidates[a][..], &candidates[b][..]].concat());
            }
        }
    }
    candidates.truncate((SCORED_HOPS / problem.hops.len().max(1)).max(1));
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

/// The points of the problem target by target, those on large intermediates first.
pub(crate) fn by_size(costs: &PartitionCosts, problem: &Problem) -> Vec<usize> {
    let mut points = problem.points.clone();
    let target = |point: usize| costs.point(point).target;
    let bytes = |point: usize| costs.model.bytes(target(point));
    points.sort_by(|a, b| {
        let by_bytes = bytes(*b).total_cmp(&bytes(*a));
        by_bytes.then_with(|| target(*a).cmp(&target(*b)))
    });
    points
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
/// References that are not forbidden connect, and products with transposes. Not so references to HOPs below
/// which all is decided, if these are materialised in every plan, or were decided on ([`Problem::forgone`]):
/// operators that go on into such a HOP compute it once more, whatever others do.
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
    let mut is_apart = is_there.clone();
    for forgone in problem.forgone.iter().filter_map(local) {
        is_apart[forgone] = true;
    }
    let is_decided = decided_below(costs, problem, &is_free, &is_apart);
    let mut components = petgraph::unionfind::UnionFind::<u32>::new(problem.hops.len());
    for (index, hop) in problem.hops.iter().enumerate() {
        for (_, input) in operands(costs, *hop) {
            if let Some(input) =
                local(&input).filter(|input| !(is_apart[*input] && is_decided[*input]))
            {
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
                borrowed: Vec::new(),
                forgone: problem.forgone.clone(),
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
    // Nothing in there is materialised, nor decided: other parts may reach it.
    parts.retain(|part| !(part.points.is_empty() && part.outputs.is_empty()));
    let mut reached_by = vec![usize::MAX; problem.reach.len()];
    for (number, part) in parts.iter_mut().enumerate() {
        part.reach = reach(costs, problem, &part.hops, number, &mut reached_by);
        // What is not materialised for certain, an operator of this part may still have to read.
        let borrowed = part.reach.iter().filter(|hop| {
            let is_uncertain = local(hop).is_some_and(|hop| !is_there[hop]);
            is_uncertain && part.hops.binary_search(hop).is_err()
        });
        part.borrowed = borrowed.copied().collect();
        part.hops.extend(&part.borrowed);
        part.hops.sort_unstable();
    }
    Some(parts)
}

/// Per HOP of the problem: what an operator covers that goes on into it depends on no decision that is free.
fn decided_below(
    costs: &PartitionCosts,
    problem: &Problem,
    is_free: impl Fn(usize) -> bool,
    is_apart: &[bool],
) -> Vec<bool> {
    let mut is_decided = vec![true; problem.hops.len()];
    for (index, hop) in problem.hops.iter().enumerate() {
        is_decided[index] = operands(costs, *hop).all(|(slot, input)| {
            let point = slot.and_then(|slot| costs.table.point(*hop, slot));
            let is_free = point.is_some_and(&is_free);
            let below = problem.hops.binary_search(&input);
            !is_free && below.map_or(true, |below| is_decided[below] && is_apart[below])
        });
    }
    is_decided
}

/// What operators over the HOP may go on into, and the slots; of a product with a transpose also the
/// transpose and what that reads, which operators read instead.
fn operands(costs: &PartitionCosts, hop: HopId) -> impl Iterator<Item = (Option<usize>, HopId)> {
    let view = costs.view;
    let open = open(costs, hop);
    let inputs = view.hop(hop).inputs.iter().copied().enumerate();
    inputs.flat_map(move |(slot, input)| {
        let is_turned = view.is_transpose_of_product(hop, input);
        let operand = (open.contains(slot) || is_turned).then_some((Some(slot), input));
        let below = is_turned.then(|| (None, view.untransposed(input)));
        operand.into_iter().chain(below)
    })
}

/// A HOP that falls to one part or another once it is decided whether it is materialised: the problem with it
/// among the outputs, and the problem in which no operator reads it.
pub(crate) struct TargetDecision {
    pub demanded: Problem,
    pub forgone: Problem,
}

/// HOPs that are decided on, each with two outcomes, before the problem must have fallen apart.
const MAX_TARGETS: usize = 3;

/// Decides on the HOP with the most readers of those below which all is decided, if the problem falls apart
/// when it and perhaps a few more like it are decided on.
///
/// Costs of the plans in which it is materialised, whoever reads it, depend on its readers one by one, where
/// setting its points one after the other would try all subsets of them.
pub(crate) fn decide_target(
    costs: &PartitionCosts,
    problem: &Problem,
    is_free: impl Fn(usize) -> bool,
) -> Option<TargetDecision> {
    let local = |hop: &HopId| problem.hops.binary_search(hop).ok();
    let mut readers = vec![0u32; problem.hops.len()];
    for hop in &problem.hops {
        for input in operands(costs, *hop).filter_map(|(_, input)| local(&input)) {
            readers[input] += 1;
        }
    }
    let outputs = outputs(costs, problem);
    let mut is_apart = vec![false; problem.hops.len()];
    for hop in outputs.iter().chain(&problem.forgone).filter_map(local) {
        is_apart[hop] = true;
    }
    let is_decided = decided_below(costs, problem, &is_free, &is_apart);
    let candidates = 0..problem.hops.len();
    let candidates =
        candidates.filter(|hop| readers[*hop] > 1 && !is_apart[*hop] && is_decided[*hop]);
    let mut candidates: Vec<usize> = candidates.collect();
    candidates.sort_by_key(|hop| std::cmp::Reverse(readers[*hop]));
    let target = problem.hops[*candidates.first()?];

    let free = problem
        .points
        .iter()
        .copied()
        .filter(|point| is_free(*point));
    let mut demanded = Problem {
        points: free.collect(),
        ..problem.clone()
    };
    let forgone = demanded.without(costs, target);
    let mut decided = demanded.clone();
    candidates.iter().take(MAX_TARGETS).find(|candidate| {
        decided = decided.without(costs, problem.hops[**candidate]);
        let target = |point: usize| costs.point(point).target;
        let is_left = |point: usize| is_free(point) && !decided.forgone.contains(&target(point));
        components(costs, &decided, is_left).is_some()
    })?;
    demanded.outputs.push(target);
    demanded.outputs.sort_unstable();
    Some(TargetDecision { demanded, forgone })
}

impl Problem {
    /// Its plans in which the target is not materialised.
    fn without(&self, costs: &PartitionCosts, target: HopId) -> Problem {
        let mut forgone = self.clone();
        forgone.forgone.push(target);
        forgone
            .points
            .retain(|point| costs.point(*point).target != target);
        forgone
    }
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
            stack.extend(operands(costs, hop).map(|(_, input)| input));
        }
    }
    reached.sort_unstable();
    reached
}
