//! Plans as front ends send them.

mod display;
mod json;

use std::{collections::BTreeMap, sync::Arc};

pub use json::MOST_NESTED;
use serde::Deserialize;

use crate::expression::Expression;

/// An expression and the name of the column that it becomes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    pub name: Arc<str>,
    pub expr: Expression,
}

/// What rows are sorted by.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SortKey {
    pub expr: Expression,
    #[serde(default)]
    pub descending: bool,
    #[serde(default)]
    pub nulls_last: bool,
}

/// Which rows a join has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinKind {
    Inner,
    Left,
    Semi,
    Anti,
    Full,
    Cross,
}

/// Which of equal rows stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    #[default]
    First,
    Last,
    Any,
    None,
}

/// A plan over tables.
///
/// ```
/// use fulgurite_relation::Relation;
/// let plan = Relation::from_json(
///     r#"{"filter": {"input": {"scan": 0}, "predicate":
///         {"call": "gt", "args": [{"col": "a"}, {"lit": 1, "type": "int"}]}}}"#,
/// )?;
/// assert_eq!(plan.to_string(), "filter col(\"a\") > 1\n  scan 0\n");
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "json::Written")]
pub enum Relation {
    /// The table of this place, or only some columns of it.
    Scan {
        table: usize,
        columns: Option<Vec<Arc<str>>>,
    },
    /// The rows for which the predicate is true.
    Filter {
        input: Box<Relation>,
        predicate: Expression,
    },
    Select {
        input: Box<Relation>,
        exprs: Vec<Named>,
    },
    /// New columns behind those of the input; of a known name they take its place.
    WithColumns {
        input: Box<Relation>,
        exprs: Vec<Named>,
    },
    GroupBy {
        input: Box<Relation>,
        keys: Vec<Named>,
        aggs: Vec<Named>,
        maintain_order: bool,
    },
    Join {
        left: Box<Relation>,
        right: Box<Relation>,
        how: JoinKind,
        left_on: Vec<Expression>,
        right_on: Vec<Expression>,
        suffix: Arc<str>,
        nulls_equal: bool,
    },
    /// Stable. With `limit` only so many rows from the beginning.
    Sort {
        input: Box<Relation>,
        by: Vec<SortKey>,
        limit: Option<usize>,
    },
    Unique {
        input: Box<Relation>,
        subset: Option<Vec<Arc<str>>>,
        keep: Keep,
    },
    /// A negative offset counts from the end.
    Slice {
        input: Box<Relation>,
        offset: i64,
        length: Option<usize>,
    },
    Concat {
        inputs: Vec<Relation>,
    },
    Drop {
        input: Box<Relation>,
        names: Vec<Arc<str>>,
    },
    Rename {
        input: Box<Relation>,
        names: BTreeMap<Arc<str>, Arc<str>>,
    },
}

impl Relation {
    /// The plans that it reads.
    pub fn inputs(&self) -> Vec<&Relation> {
        match self {
            Relation::Scan { .. } => Vec::new(),
            Relation::Join { left, right, .. } => vec![left, right],
            Relation::Concat { inputs } => inputs.iter().collect(),
            Relation::Filter { input, .. }
            | Relation::Select { input, .. }
            | Relation::WithColumns { input, .. }
            | Relation::GroupBy { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Unique { input, .. }
            | Relation::Slice { input, .. }
            | Relation::Drop { input, .. }
            | Relation::Rename { input, .. } => vec![input],
        }
    }
}

impl Relation {
    /// The same operator on other inputs.
    pub fn map_inputs(&self, mut f: impl FnMut(&Relation) -> Relation) -> Relation {
        let mut plan = self.clone();
        match &mut plan {
            Relation::Scan { .. } => {}
            Relation::Join { left, right, .. } => {
                **left = f(left);
                **right = f(right);
            }
            Relation::Concat { inputs } => {
                for input in inputs {
                    *input = f(input);
                }
            }
            Relation::Filter { input, .. }
            | Relation::Select { input, .. }
            | Relation::WithColumns { input, .. }
            | Relation::GroupBy { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Unique { input, .. }
            | Relation::Slice { input, .. }
            | Relation::Drop { input, .. }
            | Relation::Rename { input, .. } => **input = f(input),
        }
        plan
    }
}
