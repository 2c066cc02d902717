//! `row column value` lines: the text format, and MatrixMarket's coordinates.

use std::fmt::Write;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    BadLine,
    chunks::{lines, number, parsed, shown, whole_number, words},
};
use crate::{CoordinateMatrix, Interrupt, JavaDouble, MatrixBlock, memory};

/// A cell from 0.
pub(super) type Cell = (usize, usize, f64);

/// Of the others than `General` a file has the lower triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Symmetry {
    General,
    Symmetric,
    /// The upper triangle is the lower one with the signs changed, the diagonal is 0.
    Skew,
}

/// What a line of a cell has to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellForm {
    /// Of the matrix, where they are known.
    pub(super) rows: Option<usize>,
    pub(super) cols: Option<usize>,
    /// Lines have no values: each cell is 1.
    pub(super) pattern: bool,
    pub(super) symmetry: Symmetry,
}

impl CellForm {
    /// Of `row column value` lines.
    pub(super) fn plain(rows: Option<usize>, cols: Option<usize>) -> Self {
        CellForm {
            rows,
            cols,
            pattern: false,
            symmetry: Symmetry::General,
        }
    }

    /// `None` for blank lines, comments, and the placeholder `0 0 0` of a matrix without non-zeros.
    fn parse_line(&self, line: &[u8]) -> Result<Option<Cell>, String> {
        if line.trim_ascii_start().starts_with(b"%") {
            return Ok(None);
        }
        let mut words = words(line);
        let Some(row) = words.next() else {
            return Ok(None);
        };
        let (row, col) = (whole_number(row), words.next().and_then(whole_number));
        let value = if self.pattern {
            Some(1.0)
        } else {
            words.next().and_then(number)
        };
        let (Some(row), Some(col), Some(value), None) = (row, col, value, words.next()) else {
            let expected = if self.pattern {
                "row column"
            } else {
                "row column value"
            };
            return Err(format!(
                "'{}' is not '{expected}'",
                shown(line.trim_ascii())
            ));
        };
        if (row, col) == (0, 0) && value == 0.0 {
            return Ok(None);
        }
        if self.symmetry == Symmetry::Skew && row == col {
            return Err(format!(
                "cell ({row}, {col}) is on the diagonal of a skew-symmetric matrix"
            ));
        }
        let is_within =
            |at: usize, known: Option<usize>| at >= 1 && known.is_none_or(|size| at <= size);
        if !is_within(row, self.rows) || !is_within(col, self.cols) {
            let size = |known: Option<usize>| known.map_or("?".into(), |size| size.to_string());
            return Err(format!(
                "cell ({row}, {col}) is outside the {} x {} matrix",
                size(self.rows),
                size(self.cols)
            ));
        }
        Ok(Some((row - 1, col - 1, value)))
    }

    /// The cells, the number of lines read, and what is wrong with the last one.
    fn parse_chunk(&self, chunk: &[u8]) -> Result<(Vec<Cell>, usize, Option<String>)> {
        let mut cells = memory::room(memchr::memchr_iter(b'\n', chunk).count() + 1)?;
        let mut read = 0;
        for line in lines(chunk) {
            read += 1;
            match self.parse_line(line) {
                Ok(Some(cell)) => cells.push(cell),
                Ok(None) => {}
                Err(problem) => return Ok((cells, read, Some(problem))),
            }
        }
        Ok((cells, read, None))
    }

    /// Parses whole lines on this thread: a row of row, column (from 1) and value for each cell, in the order of lines;
    /// none where there are no cells.
    ///
    /// # Errors
    /// What is wrong with a line is the result.
    pub(super) fn parse_cells(&self, text: &[u8]) -> Result<Result<Vec<MatrixBlock>, BadLine>> {
        let (cells, read, problem) = self.parse_chunk(text)?;
        if let Some(problem) = problem {
            return Ok(Err(BadLine::of(text, 0, read, problem, HELP)));
        }
        if let Some((row, col, _)) = cells
            .iter()
            .find(|(row, col, _)| *row as u64 >= MOST_ROWS || *col >= i32::MAX as usize)
        {
            return Err(Error::data(format!(
                "cell ({}, {}) is beyond the {MOST_ROWS} rows and {} columns that a matrix can have",
                row + 1,
                col + 1,
                i32::MAX
            )));
        }
        if cells.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let numbers = cells
            .iter()
            .flat_map(|(row, col, value)| [(row + 1) as f64, (col + 1) as f64, *value])
            .collect();
        Ok(Ok(vec![MatrixBlock::dense(cells.len(), 3, numbers)?]))
    }
}

/// Row numbers of cells that cross as numbers.
const MOST_ROWS: u64 = 1 << 53;

const HELP: &str = "a line is 'row column value', with rows and columns from 1";

/// Lines of cells of a matrix whose size is known: rows and columns from 1, in any order.
pub(super) struct CellLines<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) form: CellForm,
    /// Lines of the file before these.
    pub(super) lines_before: usize,
}

impl CellLines<'_> {
    /// # Errors
    /// `data`, naming the line, for what is no cell of the matrix.
    pub(super) fn parse(&self) -> Result<Vec<Cell>> {
        let parts: Vec<(Vec<Cell>, usize, Option<String>)> =
            parsed(self.bytes, |chunk| self.form.parse_chunk(chunk))?;
        let mut lines = self.lines_before;
        let mut cells = memory::room(parts.iter().map(|(cells, ..)| cells.len()).sum())?;
        for (part, read, problem) in parts {
            lines += read;
            if let Some(problem) = problem {
                return Err(Error::data(format!("line {lines}: {problem}")));
            }
            cells.extend(part);
        }
        Ok(cells)
    }

    /// # Errors
    /// `data`, naming both lines, where two are of one cell.
    pub(super) fn assemble(&self, mut cells: Vec<Cell>) -> Result<MatrixBlock> {
        let (rows, cols) = (self.rows, self.cols);
        if i64::try_from(rows).is_err() {
            return Err(Error::unsupported(format!(
                "a matrix has at most {} rows, not {rows}",
                i64::MAX
            )));
        }
        if i32::try_from(cols).is_err() {
            return Err(Error::unsupported(format!(
                "sparse files have at most {} columns, not {cols}",
                i32::MAX
            )));
        }
        Interrupt::unwinding(|interrupt| {
            cells.par_sort_unstable_by_key(interrupt.key(|(row, col, _): &Cell| (*row, *col)));
        })?;
        let repeated = cells
            .windows(2)
            .find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1));
        if let Some([(row, col, _), ..]) = repeated {
            return Err(self.repeated(*row, *col));
        }
        let row_indices: Vec<i64> = cells.iter().map(|(row, ..)| *row as i64).collect();
        let indices: Vec<i32> = cells.iter().map(|(_, col, _)| *col as i32).collect();
        let values: Vec<f64> = cells.iter().map(|(.., value)| *value).collect();
        let coordinates = CoordinateMatrix::new(rows, cols, row_indices, indices, values)?;
        MatrixBlock::from(coordinates).in_best_layout()
    }

    /// Cells do not know their lines: only an error is worth finding them.
    fn repeated(&self, row: usize, col: usize) -> Error {
        let is_of = |line| match self.form.parse_line(line) {
            Ok(Some((of_row, of_col, _))) => {
                (of_row, of_col) == (row, col)
                    || self.form.symmetry != Symmetry::General && (of_col, of_row) == (row, col)
            }
            _ => false,
        };
        let found = lines(self.bytes)
            .enumerate()
            .filter(|(_, line)| is_of(line));
        let lines: Vec<usize> = found
            .map(|(before, _)| self.lines_before + before + 1)
            .take(2)
            .collect();
        let place = match lines[..] {
            [first, second] => format!(
                "line {second}: cell ({}, {}) stands in line {first}, too",
                row + 1,
                col + 1
            ),
            _ => format!("cell ({}, {}) stands in two lines", row + 1, col + 1),
        };
        Error::data(place).with_help("let each cell stand once")
    }
}

/// Parses text cells into a matrix of the given size.
///
/// # Errors
/// `data`, naming the line, also where a cell stands twice.
pub(super) fn parse_text(bytes: &[u8], rows: usize, cols: usize) -> Result<MatrixBlock> {
    let lines = CellLines {
        bytes,
        rows,
        cols,
        form: CellForm::plain(Some(rows), Some(cols)),
        lines_before: 0,
    };
    lines.assemble(lines.parse()?)
}

/// The lines of the non-zeros of rows `from..to` of a matrix that begins after so many rows.
pub(super) fn format_rows(
    matrix: &MatrixBlock,
    before: u64,
    rows: std::ops::Range<usize>,
) -> String {
    let mut text = String::new();
    for row in rows {
        let number = before + row as u64 + 1;
        for_each_non_zero(matrix, row, |col, value| {
            // Writing to a string has no errors.
            let _ = writeln!(text, "{number} {} {}", col + 1, JavaDouble(value));
        });
    }
    text
}

/// Calls `each(column, value)` for the non-zeros of a row, in the order of columns.
pub(super) fn for_each_non_zero(
    matrix: &MatrixBlock,
    row: usize,
    mut each: impl FnMut(usize, f64),
) {
    let (indices, values) = match matrix {
        MatrixBlock::Dense(dense) => {
            for (col, value) in dense.row(row).iter().enumerate() {
                if *value != 0.0 {
                    each(col, *value);
                }
            }
            return;
        }
        MatrixBlock::Csr(csr) => csr.row(row),
        MatrixBlock::Coordinate(coordinates) => coordinates.row(row),
    };
    for (col, value) in indices.iter().zip(values) {
        if *value != 0.0 {
            each(*col as usize, *value);
        }
    }
}

/// The lines of the non-zeros among some stored cells of a matrix that begins after so many rows.
pub(super) fn format_coordinates(
    matrix: &CoordinateMatrix,
    before: u64,
    stored: std::ops::Range<usize>,
) -> String {
    let mut text = String::new();
    for at in stored {
        let (row, col) = (matrix.row_indices()[at], matrix.indices()[at]);
        let value = matrix.values()[at];
        if value != 0.0 {
            // Writing to a string has no errors.
            let row = before + row as u64 + 1;
            let _ = writeln!(text, "{row} {} {}", col + 1, JavaDouble(value));
        }
    }
    text
}
