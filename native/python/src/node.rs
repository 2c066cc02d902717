//! Expressions as Python has them.

use std::sync::Arc;

use arrow::buffer::ScalarBuffer;
use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_hop::Literal;
use fulgurite_lazy::{Expression, Input, Kind, Place, Shape, State};
use fulgurite_matrix::{
    DenseMatrix, Layout, MatrixBlock,
    compressed::{CompressedMatrix, compress},
};
use numpy::PyArrayDyn;
use pyo3::{
    IntoPyObjectExt,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple},
};

use crate::{arrays, failure::raised};

/// An operator, by its code (`ba(+*)`) and the names of its inputs where it has names.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Operator(Arc<Kind>);

#[pymethods]
impl Operator {
    #[new]
    #[pyo3(signature = (code, names=Vec::new()))]
    fn new(py: Python<'_>, code: String, names: Vec<String>) -> PyResult<Self> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let kind = Kind::named(&code, &names);
        kind.map(Operator).map_err(|error| raised(py, &error, None))
    }

    fn __repr__(&self) -> String {
        format!("Operator('{}')", self.0.op.code())
    }

    /// An expression: this operator on nodes, numbers and texts. `size` is given for operators whose size does not follow
    /// from inputs: rows and columns, or `()` for a scalar. `place` is the file and the line that asks.
    #[pyo3(signature = (inputs, place=None, size=None))]
    fn __call__(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyTuple>,
        place: Option<(String, u32)>,
        size: Option<Vec<u64>>,
    ) -> PyResult<Node> {
        let inputs: Vec<Input> = inputs
            .iter()
            .map(|input| input_of(&input))
            .collect::<PyResult<_>>()?;
        let size = size.map(|size| match size[..] {
            [rows, cols] => Shape::matrix(rows, cols),
            _ => Shape::SCALAR,
        });
        let place = place.map(|(file, line)| Place {
            file: file.into(),
            line,
        });
        match Expression::operator(&self.0, inputs, size, place.clone()) {
            Ok(expression) => Ok(Node::new(expression)),
            Err(error) => Err(raised(py, &error, place.as_ref())),
        }
    }
}

fn input_of(input: &Bound<'_, PyAny>) -> PyResult<Input> {
    if let Ok(node) = input.cast::<Node>() {
        return Ok(Input::Expression(Arc::clone(&node.get().expression)));
    }
    literal(input).map(Input::Literal)
}

pub fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    Ok(if let Ok(value) = value.cast::<PyFloat>() {
        Literal::Double(value.extract()?)
    } else if let Ok(value) = value.cast::<PyBool>() {
        Literal::Boolean(value.is_true())
    } else if let Ok(value) = value.cast::<PyInt>() {
        Literal::Int(value.extract()?)
    } else if let Ok(value) = value.cast::<PyString>() {
        Literal::String(value.extract()?)
    } else {
        return Err(PyTypeError::new_err(format!(
            "an operator takes nodes, numbers and texts, not {}",
            value.get_type().name()?
        )));
    })
}

/// An expression, or a value.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Node {
    pub expression: Arc<Expression>,
}

impl Node {
    pub fn new(expression: Arc<Expression>) -> Self {
        expression.named(true);
        Node { expression }
    }

    fn of_block(py: Python<'_>, block: Result<MatrixBlock>) -> PyResult<Self> {
        match block {
            Ok(block) => Ok(Node::new(Expression::value(Variable::matrix(block)))),
            Err(error) => Err(raised(py, &error, None)),
        }
    }

    /// The cells of a matrix that has a value, row after row; a copy of those that are stored sparsely.
    pub fn dense_buffer(&self, py: Python<'_>) -> PyResult<ScalarBuffer<f64>> {
        let dense = match self.block(py)? {
            MatrixBlock::Dense(dense) => Ok(dense),
            sparse => py.detach(|| sparse.to_dense()),
        };
        let dense = dense.map_err(|error| raised(py, &error, None))?;
        Ok(dense.buffer().clone())
    }

    /// The block of a matrix that has a value.
    fn block(&self, py: Python<'_>) -> PyResult<MatrixBlock> {
        match self.expression.known() {
            Some(Variable::Matrix(matrix)) => Ok(matrix.block().clone()),
            _ => Err(raised(
                py,
                &Error::internal("a matrix without a value"),
                None,
            )),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.expression.named(false);
    }
}

#[pymethods]
impl Node {
    /// A matrix of the cells of an array, row after row.
    #[staticmethod]
    #[pyo3(signature = (array, rows, cols, copied))]
    fn dense(
        py: Python<'_>,
        array: &Bound<'_, PyArrayDyn<f64>>,
        rows: usize,
        cols: usize,
        copied: bool,
    ) -> PyResult<Self> {
        Node::of_block(py, arrays::dense_block(array, rows, cols, copied))
    }

    /// A matrix in CSR, whose indices are sorted and distinct in each row.
    #[staticmethod]
    fn csr(
        py: Python<'_>,
        shape: (usize, usize),
        pointers: &Bound<'_, PyArrayDyn<i64>>,
        indices: &Bound<'_, PyArrayDyn<i32>>,
        values: &Bound<'_, PyArrayDyn<f64>>,
        copied: bool,
    ) -> PyResult<Self> {
        let block = arrays::csr_block(shape, pointers, indices, values, copied);
        Node::of_block(py, block)
    }

    /// A number, as a variable of programs.
    #[staticmethod]
    fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value = Variable::Scalar(literal(value)?);
        Ok(Node::new(Expression::value(value)))
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.expression.shape.rows
    }

    #[getter]
    fn cols(&self) -> u64 {
        self.expression.shape.cols
    }

    #[getter]
    fn is_scalar(&self) -> bool {
        self.expression.shape.is_scalar
    }

    #[getter]
    fn depth(&self) -> u32 {
        self.expression.depth
    }

    #[getter]
    fn is_value(&self) -> bool {
        self.expression.is_value()
    }

    /// Another node of the same value.
    fn alias(&self, py: Python<'_>) -> PyResult<Self> {
        match self.expression.known() {
            Some(value) => Ok(Node::new(Expression::value(value))),
            None => Err(raised(
                py,
                &Error::internal("an alias of what has no value"),
                None,
            )),
        }
    }

    /// The file and the line that asked for it.
    #[getter]
    fn place(&self) -> Option<(String, u32)> {
        let place = self.expression.place.as_ref()?;
        Some((place.file.to_string(), place.line))
    }

    /// The scalar that it is, as Python has it.
    fn literal(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.expression.known() {
            Some(Variable::Scalar(Literal::Double(value))) => value.into_py_any(py),
            Some(Variable::Scalar(Literal::Int(value))) => value.into_py_any(py),
            Some(Variable::Scalar(Literal::Boolean(value))) => value.into_py_any(py),
            Some(Variable::Scalar(Literal::String(value))) => value.into_py_any(py),
            _ => Err(raised(
                py,
                &Error::internal("a scalar without a value"),
                None,
            )),
        }
    }

    /// The code of the operator that gives it; `None` for a value.
    #[getter]
    fn operator(&self) -> Option<String> {
        self.expression.with_state(|state| match state {
            State::Pending { kind, .. } => Some(kind.op.code()),
            State::Value(_) => None,
        })
    }

    /// `dense`, `csr`, `coordinate` or `compressed`, for a matrix that has a value.
    #[getter]
    fn layout(&self) -> Option<&'static str> {
        self.expression.with_state(|state| match state {
            State::Value(Variable::Matrix(matrix)) => Some(match matrix.block() {
                MatrixBlock::Dense(_) => "dense",
                MatrixBlock::Csr(_) => "csr",
                MatrixBlock::Coordinate(_) => "coordinate",
                MatrixBlock::Compressed(_) => "compressed",
            }),
            _ => None,
        })
    }

    /// Groups by kind, bytes and ratio of a compressed matrix.
    #[getter]
    fn compression<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(Variable::Matrix(matrix)) = self.expression.known() else {
            return Ok(None);
        };
        let Some(groups) = CompressedMatrix::of(matrix.block()) else {
            return Ok(None);
        };
        let described = PyDict::new(py);
        described.set_item("groups", groups.kinds())?;
        described.set_item("bytes", groups.memory_bytes())?;
        described.set_item("ratio", groups.ratio())?;
        Ok(Some(described))
    }

    /// The matrix in column groups; `None` where these would not be smaller.
    fn compressed(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let block = self.block(py)?;
        if block.layout() == Layout::Compressed {
            return Ok(None);
        }
        let groups = py
            .detach(|| compress(&block))
            .map_err(|error| raised(py, &error, None))?;
        let is_smaller = groups.memory_bytes() < block.memory_bytes();
        is_smaller
            .then(|| Node::of_block(py, Ok(groups.into())))
            .transpose()
    }

    /// The number that it is.
    fn number(&self, py: Python<'_>) -> PyResult<f64> {
        let number = self.expression.number();
        number.ok_or_else(|| raised(py, &Error::internal("a scalar without a value"), None))
    }

    /// The cells, row after row: a read-only view of them, or of a copy if they are stored sparsely.
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::dense_cells(py, &self.block(py)?).map(Bound::into_any)
    }

    /// Pointers, indices and values of the matrix in CSR.
    fn csr_parts<'py>(&self, py: Python<'py>) -> PyResult<arrays::CsrParts<'py>> {
        arrays::csr_parts(py, &self.block(py)?)
    }

    /// A dense vector or matrix with the same cells in another shape, row after row, without a copy; `None` for what has no
    /// value yet or is sparse.
    fn reshaped(&self, py: Python<'_>, rows: usize, cols: usize) -> PyResult<Option<Self>> {
        let Some(Variable::Matrix(matrix)) = self.expression.known() else {
            return Ok(None);
        };
        match matrix.block() {
            MatrixBlock::Dense(dense) => {
                let block = DenseMatrix::new(rows, cols, dense.buffer().clone());
                Node::of_block(py, block.map(MatrixBlock::from)).map(Some)
            }
            MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) | MatrixBlock::Compressed(_) => {
                Ok(None)
            }
        }
    }

    /// The rows `from..to` of a dense matrix without a copy; `None` for what has no value yet or is sparse.
    fn row_range(&self, from: usize, to: usize) -> Option<Self> {
        let Some(Variable::Matrix(matrix)) = self.expression.known() else {
            return None;
        };
        match matrix.block() {
            MatrixBlock::Dense(dense) if from <= to && to <= dense.rows() => {
                let rows = MatrixBlock::Dense(dense.slice_rows(from, to));
                Some(Node::new(Expression::value(Variable::matrix(rows))))
            }
            _ => None,
        }
    }
}
