//! An operator's inputs, asked for by place and type.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Literal, scalar};
use fulgurite_matrix::{MatrixBlock, kernels::Operand};

use super::super::value::Value;

pub(super) struct Inputs(Vec<Value>);

impl Inputs {
    pub(super) fn new(values: Vec<Value>) -> Self {
        Inputs(values)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Value> {
        self.0.iter()
    }

    pub(super) fn get(&self, place: usize) -> Result<&Value> {
        self.0.get(place).ok_or_else(|| missing(place))
    }

    /// Takes an input out, leaving nothing that shares it.
    pub(super) fn take(&mut self, place: usize) -> Result<Value> {
        let value = self.0.get_mut(place).ok_or_else(|| missing(place))?;
        Ok(std::mem::replace(
            value,
            Value::Scalar(Literal::Boolean(false)),
        ))
    }

    pub(super) fn matrix(&self, place: usize) -> Result<&MatrixBlock> {
        match self.get(place)? {
            Value::Matrix(matrix) => Ok(matrix),
            Value::Range(_) => Err(in_place(place)),
            Value::Scalar(value) => Err(Error::validation(format!(
                "input {} is the scalar {value} where a matrix is needed",
                place + 1
            ))
            .with_help("as.matrix() makes a 1 x 1 matrix of a scalar")),
        }
    }

    pub(super) fn scalar(&self, place: usize) -> Result<&Literal> {
        match self.get(place)? {
            Value::Scalar(value) => Ok(value),
            Value::Range(_) => Err(in_place(place)),
            Value::Matrix(matrix) => Err(Error::validation(format!(
                "input {} is a {} x {} matrix where a scalar is needed",
                place + 1,
                matrix.rows(),
                matrix.cols()
            ))
            .with_help("as.scalar() takes the cell out of a 1 x 1 matrix")),
        }
    }

    pub(super) fn number(&self, place: usize) -> Result<f64> {
        scalar::number(self.scalar(place)?)
    }

    /// A whole number; doubles are floored.
    pub(super) fn int(&self, place: usize) -> Result<i64> {
        match self.scalar(place)? {
            Literal::Int(value) => Ok(*value),
            other => scalar::number(other).map(scalar::double_to_int),
        }
    }

    /// A number of rows, columns or cells.
    pub(super) fn size(&self, place: usize) -> Result<usize> {
        let value = self.int(place)?;
        usize::try_from(value)
            .map_err(|_| Error::dimension(format!("a matrix cannot have the size {value}")))
    }

    pub(super) fn truth(&self, place: usize) -> Result<bool> {
        scalar::truth(self.scalar(place)?)
    }

    pub(super) fn text(&self, place: usize) -> Result<String> {
        match self.scalar(place)? {
            Literal::String(text) => Ok(text.clone()),
            other => Err(Error::validation(format!(
                "input {} is {other} where a string is needed",
                place + 1
            ))),
        }
    }

    pub(super) fn operand(&self, place: usize) -> Result<Operand<'_>> {
        match self.get(place)? {
            Value::Matrix(matrix) => Ok(Operand::Matrix(matrix)),
            Value::Range(_) => Err(in_place(place)),
            Value::Scalar(value) => scalar::number(value).map(Operand::Scalar),
        }
    }
}

fn in_place(place: usize) -> Error {
    Error::internal(format!(
        "input {} is a range that basic operators do not read in place",
        place + 1
    ))
}

fn missing(place: usize) -> Error {
    Error::internal(format!("the operator has no input {}", place + 1))
}
