//! `order` and `rev`: each row is sent to the stripe it belongs in.
//!
//! The order is decided from the columns that it goes by alone: on the driver, if they fit, else by the workers. Each
//! row learns its place, and travels there once.

use std::collections::BTreeMap;

use fulgurite_dataflow::{DistributedMatrix, LocalMatrix, Variable, Whole};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Formulas, HopId, scalar};
use fulgurite_matrix::{MatrixBlock, kernels, memory};

use super::{input, range_sort::Keys, size};
use crate::{
    compositions::routes::Routed, operator::Operator, row_wise::Slot, task_builder::TaskBuilder,
    workers::Workers,
};

/// `rev(X)`: a stripe of the result is a run of X's rows, put together in their order and then reversed.
pub(super) fn rev(workers: &Workers, operator: &Operator, inputs: &[Variable]) -> Result<Variable> {
    let matrix = workers.distributed(input(inputs, 0)?)?;
    let rows = size(matrix.stripes.rows)?;
    let mut builder = TaskBuilder::new(workers, &matrix);
    let stripe = builder.lead();
    // The stripe's rows stand at rows - 1 - row_offset and above in the result.
    let (offset, last) = (builder.row_offset(), builder.int(rows - 1));
    let first = builder.int_minus(last, offset);
    let (height, one) = (builder.rows_in(stripe), builder.int(1));
    let below = builder.int_minus(first, height);
    let end = builder.int_plus(below, one);
    let down = builder.number(-1.0);
    let places = builder.sequence(first, end, down);
    let routed = Routed::new(workers, &mut builder, &[stripe], places, rows);
    let runs = routed.shuffle(builder, operator.label)?;
    let runs = DistributedMatrix::new(runs, matrix.stripes);
    let mut builder = TaskBuilder::new(workers, &runs);
    let stripe = builder.lead();
    let root = builder.reversed(stripe);
    let placed = workers.placed(&builder.map(root, operator.label)?)?;
    Ok(Variable::Distributed(placed))
}

/// `order(target, by, decreasing, index.return)`.
pub(super) fn order(
    workers: &Workers,
    operator: &Operator,
    places: &BTreeMap<String, usize>,
    inputs: &[Variable],
) -> Result<Variable> {
    let named = |name: &str| places.get(name).and_then(|place| inputs.get(*place));
    let flag = |name: &str| match named(name) {
        Some(value) => scalar::truth(value.as_scalar()?),
        None => Ok(false),
    };
    let target =
        named("target").ok_or_else(|| Error::argument("the parameter 'target' is missing"))?;
    let matrix = workers.distributed(target)?;
    let (rows, cols) = (size(matrix.stripes.rows)?, size(matrix.stripes.cols)?);
    let by = columns_of(named("by"), cols)?;
    let (decreasing, only_numbers) = (flag("decreasing")?, flag("index.return")?);
    let ranks = if keys_fit_driver(workers, rows, &by) {
        let keys = keys(workers, operator, &matrix, &by)?;
        let all: Vec<usize> = (0..by.len()).collect();
        let permutation = kernels::order_permutation(keys.block(), &all, decreasing)?;
        if only_numbers {
            return Ok(Variable::matrix(permutation));
        }
        Variable::matrix(inverse(&permutation)?)
    } else {
        let keys = Keys {
            workers,
            label: operator.label,
            matrix: &matrix,
            by: &by,
            decreasing,
        };
        let sorted = keys.sort()?;
        if only_numbers {
            return sorted.permutation();
        }
        sorted.ranks()?
    };

    let mut builder = TaskBuilder::new(workers, &matrix);
    let stripe = builder.lead();
    let rank = builder.bind(Slot::Rows, &ranks)?;
    let routed = Routed::new(workers, &mut builder, &[stripe, rank], rank, rows);
    let arrived = routed.shuffle(builder, operator.label)?;
    let ranked = Characteristics::new(Some(rows), Some(cols + 1), None);
    let arrived = DistributedMatrix::new(arrived, ranked);
    workers.in_order_of_last_column(&arrived, operator.label)
}

/// The columns (from 1) that the order goes by.
fn columns_of(by: Option<&Variable>, cols: u64) -> Result<Vec<u64>> {
    let given = match by.map(Variable::whole).transpose()? {
        None => vec![1.0],
        Some(Whole::Scalar(value)) => vec![scalar::number(value)?],
        Some(Whole::Matrix(columns)) => columns.block().to_dense()?.into_vec()?,
        Some(Whole::Distributed(_)) => {
            return Err(Error::memory(
                "the columns to order by do not fit the driver",
            ));
        }
    };
    given
        .into_iter()
        .map(|column| {
            let number = u64::try_from(scalar::double_to_int(column)).unwrap_or(0);
            (1..=cols)
                .contains(&number)
                .then_some(number)
                .ok_or_else(|| {
                    Error::dimension(format!(
                        "order by column {column} of a matrix with {cols} columns"
                    ))
                })
        })
        .collect()
}

/// Whether the keys fit, beside a permutation and its inverse.
fn keys_fit_driver(workers: &Workers, rows: u64, by: &[u64]) -> bool {
    let bytes = rows.saturating_mul(8).saturating_mul(by.len() as u64 + 2);
    bytes <= workers.config.memory_local
}

/// The columns that the order goes by, on the driver.
fn keys(
    workers: &Workers,
    operator: &Operator,
    matrix: &DistributedMatrix,
    by: &[u64],
) -> Result<LocalMatrix> {
    let mut builder = TaskBuilder::new(workers, matrix);
    let stripe = builder.lead();
    let columns: Vec<HopId> = by
        .iter()
        .map(|column| {
            let column = builder.int(*column);
            builder.columns(stripe, column, column)
        })
        .collect();
    let root = builder.side_by_side(columns);
    builder.map(root, operator.label)?.collect(None)
}

/// For each row its place (from 0) in the order.
fn inverse(permutation: &MatrixBlock) -> Result<MatrixBlock> {
    let rows = permutation.rows();
    let mut ranks = memory::zeros(rows)?;
    for place in 0..rows {
        let row = permutation.get(place, 0) as usize;
        if let Some(rank) = row.checked_sub(1).and_then(|row| ranks.get_mut(row)) {
            *rank = place as f64;
        }
    }
    MatrixBlock::dense(rows, 1, ranks)
}
