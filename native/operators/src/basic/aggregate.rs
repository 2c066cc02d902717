//! Aggregates and running aggregates of matrices.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{AggregateOp, CumulativeOp, Direction, Literal};
use fulgurite_matrix::{
    MatrixBlock,
    compressed::CompressedMatrix,
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

/// Of column groups: takes as long as dictionaries are, or one look-up for each row and group; `None` where cells are needed.
pub(super) fn of_groups(
    op: AggregateOp,
    direction: Direction,
    groups: &CompressedMatrix,
) -> Result<Option<Value>> {
    let (rows, cols) = (groups.rows() as f64, groups.cols() as f64);
    let double = |value: f64| Ok(Some(Value::Scalar(Literal::Double(value))));
    let matrix = |block: MatrixBlock| Ok(Some(Value::Matrix(block)));
    let mean = |sums: MatrixBlock, count: f64| kernels::unary(&sums, |sum| sum / count);
    let square = |x: f64| x * x;
    match (direction, op) {
        (Direction::Full, AggregateOp::Sum) => double(groups.aggregate::<Sum>(|x| x)?),
        (Direction::Full, AggregateOp::SumSq) => double(groups.aggregate::<Sum>(square)?),
        (Direction::Full, AggregateOp::Mean) => {
            double(groups.aggregate::<Sum>(|x| x)? / (rows * cols))
        }
        (Direction::Full, AggregateOp::Min) => double(groups.aggregate::<Min>(|x| x)?),
        (Direction::Full, AggregateOp::Max) => double(groups.aggregate::<Max>(|x| x)?),
        (Direction::Full, AggregateOp::Prod) => double(groups.aggregate::<Product>(|x| x)?),
        (Direction::Row, AggregateOp::Sum) => matrix(groups.aggregate_rows::<Sum>(|x| x)?),
        (Direction::Row, AggregateOp::SumSq) => matrix(groups.aggregate_rows::<Sum>(square)?),
        (Direction::Row, AggregateOp::Mean) => {
            matrix(mean(groups.aggregate_rows::<Sum>(|x| x)?, cols)?)
        }
        (Direction::Row, AggregateOp::Min) => matrix(groups.aggregate_rows::<Min>(|x| x)?),
        (Direction::Row, AggregateOp::Max) => matrix(groups.aggregate_rows::<Max>(|x| x)?),
        (Direction::Row, AggregateOp::Prod) => matrix(groups.aggregate_rows::<Product>(|x| x)?),
        (Direction::Row, AggregateOp::IndexMax) => matrix(groups.row_index_max()?),
        (Direction::Col, AggregateOp::Sum) => matrix(groups.aggregate_cols::<Sum>(|x| x)?),
        (Direction::Col, AggregateOp::SumSq) => matrix(groups.aggregate_cols::<Sum>(square)?),
        (Direction::Col, AggregateOp::Mean) => {
            matrix(mean(groups.aggregate_cols::<Sum>(|x| x)?, rows)?)
        }
        (Direction::Col, AggregateOp::Min) => matrix(groups.aggregate_cols::<Min>(|x| x)?),
        (Direction::Col, AggregateOp::Max) => matrix(groups.aggregate_cols::<Max>(|x| x)?),
        (Direction::Col, AggregateOp::Prod) => matrix(groups.aggregate_cols::<Product>(|x| x)?),
        (
            Direction::Full | Direction::Row | Direction::Col,
            AggregateOp::Var
            | AggregateOp::Sd
            | AggregateOp::Trace
            | AggregateOp::IndexMax
            | AggregateOp::IndexMin,
        ) => Ok(None),
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
