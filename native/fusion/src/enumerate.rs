//! Enumeration of plan assignments: MPSkipEnum (Algorithm 2).
//!
//! An assignment is a bit per interesting point, true for materialise. The search goes through all of them
//! in binary order (first point most significant), so that all plans that only materialise more than the
//! current one follow it directly, and can be skipped together when a lower bound of their costs exceeds
//! the best costs so far.

use fulgurite_hop::HopId;
use serde::Serialize;

use crate::{
    bound::LowerBound,
    cost::CostModel,
    memo::Slots,
    operator::Chooser,
    partition::{InterestingPoint, Partition},
    view::DagView,
};

/// The outcome of the search in one partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Search {
    /// Points in the order of the search space, and the chosen assignment. (They serialise as decisions.)
    #[serde(skip)]
    pub points: Vec<InterestingPoint>,
    #[serde(skip)]
    pub assignment: Vec<bool>,
    /// Seconds of the chosen assignment, of fusing all and of fusing nothing.
    pub cost: f64,
    pub cost_fuse_all: f64,
    pub cost_unfused: f64,
    /// No assignment is cheaper than basic operators throughout.
    pub unfused: bool,
    pub plans_costed: u64,
    /// The budget ended the search; the assignment is the best one seen.
    pub budget_exhausted: bool,
}

/// Costs assignments of one partition.
pub(crate) struct PartitionCosts<'p, 'a> {
    view: &'a DagView<'a>,
    costs: &'p CostModel<'a>,
    chooser: &'p mut Chooser<'a>,
    partition: &'p Partition,
    table: &'p mut CostTable,
}

/// Per HOP of the DAG, the costs of the operator that gives it.
pub(crate) struct CostTable {
    rows: Vec<CostRow>,
    plan: u32,
}

#[derive(Clone, Default)]
struct CostRow {
    /// The last plan that needed the HOP materialised.
    demanded_by: u32,
    /// The assignment that the costs were computed under.
    assignment: u32,
    seconds: f64,
    /// What the operator reads.
    reads: Vec<HopId>,
}

impl CostTable {
    pub fn new(hops: usize) -> Self {
        CostTable {
            rows: vec![CostRow::default(); hops],
            plan: 0,
        }
    }
}

impl<'p, 'a> PartitionCosts<'p, 'a> {
    pub fn new(
        view: &'a DagView<'a>,
        costs: &'p CostModel<'a>,
        chooser: &'p mut Chooser<'a>,
        partition: &'p Partition,
        table: &'p mut CostTable,
    ) -> Self {
        PartitionCosts {
            view,
            costs,
            chooser,
            partition,
            table,
        }
    }

    /// Forbids all references.
    pub fn assign_none(&mut self) {
        for hop in &self.partition.hops {
            self.chooser.blocked[hop.index()] = Slots::ALL;
        }
        self.chooser.prepare(&self.partition.hops);
    }

    /// Forbids references across the points that are set.
    pub fn assign(&mut self, points: &[InterestingPoint], assignment: &[bool]) {
        for hop in &self.partition.hops {
            self.chooser.blocked[hop.index()] = Slots::NONE;
        }
        for (point, _) in points.iter().zip(assignment).filter(|(_, set)| **set) {
            let inputs = &self.view.hop(point.consumer).inputs;
            let blocked = &mut self.chooser.blocked[point.consumer.index()];
            for slot in (0..inputs.len()).filter(|slot| inputs[*slot] == point.target) {
                *blocked = blocked.with(slot);
            }
        }
        self.chooser.prepare(&self.partition.hops);
    }

    /// Seconds of the plan that an assignment gives (getPlanCost), or infinity once they exceed the bound.
    ///
    /// Consumers come before producers, so every HOP that must be materialised is known when it is reached
    /// and counts once; what operators compute twice counts in each.
    pub fn plan(&mut self, points: &[InterestingPoint], assignment: &[bool], bound: f64) -> f64 {
        self.assign(points, assignment);
        self.table.plan += 1;
        let plan = self.table.plan;
        for hop in &self.partition.outputs {
            self.table.rows[hop.index()].demanded_by = plan;
        }
        let mut total = 0.0;
        for hop in self.partition.hops.iter().rev() {
            let mut row = std::mem::take(&mut self.table.rows[hop.index()]);
            if row.demanded_by == plan {
                self.update(*hop, &mut row);
                total += row.seconds;
                for input in &row.reads {
                    self.table.rows[input.index()].demanded_by = plan;
                }
            }
            self.table.rows[hop.index()] = row;
            if total > bound {
                return f64::INFINITY;
            }
        }
        total
    }

    /// Costs the operator that gives this HOP, unless no decision that it depends on has changed. Successive
    /// assignments differ in few points, so most operators stay.
    fn update(&mut self, hop: HopId, row: &mut CostRow) {
        if row.assignment >= self.chooser.changed(hop) {
            return;
        }
        row.assignment = self.chooser.assignment();
        row.reads.clear();
        let costs = self.costs;
        match self
            .chooser
            .operator(hop, |operator| costs.check(operator).is_ok())
        {
            Some(operator) => {
                row.seconds = costs.fused(operator);
                row.reads
                    .extend(operator.inputs.iter().map(|(input, _)| *input));
            }
            None => {
                row.seconds = costs.basic(hop);
                row.reads.extend(&self.view.hop(hop).inputs);
            }
        }
    }

    /// Seconds without any fusion.
    pub fn unfused(&self) -> f64 {
        self.partition
            .hops
            .iter()
            .map(|hop| self.costs.basic(*hop))
            .sum()
    }
}

/// Finds the cheapest assignment.
pub(crate) fn mp_skip_enum(costs: &mut PartitionCosts, budget: u64) -> Search {
    let partition = costs.partition;
    let mut points = partition.points.clone();
    // Decisions on large intermediates first: they prune most.
    let bytes = |point: &InterestingPoint| costs.costs.bytes(point.target);
    points.sort_by(|a, b| bytes(b).total_cmp(&bytes(a)));
    let bound = LowerBound::new(
        costs.view,
        costs.costs,
        costs.chooser.memo,
        partition,
        costs.chooser.references,
        &points,
    );
    let mut seen = bound.targets_seen();

    let mut assignment = vec![false; points.len()];
    let fuse_all = costs.plan(&points, &assignment, f64::INFINITY);
    let mut search = Search {
        assignment: assignment.clone(),
        cost: fuse_all,
        cost_fuse_all: fuse_all,
        cost_unfused: costs.unfused(),
        unfused: false,
        plans_costed: 1,
        budget_exhausted: false,
        points: Vec::new(),
    };
    // Fuse-no-redundancy, the last assignment, is often close to the best and tightens the bound early.
    if !points.is_empty() {
        assignment.fill(true);
        search.try_plan(costs, &points, &assignment);
        assignment.fill(false);
    }
    if points.len() >= CLIMB_FROM_POINTS {
        search.climb(costs, &points, budget);
    }
    let last = points.len().wrapping_sub(1);
    let mut more = advance(&mut assignment, last);
    // The last assignment was costed as the second.
    while more && assignment.contains(&false) {
        // The assignment and those that set the same points and some after the last one set.
        let last_set = assignment.iter().rposition(|set| *set).unwrap_or(last);
        if bound.of(&assignment, &mut seen) >= search.cost {
            more = advance(&mut assignment, last_set);
            continue;
        }
        if search.plans_costed >= budget {
            search.budget_exhausted = true;
            break;
        }
        search.try_plan(costs, &points, &assignment);
        more = advance(&mut assignment, last);
    }
    search.unfused = search.cost_unfused < search.cost;
    search.cost = search.cost.min(search.cost_unfused);
    search.points = points;
    search
}

/// With fewer points, costing all plans is no more work than climbing.
const CLIMB_FROM_POINTS: usize = 6;

impl Search {
    /// Improves the best plan one decision at a time, for a tight upper bound from the start (and a good
    /// plan where the budget ends the search).
    fn climb(&mut self, costs: &mut PartitionCosts, points: &[InterestingPoint], budget: u64) {
        let mut improved = true;
        while std::mem::take(&mut improved) {
            for point in 0..points.len() {
                if self.plans_costed >= budget {
                    return;
                }
                let mut neighbour = self.assignment.clone();
                neighbour[point] = !neighbour[point];
                let before = self.cost;
                self.try_plan(costs, points, &neighbour);
                improved |= self.cost < before;
            }
        }
    }

    fn try_plan(&mut self, costs: &mut PartitionCosts, points: &[InterestingPoint], plan: &[bool]) {
        let cost = costs.plan(points, plan, self.cost);
        self.plans_costed += 1;
        if cost < self.cost {
            self.cost = cost;
            self.assignment.copy_from_slice(plan);
        }
    }
}

/// Adds one at this place, clearing all that come after: skips the plans in between. False at the end.
fn advance(assignment: &mut [bool], place: usize) -> bool {
    if place >= assignment.len() {
        return false;
    }
    assignment[place + 1..].fill(false);
    for bit in assignment[..=place].iter_mut().rev() {
        *bit = !*bit;
        if *bit {
            return true;
        }
    }
    false
}
