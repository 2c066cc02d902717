//! What is within an expression.

use super::expression::TypedExpression;

impl TypedExpression {
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

    /// Whether its value in a row depends on that row alone.
    pub(crate) fn is_by_rows(&self) -> bool {
        !self.is_single() && !self.has_aggregate()
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
