//! The cost model, formula (4): seconds of a plan are the sum over its operators of write time plus the
//! larger of read and compute time.
//!
//! Sizes are estimated bytes (sparse where the non-zeros say so); [`CostConstants`] turn them into seconds.
//! An operator that exceeds the local memory is distributed: the matrices that are too large stay where they
//! are and are read at read speed, local inputs are broadcast.

mod ranges;

use fulgurite_hop::{BinaryOp, HopId};
use fulgurite_matrix::kernels::dense_product::WIDE_COLS;

use self::ranges::InPlace;
use crate::{
    CostConstants, FusionConfig,
    cplan::InputBinding,
    machine::{CACHED_BYTES, Constant, RECYCLED_BYTES},
    memo::TemplateType,
    operator::Operator,
    reason::Reason,
    roles::{CellFunction, Fold, GroupFunction, Role, as_mean},
    view::DagView,
};

/// How much dearer an operator counts that does not fit into memory: any plan without it is cheaper, and among
/// plans with it bounds still tell the difference.
const REFUSED: f64 = 1e6;

pub(crate) struct CostModel<'a> {
    view: &'a DagView<'a>,
    config: &'a FusionConfig,
    /// Per HOP.
    sizes: Vec<Size>,
    /// Per HOP, of ranges that fused operators may read in place.
    in_place: Vec<Option<InPlace>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Size {
    bytes: f64,
    /// Seconds of computing it inside a fused operator, over every cell.
    fused_compute: f64,
    /// Of the basic operator, which skips zeros where it can.
    basic_compute: f64,
}

/// What a distributed operator does with an input.
struct Reads {
    seconds: f64,
    /// With the output it is more than this machine may take.
    is_refused: bool,
    /// Bytes of the inputs that every worker must have whole.
    whole: f64,
    /// Of the largest of them.
    largest_whole: f64,
    is_distributed: bool,
}

impl<'a> CostModel<'a> {
    pub fn new(view: &'a DagView<'a>, config: &'a FusionConfig) -> Self {
        let hops = view.dag.iter().map(|(hop, _)| hop);
        let sizes = hops.map(|hop| size(view, &config.cost, hop)).collect();
        let mut model = CostModel {
            view,
            config,
            sizes,
            in_place: Vec::new(),
        };
        let hops = view.dag.iter().map(|(hop, _)| model.range_in_place(hop));
        model.in_place = hops.collect();
        model
    }

    /// Seconds of a basic operator.
    pub fn basic(&self, hop: HopId) -> f64 {
        if self.may_read_nothing(hop) {
            // A range of a range that is not built is another offset.
            return self.config.cost.operator();
        }
        self.as_its_own(hop) + self.copying_inputs(hop)
    }

    /// Seconds of a basic operator whose inputs are there.
    fn as_its_own(&self, hop: HopId) -> f64 {
        let inputs = &self.view.hop(hop).inputs;
        let distinct = |slot: &usize| !inputs[..*slot].contains(&inputs[*slot]);
        let reads = (0..inputs.len()).filter(distinct);
        let reads = reads.map(|slot| (inputs[slot], InputBinding::Matrix));
        let held = reads.clone().map(|(input, _)| self.bytes(input)).sum();
        let reads = self.reads(self.bytes(hop), held, reads);
        self.seconds(hop, &reads, self.sizes[hop.index()].basic_compute)
    }

    /// As a basic operator it exceeds the local memory.
    pub fn is_distributed(&self, hop: HopId) -> bool {
        self.basic_bytes(hop) > self.config.local_memory as f64
    }

    /// As a basic operator it fits into this machine's memory.
    pub fn fits(&self, hop: HopId) -> bool {
        let limit = self.config.local_memory.min(self.config.memory_limit);
        self.basic_bytes(hop) <= limit as f64
    }

    fn basic_bytes(&self, hop: HopId) -> f64 {
        let inputs = self.view.hop(hop).inputs.iter();
        let total: f64 = inputs.map(|input| self.bytes(*input)).sum();
        total + self.bytes(hop)
    }

    /// Seconds of a fused operator.
    pub fn fused(&self, operator: &Operator) -> f64 {
        let covered = operator.covered.iter();
        let computed = covered.filter(|(hop, _)| !self.has_sum_of(operator, *hop));
        let compute = computed.map(|(hop, _)| {
            let own = self.sizes[hop.index()].fused_compute;
            match operator.template {
                // The sparsity that counts is the driver's, which scales all of them.
                TemplateType::Outer => {
                    dense_product(self.view, &self.config.cost, *hop).unwrap_or(own)
                }
                _ => own,
            }
        });
        let compute: f64 = compute.sum();
        let share = match operator.sparse_safe {
            true => self.main(operator).sparsity(),
            false => 1.0,
        };
        let mut reads = self.operator_reads(operator);
        reads.seconds += self.again_for_ranges(operator, &reads);
        let ranges = self.ranges_of(operator);
        reads.seconds += ranges.between_rows;
        let compute = compute * share + self.expanding(operator);
        self.seconds(operator.root, &reads, compute) + self.cutting_out(operator) + ranges.copying
    }

    /// Another aggregate of a multi-aggregate is the sum that this mean is.
    fn has_sum_of(&self, operator: &Operator, hop: HopId) -> bool {
        let Role::Aggregate(op, direction) = self.view.role(hop) else {
            return false;
        };
        let Some(sum) = as_mean(op).filter(|_| !operator.siblings.is_empty()) else {
            return false;
        };
        let inputs = |of: HopId| &self.view.hop(of).inputs;
        operator.roots().any(|root| {
            self.view.role(root) == Role::Aggregate(sum, direction) && inputs(root) == inputs(hop)
        })
    }

    /// Seconds of the other outputs of a multi-aggregate, and of an operator for each that cuts it out of the one output
    /// that all are in. Those of single cells take nothing.
    fn cutting_out(&self, operator: &Operator) -> f64 {
        let is_one_output = operator.siblings.is_empty() || self.bytes(operator.root) == 0.0;
        if is_one_output {
            return 0.0;
        }
        let of_one = |hop: HopId| {
            let bytes = self.bytes(hop);
            self.config.cost.moving(reading(bytes), bytes) + self.materialize(hop)
        };
        let others = operator.siblings.iter();
        let others: f64 = others.map(|hop| self.writing(self.bytes(*hop))).sum();
        others + operator.roots().map(of_one).sum::<f64>()
    }

    /// Seconds that an Outer operator takes longer whose right factor is sent in several pieces: for each of these a job goes
    /// over the driver's columns that belong to it. Rows of a dense driver are read in parts, all else that stays with the
    /// workers again each time.
    fn again_for_ranges(&self, operator: &Operator, reads: &Reads) -> f64 {
        let limit = self.config.broadcast_memory.max(1) as f64;
        if operator.template != TemplateType::Outer || reads.whole <= limit {
            return 0.0;
        }
        let again = (reads.whole / limit).ceil() - 1.0;
        let is_read_again = |(hop, bound): &&(HopId, InputBinding)| match bound {
            InputBinding::Main | InputBinding::Matrix => {
                self.view.hop(*hop).characteristics.is_stored_sparse()
            }
            InputBinding::LeftFactor | InputBinding::ColumnVector => true,
            _ => false,
        };
        let inputs = operator.inputs.iter().filter(is_read_again);
        let bytes: f64 = inputs.map(|(hop, _)| self.bytes(*hop)).sum();
        let constants = &self.config.cost;
        again * (constants.job() + constants.moving(Constant::DistributedRead, bytes))
    }

    /// Seconds of giving sparse inputs their zeros, and of taking the zeros out of a sparse output, where an operator goes cell by cell
    /// and skips none.
    fn expanding(&self, operator: &Operator) -> f64 {
        const FLOPS_PER_CELL: f64 = 8.0;
        let goes_by_cell = matches!(
            operator.template,
            TemplateType::Cell | TemplateType::MultiAggregate | TemplateType::Group
        );
        if operator.sparse_safe || !goes_by_cell {
            return 0.0;
        }
        let is_sparse = |hop: HopId| self.view.hop(hop).characteristics.is_stored_sparse();
        let by_cell = |(hop, bound): &&(HopId, InputBinding)| {
            matches!(bound, InputBinding::Main | InputBinding::Matrix) && is_sparse(*hop)
        };
        let inputs = operator.inputs.iter().filter(by_cell).count();
        let outputs =
            usize::from(self.view.hop(operator.root).is_matrix() && is_sparse(operator.root));
        let cells = self.main(operator).cells().unwrap_or(0) as f64;
        let flops = (inputs + outputs) as f64 * cells * FLOPS_PER_CELL;
        self.config.cost.computing(Constant::Compute, flops)
    }

    /// The fused operator exceeds the local memory.
    pub fn fused_is_distributed(&self, operator: &Operator) -> bool {
        self.operator_reads(operator).is_distributed
    }

    /// Constraints that any plan must satisfy (Section 4.1).
    pub fn check(&self, operator: &Operator) -> Result<(), Reason> {
        let reads = self.operator_reads(operator);
        // What this machine has no room for is with the workers, and would come here to be sent.
        let local = self.config.local_memory;
        if operator.template != TemplateType::Outer && reads.largest_whole > local as f64 {
            return Err(Reason::BroadcastTooLarge {
                bytes: reads.largest_whole as u64,
                limit: local.min(self.config.broadcast_memory),
            });
        }
        if operator.template == TemplateType::Group && reads.is_distributed {
            // Parts of sums add up. Others need to know which groups have rows in which part.
            let is_sum = |root: HopId| {
                let grouping = self.view.grouping(root);
                let function = grouping.and_then(|by| GroupFunction::of_name(by.function));
                function.is_some_and(|function| Fold::of(function.aggregate()) == Fold::Sum)
            };
            if !operator.roots().all(is_sum) {
                return Err(Reason::GroupsInParts);
            }
        }
        let whole = match (operator.template, reads.whole) {
            // What every task needs may be sent for a range of columns at a time: a column is the least.
            (TemplateType::Outer, whole) => {
                let cols = self.main(operator).cols.unwrap_or(1).max(1);
                whole / cols as f64
            }
            (_, whole) => whole,
        };
        match whole > self.config.broadcast_memory as f64 {
            true => Err(Reason::BroadcastTooLarge {
                bytes: whole as u64,
                limit: self.config.broadcast_memory,
            }),
            false => Ok(()),
        }
    }

    /// Seconds that reading takes at least, however the operator runs.
    pub fn least_read(&self, hop: HopId) -> f64 {
        let constants = &self.config.cost;
        let bytes = |hop: HopId| self.sizes[hop.index()].bytes;
        // A fused product reads what its operand is the transpose of.
        let bytes = bytes(hop).min(bytes(self.view.untransposed(hop)));
        let anywhere = [
            reading(bytes),
            Constant::DistributedRead,
            Constant::Broadcast,
        ];
        let times = anywhere.map(|bandwidth| constants.moving(bandwidth, bytes));
        times.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Seconds that an operator takes at least beside reading and computing, whatever gives this HOP.
    pub fn least_materialize(&self, hop: HopId) -> f64 {
        match self.in_place[hop.index()] {
            Some(_) => self.config.cost.operator(),
            None => self.materialize(hop),
        }
    }

    /// Seconds that an operator takes beside reading and computing: its own, and those of writing its output.
    fn materialize(&self, hop: HopId) -> f64 {
        let bytes = self.sizes[hop.index()].bytes;
        self.config.cost.operator() + self.writing(bytes)
    }

    fn writing(&self, bytes: f64) -> f64 {
        let bandwidth = match bytes {
            ..=CACHED_BYTES => Constant::CachedWrite,
            ..=RECYCLED_BYTES => Constant::Rewrite,
            _ => Constant::Write,
        };
        self.config.cost.moving(bandwidth, bytes)
    }

    pub fn bytes(&self, hop: HopId) -> f64 {
        self.sizes[hop.index()].bytes
    }

    /// Seconds that computing the operator takes at least, fused or not, where fused operators may skip
    /// all but this share of the cells.
    pub fn least_compute(&self, hop: HopId, share: f64) -> f64 {
        let size = self.sizes[hop.index()];
        match self.view.role(hop) {
            // A fused product needs no transpose.
            Role::Transpose => 0.0,
            Role::Product => {
                let dense = dense_product(self.view, &self.config.cost, hop);
                let fused = size.fused_compute.min(dense.unwrap_or(f64::INFINITY));
                size.basic_compute.min(fused * share)
            }
            Role::CellWise(_)
            | Role::Aggregate(..)
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => size.basic_compute.min(size.fused_compute * share),
        }
    }

    fn seconds(&self, root: HopId, reads: &Reads, compute: f64) -> f64 {
        let seconds = self.materialize(root) + reads.seconds.max(compute);
        match reads.is_refused {
            true => seconds * REFUSED,
            false => seconds,
        }
    }

    fn main(&self, operator: &Operator) -> fulgurite_hop::Characteristics {
        let (main, _) = operator.inputs[operator.main];
        self.view.hop(main).characteristics
    }

    fn operator_reads(&self, operator: &Operator) -> Reads {
        let inputs = operator.inputs.iter().enumerate();
        // A matrix that is accessed in two ways is there once.
        let first = |index: usize, hop: HopId| {
            let same = |(other, _): &(HopId, InputBinding)| *other == hop;
            !operator.inputs[..index].iter().any(same)
        };
        let inputs = inputs.filter(|(index, (hop, _))| first(*index, *hop));
        let inputs = inputs.map(|(_, input)| *input);
        let held = self.held(operator.template, inputs.clone());
        let written = operator.roots().map(|root| self.bytes(root)).sum();
        self.reads(written, held, inputs)
    }

    /// `written` are the bytes of what the operator gives, `held` those of all inputs together.
    fn reads(
        &self,
        written: f64,
        held: f64,
        inputs: impl Iterator<Item = (HopId, InputBinding)> + Clone,
    ) -> Reads {
        let constants = &self.config.cost;
        let bytes = |hop: HopId| self.sizes[hop.index()].bytes;
        let local = self.config.local_memory as f64;
        if held + written <= local {
            return Reads {
                seconds: inputs
                    .map(|(hop, _)| constants.moving(reading(bytes(hop)), bytes(hop)))
                    .sum(),
                is_refused: held + written > self.config.memory_limit as f64,
                whole: 0.0,
                largest_whole: 0.0,
                is_distributed: false,
            };
        }
        let largest = inputs
            .clone()
            .map(|(hop, _)| bytes(hop))
            .fold(0.0, f64::max);
        let (mut stays, mut sent, mut whole, mut largest_whole) = (0.0, 0.0, 0.0, 0.0f64);
        for (hop, bound) in inputs {
            let size = bytes(hop);
            let is_whole = matches!(
                bound,
                InputBinding::Whole | InputBinding::RowVector | InputBinding::RightFactor
            );
            if is_whole {
                whole += size;
                largest_whole = largest_whole.max(size);
            }
            let travels = is_whole || (size <= local && size < largest);
            // What stays the same around a loop was sent before.
            match travels && !self.view.stays(hop) {
                true => sent += size,
                false => stays += size,
            }
        }
        Reads {
            is_refused: false,
            seconds: constants.moving(Constant::DistributedRead, stays)
                + constants.moving(Constant::Broadcast, sent),
            whole,
            largest_whole,
            is_distributed: true,
        }
    }
}

/// At what a matrix of this size is read here.
fn reading(bytes: f64) -> Constant {
    match bytes {
        ..=CACHED_BYTES => Constant::CachedRead,
        _ => Constant::Read,
    }
}

/// Seconds of a product of dense matrices.
fn dense_product(view: &DagView, constants: &CostConstants, product: HopId) -> Option<f64> {
    let hop = view.hop(product);
    if view.role(product) != Role::Product {
        return None;
    }
    let inner = view.shape(hop.inputs[0])?.cols as f64;
    let flops = 2.0 * hop.characteristics.cells()? as f64 * inner;
    Some(constants.computing(product_speed(view, product), flops))
}

/// Matrices of many columns are multiplied by kernels that keep parts of them in registers.
fn product_speed(view: &DagView, product: HopId) -> Constant {
    let hop = view.hop(product);
    let is_dense = |input: &HopId| !view.hop(*input).characteristics.is_stored_sparse();
    match hop.cols().is_some_and(|cols| cols >= WIDE_COLS as u64) && hop.inputs.iter().all(is_dense)
    {
        true => Constant::Products,
        false => Constant::Compute,
    }
}

/// Operations in whose time the non-zeros of a product's left operand are found, if it is sparse, whatever they are
/// multiplied with.
fn walking_flops(view: &DagView, left: HopId) -> f64 {
    const PER_NON_ZERO: f64 = 10.0;
    const PER_ROW: f64 = 50.0;
    let stored = view.hop(view.untransposed(left)).characteristics;
    match (stored.nnz, stored.rows) {
        (Some(nnz), Some(rows)) if stored.is_stored_sparse() => {
            let visited = match stored.is_stored_ultra_sparse() {
                true => nnz.min(rows),
                false => rows,
            };
            PER_NON_ZERO * nnz as f64 + PER_ROW * visited as f64
        }
        _ => 0.0,
    }
}

fn size(view: &DagView, constants: &CostConstants, id: HopId) -> Size {
    let hop = view.hop(id);
    if !hop.is_matrix() && !matches!(view.role(id), Role::Aggregate(..)) {
        return Size::default();
    }
    let bytes = match hop.is_matrix() {
        true => hop.characteristics.memory_bytes().unwrap_or(0) as f64,
        false => 0.0,
    };
    let cells = |id: HopId| view.hop(id).characteristics.cells().unwrap_or(0) as f64;
    let output = cells(id);
    let input = hop.inputs.first().copied();
    let input_cells = input.map_or(0.0, cells);
    let sparsity = |id: HopId| view.hop(id).characteristics.sparsity();
    let input_sparsity = input.map_or(1.0, sparsity);
    let plain = Constant::Compute;
    let speed_of = |function: CellFunction| match function.has_vector_form() {
        true => Constant::Functions,
        false => plain,
    };
    let (flops, speed, share) = match view.role(id) {
        Role::CellWise(function) => {
            let right = hop.inputs.get(1);
            let right = right.and_then(|right| view.hop(*right).op.constant()?.as_f64());
            let share = match function {
                CellFunction::Unary(op) if op.keeps_zero() => input_sparsity,
                CellFunction::Unary(_) => 1.0,
                CellFunction::Binary(op) => binary_share(view, id, op),
                CellFunction::Ternary(_) => stored_share(view, id),
            };
            (output * function.flops(right), speed_of(function), share)
        }
        Role::Aggregate(op, _) => (input_cells * op.flops(), plain, input_sparsity),
        Role::Product => {
            let (left, right) = (hop.inputs[0], hop.inputs[1]);
            let inner = view.hop(left).cols().unwrap_or(0) as f64;
            // Kernels skip the zeros of either operand; those of a matrix used whole in a fused operator are
            // multiplied.
            let either = sparsity(left).min(sparsity(right));
            let fused = match view.transposed_left(id) {
                Some(_) => either,
                None => sparsity(left),
            };
            let multiplied = 2.0 * output * inner * fused;
            let basic = 2.0 * output * inner * either;
            let walked = walking_flops(view, left);
            (
                multiplied + walked,
                product_speed(view, id),
                (basic + walked) / (multiplied + walked).max(f64::MIN_POSITIVE),
            )
        }
        Role::Transpose => {
            return Size {
                bytes,
                fused_compute: 0.0,
                basic_compute: constants.computing(plain, output * input_sparsity),
            };
        }
        // Inside a fused operator it is a view of a row.
        Role::Range => {
            return Size {
                bytes,
                fused_compute: 0.0,
                basic_compute: constants.computing(plain, output * stored_share(view, id)),
            };
        }
        Role::Combination => {
            let op = view.combination(id).map(|combination| combination.op);
            match op.map(CellFunction::Binary) {
                Some(function) => (output * function.flops(None), speed_of(function), 1.0),
                None => (output, plain, 1.0),
            }
        }
        Role::Grouped => {
            let cells = view
                .grouping(id)
                .map(|grouping| cells(hop.inputs[grouping.target]));
            let cells = cells.unwrap_or(input_cells);
            return Size {
                bytes,
                fused_compute: constants.computing(plain, cells * scattering(output)),
                basic_compute: constants.computing(plain, cells * scattering(output)),
            };
        }
        Role::Beside | Role::Cumulative(_) | Role::Outside(_) => {
            (output, plain, stored_share(view, id))
        }
    };
    let fused_compute = constants.computing(speed, flops);
    Size {
        bytes,
        fused_compute,
        basic_compute: fused_compute * share,
    }
}

/// Operations in whose time a cell is taken into the total of its group, of so many totals.
fn scattering(totals: f64) -> f64 {
    /// Of a total and what was rounded away.
    const BYTES: f64 = 16.0;
    match totals * BYTES {
        // They are in a cache of the core, in one that cores share, or in memory.
        ..=1e6 => 8.0,
        ..=16e6 => 24.0,
        _ => 80.0,
    }
}

/// The share of cells that an operator visits which goes through what is stored of its operands and its output.
fn stored_share(view: &DagView, id: HopId) -> f64 {
    let hop = view.hop(id);
    let is_sparse = |input: &HopId| view.hop(*input).characteristics.is_stored_sparse();
    match hop.characteristics.is_stored_sparse() && hop.inputs.iter().any(is_sparse) {
        true => hop.characteristics.sparsity(),
        false => 1.0,
    }
}

/// The share of cells that a basic binary operator visits.
fn binary_share(view: &DagView, id: HopId, op: BinaryOp) -> f64 {
    let hop = view.hop(id);
    let sparsity = |slot: usize| {
        let operand = view.hop(hop.inputs[slot]);
        match operand.is_matrix() && view.shape(hop.inputs[slot]) == view.shape(id) {
            true => operand.characteristics.sparsity(),
            false => 1.0,
        }
    };
    let left = if op.zero_on_left_zero() {
        sparsity(0)
    } else {
        1.0
    };
    let right = if op.zero_on_right_zero() {
        sparsity(1)
    } else {
        1.0
    };
    left.min(right).min(stored_share(view, id))
}

/// The smallest share of cells that any Cell operator over these inputs can get away with.
pub(crate) fn least_share(view: &DagView, hops: impl Iterator<Item = HopId>) -> f64 {
    hops.map(|hop| view.hop(hop).characteristics.sparsity())
        .fold(1.0, f64::min)
}

impl TemplateType {
    /// Operators of this template may skip the zeros of their main input.
    pub(crate) fn can_skip_zeros(self) -> bool {
        !matches!(self, TemplateType::Row | TemplateType::Group)
    }
}
