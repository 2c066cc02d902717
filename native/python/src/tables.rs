//! Tables of relational plans as Python has them: of Arrow's streams, of arrays and lists, of files, and back.
//!
//! Unsafe code here takes over a stream that another library gives in a capsule, and lends NumPy the memory of a column.

use std::{fs::File, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, BooleanArray, Date32Array, NullArray, PrimitiveArray, RecordBatchReader,
        StringBuilder, TimestampMicrosecondArray,
    },
    buffer::{BooleanBuffer, NullBuffer, ScalarBuffer},
    datatypes::{
        ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
        Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
    error::ArrowError,
    ffi_stream::RecordBatchStreamReader,
};
use fulgurite_error::{Error, Result};
use fulgurite_frame::{
    ColumnType, Frame, csv,
    csv::CsvFormat,
    parquet::{ParquetFile, SharedFile},
};
use fulgurite_matrix::memory;
use fulgurite_operators::panics;
use fulgurite_relation::{Reads, Table};
use numpy::{PyArray1, PyArrayMethods, ndarray::ArrayView1};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods},
};

use crate::{
    failure::raised,
    frames::{STREAM, streamed},
};

/// A table.
#[pyclass(frozen, name = "Table", module = "fulgurite._native")]
pub struct PyTable(pub Table);

/// What a plan reads of a table.
#[pyclass(frozen, name = "Reads", module = "fulgurite._native")]
pub struct PyReads(pub Reads);

/// A column's type, its values, and which of them are missing, as Python gives them.
type Given<'py> = (
    String,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyArray1<bool>>>,
);

#[pymethods]
impl PyTable {
    /// Of what `__arrow_c_stream__` gives.
    #[staticmethod]
    fn of_stream(py: Python<'_>, capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let stream = capsule.pointer_checked(Some(STREAM))?.cast();
        // SAFETY: a capsule of this name holds a stream by Arrow's interface, which whoever takes it moves out: what stays in the
        // capsule is a released stream, which its destructor leaves alone. The capsule lives during the call.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
        // What is read may be computed while it is read, and need the interpreter.
        let table = reader.map_err(unreadable).and_then(|reader| {
            let schema = reader.schema();
            let batches = reader.collect::<std::result::Result<Vec<_>, _>>();
            Table::from_batches(&schema, &batches.map_err(unreadable)?)
        });
        made(py, table)
    }

    /// Of arrays of NumPy, and of lists of texts, in the order of the names.
    #[staticmethod]
    fn of_columns(py: Python<'_>, names: Vec<String>, columns: Vec<Given<'_>>) -> PyResult<Self> {
        let mut made_columns = Vec::new();
        for (name, column) in names.into_iter().zip(columns) {
            let array = column_of(py, &column)?;
            made_columns.push((Arc::<str>::from(name), array));
        }
        made(py, Table::new(made_columns))
    }

    /// A table without rows that has the columns of a Parquet file.
    #[staticmethod]
    fn parquet_header(py: Python<'_>, path: String) -> PyResult<Self> {
        let table = py.detach(|| {
            let file = ParquetFile::open(shared(&path)?)?;
            Table::header(file.schema())
        });
        made(py, table)
    }

    /// What a plan reads of a Parquet file; how many row groups that was, and how many there are.
    #[staticmethod]
    fn read_parquet(
        py: Python<'_>,
        path: String,
        reads: &PyReads,
    ) -> PyResult<(Self, usize, usize)> {
        let read = py.detach(|| panics::caught(|| parquet_table(&path, &reads.0)));
        let (table, read, groups) = read.map_err(|error| raised(py, &error, None))?;
        Ok((PyTable(table), read, groups))
    }

    /// A csv file; types follow from all of its rows.
    #[staticmethod]
    fn read_csv(
        py: Python<'_>,
        path: String,
        separator: &str,
        has_header: bool,
        missing: Vec<String>,
    ) -> PyResult<Self> {
        let format = CsvFormat {
            separator: separator.as_bytes().first().copied().unwrap_or(b','),
            header: has_header,
            missing,
            ..CsvFormat::default()
        };
        let table = py.detach(|| panics::caught(|| csv_table(&path, &format)));
        made(py, table)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Whoever asks for other types converts them.
        let _ = requested_schema;
        streamed(py, self.0.to_record_batch())
    }

    #[getter]
    fn rows(&self) -> usize {
        self.0.rows()
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        let names = self.0.names();
        names.iter().map(|name| name.to_string()).collect()
    }

    /// The names of the columns' types.
    #[getter]
    fn types(&self) -> Vec<String> {
        let columns = self.0.columns().iter();
        columns
            .map(|column| type_name(column.data_type()))
            .collect()
    }

    /// The cells of a column of numbers or booleans as a read-only array. Numbers without missing values are the column's own
    /// memory. Missing ones become NaN in an array of float64 where that is wanted.
    ///
    /// # Errors
    /// `data`, for missing values that are not wanted.
    fn cells<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        nulls_are_nan: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let column = self.0.column(name);
        let column = column.map_err(|error| raised(py, &error, None))?;
        if column.null_count() > 0 {
            let cells = match nulls_are_nan {
                true => py.detach(|| with_nan(column)),
                false => Err(Error::data(format!(
                    "the column '{name}' has {} missing values",
                    column.null_count()
                ))
                .with_help("fill them with fill_null(), or drop their rows with drop_nulls()")),
            };
            let cells = cells.map_err(|error| raised(py, &error, None))?;
            return Ok(PyArray1::from_vec(py, cells).into_any());
        }
        let cells = match column.data_type() {
            DataType::Boolean => {
                let bits = column.as_any().downcast_ref::<BooleanArray>();
                let bits = bits
                    .ok_or_else(|| raised(py, &Error::internal("booleans that are none"), None))?;
                let bits = memory::collected((0..bits.len()).map(|row| bits.value(row)));
                let bits = bits.map_err(|error| raised(py, &error, None))?;
                Some(PyArray1::from_vec(py, bits).into_any())
            }
            DataType::Int8 => lent::<Int8Type>(py, column)?,
            DataType::Int16 => lent::<Int16Type>(py, column)?,
            DataType::Int32 => lent::<Int32Type>(py, column)?,
            DataType::Int64 => lent::<Int64Type>(py, column)?,
            DataType::UInt8 => lent::<UInt8Type>(py, column)?,
            DataType::UInt16 => lent::<UInt16Type>(py, column)?,
            DataType::UInt32 => lent::<UInt32Type>(py, column)?,
            DataType::UInt64 => lent::<UInt64Type>(py, column)?,
            DataType::Float32 => lent::<Float32Type>(py, column)?,
            DataType::Float64 => lent::<Float64Type>(py, column)?,
            DataType::Decimal128(..) => {
                let cells = py.detach(|| with_nan(column));
                let cells = cells.map_err(|error| raised(py, &error, None))?;
                Some(PyArray1::from_vec(py, cells).into_any())
            }
            _ => None,
        };
        cells.ok_or_else(|| {
            let error = Error::internal(format!("cells of the type {}", column.data_type()));
            raised(py, &error, None)
        })
    }
}

/// Keeps the memory of a column that an array reads.
#[pyclass(frozen, module = "fulgurite._native")]
struct Lender {
    #[expect(dead_code, reason = "held, not read")]
    column: ArrayRef,
}

/// The memory of a column without missing values as a read-only array.
fn lent<'py, T>(py: Python<'py>, column: &ArrayRef) -> PyResult<Option<Bound<'py, PyAny>>>
where
    T: ArrowPrimitiveType,
    T::Native: numpy::Element,
{
    let Some(cells) = column.as_any().downcast_ref::<PrimitiveArray<T>>() else {
        return Ok(None);
    };
    let owner = Bound::new(
        py,
        Lender {
            column: Arc::clone(column),
        },
    )?;
    let cells = ArrayView1::from(&**cells.values());
    // SAFETY: the cells are in a buffer that the column keeps, and the array keeps the column. Nobody writes: Arrow's arrays are
    // immutable, and this one is made read-only before anybody else has it.
    let array = unsafe { PyArray1::borrow_from_array(&cells, owner.into_any()) };
    array.call_method1("setflags", (false,))?;
    Ok(Some(array.into_any()))
}

/// A column's numbers as doubles, with NaN for missing ones.
fn with_nan(column: &ArrayRef) -> Result<Vec<f64>> {
    let floats = arrow::compute::cast(column, &DataType::Float64).map_err(unreadable)?;
    let floats = floats
        .as_any()
        .downcast_ref::<PrimitiveArray<Float64Type>>();
    let floats = floats.ok_or_else(|| Error::internal("a cast to another type than asked for"))?;
    memory::collected(floats.iter().map(|value| value.unwrap_or(f64::NAN)))
}

fn made(py: Python<'_>, table: Result<Table>) -> PyResult<PyTable> {
    table.map(PyTable).map_err(|error| raised(py, &error, None))
}

fn unreadable(error: ArrowError) -> Error {
    Error::data(format!("the table can't be read: {error}"))
}

fn opened(path: &str) -> Result<File> {
    File::open(path).map_err(|error| Error::io(format!("'{path}' can't be read: {error}")))
}

fn shared(path: &str) -> Result<SharedFile> {
    SharedFile::new(opened(path)?)
        .map_err(|error| Error::io(format!("'{path}' can't be read: {error}")))
}

/// The columns that a plan reads, of the row groups that may have rows for it.
fn parquet_table(path: &str, reads: &Reads) -> Result<(Table, usize, usize)> {
    let file = ParquetFile::open(shared(path)?)?;
    let told = file.statistics(&reads.bounded())?;
    let groups = reads.parts(&file.group_rows(), &told)?;
    let names = reads.names.as_ref();
    let names = names.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
    let (schema, batches) = file.read(names.as_deref(), Some(&groups))?;
    let read = groups.iter().filter(|is_read| **is_read).count();
    Ok((Table::from_batches(&schema, &batches)?, read, groups.len()))
}

/// A csv file whose columns have the narrowest types that all of their values have; numbers have 64 bits.
fn csv_table(path: &str, format: &CsvFormat) -> Result<Table> {
    let texts = csv::read(opened(path)?, format, None)?;
    if texts.cols() == 0 {
        return Err(Error::data(format!("'{path}' is empty")));
    }
    let types = Frame::read_schema(&texts.detect_schema()?)?.into_iter();
    let types: Vec<ColumnType> = types
        .map(|kind| match kind {
            ColumnType::Int32 => ColumnType::Int64,
            ColumnType::Fp32 => ColumnType::Fp64,
            kind => kind,
        })
        .collect();
    let batch = texts.apply_schema(&types)?.to_record_batch()?;
    Table::from_batches(&batch.schema(), &[batch])
}

/// The name of a type in Python.
pub fn type_name(kind: &DataType) -> String {
    match kind {
        DataType::Boolean => "boolean".to_owned(),
        // Codes of text are text.
        DataType::Utf8 | DataType::Dictionary(..) => "string".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::Timestamp(..) => "datetime".to_owned(),
        kind => kind.to_string().to_ascii_lowercase(),
    }
}

/// A column of what Python gives.
fn column_of(py: Python<'_>, (kind, values, missing): &Given<'_>) -> PyResult<ArrayRef> {
    let nulls = missing.as_ref().map(|missing| {
        let missing = missing.readonly();
        let present: BooleanBuffer = missing.as_array().iter().map(|missing| !missing).collect();
        NullBuffer::new(present)
    });
    let nulls = nulls.as_ref();
    Ok(match kind.as_str() {
        "boolean" => {
            let bits = values.cast::<PyArray1<bool>>()?.readonly();
            let bits: BooleanBuffer = bits.as_array().iter().copied().collect();
            Arc::new(BooleanArray::new(bits, nulls.cloned()))
        }
        "int8" => numbers::<Int8Type>(py, values, nulls)?,
        "int16" => numbers::<Int16Type>(py, values, nulls)?,
        "int32" => numbers::<Int32Type>(py, values, nulls)?,
        "int64" => numbers::<Int64Type>(py, values, nulls)?,
        "uint8" => numbers::<UInt8Type>(py, values, nulls)?,
        "uint16" => numbers::<UInt16Type>(py, values, nulls)?,
        "uint32" => numbers::<UInt32Type>(py, values, nulls)?,
        "uint64" => numbers::<UInt64Type>(py, values, nulls)?,
        "float32" => numbers::<Float32Type>(py, values, nulls)?,
        "float64" => numbers::<Float64Type>(py, values, nulls)?,
        "date" => {
            let days = cells::<i32>(py, values)?;
            Arc::new(Date32Array::new(days, nulls.cloned()))
        }
        "datetime" => {
            let micros = cells::<i64>(py, values)?;
            Arc::new(TimestampMicrosecondArray::new(micros, nulls.cloned()))
        }
        "string" => {
            let mut texts = StringBuilder::new();
            for text in values.extract::<Vec<Option<String>>>()? {
                texts.append_option(text);
            }
            Arc::new(texts.finish())
        }
        _ => Arc::new(NullArray::new(values.len()?)),
    })
}

fn numbers<T>(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    nulls: Option<&NullBuffer>,
) -> PyResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: numpy::Element,
{
    let cells = cells::<T::Native>(py, values)?;
    Ok(Arc::new(PrimitiveArray::<T>::new(cells, nulls.cloned())))
}

/// A copy of an array's cells.
fn cells<T>(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<ScalarBuffer<T>>
where
    T: numpy::Element + arrow::datatypes::ArrowNativeType,
{
    let cells = values.cast::<PyArray1<T>>()?.readonly();
    let copied = cells.as_slice().map_err(PyErr::from).map(memory::copied)?;
    let copied = copied.map_err(|error| raised(py, &error, None))?;
    Ok(copied.into())
}
