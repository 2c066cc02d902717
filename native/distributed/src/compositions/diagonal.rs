//! `diag`, `trace`, `lower.tri` and `upper.tri`: a stripe knows its row offset, and with it where the diagonal crosses it.

use fulgurite_dataflow::{Combine, DistributedMatrix, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Formulas, HopId, Literal, ParameterizedOp};

use super::{input, named, places, size};
use crate::{operator::Operator, row_wise::Slot, task_builder::TaskBuilder, workers::Workers};

pub(super) fn diag(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let matrix = workers.distributed(input(inputs, 0)?)?;
    let (rows, cols) = (size(matrix.stripes.rows)?, size(matrix.stripes.cols)?);
    let mut builder = TaskBuilder::new(workers, &matrix);
    let (root, stripes) = match cols {
        1 => {
            // Sparse: a non-zero in each row.
            let known = Characteristics::dims(rows, rows).with_nnz(rows);
            (matrix_of(&mut builder, rows), known)
        }
        _ if cols == rows => (vector_of(&mut builder), Characteristics::dims(rows, 1)),
        _ => {
            return Err(Error::dimension(format!(
                "diag needs a column vector or a square matrix, not {rows} x {cols}"
            )));
        }
    };
    let dataset = builder.map(root, operator.label)?;
    Ok(Variable::Distributed(DistributedMatrix::new(
        dataset, stripes,
    )))
}

/// `trace(X)`: the sum of the diagonal.
pub(super) fn trace(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let matrix = workers.distributed(input(inputs, 0)?)?;
    let (rows, cols) = (size(matrix.stripes.rows)?, size(matrix.stripes.cols)?);
    if rows != cols {
        return Err(Error::dimension(format!(
            "trace needs a square matrix, not {rows} x {cols}"
        )));
    }
    let mut builder = TaskBuilder::new(workers, &matrix);
    let diagonal = vector_of(&mut builder);
    let root = builder.sums_of_columns(diagonal);
    let sum = builder.aggregate(root, &Combine::Sum, operator.label)?;
    Ok(Variable::Scalar(Literal::Double(sum.get(0, 0))))
}

/// `lower.tri` and `upper.tri`: each stripe is told how many rows are above it.
pub(super) fn triangle(
    workers: &Workers,
    operator: &Operator,
    op: ParameterizedOp,
    inputs: &[Variable],
) -> Result<Variable> {
    let matrix = workers.distributed(named(operator, inputs, "target")?)?;
    let mut builder = TaskBuilder::new(workers, &matrix);
    let mut operands = Vec::new();
    for (name, place) in places(operator) {
        let operand = match name.as_str() {
            "target" => builder.lead(),
            _ => builder.bind(Slot::Scalar, input(inputs, *place)?)?,
        };
        operands.push((name.as_str(), operand));
    }
    operands.push(("rows.above", builder.row_offset()));
    let root = builder.parameterized(op, &operands);
    let dataset = builder.map(root, operator.label)?;
    let (rows, cols) = (matrix.stripes.rows, matrix.stripes.cols);
    let stripes = Characteristics::new(rows, cols, None);
    Ok(Variable::Distributed(DistributedMatrix::new(
        dataset, stripes,
    )))
}

/// The rows of the diagonal matrix: zeros, the stripe's diagonal, zeros.
fn matrix_of(builder: &mut TaskBuilder, size: u64) -> HopId {
    let stripe = builder.lead();
    let (offset, height, size) = (
        builder.row_offset(),
        builder.rows_in(stripe),
        builder.int(size),
    );
    let end = builder.int_plus(offset, height);
    let after = builder.int_minus(size, end);
    let zero = builder.number(0.0);
    let left = builder.filled(zero, height, offset);
    let right = builder.filled(zero, height, after);
    let diagonal = builder.diagonal(stripe);
    builder.side_by_side(vec![left, diagonal, right])
}

/// The diagonal of the square that the diagonal crosses.
fn vector_of(builder: &mut TaskBuilder) -> HopId {
    let stripe = builder.lead();
    let (first, last) = builder.first_and_last_row();
    let square = builder.columns(stripe, first, last);
    builder.diagonal(square)
}
