//! Comma-separated values: numbers and separators only, without quoting.

use fulgurite_error::{Code, Error, Result};
use memchr::memchr3;
use rayon::prelude::*;

use super::{
    BadLine,
    chunks::{chunks, count_line_feeds, count_lines, line_end, shown, stretches},
    numbers::{leading_number, number},
    records::{BlankLines, RowLines, cells},
};
use crate::{Interrupt, JavaDouble, Layout, MatrixBlock, memory};

/// How cells are separated and what empty ones mean.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvOptions {
    /// One or more characters, taken as they are.
    pub separator: String,
    /// The first line names the columns.
    pub header: bool,
    /// Empty cells are `default`; otherwise they are errors.
    pub fill: bool,
    pub default: f64,
    /// Texts that stand for NaN.
    pub na_strings: Vec<String>,
    /// The number of columns, where it is known.
    pub cols: Option<usize>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions {
            separator: ",".into(),
            header: false,
            fill: true,
            default: 0.0,
            na_strings: Vec::new(),
            cols: None,
        }
    }
}

/// What lines of cells are.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvRows {
    /// Dense.
    pub matrix: MatrixBlock,
    pub nnz: usize,
    /// Cells that were empty and became the default.
    pub empty_cells: usize,
}

/// Parses whole lines of cells, on all threads; a header line is the caller's to take off. Blank lines are
/// skipped, unless there is one column: then they are rows whose cell is empty.
///
/// `first_row` is the number of rows before these lines: errors count from it.
///
/// # Errors
/// `data`, naming row and column (from 1) and the text, for a cell that is no number; naming row and both
/// counts, for a line with another number of cells.
pub fn parse_lines(bytes: &[u8], options: &CsvOptions, first_row: usize) -> Result<CsvRows> {
    check(options)?;
    let cols = match options.cols {
        Some(cols) => Some(cols),
        None => count_cells(bytes, options)?,
    };
    let Some(cols) = cols else {
        return Ok(CsvRows {
            matrix: MatrixBlock::dense(0, 0, Vec::new())?,
            nnz: 0,
            empty_cells: 0,
        });
    };
    let blank = match cols {
        1 => BlankLines::Rows,
        _ => BlankLines::Skipped,
    };
    let form = RowForm::of(options, cols, blank);
    let pieces = chunks(bytes);
    // Almost all lines end with a line feed. Where some do not, rows find no room, and lines are counted in earnest.
    for count in [count_line_feeds, count_lines] {
        if let Some(rows) = form.parse_pieces(&pieces, count, first_row)? {
            return Ok(rows);
        }
    }
    Err(Error::internal("a csv file has more rows than lines"))
}

/// What a reader is told of so many empty cells, unless the call or the metadata say what such cells are.
pub fn of_empty_cells(count: usize) -> String {
    format!("{count} empty cells are read as 0; default=NaN makes them NaN, fill=FALSE an error")
}

/// # Errors
/// `argument` where cells cannot be separated so.
fn check(options: &CsvOptions) -> Result<()> {
    if options.separator.is_empty() || options.separator.contains(['\n', '\r']) {
        return Err(Error::argument(format!(
            "cells cannot be separated by {:?}",
            options.separator
        )));
    }
    Ok(())
}

/// Cells of the first line that is not blank.
///
/// # Errors
/// `argument` for the options.
pub(super) fn count_cells(bytes: &[u8], options: &CsvOptions) -> Result<Option<usize>> {
    check(options)?;
    let separator = &options.separator;
    let mut lines = RowLines::of(bytes, separator, BlankLines::Skipped);
    Ok(lines.next().map(|line| cells(line, separator).count()))
}

/// Parses whole lines on this thread into matrices of at most `most_rows` rows, each in the layout that suits it;
/// without rows there are none. Also gives how many empty cells became the default.
///
/// # Errors
/// `argument` for the options; what is wrong with a line is the result.
pub(super) fn parse_stripes(
    text: &[u8],
    options: &CsvOptions,
    cols: usize,
    most_rows: usize,
) -> Result<Result<(Vec<MatrixBlock>, usize), BadLine>> {
    check(options)?;
    let blank = match cols {
        1 => BlankLines::RowsButMarks,
        _ => BlankLines::Skipped,
    };
    let form = RowForm::of(options, cols, blank);
    let (mut stripes, mut before, mut empty_cells) = (Vec::new(), 0, 0);
    for stretch in stretches(text, most_rows) {
        let mut values = memory::zeros(form.most_cells(stretch, count_lines(stretch)))?;
        let part = form.parse(stretch, &mut values);
        empty_cells += part.empty_cells;
        let lines_read = count_lines(&stretch[..part.read]);
        if let Some(problem) = part.problem {
            return Ok(Err(BadLine::of(
                stretch,
                before,
                lines_read,
                problem.reason(),
                HELP,
            )));
        }
        before += lines_read;
        if part.rows > 0 {
            values.truncate(part.rows * cols);
            let layout = Layout::best(part.rows, cols, part.nnz);
            stripes.push(MatrixBlock::dense(part.rows, cols, values)?.in_layout(layout)?);
        }
    }
    Ok(Ok((stripes, empty_cells)))
}

const HELP: &str = "correct the line, or name the right separator and header; texts for missing values are named by \
                    na.strings, in read() or in the .mtd file";

/// What a text has, up to its end or its first problem.
#[derive(Default)]
struct Part {
    rows: usize,
    nnz: usize,
    /// That became the default.
    empty_cells: usize,
    /// Bytes, with those of a problem's line.
    read: usize,
    problem: Option<Problem>,
    /// There was no room for a row.
    is_cut_off: bool,
}

enum Problem {
    Cell { col: usize, text: String },
    Ragged { found: usize, expected: usize },
}

impl Problem {
    fn reason(&self) -> String {
        match self {
            Problem::Cell { col, text } if text.is_empty() => {
                format!("the cell in column {col} is empty")
            }
            Problem::Cell { col, text } => format!("'{text}' in column {col} is not a number"),
            Problem::Ragged { found, expected } => format!("it has {found} values, not {expected}"),
        }
    }

    fn at_row(&self, row: usize) -> Error {
        match self {
            Problem::Cell { col, text } if text.is_empty() => {
                Error::data(format!("row {row}, column {col}: the cell is empty")).with_code(Code::BadCell)
                    .with_help("fill=TRUE takes empty cells for the default")
            }
            Problem::Cell { col, text } => Error::data(format!(
                "row {row}, column {col}: '{text}' is not a number"
            )).with_code(Code::BadCell)
            .with_help(
                "a header line needs header=TRUE; other separators are set with sep; texts for missing \
                 values are named by na.strings, in read() or in the .mtd file",
            ),
            Problem::Ragged { found, expected } => {
                Error::data(format!("row {row} has {found} cells, not {expected}"))
            }
        }
    }
}

/// How lines become rows.
struct RowForm<'a> {
    options: &'a CsvOptions,
    cols: usize,
    blank: BlankLines,
    /// The separator, if it is a byte that no number has.
    byte: Option<u8>,
}

impl<'a> RowForm<'a> {
    fn of(options: &'a CsvOptions, cols: usize, blank: BlankLines) -> Self {
        let is_of_numbers =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let byte = match options.separator.as_bytes() {
            [byte] if !is_of_numbers(*byte) => Some(*byte),
            _ => None,
        };
        RowForm {
            options,
            cols,
            blank,
            byte,
        }
    }

    /// The most cells that a text of so many lines has: each takes a byte at least, but for the last.
    fn most_cells(&self, text: &[u8], lines: usize) -> usize {
        lines.saturating_mul(self.cols).min(text.len() + 1)
    }

    /// Parses pieces of whole lines on all threads, each into its part of the matrix. `count` says how many lines a piece has;
    /// `None` where it has more.
    fn parse_pieces(
        &self,
        pieces: &[&[u8]],
        count: fn(&[u8]) -> usize,
        first_row: usize,
    ) -> Result<Option<CsvRows>> {
        let interrupt = Interrupt::current();
        let lengths = pieces.par_iter().map(|piece| {
            interrupt.check()?;
            Ok(self.most_cells(piece, count(piece)))
        });
        let lengths = lengths.collect::<Result<Vec<usize>>>()?;
        let mut output = memory::NewCells::new(lengths.iter().sum())?;
        let places = output.parts(lengths.iter().copied()).into_par_iter();
        let parts = places.zip(pieces).map(|(place, piece)| {
            interrupt.check()?;
            Ok(self.parse(piece, place.cells()))
        });
        let parts = parts.collect::<Result<Vec<Part>>>()?;
        let mut rows = 0;
        for part in &parts {
            if let Some(problem) = &part.problem {
                return Err(problem.at_row(first_row + rows + part.rows + 1));
            }
            if part.is_cut_off {
                return Ok(None);
            }
            rows += part.rows;
        }
        // Lines without rows leave gaps.
        let mut values = output.finish();
        let (mut start, mut end) = (0, 0);
        for (part, length) in parts.iter().zip(&lengths) {
            let found = part.rows * self.cols;
            if start != end {
                values.copy_within(start..start + found, end);
            }
            start += length;
            end += found;
        }
        if end < values.len() {
            values.truncate(end);
            values.shrink_to_fit();
        }
        Ok(Some(CsvRows {
            matrix: MatrixBlock::dense(rows, self.cols, values)?,
            nnz: parts.iter().map(|part| part.nnz).sum(),
            empty_cells: parts.iter().map(|part| part.empty_cells).sum(),
        }))
    }

    /// Parses whole lines into the first cells of `out`.
    fn parse(&self, text: &[u8], out: &mut [f64]) -> Part {
        let mut part = Part::default();
        let mut lines = RowLines::of(text, &self.options.separator, self.blank);
        loop {
            let start = part.rows * self.cols;
            let mut place = out.get_mut(start..start + self.cols);
            if let Some(row) = &mut place
                && let Some((bytes, empty_cells)) = self.parse_plain(lines.rest(), row)
            {
                lines.pass(bytes);
                part.empty_cells += empty_cells;
                part.rows += 1;
                continue;
            }
            let Some(line) = lines.next() else { break };
            match self.parse_line(line, place) {
                Ok(Some(empty_cells)) => part.empty_cells += empty_cells,
                Ok(None) => part.is_cut_off = true,
                Err(problem) => part.problem = Some(problem),
            }
            if part.is_cut_off || part.problem.is_some() {
                break;
            }
            part.rows += 1;
        }
        let cells = &out[..part.rows * self.cols];
        part.nnz = cells.iter().filter(|cell| **cell != 0.0).count();
        part.read = text.len() - lines.rest().len();
        part
    }

    /// Parses a row that the text begins with, cell by cell, without a look for its end first; gives its bytes, with the line end, and how many
    /// cells are empty. `None` where the row is not an ordinary one, for [`Self::parse_line`].
    fn parse_plain(&self, text: &[u8], row: &mut [f64]) -> Option<(usize, usize)> {
        let separator = self.byte?;
        let last = row.len().checked_sub(1)?;
        let (mut at, mut empty_cells) = (0, 0);
        for (col, out) in row.iter_mut().enumerate() {
            let rest = &text[at..];
            let end_bytes = |end: usize| match col < last {
                true => (rest.get(end) == Some(&separator)).then_some(1),
                false => line_end(&rest[end..]),
            };
            if let Some((value, end)) = leading_number(rest)
                && let Some(bytes) = end_bytes(end)
            {
                *out = value;
                at += end + bytes;
                continue;
            }
            let end = memchr3(separator, b'\n', b'\r', rest).unwrap_or(rest.len());
            let cell = rest[..end].trim_ascii();
            // A blank line, which may be no row.
            if cell.is_empty() && last == 0 {
                return None;
            }
            at += end + end_bytes(end)?;
            empty_cells += usize::from(cell.is_empty());
            *out = parse_cell(cell, self.options)?;
        }
        Some((at, empty_cells))
    }

    /// Parses any row; gives how many cells are empty. `None` where there is no room for a row.
    fn parse_line(
        &self,
        line: &[u8],
        row: Option<&mut [f64]>,
    ) -> std::result::Result<Option<usize>, Problem> {
        let separator = &self.options.separator;
        let found = cells(line, separator).count();
        if found != self.cols {
            return Err(Problem::Ragged {
                found,
                expected: self.cols,
            });
        }
        let Some(row) = row else {
            return Ok(None);
        };
        let mut empty_cells = 0;
        for (at, (cell, out)) in cells(line, separator).zip(row).enumerate() {
            let cell = cell.trim_ascii();
            *out = parse_cell(cell, self.options).ok_or_else(|| Problem::Cell {
                col: at + 1,
                text: shown(cell),
            })?;
            empty_cells += usize::from(cell.is_empty());
        }
        Ok(Some(empty_cells))
    }
}

fn parse_cell(cell: &[u8], options: &CsvOptions) -> Option<f64> {
    if cell.is_empty() {
        return options.fill.then_some(options.default);
    }
    number(cell).or_else(|| {
        let is_missing = options.na_strings.iter().any(|na| na.as_bytes() == cell);
        is_missing.then_some(f64::NAN)
    })
}

/// Appends the lines of some rows; zeros are `0`, or empty with `sparse`.
pub(super) fn format_rows(
    matrix: &MatrixBlock,
    rows: std::ops::Range<usize>,
    separator: &str,
    sparse: bool,
    text: &mut Vec<u8>,
) -> Result<()> {
    let stripe = matrix.slice_rows(rows.start, rows.end).to_dense()?;
    for row in 0..stripe.rows() {
        for (col, cell) in stripe.row(row).iter().enumerate() {
            if col > 0 {
                text.extend_from_slice(separator.as_bytes());
            }
            if *cell != 0.0 {
                JavaDouble(*cell).append_to(text);
            } else if !sparse {
                text.push(b'0');
            }
        }
        text.push(b'\n');
    }
    Ok(())
}

/// `C1,C2,...`
pub(super) fn header_line(cols: usize, separator: &str) -> String {
    let names: Vec<String> = (1..=cols).map(|col| format!("C{col}")).collect();
    names.join(separator) + "\n"
}
