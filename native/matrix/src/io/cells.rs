//! `row column value` lines: the text format, and MatrixMarket's coordinates.

use std::fmt::Write;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::chunks::{chunks, split_first_line};
use crate::{CoordinateMatrix, JavaDouble, MatrixBlock, parse_double};

/// A cell from 0.
pub(super) type Cell = (usize, usize, f64);

/// Lines of cells: rows and columns from 1, in any order.
pub(super) struct CellLines<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Lines have no values: each cell is 1.
    pub(super) pattern: bool,
    /// A cell also stands for the one across the diagonal.
    pub(super) mirrored: bool,
    /// Lines of the file before these.
    pub(super) lines_before: usize,
}

impl CellLines<'_> {
    /// # Errors
    /// `data`, naming the line, for what is no cell of the matrix.
    pub(super) fn parse(&self) -> Result<Vec<Cell>> {
        let parts: Vec<(Vec<Cell>, usize, Option<String>)> = chunks(self.bytes)
            .into_par_iter()
            .map(|chunk| self.parse_chunk(chunk))
            .collect();
        let mut lines = self.lines_before;
        let mut cells = Vec::with_capacity(parts.iter().map(|(cells, ..)| cells.len()).sum());
        for (part, read, problem) in parts {
            lines += read;
            if let Some(problem) = problem {
                return Err(Error::data(format!("line {lines}: {problem}")));
            }
            cells.extend(part);
        }
        Ok(cells)
    }

    /// The cells, the number of lines read, and what is wrong with the last one.
    fn parse_chunk(&self, chunk: &[u8]) -> (Vec<Cell>, usize, Option<String>) {
        let mut cells = Vec::new();
        let mut lines = 0;
        let mut rest = chunk;
        while !rest.is_empty() {
            let (line, after) = split_first_line(rest);
            rest = after;
            lines += 1;
            match self.parse_line(line) {
                Ok(Some(cell)) => cells.push(cell),
                Ok(None) => {}
                Err(problem) => return (cells, lines, Some(problem)),
            }
        }
        (cells, lines, None)
    }

    /// `None` for blank lines, comments, and the placeholder `0 0 0` of a matrix without non-zeros.
    fn parse_line(&self, line: &[u8]) -> Result<Option<Cell>, String> {
        let line = String::from_utf8_lossy(line);
        if line.trim().is_empty() || line.starts_with('%') {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let mut index = || words.next().and_then(|word| word.parse::<usize>().ok());
        let (row, col) = (index(), index());
        let value = if self.pattern {
            Some(1.0)
        } else {
            words.next().and_then(parse_double)
        };
        let (Some(row), Some(col), Some(value), None) = (row, col, value, words.next()) else {
            return Err(format!("'{}' is not 'row column value'", line.trim()));
        };
        if (row, col) == (0, 0) && value == 0.0 {
            return Ok(None);
        }
        let (rows, cols) = (self.rows, self.cols);
        if !(1..=rows).contains(&row) || !(1..=cols).contains(&col) {
            return Err(format!(
                "cell ({row}, {col}) is outside the {rows} x {cols} matrix"
            ));
        }
        Ok(Some((row - 1, col - 1, value)))
    }

    /// # Errors
    /// `data`, naming both lines, where two are of one cell.
    pub(super) fn assemble(&self, mut cells: Vec<Cell>) -> Result<MatrixBlock> {
        let (rows, cols) = (self.rows, self.cols);
        if i32::try_from(cols).is_err() {
            return Err(Error::unsupported(format!(
                "sparse files have at most {} columns, not {cols}",
                i32::MAX
            )));
        }
        cells.par_sort_unstable_by_key(|(row, col, _)| (*row, *col));
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
        Ok(MatrixBlock::from(coordinates).in_best_layout())
    }

    /// Cells do not know their lines: only an error is worth finding them.
    fn repeated(&self, row: usize, col: usize) -> Error {
        let mut lines = Vec::new();
        let (mut rest, mut number) = (self.bytes, self.lines_before);
        while !rest.is_empty() && lines.len() < 2 {
            let (line, after) = split_first_line(rest);
            rest = after;
            number += 1;
            if let Ok(Some((of_row, of_col, _))) = self.parse_line(line)
                && ((of_row, of_col) == (row, col)
                    || self.mirrored && (of_col, of_row) == (row, col))
            {
                lines.push(number);
            }
        }
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
        pattern: false,
        mirrored: false,
        lines_before: 0,
    };
    lines.assemble(lines.parse()?)
}

/// The lines of the non-zeros of rows `from..to`.
pub(super) fn format_rows(matrix: &MatrixBlock, rows: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for row in rows {
        for_each_non_zero(matrix, row, |col, value| {
            // Writing to a string has no errors.
            let _ = writeln!(text, "{} {} {}", row + 1, col + 1, JavaDouble(value));
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

/// The lines of the non-zeros among some stored cells.
pub(super) fn format_coordinates(
    matrix: &CoordinateMatrix,
    stored: std::ops::Range<usize>,
) -> String {
    let mut text = String::new();
    for at in stored {
        let (row, col) = (matrix.row_indices()[at], matrix.indices()[at]);
        let value = matrix.values()[at];
        if value != 0.0 {
            // Writing to a string has no errors.
            let _ = writeln!(text, "{} {} {}", row + 1, col + 1, JavaDouble(value));
        }
    }
    text
}
