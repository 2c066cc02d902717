//! Multi-aggregates (MAgg): aggregates over matrices that they share, in one scan. All are over all cells, all over
//! each column, all over each row, or (Group) all over the same groups of rows.
//!
//! They are composed of what selection chose, within and across partitions: a scan of one partition may well
//! serve the aggregate of another one. Candidates are Cell operators that end in an aggregate, Group operators, and basic
//! aggregates. They are merged greedily where
//! * they have one direction, or the same groups;
//! * they read a matrix cell by cell that the other one reads too, and run over as many rows and columns;
//! * neither needs the other one's result, not even by way of aggregates that are merged already;
//! * the model says that one scan costs no more. (It would, where the zeros that one skips have to be visited for
//!   the other, and where cutting the aggregates out of one output takes longer than another scan.)

use fulgurite_hop::{AggregateOp, Direction, HopId, Literal};

use crate::{
    cost::CostModel,
    cplan::InputBinding,
    memo::{Slots, TemplateType},
    operator::{Chooser, Operator, access},
    roles::{Fold, Role},
    selection::{Fate, Selection},
    template::group,
    view::{DagView, Shape},
};

/// Merges operators of the selection, up to `limit` aggregates in one.
pub(crate) fn combine_aggregates(
    view: &DagView,
    costs: &CostModel,
    chooser: &mut Chooser,
    selection: &mut Selection,
    limit: usize,
) {
    let mut groups = candidates(view, costs, selection);
    if groups.len() < 2 {
        return;
    }
    find_dependencies(view, &mut groups);
    let mut first = 0;
    while first < groups.len() {
        // What was left out may share a matrix with what was taken in since.
        let partner = (first + 1..groups.len()).find_map(|second| {
            let (a, b) = (&groups[first], &groups[second]);
            let count = a.operator.roots().count() + b.operator.roots().count();
            let merged =
                (count <= a.over.most(limit)).then(|| merge(view, costs, chooser, a, b))??;
            Some((second, merged))
        });
        match partner {
            Some((second, merged)) => {
                groups.remove(second);
                for group in &mut groups {
                    if group.depends_on.intersects(&merged.members) {
                        group.depends_on.extend(&merged.members);
                        group.depends_on.extend(&merged.depends_on);
                    }
                }
                groups[first] = merged;
            }
            None => first += 1,
        }
    }
    for group in groups {
        if !group.operator.siblings.is_empty() {
            selection.put_in_place_of_its_roots(group.operator);
        }
    }
}

/// What aggregates run over.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Over {
    Direction(Direction),
    /// The groups, and how many there are.
    Groups(HopId, GroupCount),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum GroupCount {
    Known(f64),
    Of(HopId),
}

impl Over {
    /// Aggregates that one scan may compute, if so many over all cells are. Those of groups stay in no registers.
    fn most(self, limit: usize) -> usize {
        const OF_GROUPS: usize = 16;
        match self {
            Over::Direction(_) => limit,
            Over::Groups(..) if limit > 1 => OF_GROUPS.max(limit),
            Over::Groups(..) => limit,
        }
    }

    /// By how much of the seconds of two scans one scan may take longer, as the model reckons.
    fn tolerance(self) -> f64 {
        match self {
            // Sums of the same seconds in another order are not quite the same.
            Over::Direction(Direction::Full) => 1e-9,
            // The model hides all reading behind computing that takes longer, and then sees only what cutting out takes. So
            // little is less than it is wrong by, and one scan moves fewer bytes.
            Over::Direction(Direction::Row | Direction::Col) | Over::Groups(..) => 0.02,
        }
    }
}

struct Group {
    operator: Operator,
    over: Over,
    shape: Shape,
    seconds: f64,
    members: Numbers,
    /// All candidates that must have run before.
    depends_on: Numbers,
}

fn candidates(view: &DagView, costs: &CostModel, selection: &Selection) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let fused = selection.operators.iter();
    let is_merged = |template| matches!(template, TemplateType::Cell | TemplateType::Group);
    let fused = fused.filter(|operator| is_merged(operator.template));
    let fused = fused.map(|operator| (operator.clone(), costs.fused(operator)));
    let basic = view.dag.iter().map(|(hop, _)| hop);
    let basic = basic.filter(|hop| selection.fate(*hop) == Fate::Basic);
    let basic = basic.filter_map(|hop| Some((alone(view, hop)?, costs.basic(hop))));
    for (operator, seconds) in fused.chain(basic) {
        let over = match view.role(operator.root) {
            Role::Aggregate(op, direction) => {
                is_taken(op, direction).then_some(Over::Direction(direction))
            }
            // A dot product.
            Role::Product => Some(Over::Direction(Direction::Full)),
            Role::Grouped => over_groups(view, operator.root),
            Role::CellWise(_)
            | Role::Transpose
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Cumulative(_)
            | Role::Outside(_) => None,
        };
        let mut matrices = operator.inputs.iter().filter(is_scanned);
        let shape = matrices.next().and_then(|(hop, _)| view.shape(*hop));
        if let (Some(over), Some(shape)) = (over, shape) {
            groups.push(Group {
                operator,
                over,
                shape,
                seconds,
                members: Numbers::default(),
                depends_on: Numbers::default(),
            });
        }
    }
    groups.sort_by_key(|group| group.operator.root);
    groups
}

/// Whether several aggregates of this kind can be had at once.
fn is_taken(op: AggregateOp, direction: Direction) -> bool {
    match (Fold::of(op), direction) {
        (Fold::Sum | Fold::Extreme, _) | (Fold::Mean, Direction::Row | Direction::Col) => true,
        (Fold::Mean, Direction::Full) | (Fold::Product | Fold::OfRow | Fold::OfPlaces, _) => false,
    }
}

/// The groups of a grouped aggregate of a column. (Several columns would lie where only their number tells.)
fn over_groups(view: &DagView, hop: HopId) -> Option<Over> {
    let target = group::grouped(view, hop).ok()?;
    let grouping = view.grouping(hop)?;
    let input = |slot: usize| view.hop(hop).inputs[slot];
    let count = input(grouping.count);
    let known = view.hop(count).op.constant().and_then(Literal::as_f64);
    let count = known.map_or(GroupCount::Of(count), GroupCount::Known);
    (target.cols == 1).then(|| Over::Groups(input(grouping.groups), count))
}

fn is_scanned((_, bound): &&(HopId, InputBinding)) -> bool {
    *bound == InputBinding::Matrix
}

/// A basic aggregate as an operator.
fn alone(view: &DagView, hop: HopId) -> Option<Operator> {
    let template = match view.role(hop) {
        Role::Aggregate(..) => TemplateType::Cell,
        Role::Grouped if group::grouped(view, hop).is_ok() => TemplateType::Group,
        _ => return None,
    };
    let input = *view.hop(hop).inputs.first()?;
    if template == TemplateType::Cell && view.shape(input)?.is_single_cell() {
        return None;
    }
    let slots = 0..view.hop(hop).inputs.len();
    let inputs = slots.filter_map(|slot| access(view, template, hop, Slots::NONE, slot));
    Some(Operator {
        root: hop,
        template,
        covered: vec![(hop, Slots::NONE)],
        inputs: inputs.collect(),
        ..Operator::new()
    })
}

fn find_dependencies(view: &DagView, groups: &mut [Group]) {
    let mut number_of = vec![None; view.dag.len()];
    for (number, group) in groups.iter_mut().enumerate() {
        number_of[group.operator.root.index()] = Some(number);
        group.members.insert(number);
    }
    let mut needs: Vec<Numbers> = Vec::with_capacity(view.dag.len());
    for (id, hop) in view.dag.iter() {
        let mut all = Numbers::default();
        for input in &hop.inputs {
            all.extend(&needs[input.index()]);
        }
        if let Some(number) = number_of[id.index()] {
            groups[number].depends_on = all.clone();
            all.insert(number);
        }
        needs.push(all);
    }
}

fn merge(
    view: &DagView,
    costs: &CostModel,
    chooser: &mut Chooser,
    a: &Group,
    b: &Group,
) -> Option<Group> {
    let is_shared = |input: &&(HopId, InputBinding)| b.operator.inputs.contains(input);
    let mut scanned = a.operator.inputs.iter().filter(is_scanned);
    let fits = (a.over, a.shape) == (b.over, b.shape)
        && (matches!(a.over, Over::Groups(..)) || scanned.any(|input| is_shared(&input)))
        && !a.depends_on.intersects(&b.members)
        && !b.depends_on.intersects(&a.members);
    if !fits {
        return None;
    }
    let operator = together(chooser, &a.operator, &b.operator);
    let seconds = costs.fused(&operator);
    let is_no_more = seconds <= (a.seconds + b.seconds) * (1.0 + a.over.tolerance());
    if !is_no_more || costs.check(&operator).is_err() {
        return None;
    }
    let mut members = a.members.clone();
    members.extend(&b.members);
    let mut depends_on = a.depends_on.clone();
    depends_on.extend(&b.depends_on);
    debug_assert_eq!(view.shape(operator.inputs[operator.main].0), Some(a.shape));
    Some(Group {
        operator,
        over: a.over,
        shape: a.shape,
        seconds,
        members,
        depends_on,
    })
}

fn together(chooser: &mut Chooser, a: &Operator, b: &Operator) -> Operator {
    let mut all = a.clone();
    if all.template == TemplateType::Cell {
        all.template = TemplateType::MultiAggregate;
    }
    all.siblings.extend(b.roots());
    for covered in &b.covered {
        if !all.covered.contains(covered) {
            all.covered.push(*covered);
        }
    }
    for input in &b.inputs {
        if !all.inputs.contains(input) {
            all.inputs.push(*input);
        }
    }
    chooser.choose_main(&mut all);
    all
}

/// A set of small numbers.
#[derive(Debug, Clone, Default)]
struct Numbers {
    words: Vec<u64>,
}

impl Numbers {
    fn insert(&mut self, number: usize) {
        let word = number / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (number % 64);
    }

    fn extend(&mut self, other: &Numbers) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    fn intersects(&self, other: &Numbers) -> bool {
        let words = self.words.iter().zip(&other.words);
        words.into_iter().any(|(a, b)| a & b != 0)
    }
}
