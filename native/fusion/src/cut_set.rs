//! Structural pruning (Section 4.4): which points, when all are set, leave independent sub-problems.
//!
//! [`layout`] orders the points of a search space by the cut sets found among them, best score first.
//! [`components`] splits a search space once decisions have been made: no operator reaches from one
//! component into another, and what one reads of another is materialised in every plan.

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
    /// Sorted. Closed under references that are not forbidden.
    pub hops: Vec<HopId>,
    /// Sorted. Materialised in every plan.
    pub outputs: Vec<HopId>,
    /// The decisions to make.
    pub points: Vec<usize>,
}

impl Problem {
    pub fn whole(partition: &Partition) -> Self {
        Problem {
            hops: partition.hops.clone(),
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

/// Whether this point, now set, cut the last reference to its target off.
pub(crate) fn cuts_off(costs: &PartitionCosts, problem: &Problem, point: usize) -> bool {
    let InterestingPoint {
        consumer, target, ..
    } = *costs.point(point);
    let refers = |consumer: &HopId| {
        let index = consumer.index();
        let open = costs.chooser.references[index].minus(costs.chooser.blocked[index]);
        let inputs = &costs.view.hop(*consumer).inputs;
        open.iter().any(|slot| inputs[slot] == target)
            && problem.hops.binary_search(consumer).is_ok()
    };
    !costs.is_transpose_of_product(consumer, target)
        && !costs.view.consumers(target).iter().any(refers)
}

/// The components that the references leave which are not forbidden, if several of them have points that are
/// still free.
pub(crate) fn components(
    costs: &PartitionCosts,
    problem: &Problem,
    is_free: impl Fn(usize) -> bool,
) -> Option<Vec<Problem>> {
    let local = |hop: &HopId| problem.hops.binary_search(hop).ok();
    let mut components = petgraph::unionfind::UnionFind::<u32>::new(problem.hops.len());
    for (index, hop) in problem.hops.iter().enumerate() {
        let inputs = &costs.view.hop(*hop).inputs;
        let blocked = costs.chooser.blocked[hop.index()];
        for slot in costs.chooser.references[hop.index()].iter() {
            let input = inputs[slot];
            let joins = !blocked.contains(slot) || costs.is_transpose_of_product(*hop, input);
            if let Some(input) = local(&input).filter(|_| joins) {
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
                outputs: Vec::new(),
                points: Vec::new(),
            });
        }
        part_of[index] = part_of[first];
        parts[part_of[first]].hops.push(*hop);
    }
    for point in problem.points.iter().filter(|point| is_free(**point)) {
        if let Some(index) = local(&costs.point(*point).consumer) {
            parts[part_of[index]].points.push(*point);
        }
    }
    if parts.iter().filter(|part| !part.points.is_empty()).count() < 2 {
        return None;
    }
    for output in &problem.outputs {
        if let Some(index) = local(output) {
            parts[part_of[index]].outputs.push(*output);
        }
    }
    // What is read across a point is there in every plan.
    for hop in &problem.hops {
        for slot in costs.chooser.blocked[hop.index()].iter() {
            let input = costs.view.hop(*hop).inputs[slot];
            let is_there = !costs.is_transpose_of_product(*hop, input);
            if let Some(index) = local(&input).filter(|_| is_there) {
                parts[part_of[index]].outputs.push(input);
            }
        }
    }
    for part in &mut parts {
        part.outputs.sort_unstable();
        part.outputs.dedup();
    }
    Some(parts)
}
