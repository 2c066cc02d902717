//! The names of a plan's columns, and what may move past what.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    expression::{Expression, Function},
    plan::{JoinKind, Named, Relation},
    table::Columns,
};

pub(super) struct Names<'a> {
    pub(super) sources: &'a [Columns],
}

/// A column of a join's right side.
pub(super) struct FromRight {
    /// Its name there, and in the result.
    pub(super) old: Arc<str>,
    pub(super) new: Arc<str>,
}

impl Names<'_> {
    /// The names of a plan's columns. The plan has no errors.
    pub(super) fn of(&self, relation: &Relation) -> Vec<Arc<str>> {
        match relation {
            Relation::Scan {
                columns: Some(columns),
                ..
            } => columns.clone(),
            Relation::Scan { table, .. } => {
                let columns = self.sources.get(*table).into_iter().flatten();
                columns.map(|(name, _)| Arc::clone(name)).collect()
            }
            Relation::Filter { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Unique { input, .. }
            | Relation::Slice { input, .. } => self.of(input),
            Relation::Select { exprs, .. } => names_of(exprs),
            Relation::WithColumns { input, exprs } => {
                let mut names = self.of(input);
                for name in names_of(exprs) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                names
            }
            Relation::GroupBy { keys, aggs, .. } => {
                let mut names = names_of(keys);
                names.extend(names_of(aggs));
                names
            }
            Relation::Join { left, .. } => {
                let mut names = self.of(left);
                names.extend(
                    self.of_right_side(relation)
                        .into_iter()
                        .map(|column| column.new),
                );
                names
            }
            Relation::Concat { inputs } => inputs.first().map_or(Vec::new(), |one| self.of(one)),
            Relation::Drop { input, names } => {
                let mut kept = self.of(input);
                kept.retain(|name| !names.contains(name));
                kept
            }
            Relation::Rename { input, names } => {
                let new = self.of(input).into_iter();
                new.map(|name| names.get(&name).cloned().unwrap_or(name))
                    .collect()
            }
        }
    }

    /// The columns that a join has from its right side.
    pub(super) fn of_right_side(&self, join: &Relation) -> Vec<FromRight> {
        let Relation::Join {
            left,
            right,
            how,
            right_on,
            suffix,
            ..
        } = join
        else {
            return Vec::new();
        };
        if matches!(how, JoinKind::Semi | JoinKind::Anti) {
            return Vec::new();
        }
        let of_left = self.of(left);
        let is_key = |name: &Arc<str>| {
            let mut keys = right_on.iter();
            *how != JoinKind::Full
                && keys.any(|key| matches!(key, Expression::Column { name: key } if key == name))
        };
        let kept = self.of(right).into_iter().filter(|name| !is_key(name));
        kept.map(|old| FromRight {
            new: match of_left.contains(&old) {
                true => format!("{old}{suffix}").into(),
                false => Arc::clone(&old),
            },
            old,
        })
        .collect()
    }
}

pub(super) fn names_of(exprs: &[Named]) -> Vec<Arc<str>> {
    exprs.iter().map(|named| Arc::clone(&named.name)).collect()
}

/// The column of a name under another.
pub(super) fn renamed(old: &Arc<str>, new: &Arc<str>) -> Named {
    Named {
        name: Arc::clone(new),
        expr: Expression::Column {
            name: Arc::clone(old),
        },
    }
}

pub(super) fn columns_of(expression: &Expression) -> BTreeSet<Arc<str>> {
    let mut columns = BTreeSet::new();
    expression.visit(&mut |part| {
        if let Expression::Column { name } = part {
            columns.insert(Arc::clone(name));
        }
    });
    columns
}

pub(super) fn used(exprs: &[Named]) -> BTreeSet<Arc<str>> {
    exprs
        .iter()
        .flat_map(|named| columns_of(&named.expr))
        .collect()
}

/// Whether a value of a row is the same whichever other rows there are, and no error of it would be hidden by a selection.
pub(crate) fn is_movable(expression: &Expression) -> bool {
    !expression.any(&mut |part| matches!(part, Expression::Aggregate { .. }) || is_fallible(part))
}

/// Whether it may refuse a row: a value that does not fit, an array of another length.
pub(super) fn is_fallible(part: &Expression) -> bool {
    match part {
        Expression::Array { .. } | Expression::Cast { .. } => true,
        // An exponent is cast.
        Expression::Call { function, .. } => *function == Function::Pow,
        Expression::Aggregate { .. } | Expression::Column { .. } | Expression::Literal { .. } => {
            false
        }
    }
}

/// Whether columns treat each row alone, and there are as many as rows.
pub(super) fn is_of_rows(exprs: &[Named]) -> bool {
    exprs.iter().any(|named| !named.expr.is_single())
        && exprs.iter().all(|named| is_movable(&named.expr))
}
