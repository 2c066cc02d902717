//! Comma-separated values: numbers and separators only, without quoting.

use std::fmt::Write;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::chunks::{chunks, split_first_line};
use crate::{JavaDouble, MatrixBlock, parse_double};

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

/// Parses whole lines of cells, on all threads; a header line is the caller's to take off. Blank lines are
/// skipped. The result is dense.
///
/// `first_row` is the number of rows before these lines: errors count from it.
///
/// # Errors
/// `data`, naming row and column (from 1) and the text, for a cell that is no number; naming row and both
/// counts, for a line with another number of cells.
pub fn parse_lines(bytes: &[u8], options: &CsvOptions, first_row: usize) -> Result<MatrixBlock> {
    if options.separator.is_empty() || options.separator.contains(['\n', '\r']) {
        return Err(Error::argument(format!(
            "cells cannot be separated by {:?}",
            options.separator
        )));
    }
    let Some(cols) = options.cols.or_else(|| count_cells(bytes, options)) else {
        return MatrixBlock::dense(0, 0, Vec::new());
    };
    let parts: Vec<Part> = chunks(bytes)
        .into_par_iter()
        .map(|chunk| parse_chunk(chunk, options, cols))
        .collect();
    let mut rows = 0;
    for part in &parts {
        if let Some(problem) = &part.problem {
            return Err(problem.at_row(first_row + rows + part.rows + 1));
        }
        rows += part.rows;
    }
    let values = match <[Part; 1]>::try_from(parts) {
        Ok([part]) => part.values,
        Err(parts) => parts
            .iter()
            .map(|part| part.values.as_slice())
            .collect::<Vec<_>>()
            .concat(),
    };
    MatrixBlock::dense(rows, cols, values)
}

/// Cells of the first line that is not blank.
fn count_cells(bytes: &[u8], options: &CsvOptions) -> Option<usize> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (line, after) = split_first_line(rest);
        if !line.trim_ascii().is_empty() {
            let line = String::from_utf8_lossy(line);
            return Some(line.split(&options.separator).count());
        }
        rest = after;
    }
    None
}

/// Rows of a chunk up to its end or its first problem.
struct Part {
    values: Vec<f64>,
    rows: usize,
    problem: Option<Problem>,
}

enum Problem {
    Cell { col: usize, text: String },
    Ragged { found: usize, expected: usize },
}

impl Problem {
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
                 values are listed in the .mtd file under na.strings",
            ),
            Problem::Ragged { found, expected } => {
                Error::data(format!("row {row} has {found} cells, not {expected}"))
            }
        }
    }
}

fn parse_chunk(chunk: &[u8], options: &CsvOptions, cols: usize) -> Part {
    let mut part = Part {
        values: Vec::with_capacity(chunk.len() / 4),
        rows: 0,
        problem: None,
    };
    if let [separator] = options.separator.as_bytes() {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .delimiter(*separator)
            .from_reader(chunk);
        let mut record = csv::ByteRecord::new();
        // Reading bytes of memory, flexibly, has no errors of its own.
        while let Ok(true) = reader.read_byte_record(&mut record) {
            if !part.push_row(record.iter(), options, cols) {
                break;
            }
        }
    } else {
        let separator = options.separator.as_bytes();
        for line in chunk.split(|byte| *byte == b'\n') {
            if !line.trim_ascii().is_empty()
                && !part.push_row(split(line, separator), options, cols)
            {
                break;
            }
        }
    }
    part
}

/// `line` at each `separator` of several bytes.
fn split<'a>(line: &'a [u8], separator: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let at = line
            .windows(separator.len())
            .position(|window| window == separator);
        let (cell, after) = match at {
            Some(at) => (&line[..at], Some(&line[at + separator.len()..])),
            None => (line, None),
        };
        rest = after;
        Some(cell)
    })
}

impl Part {
    /// False where the row is not one: what is wrong stands in `problem`.
    fn push_row<'a>(
        &mut self,
        cells: impl Iterator<Item = &'a [u8]>,
        options: &CsvOptions,
        cols: usize,
    ) -> bool {
        let start = self.values.len();
        let (mut count, mut problem, mut blank) = (0, None, true);
        for cell in cells {
            count += 1;
            let cell = cell.trim_ascii();
            blank &= cell.is_empty();
            match parse_cell(cell, options) {
                Some(value) => self.values.push(value),
                None if problem.is_none() => {
                    problem = Some(Problem::Cell {
                        col: count,
                        text: String::from_utf8_lossy(cell).into_owned(),
                    });
                }
                None => {}
            }
        }
        if count == 1 && blank {
            self.values.truncate(start);
            return true;
        }
        if count != cols {
            problem = Some(Problem::Ragged {
                found: count,
                expected: cols,
            });
        }
        if problem.is_some() {
            self.values.truncate(start);
            self.problem = problem;
            return false;
        }
        self.rows += 1;
        true
    }
}

fn parse_cell(cell: &[u8], options: &CsvOptions) -> Option<f64> {
    if cell.is_empty() {
        return options.fill.then_some(options.default);
    }
    let text = std::str::from_utf8(cell).ok()?;
    parse_double(text).or_else(|| {
        options
            .na_strings
            .iter()
            .any(|na| na == text)
            .then_some(f64::NAN)
    })
}

/// The lines of rows `from..to`; zeros are `0`, or empty with `sparse`.
pub(super) fn format_rows(
    matrix: &MatrixBlock,
    rows: std::ops::Range<usize>,
    separator: &str,
    sparse: bool,
) -> String {
    let stripe = matrix.slice_rows(rows.start, rows.end).to_dense();
    let mut text = String::with_capacity(stripe.values().len() * 8);
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
    text
}

/// `C1,C2,...`
pub(super) fn header_line(cols: usize, separator: &str) -> String {
    let names: Vec<String> = (1..=cols).map(|col| format!("C{col}")).collect();
    names.join(separator) + "\n"
}
