//! The Outer skeleton: cells of the driver X, beside which the body reads those of `U %*% t(V)`.
//!
//! [`stored`] visits the stored cells of a sparse driver and computes a dot product for each; [`tiles`] visits all
//! cells, tile by tile, and computes the products of a tile at once. Neither ever holds `U %*% t(V)`.

mod stored;
mod tiles;

use std::sync::atomic::{AtomicUsize, Ordering};

use fulgurite_error::Result;
use fulgurite_fusion::cplan::{OuterOutput, OuterTemplate};
use fulgurite_matrix::{DenseMatrix, MatrixBlock};

use super::driver::Driver;
use super::factors::Factors;
use super::{ExecutionContext, Output, tasks};
use crate::bind::{Bound, Operand};
use crate::compiled::CompiledPlan;

/// Non-zeros per cell from which a tile's product costs less than its non-zeros' dot products.
const DENSE_FROM: f64 = 0.2;
/// Cells whose non-zeros are counted before looking at what others found.
const COUNTED_TOGETHER: usize = 1 << 14;

pub(super) fn run(
    compiled: &CompiledPlan,
    bound: &Bound<'_>,
    template: OuterTemplate,
    context: &ExecutionContext,
) -> Result<Output> {
    let factors = Factors::bind(&compiled.kernel().program, bound)?;
    if template.sparse_safe {
        let most = (DENSE_FROM * cells(bound) as f64).ceil() as usize;
        let driver = match bound.matrix(0)? {
            MatrixBlock::Dense(driver) if has_fewer_non_zeros(driver, most, context)? => {
                Some(Driver::of_non_zeros(bound.matrix(0)?)?)
            }
            main => Driver::of(Operand::Matrix(main)),
        };
        // The result has the driver's structure, whatever its density; and coordinates are visited, never tiles of them.
        let is_visited =
            template.output == OuterOutput::NoAggregate || bound.main.is_ultra_sparse();
        if let Some(driver) = driver
            && (is_visited || driver.csr.stored() < most)
        {
            return stored::run(compiled, bound, &factors, template.output, &driver, context);
        }
    }
    tiles::run(compiled, bound, &factors, template.output, context)
}

fn cells(bound: &Bound<'_>) -> usize {
    bound.rows().saturating_mul(bound.cols())
}

/// Whether a matrix has fewer non-zeros than `most`. Reads no more of it than takes to see that it has not.
fn has_fewer_non_zeros(
    matrix: &DenseMatrix,
    most: usize,
    context: &ExecutionContext,
) -> Result<bool> {
    let cells = matrix.values();
    let ranges = tasks::even(cells.len(), 1, cells.len(), context);
    let found = AtomicUsize::new(0);
    tasks::run(context, ranges, |range| {
        for cells in cells[range].chunks(COUNTED_TOGETHER) {
            if found.load(Ordering::Relaxed) >= most {
                break;
            }
            let count = cells.iter().filter(|cell| **cell != 0.0).count();
            found.fetch_add(count, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(found.into_inner() < most)
}

/// The matrix of the second product, as dense rows.
fn multiplied(bound: &Bound<'_>, input: usize) -> Result<DenseMatrix> {
    bound.matrix(input)?.to_dense()
}
