//! What is within an expression.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::expression::TypedExpression;
use crate::{expression::Function, literal::Options, types::has_all_values};

impl TypedExpression {
    /// Whether both are true.
    pub(crate) fn and(self, other: TypedExpression) -> TypedExpression {
        TypedExpression::Call {
            function: Function::And,
            args: vec![self, other],
            options: Arc::new(Options::default()),
            data_type: DataType::Boolean,
        }
    }

    /// Whether something within it, or it, is so.
    pub(crate) fn any(&self, is_so: &mut impl FnMut(&TypedExpression) -> bool) -> bool {
        is_so(self) || self.args().iter().any(|part| part.any(is_so))
    }

    pub(crate) fn has_aggregate(&self) -> bool {
        self.any(&mut |part| matches!(part, TypedExpression::Aggregate { .. }))
    }

    pub(crate) fn reads_arrays(&self) -> bool {
        self.any(&mut |part| matches!(part, TypedExpression::Array { .. }))
    }

    /// Whether a value may have no place in the type that it is cast to, which is an error in any row.
    pub(crate) fn may_fail(&self) -> bool {
        self.any(&mut |part| match part {
            TypedExpression::Cast { arg, data_type } => !has_all_values(data_type, arg.data_type()),
            // An exponent is cast.
            TypedExpression::Call { function, .. } => *function == Function::Pow,
            TypedExpression::Column { .. }
            | TypedExpression::Literal { .. }
            | TypedExpression::Array { .. }
            | TypedExpression::Aggregate { .. } => false,
        })
    }

    /// Whether its value in a row depends on that row alone.
    pub(crate) fn is_by_rows(&self) -> bool {
        !self.is_single() && !self.has_aggregate()
    }

    /// The place of the column that it is, if it is one as it stands.
    pub(crate) fn as_column(&self) -> Option<usize> {
        match self {
            TypedExpression::Column { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// The places of the columns that it reads, added to others.
    pub(crate) fn add_columns(&self, places: &mut Vec<usize>) {
        self.any(&mut |part| {
            if let TypedExpression::Column { index, .. } = part
                && !places.contains(index)
            {
                places.push(*index);
            }
            false
        });
    }

    /// The same over the columns at these places, which are all that there are.
    pub(crate) fn over(&self, places: &[usize]) -> TypedExpression {
        let mut changed = self.clone();
        if let TypedExpression::Column { index, .. } = &mut changed {
            let place = places.iter().position(|place| place == index);
            *index = place.unwrap_or(*index);
        }
        for part in changed.args_mut() {
            *part = part.over(places);
        }
        changed
    }
}
