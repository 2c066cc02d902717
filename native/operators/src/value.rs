//! Values of variables at run time.

use fulgurite_hop::Literal;
use fulgurite_matrix::MatrixBlock;

/// What an operator takes and gives on one machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Matrix(MatrixBlock),
    Scalar(Literal),
}
