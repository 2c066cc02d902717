//! Frames as Python has them: of Arrow's streams and of lists, and back.
//!
//! Unsafe code here takes over a stream that another library gives in a capsule.

use arrow::{
    array::{RecordBatch, RecordBatchIterator, RecordBatchReader},
    datatypes::SchemaRef,
    error::ArrowError,
    ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader},
};
use fulgurite_error::{Error, Result};
use fulgurite_frame::{Cell, Column, ColumnType, Frame};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyBool, PyCapsule, PyCapsuleMethods, PyFloat, PyInt, PyList, PyString},
};

use crate::failure::raised;

/// The name of capsules that hold a stream, by Arrow's PyCapsule interface.
pub const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A frame.
#[pyclass(frozen, name = "Frame", module = "fulgurite._native")]
pub struct PyFrame(pub Frame);

#[pymethods]
impl PyFrame {
    /// Of what `__arrow_c_stream__` gives.
    #[staticmethod]
    fn of_stream(py: Python<'_>, capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let stream = capsule.pointer_checked(Some(STREAM))?.cast();
        // SAFETY: a capsule of this name holds a stream by Arrow's interface, which whoever takes it moves out: what stays in the
        // capsule is a released stream, which its destructor leaves alone. The capsule lives during the call.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
        let read = || frame_of(reader.map_err(unreadable)?);
        // What is read may be computed while it is read, and need the interpreter.
        read()
            .map(PyFrame)
            .map_err(|error| raised(py, &error, None))
    }

    /// Of a list for each column: of texts, numbers or booleans, with None for what is missing.
    #[staticmethod]
    fn of_columns(
        py: Python<'_>,
        names: Vec<String>,
        columns: Vec<Bound<'_, PyList>>,
    ) -> PyResult<Self> {
        let mut made = Vec::new();
        for (name, values) in names.iter().zip(&columns) {
            made.push(column(py, name, values)?);
        }
        let names = names.iter().map(|name| name.as_str().into());
        Frame::new(made, Some(names.collect()))
            .map(PyFrame)
            .map_err(|error| raised(py, &error, None))
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
        let names = self.0.names().iter();
        names.map(|name| name.to_string()).collect()
    }

    #[getter]
    fn types(&self) -> Vec<&'static str> {
        let types = self.0.schema().into_iter();
        types.map(ColumnType::name).collect()
    }

    /// The values of a column, counted from 0.
    fn column<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyList>> {
        let values = self.0.column(place).into_iter().flat_map(Column::cells);
        let values: Vec<Option<Cell<'_>>> = values.collect();
        let objects = values.into_iter().map(|cell| match cell {
            None => Ok(py.None().into_bound(py)),
            Some(Cell::Text(text)) => text.into_bound_py_any(py),
            Some(Cell::Boolean(value)) => value.into_bound_py_any(py),
            Some(Cell::Int(value)) => value.into_bound_py_any(py),
            Some(Cell::Fp32(value)) => f64::from(value).into_bound_py_any(py),
            Some(Cell::Fp64(value)) => value.into_bound_py_any(py),
        });
        PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)
    }

    /// Some rows and columns as text.
    fn text(&self, py: Python<'_>, rows: usize, cols: usize) -> PyResult<String> {
        let text = self.0.to_text(rows, cols, 3, " ", "\n");
        text.map_err(|error| raised(py, &error, None))
    }
}

/// A batch as a stream of Arrow's C interface.
pub(crate) fn streamed(
    py: Python<'_>,
    batch: Result<RecordBatch>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let batch = batch.map_err(|error| raised(py, &error, None))?;
    let schema = batch.schema();
    let batches = RecordBatchIterator::new([Ok::<_, ArrowError>(batch)], schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(batches));
    PyCapsule::new_with_value(py, stream, STREAM)
}

fn frame_of(reader: RecordBatchStreamReader) -> Result<Frame> {
    let schema: SchemaRef = reader.schema();
    let batches = reader.collect::<std::result::Result<Vec<_>, _>>();
    let mut batches = batches.map_err(unreadable)?;
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Frame::from_record_batches(&batches)
}

fn unreadable(error: ArrowError) -> Error {
    Error::data(format!("the table can't be read: {error}"))
}

/// A value of a list.
enum Value {
    Text(String),
    Boolean(bool),
    Int(i64),
    Double(f64),
}

impl Value {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(if value.is_instance_of::<PyBool>() {
            Value::Boolean(value.extract()?)
        } else if value.is_instance_of::<PyInt>() {
            Value::Int(value.extract()?)
        } else if value.is_instance_of::<PyFloat>() {
            Value::Double(value.extract()?)
        } else if value.is_instance_of::<PyString>() {
            Value::Text(value.extract()?)
        } else {
            Value::Text(value.str()?.extract()?)
        })
    }

    fn cell(&self) -> Cell<'_> {
        match self {
            Value::Text(text) => Cell::Text(text),
            Value::Boolean(value) => Cell::Boolean(*value),
            Value::Int(value) => Cell::Int(*value),
            Value::Double(value) => Cell::Fp64(*value),
        }
    }

    fn column_type(&self) -> ColumnType {
        match self {
            Value::Text(_) => ColumnType::String,
            Value::Boolean(_) => ColumnType::Boolean,
            Value::Int(_) => ColumnType::Int64,
            Value::Double(_) => ColumnType::Fp64,
        }
    }
}

/// Of one type, or of numbers, or else of text.
fn column(py: Python<'_>, name: &str, values: &Bound<'_, PyList>) -> PyResult<Column> {
    let mut cells = Vec::new();
    for value in values {
        cells.push(match value.is_none() {
            true => None,
            false => Some(Value::of(&value)?),
        });
    }
    let types = cells.iter().flatten().map(Value::column_type);
    let common = types.reduce(ColumnType::common);
    let cells = cells.iter().map(|cell| cell.as_ref().map(Value::cell));
    Column::of_cells(common.unwrap_or(ColumnType::String), name, cells)
        .map_err(|error| raised(py, &error, None))
}
