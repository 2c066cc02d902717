//! Enumeration of plan assignments: MPSkipEnum (Algorithm 2).
//!
//! An assignment is a bit per interesting point, true for materialise. The linearised search space is walked
//! depth first, from negative to positive assignments: a node is an assignment, its children set one more
//! point each, so that skipping an area of the space is not descending into a child. Three things are skipped:
//!
//! - points that no operator of the current plan fuses across: setting one gives the same plan;
//! - children whose lower bound reaches the best costs so far ([`bound`](crate::bound)), or in large partitions
//!   comes within 2 % of them;
//! - the product of sub-problems that become independent once a cut set is set, or once it is decided whether a
//!   HOP with many readers is materialised: each is solved on its own, once ([`cut_set`](crate::cut_set)).

use std::collections::{BTreeMap, HashMap};

use fulgurite_hop::HopId;

use crate::{
    bound::{Child, LowerBound},
    cut_set::{TargetDecision, by_size, components, decide_target, layout, may_split},
    likeness::Likeness,
    plan_cost::PartitionCosts,
    problem::Problem,
    search::Search,
};

/// Finds the cheapest assignment, or one close to it where that takes too long.
pub(crate) fn mp_skip_enum(
    costs: &mut PartitionCosts,
    likeness: Likeness,
    limit: Option<u64>,
) -> Search {
    let whole = Problem::whole(costs.partition);
    let points = whole.points.len();
    let worthwhile = LEAST_WORTHWHILE.max((costs.unfused() * PLANS_PER_SECOND) as u64);
    let budget = match (limit, points > EXACT_POINTS) {
        (Some(limit), true) => limit.min(worthwhile),
        (Some(limit), false) => limit.min(worthwhile.saturating_mul(2)),
        (None, _) => u64::MAX,
    };
    let mut enumeration = Enumeration {
        bound: (points > 0).then(|| LowerBound::new(costs)),
        is_free: vec![true; points],
        rank: vec![0; points],
        solved: HashMap::new(),
        plans_costed: 0,
        sub_problems: 0,
        budget,
        worthwhile: limit.map_or(u64::MAX, |_| worthwhile),
        passed_over: 0.0,
        work_before: costs.table.work(),
        visited: 0,
        costs,
    };
    let parts = components(enumeration.costs, &whole, |_| true);
    let mut fuse_all = 0.0;
    let mut solution = Solution {
        cost: 0.0,
        materialize: Vec::new(),
        exact: true,
    };
    for part in parts.as_deref().unwrap_or(std::slice::from_ref(&whole)) {
        let (part, part_fuse_all) = enumeration.solve(part, 0);
        fuse_all += part_fuse_all;
        solution.cost += part.cost;
        solution.materialize.extend(part.materialize);
        solution.exact &= part.exact;
    }
    let Enumeration {
        rank,
        plans_costed,
        sub_problems,
        passed_over,
        ..
    } = enumeration;
    let mut materialize = vec![false; points];
    for point in &solution.materialize {
        materialize[*point] = true;
    }
    let unfused = costs.unfused();
    let mut ordered = whole.points;
    ordered.sort_unstable_by_key(|point| rank[*point]);
    let listed = ordered.iter();
    Search {
        points: listed.clone().map(|point| *costs.point(*point)).collect(),
        assignment: listed.map(|point| materialize[*point]).collect(),
        order: ordered,
        likeness,
        is_recalled: false,
        cost: solution.cost.min(unfused),
        cost_fuse_all: fuse_all,
        cost_unfused: unfused,
        unfused: unfused < solution.cost,
        plans_costed,
        sub_problems,
        passed_over,
        budget_exhausted: !solution.exact,
    }
}

/// The cheapest plan is found in partitions of this many points, while that is worth its time.
const EXACT_POINTS: usize = 14;
/// In larger ones, what plans could save at most by the bounds and are passed over for, in each sub-problem; the cost
/// model does not tell such plans apart.
const TOLERANCE: f64 = 0.02;
/// In smaller ones, the same once the search has taken longer than is worthwhile.
const TOLERANCE_AFTER_ALL: f64 = 0.05;
/// Plans whose costing is worthwhile for each second that the partition takes unfused: a plan takes some 10 us, so that
/// the search takes a fifth of the time of one iteration.
const PLANS_PER_SECOND: f64 = 2e4;
/// At least.
const LEAST_WORTHWHILE: u64 = 128;
/// With fewer decisions, costing all plans is no more work than climbing.
const CLIMB_FROM: usize = 5;
/// What a plan may cover in operators costed anew before it counts as more than one.
const HOPS_PER_PLAN: u64 = 64;
/// HOPs and points that are looked at, in the time that costing an operator takes for each HOP covered.
const VISITS_PER_HOP: u64 = 4;
/// With fewer decisions, trying them one by one is no more work than deciding on targets.
const MIN_POINTS: usize = 4;
/// Sub-problems of sub-problems, until the search goes on without splitting.
const MAX_DEPTH: usize = 64;

struct Enumeration<'e, 'p, 'a> {
    costs: &'e mut PartitionCosts<'p, 'a>,
    /// None without points.
    bound: Option<LowerBound>,
    /// Per point: no decision has been made. Free points are not set.
    is_free: Vec<bool>,
    /// Per point, its place in the search space.
    rank: Vec<usize>,
    solved: HashMap<Vec<u64>, Solution>,
    plans_costed: u64,
    sub_problems: u64,
    budget: u64,
    /// Plans, until less than the best will do.
    worthwhile: u64,
    /// The largest share of the costs that some plan promised to save at most, and was passed over.
    passed_over: f64,
    work_before: u64,
    /// HOPs and points of the plans costed.
    visited: u64,
}

#[derive(Debug, Clone)]
struct Solution {
    cost: f64,
    /// The points to set.
    materialize: Vec<usize>,
    /// False when the budget ended the search.
    exact: bool,
}

/// A node of the search space. Its point is set while it is on the stack.
struct Node {
    point: usize,
    /// Still to be visited, last first.
    children: Vec<Child>,
}

impl Enumeration<'_, '_, '_> {
    /// The cheapest plan of the problem, and the costs of setting none of its points.
    fn solve(&mut self, problem: &Problem, depth: usize) -> (Solution, f64) {
        let fuse_all = self.cost(problem, f64::INFINITY);
        let mut best = Solution {
            cost: fuse_all,
            materialize: Vec::new(),
            exact: true,
        };
        let mut open = self.open_children(problem, by_size, best.cost);
        if open > 1 {
            if self.decide(problem, depth, &mut best) {
                return (best, fuse_all);
            }
            open = self.open_children(problem, layout, best.cost);
        }
        if open > 1 {
            self.improve(problem, open, &mut best);
            self.costs.cost(problem, f64::INFINITY);
        }
        let mut stack: Vec<Node> = Vec::new();
        let mut pending = match open {
            0 => Vec::new(),
            _ => self.children(problem),
        };
        loop {
            let siblings = stack
                .last_mut()
                .map_or(&mut pending, |node| &mut node.children);
            let Some(child) = siblings.pop() else {
                let Some(node) = stack.pop() else { break };
                self.costs.set(node.point, false);
                self.is_free[node.point] = true;
                continue;
            };
            let is_spent = self.is_spent();
            let is_worse = self.is_worse(child.bound, best.cost);
            if is_spent || is_worse {
                best.exact &= is_worse;
                self.is_free[child.point] = true;
                continue;
            }
            self.costs.set(child.point, true);
            let mut node = Node {
                point: child.point,
                children: Vec::new(),
            };
            match self.split(problem, child.point, depth) {
                Some(parts) => {
                    if let Some(parts) = self.solve_parts(&parts, depth, &mut best) {
                        self.combine(problem, &stack, Some(child.point), parts, &mut best);
                    }
                }
                None => {
                    let cost = self.cost(problem, f64::INFINITY);
                    if cost < best.cost {
                        best.cost = cost;
                        best.materialize = path(&stack, Some(child.point));
                    }
                    node.children = self.children(problem);
                }
            }
            stack.push(node);
        }
        (best, fuse_all)
    }

    /// How many children of the plan that sets nothing are worth a visit, with the points in this order.
    fn open_children(
        &mut self,
        problem: &Problem,
        order: fn(&PartitionCosts, &Problem) -> Vec<usize>,
        best: f64,
    ) -> usize {
        for (rank, point) in order(self.costs, problem).into_iter().enumerate() {
            self.rank[point] = rank;
        }
        let children = self.bounded_children(problem);
        let mut open = 0;
        for child in &children {
            open += usize::from(!self.is_worse(child.bound, best));
        }
        open
    }

    /// Searches the problem by deciding on one HOP with several readers, if that leaves independent parts.
    fn decide(&mut self, problem: &Problem, depth: usize, best: &mut Solution) -> bool {
        if depth >= MAX_DEPTH || problem.points.len() < MIN_POINTS {
            return false;
        }
        let is_free = |point: usize| self.is_free[point];
        let Some(TargetDecision { demanded, forgone }) =
            decide_target(self.costs, problem, is_free)
        else {
            return false;
        };
        let decided = demanded.points.iter().copied();
        let decided: Vec<usize> = decided
            .filter(|point| !forgone.points.contains(point))
            .collect();
        let with_target = self.split_into(&demanded);
        let without_target = self.with_decided(&decided, |search| search.split_into(&forgone));
        let parts = with_target.unwrap_or_else(|| vec![demanded]);
        if let Some(parts) = self.solve_parts(&parts, depth, best) {
            self.combine(problem, &[], None, parts, best);
        }
        let parts = without_target.unwrap_or_else(|| vec![forgone]);
        let parts = self.with_decided(&decided, |search| search.solve_parts(&parts, depth, best));
        if let Some(parts) = parts {
            self.combine(problem, &[], None, parts, best);
        }
        true
    }

    fn split_into(&self, problem: &Problem) -> Option<Vec<Problem>> {
        components(self.costs, problem, |point| self.is_free[point])
    }

    /// Goes on while these points are not free.
    fn with_decided<T>(&mut self, points: &[usize], go_on: impl FnOnce(&mut Self) -> T) -> T {
        points.iter().for_each(|point| self.is_free[*point] = false);
        let result = go_on(self);
        points.iter().for_each(|point| self.is_free[*point] = true);
        result
    }

    /// The children of the node that was costed last; their points are no longer free.
    fn children(&mut self, problem: &Problem) -> Vec<Child> {
        let children = self.bounded_children(problem);
        for child in &children {
            self.is_free[child.point] = false;
        }
        children
    }

    fn bounded_children(&mut self, problem: &Problem) -> Vec<Child> {
        let is_free = |point: usize| self.is_free[point];
        match &mut self.bound {
            Some(bound) => bound.children(self.costs, problem, is_free, &self.rank),
            None => Vec::new(),
        }
    }

    /// Plans of at least these costs are not worth a visit.
    fn is_worse(&mut self, bound: f64, best: f64) -> bool {
        let tolerance = match self.is_free.len() > EXACT_POINTS {
            true => TOLERANCE,
            false if self.effort() > self.worthwhile => TOLERANCE_AFTER_ALL,
            false => 0.0,
        };
        let is_worse = bound >= best * (1.0 - tolerance);
        if is_worse && bound < best {
            self.passed_over = self.passed_over.max(1.0 - bound / best);
        }
        is_worse
    }

    /// Plans of many large operators count more than once, so that the budget bounds the time.
    fn effort(&self) -> u64 {
        let covered = self.costs.table.work() - self.work_before;
        let work = covered + self.visited / VISITS_PER_HOP;
        self.plans_costed.max(work / HOPS_PER_PLAN)
    }

    fn is_spent(&self) -> bool {
        self.effort() >= self.budget
    }

    fn cost(&mut self, problem: &Problem, bound: f64) -> f64 {
        self.plans_costed += 1;
        self.visited += (problem.hops.len() + problem.points.len()) as u64;
        self.costs.cost(problem, bound)
    }

    /// Fuse-no-redundancy is often close to the best, and for many points one decision after the other is
    /// improved: a tight upper bound from the start, and a good plan where the budget ends the search.
    fn improve(&mut self, problem: &Problem, open: usize, best: &mut Solution) {
        let mut plan = vec![false; self.is_free.len()];
        for point in &problem.points {
            plan[*point] = true;
            self.costs.set(*point, true);
        }
        let mut set = true;
        let cost = self.cost(problem, best.cost);
        if cost < best.cost {
            best.cost = cost;
            best.materialize = problem.points.clone();
        }
        if open >= CLIMB_FROM {
            let mut improved = true;
            if best.materialize.is_empty() {
                set = false;
            }
            for point in &problem.points {
                plan[*point] = set;
                self.costs.set(*point, set);
            }
            let moves = self.moves(problem);
            while std::mem::take(&mut improved) {
                for (points, to) in &moves {
                    let changed = points.iter().copied();
                    let changed =
                        changed.filter(|point| plan[*point] != to.unwrap_or(!plan[*point]));
                    let changed: Vec<usize> = changed.collect();
                    if changed.is_empty() {
                        continue;
                    }
                    if self.is_spent() {
                        break;
                    }
                    let mut flip = |search: &mut Self| {
                        for point in &changed {
                            plan[*point] = !plan[*point];
                            search.costs.set(*point, plan[*point]);
                        }
                    };
                    flip(self);
                    let cost = self.cost(problem, best.cost);
                    if cost < best.cost {
                        best.cost = cost;
                        improved = true;
                    } else {
                        flip(self);
                    }
                }
            }
            let points = problem.points.iter().copied();
            best.materialize = points.filter(|point| plan[*point]).collect();
        }
        for point in &problem.points {
            self.costs.set(*point, false);
        }
    }

    /// What climbing tries: each decision the other way, and each target materialised for all readers, or for none.
    fn moves(&self, problem: &Problem) -> Vec<(Vec<usize>, Option<bool>)> {
        let mut of_target: BTreeMap<HopId, Vec<usize>> = BTreeMap::new();
        for point in &problem.points {
            let target = self.costs.point(*point).target;
            of_target.entry(target).or_default().push(*point);
        }
        let single = problem.points.iter().map(|point| (vec![*point], None));
        let shared = of_target.into_values().filter(|points| points.len() > 1);
        let together = shared.flat_map(|points| {
            [true, false].map(|materialize| (points.clone(), Some(materialize)))
        });
        single.chain(together).collect()
    }

    /// Independent sub-problems, now that this point is set.
    fn split(&self, problem: &Problem, point: usize, depth: usize) -> Option<Vec<Problem>> {
        if depth >= MAX_DEPTH || !may_split(self.costs, problem, point) {
            return None;
        }
        self.split_into(problem)
    }

    /// What to set in each part; `None` when that can't be cheaper than the best.
    fn solve_parts(
        &mut self,
        parts: &[Problem],
        depth: usize,
        best: &mut Solution,
    ) -> Option<Vec<usize>> {
        let mut total = 0.0;
        let mut materialize = Vec::new();
        for part in parts {
            let key = self.key(part);
            let solution = match self.solved.get(&key) {
                Some(solution) => solution.clone(),
                None => {
                    let ranks: Vec<usize> = part.points.iter().map(|p| self.rank[*p]).collect();
                    self.sub_problems += 1;
                    let (solution, _) = self.solve(part, depth + 1);
                    for (point, rank) in part.points.iter().zip(ranks) {
                        self.rank[*point] = rank;
                    }
                    if solution.exact {
                        self.solved.insert(key, solution.clone());
                    }
                    solution
                }
            };
            best.exact &= solution.exact;
            total += solution.cost;
            materialize.extend(solution.materialize);
            if total >= best.cost {
                return None;
            }
        }
        Some(materialize)
    }

    /// Costs the plan that the solutions of the parts give together.
    fn combine(
        &mut self,
        problem: &Problem,
        stack: &[Node],
        point: Option<usize>,
        parts: Vec<usize>,
        best: &mut Solution,
    ) {
        for point in &parts {
            self.costs.set(*point, true);
        }
        let cost = self.cost(problem, best.cost);
        for point in &parts {
            self.costs.set(*point, false);
        }
        if cost < best.cost {
            best.cost = cost;
            best.materialize = path(stack, point);
            best.materialize.extend(parts);
        }
    }

    /// What a part's solution depends on: its HOPs, which of them are outputs, its free points and its
    /// decisions.
    fn key(&self, part: &Problem) -> Vec<u64> {
        let hops = self.costs.partition.hops.len();
        let points = self.is_free.len();
        let mut bits = vec![0u64; (2 * hops + 2 * points).div_ceil(64)];
        let mut insert = |bit: usize| bits[bit / 64] |= 1 << (bit % 64);
        let place = |hop: &_| self.costs.table.place(*hop) as usize;
        part.hops.iter().for_each(|hop| insert(place(hop)));
        part.outputs
            .iter()
            .for_each(|hop| insert(hops + place(hop)));
        part.points
            .iter()
            .for_each(|point| insert(2 * hops + point));
        for (number, point) in self.costs.partition.points.iter().enumerate() {
            let is_set = self.costs.is_set(number);
            if is_set && part.reach.binary_search(&point.consumer).is_ok() {
                insert(2 * hops + points + number);
            }
        }
        bits
    }
}

/// The points that are set on the way to this one.
fn path(stack: &[Node], point: Option<usize>) -> Vec<usize> {
    let above = stack.iter().map(|node| node.point);
    above.chain(point).collect()
}
