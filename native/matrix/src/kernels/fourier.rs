//! Fourier transforms: lines of cells by the `rustfft` crate.

use fulgurite_error::{Error, Result};
use rustfft::{FftDirection, FftPlanner, num_complex::Complex};

use super::results::shape;
use crate::{
    DenseMatrix, Interrupt, MatrixBlock,
    memory::{self, cells},
};

/// Which lines are transformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// The rows, and then the columns of what they give.
    RowsAndColumns,
    Rows,
}

/// `fft` and `ifft`: the real and imaginary parts. The inverse divides by the length of each line.
///
/// # Errors
/// `dimension` if the imaginary part has another size than the real one, `memory`, `interrupted`.
pub fn fourier(
    real: &MatrixBlock,
    imaginary: Option<&MatrixBlock>,
    inverse: bool,
    lines: Lines,
) -> Result<[MatrixBlock; 2]> {
    let (rows, cols) = (real.rows(), real.cols());
    if let Some(other) = imaginary
        && (other.rows(), other.cols()) != (rows, cols)
    {
        return Err(Error::dimension(format!(
            "a {} real part and a {} imaginary one",
            shape(real),
            shape(other)
        )));
    }
    let imaginary = imaginary.map(MatrixBlock::to_dense).transpose()?;
    let real = real.to_dense()?;
    let count = cells(rows, cols)?;
    let mut buffer = memory::room(count)?;
    buffer.extend((0..count).map(|cell| {
        let imaginary = imaginary.as_ref().map_or(0.0, |part| part.values()[cell]);
        Complex::new(real.values()[cell], imaginary)
    }));
    let direction = match inverse {
        true => FftDirection::Inverse,
        false => FftDirection::Forward,
    };
    transform(&mut buffer, cols, direction)?;
    let mut divisor = cols as f64;
    if lines == Lines::RowsAndColumns && rows > 1 {
        buffer = turned(&buffer, rows, cols)?;
        transform(&mut buffer, rows, direction)?;
        buffer = turned(&buffer, cols, rows)?;
        divisor *= rows as f64;
    }
    let divisor = if inverse { divisor } else { 1.0 };
    let part = |of: fn(&Complex<f64>) -> f64| {
        let values = memory::collected(buffer.iter().map(|cell| of(cell) / divisor))?;
        DenseMatrix::new(rows, cols, values).map(MatrixBlock::Dense)
    };
    Ok([part(|cell| cell.re)?, part(|cell| cell.im)?])
}

/// Transforms each line of so many cells in place.
fn transform(buffer: &mut [Complex<f64>], line: usize, direction: FftDirection) -> Result<()> {
    if line < 2 || buffer.is_empty() {
        return Ok(());
    }
    // The plan has tables as long as a line, and perhaps some more.
    memory::admit(memory::bytes_of::<Complex<f64>>(line.saturating_mul(4))?)?;
    let plan = FftPlanner::new().plan_fft(line, direction);
    let mut scratch = memory::filled(plan.get_inplace_scratch_len(), Complex::default())?;
    let interrupt = Interrupt::current();
    for line in buffer.chunks_exact_mut(line) {
        interrupt.check()?;
        plan.process_with_scratch(line, &mut scratch);
    }
    Ok(())
}

/// The transpose of cells in so many rows and columns.
fn turned(buffer: &[Complex<f64>], rows: usize, cols: usize) -> Result<Vec<Complex<f64>>> {
    let mut output = memory::room(buffer.len())?;
    for col in 0..cols {
        output.extend((0..rows).map(|row| buffer[row * cols + col]));
    }
    Ok(output)
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
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    /// As SystemDS 3.4 printed them.
    #[test]
    fn transforms_of_both_dimensions_and_of_rows() {
        let a = dense(2, 4, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let [real, imaginary] = fourier(&a, None, false, Lines::RowsAndColumns).unwrap();
        assert_close(&real, &[36.0, -4.0, -4.0, -4.0, -16.0, 0.0, 0.0, 0.0]);
        assert_close(&imaginary, &[0.0, 4.0, 0.0, -4.0, 0.0, 0.0, 0.0, 0.0]);
        let back = fourier(&real, Some(&imaginary), true, Lines::RowsAndColumns).unwrap();
        assert_close(&back[0], a.to_dense().unwrap().values());
        assert_close(&back[1], &[0.0; 8]);
        let [real, imaginary] = fourier(&a, None, false, Lines::Rows).unwrap();
        assert_close(&real, &[10.0, -2.0, -2.0, -2.0, 26.0, -2.0, -2.0, -2.0]);
        assert_close(&imaginary, &[0.0, 2.0, 0.0, -2.0, 0.0, 2.0, 0.0, -2.0]);
    }

    #[test]
    fn lines_of_any_length_come_back() {
        for (rows, cols) in [(1, 1), (1, 7), (6, 1), (3, 5), (0, 4), (4, 0)] {
            let values: Vec<f64> = (0..rows * cols).map(|i| (i * i % 11) as f64).collect();
            let a = dense(rows, cols, &values);
            for lines in [Lines::RowsAndColumns, Lines::Rows] {
                let [real, imaginary] = fourier(&a, None, false, lines).unwrap();
                let [back, nothing] = fourier(&real, Some(&imaginary), true, lines).unwrap();
                assert_close(&back, &values);
                assert_close(&nothing, &vec![0.0; values.len()]);
            }
        }
        assert!(
            fourier(
                &dense(1, 2, &[1.0; 2]),
                Some(&dense(2, 1, &[1.0; 2])),
                true,
                Lines::Rows
            )
            .is_err()
        );
    }
}
