//! Outer over the stored cells of a sparse driver. Its cost follows their number.

use std::ops::Range;

use fulgurite_error::Result;
use fulgurite_fusion::cplan::OuterOutput;
use fulgurite_matrix::{DenseMatrix, MatrixBlock, memory::NewCells};

use super::super::driver::Driver;
use super::super::factors::Factors;
use super::super::sparse_cell::Skeleton;
use super::super::{CellOutput, ExecutionContext, Output, cells_of, scalar, tasks, zeros};
use super::multiplied;
use crate::bind::Bound;
use crate::compiled::CompiledPlan;
use crate::primitives::stored::{Rows, add_outer, add_product};

pub(super) fn run(
    compiled: &CompiledPlan,
    bound: &Bound<'_>,
    factors: &Factors,
    output: OuterOutput,
    driver: &Driver<'_>,
    context: &ExecutionContext,
) -> Result<Output> {
    let skeleton = Skeleton::new(compiled, bound, factors, driver)?;
    match output {
        OuterOutput::NoAggregate => skeleton.run(&CellOutput::Map, context),
        OuterOutput::FullAggregate(op) => skeleton
            .run(&CellOutput::Full(vec![op]), context)
            .map(scalar),
        OuterOutput::RightMultiply { input } => {
            right_multiply(&skeleton, &multiplied(bound, input)?, context)
        }
        OuterOutput::LeftMultiply { input } => {
            left_multiply(&skeleton, &multiplied(bound, input)?, context)
        }
    }
}

/// `f %*% W`: a row of `f` gives a row of the result.
fn right_multiply(
    skeleton: &Skeleton<'_>,
    w: &DenseMatrix,
    context: &ExecutionContext,
) -> Result<Output> {
    let driver = skeleton.driver();
    let width = w.cols();
    let mut output = NewCells::new(cells_of(driver.csr.rows(), width)?)?;
    let w = Rows {
        cells: w.values(),
        cols: width,
    };
    let parts = tasks::with_outputs(skeleton.ranges(context), &mut output, width);
    tasks::run(context, parts, |(range, part)| {
        let (first, part) = (range.start, part.cells());
        skeleton.values(range, |row, columns, values| {
            let from = (row - first) * width;
            add_product(columns, values, w, &mut part[from..from + width])
        })
    })?;
    let output = driver.spread(output.finish(), width, &[])?;
    MatrixBlock::dense(driver.rows(), width, output).map(Output::Matrix)
}

/// `t(f) %*% W`: a row of `f` adds to the rows of the result that its columns name, so each task has a result of its
/// own.
fn left_multiply(
    skeleton: &Skeleton<'_>,
    w: &DenseMatrix,
    context: &ExecutionContext,
) -> Result<Output> {
    let driver = skeleton.driver();
    let (rows, width) = (driver.csr.cols(), w.cols());
    let task = |range: Range<usize>| {
        let mut part = zeros(rows, width)?;
        skeleton.values(range, |row, columns, values| {
            add_outer(columns, values, w.row(driver.number(row)), &mut part)
        })?;
        Ok(part)
    };
    let ranges = tasks::at_most(skeleton.ranges(context), context.threads());
    let mut parts = tasks::run(context, ranges, task)?.into_iter();
    let mut output = match parts.next() {
        Some(first) => first,
        None => zeros(rows, width)?,
    };
    for part in parts {
        let pairs = output.iter_mut().zip(&part);
        pairs.for_each(|(sum, cell)| *sum += cell);
    }
    MatrixBlock::dense(rows, width, output).map(Output::Matrix)
}
