//! Running sums, products and extremes in two passes: an aggregate of each stripe, what stands above each stripe from
//! these on the driver, and then each stripe for itself, combined with what stands above it.

use fulgurite_dataflow::{DistributedMatrix, LocalMatrix, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{CumulativeOp, Dag, Formulas, HopId};
use fulgurite_matrix::{MatrixBlock, memory};

use super::{input, size};
use crate::{operator::Operator, row_wise::Slot, task_builder::TaskBuilder, workers::Workers};

/// What a running aggregate is made of.
struct StripeTotals {
    of_stripe: fn(&mut Dag, HopId) -> HopId,
    step: fn(&mut Dag, HopId, HopId) -> HopId,
    /// What stands above the first stripe.
    neutral: f64,
}

fn parts(op: CumulativeOp) -> StripeTotals {
    match op {
        CumulativeOp::Sum => StripeTotals {
            of_stripe: Dag::sums_of_columns,
            step: Dag::plus,
            neutral: 0.0,
        },
        CumulativeOp::Prod => StripeTotals {
            of_stripe: Dag::products_of_columns,
            step: Dag::times,
            neutral: 1.0,
        },
        CumulativeOp::Min => StripeTotals {
            of_stripe: Dag::minima_of_columns,
            step: Dag::smaller,
            neutral: f64::INFINITY,
        },
        CumulativeOp::Max => StripeTotals {
            of_stripe: Dag::maxima_of_columns,
            step: Dag::larger,
            neutral: f64::NEG_INFINITY,
        },
    }
}

pub(super) fn cumulative(
    workers: &Workers,
    operator: &Operator,
    op: CumulativeOp,
    inputs: &[Variable],
) -> Result<Variable> {
    let matrix = workers.distributed(input(inputs, 0)?)?;
    let cols = size(matrix.stripes.cols)?;
    let StripeTotals {
        of_stripe,
        step,
        neutral,
    } = parts(op);
    let aggregates = of_stripes(workers, operator, &matrix, of_stripe)?;
    let above = LocalMatrix::new(above(aggregates.block(), op, neutral)?);

    let mut builder = TaskBuilder::new(workers, &matrix);
    let stripe = builder.lead();
    let running = builder.matrix(operator.hop.op.clone(), vec![stripe]);
    let above = builder.bind(Slot::Whole, &Variable::Matrix(above))?;
    let above = row_of_stripe(&mut builder, above, cols);
    let root = step(&mut builder.dag, running, above);
    let dataset = builder.map(root, operator.label)?;
    let stripes = matrix.stripes;
    Ok(Variable::Distributed(DistributedMatrix::new(
        dataset,
        fulgurite_hop::Characteristics {
            nnz: None,
            ..stripes
        },
    )))
}

/// On the driver, a row for each stripe: how many rows stand above it, and the aggregates of its columns.
fn of_stripes(
    workers: &Workers,
    operator: &Operator,
    matrix: &DistributedMatrix,
    aggregate: fn(&mut Dag, HopId) -> HopId,
) -> Result<LocalMatrix> {
    let mut builder = TaskBuilder::new(workers, matrix);
    let stripe = builder.lead();
    let aggregates = aggregate(&mut builder.dag, stripe);
    let (offset, one) = (builder.row_offset(), builder.int(1));
    let offset = builder.filled(offset, one, one);
    let root = builder.side_by_side(vec![offset, aggregates]);
    let dataset = builder.map(root, operator.label)?;
    // Where it is kept, its rows are counted before they come here.
    let found = dataset.persist()?.and_then(|found| found.memory_bytes());
    let limit = workers.through_driver();
    if found.is_none_or(|bytes| bytes > limit) {
        let bytes = found.map_or_else(String::new, |bytes| format!(" {bytes} bytes:"));
        return Err(Error::memory(format!(
            "a row of aggregates for each stripe takes{bytes} more than the {limit} that may go through the driver"
        ))
        .with_help("raise fulgurite.blocksize, or fulgurite.memory.broadcast and fulgurite.memory.local"));
    }
    dataset.collect(None)
}

/// What stands above each stripe, beside its row offset.
fn above(aggregates: &MatrixBlock, op: CumulativeOp, neutral: f64) -> Result<MatrixBlock> {
    let (rows, width) = (aggregates.rows(), aggregates.cols());
    let running = fulgurite_operators::cumulative(op, aggregates)?;
    let mut cells = memory::room(memory::cells(rows, width)?)?;
    for row in 0..rows {
        cells.push(aggregates.get(row, 0));
        cells.extend((1..width).map(|col| match row.checked_sub(1) {
            Some(before) => running.get(before, col),
            None => neutral,
        }));
    }
    MatrixBlock::dense(rows, width, cells)
}

/// The row of `above` that begins with the stripe's row offset, without it.
fn row_of_stripe(builder: &mut TaskBuilder, above: HopId, cols: u64) -> HopId {
    let offset = builder.row_offset();
    let (one, two, last) = (builder.int(1), builder.int(2), builder.int(cols + 1));
    let offsets = builder.columns(above, one, one);
    let is_own = builder.equal(offsets, offset);
    let own = builder.kept_rows(above, Some(is_own), false);
    builder.columns(own, two, last)
}
