//! Runs of selections and projections over one table, as columns that wait.

use std::sync::Arc;

use arrow::datatypes::DataType;

use crate::{
    expression::Function,
    literal::Options,
    resolve::{TypedExpression, TypedNamed, TypedNode},
    table::Table,
};

/// Parts of expressions from which on a projection is computed before the next one reads it: what is substituted grows with each.
const LARGEST: usize = 400;

/// Columns as expressions over those of a table, and which rows are selected.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub base: Table,
    pub columns: Vec<TypedNamed>,
    pub predicate: Option<TypedExpression>,
}

impl Pipeline {
    /// The table as it is.
    pub fn of_table(base: Table) -> Self {
        let schema = base.schema().into_iter().enumerate();
        let columns = schema.map(|(index, (name, data_type))| TypedNamed {
            expr: TypedExpression::Column {
                name: Arc::clone(&name),
                index,
                data_type,
            },
            name,
        });
        Pipeline {
            columns: columns.collect(),
            predicate: None,
            base,
        }
    }

    /// An expression over its columns as one over those of the table.
    pub fn substituted(&self, expression: &TypedExpression) -> TypedExpression {
        if let TypedExpression::Column { index, .. } = expression {
            let column = self.columns.get(*index);
            return column.map_or_else(|| expression.clone(), |column| column.expr.clone());
        }
        let mut changed = expression.clone();
        for part in changed.args_mut() {
            *part = self.substituted(part);
        }
        changed
    }

    /// The step above it, if it is one of a run: none where it has to be computed first.
    pub fn then(&self, step: &TypedNode) -> Option<Pipeline> {
        // Aggregates and arrays are over the rows that are selected.
        let goes_on = |expression: &TypedExpression| {
            !has_aggregate(expression) && (self.predicate.is_none() || !reads_arrays(expression))
        };
        let all_go_on = |exprs: &[TypedNamed]| exprs.iter().all(|named| goes_on(&named.expr));
        let mut next = self.clone();
        match step {
            TypedNode::Filter { predicate, .. } if goes_on(predicate) => {
                let predicate = self.substituted(predicate);
                next.predicate = Some(match next.predicate.take() {
                    Some(before) => TypedExpression::Call {
                        function: Function::And,
                        args: vec![before, predicate],
                        options: Arc::new(Options::default()),
                        data_type: DataType::Boolean,
                    },
                    None => predicate,
                });
            }
            TypedNode::Select { exprs, .. } if all_go_on(exprs) => {
                next.columns = self.projected(exprs);
            }
            TypedNode::WithColumns { exprs, .. } if all_go_on(exprs) => {
                for column in self.projected(exprs) {
                    let mut known = next.columns.iter_mut();
                    match known.find(|known| known.name == column.name) {
                        Some(known) => *known = column,
                        None => next.columns.push(column),
                    }
                }
            }
            _ => return None,
        }
        (next.size() <= LARGEST).then_some(next)
    }

    fn projected(&self, exprs: &[TypedNamed]) -> Vec<TypedNamed> {
        let exprs = exprs.iter().map(|named| TypedNamed {
            name: Arc::clone(&named.name),
            expr: self.substituted(&named.expr),
        });
        exprs.collect()
    }

    fn size(&self) -> usize {
        let mut size = 0;
        let expressions = self.columns.iter().map(|column| &column.expr);
        for expression in expressions.chain(&self.predicate) {
            any(expression, &mut |_| {
                size += 1;
                false
            });
        }
        size
    }
}

/// Whether something within an expression, or it, is so.
pub(super) fn any(
    expression: &TypedExpression,
    is_so: &mut impl FnMut(&TypedExpression) -> bool,
) -> bool {
    is_so(expression) || expression.args().iter().any(|part| any(part, is_so))
}

pub(super) fn has_aggregate(expression: &TypedExpression) -> bool {
    any(expression, &mut |part| {
        matches!(part, TypedExpression::Aggregate { .. })
    })
}

pub(super) fn reads_arrays(expression: &TypedExpression) -> bool {
    any(expression, &mut |part| {
        matches!(part, TypedExpression::Array { .. })
    })
}

/// The places of the columns that an expression reads, added to others.
pub(super) fn add_columns(expression: &TypedExpression, places: &mut Vec<usize>) {
    any(expression, &mut |part| {
        if let TypedExpression::Column { index, .. } = part
            && !places.contains(index)
        {
            places.push(*index);
        }
        false
    });
}

/// An expression over the columns at these places, which are all that there are.
pub(super) fn moved(expression: &TypedExpression, places: &[usize]) -> TypedExpression {
    let mut changed = expression.clone();
    if let TypedExpression::Column { index, .. } = &mut changed {
        *index = places
            .iter()
            .position(|place| place == index)
            .unwrap_or(*index);
    }
    for part in changed.args_mut() {
        *part = moved(part, places);
    }
    changed
}
