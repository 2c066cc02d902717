//! What a plan reads of its tables, for those that are not in memory: columns by name, and rows that a selection may take.

use std::{collections::BTreeSet, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, UInt64Array},
    datatypes::DataType,
};
use fulgurite_error::Result;
use fulgurite_frame::parquet::ColumnStatistics;

use crate::{
    deep::on_deep_stack,
    engine::collect,
    expression::{Expression, Function},
    literal::Literal,
    optimize::is_movable,
    plan::{Named, Relation},
    table::Table,
};

/// What a plan reads of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reads {
    /// The columns; `None` for all.
    pub names: Option<BTreeSet<Arc<str>>>,
    /// What is true of all rows that count.
    pub predicate: Option<Expression>,
}

impl Relation {
    /// What the plan reads of each of so many tables. It is [`Relation::optimized`], so that columns and selections are where the tables are.
    pub fn reads(&self, tables: usize) -> Vec<Reads> {
        let mut found: Vec<Option<Reads>> = vec![None; tables];
        let mut plans: Vec<(&Relation, Option<&Expression>)> = vec![(self, None)];
        while let Some((plan, above)) = plans.pop() {
            if let Relation::Scan { table, columns } = plan
                && let Some(found) = found.get_mut(*table)
            {
                let names = columns
                    .as_ref()
                    .map(|names| names.iter().cloned().collect());
                // Aggregates need all rows, and an error is one whichever rows are read.
                let predicate = above.filter(|predicate| is_movable(predicate));
                let now = Reads {
                    names,
                    predicate: predicate.cloned(),
                };
                *found = Some(match found.take() {
                    None => now,
                    Some(before) => before.and(now),
                });
            }
            let predicate = match plan {
                Relation::Filter { predicate, .. } => Some(predicate),
                _ => None,
            };
            plans.extend(plan.inputs().into_iter().map(|input| (input, predicate)));
        }
        let nothing = || Reads {
            names: Some(BTreeSet::new()),
            predicate: None,
        };
        let found = found.into_iter();
        found.map(|found| found.unwrap_or_else(nothing)).collect()
    }
}

impl Reads {
    /// Both, of the same table.
    fn and(self, other: Reads) -> Reads {
        Reads {
            names: self.names.zip(other.names).map(|(mut names, others)| {
                names.extend(others);
                names
            }),
            predicate: self
                .predicate
                .filter(|own| Some(own) == other.predicate.as_ref()),
        }
    }

    /// The columns whose bounds [`Reads::parts`] asks for.
    pub fn bounded(&self) -> Vec<&str> {
        let mut names = BTreeSet::new();
        let mut parts: Vec<_> = self.predicate.iter().collect();
        while let Some(part) = parts.pop() {
            if let Expression::Column { name } = part {
                names.insert(&**name);
            }
            parts.extend(part.args());
        }
        names.into_iter().collect()
    }

    /// Which row groups of a file may have rows that the selection takes, by their rows and what the file tells of columns.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow::array::{Int64Array, UInt64Array};
    /// use fulgurite_frame::parquet::ColumnStatistics;
    /// use fulgurite_relation::Relation;
    /// let plan = Relation::from_json(
    ///     r#"{"filter": {"input": {"scan": 0}, "predicate":
    ///         {"call": "gt", "args": [{"col": "a"}, {"lit": 4, "type": "int"}]}}}"#,
    /// )?;
    /// let bounds = ColumnStatistics {
    ///     name: "a".into(),
    ///     least: Arc::new(Int64Array::from(vec![1, 3, 6])),
    ///     greatest: Arc::new(Int64Array::from(vec![2, 5, 7])),
    ///     nulls: vec![0; 3].into(),
    ///     nans: vec![0; 3].into(),
    /// };
    /// let parts = plan.reads(1)[0].parts(&vec![10; 3].into(), &[bounds])?;
    /// assert_eq!(parts, [false, true, true]);
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`collect`].
    pub fn parts(&self, rows: &UInt64Array, bounds: &[ColumnStatistics]) -> Result<Vec<bool>> {
        let Some(predicate) = &self.predicate else {
            return Ok(vec![true; rows.len()]);
        };
        let predicate = on_deep_stack(|| Ok(may_hold(predicate, bounds)))?;
        let mut columns: Vec<(Arc<str>, ArrayRef)> = vec![(ROWS.into(), Arc::new(rows.clone()))];
        for (place, bounds) in bounds.iter().enumerate() {
            columns.push((known(place, "least"), Arc::clone(&bounds.least)));
            columns.push((known(place, "greatest"), Arc::clone(&bounds.greatest)));
            columns.push((known(place, "nulls"), Arc::new(bounds.nulls.clone())));
            columns.push((known(place, "nans"), Arc::new(bounds.nans.clone())));
        }
        let plan = Relation::Select {
            input: Box::new(Relation::Scan {
                table: 0,
                columns: None,
            }),
            exprs: vec![
                Named {
                    name: ROWS.into(),
                    expr: column(ROWS.into()),
                },
                Named {
                    name: "may".into(),
                    expr: predicate,
                },
            ],
        };
        let table = collect(&plan, &[Table::new(columns)?], &[])?;
        let may = table.column("may")?;
        let Some(may) = may.as_boolean_opt() else {
            // Nothing is known.
            return Ok(vec![true; rows.len()]);
        };
        Ok(may.iter().map(|may| may != Some(false)).collect())
    }
}

const ROWS: &str = "rows";

fn known(place: usize, what: &str) -> Arc<str> {
    format!("{what} {place}").into()
}

fn column(name: Arc<str>) -> Expression {
    Expression::Column { name }
}

fn literal(value: Literal) -> Expression {
    Expression::Literal { value }
}

/// So many values of a list are looked at.
const MOST_VALUES: usize = 64;

/// Whether a predicate may be true in a part of the table: false only where it is not. Null where nothing is known, so that Kleene's
/// rules of `and` and `or` do the rest.
fn may_hold(predicate: &Expression, bounds: &[ColumnStatistics]) -> Expression {
    let unknown = || literal(Literal::Null);
    let place_of = |arg: &Expression| match arg {
        Expression::Column { name } => bounds.iter().position(|bounds| bounds.name == *name),
        _ => None,
    };
    let nulls = |place| column(known(place, "nulls"));
    match predicate {
        Expression::Column { .. } => match place_of(predicate) {
            Some(place) => column(known(place, "greatest")),
            None => unknown(),
        },
        Expression::Call {
            function,
            args,
            options,
        } => match (function, args.as_slice()) {
            (Function::And | Function::Or, [one, other]) => Expression::call(
                *function,
                vec![may_hold(one, bounds), may_hold(other, bounds)],
            ),
            (Function::Not, [arg]) => match place_of(arg) {
                Some(place) => Expression::call(Function::Not, vec![column(known(place, "least"))]),
                None => unknown(),
            },
            (Function::Lt | Function::Le, [less, greater]) => {
                may_be_less(*function, less, greater, bounds)
            }
            (Function::Gt, [greater, less]) => may_be_less(Function::Lt, less, greater, bounds),
            (Function::Ge, [greater, less]) => may_be_less(Function::Le, less, greater, bounds),
            (Function::Eq, [one, other]) => may_be_equal(one, other, bounds),
            (Function::IsNull, [arg]) => match place_of(arg) {
                Some(place) => Expression::call(
                    Function::Gt,
                    vec![nulls(place), literal(Literal::Integer(0))],
                ),
                None => unknown(),
            },
            (Function::IsNotNull, [arg]) => match place_of(arg) {
                Some(place) => {
                    Expression::call(Function::Lt, vec![nulls(place), column(ROWS.into())])
                }
                None => unknown(),
            },
            (Function::IsIn, [arg]) => match &options.values {
                Some(values) if (1..=MOST_VALUES).contains(&values.len()) => {
                    let each = values
                        .iter()
                        .map(|value| may_be_equal(arg, &literal(value.clone()), bounds));
                    let any =
                        each.reduce(|one, other| Expression::call(Function::Or, vec![one, other]));
                    any.unwrap_or_else(unknown)
                }
                _ => unknown(),
            },
            _ => unknown(),
        },
        _ => unknown(),
    }
}

fn may_be_equal(one: &Expression, other: &Expression, bounds: &[ColumnStatistics]) -> Expression {
    let less = may_be_less(Function::Le, one, other, bounds);
    let greater = may_be_less(Function::Le, other, one, bounds);
    Expression::call(Function::And, vec![less, greater])
}

/// Whether a value may be less than another one: if the least is less than the greatest. NaN is greater than all numbers.
fn may_be_less(
    function: Function,
    less: &Expression,
    greater: &Expression,
    bounds: &[ColumnStatistics],
) -> Expression {
    let is_float = |place: usize| {
        let kind = bounds[place].greatest.data_type();
        matches!(kind, DataType::Float32 | DataType::Float64)
    };
    let bound = |of: &Expression, which: &str| match of {
        Expression::Literal { value } => {
            let is_nan = matches!(value, Literal::Float(value) if value.is_nan());
            (*value != Literal::Null && !is_nan).then(|| (of.clone(), None))
        }
        Expression::Column { name } => {
            let place = bounds.iter().position(|bounds| bounds.name == *name)?;
            let bound = column(known(place, which));
            let bound = match is_float(place) {
                // Some writers give NaN for a bound: it is none.
                true => Expression::call(
                    Function::IfElse,
                    vec![
                        Expression::call(Function::IsNan, vec![bound.clone()]),
                        literal(Literal::Null),
                        bound,
                    ],
                ),
                false => bound,
            };
            Some((bound, Some(place)))
        }
        _ => None,
    };
    let (Some((least, _)), Some((greatest, place))) =
        (bound(less, "least"), bound(greater, "greatest"))
    else {
        return literal(Literal::Null);
    };
    let may = Expression::call(function, vec![least, greatest]);
    match place.filter(|place| is_float(*place)) {
        None => may,
        Some(place) => {
            let nans = column(known(place, "nans"));
            let has_nan = Expression::call(Function::Ne, vec![nans, literal(Literal::Integer(0))]);
            Expression::call(Function::Or, vec![may, has_nan])
        }
    }
}
