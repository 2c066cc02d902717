//! Selections move down.

use super::names::{Names, columns_of, is_fallible, is_movable, is_of_rows, renamed};
use crate::{
    expression::{Expression, Function},
    plan::{JoinKind, Named, Relation},
};

/// The plan with these conditions on its rows as deep as they may stand.
pub(super) fn selected(
    known: &Names<'_>,
    relation: &Relation,
    conditions: Vec<Expression>,
) -> Relation {
    let on_input = |down: Vec<Expression>, stay: Vec<Expression>| {
        let plan = relation.map_inputs(|input| selected(known, input, down.clone()));
        filtered(plan, stay)
    };
    match relation {
        Relation::Filter { input, predicate } if is_movable(predicate) => {
            let mut all = conjuncts(predicate);
            all.extend(conditions);
            selected(known, input, all)
        }
        Relation::Select { exprs, .. } => {
            let is_of_rows = is_of_rows(exprs);
            let (down, stay) = split(conditions, |condition| {
                is_of_rows.then(|| substituted(condition, exprs, false))?
            });
            on_input(down, stay)
        }
        Relation::WithColumns { exprs, .. } => {
            let is_of_rows = exprs.iter().all(|named| is_movable(&named.expr));
            let (down, stay) = split(conditions, |condition| {
                is_of_rows.then(|| substituted(condition, exprs, true))?
            });
            on_input(down, stay)
        }
        Relation::Rename { names, .. } => {
            let names: Vec<_> = names.iter().map(|(old, new)| renamed(old, new)).collect();
            let (down, stay) = split(conditions, |condition| substituted(condition, &names, true));
            on_input(down, stay)
        }
        Relation::Drop { .. } | Relation::Concat { .. } => on_input(conditions, Vec::new()),
        Relation::Sort { by, limit, .. } => {
            let is_of_rows = limit.is_none() && by.iter().all(|key| is_movable(&key.expr));
            match is_of_rows {
                true => on_input(conditions, Vec::new()),
                false => on_input(Vec::new(), conditions),
            }
        }
        Relation::GroupBy { keys, aggs, .. } => {
            // A condition on keys leaves whole groups out; without keys there is one group whatever is left.
            let is_possible = keys.iter().all(|key| is_movable(&key.expr))
                && !aggs.iter().any(|agg| agg.expr.any(&mut is_fallible));
            let (down, stay) = split(conditions, |condition| {
                let is_possible = is_possible && !columns_of(condition).is_empty();
                is_possible.then(|| substituted(condition, keys, false))?
            });
            on_input(down, stay)
        }
        Relation::Join { .. } => joined(known, relation, conditions),
        // Which rows these have depends on all rows below.
        Relation::Filter { .. }
        | Relation::Unique { .. }
        | Relation::Slice { .. }
        | Relation::Scan { .. } => on_input(Vec::new(), conditions),
    }
}

fn joined(known: &Names<'_>, join: &Relation, conditions: Vec<Expression>) -> Relation {
    let mut plan = join.clone();
    let Relation::Join {
        left,
        right,
        how,
        left_on,
        right_on,
        ..
    } = &mut plan
    else {
        return filtered(plan, conditions);
    };
    let is_of_rows = left_on.iter().chain(right_on.iter()).all(is_movable);
    let of_left = known.of(left);
    let from_right = known.of_right_side(join);
    let from_right: Vec<_> = from_right
        .iter()
        .map(|column| renamed(&column.old, &column.new))
        .collect();
    let (to_left, conditions) = split(conditions, |condition| {
        let is_possible = is_of_rows
            && *how != JoinKind::Full
            && columns_of(condition)
                .iter()
                .all(|name| of_left.contains(name));
        is_possible.then(|| condition.clone())
    });
    let (to_right, stay) = split(conditions, |condition| {
        let is_possible = is_of_rows && matches!(how, JoinKind::Inner | JoinKind::Cross);
        is_possible.then(|| substituted(condition, &from_right, false))?
    });
    **left = selected(known, left, to_left);
    **right = selected(known, right, to_right);
    filtered(plan, stay)
}

/// The conditions that hold together.
fn conjuncts(predicate: &Expression) -> Vec<Expression> {
    match predicate {
        Expression::Call {
            function: Function::And,
            args,
            ..
        } => args.iter().flat_map(conjuncts).collect(),
        _ => vec![predicate.clone()],
    }
}

/// The conditions that may move, as they stand there, and those that stay.
fn split(
    conditions: Vec<Expression>,
    moved: impl Fn(&Expression) -> Option<Expression>,
) -> (Vec<Expression>, Vec<Expression>) {
    let (mut down, mut stay) = (Vec::new(), Vec::new());
    for condition in conditions {
        match moved(&condition) {
            Some(new) => down.push(new),
            None => stay.push(condition),
        }
    }
    (down, stay)
}

/// A condition in terms of an operator's input; `None` where that would compute something twice.
///
/// Columns that no expression makes are those of the input if `others` says so.
fn substituted(condition: &Expression, exprs: &[Named], others: bool) -> Option<Expression> {
    if let Expression::Column { name } = condition {
        return match exprs.iter().find(|named| named.name == *name) {
            Some(Named {
                expr: column @ Expression::Column { .. },
                ..
            }) => Some(column.clone()),
            Some(_) => None,
            None => others.then(|| condition.clone()),
        };
    }
    let mut is_possible = true;
    let new = condition.map_args(|arg| {
        substituted(arg, exprs, others).unwrap_or_else(|| {
            is_possible = false;
            arg.clone()
        })
    });
    is_possible.then_some(new)
}

fn filtered(plan: Relation, conditions: Vec<Expression>) -> Relation {
    let all = conditions
        .into_iter()
        .reduce(|one, other| Expression::call(Function::And, vec![one, other]));
    match all {
        None => plan,
        Some(predicate) => Relation::Filter {
            input: Box::new(plan),
            predicate,
        },
    }
}
