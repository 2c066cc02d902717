//! Columns that nobody reads are left out.

use std::{collections::BTreeSet, sync::Arc};

use super::names::{Names, columns_of, renamed, used};
use crate::{
    expression::Expression,
    plan::{Named, Relation},
};

type Needed = BTreeSet<Arc<str>>;

/// The plan with these columns at least, in their order, and as few others as may be. All where `needed` is `None`.
pub(super) fn pruned(known: &Names<'_>, relation: &Relation, needed: Option<&Needed>) -> Relation {
    let is_needed = |name: &Arc<str>| needed.is_none_or(|needed| needed.contains(name));
    let with = |more: &mut dyn Iterator<Item = &Expression>| {
        needed.map(|needed| {
            let mut all = needed.clone();
            more.for_each(|expr| all.extend(columns_of(expr)));
            all
        })
    };
    let on_input = |plan: &Relation, needed: Option<&Needed>| {
        plan.map_inputs(|input| pruned(known, input, needed))
    };
    match relation {
        Relation::Scan { table, .. } => {
            let names = known.of(relation);
            let columns: Vec<_> = names
                .iter()
                .filter(|name| is_needed(name))
                .cloned()
                .collect();
            match columns.len() == names.len() {
                true => relation.clone(),
                false => Relation::Scan {
                    table: *table,
                    columns: Some(columns),
                },
            }
        }
        Relation::Filter { predicate, .. } => {
            on_input(relation, with(&mut std::iter::once(predicate)).as_ref())
        }
        Relation::Sort { by, .. } => {
            on_input(relation, with(&mut by.iter().map(|key| &key.expr)).as_ref())
        }
        Relation::Slice { .. } => on_input(relation, needed),
        Relation::Select { input, exprs } => {
            let mut kept = needed_of(exprs, &is_needed);
            // The number of rows hangs on a column.
            if kept.iter().all(|named| named.expr.is_single()) {
                let of_rows = exprs.iter().find(|named| !named.expr.is_single());
                kept.extend(of_rows.cloned());
            }
            if kept.is_empty() {
                kept.extend(exprs.first().cloned());
            }
            Relation::Select {
                input: Box::new(pruned(known, input, Some(&used(&kept)))),
                exprs: kept,
            }
        }
        Relation::WithColumns { input, exprs } => {
            let kept = needed_of(exprs, &is_needed);
            let of_input = known.of(input);
            let needed = needed.map(|needed| {
                let mut all = needed.clone();
                // A column that another one takes the place of holds that place.
                kept.iter()
                    .filter(|named| !of_input.contains(&named.name))
                    .for_each(|named| {
                        all.remove(&named.name);
                    });
                all.extend(used(&kept));
                all
            });
            let input = pruned(known, input, needed.as_ref());
            let reads_arrays = kept.iter().any(|named| {
                (named.expr).any(&mut |part| matches!(part, Expression::Array { .. }))
            });
            // Arrays stand beside rows that are put together before.
            let input = match (&needed, reads_arrays) {
                (Some(needed), true) => exactly(known, input, needed),
                _ => input,
            };
            match kept.is_empty() {
                true => input,
                false => Relation::WithColumns {
                    input: Box::new(input),
                    exprs: kept,
                },
            }
        }
        Relation::GroupBy {
            input,
            keys,
            aggs,
            maintain_order,
        } => {
            let aggs = needed_of(aggs, &is_needed);
            let mut needed = used(keys);
            needed.extend(used(&aggs));
            Relation::GroupBy {
                input: Box::new(pruned(known, input, Some(&needed))),
                keys: keys.clone(),
                aggs,
                maintain_order: *maintain_order,
            }
        }
        Relation::Unique { subset, .. } => {
            let needed = match (needed, subset) {
                // All columns count.
                (None, _) | (_, None) => None,
                (Some(needed), Some(subset)) => {
                    Some(needed.iter().chain(subset).cloned().collect())
                }
            };
            on_input(relation, needed.as_ref())
        }
        Relation::Drop { input, names } => {
            let of_input = known.of(input).into_iter();
            let kept = of_input.filter(|name| !names.contains(name) && is_needed(name));
            let input = Box::new(pruned(known, input, Some(&kept.collect())));
            // An operator below may have kept some for itself.
            let left = known.of(&input);
            let names = names.iter().filter(|name| left.contains(name)).cloned();
            let names: Vec<_> = names.collect();
            match names.is_empty() {
                true => *input,
                false => Relation::Drop { input, names },
            }
        }
        Relation::Rename { input, names } => {
            let new = |old: &Arc<str>| Arc::clone(names.get(old).unwrap_or(old));
            let of_input = known.of(input).into_iter();
            let kept = of_input.filter(|old| is_needed(&new(old)));
            let input = Box::new(pruned(known, input, Some(&kept.collect())));
            let left = known.of(&input);
            let names = names.iter().filter(|(old, _)| left.contains(old));
            Relation::Rename {
                names: names
                    .map(|(old, new)| (Arc::clone(old), Arc::clone(new)))
                    .collect(),
                input,
            }
        }
        Relation::Concat { inputs } => {
            let names = known.of(relation);
            let wanted: Vec<_> = names.into_iter().filter(|name| is_needed(name)).collect();
            if wanted.is_empty() {
                return on_input(relation, None);
            }
            // Columns are joined by their places: each input is made to have exactly these.
            let needed = wanted.iter().cloned().collect();
            let inputs = inputs.iter().map(|input| {
                let input = pruned(known, input, Some(&needed));
                selected(known, input, &wanted)
            });
            Relation::Concat {
                inputs: inputs.collect(),
            }
        }
        Relation::Join { .. } => joined(known, relation, needed),
    }
}

fn needed_of(exprs: &[Named], is_needed: &dyn Fn(&Arc<str>) -> bool) -> Vec<Named> {
    exprs
        .iter()
        .filter(|named| is_needed(&named.name))
        .cloned()
        .collect()
}

fn joined(known: &Names<'_>, join: &Relation, needed: Option<&Needed>) -> Relation {
    let mut plan = join.clone();
    let Relation::Join {
        left,
        right,
        left_on,
        right_on,
        ..
    } = &mut plan
    else {
        return plan;
    };
    let is_needed = |name: &Arc<str>| needed.is_none_or(|needed| needed.contains(name));
    let mut of_left: Needed = known
        .of(left)
        .into_iter()
        .filter(|name| is_needed(name))
        .collect();
    let mut of_right = Needed::new();
    for column in known.of_right_side(join) {
        if is_needed(&column.new) {
            // The suffix comes from a column on the left, which therefore stays.
            if column.old != column.new {
                of_left.insert(Arc::clone(&column.old));
            }
            of_right.insert(column.old);
        }
    }
    left_on
        .iter()
        .for_each(|key| of_left.extend(columns_of(key)));
    right_on
        .iter()
        .for_each(|key| of_right.extend(columns_of(key)));
    // What a selection below alone has read is not put together with its partners.
    **left = exactly(known, pruned(known, left, Some(&of_left)), &of_left);
    **right = exactly(known, pruned(known, right, Some(&of_right)), &of_right);
    plan
}

/// The plan with no columns but these, as far as there are any: the number of rows hangs on one.
fn exactly(known: &Names<'_>, plan: Relation, needed: &Needed) -> Relation {
    let names = known.of(&plan).into_iter();
    let wanted: Vec<_> = names.filter(|name| needed.contains(name)).collect();
    match wanted.is_empty() {
        true => plan,
        false => selected(known, plan, &wanted),
    }
}

/// The plan with these columns alone, in this order.
fn selected(known: &Names<'_>, plan: Relation, wanted: &[Arc<str>]) -> Relation {
    match known.of(&plan) == wanted {
        true => plan,
        false => Relation::Select {
            input: Box::new(plan),
            exprs: wanted.iter().map(|name| renamed(name, name)).collect(),
        },
    }
}
