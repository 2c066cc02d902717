//! From a plan assignment to operators: which fused operator, if any, computes a materialised HOP.
//!
//! Costing and construction both ask [`Chooser`], so what was costed is what gets built.

use fulgurite_hop::{Direction, HopId};

use crate::{
    cplan::InputBinding,
    memo::{MemoEntry, MemoTable, Slots, TemplateType},
    roles::{Fold, Role},
    template::outer,
    view::{DagView, Spread},
};

/// A fused operator before its CPlan is built.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operator {
    pub root: HopId,
    pub template: TemplateType,
    /// Covered HOPs with the inputs that are covered too, operands first; the root is the last.
    pub covered: Vec<(HopId, Slots)>,
    /// What is read, once per kind of access. No entry is bound as `Main`; that is `main`.
    pub inputs: Vec<(HopId, InputBinding)>,
    /// The input that is iterated over.
    pub main: usize,
    /// Zero wherever the main input is.
    pub sparse_safe: bool,
    /// MAgg: the other aggregates.
    pub siblings: Vec<HopId>,
}

impl Operator {
    pub fn new() -> Self {
        Operator {
            root: HopId(0),
            template: TemplateType::Cell,
            covered: Vec::new(),
            inputs: Vec::new(),
            main: 0,
            sparse_safe: false,
            siblings: Vec::new(),
        }
    }

    /// All HOPs that it gives.
    pub fn roots(&self) -> impl Iterator<Item = HopId> {
        std::iter::once(self.root).chain(self.siblings.iter().copied())
    }
}

/// What a covered operator with these references reads at `slot`, and how; `None` where the plan absorbs it
/// (bounds of a range).
pub(crate) fn access(
    view: &DagView,
    template: TemplateType,
    hop: HopId,
    references: Slots,
    slot: usize,
) -> Option<(HopId, InputBinding)> {
    if template == TemplateType::Outer && view.role(hop) == Role::Product {
        return Some(outer::factor(view, hop, references, slot));
    }
    Some((view.operand(hop, slot), binding(view, template, hop, slot)?))
}

fn binding(
    view: &DagView,
    template: TemplateType,
    hop: HopId,
    slot: usize,
) -> Option<InputBinding> {
    let aligned = |is_vector: bool| match template == TemplateType::Row && is_vector {
        true => InputBinding::ColumnVector,
        false => InputBinding::Matrix,
    };
    let operand = view.operand(hop, slot);
    match view.role(hop) {
        Role::Range if slot > 0 => None,
        Role::Product if slot == 1 && view.transposed_left(hop).is_none() => {
            Some(InputBinding::Whole)
        }
        Role::CellWise(_) => Some(match view.spread(hop, slot)? {
            Spread::Full => aligned(view.shape(hop)?.cols == 1),
            Spread::Column => InputBinding::ColumnVector,
            Spread::Row => InputBinding::RowVector,
            Spread::Scalar => InputBinding::Scalar,
        }),
        Role::Combination => {
            let combination = view.combination(hop)?;
            let bound = [
                (combination.column, InputBinding::ColumnVector),
                (combination.row, InputBinding::RowVector),
            ];
            // The operator's name is no operand.
            bound
                .iter()
                .find(|(place, _)| *place == slot)
                .map(|(_, bound)| *bound)
        }
        Role::Grouped => {
            let grouping = view.grouping(hop)?;
            let target = view.shape(view.hop(hop).inputs[grouping.target])?;
            let beside = match target.cols {
                1 => InputBinding::Matrix,
                _ => InputBinding::ColumnVector,
            };
            match slot {
                _ if slot == grouping.target => Some(InputBinding::Matrix),
                _ if slot == grouping.groups || grouping.weights == Some(slot) => Some(beside),
                _ => (slot == grouping.count).then_some(InputBinding::Scalar),
            }
        }
        Role::Aggregate(..)
        | Role::Product
        | Role::Transpose
        | Role::Range
        | Role::Beside
        | Role::Cumulative(_)
        | Role::Outside(_) => Some(aligned(view.shape(operand)?.cols == 1)),
    }
}

/// No entry of a group.
const NO_ENTRY: u8 = u8::MAX;

/// Chooses entries and operators under an assignment of materialisation decisions.
pub(crate) struct Chooser<'a> {
    pub view: &'a DagView<'a>,
    pub memo: &'a MemoTable,
    /// Per HOP, the slots that some entry references.
    pub references: &'a [Slots],
    /// Per HOP, the slots that may not be referenced.
    pub blocked: Vec<Slots>,
    /// What `blocked` was under the last assignment.
    was_blocked: Vec<Option<Slots>>,
    /// The number of the current assignment, and per HOP of the last one that changed a decision at it or
    /// at anything that operators reach from it.
    assignment: u32,
    changed: Vec<u32>,
    /// Per HOP, the last assignment that was taken over at it.
    prepared: Vec<u32>,
    /// Per HOP and template of the operator, the entry by which an operator goes on into the group.
    inner: Vec<[u8; TemplateType::EXPLORED.len()]>,
    /// The operator under construction that last covered, or read, each HOP.
    covered_by: Vec<u32>,
    read_by: Vec<u32>,
    epoch: u32,
    /// Covered HOPs on the way from the root, with their covered inputs and the next input to visit.
    stack: Vec<(HopId, Slots, usize)>,
    candidates: [Operator; TemplateType::EXPLORED.len()],
    /// Candidates that the last choice was among.
    judged: [bool; TemplateType::EXPLORED.len()],
}

impl<'a> Chooser<'a> {
    pub fn new(view: &'a DagView<'a>, memo: &'a MemoTable, references: &'a [Slots]) -> Self {
        let hops = view.dag.len();
        Chooser {
            view,
            memo,
            references,
            blocked: vec![Slots::NONE; hops],
            was_blocked: vec![None; hops],
            assignment: 0,
            changed: vec![0; hops],
            prepared: vec![0; hops],
            inner: vec![[NO_ENTRY; TemplateType::EXPLORED.len()]; hops],
            covered_by: vec![0; hops],
            read_by: vec![0; hops],
            epoch: 0,
            stack: Vec::new(),
            candidates: std::array::from_fn(|_| Operator::new()),
            judged: [false; TemplateType::EXPLORED.len()],
        }
    }

    /// Takes the assignment in `blocked` over: finds how operators go on through these HOPs (in topological
    /// order, closed under references that are not blocked).
    pub fn prepare(&mut self, hops: &[HopId]) {
        self.assignment += 1;
        for hop in hops {
            let blocked = self.blocked[hop.index()];
            let inputs = &self.view.hop(*hop).inputs;
            let last = std::mem::replace(&mut self.prepared[hop.index()], self.assignment);
            let has_changed = |slot: usize| self.changed[inputs[slot].index()] > last;
            let is_same = self.was_blocked[hop.index()] == Some(blocked);
            let mut open = self.references[hop.index()].minus(blocked).iter();
            if is_same && !open.any(has_changed) {
                continue;
            }
            self.was_blocked[hop.index()] = Some(blocked);
            self.changed[hop.index()] = self.assignment;
            for template in TemplateType::EXPLORED {
                let continues =
                    |entry: &MemoEntry| entry.close.is_open() && template.takes(entry.template);
                let best = self.best_entry(*hop, template, continues);
                self.inner[hop.index()][template as usize] = best;
            }
        }
    }

    pub fn assignment(&self) -> u32 {
        self.assignment
    }

    /// The last assignment that changed something for operators at this HOP.
    pub fn changed(&self, hop: HopId) -> u32 {
        self.changed[hop.index()]
    }

    /// The entry with the most references, of the operator's own template if that is no fewer.
    fn best_entry(
        &self,
        hop: HopId,
        template: TemplateType,
        is_candidate: impl Fn(&MemoEntry) -> bool,
    ) -> u8 {
        let inputs = &self.view.hop(hop).inputs;
        let mut best = (NO_ENTRY, (0, false));
        for (index, entry) in self.memo.group(hop).iter().enumerate() {
            let can_follow =
                |slot: usize| self.inner[inputs[slot].index()][template as usize] != NO_ENTRY;
            if is_candidate(entry)
                && entry.references.is_disjoint(self.blocked[hop.index()])
                && entry.references.iter().all(can_follow)
            {
                let rank = (entry.references.len(), entry.template == template);
                if best.0 == NO_ENTRY || rank > best.1 {
                    best = (index as u8, rank);
                }
            }
        }
        best.0
    }

    /// The fused operator whose output is this HOP: of the templates' candidates that `allow` lets pass, Outer
    /// if there is one, since it holds no outer product; else the one that covers most, Cell if that is no
    /// less, since it can skip zeros. Its main input is chosen no further than costs need.
    pub fn operator(
        &mut self,
        root: HopId,
        mut allow: impl FnMut(&Operator) -> bool,
    ) -> Option<&Operator> {
        let mut best: Option<usize> = None;
        self.judged = [false; TemplateType::EXPLORED.len()];
        for template in TemplateType::EXPLORED {
            let ends = |entry: &MemoEntry| entry.close.is_valid() && entry.template == template;
            let index = self.best_entry(root, template, ends);
            let Some(entry) = self.memo.group(root).get(usize::from(index)).copied() else {
                continue;
            };
            // One operator alone is the basic operator again.
            if entry.references.is_empty() {
                continue;
            }
            let mut candidate =
                std::mem::replace(&mut self.candidates[template as usize], Operator::new());
            self.collect(root, entry, &mut candidate);
            let is_valid = self.choose_main_for_costs(&mut candidate) && allow(&candidate);
            let size = candidate.covered.len();
            self.judged[template as usize] = true;
            self.candidates[template as usize] = candidate;
            let largest = best.map_or(0, |best| self.candidates[best].covered.len());
            if is_valid && (size >= largest || template == TemplateType::Outer) {
                best = Some(template as usize);
            }
        }
        best.map(|best| &self.candidates[best])
    }

    /// All candidates of the last choice, the chosen one too. Forbidding a reference that none of them has
    /// leaves each of them as it is, and so the choice.
    pub fn judged(&self) -> impl Iterator<Item = &Operator> {
        let judged = self.candidates.iter().zip(self.judged);
        judged
            .filter(|(_, judged)| *judged)
            .map(|(operator, _)| operator)
    }

    /// Walks the plan depth first, inputs in order, so that equal plans list what they cover and read alike
    /// whatever the numbers of their HOPs.
    fn collect(&mut self, root: HopId, entry: MemoEntry, operator: &mut Operator) {
        self.epoch += 1;
        operator.root = root;
        operator.template = entry.template;
        operator.covered.clear();
        operator.inputs.clear();
        self.covered_by[root.index()] = self.epoch;
        self.stack.push((root, entry.references, 0));
        while let Some((hop, references, slot)) = self.stack.pop() {
            let Some(input) = self.view.hop(hop).inputs.get(slot).copied() else {
                operator.covered.push((hop, references));
                continue;
            };
            self.stack.push((hop, references, slot + 1));
            if references.contains(slot) {
                if self.covered_by[input.index()] != self.epoch {
                    self.covered_by[input.index()] = self.epoch;
                    let inner = self.inner[input.index()][operator.template as usize];
                    let entry = self.memo.group(input)[usize::from(inner)];
                    self.stack.push((input, entry.references, 0));
                }
            } else if let Some(read) = access(self.view, operator.template, hop, references, slot) {
                let stamp = &mut self.read_by[read.0.index()];
                if *stamp != self.epoch || !operator.inputs.contains(&read) {
                    *stamp = self.epoch;
                    operator.inputs.push(read);
                }
            }
        }
    }

    /// Picks the input to iterate over; false if there is none.
    pub fn choose_main(&mut self, operator: &mut Operator) -> bool {
        let view = self.view;
        let nnz = |hop: HopId| {
            let characteristics = view.hop(hop).characteristics;
            characteristics.nnz.or(characteristics.cells())
        };
        let cells = |hop: HopId| view.hop(hop).characteristics.cells();
        let candidates = operator.inputs.iter().enumerate();
        let candidates = candidates.filter(|(_, (_, bound))| *bound == InputBinding::Matrix);
        let main = match operator.template {
            // The largest, so that it is the one that is passed over once; of those, the sparsest.
            TemplateType::Row => candidates
                .min_by_key(|(_, (hop, _))| (std::cmp::Reverse(cells(*hop)), nnz(*hop)))
                .map(|(main, _)| main)
                .or_else(|| column_of_combination(view, operator))
                .map(|main| (main, false)),
            // One whose zeros can be skipped; of those, the sparsest.
            TemplateType::Cell | TemplateType::MultiAggregate => candidates
                .map(|(main, (hop, _))| (keeps_zeros_of(view, operator, *hop), nnz(*hop), main))
                .min_by_key(|(safe, nnz, main)| (!safe, *nnz, *main))
                .map(|(safe, _, main)| (main, safe)),
            // The same, and nothing else will do: an outer product would be computed whole, cell by cell.
            TemplateType::Outer if covers_outer_product(view, operator) => candidates
                .filter(|(_, (hop, _))| keeps_zeros_of(view, operator, *hop))
                .min_by_key(|(main, (hop, _))| (nnz(*hop), *main))
                .map(|(main, _)| (main, true)),
            TemplateType::Outer => None,
            // All have the target's shape.
            TemplateType::Group => candidates.map(|(main, _)| (main, false)).next(),
        };
        if let Some((main, sparse_safe)) = main {
            operator.main = main;
            operator.sparse_safe = sparse_safe;
        }
        main.is_some()
    }

    /// As much of [`Chooser::choose_main`] as costs depend on: among dense inputs any will do.
    fn choose_main_for_costs(&mut self, operator: &mut Operator) -> bool {
        let is_sparse =
            |(hop, _): &(HopId, InputBinding)| self.view.hop(*hop).characteristics.sparsity() < 1.0;
        let may_skip_zeros = match operator.template {
            TemplateType::Row | TemplateType::Group => false,
            TemplateType::Cell | TemplateType::MultiAggregate => {
                operator.inputs.iter().any(is_sparse)
            }
            TemplateType::Outer => true,
        };
        if may_skip_zeros {
            return self.choose_main(operator);
        }
        let mut bindings = operator.inputs.iter().map(|(_, bound)| *bound);
        let main = bindings.position(|bound| bound == InputBinding::Matrix);
        let main = main.or_else(|| column_of_combination(self.view, operator));
        operator.main = main.unwrap_or(0);
        operator.sparse_safe = false;
        main.is_some()
    }
}

/// Row: a column, of which a covered operator combines each cell with all of a row. Its rows are those to go through, though it has
/// one column only.
fn column_of_combination(view: &DagView, operator: &Operator) -> Option<usize> {
    let combines = |(hop, _): &(HopId, Slots)| view.role(*hop) == Role::Combination;
    let mut inputs = operator.inputs.iter();
    let column = inputs.position(|(_, bound)| *bound == InputBinding::ColumnVector);
    column.filter(|_| operator.covered.iter().any(combines))
}

/// Where decisions cut the outer product off, an Outer plan is a Cell plan.
fn covers_outer_product(view: &DagView, operator: &Operator) -> bool {
    let is_outer_product = |(hop, references): &(HopId, Slots)| {
        view.role(*hop) == Role::Product && references.is_empty()
    };
    operator.covered.iter().any(is_outer_product)
}

/// Each cell that the operator computes is zero where `main` is.
fn keeps_zeros_of(view: &DagView, operator: &Operator, main: HopId) -> bool {
    let keeps = |values: HopId| view.zero_carriers(values).binary_search(&main).is_ok();
    let references = operator.covered.last().map_or(Slots::NONE, |last| last.1);
    operator.roots().all(|root| match view.role(root) {
        Role::Aggregate(op, direction) => match Fold::of(op) {
            Fold::Product => false,
            Fold::Extreme
                if operator.template == TemplateType::MultiAggregate
                    && direction == Direction::Full =>
            {
                false
            }
            Fold::Sum | Fold::Extreme | Fold::Mean | Fold::OfRow | Fold::OfPlaces => {
                keeps(view.hop(root).inputs[0])
            }
        },
        Role::Product if operator.template == TemplateType::Outer => {
            outer::multiplication(view, root, references)
                .is_some_and(|product| keeps(product.values))
        }
        // A dot product.
        Role::Product => [0, 1].iter().any(|slot| keeps(view.operand(root, *slot))),
        Role::CellWise(_)
        | Role::Transpose
        | Role::Range
        | Role::Beside
        | Role::Combination
        | Role::Grouped
        | Role::Cumulative(_)
        | Role::Outside(_) => keeps(root),
    })
}
