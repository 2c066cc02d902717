//! Values of variables at run time.

use fulgurite_error::Result;
use fulgurite_hop::Literal;
use fulgurite_matrix::{MatrixBlock, kernels::DenseRange};

/// What an operator takes and gives on one machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Matrix(MatrixBlock),
    /// Between operators of a block, see [`BlockPlan::in_place`](super::plan::BlockPlan).
    Range(DenseRange),
    Scalar(Literal),
}

impl Value {
    /// A range as a matrix of its own; all else as it is.
    ///
    /// # Errors
    /// `memory` when there is none for the cells.
    pub fn on_its_own(self) -> Result<Value> {
        match self {
            Value::Range(range) => Ok(Value::Matrix(range.to_dense()?.into())),
            other => Ok(other),
        }
    }
}
