//! Running aggregates of columns, in two passes: what a few blocks of rows come to, and then the rows of each, from what stands
//! above it on.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::Accumulator;
use crate::{
    DenseMatrix, Interrupt, MatrixBlock,
    memory::{self, by_chunks},
    parallel::{TASK_CELLS, cells, reduction_tasks},
    vector_math::{Work, vectorized},
};

/// `cumsumprod(matrix)`: of columns a and b, the y with `y[i] = a[i] + b[i] * y[i - 1]`.
///
/// # Errors
/// `dimension` if there are not two columns, `memory`, `interrupted`.
pub fn cumsumprod(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    if matrix.cols() != 2 {
        return Err(Error::dimension(format!(
            "cumsumprod of a {} x {} matrix: it takes two columns",
            matrix.rows(),
            matrix.cols()
        )));
    }
    let input = matrix.to_dense()?;
    let mut output = memory::room(matrix.rows())?;
    let interrupt = Interrupt::current();
    let mut last = 0.0;
    for rows in input.values().chunks(2 * TASK_CELLS) {
        interrupt.check()?;
        output.extend(rows.chunks_exact(2).map(|row| {
            last = row[0] + row[1] * last;
            last
        }));
    }
    MatrixBlock::dense(matrix.rows(), 1, output)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_takes_in_the_one_above() {
        let dense =
            |rows, cols, cells: &[f64]| MatrixBlock::dense(rows, cols, cells.to_vec()).unwrap();
        let x = dense(4, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let running = cumsumprod(&x).unwrap().to_dense().unwrap();
        assert_eq!(running.values(), [1.0, 7.0, 47.0, 383.0]);
        assert_eq!(cumsumprod(&dense(0, 2, &[])).unwrap().rows(), 0);
        assert!(cumsumprod(&dense(1, 3, &[1.0; 3])).is_err());
    }
}
