//! Lower bounds on the costs of plans that were not costed yet (lines 11 to 15 of Algorithm 2).
//!
//! The search is exact only if no bound exceeds the costs of a plan it stands for. So reads and writes are
//! counted only where every plan has them, at the fastest speed, and read and compute time overlap as a whole.

use fulgurite_hop::HopId;

use crate::{
    cost::{CostModel, least_share},
    memo::{MemoTable, Slots},
    partition::{InterestingPoint, Partition},
    view::DagView,
};

/// Costs that every plan of a partition has, and those that each materialised target adds.
pub(crate) struct LowerBound {
    read: f64,
    compute: f64,
    write: f64,
    /// Per point, the number of its target.
    target: Vec<usize>,
    /// Per target, seconds of reading and of writing it that are not in every plan.
    materialize: Vec<(f64, f64)>,
}

impl LowerBound {
    pub fn new(
        view: &DagView,
        model: &CostModel,
        memo: &MemoTable,
        partition: &Partition,
        references: &[Slots],
        points: &[InterestingPoint],
    ) -> Self {
        let reads = Reads::new(view, model, partition, references);
        let is_output = |hop: HopId| partition.outputs.binary_search(&hop).is_ok();
        let (targets, target) = targets(view, points);
        let materialize = targets.iter().map(|hop| {
            let read = if reads.contains(*hop) {
                0.0
            } else {
                model.least_read(*hop)
            };
            let write = if is_output(*hop) {
                0.0
            } else {
                model.write(*hop)
            };
            (read, write)
        });
        let others = partition.inputs.iter().filter(|hop| !reads.contains(**hop));
        let others: f64 = others.map(|hop| model.least_read(*hop)).sum();

        let mut entries = partition.hops.iter().flat_map(|hop| memo.group(*hop));
        let share = match entries.any(|entry| entry.template.can_skip_zeros()) {
            true => least_share(
                view,
                partition.inputs.iter().chain(&partition.hops).copied(),
            ),
            false => 1.0,
        };
        let hops = partition.hops.iter();
        LowerBound {
            read: reads.seconds + others,
            compute: hops.map(|hop| model.least_compute(*hop, share)).sum(),
            write: partition.outputs.iter().map(|hop| model.write(*hop)).sum(),
            target,
            materialize: materialize.collect(),
        }
    }

    /// Scratch space for [`LowerBound::of`].
    pub fn targets_seen(&self) -> Vec<bool> {
        vec![false; self.materialize.len()]
    }

    /// At most the costs of any plan that materialises at least what this assignment does.
    pub fn of(&self, assignment: &[bool], seen: &mut [bool]) -> f64 {
        seen.fill(false);
        let (mut read, mut write) = (self.read, self.write);
        for (point, _) in assignment.iter().enumerate().filter(|(_, set)| **set) {
            let target = self.target[point];
            if !std::mem::replace(&mut seen[target], true) {
                read += self.materialize[target].0;
                write += self.materialize[target].1;
            }
        }
        write + read.max(self.compute)
    }
}

/// What gets materialised when points are set, and per point its place among those.
fn targets(view: &DagView, points: &[InterestingPoint]) -> (Vec<HopId>, Vec<usize>) {
    let mut targets: Vec<HopId> = Vec::new();
    let mut target = Vec::with_capacity(points.len());
    for point in points {
        // A transpose before a fused product is never materialised; what it transposes is.
        let read = match view.transposed_left(point.consumer) == Some(point.target) {
            true => view.hop(point.target).inputs[0],
            false => point.target,
        };
        let place = targets.iter().position(|known| *known == read);
        target.push(place.unwrap_or_else(|| {
            targets.push(read);
            targets.len() - 1
        }));
    }
    (targets, target)
}

/// Each output of the partition has an operator of its own, which reads at least what the output's own HOP
/// can't have fused.
struct Reads {
    seconds: f64,
    /// Sorted.
    hops: Vec<HopId>,
}

impl Reads {
    fn new(view: &DagView, model: &CostModel, partition: &Partition, references: &[Slots]) -> Self {
        let mut hops: Vec<HopId> = Vec::new();
        let mut seconds = 0.0;
        for output in &partition.outputs {
            let first = hops.len();
            for slot in 0..view.hop(*output).inputs.len() {
                let input = view.operand(*output, slot);
                if !references[output.index()].contains(slot) && !hops[first..].contains(&input) {
                    hops.push(input);
                    // A basic product reads the transpose.
                    let direct = view.hop(*output).inputs[slot];
                    seconds += model.least_read(input).min(model.least_read(direct));
                }
            }
        }
        hops.sort_unstable();
        Reads { seconds, hops }
    }

    fn contains(&self, hop: HopId) -> bool {
        self.hops.binary_search(&hop).is_ok()
    }
}
