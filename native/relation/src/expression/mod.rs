//! Expressions as front ends send them: names are not looked up yet, and nothing has a type.

mod aggregate;
mod function;
mod json;
mod text;

use std::sync::Arc;

use arrow::datatypes::DataType;
use serde::Deserialize;

pub use aggregate::Aggregate;
pub use function::{Declaration, Function, Rule};
pub use text::python;

use crate::literal::{Literal, Options};

/// A value for each row, or one for all.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "json::Written")]
pub enum Expression {
    Column {
        name: Arc<str>,
    },
    Literal {
        value: Literal,
    },
    /// A column that is not of the table, by its place among those that come with the plan.
    Array {
        index: usize,
        data_type: DataType,
    },
    /// Values that do not fit are errors.
    Cast {
        to: DataType,
        arg: Box<Expression>,
    },
    Call {
        function: Function,
        args: Vec<Expression>,
        options: Arc<Options>,
    },
    /// One value of all rows, or of those of each group.
    Aggregate {
        aggregate: Aggregate,
        /// None for the number of rows only.
        arg: Option<Box<Expression>>,
        options: Arc<Options>,
    },
}

impl Expression {
    /// A function without options.
    pub(crate) fn call(function: Function, args: Vec<Expression>) -> Expression {
        Expression::Call {
            function,
            args,
            options: Arc::default(),
        }
    }

    /// Its direct arguments.
    pub fn args(&self) -> &[Expression] {
        match self {
            Expression::Column { .. } | Expression::Literal { .. } | Expression::Array { .. } => {
                &[]
            }
            Expression::Cast { arg, .. } => std::slice::from_ref(arg),
            Expression::Call { args, .. } => args,
            Expression::Aggregate { arg, .. } => arg.as_deref().map_or(&[], std::slice::from_ref),
        }
    }

    /// The same of other arguments.
    pub fn map_args(&self, mut f: impl FnMut(&Expression) -> Expression) -> Expression {
        match self {
            Expression::Column { .. } | Expression::Literal { .. } | Expression::Array { .. } => {
                self.clone()
            }
            Expression::Cast { to, arg } => Expression::Cast {
                to: to.clone(),
                arg: Box::new(f(arg)),
            },
            Expression::Call {
                function,
                args,
                options,
            } => Expression::Call {
                function: *function,
                args: args.iter().map(f).collect(),
                options: options.clone(),
            },
            Expression::Aggregate {
                aggregate,
                arg,
                options,
            } => Expression::Aggregate {
                aggregate: *aggregate,
                arg: arg.as_ref().map(|arg| Box::new(f(arg))),
                options: options.clone(),
            },
        }
    }

    /// Visits it and all within.
    pub fn visit(&self, f: &mut impl FnMut(&Expression)) {
        f(self);
        self.args().iter().for_each(|arg| arg.visit(f));
    }

    /// Whether something within it, or it, is so.
    pub fn any(&self, f: &mut impl FnMut(&Expression) -> bool) -> bool {
        f(self) || self.args().iter().any(|arg| arg.any(f))
    }

    /// Whether it is one value whatever the number of rows: of literals and aggregates only.
    pub fn is_single(&self) -> bool {
        match self {
            Expression::Column { .. } | Expression::Array { .. } => false,
            Expression::Literal { .. } | Expression::Aggregate { .. } => true,
            Expression::Cast { .. } | Expression::Call { .. } => {
                self.args().iter().all(Expression::is_single)
            }
        }
    }
}
