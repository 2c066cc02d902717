//! Aggregates and running aggregates of matrices.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{AggregateOp, CumulativeOp, Direction, Literal};
use fulgurite_matrix::{
    MatrixBlock,
    kernels::{
        self,
        aggregate::{
            self, Max, Min, Product, Sum, col_variances, cols, full, row_index_max, row_index_min,
            row_variances, rows, variance,
        },
    },
};

use super::super::value::Value;

pub(super) fn aggregate(
    op: AggregateOp,
    direction: Direction,
    matrix: &MatrixBlock,
) -> Result<Value> {
    match direction {
        Direction::Full => of_all(op, matrix).map(|number| Value::Scalar(Literal::Double(number))),
        Direction::Row => of_rows(op, matrix).map(Value::Matrix),
        Direction::Col => of_cols(op, matrix).map(Value::Matrix),
    }
}

fn of_all(op: AggregateOp, matrix: &MatrixBlock) -> Result<f64> {
    Ok(match op {
        AggregateOp::Sum => full::<Sum>(matrix, |x| x),
        AggregateOp::SumSq => full::<Sum>(matrix, |x| x * x),
        AggregateOp::Mean => {
            full::<Sum>(matrix, |x| x) / (matrix.rows() as f64 * matrix.cols() as f64)
        }
        AggregateOp::Min => full::<Min>(matrix, |x| x),
        AggregateOp::Max => full::<Max>(matrix, |x| x),
        AggregateOp::Prod => full::<Product>(matrix, |x| x),
        AggregateOp::Var => variance(matrix),
        AggregateOp::Sd => variance(matrix).sqrt(),
        AggregateOp::Trace => return aggregate::trace(matrix),
        AggregateOp::IndexMax | AggregateOp::IndexMin => return Err(no_such_direction(op)),
    })
}

fn of_rows(op: AggregateOp, matrix: &MatrixBlock) -> Result<MatrixBlock> {
    match op {
        AggregateOp::Sum => rows::<Sum>(matrix, |_, x| x),
        AggregateOp::SumSq => rows::<Sum>(matrix, |_, x| x * x),
        AggregateOp::Mean => {
            let count = matrix.cols() as f64;
            kernels::unary(&rows::<Sum>(matrix, |_, x| x)?, |sum| sum / count)
        }
        AggregateOp::Min => rows::<Min>(matrix, |_, x| x),
        AggregateOp::Max => rows::<Max>(matrix, |_, x| x),
        AggregateOp::Prod => rows::<Product>(matrix, |_, x| x),
        AggregateOp::Var => row_variances(matrix),
        AggregateOp::Sd => kernels::unary(&row_variances(matrix)?, f64::sqrt),
        AggregateOp::IndexMax => row_index_max(matrix),
        AggregateOp::IndexMin => row_index_min(matrix),
        AggregateOp::Trace => Err(no_such_direction(op)),
    }
}

fn of_cols(op: AggregateOp, matrix: &MatrixBlock) -> Result<MatrixBlock> {
    match op {
        AggregateOp::Sum => cols::<Sum>(matrix, |x| x),
        AggregateOp::SumSq => cols::<Sum>(matrix, |x| x * x),
        AggregateOp::Mean => {
            let count = matrix.rows() as f64;
            kernels::unary(&cols::<Sum>(matrix, |x| x)?, |sum| sum / count)
        }
        AggregateOp::Min => cols::<Min>(matrix, |x| x),
        AggregateOp::Max => cols::<Max>(matrix, |x| x),
        AggregateOp::Prod => cols::<Product>(matrix, |x| x),
        AggregateOp::Var => col_variances(matrix),
        AggregateOp::Sd => kernels::unary(&col_variances(matrix)?, f64::sqrt),
        AggregateOp::IndexMax | AggregateOp::IndexMin | AggregateOp::Trace => {
            Err(no_such_direction(op))
        }
    }
}

fn no_such_direction(op: AggregateOp) -> Error {
    Error::plan(format!(
        "the aggregate '{}' does not run in this direction",
        op.code()
    ))
}

/// Running aggregates of columns.
pub fn cumulative(op: CumulativeOp, matrix: &MatrixBlock) -> Result<MatrixBlock> {
    match op {
        CumulativeOp::Sum => kernels::cumulative::<Sum>(matrix),
        CumulativeOp::Prod => kernels::cumulative::<Product>(matrix),
        CumulativeOp::Min => kernels::cumulative::<Min>(matrix),
        CumulativeOp::Max => kernels::cumulative::<Max>(matrix),
    }
}
