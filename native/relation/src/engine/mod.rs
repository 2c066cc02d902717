//! One operator after the other, by Arrow's kernels and hash tables: what fused plans are compared with.

mod aggregate;
pub(crate) mod coder;
pub(crate) mod counts;
mod evaluate;
pub mod groups;
mod join;
mod join_keys;
pub mod rows;
mod sort;
pub(crate) mod text_key;

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, UInt32Array},
    datatypes::DataType,
};
use evaluate::Evaluation;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
pub(crate) use join::{Joined, join};

use crate::{
    deep::on_deep_stack,
    parallel::{by_tasks, rows_of_a_task},
    plan::{Keep, Relation},
    resolve::{TypedExpression, TypedNamed, TypedNode, TypedRelation, resolve},
    table::{Columns, Table, joined},
};

/// Runs a plan.
///
/// # Errors
/// Those of [`resolve`], before anything runs; `data` with row and value for what has no place in its type; `dimension` for an
/// array whose length is not that of the rows it stands beside; `memory`; `interrupted`.
pub fn collect(relation: &Relation, tables: &[Table], arrays: &[ArrayRef]) -> Result<Table> {
    let sources: Vec<Columns> = tables.iter().map(Table::schema).collect();
    let kinds: Vec<DataType> = arrays
        .iter()
        .map(|array| array.data_type().clone())
        .collect();
    on_deep_stack(|| {
        let typed = resolve(relation, &sources, Some(&kinds))?;
        run(&typed, tables, arrays)
    })
}

/// Runs a plan whose names have been looked up.
///
/// # Errors
/// As [`collect`].
pub fn run(relation: &TypedRelation, tables: &[Table], arrays: &[ArrayRef]) -> Result<Table> {
    Interrupt::current().check()?;
    let on = |table: &Table| run_on(relation, table, arrays);
    match &relation.node {
        TypedNode::Scan { table, columns } => {
            let Some(table) = tables.get(*table) else {
                return Err(Error::plan(format!("a scan of table {table}")));
            };
            let columns = columns.iter().map(|at| Arc::clone(&table.columns()[*at]));
            let names = relation.schema.iter().map(|(name, _)| Arc::clone(name));
            Table::trusted(table.rows(), names.collect(), columns.collect())
        }
        TypedNode::Filter { input, .. }
        | TypedNode::Select { input, .. }
        | TypedNode::WithColumns { input, .. }
        | TypedNode::GroupBy { input, .. }
        | TypedNode::Sort { input, .. }
        | TypedNode::Unique { input, .. }
        | TypedNode::Slice { input, .. } => on(&run(input, tables, arrays)?),
        TypedNode::Join { left, right, .. } => {
            let left = run(left, tables, arrays)?;
            let right = run(right, tables, arrays)?;
            join(relation, Joined::all(&left), Joined::all(&right), arrays)
        }
        TypedNode::Concat { inputs } => {
            let parts = inputs.iter().map(|input| run(input, tables, arrays));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let rows = parts.iter().map(Table::rows).sum();
            let columns = (0..relation.schema.len()).map(|at| {
                let parts: Vec<_> = parts
                    .iter()
                    .map(|part| Arc::clone(&part.columns()[at]))
                    .collect();
                joined(&parts)
            });
            named(relation, rows, columns.collect::<Result<_>>()?)
        }
    }
}

/// Runs the last operator of a plan on its input, that of operators with one input.
///
/// # Errors
/// As [`collect`].
pub fn run_on(relation: &TypedRelation, input: &Table, arrays: &[ArrayRef]) -> Result<Table> {
    let evaluation = Evaluation::of_rows(input, arrays);
    match &relation.node {
        TypedNode::Filter { predicate, .. } => {
            let mask = evaluation.column(predicate)?;
            rows::filter(input, mask.as_boolean())
        }
        TypedNode::Select { exprs, .. } => {
            // Single values alone are one row.
            let rows = match exprs.iter().all(|named| named.expr.is_single()) {
                true if exprs.is_empty() => 0,
                true => 1,
                false => input.rows(),
            };
            let columns = exprs
                .iter()
                .map(|TypedNamed { expr, .. }| evaluation.value(expr)?.spread(rows));
            named(relation, rows, columns.collect::<Result<_>>()?)
        }
        TypedNode::WithColumns { exprs, .. } => {
            let mut columns = input.columns().to_vec();
            for TypedNamed { name, expr } in exprs {
                let column = evaluation.column(expr)?;
                match input.names().iter().position(|known| known == name) {
                    Some(at) => columns[at] = column,
                    None => columns.push(column),
                }
            }
            named(relation, input.rows(), columns)
        }
        TypedNode::GroupBy { keys, aggs, .. } => {
            let keys = keys.iter().map(|key| evaluation.column(&key.expr));
            let keys = keys.collect::<Result<Vec<_>>>()?;
            let groups = groups::codes_of(&keys, input.rows())?;
            let evaluation = Evaluation::of_groups(input, arrays, &groups);
            let first = UInt32Array::from(memory::copied(&groups.first_rows)?);
            let mut columns = rows::taken(&keys, &first)?;
            for TypedNamed { expr, .. } in aggs {
                columns.push(evaluation.value(expr)?.spread(groups.count)?);
            }
            named(relation, groups.count, columns)
        }
        TypedNode::Sort { by, limit, .. } => {
            let keys = by.iter().map(|key| {
                Ok(sort::Key {
                    column: evaluation.column(&key.expr)?,
                    descending: key.descending,
                    nulls_last: key.nulls_last,
                })
            });
            let keys = keys.collect::<Result<Vec<_>>>()?;
            let order = sort::order(&keys, input.rows(), *limit)?;
            rows::take(input, &UInt32Array::from(order))
        }
        TypedNode::Unique { subset, keep, .. } => {
            let columns: Vec<ArrayRef> = subset
                .iter()
                .map(|at| Arc::clone(&input.columns()[*at]))
                .collect();
            let groups = groups::codes_of(&columns, input.rows())?;
            let kept = kept(&groups, *keep)?;
            rows::take(input, &UInt32Array::from(kept))
        }
        TypedNode::Slice { offset, length, .. } => {
            let rows = input.rows();
            let from = match usize::try_from(*offset) {
                Ok(from) => from.min(rows),
                Err(_) => rows.saturating_sub(offset.unsigned_abs() as usize),
            };
            // An offset before the first row takes from the length.
            let before = match *offset < 0 {
                true => (offset.unsigned_abs() as usize).saturating_sub(rows),
                false => 0,
            };
            let length = length.map_or(rows, |length| length.saturating_sub(before));
            let length = length.min(rows - from);
            let columns = input.columns().iter();
            let columns = columns.map(|column| column.slice(from, length)).collect();
            named(relation, length, columns)
        }
        TypedNode::Scan { .. } | TypedNode::Join { .. } | TypedNode::Concat { .. } => {
            Err(Error::internal("an operator that has not one input"))
        }
    }
}

/// The values of an expression, one for each row.
///
/// # Errors
/// As [`collect`].
pub fn column(
    expression: &TypedExpression,
    input: &Table,
    arrays: &[ArrayRef],
) -> Result<ArrayRef> {
    Evaluation::of_rows(input, arrays).column(expression)
}

/// The same, computed by tasks of rows.
///
/// # Errors
/// As [`collect`].
pub(crate) fn column_by_tasks(
    expression: &TypedExpression,
    input: &Table,
    arrays: &[ArrayRef],
) -> Result<ArrayRef> {
    let whole = || column(expression, input, arrays);
    let rows = input.rows();
    let of_a_task = rows_of_a_task(rows);
    let is_worth_it = matches!(
        expression,
        TypedExpression::Call { .. } | TypedExpression::Cast { .. }
    );
    if !is_worth_it || rows <= of_a_task || !expression.is_by_rows() {
        return whole();
    }
    let mut read = Vec::new();
    expression.add_columns(&mut read);
    let (alone, expression) = (input.select(&read), expression.over(&read));
    // Of coded texts kernels look at the distinct ones, which tasks would do again.
    let is_coded = |column: &ArrayRef| matches!(column.data_type(), DataType::Dictionary(..));
    if alone.columns().iter().any(is_coded) {
        return whole();
    }
    let parts = by_tasks(rows, of_a_task, |rows| {
        let arrays = arrays
            .iter()
            .map(|array| match array.len() == input.rows() {
                true => array.slice(rows.start, rows.len()),
                false => Arc::clone(array),
            });
        column(
            &expression,
            &alone.slice(rows.clone())?,
            &arrays.collect::<Vec<_>>(),
        )
    });
    match parts {
        Ok(parts) => joined(&parts),
        // An error counts rows from the first one of the table.
        Err(_) => whole(),
    }
}

/// One row of each group, in the order of the rows.
fn kept(groups: &groups::Groups, keep: Keep) -> Result<Vec<u32>> {
    match keep {
        Keep::First | Keep::Any => memory::copied(&groups.first_rows),
        Keep::Last => {
            let mut last = memory::filled(groups.count, 0)?;
            for (row, group) in groups.codes.iter().enumerate() {
                last[*group as usize] = row as u32;
            }
            last.sort_unstable();
            Ok(last)
        }
        Keep::None => {
            let mut counts = memory::filled(groups.count, 0u32)?;
            for group in &groups.codes {
                counts[*group as usize] += 1;
            }
            let mut kept = memory::copied(&groups.first_rows)?;
            let mut counts = counts.into_iter();
            kept.retain(|_| counts.next() == Some(1));
            Ok(kept)
        }
    }
}

fn named(relation: &TypedRelation, rows: usize, columns: Vec<ArrayRef>) -> Result<Table> {
    let names = relation.schema.iter().map(|(name, _)| Arc::clone(name));
    Table::trusted(rows, names.collect(), columns)
}
