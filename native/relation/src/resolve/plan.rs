//! Plans whose names are looked up and whose types are known.

use std::{collections::BTreeMap, sync::Arc};

use arrow::datatypes::DataType;
use fulgurite_error::{Error, Result};
use rustc_hash::FxHashSet;

use super::expression::{Scope, TypedExpression, TypedNamed, found_by, resolve_expression};
use crate::{
    deep::on_deep_stack,
    expression::Expression,
    plan::{JoinKind, Keep, Named, Relation, SortKey},
    table::{Columns, distinct_names, unknown_column},
    types,
};

/// A plan with its columns.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedRelation {
    /// Names and types of the result.
    pub schema: Columns,
    pub node: TypedNode,
}

/// A side of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// Where a column of a join comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinColumn {
    pub side: Side,
    /// Its place in that side.
    pub index: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TypedSortKey {
    pub expr: TypedExpression,
    pub descending: bool,
    pub nulls_last: bool,
}

/// An operator. Columns are meant by their places in the input.
#[derive(Debug, Clone, PartialEq)]
pub enum TypedNode {
    Scan {
        table: usize,
        /// Places of the columns in the table.
        columns: Vec<usize>,
    },
    Filter {
        input: Box<TypedRelation>,
        predicate: TypedExpression,
    },
    /// Also of drop and rename.
    Select {
        input: Box<TypedRelation>,
        exprs: Vec<TypedNamed>,
    },
    WithColumns {
        input: Box<TypedRelation>,
        exprs: Vec<TypedNamed>,
    },
    GroupBy {
        input: Box<TypedRelation>,
        keys: Vec<TypedNamed>,
        /// Of literals, keys and aggregates of columns.
        aggs: Vec<TypedNamed>,
        maintain_order: bool,
    },
    Join {
        left: Box<TypedRelation>,
        right: Box<TypedRelation>,
        how: JoinKind,
        /// Pairwise of one type.
        left_on: Vec<TypedExpression>,
        right_on: Vec<TypedExpression>,
        nulls_equal: bool,
        /// Where the columns of the result come from.
        columns: Vec<JoinColumn>,
    },
    Sort {
        input: Box<TypedRelation>,
        by: Vec<TypedSortKey>,
        limit: Option<usize>,
    },
    Unique {
        input: Box<TypedRelation>,
        /// Places of the columns that count.
        subset: Vec<usize>,
        keep: Keep,
    },
    Slice {
        input: Box<TypedRelation>,
        offset: i64,
        length: Option<usize>,
    },
    Concat {
        /// With the same columns; a column of nulls only is cast.
        inputs: Vec<TypedRelation>,
    },
}

impl TypedNode {
    /// The name of its operator, as plans have it.
    pub fn name(&self) -> &'static str {
        match self {
            TypedNode::Scan { .. } => "scan",
            TypedNode::Filter { .. } => "filter",
            TypedNode::Select { .. } => "select",
            TypedNode::WithColumns { .. } => "with_columns",
            TypedNode::GroupBy { .. } => "group_by",
            TypedNode::Join { .. } => "join",
            TypedNode::Sort { .. } => "sort",
            TypedNode::Unique { .. } => "unique",
            TypedNode::Slice { .. } => "slice",
            TypedNode::Concat { .. } => "concat",
        }
    }

    /// Whether its own expressions read arrays beside the tables.
    pub(crate) fn reads_arrays(&self) -> bool {
        let any = |exprs: &[TypedExpression]| exprs.iter().any(TypedExpression::reads_arrays);
        let any_named = |exprs: &[TypedNamed]| exprs.iter().any(|named| named.expr.reads_arrays());
        match self {
            TypedNode::Scan { .. }
            | TypedNode::Unique { .. }
            | TypedNode::Slice { .. }
            | TypedNode::Concat { .. } => false,
            TypedNode::Filter { predicate, .. } => predicate.reads_arrays(),
            TypedNode::Select { exprs, .. } | TypedNode::WithColumns { exprs, .. } => {
                any_named(exprs)
            }
            TypedNode::GroupBy { keys, aggs, .. } => any_named(keys) || any_named(aggs),
            TypedNode::Join {
                left_on, right_on, ..
            } => any(left_on) || any(right_on),
            TypedNode::Sort { by, .. } => by.iter().any(|key| key.expr.reads_arrays()),
        }
    }
}

impl TypedRelation {
    /// What it reads, to be replaced.
    pub(crate) fn inputs_mut(&mut self) -> Vec<&mut TypedRelation> {
        match &mut self.node {
            TypedNode::Scan { .. } => Vec::new(),
            TypedNode::Join { left, right, .. } => vec![left, right],
            TypedNode::Concat { inputs } => inputs.iter_mut().collect(),
            TypedNode::Filter { input, .. }
            | TypedNode::Select { input, .. }
            | TypedNode::WithColumns { input, .. }
            | TypedNode::GroupBy { input, .. }
            | TypedNode::Sort { input, .. }
            | TypedNode::Unique { input, .. }
            | TypedNode::Slice { input, .. } => vec![input],
        }
    }

    /// What it reads.
    pub fn inputs(&self) -> Vec<&TypedRelation> {
        match &self.node {
            TypedNode::Scan { .. } => Vec::new(),
            TypedNode::Join { left, right, .. } => vec![left, right],
            TypedNode::Concat { inputs } => inputs.iter().collect(),
            TypedNode::Filter { input, .. }
            | TypedNode::Select { input, .. }
            | TypedNode::WithColumns { input, .. }
            | TypedNode::GroupBy { input, .. }
            | TypedNode::Sort { input, .. }
            | TypedNode::Unique { input, .. }
            | TypedNode::Slice { input, .. } => vec![input],
        }
    }
}

/// Looks up the names of a plan over tables of these columns, and finds its types.
///
/// `arrays` are the types of the arrays that come with the plan, where they are known.
///
/// # Errors
/// `validation` for names and types, `plan` for tables and arrays that do not come with the plan, `unsupported` for what is not there.
pub fn resolve(
    relation: &Relation,
    sources: &[Columns],
    arrays: Option<&[DataType]>,
) -> Result<TypedRelation> {
    Resolver { sources, arrays }.relation(relation)
}

struct Resolver<'a> {
    sources: &'a [Columns],
    arrays: Option<&'a [DataType]>,
}

impl Resolver<'_> {
    fn relation(&self, relation: &Relation) -> Result<TypedRelation> {
        match relation {
            Relation::Scan { table, columns } => self.scan(*table, columns.as_deref()),
            Relation::Filter { input, predicate } => {
                let input = self.input(input)?;
                let typed = self.expression(predicate, &input.schema)?;
                if *typed.data_type() != DataType::Boolean {
                    return Err(Error::validation(format!(
                        "a filter needs a predicate of type Boolean, not {}",
                        types::name(typed.data_type())
                    ))
                    .with_note(format!("the expression is {predicate}"), None));
                }
                Ok(TypedRelation {
                    schema: input.schema.clone(),
                    node: TypedNode::Filter {
                        input,
                        predicate: typed,
                    },
                })
            }
            Relation::Select { input, exprs } => {
                let input = self.input(input)?;
                let exprs = self.named(exprs, &input.schema)?;
                distinct(&exprs)?;
                Ok(TypedRelation {
                    schema: schema_of(&exprs),
                    node: TypedNode::Select { input, exprs },
                })
            }
            Relation::WithColumns { input, exprs } => {
                let input = self.input(input)?;
                let exprs = self.named(exprs, &input.schema)?;
                distinct(&exprs)?;
                let mut schema = input.schema.clone();
                for (name, kind) in schema_of(&exprs) {
                    match schema.iter_mut().find(|(known, _)| *known == name) {
                        Some(column) => column.1 = kind,
                        None => schema.push((name, kind)),
                    }
                }
                Ok(TypedRelation {
                    schema,
                    node: TypedNode::WithColumns { input, exprs },
                })
            }
            Relation::GroupBy {
                input,
                keys,
                aggs,
                maintain_order,
            } => self.group_by(input, keys, aggs, *maintain_order),
            Relation::Join {
                left,
                right,
                how,
                left_on,
                right_on,
                suffix,
                nulls_equal,
            } => self.join(left, right, *how, (left_on, right_on), suffix, *nulls_equal),
            Relation::Sort { input, by, limit } => {
                let input = self.input(input)?;
                let by = by.iter().map(|key| {
                    let SortKey {
                        expr,
                        descending,
                        nulls_last,
                    } = key;
                    let expr = self.expression(expr, &input.schema)?;
                    found_by("a sort by a column", &expr)?;
                    Ok(TypedSortKey {
                        expr,
                        descending: *descending,
                        nulls_last: *nulls_last,
                    })
                });
                let by = by.collect::<Result<_>>()?;
                Ok(TypedRelation {
                    schema: input.schema.clone(),
                    node: TypedNode::Sort {
                        input,
                        by,
                        limit: *limit,
                    },
                })
            }
            Relation::Unique {
                input,
                subset,
                keep,
            } => {
                let input = self.input(input)?;
                let subset: Vec<usize> = match subset {
                    None => (0..input.schema.len()).collect(),
                    Some(names) => {
                        let places = names.iter().map(|name| place(name, &input.schema));
                        places.collect::<Result<_>>()?
                    }
                };
                for at in &subset {
                    let key = column((*at, &input.schema[*at]));
                    found_by("rows that differ in a column", &key)?;
                }
                Ok(TypedRelation {
                    schema: input.schema.clone(),
                    node: TypedNode::Unique {
                        input,
                        subset,
                        keep: *keep,
                    },
                })
            }
            Relation::Slice {
                input,
                offset,
                length,
            } => {
                let input = self.input(input)?;
                Ok(TypedRelation {
                    schema: input.schema.clone(),
                    node: TypedNode::Slice {
                        input,
                        offset: *offset,
                        length: *length,
                    },
                })
            }
            Relation::Concat { inputs } => self.concat(inputs),
            Relation::Drop { input, names } => {
                let input = self.input(input)?;
                for name in names {
                    place(name, &input.schema)?;
                }
                Ok(renamed(input, |name| {
                    (!names.contains(name)).then(|| Arc::clone(name))
                }))
            }
            Relation::Rename { input, names } => self.rename(input, names),
        }
    }

    fn input(&self, relation: &Relation) -> Result<Box<TypedRelation>> {
        self.relation(relation).map(Box::new)
    }

    fn expression(&self, expression: &Expression, columns: &Columns) -> Result<TypedExpression> {
        let arrays = self.arrays;
        resolve_expression(expression, Scope { columns, arrays })
    }

    fn named(&self, exprs: &[Named], columns: &Columns) -> Result<Vec<TypedNamed>> {
        let typed = exprs.iter().map(|Named { name, expr }| {
            Ok(TypedNamed {
                name: Arc::clone(name),
                expr: self.expression(expr, columns)?,
            })
        });
        typed.collect()
    }

    fn scan(&self, table: usize, columns: Option<&[Arc<str>]>) -> Result<TypedRelation> {
        let Some(source) = self.sources.get(table) else {
            return Err(Error::plan(format!(
                "a scan of table {table} of {}",
                self.sources.len()
            )));
        };
        let columns: Vec<usize> = match columns {
            None => (0..source.len()).collect(),
            Some(names) => {
                let places = names.iter().map(|name| place(name, source));
                places.collect::<Result<_>>()?
            }
        };
        Ok(TypedRelation {
            schema: columns.iter().map(|at| source[*at].clone()).collect(),
            node: TypedNode::Scan { table, columns },
        })
    }

    fn group_by(
        &self,
        input: &Relation,
        keys: &[Named],
        aggs: &[Named],
        maintain_order: bool,
    ) -> Result<TypedRelation> {
        let input = self.input(input)?;
        let keys = self.named(keys, &input.schema)?;
        for key in &keys {
            found_by("a group by a column", &key.expr)?;
        }
        for Named { expr, .. } in aggs {
            if let Some(column) = outside_aggregates(expr) {
                return Err(Error::unsupported(format!(
                    "{expr} has a list of values for each group: {column} is not aggregated"
                ))
                .with_help("aggregate it, with sum() or first() say"));
            }
        }
        let aggs = self.named(aggs, &input.schema)?;
        let names = keys.iter().chain(&aggs);
        let names: Vec<_> = names.map(|named| Arc::clone(&named.name)).collect();
        distinct_names(&names)?;
        let mut schema = schema_of(&keys);
        schema.extend(schema_of(&aggs));
        Ok(TypedRelation {
            schema,
            node: TypedNode::GroupBy {
                input,
                keys,
                aggs,
                maintain_order,
            },
        })
    }

    fn join(
        &self,
        left: &Relation,
        right: &Relation,
        how: JoinKind,
        (left_on, right_on): (&[Expression], &[Expression]),
        suffix: &str,
        nulls_equal: bool,
    ) -> Result<TypedRelation> {
        let (left, right) = (self.input(left)?, self.input(right)?);
        if left_on.len() != right_on.len() {
            return Err(Error::validation(format!(
                "a join of {} keys on the left with {} on the right",
                left_on.len(),
                right_on.len()
            )));
        }
        if (how == JoinKind::Cross) != left_on.is_empty() {
            return Err(Error::validation(match how {
                JoinKind::Cross => "a cross join takes no keys",
                _ => "a join needs keys: on, or left_on and right_on",
            }));
        }
        let (mut left_keys, mut right_keys) = (Vec::new(), Vec::new());
        for (one, other) in left_on.iter().zip(right_on) {
            let typed_left = self.expression(one, &left.schema)?;
            let typed_right = self.expression(other, &right.schema)?;
            found_by("a join on a column", &typed_left)?;
            found_by("a join on a column", &typed_right)?;
            let (a, b) = (typed_left.data_type(), typed_right.data_type());
            let Some(common) = key_type(a, b) else {
                return Err(Error::validation(format!(
                    "a join on {one} of type {} and {other} of type {}",
                    types::name(a),
                    types::name(b)
                ))
                .with_help("cast one of them to the type of the other"));
            };
            left_keys.push(cast_to(typed_left, &common));
            right_keys.push(cast_to(typed_right, &common));
        }
        let mut columns = Vec::new();
        let mut schema = Columns::new();
        for (index, column) in left.schema.iter().enumerate() {
            schema.push(column.clone());
            columns.push(JoinColumn {
                side: Side::Left,
                index,
            });
        }
        if !matches!(how, JoinKind::Semi | JoinKind::Anti) {
            // Keys that are columns are on the left already, but where rows of the right have no partner.
            let is_key = |name: &Arc<str>| {
                how != JoinKind::Full
                    && right_on
                        .iter()
                        .any(|key| matches!(key, Expression::Column { name: key } if key == name))
            };
            let of_left: FxHashSet<&str> = left.schema.iter().map(|(name, _)| &**name).collect();
            for (index, (name, kind)) in right.schema.iter().enumerate() {
                if is_key(name) {
                    continue;
                }
                let name = match of_left.contains(&**name) {
                    true => format!("{name}{suffix}").into(),
                    false => Arc::clone(name),
                };
                schema.push((name, kind.clone()));
                columns.push(JoinColumn {
                    side: Side::Right,
                    index,
                });
            }
        }
        let names: Vec<_> = schema.iter().map(|(name, _)| Arc::clone(name)).collect();
        distinct_names(&names).map_err(|error| {
            error
                .with_note(
                    format!("columns of the right table get the suffix '{suffix}'"),
                    None,
                )
                .with_help("give another suffix")
        })?;
        Ok(TypedRelation {
            schema,
            node: TypedNode::Join {
                left,
                right,
                how,
                left_on: left_keys,
                right_on: right_keys,
                nulls_equal,
                columns,
            },
        })
    }

    fn concat(&self, inputs: &[Relation]) -> Result<TypedRelation> {
        let inputs = inputs.iter().map(|input| self.relation(input));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let Some(first) = inputs.first() else {
            return Err(Error::plan("a concat of no tables"));
        };
        let mut schema = first.schema.clone();
        for (at, input) in inputs.iter().enumerate().skip(1) {
            let names = |columns: &Columns| {
                let names = columns.iter().map(|(name, _)| format!("'{name}'"));
                names.collect::<Vec<_>>().join(", ")
            };
            if !input
                .schema
                .iter()
                .map(|(name, _)| name)
                .eq(schema.iter().map(|(name, _)| name))
            {
                return Err(Error::validation(format!(
                    "concat of the columns {} with table {}, which has {}",
                    names(&schema),
                    at + 1,
                    names(&input.schema)
                ))
                .with_help("select the same columns in the same order"));
            }
            for ((name, kind), (_, other)) in schema.iter_mut().zip(&input.schema) {
                let is_same = kind == other
                    || *other == DataType::Null
                    || *kind == DataType::Null
                    || types::is_text(kind) && types::is_text(other);
                if !is_same {
                    return Err(Error::validation(format!(
                        "concat of column '{name}' of type {} with one of type {} in table {}",
                        types::name(kind),
                        types::name(other),
                        at + 1
                    ))
                    .with_help("cast one of them to the type of the other"));
                }
                if let Some(common) = types::common(kind, other) {
                    *kind = common;
                }
            }
        }
        let inputs = inputs
            .into_iter()
            .map(|input| cast_columns(input, &schema))
            .collect();
        Ok(TypedRelation {
            schema,
            node: TypedNode::Concat { inputs },
        })
    }

    fn rename(
        &self,
        input: &Relation,
        names: &BTreeMap<Arc<str>, Arc<str>>,
    ) -> Result<TypedRelation> {
        let input = self.input(input)?;
        for name in names.keys() {
            place(name, &input.schema)?;
        }
        let renamed = renamed(input, |name| {
            Some(Arc::clone(names.get(name).unwrap_or(name)))
        });
        let names: Vec<_> = renamed
            .schema
            .iter()
            .map(|(name, _)| Arc::clone(name))
            .collect();
        distinct_names(&names)?;
        Ok(renamed)
    }
}

/// The type in which keys of a join are equal; floating-point numbers are joined with their kind only.
fn key_type(one: &DataType, other: &DataType) -> Option<DataType> {
    let is_possible = one == other
        || types::is_text(one) && types::is_text(other)
        || one.is_integer() && other.is_integer()
        || one.is_floating() && other.is_floating();
    if !is_possible {
        return None;
    }
    match (one, other) {
        // The keys are equal where the bits are, but for those beyond either type.
        _ if one.is_integer() && types::common(one, other).is_none() => None,
        _ => types::common(one, other),
    }
}

/// The place of a column.
fn place(name: &Arc<str>, columns: &Columns) -> Result<usize> {
    let at = columns.iter().position(|(known, _)| known == name);
    at.ok_or_else(|| unknown_column(name, columns.iter().map(|(name, _)| name)))
}

fn distinct(exprs: &[TypedNamed]) -> Result<()> {
    let names: Vec<_> = exprs.iter().map(|named| Arc::clone(&named.name)).collect();
    distinct_names(&names)
}

fn schema_of(exprs: &[TypedNamed]) -> Columns {
    exprs
        .iter()
        .map(|named| (Arc::clone(&named.name), named.expr.data_type().clone()))
        .collect()
}

fn column((index, (name, data_type)): (usize, &(Arc<str>, DataType))) -> TypedExpression {
    TypedExpression::Column {
        name: Arc::clone(name),
        index,
        data_type: data_type.clone(),
    }
}

/// The columns that get a name.
fn renamed(
    input: Box<TypedRelation>,
    name_of: impl Fn(&Arc<str>) -> Option<Arc<str>>,
) -> TypedRelation {
    let exprs: Vec<TypedNamed> = input
        .schema
        .iter()
        .enumerate()
        .filter_map(|(at, known)| {
            Some(TypedNamed {
                name: name_of(&known.0)?,
                expr: column((at, known)),
            })
        })
        .collect();
    TypedRelation {
        schema: schema_of(&exprs),
        node: TypedNode::Select { input, exprs },
    }
}

fn cast_to(expr: TypedExpression, to: &DataType) -> TypedExpression {
    match expr.data_type() == to {
        true => expr,
        false => TypedExpression::Cast {
            arg: Box::new(expr),
            data_type: to.clone(),
        },
    }
}

fn cast_columns(input: TypedRelation, schema: &Columns) -> TypedRelation {
    if input.schema == *schema {
        return input;
    }
    let exprs = input.schema.iter().zip(schema).enumerate();
    let exprs = exprs
        .map(|(at, (known, (name, to)))| TypedNamed {
            name: Arc::clone(name),
            expr: cast_to(column((at, known)), to),
        })
        .collect();
    TypedRelation {
        schema: schema.clone(),
        node: TypedNode::Select {
            input: Box::new(input),
            exprs,
        },
    }
}

/// A column or array of an expression that no aggregate is around.
fn outside_aggregates(expression: &Expression) -> Option<&Expression> {
    match expression {
        Expression::Column { .. } | Expression::Array { .. } => Some(expression),
        Expression::Aggregate { .. } | Expression::Literal { .. } => None,
        Expression::Cast { .. } | Expression::Call { .. } => {
            expression.args().iter().find_map(outside_aggregates)
        }
    }
}

impl Relation {
    /// Names and types of the columns that the plan has over tables of these columns.
    ///
    /// # Errors
    /// As [`resolve`].
    pub fn schema(&self, sources: &[Columns]) -> Result<Columns> {
        on_deep_stack(|| Ok(resolve(self, sources, None)?.schema))
    }
}
