//! Costs of whole plans: the sum over the operators that an assignment gives (getPlanCost in Algorithm 2).
//!
//! An operator depends on few decisions. So its costs are kept with what it covers and reads, and computed
//! again only after one of those decisions changed.

use fulgurite_hop::HopId;

use crate::{
    cost::CostModel,
    memo::{MAX_REFERENCED_INPUTS, Slots},
    operator::Chooser,
    partition::{InterestingPoint, Partition},
    problem::Problem,
    view::DagView,
};

/// A place that is not in the partition, an edge that is no point.
pub(crate) const NONE: u32 = u32::MAX;

/// Costs assignments of one partition. Points are numbered as the partition lists them.
pub(crate) struct PartitionCosts<'p, 'a> {
    pub view: &'a DagView<'a>,
    pub model: &'p CostModel<'a>,
    pub chooser: &'p mut Chooser<'a>,
    pub partition: &'p Partition,
    pub table: &'p mut CostTable,
    /// Per point, the consumer's slots that take the target.
    slots: Vec<Slots>,
}

/// Per HOP of the DAG, what is known of the operator that gives it. Serves one partition after the other.
pub(crate) struct CostTable {
    rows: Vec<CostRow>,
    plan: u32,
    /// Per HOP its place in the partition: among the HOPs inside, then among what is read from outside.
    place: Vec<u32>,
    placed: Vec<HopId>,
    /// Per HOP and slot, the point on that edge.
    point: Vec<[u32; MAX_REFERENCED_INPUTS]>,
    /// Of the plan costed last, consumers first.
    operators: Vec<HopId>,
    /// HOPs that costed operators covered, all together.
    work: u64,
}

#[derive(Clone, Default)]
pub(crate) struct CostRow {
    /// The last plan that needed the HOP materialised.
    demanded_by: u32,
    /// The assignment that the rest was computed under.
    assignment: u32,
    pub seconds: f64,
    pub reads: Vec<HopId>,
    pub covers: Vec<HopId>,
    /// Points that the operator, or a candidate that lost to it, fuses across. While these stay as they are,
    /// materialising at other points leaves the operator as it is.
    pub fuses_across: Vec<u32>,
}

impl CostTable {
    pub fn new(hops: usize) -> Self {
        CostTable {
            rows: vec![CostRow::default(); hops],
            plan: 0,
            place: vec![NONE; hops],
            placed: Vec::new(),
            point: vec![[NONE; MAX_REFERENCED_INPUTS]; hops],
            operators: Vec::new(),
            work: 0,
        }
    }

    /// The operator that gives this HOP in the plan costed last.
    pub fn row(&self, hop: HopId) -> &CostRow {
        &self.rows[hop.index()]
    }

    /// The outputs of the operators of the plan costed last, consumers first.
    pub fn operators(&self) -> &[HopId] {
        &self.operators
    }

    /// The HOP's place among those of the partition and then what is read from outside, or [`NONE`].
    pub fn place(&self, hop: HopId) -> u32 {
        self.place[hop.index()]
    }

    /// HOPs that costed operators covered so far: what costing took.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// The point on the edge from the HOP to its operand in this slot.
    pub fn point(&self, hop: HopId, slot: usize) -> Option<usize> {
        let point = self.point[hop.index()].get(slot).copied()?;
        (point != NONE).then_some(point as usize)
    }

    /// What has a place, in this order.
    pub fn placed(&self) -> &[HopId] {
        &self.placed
    }

    fn enter(&mut self, view: &DagView, partition: &Partition) {
        for hop in self.placed.drain(..) {
            self.place[hop.index()] = NONE;
            self.point[hop.index()] = [NONE; MAX_REFERENCED_INPUTS];
        }
        let below = partition.inputs.iter().map(|hop| view.untransposed(*hop));
        let outside = partition.inputs.iter().copied().chain(below);
        for hop in partition.hops.iter().copied().chain(outside) {
            if self.place[hop.index()] == NONE {
                self.place[hop.index()] = self.placed.len() as u32;
                self.placed.push(hop);
            }
        }
    }
}

impl<'p, 'a> PartitionCosts<'p, 'a> {
    /// With no point set.
    pub fn new(
        view: &'a DagView<'a>,
        model: &'p CostModel<'a>,
        chooser: &'p mut Chooser<'a>,
        partition: &'p Partition,
        table: &'p mut CostTable,
    ) -> Self {
        table.enter(view, partition);
        for hop in &partition.hops {
            chooser.blocked[hop.index()] = Slots::NONE;
        }
        let points = partition.points.iter().enumerate();
        let slots = points.map(|(number, point)| {
            let inputs = &view.hop(point.consumer).inputs;
            let takes = |slot: &usize| inputs[*slot] == point.target;
            let slots = (0..inputs.len().min(MAX_REFERENCED_INPUTS)).filter(takes);
            let slots = slots.fold(Slots::NONE, Slots::with);
            for slot in slots.iter() {
                table.point[point.consumer.index()][slot] = number as u32;
            }
            slots
        });
        let slots = slots.collect();
        PartitionCosts {
            view,
            model,
            chooser,
            partition,
            table,
            slots,
        }
    }

    /// Allows (false) or forbids (true: materialise) references across a point.
    pub fn set(&mut self, point: usize, materialize: bool) {
        let consumer = self.partition.points[point].consumer;
        let blocked = &mut self.chooser.blocked[consumer.index()];
        *blocked = match materialize {
            true => blocked.union(self.slots[point]),
            false => blocked.minus(self.slots[point]),
        };
    }

    pub fn is_set(&self, point: usize) -> bool {
        let consumer = self.partition.points[point].consumer;
        !self.chooser.blocked[consumer.index()].is_disjoint(self.slots[point])
    }

    /// Sets every point of the partition, and has the chooser follow.
    pub fn assign(&mut self, points: &[InterestingPoint], assignment: &[bool]) {
        self.set_all(points, assignment);
        self.chooser.prepare(&self.partition.hops);
    }

    fn set_all(&mut self, points: &[InterestingPoint], assignment: &[bool]) {
        for hop in &self.partition.hops {
            self.chooser.blocked[hop.index()] = Slots::NONE;
        }
        for (point, _) in points.iter().zip(assignment).filter(|(_, set)| **set) {
            let inputs = &self.view.hop(point.consumer).inputs;
            let takes = |slot: &usize| inputs[*slot] == point.target;
            let blocked = &mut self.chooser.blocked[point.consumer.index()];
            let slots = 0..inputs.len().min(MAX_REFERENCED_INPUTS);
            *blocked = slots.filter(takes).fold(*blocked, Slots::with);
        }
    }

    /// Forbids all references.
    pub fn assign_none(&mut self) {
        for hop in &self.partition.hops {
            self.chooser.blocked[hop.index()] = Slots::ALL;
        }
        self.chooser.prepare(&self.partition.hops);
    }

    /// Seconds of the plan that an assignment gives, or infinity once they exceed the bound.
    pub fn plan(&mut self, points: &[InterestingPoint], assignment: &[bool], bound: f64) -> f64 {
        self.set_all(points, assignment);
        self.cost(&Problem::whole(self.partition), bound)
    }

    /// Seconds of the operators that give the problem's outputs, and all of its HOPs that these read, or infinity
    /// once they exceed the bound.
    ///
    /// Consumers come before producers, so every HOP that must be materialised is known when it is reached
    /// and counts once; what operators compute twice counts in each.
    pub fn cost(&mut self, problem: &Problem, bound: f64) -> f64 {
        let Problem { hops, outputs, .. } = problem;
        self.chooser.prepare(&problem.reach);
        self.table.plan += 1;
        let plan = self.table.plan;
        self.table.operators.clear();
        for hop in outputs {
            self.table.rows[hop.index()].demanded_by = plan;
        }
        let mut total = 0.0;
        for hop in hops.iter().rev() {
            if self.table.rows[hop.index()].demanded_by != plan {
                continue;
            }
            let mut row = std::mem::take(&mut self.table.rows[hop.index()]);
            self.update(*hop, &mut row);
            total += row.seconds;
            for input in &row.reads {
                self.table.rows[input.index()].demanded_by = plan;
            }
            self.table.rows[hop.index()] = row;
            self.table.operators.push(*hop);
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
        row.covers.clear();
        row.fuses_across.clear();
        let model = self.model;
        match self
            .chooser
            .operator(hop, |operator| model.check(operator).is_ok())
        {
            Some(operator) => {
                row.seconds = model.fused(operator);
                let inputs = operator.inputs.iter();
                row.reads.extend(inputs.map(|(input, _)| *input));
                let covered = operator.covered.iter();
                row.covers.extend(covered.map(|(covered, _)| *covered));
            }
            None => {
                row.seconds = model.basic(hop);
                row.reads.extend(&self.view.hop(hop).inputs);
                row.covers.push(hop);
            }
        }
        for (covered, references) in self.chooser.judged().flat_map(|operator| &operator.covered) {
            self.table.work += 1;
            let points = self.table.point[covered.index()];
            let points = references.iter().map(|slot| points[slot]);
            row.fuses_across
                .extend(points.filter(|point| *point != NONE));
        }
        row.fuses_across.sort_unstable();
        row.fuses_across.dedup();
    }

    /// Seconds without any fusion.
    pub fn unfused(&self) -> f64 {
        let hops = self.partition.hops.iter();
        hops.map(|hop| self.model.basic(*hop)).sum()
    }

    pub fn point(&self, number: usize) -> &InterestingPoint {
        &self.partition.points[number]
    }
}
