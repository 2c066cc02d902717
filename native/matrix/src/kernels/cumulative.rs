//! Running sums, products and extremes down each column.

use fulgurite_error::Result;

use crate::{DenseMatrix, MatrixBlock};

/// Row i of the result is `step(row i - 1 of the result, row i of the matrix)`; the first row stays.
pub fn cumulative(matrix: &MatrixBlock, step: impl Fn(f64, f64) -> f64) -> Result<MatrixBlock> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let mut values = matrix.to_dense().into_vec();
    for row in 1..rows {
        let (before, from) = values.split_at_mut(row * cols);
        let previous = &before[(row - 1) * cols..];
        for (value, previous) in from.iter_mut().zip(previous) {
            *value = step(*previous, *value);
        }
    }
    DenseMatrix::new(rows, cols, values).map(MatrixBlock::Dense)
}

/// `cumsum`, with the rounding errors of each column carried along.
pub fn cumulative_sum(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let mut values = matrix.to_dense().into_vec();
    let mut running = vec![<super::aggregate::Sum as super::Accumulator>::START; cols];
    if cols > 0 {
        for row in values.chunks_exact_mut(cols) {
            for (value, sum) in row.iter_mut().zip(&mut running) {
                super::Accumulator::add(sum, *value);
                *value = super::Accumulator::result(*sum);
            }
        }
    }
    DenseMatrix::new(rows, cols, values).map(MatrixBlock::Dense)
}
