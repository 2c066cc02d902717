//! Plans as indented trees, the last operator first.

use std::{
    fmt::{self, Write},
    sync::Arc,
};

use super::{JoinKind, Keep, Named, Relation, SortKey};
use crate::expression::Expression;

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, 0, f)
    }
}

fn write(plan: &Relation, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for _ in 0..depth {
        f.write_str("  ")?;
    }
    writeln!(f, "{}", Line(plan))?;
    plan.inputs()
        .into_iter()
        .try_for_each(|input| write(input, depth + 1, f))
}

/// An operator without its inputs.
pub(crate) struct Line<'a>(pub &'a Relation);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Relation::Scan { table, columns } => {
                write!(f, "scan {table}")?;
                match columns {
                    None => Ok(()),
                    Some(columns) => {
                        f.write_str(" [")?;
                        names(columns, f)?;
                        f.write_char(']')
                    }
                }
            }
            Relation::Filter { predicate, .. } => write!(f, "filter {predicate}"),
            Relation::Select { exprs, .. } => {
                f.write_str("select ")?;
                named(exprs, f)
            }
            Relation::WithColumns { exprs, .. } => {
                f.write_str("with_columns ")?;
                named(exprs, f)
            }
            Relation::GroupBy {
                keys,
                aggs,
                maintain_order,
                ..
            } => {
                f.write_str("group_by ")?;
                named(keys, f)?;
                if *maintain_order {
                    f.write_str(" in order")?;
                }
                f.write_str(": ")?;
                named(aggs, f)
            }
            Relation::Join {
                how,
                left_on,
                right_on,
                nulls_equal,
                ..
            } => {
                let how = match how {
                    JoinKind::Inner => "inner",
                    JoinKind::Left => "left",
                    JoinKind::Semi => "semi",
                    JoinKind::Anti => "anti",
                    JoinKind::Full => "full",
                    JoinKind::Cross => "cross",
                };
                write!(f, "join {how}")?;
                for (at, (left, right)) in left_on.iter().zip(right_on).enumerate() {
                    let separator = if at == 0 { " on" } else { "," };
                    write!(f, "{separator} {left} == {right}")?;
                }
                match nulls_equal {
                    true => f.write_str(", nulls equal"),
                    false => Ok(()),
                }
            }
            Relation::Sort { by, limit, .. } => {
                match limit {
                    None => f.write_str("sort ")?,
                    Some(limit) => write!(f, "top {limit} by ")?,
                }
                for (at, key) in by.iter().enumerate() {
                    let SortKey {
                        expr,
                        descending,
                        nulls_last,
                    } = key;
                    let separator = if at == 0 { "" } else { ", " };
                    write!(f, "{separator}{expr}")?;
                    if *descending {
                        f.write_str(" descending")?;
                    }
                    if *nulls_last {
                        f.write_str(" nulls last")?;
                    }
                }
                Ok(())
            }
            Relation::Unique { subset, keep, .. } => {
                f.write_str("unique")?;
                if let Some(subset) = subset {
                    f.write_char(' ')?;
                    names(subset, f)?;
                }
                let keep = match keep {
                    Keep::First => "first",
                    Keep::Last => "last",
                    Keep::Any => "any",
                    Keep::None => "none",
                };
                write!(f, ", keep {keep}")
            }
            Relation::Slice { offset, length, .. } => match length {
                None => write!(f, "slice {offset}.."),
                Some(length) => write!(f, "slice {offset}, {length} rows"),
            },
            Relation::Concat { inputs } => write!(f, "concat {} tables", inputs.len()),
            Relation::Drop { names: dropped, .. } => {
                f.write_str("drop ")?;
                names(dropped, f)
            }
            Relation::Rename { names, .. } => {
                f.write_str("rename ")?;
                for (at, (old, new)) in names.iter().enumerate() {
                    let separator = if at == 0 { "" } else { ", " };
                    write!(f, "{separator}{old} to {new}")?;
                }
                Ok(())
            }
        }
    }
}

fn names(names: &[Arc<str>], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, name) in names.iter().enumerate() {
        let separator = if at == 0 { "" } else { ", " };
        write!(f, "{separator}{name}")?;
    }
    Ok(())
}

fn named(exprs: &[Named], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, Named { name, expr }) in exprs.iter().enumerate() {
        let separator = if at == 0 { "" } else { ", " };
        match expr {
            Expression::Column { name: same } if same == name => write!(f, "{separator}{name}")?,
            _ => write!(f, "{separator}{name} = {expr}")?,
        }
    }
    Ok(())
}
