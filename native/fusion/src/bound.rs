//! Lower bounds on the costs of plans that were not costed yet (lines 11 to 15 of Algorithm 2).
//!
//! The search is exact only if no bound exceeds the costs of a plan it stands for. An operator counts with its
//! full costs where no decision that is still free can change it; of all others, what they write, read at the
//! fastest speed and compute, with read and compute time overlapping as a whole. What they compute counts once,
//! and once more for each further operator that is certain to need it, unless writing it is cheaper.

use fulgurite_hop::HopId;

use crate::{
    cost::least_share,
    memo::MemoTable,
    partition::InterestingPoint,
    plan_cost::{NONE, PartitionCosts},
    problem::Problem,
};

/// What each HOP of a partition adds to the costs of any plan. Places are those of the partition's HOPs, then
/// of its inputs.
pub(crate) struct LowerBound {
    write: Vec<f64>,
    read: Vec<f64>,
    compute: Vec<f64>,
    /// Of a HOP that several operators need in every plan, the lesser of writing it and computing it again.
    again: Vec<f64>,
    /// Per HOP, what it takes as operands; those of HOP i are `operands[starts[i]..starts[i + 1]]`.
    operands: Vec<Operand>,
    starts: Vec<usize>,
    scratch: Scratch,
}

#[derive(Clone, Copy)]
struct Operand {
    place: usize,
    slot: usize,
    /// Some entry references it; otherwise every operator over the HOP reads it.
    referenced: bool,
}

/// A free point that operators of the plan fuse across, and the least that plans cost in which it is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Child {
    pub point: usize,
    pub bound: f64,
}

impl LowerBound {
    pub fn new(costs: &PartitionCosts) -> Self {
        let PartitionCosts {
            view,
            model,
            partition,
            ..
        } = costs;
        let references = costs.chooser.references;
        let share = sparsest(costs.chooser.memo, costs);
        let hops = partition.hops.iter();
        let placed = costs.table.placed().iter();
        let mut read: Vec<f64> = placed.map(|hop| model.least_read(*hop)).collect();
        let mut operands: Vec<Operand> = Vec::new();
        let mut starts = vec![0];
        for hop in hops.clone() {
            let reads = match model.may_read_nothing(*hop) {
                true => &[],
                false => &view.hop(*hop).inputs[..],
            };
            for (slot, operand) in reads.iter().enumerate() {
                // Fused operators may read a transpose or what it transposes: that counts as one.
                let place = costs.table.place(view.untransposed(*operand));
                if place != NONE {
                    let place = place as usize;
                    read[place] = read[place].min(model.least_read(*operand));
                    operands.push(Operand {
                        place,
                        slot,
                        referenced: references[hop.index()].contains(slot),
                    });
                }
            }
            starts.push(operands.len());
        }
        let write: Vec<f64> = hops
            .clone()
            .map(|hop| model.least_materialize(*hop))
            .collect();
        let compute: Vec<f64> = hops.map(|hop| model.least_compute(*hop, share)).collect();
        let further = further_operators(costs);
        let again = further.iter().zip(&compute).zip(&write);
        LowerBound {
            again: again
                .map(|((times, compute), write)| write.min(times * compute))
                .collect(),
            write,
            compute,
            scratch: Scratch::new(read.len()),
            read,
            operands,
            starts,
        }
    }

    /// The free points that operators of the plan costed last fuse across, in the order of `rank`, each with a
    /// bound on the plans in which it is set, and those before it are not.
    pub fn children(
        &mut self,
        costs: &PartitionCosts,
        problem: &Problem,
        is_free: impl Fn(usize) -> bool,
        rank: &[usize],
    ) -> Vec<Child> {
        let table = &costs.table;
        let used = table.operators().iter();
        let used = used.flat_map(|hop| &table.row(*hop).fuses_across);
        let used = used
            .map(|point| *point as usize)
            .filter(|point| is_free(*point));
        let mut children: Vec<usize> = used.collect();
        children.sort_unstable_by_key(|point| rank[*point]);
        children.dedup();
        if children.is_empty() {
            return Vec::new();
        }
        // Operators by the first child that finds them final: all points they fuse across come before.
        let mut finals: Vec<(usize, HopId)> = Vec::with_capacity(table.operators().len());
        for hop in table.operators() {
            let points = table.row(*hop).fuses_across.iter();
            let points = points.map(|point| *point as usize);
            let last = points
                .filter(|point| is_free(*point))
                .map(|point| rank[point])
                .max();
            let from = match last {
                None => 0,
                Some(last) => 1 + children.partition_point(|child| rank[*child] < last),
            };
            finals.push((from, *hop));
        }
        finals.sort_unstable();

        let mut floor = Floor::new(self, costs, problem);
        let mut finals = finals.into_iter().peekable();
        let mut bounded = Vec::with_capacity(children.len());
        for (index, point) in children.into_iter().enumerate() {
            while let Some((_, hop)) = finals.next_if(|(from, _)| *from <= index) {
                floor.finalize(hop);
            }
            bounded.push(Child {
                point,
                bound: floor.with(point),
            });
        }
        bounded
    }
}

/// Per HOP, operators beyond the first that need it in every plan: readers from which all ways lead to one output
/// of the partition are part of an operator on that way, which is another one for another output.
fn further_operators(costs: &PartitionCosts) -> Vec<f64> {
    let partition = costs.partition;
    let mut leads_to: Vec<Option<HopId>> = vec![None; partition.hops.len()];
    let mut further = vec![0.0; partition.hops.len()];
    for (index, hop) in partition.hops.iter().enumerate().rev() {
        let leads_to_outputs = references_to(costs, *hop).map(|reader| {
            let place = costs.table.place(reader) as usize;
            leads_to.get(place).copied().flatten()
        });
        let mut outputs: Vec<Option<HopId>> = leads_to_outputs.collect();
        outputs.sort_unstable();
        outputs.dedup();
        leads_to[index] = match outputs[..] {
            _ if partition.outputs.binary_search(hop).is_ok() => Some(*hop),
            [output] => output,
            _ => None,
        };
        let certain = outputs.iter().flatten().count();
        further[index] = certain.saturating_sub(1) as f64;
    }
    further
}

/// The readers of a HOP that operators may go on from into it.
fn references_to<'c>(
    costs: &'c PartitionCosts<'_, '_>,
    hop: HopId,
) -> impl Iterator<Item = HopId> + 'c {
    let readers = costs.view.consumers(hop).iter().copied();
    readers.filter(move |reader| {
        let inputs = &costs.view.hop(*reader).inputs;
        let mut slots = costs.chooser.references[reader.index()].iter();
        slots.any(|slot| inputs[slot] == hop)
    })
}

/// The smallest share of cells that an operator of this partition can get away with.
fn sparsest(memo: &MemoTable, costs: &PartitionCosts) -> f64 {
    let partition = costs.partition;
    let mut entries = partition.hops.iter().flat_map(|hop| memo.group(*hop));
    match entries.any(|entry| entry.template.can_skip_zeros()) {
        true => least_share(
            costs.view,
            partition.inputs.iter().chain(&partition.hops).copied(),
        ),
        false => 1.0,
    }
}

/// Marks per place, valid when they hold the current epoch.
struct Scratch {
    epoch: u32,
    /// In the problem.
    inside: Vec<u32>,
    /// The outputs of the problem need it. What only other parts compute, they do not need.
    wanted: Vec<u32>,
    /// Materialised in every plan that the bound stands for.
    sure: Vec<u32>,
    /// No free decision changes its operator.
    fixed: Vec<u32>,
    /// Computed by an operator that is settled.
    computed: Vec<u32>,
    /// Computing it again is no longer in the sum.
    settled: Vec<u32>,
    /// Some operator reads it in every plan.
    needed: Vec<u32>,
    /// How many reads of it are in the sums.
    readers: Vec<i32>,
    /// Which HOP was the last one to list it as an operand.
    listed: Vec<u32>,
    list: u32,
}

impl Scratch {
    fn new(places: usize) -> Self {
        let marks = || vec![0; places];
        Scratch {
            epoch: 0,
            inside: marks(),
            wanted: marks(),
            sure: marks(),
            fixed: marks(),
            computed: marks(),
            settled: marks(),
            needed: marks(),
            readers: vec![0; places],
            listed: marks(),
            list: 0,
        }
    }
}

/// The bound while more and more operators become final.
struct Floor<'b, 'p, 'a> {
    bound: &'b mut LowerBound,
    costs: &'b PartitionCosts<'p, 'a>,
    /// Full costs of operators that are final.
    settled: f64,
    /// Of all others: writes and reads of those that exist in every plan, reads that some operator has, and
    /// what is computed at least once.
    write: f64,
    read: f64,
    compute: f64,
    /// What must be written or computed again, as far as nothing of both counts already.
    again: f64,
    stack: Vec<HopId>,
}

impl<'b, 'p, 'a> Floor<'b, 'p, 'a> {
    fn new(
        bound: &'b mut LowerBound,
        costs: &'b PartitionCosts<'p, 'a>,
        problem: &Problem,
    ) -> Self {
        bound.scratch.epoch += 1;
        bound.scratch.readers.fill(0);
        let epoch = bound.scratch.epoch;
        let mut floor = Floor {
            bound,
            costs,
            settled: 0.0,
            write: 0.0,
            read: 0.0,
            compute: 0.0,
            again: 0.0,
            stack: Vec::new(),
        };
        floor.want(problem);
        for hop in &problem.hops {
            let place = floor.place(*hop);
            floor.bound.scratch.inside[place] = epoch;
            if !floor.is_computed(problem, *hop) {
                floor.bound.scratch.settled[place] = epoch;
                continue;
            }
            floor.compute += floor.bound.compute[place];
            match floor.has_all_readers(problem, *hop) {
                true => floor.again += floor.bound.again[place],
                false => floor.bound.scratch.settled[place] = epoch,
            }
            for operand in floor.bound.starts[place]..floor.bound.starts[place + 1] {
                if let Some(place) = floor.own(*hop, operand) {
                    let scratch = &mut floor.bound.scratch;
                    if scratch.needed[place] != epoch {
                        scratch.needed[place] = epoch;
                        floor.read += floor.bound.read[place];
                    }
                }
            }
        }
        for hop in &problem.outputs {
            floor.demand(*hop);
        }
        floor
    }

    /// Marks what the outputs of the problem need.
    fn want(&mut self, problem: &Problem) {
        let (table, view) = (&self.costs.table, self.costs.view);
        let Scratch { wanted, epoch, .. } = &mut self.bound.scratch;
        for hop in &problem.outputs {
            wanted[table.place(*hop) as usize] = *epoch;
        }
        // Readers come after what they read.
        for hop in problem.hops.iter().rev() {
            if wanted[table.place(*hop) as usize] != *epoch {
                continue;
            }
            for input in &view.hop(*hop).inputs {
                let place = table.place(*input);
                if place != NONE {
                    wanted[place as usize] = *epoch;
                }
            }
        }
    }

    /// Whether some operator of the problem computes the HOP in every plan.
    fn is_computed(&self, problem: &Problem, hop: HopId) -> bool {
        let scratch = &self.bound.scratch;
        scratch.wanted[self.place(hop)] == scratch.epoch
            && problem.borrowed.binary_search(&hop).is_err()
    }

    /// Whether the operators that may compute the HOP again are the problem's, and not another part's.
    fn has_all_readers(&self, problem: &Problem, hop: HopId) -> bool {
        let costs = self.costs;
        self.bound.again[self.place(hop)] == 0.0
            || references_to(costs, hop).all(|reader| {
                problem.hops.binary_search(&reader).is_ok() && self.is_computed(problem, reader)
            })
    }

    /// The bound on plans that set this point too.
    fn with(&self, point: usize) -> f64 {
        let InterestingPoint {
            consumer, target, ..
        } = *self.costs.point(point);
        let (mut write, mut read, mut again) = (self.write, self.read, self.again);
        let place = self.place(target);
        let scratch = &self.bound.scratch;
        let is_new = |marks: &[u32]| marks[place] != scratch.epoch;
        // Reads of a transpose and of what it transposes are one.
        let operand = match self.costs.table.place(self.costs.view.untransposed(target)) {
            NONE => place,
            operand => operand as usize,
        };
        let is_read = scratch.needed[operand] == scratch.epoch || scratch.readers[operand] != 0;
        if !self.costs.view.is_transpose_of_product(consumer, target) && !is_new(&scratch.inside) {
            if is_new(&scratch.sure) {
                write += self.bound.write[place];
            }
            if is_new(&scratch.settled) {
                again -= self.bound.again[place];
            }
            if !is_read && !self.costs.model.may_read_nothing(consumer) {
                read += self.bound.read[operand];
            }
        }
        // Time to compute again may hide behind reading; time to write does not.
        self.settled + write + read.max(self.compute + again)
    }

    /// No free decision changes this operator any more.
    fn finalize(&mut self, hop: HopId) {
        let place = self.place(hop);
        let scratch = &mut self.bound.scratch;
        scratch.fixed[place] = scratch.epoch;
        if scratch.sure[place] == scratch.epoch {
            self.count_other(hop, false);
            self.stack.push(hop);
            self.settle();
        }
    }

    /// The HOP is materialised in every plan.
    fn demand(&mut self, hop: HopId) {
        let place = self.place(hop);
        let scratch = &mut self.bound.scratch;
        let epoch = scratch.epoch;
        if scratch.inside[place] != epoch
            || std::mem::replace(&mut scratch.sure[place], epoch) == epoch
        {
            return;
        }
        self.settle_again(place);
        match self.bound.scratch.fixed[place] == epoch {
            true => self.stack.push(hop),
            false => self.count_other(hop, true),
        }
    }

    /// Counts the operators on the stack in full.
    fn settle(&mut self) {
        let costs = self.costs;
        while let Some(hop) = self.stack.pop() {
            let row = costs.table.row(hop);
            self.settled += row.seconds;
            for covered in &row.covers {
                let place = self.place(*covered);
                let scratch = &mut self.bound.scratch;
                let is_inside = scratch.inside[place] == scratch.epoch;
                let known = std::mem::replace(&mut scratch.computed[place], scratch.epoch);
                if is_inside && known != scratch.epoch {
                    self.compute -= self.bound.compute[place];
                    self.settle_again(place);
                }
            }
            for input in &row.reads {
                let read = costs.table.place(costs.view.untransposed(*input));
                if read != NONE {
                    self.count_reader(read as usize, true);
                }
                if (costs.table.place(*input) as usize) < self.bound.write.len() {
                    self.demand(*input);
                }
            }
        }
    }

    /// Operators that are certain write the HOP, or compute it: these count in full.
    fn settle_again(&mut self, place: usize) {
        let scratch = &mut self.bound.scratch;
        if std::mem::replace(&mut scratch.settled[place], scratch.epoch) != scratch.epoch {
            self.again -= self.bound.again[place];
        }
    }

    /// Counts (or no longer) an operator that exists in every plan, whatever it covers.
    fn count_other(&mut self, hop: HopId, count: bool) {
        let place = self.place(hop);
        let sign = if count { 1.0 } else { -1.0 };
        self.write += sign * self.bound.write[place];
        self.bound.scratch.list += 1;
        let list = self.bound.scratch.list;
        for operand in self.bound.starts[place]..self.bound.starts[place + 1] {
            if let Some(read) = self.own(hop, operand) {
                let listed = &mut self.bound.scratch.listed[read];
                if std::mem::replace(listed, list) != list {
                    self.read += sign * self.bound.read[read];
                    self.count_reader(read, count);
                }
            }
        }
    }

    /// What some operator reads is in the sum once, until it is there with its readers.
    fn count_reader(&mut self, place: usize, count: bool) {
        let scratch = &mut self.bound.scratch;
        let is_needed = scratch.needed[place] == scratch.epoch;
        let readers = &mut scratch.readers[place];
        let first = match count {
            true => *readers == 0,
            false => *readers == 1,
        };
        let (change, sign) = if count { (1, -1.0) } else { (-1, 1.0) };
        *readers += change;
        if first && is_needed {
            self.read += sign * self.bound.read[place];
        }
    }

    /// The place of an operand that whatever operator computes the HOP reads.
    fn own(&self, hop: HopId, operand: usize) -> Option<usize> {
        let operand = self.bound.operands[operand];
        let blocked = self.costs.chooser.blocked[hop.index()];
        let is_own = !operand.referenced || blocked.contains(operand.slot);
        is_own.then_some(operand.place)
    }

    fn place(&self, hop: HopId) -> usize {
        self.costs.table.place(hop) as usize
    }
}
