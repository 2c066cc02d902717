//! Results of plans as columns of tables.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, BooleanArray, Float64Array},
    buffer::{BooleanBuffer, NullBuffer, ScalarBuffer},
    datatypes::DataType,
};
use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_lazy::{Expression, Input};
use fulgurite_matrix::memory;

use super::lower::Number;
use crate::kernels::value::failed;

/// The cells of a computed column.
///
/// # Errors
/// `internal`, where it has no value; `memory`.
pub(crate) fn cells(expression: &Expression) -> Result<ScalarBuffer<f64>> {
    match expression.known() {
        Some(Variable::Matrix(matrix)) => Ok(matrix.block().to_dense()?.buffer().clone()),
        Some(Variable::Scalar(value)) => Ok(vec![value.as_f64().unwrap_or(f64::NAN)].into()),
        _ => Err(Error::internal("a column without a value")),
    }
}

/// The value of an input that is computed.
fn cells_of(input: &Input, rows: usize) -> Result<ScalarBuffer<f64>> {
    match input {
        Input::Expression(expression) => {
            let cells = cells(expression)?;
            match cells.len() == rows {
                true => Ok(cells),
                false => Ok(memory::filled(rows, cells[0])?.into()),
            }
        }
        Input::Literal(value) => {
            Ok(memory::filled(rows, value.as_f64().unwrap_or(f64::NAN))?.into())
        }
    }
}

/// The flags that are not 0.
pub(crate) fn flags(cells: &[f64]) -> BooleanBuffer {
    BooleanBuffer::collect_bool(cells.len(), |row| cells[row] != 0.0)
}

/// A computed number as a column of a type.
///
/// # Errors
/// As [`cells`].
pub(crate) fn array(number: &Number, data_type: &DataType, rows: usize) -> Result<ArrayRef> {
    let cells = cells_of(&number.values, rows)?;
    let nulls = match &number.valid {
        None => None,
        Some(valid) => Some(NullBuffer::new(flags(&cells_of(valid, rows)?))),
    };
    Ok(match data_type {
        DataType::Boolean => Arc::new(BooleanArray::new(flags(&cells), nulls)),
        DataType::Float64 => Arc::new(Float64Array::new(cells, nulls)),
        other => {
            let doubles: ArrayRef = Arc::new(Float64Array::new(cells, nulls));
            arrow::compute::cast(&doubles, &through(other))
                .and_then(|whole| arrow::compute::cast(&whole, other))
                .map_err(|error| Error::internal(format!("a column is no {other}: {error}")))?
        }
    })
}

/// Texts by codes as texts, where the plan has these.
///
/// # Errors
/// `unsupported` for more text than one array has room for.
pub(crate) fn with_type(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    match column.data_type() == data_type {
        true => Ok(Arc::clone(column)),
        false => arrow::compute::cast(column, data_type).map_err(failed),
    }
}

/// Dates and times are whole numbers first.
fn through(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Date32 => DataType::Int32,
        DataType::Timestamp(..) => DataType::Int64,
        other => other.clone(),
    }
}
