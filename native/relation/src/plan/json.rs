//! The form of plans in JSON.

use std::{collections::BTreeMap, sync::Arc};

use fulgurite_error::{Error, Result};
use serde::Deserialize;

use super::{JoinKind, Keep, Named, Relation, SortKey};
use crate::{deep::on_deep_stack, expression::Expression};

/// How deep the brackets of a plan may be nested: an operator or a function takes two.
pub const MOST_NESTED: usize = 2000;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Written {
    Scan(usize),
    Filter {
        input: Box<Relation>,
        predicate: Expression,
    },
    Select {
        input: Box<Relation>,
        exprs: Vec<Named>,
    },
    WithColumns {
        input: Box<Relation>,
        exprs: Vec<Named>,
    },
    GroupBy {
        input: Box<Relation>,
        keys: Vec<Named>,
        aggs: Vec<Named>,
        #[serde(default)]
        maintain_order: bool,
    },
    Join {
        left: Box<Relation>,
        right: Box<Relation>,
        how: JoinKind,
        #[serde(default)]
        left_on: Vec<Expression>,
        #[serde(default)]
        right_on: Vec<Expression>,
        suffix: Option<Arc<str>>,
        #[serde(default)]
        nulls_equal: bool,
    },
    Sort {
        input: Box<Relation>,
        by: Vec<SortKey>,
    },
    Unique {
        input: Box<Relation>,
        subset: Option<Vec<Arc<str>>>,
        #[serde(default)]
        keep: Keep,
    },
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

impl From<Written> for Relation {
    fn from(written: Written) -> Relation {
        match written {
            Written::Scan(table) => Relation::Scan {
                table,
                columns: None,
            },
            Written::Filter { input, predicate } => Relation::Filter { input, predicate },
            Written::Select { input, exprs } => Relation::Select { input, exprs },
            Written::WithColumns { input, exprs } => Relation::WithColumns { input, exprs },
            Written::GroupBy {
                input,
                keys,
                aggs,
                maintain_order,
            } => Relation::GroupBy {
                input,
                keys,
                aggs,
                maintain_order,
            },
            Written::Join {
                left,
                right,
                how,
                left_on,
                right_on,
                suffix,
                nulls_equal,
            } => Relation::Join {
                left,
                right,
                how,
                left_on,
                right_on,
                suffix: suffix.unwrap_or_else(|| "_right".into()),
                nulls_equal,
            },
            Written::Sort { input, by } => Relation::Sort {
                input,
                by,
                limit: None,
            },
            Written::Unique {
                input,
                subset,
                keep,
            } => Relation::Unique {
                input,
                subset,
                keep,
            },
            Written::Slice {
                input,
                offset,
                length,
            } => Relation::Slice {
                input,
                offset,
                length,
            },
            Written::Concat { inputs } => Relation::Concat { inputs },
            Written::Drop { input, names } => Relation::Drop { input, names },
            Written::Rename { input, names } => Relation::Rename { input, names },
        }
    }
}

impl Relation {
    /// The plan that this JSON text says.
    ///
    /// # Errors
    /// `syntax` for text that is no JSON; `plan` for JSON that is no plan; `argument` for a plan that is nested too deeply.
    pub fn from_json(text: &str) -> Result<Relation> {
        let depth = nesting(text);
        if depth > MOST_NESTED {
            return Err(Error::argument(format!(
                "a plan of {depth} levels is nested too deeply: the most are {MOST_NESTED}"
            ))
            .with_help("collect an intermediate result"));
        }
        on_deep_stack(|| {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            deserializer.disable_recursion_limit();
            let relation = Relation::deserialize(&mut deserializer);
            let relation = relation.and_then(|relation| {
                deserializer.end()?;
                Ok(relation)
            });
            relation.map_err(|error| match error.classify() {
                serde_json::error::Category::Data => {
                    Error::plan(format!("the JSON is no plan of tables: {error}"))
                }
                serde_json::error::Category::Io
                | serde_json::error::Category::Syntax
                | serde_json::error::Category::Eof => {
                    Error::syntax(format!("a plan of tables is no JSON: {error}"))
                }
            })
        })
    }
}

/// How deep the brackets are nested.
fn nesting(text: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0);
    let mut in_string = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                bytes.next();
            }
            b'{' | b'[' if !in_string => {
                depth += 1;
                most = most.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}
