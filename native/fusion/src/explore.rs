//! Candidate exploration: the open-fuse-merge-close algorithm (Algorithm 1), one pass over the DAG.
//!
//! HOPs stand in topological order, so the recursion of the paper is a loop and memoization is free.

use fulgurite_hop::HopId;

use crate::{
    explain::EdgeRefusal,
    memo::{CloseStatus, MAX_REFERENCED_INPUTS, MemoEntry, MemoTable, Slots, TemplateType},
    reason::{Reason, TemplateReason},
    roles::Role,
    template::{self, TEMPLATES, Template},
    view::DagView,
};

/// The memo table, and for each operator of a kind that can fuse but got no entry, why.
pub(crate) struct Exploration {
    pub memo: MemoTable,
    pub refused: Vec<(HopId, Vec<TemplateReason>)>,
}

pub(crate) fn explore(view: &DagView) -> Exploration {
    let mut memo = MemoTable::new(view.dag.len());
    let mut refused = Vec::new();
    for (hop, _) in view.dag.iter() {
        if !view.is_live(hop) || !is_fusible_kind(view, hop) {
            continue;
        }
        let mut reasons = Vec::new();
        let entries = explore_operator(view, &memo, hop, &mut reasons);
        match entries.is_empty() {
            true => refused.push((hop, reasons)),
            false => memo.set_group(hop, entries),
        }
    }
    Exploration { memo, refused }
}

/// Some template has this kind of operator (on matrices); all others are never asked about.
pub(crate) fn is_fusible_kind(view: &DagView, hop: HopId) -> bool {
    let is_matrix = |hop: HopId| view.hop(hop).is_matrix();
    match view.role(hop) {
        Role::CellWise(_) | Role::Range | Role::Combination => is_matrix(hop),
        Role::Aggregate(..)
        | Role::Product
        | Role::Transpose
        | Role::Beside
        | Role::Cumulative(_) => view.hop(hop).inputs.iter().all(|input| is_matrix(*input)),
        Role::Grouped => view.grouping(hop).is_some(),
        Role::Outside(_) => false,
    }
}

fn explore_operator(
    view: &DagView,
    memo: &MemoTable,
    hop: HopId,
    reasons: &mut Vec<TemplateReason>,
) -> Vec<MemoEntry> {
    if !sizes_known(view, hop) {
        reasons.push(TemplateReason {
            template: None,
            reason: Reason::UnknownSize,
        });
        return Vec::new();
    }
    let mut entries = Vec::new();
    let mut refuse = |template: &dyn Template, reason| {
        let reason = TemplateReason {
            template: Some(template.kind()),
            reason,
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    };
    for template in TEMPLATES {
        match template.open(view, hop) {
            Ok(()) => create_plans(view, memo, hop, None, template, &mut entries),
            Err(reason) => refuse(template, reason),
        }
    }
    for slot in referenceable(view, hop) {
        let input = view.hop(hop).inputs[slot];
        for template in TEMPLATES {
            if memo.has_open_of(input, template.kind()) {
                match template::fuse(template, view, hop, slot) {
                    Ok(()) => create_plans(view, memo, hop, Some(slot), template, &mut entries),
                    Err(reason) => refuse(template, reason),
                }
            } else if memo.has(input, template.kind()) {
                refuse(template, Reason::InputsClosed);
            }
        }
    }
    prune_redundant(&mut entries);
    entries
}

/// Templates only judge operators whose shapes are known; the others are planned again when they are.
fn sizes_known(view: &DagView, hop: HopId) -> bool {
    let inputs = view.hop(hop).inputs.iter();
    inputs
        .chain([&hop])
        .filter(|hop| view.hop(**hop).is_matrix())
        .all(|hop| view.shape(*hop).is_some())
}

fn referenceable(view: &DagView, hop: HopId) -> std::ops::Range<usize> {
    0..view.hop(hop).inputs.len().min(MAX_REFERENCED_INPUTS)
}

/// Adds the plan that references `fused` (none when opening), with every combination of the other
/// inputs that the plan can merge.
fn create_plans(
    view: &DagView,
    memo: &MemoTable,
    hop: HopId,
    fused: Option<usize>,
    template: &dyn Template,
    entries: &mut Vec<MemoEntry>,
) {
    let close = template.close(view, memo, hop, fused);
    if close == CloseStatus::ClosedInvalid {
        return;
    }
    let inputs = &view.hop(hop).inputs;
    let base = fused.map_or(Slots::NONE, Slots::only);
    let mut mergeable = Slots::NONE;
    for slot in referenceable(view, hop).filter(|slot| fused != Some(*slot)) {
        if memo.has_open(inputs[slot], template.kind())
            && template::merge(template, view, hop, slot).is_ok()
        {
            mergeable = mergeable.with(slot);
        }
    }
    for merged in mergeable.subsets() {
        let references = merged.iter().fold(base, Slots::with);
        // `X * X` either has X in the plan or reads it.
        let consistent = referenceable(view, hop).all(|slot| {
            let same = |other: usize| inputs[other] == inputs[slot];
            (0..slot)
                .filter(|other| same(*other))
                .all(|other| references.contains(other) == references.contains(slot))
        });
        let entry = MemoEntry {
            template: template.kind(),
            references,
            close,
        };
        if consistent && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
}

/// Closed entries without references are basic operators under another name. (Duplicates don't arise.)
fn prune_redundant(entries: &mut Vec<MemoEntry>) {
    entries.retain(|entry| entry.close.is_open() || !entry.references.is_empty());
    entries.sort_by_key(|entry| (entry.template, entry.references));
}

/// Removes entries that a policy never takes which materialises nothing but what is consumed more than once: those
/// that lack references of another entry of their template only to what is consumed once, and has a plan to go on
/// into whatever is materialised below it.
pub(crate) fn prune_dominated(view: &DagView, memo: &mut MemoTable) {
    let all = memo.clone();
    for (hop, operator) in view.dag.iter() {
        let entries = memo.group(hop);
        let is_shared = |slot: usize| {
            let consumers = view.consumers(operator.inputs[slot]);
            consumers.iter().any(|consumer| *consumer != hop)
        };
        let can_always_follow = |template: TemplateType, slot: usize| {
            let mut inner = all.group(operator.inputs[slot]).iter();
            inner.any(|inner| {
                inner.close.is_open()
                    && template.takes(inner.template)
                    && inner.references.is_empty()
            })
        };
        let is_dominated = |entry: &MemoEntry| {
            entries.iter().any(|other| {
                let (more, less) = (other.references, entry.references);
                let is_superset = more != less && less.iter().all(|slot| more.contains(slot));
                let mut extra = more.iter().filter(|slot| !less.contains(*slot));
                is_superset
                    && (other.template, other.close) == (entry.template, entry.close)
                    && extra.all(|slot| !is_shared(slot) && can_always_follow(entry.template, slot))
            })
        };
        let kept = entries.iter().filter(|entry| !is_dominated(entry));
        let kept: Vec<MemoEntry> = kept.copied().collect();
        if kept.len() < entries.len() {
            memo.set_group(hop, kept);
        }
    }
}

/// Why no plan goes from operators on into inputs that could be part of one, for whoever asks. (Exploration itself
/// does not keep what refuses a single edge.)
pub(crate) fn edge_refusals(view: &DagView, exploration: &Exploration) -> Vec<EdgeRefusal> {
    let memo = &exploration.memo;
    let mut refusals = Vec::new();
    let live = view.dag.iter().map(|(hop, _)| hop);
    for consumer in live.filter(|hop| view.is_live(*hop) && is_fusible_kind(view, *hop)) {
        for slot in referenceable(view, consumer) {
            let input = view.hop(consumer).inputs[slot];
            let is_referenced = |entry: &MemoEntry| entry.references.contains(slot);
            if memo.group(consumer).iter().any(is_referenced) || !is_fusible_kind(view, input) {
                continue;
            }
            let refused_by = [input, consumer].into_iter().find_map(|hop| {
                let refused = exploration
                    .refused
                    .iter()
                    .find(|(refused, _)| *refused == hop);
                refused.map(|(hop, reasons)| (*hop, reasons.clone()))
            });
            let (refused_by, reasons) =
                refused_by.unwrap_or_else(|| (consumer, slot_reasons(view, memo, consumer, slot)));
            refusals.push(EdgeRefusal {
                consumer,
                input,
                refused_by,
                reasons,
            });
        }
    }
    refusals
}

fn slot_reasons(view: &DagView, memo: &MemoTable, hop: HopId, slot: usize) -> Vec<TemplateReason> {
    let input = view.hop(hop).inputs[slot];
    let mut reasons = Vec::new();
    for template in TEMPLATES {
        let reason = match memo.has_open_of(input, template.kind()) {
            true => template::fuse(template, view, hop, slot).err(),
            false => memo
                .has(input, template.kind())
                .then_some(Reason::InputsClosed),
        };
        reasons.extend(reason.map(|reason| TemplateReason {
            template: Some(template.kind()),
            reason,
        }));
    }
    reasons
}
