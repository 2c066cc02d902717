//! Contingency tables: each stripe counts its own rows, and tables of stripes add up.

use fulgurite_dataflow::{Assemble, Combine, DistributedMatrix, Pieces, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Formulas, HopId, scalar};
use fulgurite_matrix::kernels;

use super::{input, size};
use crate::{operator::Operator, row_wise::Slot, task_builder::TaskBuilder, workers::Workers};

/// `table(A, B, weights)`, perhaps with the size of the result.
pub(super) fn table(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let columns = inputs
        .get(..3)
        .ok_or_else(|| Error::internal("table lacks an input"))?;
    let lead = columns
        .iter()
        .filter(|column| !column.is_scalar())
        .max_by_key(|column| (column.is_distributed(), column.characteristics().cells()))
        .ok_or_else(|| Error::internal("a table of scalars was to be distributed"))?;
    let lead = workers.distributed(lead)?;
    let columns = &lying_as(&lead, columns)?[..];
    for column in columns.iter().filter(|column| !column.is_scalar()) {
        let (this, first) = (column.characteristics(), lead.stripes);
        if (this.rows, this.cols) != (first.rows, first.cols) {
            return Err(Error::dimension(format!(
                "table needs matrices of one shape, not {first} and {this}"
            )));
        }
    }
    let (rows, cols) = match inputs.len() {
        0..=3 => dims_of_result(workers, operator, &lead, columns)?,
        _ => (size_from(inputs, 3)?, size_from(inputs, 4)?),
    };
    let mut builder = TaskBuilder::new(workers, &lead);
    let mut operands = bound(&mut builder, columns)?;
    operands.extend([builder.int(rows), builder.int(cols)]);
    let root = builder.table(operands);
    // No more non-zeros than pairs.
    let most = lead
        .stripes
        .cells()
        .unwrap_or(u64::MAX)
        .min(rows.saturating_mul(cols));
    let result = Characteristics::dims(rows, cols).with_nnz(most);
    if result
        .memory_bytes()
        .is_some_and(|bytes| bytes <= workers.config.memory_local)
    {
        let table = builder.aggregate(root, &Combine::Sum, operator.label)?;
        return Ok(Variable::matrix(table));
    }
    let every = workers.config.blocksize;
    let pieces = Pieces::Rows {
        every,
        skip_zeros: true,
    };
    let sums = Assemble::Combined(Combine::Sum);
    let stripes = builder.shuffle(root, pieces, rows.div_ceil(every), sums, operator.label)?;
    Ok(Variable::Distributed(workers.placed(&stripes)?))
}

/// Vectors pair up in their order: all lie as the distributed one that gives tasks their stripes.
fn lying_as(lead: &DistributedMatrix, columns: &[Variable]) -> Result<Vec<Variable>> {
    let turned = |column: &Variable| {
        let (this, lead) = (column.characteristics(), lead.stripes);
        let lies_across =
            (this.rows, this.cols) == (lead.cols, lead.rows) && lead.rows != lead.cols;
        let are_vectors = lead.rows == Some(1) || lead.cols == Some(1);
        match column {
            Variable::Matrix(matrix) if lies_across && are_vectors => {
                Ok(Variable::matrix(kernels::transpose(matrix.block())?))
            }
            Variable::Distributed(matrix) if lies_across && are_vectors => {
                Ok(Variable::Distributed(matrix.clone().transpose()))
            }
            _ => Ok(column.clone()),
        }
    };
    columns.iter().map(turned).collect()
}

fn bound(builder: &mut TaskBuilder, columns: &[Variable]) -> Result<Vec<HopId>> {
    columns
        .iter()
        .map(|column| builder.bind(Slot::Rows, column))
        .collect()
}

/// The largest categories of all stripes.
fn dims_of_result(
    workers: &Workers,
    operator: &Operator,
    lead: &DistributedMatrix,
    columns: &[Variable],
) -> Result<(u64, u64)> {
    let mut builder = TaskBuilder::new(workers, lead);
    let operands = bound(&mut builder, columns)?;
    let table = builder.table(operands);
    let one = builder.int(1);
    let rows = builder.rows_in(table);
    let rows = builder.filled(rows, one, one);
    let columns = builder.columns_in(table);
    let columns = builder.filled(columns, one, one);
    let both = vec![rows, columns];
    let root = builder.side_by_side(both);
    let largest = builder.aggregate(root, &Combine::Max, operator.label)?;
    if (largest.rows(), largest.cols()) != (1, 2) {
        return Err(Error::internal("the size of a table is not two numbers"));
    }
    Ok((largest.get(0, 0) as u64, largest.get(0, 1) as u64))
}

fn size_from(inputs: &[Variable], place: usize) -> Result<u64> {
    let given = scalar::number(input(inputs, place)?.as_scalar()?)?;
    let given = u64::try_from(scalar::double_to_int(given)).ok();
    given.map_or_else(|| size(None), Ok)
}
