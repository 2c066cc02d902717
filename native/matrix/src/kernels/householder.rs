//! `qr`: the factorisation of SystemML, which gives Householder vectors and not the orthogonal factor.

use fulgurite_error::Result;
use rayon::prelude::*;

use super::reorganize::transpose;
use crate::{DenseMatrix, Interrupt, MatrixBlock, memory::zeros, parallel::TASK_CELLS};

/// `qr(A)`: H and R, both as large as A. R is the upper triangle. Column j of H is the vector v of the reflection
/// `I - v %*% t(v) / v[j]`, which makes the j-th column of what is left a multiple of a unit vector: its scale is that of commons-math,
/// and so are the signs. A column that is zero from the diagonal on has no such vector, and H has NaN there.
///
/// # Errors
/// `memory` when there is none for the factors, `interrupted`.
pub fn qr(matrix: &MatrixBlock) -> Result<[MatrixBlock; 2]> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    // Columns are lines of memory.
    let mut columns = transpose(matrix)?.to_dense()?.into_vec()?;
    let rank = rows.min(cols);
    let mut diagonal = zeros(rank)?;
    let interrupt = Interrupt::current();
    for place in 0..rank {
        interrupt.check()?;
        let (before, after) = columns.split_at_mut((place + 1) * rows);
        let vector = &mut before[place * rows + place..];
        let square: f64 = vector.iter().fold(0.0, |sum, cell| sum + cell * cell);
        let target = match vector[0] > 0.0 {
            true => -square.sqrt(),
            false => square.sqrt(),
        };
        diagonal[place] = target;
        if target == 0.0 {
            continue;
        }
        vector[0] -= target;
        let vector = &*vector;
        let reflect = |column: &mut [f64]| {
            let column = &mut column[place..];
            let pairs = column.iter().zip(vector);
            let product = pairs.fold(0.0, |sum, (cell, other)| sum - cell * other);
            let factor = product / (target * vector[0]);
            for (cell, other) in column.iter_mut().zip(vector) {
                *cell -= factor * other;
            }
        };
        match after.len() < TASK_CELLS {
            true => after.chunks_exact_mut(rows).for_each(reflect),
            false => after.par_chunks_exact_mut(rows).for_each(reflect),
        }
    }
    let cell = |row: usize, col: usize| columns[col * rows + row];
    let vectors = DenseMatrix::from_fn(rows, cols, |row, col| match col <= row && col < rank {
        true => cell(row, col) / -diagonal[col],
        false => 0.0,
    })?;
    let triangle = DenseMatrix::from_fn(rows, cols, |row, col| match row {
        _ if row == col => diagonal[row],
        _ if row < col => cell(row, col),
        _ => 0.0,
    })?;
    Ok([vectors.into(), triangle.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(rows: usize, cols: usize, values: &[f64]) -> MatrixBlock {
        MatrixBlock::dense(rows, cols, values.to_vec()).expect("as many cells")
    }

    fn assert_close(block: &MatrixBlock, expected: &[f64]) {
        let found = block.to_dense().unwrap();
        assert_eq!(found.values().len(), expected.len());
        for (found, expected) in found.values().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-8, "{found} {expected}");
        }
    }

    /// As SystemDS 3.4 printed them.
    #[test]
    fn factors_are_those_of_commons_math() {
        let tall = [4.0, 2.0, 7.0, 1.0, 3.0, -2.0, 2.0, 0.0, 5.0, 1.0, 1.0, 2.0];
        let [vectors, triangle] = qr(&dense(4, 3, &tall)).unwrap();
        #[rustfmt::skip]
        assert_close(&vectors, &[
            1.85280287, 0.0, 0.0,
            0.21320072, 1.90666444, 0.0,
            0.42640143, -0.38423074, 1.02125248,
            0.21320072, 0.17414457, -0.99977414,
        ]);
        #[rustfmt::skip]
        assert_close(&triangle, &[
            -4.69041576, -2.55840860, -8.10162722,
            0.0, -2.73030135, 3.92897023,
            0.0, 0.0, 0.96271972,
            0.0, 0.0, 0.0,
        ]);
        let [vectors, triangle] = qr(&dense(2, 3, &[4.0, 2.0, 7.0, 1.0, 3.0, -2.0])).unwrap();
        let shown = |block: &MatrixBlock| -> Vec<f64> {
            let values = block.to_dense().unwrap();
            values
                .values()
                .iter()
                .map(|x| (x * 1e3).round() / 1e3)
                .collect()
        };
        assert_eq!(shown(&vectors), [1.97, 0.0, 0.0, 0.243, 2.0, 0.0]);
        assert_eq!(
            shown(&triangle),
            [-4.123, -2.668, -6.306, 0.0, -2.425, 3.638]
        );
        let [empty, _] = qr(&dense(0, 3, &[])).unwrap();
        assert_eq!((empty.rows(), empty.cols()), (0, 3));
    }
}
