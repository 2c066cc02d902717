//! Columns as matrices of one column, and what is known of their numbers.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray},
    buffer::BooleanBuffer,
    datatypes::{
        ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type,
        Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type,
        UInt64Type,
    },
};
use fulgurite_dataflow::Variable;
use fulgurite_error::Result;
use fulgurite_lazy::Expression;
use fulgurite_matrix::{DenseMatrix, MatrixBlock, lanes::vectorized};

use crate::parallel;

/// Whole numbers up to here are exact in doubles.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;

/// The least and the largest value of a type of whole numbers.
pub(crate) fn bounds(data_type: &DataType) -> Option<(f64, f64)> {
    Some(match data_type {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN as f64, i64::MAX as f64),
        DataType::UInt8 => (0.0, u8::MAX.into()),
        DataType::UInt16 => (0.0, u16::MAX.into()),
        DataType::UInt32 => (0.0, u32::MAX.into()),
        DataType::UInt64 => (0.0, u64::MAX as f64),
        _ => return None,
    })
}

/// Rows that stay in the cache until their bounds are found.
const ROWS_OF_A_TASK: usize = 1 << 14;

/// Bounds of numbers. An empty range has `least` above `most`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub least: f64,
    pub most: f64,
    pub has_nan: bool,
}

impl Span {
    pub const ANY: Span = Span {
        least: f64::NEG_INFINITY,
        most: f64::INFINITY,
        has_nan: true,
    };
    pub const TRUTH: Span = Span {
        least: 0.0,
        most: 1.0,
        has_nan: false,
    };
    const NOTHING: Span = Span {
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
        has_nan: false,
    };

    pub fn of(value: f64) -> Span {
        Span::NOTHING.with(value)
    }

    #[inline(always)]
    fn with(self, value: f64) -> Span {
        Span {
            least: self.least.min(value),
            most: self.most.max(value),
            has_nan: self.has_nan | value.is_nan(),
        }
    }

    pub fn union(self, other: Span) -> Span {
        Span {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            has_nan: self.has_nan | other.has_nan,
        }
    }

    /// The largest magnitude.
    pub fn magnitude(self) -> f64 {
        self.least.abs().max(self.most.abs())
    }

    /// Whether all whole numbers of the span are exact in doubles.
    pub fn is_exact(self) -> bool {
        self.least > self.most || self.magnitude() <= EXACT
    }
}

/// A column as a matrix.
#[derive(Debug, Clone)]
pub(crate) struct NumericColumn {
    /// 0 where a value is missing.
    pub values: Arc<Expression>,
    /// 1 where a value is there; none where all are.
    pub valid: Option<Arc<Expression>>,
    pub span: Span,
}

impl NumericColumn {
    /// Of numbers, booleans, dates and times; none for other types. Doubles are not looked at: they may be any.
    ///
    /// # Errors
    /// `memory`.
    pub fn of(array: &ArrayRef) -> Result<Option<Self>> {
        let Some((values, span)) = values(array)? else {
            return Ok(None);
        };
        let valid = match array.logical_nulls() {
            Some(nulls) if nulls.null_count() > 0 => Some(truths(nulls.inner())?),
            _ => None,
        };
        Ok(Some(NumericColumn {
            values: leaf(values),
            valid,
            span,
        }))
    }
}

/// A column of 1 where a flag is set.
///
/// # Errors
/// `memory`.
pub(crate) fn truths(flags: &BooleanBuffer) -> Result<Arc<Expression>> {
    column(flags.len(), |row| f64::from(u8::from(flags.value(row))))
}

/// A column with a number for each row.
///
/// # Errors
/// `memory`; `interrupted`.
pub(crate) fn column(rows: usize, cell: impl Fn(usize) -> f64 + Sync) -> Result<Arc<Expression>> {
    filled(rows, cell).map(|(column, _)| leaf(column))
}

/// A matrix that is there.
pub(crate) fn leaf(column: DenseMatrix) -> Arc<Expression> {
    Expression::value(Variable::matrix(MatrixBlock::Dense(column)))
}

fn values(array: &ArrayRef) -> Result<Option<(DenseMatrix, Span)>> {
    Ok(Some(match array.data_type() {
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            let column = match floats.null_count() {
                0 => DenseMatrix::new(floats.len(), 1, floats.values().clone())?,
                _ => converted(floats, |value| value)?.0,
            };
            (column, Span::ANY)
        }
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            (converted(floats, f64::from)?.0, Span::ANY)
        }
        DataType::Int8 => converted(array.as_primitive::<Int8Type>(), f64::from)?,
        DataType::Int16 => converted(array.as_primitive::<Int16Type>(), f64::from)?,
        DataType::Int32 => converted(array.as_primitive::<Int32Type>(), f64::from)?,
        DataType::Int64 => converted(array.as_primitive::<Int64Type>(), |value| value as f64)?,
        DataType::UInt8 => converted(array.as_primitive::<UInt8Type>(), f64::from)?,
        DataType::UInt16 => converted(array.as_primitive::<UInt16Type>(), f64::from)?,
        DataType::UInt32 => converted(array.as_primitive::<UInt32Type>(), f64::from)?,
        DataType::UInt64 => converted(array.as_primitive::<UInt64Type>(), |value| value as f64)?,
        DataType::Date32 => converted(array.as_primitive::<Date32Type>(), f64::from)?,
        DataType::Timestamp(..) => {
            converted(array.as_primitive::<TimestampMicrosecondType>(), |value| {
                value as f64
            })?
        }
        DataType::Boolean => {
            let truth = array.as_boolean();
            let (values, nulls) = (truth.values(), truth.nulls());
            filled(truth.len(), |row| {
                let is_there = nulls.is_none_or(|nulls| nulls.is_valid(row));
                f64::from(u8::from(is_there && values.value(row)))
            })?
        }
        _ => return Ok(None),
    }))
}

fn converted<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    number: impl Fn(T::Native) -> f64 + Sync,
) -> Result<(DenseMatrix, Span)> {
    let values = array.values();
    match array.nulls() {
        None => by_parts(array.len(), |start, cells| {
            for (cell, value) in cells.iter_mut().zip(&values[start..]) {
                *cell = number(*value);
            }
        }),
        Some(nulls) => filled(array.len(), |row| match nulls.is_valid(row) {
            true => number(values[row]),
            false => 0.0,
        }),
    }
}

/// A column of as many rows, and its bounds.
fn filled(rows: usize, cell: impl Fn(usize) -> f64 + Sync) -> Result<(DenseMatrix, Span)> {
    by_parts(rows, |start, cells| {
        for (offset, place) in cells.iter_mut().enumerate() {
            *place = cell(start + offset);
        }
    })
}

/// The same, of which a function writes the cells from a row on.
fn by_parts(rows: usize, fill: impl Fn(usize, &mut [f64]) + Sync) -> Result<(DenseMatrix, Span)> {
    let (cells, spans) = parallel::filled(rows, ROWS_OF_A_TASK, |start, cells| {
        let mut bounds = Span::NOTHING;
        vectorized(|| {
            fill(start, cells);
            bounds = span(cells);
        });
        Ok(bounds)
    })?;
    let span = spans.into_iter().fold(Span::NOTHING, Span::union);
    Ok((DenseMatrix::new(rows, 1, cells)?, span))
}

#[inline(always)]
fn span(values: &[f64]) -> Span {
    // Eight at a time: the loop has no branch.
    let mut lanes = [Span::NOTHING; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = lane.with(*value);
        }
    }
    let lanes = lanes.into_iter().fold(Span::NOTHING, Span::union);
    rest.iter().fold(lanes, |span, value| span.with(*value))
}
