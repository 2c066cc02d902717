//! Aggregates of columns: one value for all rows, or one for each group.

use std::{cmp::Ordering, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BooleanArray,
        Float64Array, PrimitiveArray, StringArray, UInt32Array, new_null_array,
    },
    buffer::{BooleanBuffer, NullBuffer},
    compute::{cast, take},
    datatypes::{DataType, Float64Type, Int32Type, TimestampMicrosecondType},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::memory;

use super::groups::{Groups, distinct_counts};
use crate::{
    expression::Aggregate,
    kernels::value::{Number, failed, with_type},
    literal::{Interpolation, Options},
};

/// Which rows become one value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grouping<'a> {
    All { rows: usize },
    By(&'a Groups),
}

impl Grouping<'_> {
    fn count(self) -> usize {
        match self {
            Grouping::All { .. } => 1,
            Grouping::By(groups) => groups.count,
        }
    }

    fn rows(self) -> usize {
        match self {
            Grouping::All { rows } => rows,
            Grouping::By(groups) => groups.codes.len(),
        }
    }

    /// Visits row and group of each value that is not null.
    #[inline]
    fn each(self, nulls: Option<&NullBuffer>, mut f: impl FnMut(usize, usize)) {
        match (self, nulls) {
            (Grouping::All { rows }, None) => (0..rows).for_each(|row| f(row, 0)),
            (Grouping::All { .. }, Some(nulls)) => {
                nulls.valid_indices().for_each(|row| f(row, 0));
            }
            (Grouping::By(groups), None) => {
                for (row, group) in groups.codes.iter().enumerate() {
                    f(row, *group as usize);
                }
            }
            (Grouping::By(groups), Some(nulls)) => {
                nulls
                    .valid_indices()
                    .for_each(|row| f(row, groups.codes[row] as usize));
            }
        }
    }
}

/// The aggregate of a column that has the type it works on; `len` needs none.
pub(super) fn aggregated(
    aggregate: Aggregate,
    column: Option<&ArrayRef>,
    options: &Options,
    to: &DataType,
    grouping: Grouping<'_>,
) -> Result<ArrayRef> {
    let Some(column) = column else {
        return counts(grouping, None);
    };
    if *to == DataType::Null {
        return Ok(new_null_array(to, grouping.count()));
    }
    match aggregate {
        Aggregate::Len => counts(grouping, None),
        Aggregate::Count => counts(grouping, column.logical_nulls().as_ref()),
        Aggregate::NUnique => n_unique(column, grouping),
        Aggregate::First => at_rows(column, first_rows(grouping)?),
        Aggregate::Last => at_rows(column, last_rows(grouping)?),
        Aggregate::Sum => sum(column, grouping),
        Aggregate::Min => extreme(column, grouping, Ordering::Less),
        Aggregate::Max => extreme(column, grouping, Ordering::Greater),
        Aggregate::Any => truths(column.as_boolean(), grouping, false),
        Aggregate::All => truths(column.as_boolean(), grouping, true),
        Aggregate::Mean => {
            let (means, counts) = means(column, grouping)?;
            real(means, |group| counts[group] > 0, to)
        }
        Aggregate::Var | Aggregate::Std => {
            let ddof = options.ddof.unwrap_or(1);
            let (mut variances, counts) = variances(column, grouping, ddof)?;
            if aggregate == Aggregate::Std {
                variances.iter_mut().for_each(|value| *value = value.sqrt());
            }
            real(variances, |group| counts[group] > ddof, to)
        }
        Aggregate::Median => quantiles(column, grouping, 0.5, Interpolation::Linear, to),
        Aggregate::Quantile => {
            let quantile = options.quantile.unwrap_or(0.5);
            quantiles(column, grouping, quantile, options.interpolation, to)
        }
    }
}

fn counts(grouping: Grouping<'_>, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let counts = match grouping {
        Grouping::All { rows } => {
            vec![(rows - nulls.map_or(0, NullBuffer::null_count)) as u32]
        }
        Grouping::By(_) => {
            let mut counts = memory::filled(grouping.count(), 0u32)?;
            grouping.each(nulls, |_, group| counts[group] += 1);
            counts
        }
    };
    Ok(Arc::new(UInt32Array::from(counts)))
}

fn n_unique(column: &ArrayRef, grouping: Grouping<'_>) -> Result<ArrayRef> {
    let counts = match grouping {
        Grouping::All { rows } => distinct_counts(&memory::filled(rows, 0)?, 1, column)?,
        Grouping::By(groups) => distinct_counts(&groups.codes, groups.count, column)?,
    };
    Ok(Arc::new(UInt32Array::from(counts)))
}

fn first_rows(grouping: Grouping<'_>) -> Result<UInt32Array> {
    Ok(match grouping {
        Grouping::All { rows: 0 } => UInt32Array::new_null(1),
        Grouping::All { .. } => UInt32Array::from(vec![0]),
        Grouping::By(groups) => UInt32Array::from(memory::copied(&groups.first_rows)?),
    })
}

fn last_rows(grouping: Grouping<'_>) -> Result<UInt32Array> {
    Ok(match grouping {
        Grouping::All { rows: 0 } => UInt32Array::new_null(1),
        Grouping::All { rows } => UInt32Array::from(vec![rows as u32 - 1]),
        Grouping::By(groups) => {
            let mut last = memory::filled(groups.count, 0u32)?;
            grouping.each(None, |row, group| last[group] = row as u32);
            UInt32Array::from(last)
        }
    })
}

fn at_rows(column: &ArrayRef, rows: UInt32Array) -> Result<ArrayRef> {
    memory::admit(rows.len().saturating_mul(16))?;
    take(column, &rows, None).map_err(failed)
}

fn sum(column: &ArrayRef, grouping: Grouping<'_>) -> Result<ArrayRef> {
    fn integers<T: ArrowPrimitiveType>(
        column: &ArrayRef,
        grouping: Grouping<'_>,
    ) -> Result<ArrayRef> {
        let values = column.as_primitive::<T>();
        let mut sums = memory::filled(grouping.count(), T::Native::default())?;
        let cells = values.values();
        grouping.each(values.nulls(), |row, group| {
            sums[group] = sums[group].add_wrapping(cells[row]);
        });
        Ok(Arc::new(PrimitiveArray::<T>::new(sums.into(), None)))
    }
    if column.data_type().is_floating() {
        let (sums, _) = sums(column, grouping)?;
        return real(sums, |_| true, column.data_type());
    }
    with_type!(column.data_type(), T => integers::<T>(column, grouping), else {
        Err(Error::internal(format!("a sum of {}", column.data_type())))
    })
}

/// Sums with the error that rounding makes added at the end (Neumaier 1974), and how many values there are.
fn sums(column: &ArrayRef, grouping: Grouping<'_>) -> Result<(Vec<f64>, Vec<u32>)> {
    let count = grouping.count();
    let mut sums = memory::filled(count, 0.0f64)?;
    let mut errors = memory::filled(count, 0.0f64)?;
    let mut counts = memory::filled(count, 0u32)?;
    with_type!(column.data_type(), T => {
        let values = column.as_primitive::<T>();
        let cells = values.values();
        grouping.each(values.nulls(), |row, group| {
            let value = cells[row].as_f64();
            let sum = sums[group];
            let total = sum + value;
            errors[group] += match sum.abs() >= value.abs() {
                true => (sum - total) + value,
                false => (value - total) + sum,
            };
            sums[group] = total;
            counts[group] += 1;
        });
    }, else return truth_sums(column.as_boolean(), grouping));
    for (sum, error) in sums.iter_mut().zip(errors) {
        // Infinite sums have no error.
        if error.is_finite() {
            *sum += error;
        }
    }
    Ok((sums, counts))
}

fn truth_sums(values: &BooleanArray, grouping: Grouping<'_>) -> Result<(Vec<f64>, Vec<u32>)> {
    let mut sums = memory::filled(grouping.count(), 0.0)?;
    let mut counts = memory::filled(grouping.count(), 0)?;
    grouping.each(values.nulls(), |row, group| {
        sums[group] += f64::from(u8::from(values.value(row)));
        counts[group] += 1;
    });
    Ok((sums, counts))
}

fn means(column: &ArrayRef, grouping: Grouping<'_>) -> Result<(Vec<f64>, Vec<u32>)> {
    let (mut means, counts) = sums(column, grouping)?;
    for (mean, count) in means.iter_mut().zip(&counts) {
        *mean /= f64::from(*count);
    }
    Ok((means, counts))
}

fn variances(column: &ArrayRef, grouping: Grouping<'_>, ddof: u32) -> Result<(Vec<f64>, Vec<u32>)> {
    let (means, counts) = means(column, grouping)?;
    let mut squares = memory::filled(means.len(), 0.0)?;
    let mut rests = memory::filled(means.len(), 0.0)?;
    with_type!(column.data_type(), T => {
        let values = column.as_primitive::<T>();
        let cells = values.values();
        grouping.each(values.nulls(), |row, group| {
            let distance = cells[row].as_f64() - means[group];
            squares[group] += distance * distance;
            rests[group] += distance;
        });
    }, else return Err(Error::internal("a variance of no numbers")));
    for (group, square) in squares.iter_mut().enumerate() {
        let count = f64::from(counts[group]);
        // What the mean is off by.
        let rest = rests[group] * rests[group] / count;
        *square = (*square - rest).max(0.0) / (count - f64::from(ddof));
        if means[group].is_nan() || !means[group].is_finite() {
            *square = f64::NAN;
        }
    }
    Ok((squares, counts))
}

/// Results of a type of numbers or moments.
fn real(values: Vec<f64>, is_valid: impl Fn(usize) -> bool, to: &DataType) -> Result<ArrayRef> {
    let valid = BooleanBuffer::collect_bool(values.len(), is_valid);
    let nulls = (valid.count_set_bits() < valid.len()).then(|| NullBuffer::new(valid));
    let values = Float64Array::new(values.into(), nulls);
    match to {
        DataType::Float64 => Ok(Arc::new(values)),
        DataType::Timestamp(..) => {
            let moments: PrimitiveArray<TimestampMicrosecondType> =
                values.unary(|micros| micros as i64);
            Ok(Arc::new(moments))
        }
        _ => cast(&values, to).map_err(failed),
    }
}

fn truths(values: &BooleanArray, grouping: Grouping<'_>, of_none: bool) -> Result<ArrayRef> {
    let mut results = memory::filled(grouping.count(), of_none)?;
    grouping.each(values.nulls(), |row, group| {
        if values.value(row) != of_none {
            results[group] = !of_none;
        }
    });
    Ok(Arc::new(BooleanArray::from(results)))
}

/// The values that compare so with all others of their group.
fn extreme(column: &ArrayRef, grouping: Grouping<'_>, wanted: Ordering) -> Result<ArrayRef> {
    const NONE: u32 = u32::MAX;
    let mut best = memory::filled(grouping.count(), NONE)?;
    let nulls = column.logical_nulls();
    let mut search = |is_better: &dyn Fn(usize, usize) -> bool| {
        grouping.each(nulls.as_ref(), |row, group| {
            let best = &mut best[group];
            if *best == NONE || is_better(row, *best as usize) {
                *best = row as u32;
            }
        });
    };
    match column.data_type() {
        DataType::Boolean => {
            let values = column.as_boolean();
            search(&|row, best| values.value(row).cmp(&values.value(best)) == wanted);
        }
        DataType::Utf8 => {
            let values = column.as_string::<i32>();
            search(&|row, best| values.value(row).cmp(values.value(best)) == wanted);
        }
        DataType::Dictionary(..) => {
            let coded = column.as_dictionary::<Int32Type>();
            let ranks = ranks(coded.values().as_string::<i32>())?;
            let rank = |row: usize| ranks[coded.keys().value(row) as usize];
            search(&|row, best| rank(row).cmp(&rank(best)) == wanted);
        }
        kind => with_type!(kind, T => {
            let values = column.as_primitive::<T>().values();
            return best_numbers::<T>(values, nulls.as_ref(), grouping, wanted);
        }, else return Err(Error::internal(format!("an order of {kind}")))),
    }
    let rows = best.into_iter().map(|row| (row != NONE).then_some(row));
    at_rows(column, rows.collect())
}

fn best_numbers<T>(
    values: &[T::Native],
    nulls: Option<&NullBuffer>,
    grouping: Grouping<'_>,
    wanted: Ordering,
) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType<Native: Number>,
{
    let mut best = memory::filled(grouping.count(), T::Native::default())?;
    let mut found = memory::filled(grouping.count(), false)?;
    let mut search = |is_better: &dyn Fn(T::Native, T::Native) -> bool| {
        grouping.each(nulls, |row, group| {
            let value = values[row];
            if !found[group] || is_better(value, best[group]) {
                best[group] = value;
                found[group] = true;
            }
        });
    };
    // A NaN gives way to any number.
    match wanted {
        Ordering::Less => search(&|value, best| value < best || best.is_nan() && !value.is_nan()),
        _ => search(&|value, best| value > best || best.is_nan() && !value.is_nan()),
    }
    let nulls = NullBuffer::from(found);
    let nulls = (nulls.null_count() > 0).then_some(nulls);
    Ok(Arc::new(PrimitiveArray::<T>::new(best.into(), nulls)))
}

/// The places of distinct texts in their order.
pub(super) fn ranks(texts: &StringArray) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = memory::collected(0..texts.len() as u32)?;
    order.sort_unstable_by_key(|at| texts.value(*at as usize));
    let mut ranks = memory::filled(texts.len(), 0)?;
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at as usize] = rank as u32;
    }
    Ok(ranks)
}

fn quantiles(
    column: &ArrayRef,
    grouping: Grouping<'_>,
    quantile: f64,
    interpolation: Interpolation,
    to: &DataType,
) -> Result<ArrayRef> {
    let as_real = match column.data_type() {
        DataType::Timestamp(..) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>();
            let real: Float64Array = micros.unary(|micros| micros as f64);
            Arc::new(real)
        }
        _ => cast(column, &DataType::Float64).map_err(failed)?,
    };
    memory::admit(grouping.rows().saturating_mul(16))?;
    let values = as_real.as_primitive::<Float64Type>();
    // The values of each group stand together.
    let mut ends = memory::filled(grouping.count() + 1, 0usize)?;
    grouping.each(values.nulls(), |_, group| ends[group + 1] += 1);
    for group in 0..grouping.count() {
        ends[group + 1] += ends[group];
    }
    let mut next = memory::copied(&ends)?;
    let mut sorted = memory::filled(ends[grouping.count()], 0.0)?;
    let cells = values.values();
    grouping.each(values.nulls(), |row, group| {
        // All NaNs come last.
        let value = if cells[row].is_nan() {
            f64::NAN
        } else {
            cells[row]
        };
        sorted[next[group]] = value;
        next[group] += 1;
    });
    let mut results = memory::filled(grouping.count(), 0.0)?;
    for (group, result) in results.iter_mut().enumerate() {
        let values = &mut sorted[ends[group]..ends[group + 1]];
        values.sort_unstable_by(f64::total_cmp);
        if !values.is_empty() {
            *result = between(values, quantile, interpolation);
        }
    }
    real(results, |group| ends[group + 1] > ends[group], to)
}

/// A quantile of sorted values, one at least.
fn between(values: &[f64], quantile: f64, interpolation: Interpolation) -> f64 {
    let last = values.len() - 1;
    let place = last as f64 * quantile;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    let (low_value, high_value) = (values[low.min(last)], values[high.min(last)]);
    match interpolation {
        Interpolation::Nearest => values[(place.round() as usize).min(last)],
        Interpolation::Lower => low_value,
        Interpolation::Higher => high_value,
        Interpolation::Midpoint | Interpolation::Linear if low == high => low_value,
        Interpolation::Midpoint => (low_value + high_value) / 2.0,
        Interpolation::Linear => low_value + (high_value - low_value) * (place - low as f64),
        Interpolation::Equiprobable => {
            let place = (values.len() as f64 * quantile).ceil() as usize;
            values[place.saturating_sub(1).min(last)]
        }
    }
}
