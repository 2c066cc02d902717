//! Running aggregates of columns, in two passes: what a few blocks of rows come to, and then the rows of each, from what stands
//! above it on.

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use super::Accumulator;
use crate::{
    DenseMatrix, MatrixBlock,
    memory::{self, by_chunks},
    parallel::{cells, reduction_tasks},
    vector_math::{Work, vectorized},
};

/// `cumsum`, `cumprod`, `cummin` and `cummax`: each cell with those above it. A sum carries its rounding errors along.
///
/// # Errors
/// `memory` when there is none for the result.
pub fn cumulative<A: Accumulator>(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let input = matrix.to_dense()?;
    let values = input.values();
    let blocks = reduction_tasks(rows, cols);
    let cells_of = |block: &Range<usize>| &values[block.start * cols..block.end * cols];
    // Nothing stands below the last one.
    let above = blocks.len().saturating_sub(1);
    let totals = blocks[..above]
        .par_iter()
        .map(|block| {
            let mut totals = memory::filled(cols, A::START)?;
            match totals.as_mut_slice() {
                [total] => total.add_all(cells_of(block), |value| value),
                totals => vectorized(Totals {
                    rows: cells_of(block),
                    totals,
                }),
            }
            Ok(totals)
        })
        .collect::<Result<Vec<Vec<A>>>>()?;
    let mut starts = vec![memory::filled(cols, A::START)?];
    for totals in totals {
        let mut start = memory::copied(&starts[starts.len() - 1])?;
        for (start, total) in start.iter_mut().zip(totals) {
            start.merge(total);
        }
        starts.push(start);
    }
    let chunk = blocks.first().map_or(0, |block| block.len() * cols);
    let output = by_chunks(cells(rows, cols)?, chunk, |number, out| {
        vectorized(Running {
            rows: cells_of(&blocks[number]),
            running: starts[number].clone(),
            out,
        });
    })?;
    DenseMatrix::new(rows, cols, output).map(MatrixBlock::Dense)
}

/// The aggregates of columns.
struct Totals<'a, A> {
    rows: &'a [f64],
    totals: &'a mut [A],
}

impl<A: Accumulator> Work for Totals<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in self.rows.chunks_exact(self.totals.len().max(1)) {
            for (total, value) in self.totals.iter_mut().zip(row) {
                total.add(*value);
            }
        }
    }
}

/// Rows with what stands above them taken in.
struct Running<'a, A> {
    rows: &'a [f64],
    running: Vec<A>,
    out: &'a mut [f64],
}

impl<A: Accumulator> Work for Running<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let cols = self.running.len().max(1);
        let rows = self.rows.chunks_exact(cols);
        for (row, out) in rows.zip(self.out.chunks_exact_mut(cols)) {
            for ((running, value), out) in self.running.iter_mut().zip(row).zip(out) {
                running.add(*value);
                *out = running.result();
            }
        }
    }
}
