//! Comma-separated values: numbers and separators only, without quoting.

use std::fmt::Write;

use csv::ByteRecord;
use fulgurite_error::{Error, Result};

use super::{
    BadLine,
    chunks::{is_blank, lines, number, parsed, shown, stretches},
    records::{BlankLines, Records},
};
use crate::{JavaDouble, MatrixBlock, memory};

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
    let Some(cols) = options.cols.or_else(|| count_cells(bytes, options)) else {
        return Ok(CsvRows {
            matrix: MatrixBlock::dense(0, 0, Vec::new())?,
            empty_cells: 0,
        });
    };
    let blank = match cols {
        1 => BlankLines::Rows,
        _ => BlankLines::Skipped,
    };
    let parts: Vec<Part> = parsed(bytes, |chunk| parse_chunk(chunk, options, cols, blank))?;
    let (mut rows, mut empty_cells) = (0, 0);
    for part in &parts {
        empty_cells += part.empty_cells;
        if let Some(problem) = &part.problem {
            return Err(problem.at_row(first_row + rows + part.rows + 1));
        }
        rows += part.rows;
    }
    let values = match <[Part; 1]>::try_from(parts) {
        Ok([part]) => part.values,
        Err(parts) => {
            let mut values = memory::room(parts.iter().map(|part| part.values.len()).sum())?;
            for part in &parts {
                values.extend_from_slice(&part.values);
            }
            values
        }
    };
    Ok(CsvRows {
        matrix: MatrixBlock::dense(rows, cols, values)?,
        empty_cells,
    })
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
pub(super) fn count_cells(bytes: &[u8], options: &CsvOptions) -> Option<usize> {
    let mut records = Records::of(bytes, &options.separator, BlankLines::Skipped);
    let mut record = ByteRecord::new();
    while records.read(&mut record) {
        if !is_blank_row(&record) {
            return Some(record.len());
        }
    }
    None
}

/// A line that has separators has cells, even if these are whitespace.
fn is_blank_row(record: &ByteRecord) -> bool {
    record.len() == 1 && is_blank(&record[0])
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
    let (mut stripes, mut before, mut empty_cells) = (Vec::new(), 0, 0);
    for stretch in stretches(text, most_rows) {
        let part = parse_chunk(stretch, options, cols, blank)?;
        empty_cells += part.empty_cells;
        let lines_read = lines(&stretch[..part.read]).count();
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
            stripes.push(MatrixBlock::dense(part.rows, cols, part.values)?.in_best_layout()?);
        }
    }
    Ok(Ok((stripes, empty_cells)))
}

const HELP: &str = "correct the line, or name the right separator and header; texts for missing values are named by \
                    na.strings, in read() or in the .mtd file";

/// Rows of a chunk up to its end or its first problem.
struct Part {
    values: Vec<f64>,
    rows: usize,
    /// That became the default.
    empty_cells: usize,
    /// Bytes, with those of a problem's line.
    read: usize,
    problem: Option<Problem>,
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
                Error::data(format!("row {row}, column {col}: the cell is empty"))
                    .with_help("fill=TRUE takes empty cells for the default")
            }
            Problem::Cell { col, text } => Error::data(format!(
                "row {row}, column {col}: '{text}' is not a number"
            ))
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

fn parse_chunk(chunk: &[u8], options: &CsvOptions, cols: usize, blank: BlankLines) -> Result<Part> {
    let most_rows = memchr::memchr_iter(b'\n', chunk).count() + 1;
    let mut part = Part {
        // A cell takes a separator at least.
        values: memory::room(most_rows.saturating_mul(cols).min(chunk.len() + 1))?,
        rows: 0,
        empty_cells: 0,
        read: 0,
        problem: None,
    };
    let mut records = Records::of(chunk, &options.separator, blank);
    let mut record = ByteRecord::new();
    while part.problem.is_none() && records.read(&mut record) {
        if blank != BlankLines::Skipped || !is_blank_row(&record) {
            part.problem = part.push_row(&record, options, cols).err();
        }
    }
    part.read = records.bytes_read();
    Ok(part)
}

impl Part {
    fn push_row(
        &mut self,
        record: &ByteRecord,
        options: &CsvOptions,
        cols: usize,
    ) -> std::result::Result<(), Problem> {
        if record.len() != cols {
            return Err(Problem::Ragged {
                found: record.len(),
                expected: cols,
            });
        }
        let start = self.values.len();
        for (at, cell) in record.iter().enumerate() {
            let cell = cell.trim_ascii();
            let Some(value) = parse_cell(cell, options) else {
                self.values.truncate(start);
                return Err(Problem::Cell {
                    col: at + 1,
                    text: shown(cell),
                });
            };
            self.empty_cells += usize::from(cell.is_empty());
            self.values.push(value);
        }
        self.rows += 1;
        Ok(())
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

/// The lines of rows `from..to`; zeros are `0`, or empty with `sparse`.
pub(super) fn format_rows(
    matrix: &MatrixBlock,
    rows: std::ops::Range<usize>,
    separator: &str,
    sparse: bool,
) -> Result<String> {
    let stripe = matrix.slice_rows(rows.start, rows.end).to_dense()?;
    let mut text = String::new();
    for row in 0..stripe.rows() {
        for (col, cell) in stripe.row(row).iter().enumerate() {
            if col > 0 {
                text.push_str(separator);
            }
            if *cell != 0.0 {
                // Writing to a string has no errors.
                let _ = write!(text, "{}", JavaDouble(*cell));
            } else if !sparse {
                text.push('0');
            }
        }
        text.push('\n');
    }
    Ok(text)
}

/// `C1,C2,...`
pub(super) fn header_line(cols: usize, separator: &str) -> String {
    let names: Vec<String> = (1..=cols).map(|col| format!("C{col}")).collect();
    names.join(separator) + "\n"
}
