//! Aggregates of selected rows, all in one plan: over all of them, or by groups.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray, BooleanArray, UInt32Array},
    datatypes::{DataType, Float64Type},
};
use fulgurite_error::{Error, Result};
use fulgurite_lazy::Input;

use super::{
    Fusion, algebra, columns,
    lower::{Number, all_valid, negated, sums_exactly},
    pipeline::{Pipeline, Selection},
};
use crate::{
    engine::{
        self,
        counts::{Counted, counts},
    },
    expression::Aggregate,
    numbers::{Span, bounds},
    resolve::{TypedExpression, TypedNamed},
    table::Table,
};

/// Whether an expression has one value for all rows, and is no literal.
pub(super) fn is_total(expression: &TypedExpression) -> bool {
    expression.is_single() && expression.has_aggregate()
}

/// The rows that are aggregated: all, or those where a mask is 1; in groups, or all together.
struct Rows {
    count: usize,
    mask: Option<Input>,
    groups: Option<(Input, usize)>,
}

impl Rows {
    /// The sum of a column over them.
    fn sum(&self, column: &Input) -> Result<Input> {
        match &self.groups {
            None => algebra::total("+", column),
            Some((codes, count)) => algebra::grouped("sum", column, codes, *count),
        }
    }

    /// How many there are for which a column is there.
    fn number(&self, valid: Option<&Input>) -> Result<Input> {
        match (valid, &self.groups) {
            (Some(valid), _) => self.sum(valid),
            (None, None) => Ok(Input::from(self.count as f64)),
            (None, Some((codes, count))) => algebra::grouped("count", codes, codes, *count),
        }
    }
}

/// An aggregate that waits: its number and where it has none.
struct Aggregated {
    number: Number,
    typed: TypedExpression,
}

/// The aggregate of an argument over rows; none where doubles do not have it exactly.
fn aggregated(
    fusion: &Fusion<'_>,
    base: &Table,
    typed: TypedExpression,
    rows: &Rows,
) -> Result<Option<Aggregated>> {
    let TypedExpression::Aggregate {
        aggregate,
        arg,
        options,
        data_type,
    } = &typed
    else {
        return Err(Error::internal("an aggregate that is none"));
    };
    let argument = arg.as_deref();
    let arg = match arg {
        None => None,
        // One value is one row.
        Some(arg) if arg.is_single() => return Ok(None),
        Some(arg) => match fusion.numeric(arg, base)? {
            Some(number) => Some(number),
            None => return Ok(None),
        },
    };
    let taken = match &arg {
        None => rows.mask.clone(),
        Some(number) => all_valid([&number.valid, &rows.mask])?,
    };
    let count = rows.number(taken.as_ref())?;
    let there = |count: &Input, least: f64| algebra::binary(">", count, &Input::from(least));
    // Selected values, with others in the place of the rest.
    let chosen = |number: &Number, other: f64| match &taken {
        None => algebra::column(&number.values, rows.count).map(Input::from),
        Some(taken) => algebra::if_else(taken, &number.values, &Input::from(other)),
    };
    let ddof = f64::from(options.ddof.unwrap_or(1));
    let number = match (aggregate, arg) {
        (Aggregate::Len | Aggregate::Count, _) => Number {
            values: count,
            valid: None,
            span: Span {
                least: 0.0,
                most: rows.count as f64,
                has_nan: false,
            },
        },
        (Aggregate::Sum, Some(arg)) => {
            let exact =
                bounds(data_type).is_none_or(|(_, most)| sums_exactly(arg.span, rows.count, most));
            if !exact {
                return Ok(None);
            }
            Number {
                values: rows.sum(&chosen(&arg, 0.0)?)?,
                valid: None,
                span: Span::ANY,
            }
        }
        (Aggregate::Mean, Some(arg)) if *data_type == DataType::Float64 => {
            let total = rows.sum(&chosen(&arg, 0.0)?)?;
            Number {
                values: algebra::binary("/", &total, &count)?,
                valid: Some(there(&count, 0.0)?),
                span: Span::ANY,
            }
        }
        (Aggregate::Min | Aggregate::Max, Some(arg))
            if rows.groups.is_none() && !may_be_nan(argument, &arg, base) =>
        {
            let (code, other) = match aggregate {
                Aggregate::Min => ("min", f64::INFINITY),
                _ => ("max", f64::NEG_INFINITY),
            };
            Number {
                values: algebra::total(code, &chosen(&arg, other)?)?,
                valid: Some(there(&count, 0.0)?),
                span: arg.span,
            }
        }
        (Aggregate::Any | Aggregate::All, Some(arg)) => {
            let other = if *aggregate == Aggregate::Any {
                0.0
            } else {
                1.0
            };
            let chosen = chosen(&arg, other)?;
            let values = match aggregate {
                Aggregate::Any => algebra::binary(">", &rows.sum(&chosen)?, &Input::from(0.0))?,
                _ => {
                    let untrue = rows.sum(&negated(&chosen)?)?;
                    algebra::binary("==", &untrue, &Input::from(0.0))?
                }
            };
            Number {
                values,
                valid: None,
                span: Span::TRUTH,
            }
        }
        (Aggregate::Var | Aggregate::Std, Some(arg)) if rows.groups.is_none() => {
            let total = rows.sum(&chosen(&arg, 0.0)?)?;
            let mean = algebra::binary("/", &total, &count)?;
            let deviation = Number {
                values: algebra::binary("-", &arg.values, &mean)?,
                ..arg
            };
            let square = algebra::binary("*", &deviation.values, &deviation.values)?;
            let squares = rows.sum(&chosen(
                &Number {
                    values: square,
                    ..deviation
                },
                0.0,
            )?)?;
            let degrees = algebra::binary("-", &count, &Input::from(ddof))?;
            let variance = algebra::binary("/", &squares, &degrees)?;
            Number {
                values: match aggregate {
                    Aggregate::Var => variance,
                    _ => algebra::unary("sqrt", &variance)?,
                },
                valid: Some(there(&count, ddof)?),
                span: Span::ANY,
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(Aggregated { number, typed }))
}

fn may_be_nan(argument: Option<&TypedExpression>, number: &Number, base: &Table) -> bool {
    match argument {
        Some(TypedExpression::Column { index, .. }) if number.span.has_nan => base.has_nan(*index),
        _ => number.span.has_nan,
    }
}

/// Expressions whose aggregates are columns of another table.
struct Outer {
    exprs: Vec<TypedNamed>,
    aggregates: Vec<TypedExpression>,
}

impl Outer {
    /// The table has `before` columns before those of the aggregates.
    fn of(exprs: &[TypedNamed], before: usize) -> Self {
        let mut aggregates = Vec::new();
        let exprs = exprs.iter().map(|named| TypedNamed {
            name: Arc::clone(&named.name),
            expr: outside(&named.expr, before, &mut aggregates),
        });
        Outer {
            exprs: exprs.collect(),
            aggregates,
        }
    }
}

fn outside(
    expression: &TypedExpression,
    before: usize,
    aggregates: &mut Vec<TypedExpression>,
) -> TypedExpression {
    if let TypedExpression::Aggregate { data_type, .. } = expression {
        let known = aggregates.iter().position(|known| known == expression);
        let place = known.unwrap_or_else(|| {
            aggregates.push(expression.clone());
            aggregates.len() - 1
        });
        return TypedExpression::Column {
            name: aggregate_name(place).into(),
            index: before + place,
            data_type: data_type.clone(),
        };
    }
    let mut changed = expression.clone();
    for part in changed.args_mut() {
        *part = outside(part, before, aggregates);
    }
    changed
}

/// A name that no column has.
fn aggregate_name(place: usize) -> String {
    format!("\u{1f}{place}")
}

/// The aggregates of these rows, or none where kernels have to compute one.
fn all_aggregated(
    fusion: &Fusion<'_>,
    pipeline: &Pipeline,
    aggregates: &[TypedExpression],
    rows: &Rows,
) -> Result<Option<Vec<Aggregated>>> {
    let mut all = Vec::new();
    for aggregate in aggregates {
        let typed = pipeline.substituted(aggregate);
        match aggregated(fusion, &pipeline.base, typed, rows)? {
            Some(aggregated) => all.push(aggregated),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// One row of aggregates over all rows; none where kernels have to compute one.
///
/// # Errors
/// As [`Columns::collect`].
pub(super) fn totals(
    fusion: &Fusion<'_>,
    pipeline: &Pipeline,
    selection: Option<&Selection>,
    exprs: &[TypedNamed],
) -> Result<Option<Table>> {
    let count = pipeline.base.rows();
    if count < fusion.least_rows {
        return Ok(None);
    }
    let rows = Rows {
        count,
        mask: fusion.predication(pipeline, selection)?,
        groups: None,
    };
    let outer = Outer::of(exprs, 0);
    let Some(all) = all_aggregated(fusion, pipeline, &outer.aggregates, &rows)? else {
        return Ok(None);
    };
    fusion.evaluate(all.iter().map(|one| &one.number))?;
    let table = small(&all, 1, Vec::new())?;
    selected(&table, &outer.exprs).map(Some)
}

/// Expressions over the rows of a table.
fn selected(table: &Table, exprs: &[TypedNamed]) -> Result<Table> {
    let columns = exprs.iter().map(|named| {
        let column = engine::column(&named.expr, table, &[])?;
        Ok((Arc::clone(&named.name), column))
    });
    Table::with_rows(table.rows(), columns.collect::<Result<_>>()?)
}

/// The columns of aggregates, behind others.
fn small(all: &[Aggregated], rows: usize, mut before: Vec<(Arc<str>, ArrayRef)>) -> Result<Table> {
    for (place, one) in all.iter().enumerate() {
        let array = columns::array(&one.number, one.typed.data_type(), rows)?;
        before.push((aggregate_name(place).into(), array));
    }
    Table::with_rows(rows, before)
}

/// A row for each group; none where kernels have to compute it.
///
/// # Errors
/// As [`Columns::collect`].
pub(super) fn grouped(
    fusion: &Fusion<'_>,
    pipeline: &Pipeline,
    selection: Option<&Selection>,
    keys: &[TypedNamed],
    aggs: &[TypedNamed],
) -> Result<Option<Table>> {
    let base = &pipeline.base;
    let count = base.rows();
    if count < fusion.least_rows.max(1) || keys.is_empty() {
        return Ok(None);
    }
    let substituted: Vec<TypedExpression> = keys
        .iter()
        .map(|key| pipeline.substituted(&key.expr))
        .collect();
    if let ([key], None, None) = (substituted.as_slice(), &pipeline.predicate, selection) {
        let outer = Outer::of(aggs, keys.len());
        if outer.aggregates.iter().all(is_len) {
            return counted(fusion, base, key, keys, outer).map(Some);
        }
    }
    let (key_arrays, groups) = fusion.groups(&substituted.iter().collect::<Vec<_>>(), base)?;
    let group_count = groups.first_rows.len();
    let codes = match selection {
        Some(selection) => groups.column_where(&selection.flags)?,
        None => groups.column()?,
    };
    let rows = Rows {
        count,
        mask: fusion.mask(pipeline)?,
        groups: Some((codes.into(), group_count)),
    };
    let outer = Outer::of(aggs, keys.len());
    let Some(all) = all_aggregated(fusion, pipeline, &outer.aggregates, &rows)? else {
        return Ok(None);
    };
    // Groups without a selected row are none.
    let members = match rows.mask.is_some() || selection.is_some() {
        false => None,
        true => Some(Number {
            values: rows.number(rows.mask.as_ref())?,
            valid: None,
            span: Span::ANY,
        }),
    };
    fusion.evaluate(all.iter().map(|one| &one.number).chain(&members))?;
    let firsts = engine::rows::taken(&key_arrays, &groups.first_rows)?;
    let firsts = firsts.iter().zip(keys);
    let firsts = firsts.map(|(first, key)| columns::with_type(first, key.expr.data_type()));
    let firsts = firsts.collect::<Result<Vec<_>>>()?;
    let names = keys.iter().map(|key| Arc::clone(&key.name));
    let before = names.zip(firsts).collect();
    let table = small(&all, group_count, before)?;
    let table = match members {
        None => table,
        Some(members) => {
            let members = columns::array(&members, &DataType::Float64, group_count)?;
            let cells = members.as_primitive::<Float64Type>();
            let flags = BooleanArray::new(columns::flags(cells.values()), None);
            engine::rows::filter(&table, &flags)?
        }
    };
    with_keys(&table, keys, outer).map(Some)
}

/// Keys and expressions of aggregates over a table of both.
fn with_keys(table: &Table, keys: &[TypedNamed], outer: Outer) -> Result<Table> {
    let keys = keys.iter().enumerate().map(|(index, key)| TypedNamed {
        name: Arc::clone(&key.name),
        expr: TypedExpression::Column {
            name: Arc::clone(&key.name),
            index,
            data_type: key.expr.data_type().clone(),
        },
    });
    let exprs: Vec<TypedNamed> = keys.chain(outer.exprs).collect();
    selected(table, &exprs)
}

fn is_len(aggregate: &TypedExpression) -> bool {
    matches!(
        aggregate,
        TypedExpression::Aggregate {
            aggregate: Aggregate::Len,
            ..
        }
    )
}

/// The number of rows of each group, for all of which there is nothing else to know.
fn counted(
    fusion: &Fusion<'_>,
    base: &Table,
    key: &TypedExpression,
    keys: &[TypedNamed],
    outer: Outer,
) -> Result<Table> {
    let of_rows = fusion.key(key, base)?;
    let Counted { first_rows, counts } = counts(&of_rows)?;
    let (count, rows) = (counts.len(), base.rows());
    fusion.note(|| format!("count the rows of {count} groups of {rows} rows"));
    let firsts = engine::rows::taken(&[of_rows], &first_rows.into())?;
    let firsts = keys.iter().zip(&firsts).map(|(key, first)| {
        let first = columns::with_type(first, key.expr.data_type())?;
        Ok((Arc::clone(&key.name), first))
    });
    let mut columns = firsts.collect::<Result<Vec<_>>>()?;
    let counts: ArrayRef = Arc::new(UInt32Array::from(counts));
    for (place, aggregate) in outer.aggregates.iter().enumerate() {
        let counts = columns::with_type(&counts, aggregate.data_type())?;
        columns.push((aggregate_name(place).into(), counts));
    }
    with_keys(&Table::with_rows(count, columns)?, keys, outer)
}
