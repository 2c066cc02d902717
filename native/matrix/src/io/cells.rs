//! `row column value` lines: the text format, and MatrixMarket's coordinates.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    BadLine,
    chunks::{count_line_feeds, line_end, lines, parsed, shown, split_first_line, words},
    numbers::{leading_number, leading_whole, number, whole_number},
};
use crate::{
    CoordinateMatrix, Interrupt, JavaDouble, Layout, MatrixBlock,
    memory::{self, NewCells},
};

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

    /// The cell of a line that the text begins with, and its bytes. `None` where the line is not an ordinary one, or something is wrong with it:
    /// [`Self::parse_line`] says then what.
    #[inline]
    fn parse_plain(&self, text: &[u8]) -> Option<(Cell, usize)> {
        let blanks = |at: usize| {
            let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
            let count = text[at..].iter().take_while(is_blank).count();
            (count > 0).then_some(at + count)
        };
        let (row, at) = leading_whole(text)?;
        let at = blanks(at)?;
        let (col, bytes) = leading_whole(&text[at..])?;
        let (mut value, mut at) = (1.0, at + bytes);
        if !self.pattern {
            at = blanks(at)?;
            let (number, bytes) = leading_number(&text[at..])?;
            (value, at) = (number, at + bytes);
        }
        at += line_end(&text[at..])?;
        let is_within = self.rows.is_none_or(|rows| row <= rows)
            && self.cols.is_none_or(|cols| col <= cols)
            && !(self.symmetry == Symmetry::Skew && row == col);
        let cell = (row.checked_sub(1)?, col.checked_sub(1)?, value);
        is_within.then_some((cell, at))
    }

    /// The cells, the number of lines read, and what is wrong with the last one.
    fn parse_chunk(&self, chunk: &[u8]) -> Result<(Vec<Cell>, usize, Option<String>)> {
        let mut cells = memory::room(count_line_feeds(chunk))?;
        let mut read = 0;
        let mut rest = chunk;
        while !rest.is_empty() {
            read += 1;
            if let Some((cell, bytes)) = self.parse_plain(rest) {
                cells.push(cell);
                rest = &rest[bytes..];
                continue;
            }
            let (line, after) = split_first_line(rest);
            rest = after;
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
    /// The cells in pieces, in the order of lines.
    ///
    /// # Errors
    /// `data`, naming the line, for what is no cell of the matrix.
    pub(super) fn parse(&self) -> Result<Vec<Vec<Cell>>> {
        let parts: Vec<(Vec<Cell>, usize, Option<String>)> =
            parsed(self.bytes, |chunk| self.form.parse_chunk(chunk))?;
        let mut lines = self.lines_before;
        for (_, read, problem) in &parts {
            lines += read;
            if let Some(problem) = problem {
                return Err(Error::data(format!("line {lines}: {problem}")));
            }
        }
        Ok(parts.into_iter().map(|(cells, ..)| cells).collect())
    }

    /// # Errors
    /// `data`, naming both lines, where two are of one cell.
    pub(super) fn assemble(&self, mut parts: Vec<Vec<Cell>>) -> Result<MatrixBlock> {
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
        if !are_ascending(&parts) {
            parts = vec![self.sorted(parts)?];
        }
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        let count = lengths.iter().sum();
        let mut row_indices = NewCells::<i64>::new(count)?;
        let mut indices = NewCells::<i32>::new(count)?;
        let mut values = NewCells::<f64>::new(count)?;
        let places = row_indices.parts(lengths.iter().copied()).into_par_iter();
        let places = places.zip(indices.parts(lengths.iter().copied()));
        let places = places.zip(values.parts(lengths.iter().copied()));
        let nnz = places.zip(parts).map(|(((rows, cols), values), cells)| {
            let places = rows.cells().iter_mut().zip(cols.cells());
            let mut nnz = 0;
            for (((row, col), value), cell) in places.zip(values.cells()).zip(cells) {
                (*row, *col, *value) = (cell.0 as i64, cell.1 as i32, cell.2);
                nnz += usize::from(cell.2 != 0.0);
            }
            nnz
        });
        let nnz = nnz.sum();
        let (row_indices, indices) = (row_indices.finish(), indices.finish());
        let coordinates = CoordinateMatrix::new(rows, cols, row_indices, indices, values.finish())?;
        MatrixBlock::from(coordinates).in_layout(Layout::best(rows, cols, nnz))
    }

    /// All cells in the order of rows, then columns.
    fn sorted(&self, parts: Vec<Vec<Cell>>) -> Result<Vec<Cell>> {
        let mut cells = memory::room(parts.iter().map(Vec::len).sum())?;
        for part in parts {
            cells.extend(part);
        }
        Interrupt::unwinding(|interrupt| {
            cells.par_sort_unstable_by_key(interrupt.key(|(row, col, _): &Cell| (*row, *col)));
        })?;
        let repeated = cells
            .windows(2)
            .find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1));
        match repeated {
            Some([(row, col, _), ..]) => Err(self.repeated(*row, *col)),
            _ => Ok(cells),
        }
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

/// Whether cells are in the order of rows, then columns, and none stands twice.
fn are_ascending(parts: &[Vec<Cell>]) -> bool {
    let ends = parts.iter().flat_map(|part| [part.first(), part.last()]);
    let ends: Vec<&Cell> = ends.flatten().collect();
    let is_before = |one: &Cell, other: &Cell| (one.0, one.1) < (other.0, other.1);
    let pieces_are = ends[1.min(ends.len())..]
        .chunks_exact(2)
        .all(|pair| is_before(pair[0], pair[1]));
    let within = |part: &Vec<Cell>| part.is_sorted_by(is_before);
    pieces_are && parts.par_iter().all(within)
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

/// Appends the lines of the non-zeros of some rows of a matrix that begins after so many rows.
pub(super) fn format_rows(
    matrix: &MatrixBlock,
    before: u64,
    rows: Range<usize>,
    text: &mut Vec<u8>,
) {
    for row in rows {
        let number = before + row as u64 + 1;
        for_each_non_zero(matrix, row, |col, value| {
            append_line(number, col as u64 + 1, value, text);
        });
    }
}

fn append_line(row: u64, col: u64, value: f64, text: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    for place in [row, col] {
        text.extend_from_slice(digits.format(place).as_bytes());
        text.push(b' ');
    }
    JavaDouble(value).append_to(text);
    text.push(b'\n');
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
        MatrixBlock::Compressed(compressed) => {
            for col in 0..matrix.cols() {
                let value = compressed.cells().cell(row, col);
                if value != 0.0 {
                    each(col, value);
                }
            }
            return;
        }
    };
    for (col, value) in indices.iter().zip(values) {
        if *value != 0.0 {
            each(*col as usize, *value);
        }
    }
}

/// Appends the lines of the non-zeros among some stored cells of a matrix that begins after so many rows.
pub(super) fn format_coordinates(
    matrix: &CoordinateMatrix,
    before: u64,
    stored: Range<usize>,
    text: &mut Vec<u8>,
) {
    for at in stored {
        let (row, col) = (matrix.row_indices()[at], matrix.indices()[at]);
        let value = matrix.values()[at];
        if value != 0.0 {
            append_line(before + row as u64 + 1, col as u64 + 1, value, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_in_order_are_told_across_pieces() {
        let cell = |row, col| (row, col, 1.0);
        let sorted = [
            vec![],
            vec![cell(0, 1)],
            vec![],
            vec![cell(0, 2), cell(1, 0), cell(4, 4)],
            vec![cell(5, 0)],
        ];
        assert!(are_ascending(&[]) && are_ascending(&sorted));
        for (part, at, other) in [(1, 0, cell(0, 2)), (3, 1, cell(0, 0)), (4, 0, cell(4, 4))] {
            let mut parts = sorted.clone();
            parts[part][at] = other;
            assert!(!are_ascending(&parts), "{parts:?}");
        }
    }

    /// What is read cell by cell is what words are.
    #[test]
    fn ordinary_lines_are_what_any_line_is() {
        let forms = [false, true].map(|pattern| {
            [Symmetry::General, Symmetry::Skew].map(|symmetry| CellForm {
                pattern,
                symmetry,
                ..CellForm::plain(Some(9), Some(7))
            })
        });
        let lines = [
            "1 2 3.5",
            "9 7 -1e3",
            "1\t2 \t 0",
            "1 2",
            "5 5 1",
            "0 0 0",
            "10 1 1",
            "1 8 1",
            "0 1 1",
            "1 1 1 ",
            " 1 1 1",
            "1 1 x",
            "1 1 1 1",
            "+1 1 1",
            "1 1 1\r",
            "",
            "% 1 1 1",
            "1 1 inf",
        ];
        let mut plain = 0;
        for form in forms.as_flattened() {
            for line in lines {
                for end in ["", "\n", "\r\n", "\n2 2 2\n"] {
                    let text = format!("{line}{end}");
                    if let Some((cell, bytes)) = form.parse_plain(text.as_bytes()) {
                        let first = text.split_inclusive('\n').next().unwrap();
                        assert_eq!(first.len(), bytes, "{text:?}");
                        let words = form.parse_line(first.trim_end().as_bytes());
                        assert_eq!(words, Ok(Some(cell)), "{text:?}");
                        plain += 1;
                    }
                }
            }
        }
        assert!(plain > 30, "{plain}");
    }
}
