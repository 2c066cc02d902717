//! Matrices that nobody has to send: workers generate the rows of their stripes, the same ones whatever the stripes.

use fulgurite_dataflow::{DistributedMatrix, LocalMatrix, Variable};
use fulgurite_error::Result;
use fulgurite_hop::{Characteristics, Formulas, Literal, scalar};
use fulgurite_matrix::{MatrixBlock, kernels};

use super::{input, size};
use crate::{
    operator::Operator,
    row_wise::Slot,
    task_builder::TaskBuilder,
    workers::{Rows, Workers},
};

/// `matrix(value, rows, cols)`.
pub(super) fn fill(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let (rows, cols) = (size(operator.hop.rows())?, size(operator.hop.cols())?);
    let value = scalar::number(input(inputs, 0)?.as_scalar()?)?;
    filled(workers, operator, value, rows, cols)
}

/// `rand` and `seq`, of which tasks generate the rows of their stripes. `seed` is the place of the seed among the inputs.
pub(super) fn generate(
    workers: &Workers,
    operator: &Operator,
    seed: Option<usize>,
    inputs: &[Variable],
) -> Result<Variable> {
    let stripes = operator.hop.characteristics;
    let rows = size(stripes.rows)?;
    size(stripes.cols)?;
    let index = index(workers, rows)?;
    let mut builder = TaskBuilder::new(workers, &index);
    let mut operands = Vec::new();
    for (place, value) in inputs.iter().enumerate() {
        let fresh = seed == Some(place) && is_fresh_seed(value);
        operands.push(match fresh {
            // Drawn once, so that a stripe that is generated again is the same one.
            true => builder.literal(Literal::Int(kernels::fresh_seed())),
            false => builder.bind(Slot::Scalar, value)?,
        });
    }
    let (first, last) = builder.first_and_last_row();
    operands.extend([first, last]);
    let root = builder.matrix(operator.hop.op.clone(), operands);
    let dataset = builder.map(root, operator.label)?;
    Ok(Variable::Distributed(DistributedMatrix::new(
        dataset, stripes,
    )))
}

/// -1 asks for a seed that was not there before.
fn is_fresh_seed(seed: &Variable) -> bool {
    seed.as_scalar()
        .is_ok_and(|seed| seed.as_f64() == Some(-1.0))
}

/// A matrix of one value.
pub(super) fn filled(
    workers: &Workers,
    operator: &Operator,
    value: f64,
    rows: u64,
    cols: u64,
) -> Result<Variable> {
    let index = index(workers, rows)?;
    let mut builder = TaskBuilder::new(workers, &index);
    let stripe = builder.lead();
    let (height, width) = (builder.rows_in(stripe), builder.int(cols));
    let cell = builder.number(value);
    let root = builder.filled(cell, height, width);
    let dataset = builder.map(root, operator.label)?;
    let mut stripes = Characteristics::dims(rows, cols);
    if value == 0.0 {
        stripes = stripes.with_nnz(0);
    }
    Ok(Variable::Distributed(DistributedMatrix::new(
        dataset, stripes,
    )))
}

/// A matrix without columns: its stripes say which rows are theirs, and take no memory. One of more rows than Java's ints
/// count, as the heights of blocks are while they are cut, is the same one several times below itself.
fn index(workers: &Workers, rows: u64) -> Result<DistributedMatrix> {
    let every = workers.config.blocksize;
    let most = (i32::MAX as u64 / every).max(1) * every;
    let height = usize::try_from(rows.min(most)).unwrap_or(usize::MAX);
    let index = LocalMatrix::new(MatrixBlock::filled(height, 0, 0.0)?);
    let index = workers.striped(&index)?;
    if rows <= most {
        return Ok(index);
    }
    let parts = (0..rows.div_ceil(most)).map(|part| Rows {
        of: &index,
        from: 0,
        until: most.min(rows - part * most),
    });
    workers.concatenate(&parts.collect::<Vec<Rows>>())
}
