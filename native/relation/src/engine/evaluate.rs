//! Values of expressions: of rows, and of groups of rows.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, UInt32Array},
    compute::take,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

use super::{
    aggregate::{Grouping, aggregated},
    groups::Groups,
};
use crate::{
    kernels::{Invocation, Value, casts::cast, value::failed},
    resolve::TypedExpression,
    table::Table,
};

/// What expressions are evaluated on.
pub(super) struct Evaluation<'a> {
    table: &'a Table,
    arrays: &'a [ArrayRef],
    groups: Option<&'a Groups>,
}

/// Whether a value is for each row or for each group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Rows,
    Groups,
}

impl<'a> Evaluation<'a> {
    pub(super) fn of_rows(table: &'a Table, arrays: &'a [ArrayRef]) -> Self {
        Evaluation {
            table,
            arrays,
            groups: None,
        }
    }

    pub(super) fn of_groups(table: &'a Table, arrays: &'a [ArrayRef], groups: &'a Groups) -> Self {
        Evaluation {
            table,
            arrays,
            groups: Some(groups),
        }
    }

    /// A value for each row or group, or one for all.
    pub(super) fn value(&self, expression: &TypedExpression) -> Result<Value> {
        match self.groups {
            None => self.at(expression, Level::Rows),
            Some(_) => self.at(expression, Level::Groups),
        }
    }

    /// A value for each row.
    pub(super) fn column(&self, expression: &TypedExpression) -> Result<ArrayRef> {
        self.at(expression, Level::Rows)?.spread(self.table.rows())
    }

    fn at(&self, expression: &TypedExpression, level: Level) -> Result<Value> {
        let rows = match (level, self.groups) {
            (Level::Groups, Some(groups)) => groups.count,
            _ => self.table.rows(),
        };
        match expression {
            TypedExpression::Column { .. } | TypedExpression::Array { .. }
                if level == Level::Groups =>
            {
                Err(Error::internal("a column that is not aggregated"))
            }
            TypedExpression::Column { index, .. } => {
                Ok(Value::column(Arc::clone(&self.table.columns()[*index])))
            }
            TypedExpression::Array { index, .. } => {
                let Some(array) = self.arrays.get(*index) else {
                    return Err(Error::plan(format!(
                        "array({index}) does not come with the plan"
                    )));
                };
                if array.len() != rows {
                    return Err(Error::dimension(format!(
                        "an array of {} rows stands beside a table of {rows}",
                        array.len()
                    ))
                    .with_help("use the array before rows are filtered, joined or grouped"));
                }
                Ok(Value::column(Arc::clone(array)))
            }
            TypedExpression::Literal { value, data_type } => {
                Ok(Value::single(value.to_array(data_type)?))
            }
            TypedExpression::Cast { arg, data_type } => {
                let arg = self.at(arg, level)?;
                let array =
                    cast(&arg.array, data_type).map_err(|error| noted(error, expression))?;
                Ok(Value {
                    array,
                    is_single: arg.is_single,
                })
            }
            TypedExpression::Call {
                function,
                args,
                options,
                data_type,
            } => {
                Interrupt::current().check()?;
                let args = args.iter().map(|arg| self.at(arg, level));
                let args = args.collect::<Result<Vec<_>>>()?;
                let is_single = args.iter().all(|arg| arg.is_single);
                let array = (function.declaration().kernel)(&Invocation {
                    args: &args,
                    options,
                    to: data_type,
                    rows: if is_single { 1 } else { rows },
                })?;
                Ok(Value { array, is_single })
            }
            TypedExpression::Aggregate {
                aggregate,
                arg,
                options,
                data_type,
            } => {
                Interrupt::current().check()?;
                let arg = arg
                    .as_ref()
                    .map(|arg| self.at(arg, Level::Rows))
                    .transpose()?;
                // A single value is a column of one row.
                let of_one = arg.as_ref().is_some_and(|arg| arg.is_single);
                let grouping = match self.groups {
                    _ if of_one => Grouping::All { rows: 1 },
                    None => Grouping::All {
                        rows: self.table.rows(),
                    },
                    Some(groups) => Grouping::By(groups),
                };
                let array = arg.as_ref().map(|arg| &arg.array);
                let result = aggregated(*aggregate, array, options, data_type, grouping)?;
                Ok(match (grouping, level) {
                    (Grouping::All { .. }, _) => Value::single(result),
                    (Grouping::By(_), Level::Groups) => Value::column(result),
                    (Grouping::By(groups), Level::Rows) => {
                        let places = UInt32Array::from(memory::copied(&groups.codes)?);
                        memory::admit(places.len().saturating_mul(8))?;
                        Value::column(take(&result, &places, None).map_err(failed)?)
                    }
                })
            }
        }
    }
}

/// Tells which expression an error is of.
fn noted(error: Error, expression: &TypedExpression) -> Error {
    error.with_note(format!("the expression is {}", expression.untyped()), None)
}
