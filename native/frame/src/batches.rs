//! Frames as Arrow record batches, and back.
//!
//! A column that has one of the six types keeps its array. Small whole numbers become INT32, the others INT64; decimals become FP64;
//! dates, times and timestamps become text as ISO 8601 has them. Names and missing values are kept.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray, make_array},
    compute::{CastOptions, cast_with_options, concat},
    datatypes::{DataType, Field, Schema},
    error::ArrowError,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

use crate::{Column, Frame, TextBuilder};

impl Frame {
    /// The rows of all batches, one below the other.
    ///
    /// # Errors
    /// `unsupported` with the name and the type of a column that has no type of frames; `data` for a value that does not fit;
    /// `dimension` when the batches differ in columns; `memory`.
    pub fn from_record_batches(batches: &[RecordBatch]) -> Result<Frame> {
        let Some(first) = batches.first() else {
            return Frame::new(Vec::new(), None);
        };
        let schema = first.schema();
        if let Some(other) = batches
            .iter()
            .find(|batch| batch.num_columns() != schema.fields().len())
        {
            return Err(Error::dimension(format!(
                "record batches of {} and {} columns",
                schema.fields().len(),
                other.num_columns()
            )));
        }
        let interrupt = Interrupt::current();
        let columns = schema.fields().iter().enumerate().map(|(col, field)| {
            interrupt.check()?;
            let arrays: Vec<_> = batches.iter().map(|batch| batch.column(col)).collect();
            column_of(field.name(), &arrays)
        });
        let names = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str().into());
        Frame::new(columns.collect::<Result<_>>()?, Some(names.collect()))
    }

    /// The frame as one batch, which shares its buffers. All columns may have missing values.
    ///
    /// # Errors
    /// `internal` when Arrow refuses the columns.
    pub fn to_record_batch(&self) -> Result<RecordBatch> {
        let fields = self
            .columns()
            .iter()
            .zip(self.names())
            .map(|(column, name)| Field::new(&**name, column.array().data_type().clone(), true));
        let arrays = self
            .columns()
            .iter()
            .map(|column| make_array(column.array().to_data()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows()));
        RecordBatch::try_new_with_options(schema, arrays.collect(), &options)
            .map_err(|error| Error::internal(format!("a frame is no record batch: {error}")))
    }
}

/// The type of frames that the values of an Arrow type have.
fn target(kind: &DataType) -> Option<DataType> {
    Some(match kind {
        DataType::Boolean => DataType::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => {
            DataType::Int32
        }
        DataType::UInt32 | DataType::Int64 | DataType::UInt64 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float32,
        DataType::Float64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => DataType::Float64,
        DataType::Null
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => DataType::Utf8,
        DataType::Dictionary(_, values) => return target(values),
        _ => return None,
    })
}

/// Timestamps of a zone count from an instant in UTC. What a clock of another zone shows needs a table of zones, which is not built in.
fn is_utc(zone: &str) -> bool {
    ["UTC", "Etc/UTC", "GMT", "Z", "+00:00"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(zone))
}

fn column_of(name: &str, arrays: &[&ArrayRef]) -> Result<Column> {
    let bytes = arrays
        .iter()
        .map(|array| array.get_array_memory_size())
        .sum();
    memory::admit(bytes)?;
    if let [array] = arrays
        && let Ok(column) = Column::from_array(array)
    {
        return Ok(column);
    }
    let mut parts = Vec::new();
    for array in arrays {
        let kind = array.data_type();
        if let DataType::Timestamp(_, Some(zone)) = kind
            && !is_utc(zone)
        {
            return Err(Error::unsupported(format!(
                "column '{name}', of type {kind}: timestamps of the zone '{zone}'"
            ))
            .with_help("convert the column to UTC, or to timestamps without a zone"));
        }
        let (array, kind) = match kind {
            DataType::Timestamp(unit, Some(_)) => {
                let kind = DataType::Timestamp(*unit, Some("+00:00".into()));
                let utc = array.to_data().into_builder().data_type(kind.clone());
                let utc = utc.build().map_err(|error| {
                    Error::data(format!("column '{name}', of type {kind}: {error}"))
                })?;
                (make_array(utc), kind)
            }
            _ => (ArrayRef::clone(array), kind.clone()),
        };
        let kind = &kind;
        let to = target(kind).ok_or_else(|| {
            Error::unsupported(format!(
                "column '{name}': frames have no columns of the Arrow type {kind}"
            ))
        })?;
        let to_text = to == DataType::Utf8;
        // Texts of a dictionary stay one each.
        let to = match kind {
            DataType::Dictionary(..) if to_text => {
                DataType::Dictionary(Box::new(DataType::Int64), Box::new(DataType::Utf8))
            }
            _ => to,
        };
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let part = cast_with_options(&array, &to, &options).map_err(|error| {
            let ArrowError::CastError(reason) = &error else {
                return Error::data(format!("column '{name}', of type {kind}: {error}"));
            };
            Error::data(format!("column '{name}', of type {kind}: {reason}"))
        })?;
        parts.push((to_text, part));
    }
    if parts.iter().any(|(is_text, _)| *is_text) {
        let mut builder = TextBuilder::default();
        for (_, part) in &parts {
            texts_into(&mut builder, name, part)?;
        }
        return builder.finish();
    }
    let parts: Vec<_> = parts.iter().map(|(_, part)| part.as_ref()).collect();
    let all = concat(&parts)
        .map_err(|error| Error::data(format!("column '{name}' of record batches: {error}")))?;
    Column::from_array(&all)
}

fn texts_into(builder: &mut TextBuilder, name: &str, array: &ArrayRef) -> Result<()> {
    use arrow::{array::DictionaryArray, datatypes::Int64Type};
    let any = array.as_any();
    let is_text = |array: &dyn Array| {
        Error::data(format!("column '{name}': {} is no text", array.data_type()))
    };
    if let Some(coded) = any.downcast_ref::<DictionaryArray<Int64Type>>() {
        let values = coded.values().as_any().downcast_ref::<StringArray>();
        let values = values.ok_or_else(|| is_text(array))?;
        for row in 0..coded.len() {
            let code = (!coded.is_null(row)).then(|| coded.keys().value(row) as usize);
            let code = code.filter(|code| *code < values.len() && !values.is_null(*code));
            builder.push(code.map(|code| values.value(code)))?;
        }
        return Ok(());
    }
    let texts = any
        .downcast_ref::<StringArray>()
        .ok_or_else(|| is_text(array))?;
    for text in texts {
        builder.push(text)?;
    }
    Ok(())
}
