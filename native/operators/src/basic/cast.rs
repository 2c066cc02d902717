//! Casts between types.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{CastOp, Literal, scalar};
use fulgurite_matrix::MatrixBlock;

use super::super::value::Value;
use super::inputs::Inputs;

pub(super) fn cast(op: CastOp, mut inputs: Inputs) -> Result<Value> {
    match (op, inputs.take(0)?.on_its_own()?) {
        (CastOp::AsMatrix, Value::Matrix(matrix)) => Ok(Value::Matrix(matrix)),
        (CastOp::AsMatrix, Value::Scalar(value)) => Ok(Value::Matrix(MatrixBlock::filled(
            1,
            1,
            scalar::number(&value)?,
        )?)),
        (CastOp::AsScalar, Value::Matrix(matrix)) => only_cell(op, &matrix).map(Value::Scalar),
        (CastOp::AsFrame, _) => Err(Error::unsupported("frames are not there yet")),
        (
            CastOp::AsScalar | CastOp::AsDouble | CastOp::AsInteger | CastOp::AsLogical,
            Value::Scalar(value),
        ) => scalar::eval_scalar_cast(op, &value).map(Value::Scalar),
        (CastOp::AsDouble | CastOp::AsInteger | CastOp::AsLogical, Value::Matrix(matrix)) => {
            let cell = only_cell(op, &matrix)?;
            scalar::eval_scalar_cast(op, &cell).map(Value::Scalar)
        }
        (_, Value::Range(_)) => Err(Error::internal("a range on its own is a matrix")),
    }
}

fn only_cell(op: CastOp, matrix: &MatrixBlock) -> Result<Literal> {
    if (matrix.rows(), matrix.cols()) == (1, 1) {
        return Ok(Literal::Double(matrix.get(0, 0)));
    }
    Err(Error::dimension(format!(
        "{} needs a 1 x 1 matrix, not {} x {}",
        op.code(),
        matrix.rows(),
        matrix.cols()
    ))
    .with_code(Code::NotOneCell))
}
