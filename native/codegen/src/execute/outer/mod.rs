//! The Outer skeleton: cells of the driver X, beside which the body reads those of `U %*% t(V)`.
//!
//! [`stored`] visits the stored cells of a sparse driver and computes a dot product for each; [`tiles`] visits all
//! cells, tile by tile, and computes the products of a tile at once. Neither ever holds `U %*% t(V)`.

mod factors;
mod stored;
mod tiles;

use fulgurite_error::Result;
use fulgurite_fusion::cplan::{OuterOutput, OuterTemplate};
use fulgurite_matrix::{DenseMatrix, Layout, MatrixBlock};

use super::driver::Driver;
use super::{ExecutionContext, Output, tasks};
use crate::bind::Bound;
use crate::compiled::CompiledPlan;
pub(super) use factors::Factors;

/// Non-zeros per cell from which a tile's product costs less than its non-zeros' dot products.
const DENSE_FROM: f64 = 0.2;

pub(super) fn run(
    compiled: &CompiledPlan,
    bound: &Bound<'_>,
    template: OuterTemplate,
    context: &ExecutionContext,
) -> Result<Output> {
    let factors = Factors::bind(&compiled.kernel().program, bound)?;
    if template.sparse_safe {
        let few = |stored: usize| (stored as f64) < DENSE_FROM * cells(bound) as f64;
        let driver = match bound.main {
            MatrixBlock::Dense(driver) if few(non_zeros(driver, context)?) => {
                Some(Driver::of_non_zeros(bound.main)?)
            }
            main => Driver::of(main),
        };
        // The result has the driver's structure, whatever its density; and coordinates are visited, never tiles of them.
        let is_visited = template.output == OuterOutput::NoAggregate
            || bound.main.layout() == Layout::Coordinate;
        if let Some(driver) = driver
            && (is_visited || few(driver.csr.stored()))
        {
            return stored::run(compiled, bound, &factors, template.output, &driver, context);
        }
    }
    tiles::run(compiled, bound, &factors, template.output, context)
}

fn cells(bound: &Bound<'_>) -> usize {
    bound.rows().saturating_mul(bound.cols())
}

fn non_zeros(matrix: &DenseMatrix, context: &ExecutionContext) -> Result<usize> {
    let cells = matrix.values();
    let ranges = tasks::even(cells.len(), 1, cells.len(), context);
    let counts = tasks::run(context, ranges, |range| {
        Ok(cells[range].iter().filter(|cell| **cell != 0.0).count())
    })?;
    Ok(counts.iter().sum())
}

/// The matrix of the second product, as dense rows.
fn multiplied(bound: &Bound<'_>, input: usize) -> Result<DenseMatrix> {
    Ok(bound.matrix(input)?.to_dense())
}
