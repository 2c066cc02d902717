//! Sorts of which only the first rows are read.

use super::names::{is_movable, is_of_rows};
use crate::plan::Relation;

/// The plan of which only so many rows from the beginning are read; `None` for all.
pub(super) fn cut_short(relation: &Relation, first: Option<usize>) -> Relation {
    let read = match relation {
        Relation::Slice { offset, length, .. } => match (usize::try_from(*offset), length) {
            (Ok(offset), Some(length)) => Some(offset.saturating_add(*length)),
            _ => None,
        },
        // Each row alone, unless an aggregate sees them all.
        Relation::Select { exprs, .. } => first.filter(|_| is_of_rows(exprs)),
        Relation::WithColumns { exprs, .. } => {
            first.filter(|_| exprs.iter().all(|named| is_movable(&named.expr)))
        }
        Relation::Drop { .. } | Relation::Rename { .. } => first,
        Relation::Scan { .. }
        | Relation::Filter { .. }
        | Relation::GroupBy { .. }
        | Relation::Join { .. }
        | Relation::Sort { .. }
        | Relation::Unique { .. }
        | Relation::Concat { .. } => None,
    };
    let mut plan = relation.map_inputs(|input| cut_short(input, read));
    if let Relation::Sort { limit, .. } = &mut plan {
        *limit = match (*limit, first) {
            (Some(limit), Some(first)) => Some(limit.min(first)),
            (limit, first) => limit.or(first),
        };
    }
    plan
}
