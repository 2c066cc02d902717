//! Matrices from scalars: fill, seq, a string of numbers.

use std::ops::Range;

use fulgurite_error::{Error, Result};

use crate::{CoordinateMatrix, MatrixBlock, memory::by_chunks, parallel::TASK_CELLS, parse_double};

/// `matrix(value, rows, cols)`; zeros are stored sparsely.
///
/// # Errors
/// `memory` when the matrix is larger than memory can be.
pub fn fill(value: f64, rows: usize, cols: usize) -> Result<MatrixBlock> {
    if value == 0.0 && rows > 1 && cols > 1 && i32::try_from(cols).is_ok() {
        let (no_rows, no_cols, no_values) = (Vec::new(), Vec::new(), Vec::new());
        let empty = CoordinateMatrix::new(rows, cols, no_rows, no_cols, no_values)?;
        return Ok(empty.into());
    }
    MatrixBlock::filled(rows, cols, value)
}

/// `matrix("1 2 3 4", rows, cols)`: numbers separated by blanks, by row.
///
/// # Errors
/// `data` when one is not a number, `dimension` when there are not `rows * cols`.
pub fn parse_cells(text: &str, rows: usize, cols: usize) -> Result<MatrixBlock> {
    let values: Vec<f64> = text
        .split_whitespace()
        .map(|word| {
            parse_double(word)
                .ok_or_else(|| Error::data(format!("'{word}' in a matrix's cells is not a number")))
        })
        .collect::<Result<_>>()?;
    if values.len() as u128 != rows as u128 * cols as u128 {
        return Err(Error::dimension(format!(
            "a string of {} numbers does not fill a {rows} x {cols} matrix",
            values.len()
        )));
    }
    MatrixBlock::dense(rows, cols, values)
}

/// `seq(from, to, increment)` as a column vector; without an increment it is 1 or -1, as the order asks.
/// An increment of 1 turns with the order, as SystemML has it.
///
/// # Errors
/// `runtime` when the increment leads away from `to`, is 0, or anything is not finite.
pub fn seq(from: f64, to: f64, increment: Option<f64>) -> Result<MatrixBlock> {
    let steps = Steps::new(from, to, increment)?;
    steps.rows(0..steps.length)
}

/// The rows `part` of the vector that [`seq`] gives.
///
/// # Errors
/// As [`seq`]; `dimension` for rows that it does not have.
pub fn seq_rows(
    from: f64,
    to: f64,
    increment: Option<f64>,
    part: Range<usize>,
) -> Result<MatrixBlock> {
    let steps = Steps::new(from, to, increment)?;
    if part.start > part.end || part.end > steps.length {
        return Err(Error::dimension(format!(
            "rows {} to {} of a sequence of {} numbers",
            part.start + 1,
            part.end,
            steps.length
        )));
    }
    steps.rows(part)
}

struct Steps {
    from: f64,
    increment: f64,
    length: usize,
}

impl Steps {
    fn new(from: f64, to: f64, increment: Option<f64>) -> Result<Self> {
        let increment = match increment {
            None | Some(1.0) if from > to => -1.0,
            None => 1.0,
            Some(increment) => increment,
        };
        let refuse = |reason: &str| {
            Err(Error::runtime(format!(
                "seq({from}, {to}, {increment}): {reason}"
            )))
        };
        if ![from, to, increment].iter().all(|value| value.is_finite()) {
            return refuse("its arguments must be finite");
        }
        if increment == 0.0 {
            return refuse("the increment is 0");
        }
        if (from < to && increment < 0.0) || (from > to && increment > 0.0) {
            return refuse("the increment leads away from the end");
        }
        let length = 1.0 + (to / increment - from / increment).floor();
        if length > isize::MAX as f64 / 8.0 {
            return refuse("longer than memory can be");
        }
        Ok(Steps {
            from,
            increment,
            length: length as usize,
        })
    }

    /// Each number is the one before it and the increment: rounding errors are those of the sum.
    fn rows(&self, part: Range<usize>) -> Result<MatrixBlock> {
        let (first, length) = (part.start, part.len());
        let fill = |from: usize, out: &mut [f64]| {
            let mut value = self.at(from);
            for out in out {
                *out = value;
                value += self.increment;
            }
        };
        // Where a number depends on those before it, threads would count twice.
        let chunk = match self.is_exact(part.end) {
            true => TASK_CELLS,
            false => length.max(1),
        };
        let values = by_chunks(length, chunk, |index, out| fill(first + index * chunk, out))?;
        MatrixBlock::dense(length, 1, values)
    }

    /// Whether the numbers up to there have no rounding errors: all are integers.
    fn is_exact(&self, index: usize) -> bool {
        let last = self.from + index as f64 * self.increment;
        let is_exact = |value: f64| value.fract() == 0.0 && value.abs() <= (1u64 << 52) as f64;
        [self.from, self.increment, last].into_iter().all(is_exact)
    }

    fn at(&self, index: usize) -> f64 {
        match self.is_exact(index) {
            true => self.from + index as f64 * self.increment,
            false => (0..index).fold(self.from, |value, _| value + self.increment),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_sequence_is_that_of_the_whole() {
        for (from, to, increment) in [(1.0, 50.0, None), (50.0, -7.0, None), (0.1, 9.0, Some(0.1))]
        {
            let whole = seq(from, to, increment).unwrap();
            for part in [0..whole.rows(), 3..4, 20..50, 7..7] {
                let rows = seq_rows(from, to, increment, part.clone()).unwrap();
                assert_eq!(rows, whole.slice_rows(part.start, part.end), "{part:?}");
            }
            assert!(seq_rows(from, to, increment, 0..whole.rows() + 1).is_err());
        }
    }
}
