//! MatrixMarket files: coordinates and arrays, real, integer and pattern, with the symmetries of real matrices.

use fulgurite_error::{Error, Result};
use rayon::prelude::*;
use serde::Serialize;

use super::{
    BadLine, Symmetry,
    cells::{Cell, CellForm, CellLines},
    chunks::{lines, parsed, shown, split_first_line, words},
    numbers::number,
};
use crate::{DenseMatrix, MatrixBlock, memory};

/// A MatrixMarket file of which the header has been read.
#[derive(Debug)]
pub(super) struct MatrixMarket<'a> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    layout: Layout,
    symmetry: Symmetry,
    body: &'a [u8],
    lines_before: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Lines of row, column and, unless it is a pattern, value.
    Coordinates { entries: usize, pattern: bool },
    /// Values, column by column.
    Array,
}

impl<'a> MatrixMarket<'a> {
    /// # Errors
    /// `data` when it is no such file, `unsupported` for complex numbers and hermitian matrices.
    pub(super) fn parse_header(bytes: &'a [u8]) -> Result<Self> {
        let (banner, mut rest) = split_first_line(bytes);
        let banner = String::from_utf8_lossy(banner).to_ascii_lowercase();
        let words: Vec<&str> = banner.split_whitespace().collect();
        let ["%%matrixmarket", "matrix", layout, field, symmetry] = words[..] else {
            return Err(Error::data(
                "line 1: the file does not begin with '%%MatrixMarket matrix LAYOUT FIELD SYMMETRY'",
            ));
        };
        let pattern = match field {
            "real" | "integer" | "double" => false,
            "pattern" => true,
            _ => return Err(unsupported_word(field)),
        };
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "skew-symmetric" => Symmetry::Skew,
            _ => return Err(unsupported_word(symmetry)),
        };
        let mut lines_before = 1;
        let sizes: Vec<usize> = loop {
            if rest.is_empty() {
                return Err(Error::data(
                    "the MatrixMarket file has no line with its size",
                ));
            }
            let (line, after) = split_first_line(rest);
            rest = after;
            lines_before += 1;
            let line = String::from_utf8_lossy(line);
            if line.trim_start().starts_with('%') || line.trim().is_empty() {
                continue;
            }
            let words = line.split_whitespace();
            break words.map_while(|word| word.parse().ok()).collect();
        };
        let (rows, cols, layout) = match (layout, pattern, &sizes[..]) {
            ("coordinate", _, [rows, cols, entries]) => {
                let entries = *entries;
                (*rows, *cols, Layout::Coordinates { entries, pattern })
            }
            ("array", false, [rows, cols]) => (*rows, *cols, Layout::Array),
            ("coordinate" | "array", ..) => {
                let wanted = match layout {
                    "array" if pattern => {
                        return Err(Error::data("line 1: an array has no pattern"));
                    }
                    "array" => "rows columns",
                    _ => "rows columns entries",
                };
                return Err(Error::data(format!(
                    "line {lines_before}: this is not '{wanted}'"
                )));
            }
            _ => return Err(unsupported_word(layout)),
        };
        if i64::try_from(rows).is_err() || i64::try_from(cols).is_err() {
            return Err(Error::data(format!(
                "line {lines_before}: no matrix has {rows} rows and {cols} columns"
            )));
        }
        if let Layout::Coordinates { entries, .. } = layout
            && entries as u128 > rows as u128 * cols as u128
        {
            return Err(Error::data(format!(
                "line {lines_before}: {entries} entries are more than a {rows} x {cols} matrix has cells"
            )));
        }
        if symmetry != Symmetry::General && rows != cols {
            return Err(Error::data(format!(
                "line {lines_before}: a symmetric matrix is square, not {rows} x {cols}"
            )));
        }
        Ok(MatrixMarket {
            rows,
            cols,
            layout,
            symmetry,
            body: rest,
            lines_before,
        })
    }

    /// As many non-zeros as there can be; an array may have as many as cells.
    pub(super) fn most_non_zeros(&self) -> Option<usize> {
        let cells = self.rows.saturating_mul(self.cols);
        match self.layout {
            Layout::Array => None,
            Layout::Coordinates { entries, .. } if self.symmetry == Symmetry::General => {
                Some(entries.min(cells))
            }
            Layout::Coordinates { entries, .. } => Some(entries.saturating_mul(2).min(cells)),
        }
    }

    /// # Errors
    /// `data`, naming the line, or when there are more or fewer entries than announced.
    pub(super) fn parse(&self) -> Result<MatrixBlock> {
        match self.layout {
            Layout::Coordinates { entries, pattern } => self.parse_coordinates(entries, pattern),
            Layout::Array => self.parse_array(),
        }
    }

    fn parse_coordinates(&self, entries: usize, pattern: bool) -> Result<MatrixBlock> {
        let lines = CellLines {
            bytes: self.body,
            rows: self.rows,
            cols: self.cols,
            form: CellForm {
                pattern,
                symmetry: self.symmetry,
                ..CellForm::plain(Some(self.rows), Some(self.cols))
            },
            lines_before: self.lines_before,
        };
        let mut parts = lines.parse()?;
        // A matrix without non-zeros may have the placeholder instead of lines.
        let found = parts.iter().map(Vec::len).sum();
        if found != entries {
            return Err(wrong_number(entries as u128, found));
        }
        if self.symmetry != Symmetry::General {
            let across = |part: &Vec<Cell>| -> Vec<Cell> {
                let others = part.iter().filter(|(row, col, _)| row != col);
                others
                    .map(|(row, col, value)| (*col, *row, self.across(*value)))
                    .collect()
            };
            let mirrored: Vec<Vec<Cell>> = parts.par_iter().map(across).collect();
            parts.extend(mirrored);
        }
        lines.assemble(parts)
    }

    /// What stands across the diagonal.
    fn across(&self, value: f64) -> f64 {
        match self.symmetry {
            Symmetry::Skew => -value,
            _ => value,
        }
    }

    fn values_of_array(&self) -> u128 {
        let (rows, cols) = (self.rows as u128, self.cols as u128);
        // Sizes are less than 2^63.
        match self.symmetry {
            Symmetry::General => rows * cols,
            Symmetry::Symmetric => rows * (rows + 1) / 2,
            Symmetry::Skew => rows * rows.saturating_sub(1) / 2,
        }
    }

    fn parse_array(&self) -> Result<MatrixBlock> {
        let parts: Vec<(Vec<f64>, usize, Option<String>)> =
            parsed(self.body, |chunk| Ok(parse_values(chunk)))?;
        let mut lines = self.lines_before;
        let mut values = memory::room(parts.iter().map(|(values, ..)| values.len()).sum())?;
        for (part, read, problem) in parts {
            lines += read;
            if let Some(text) = problem {
                return Err(Error::data(format!(
                    "line {lines}: '{text}' is not a number"
                )));
            }
            values.extend(part);
        }
        let first_row = |col: usize| match self.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric => col,
            Symmetry::Skew => col + 1,
        };
        let announced = self.values_of_array();
        if values.len() as u128 != announced {
            return Err(wrong_number(announced, values.len()));
        }
        // There are about as many cells as values, which are here; without any, columns need not be gone through.
        let count = self.rows as u128 * self.cols as u128;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut cells = memory::zeros(count)?;
        let mut next = values.into_iter();
        let cols = if count == 0 { 0 } else { self.cols };
        for col in 0..cols {
            for (row, value) in (first_row(col)..self.rows).zip(&mut next) {
                if self.symmetry != Symmetry::General {
                    cells[col * self.cols + row] = self.across(value);
                }
                cells[row * self.cols + col] = value;
            }
        }
        let dense = DenseMatrix::new(self.rows, self.cols, cells)?;
        MatrixBlock::Dense(dense).in_best_layout()
    }
}

/// The values, the number of lines read, and what in the last one is no number.
fn parse_values(chunk: &[u8]) -> (Vec<f64>, usize, Option<String>) {
    let mut values = Vec::new();
    let mut read = 0;
    for line in lines(chunk) {
        read += 1;
        if line.trim_ascii_start().starts_with(b"%") {
            continue;
        }
        for word in words(line) {
            match number(word) {
                Some(value) => values.push(value),
                None => return (values, read, Some(shown(word))),
            }
        }
    }
    (values, read, None)
}

/// Parses whole lines of an array on this thread: a column of their values; none where there are none.
///
/// # Errors
/// What is wrong with a line is the result.
pub(super) fn parse_column(text: &[u8]) -> Result<Result<Vec<MatrixBlock>, BadLine>> {
    let (values, read, problem) = parse_values(text);
    if let Some(word) = problem {
        let reason = format!("'{word}' is not a number");
        let help = "the lines of an array have the values, column by column";
        return Ok(Err(BadLine::of(text, 0, read, reason, help)));
    }
    if values.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    Ok(Ok(vec![MatrixBlock::dense(values.len(), 1, values)?]))
}

/// What a file says before its cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatrixMarketHeader {
    pub rows: u64,
    pub cols: u64,
    /// Lines of cells, or values.
    pub entries: u64,
    /// Values column by column, without their places.
    pub array: bool,
    pub pattern: bool,
    pub symmetry: Symmetry,
    /// It ends after so many.
    pub bytes: u64,
}

/// Reads the header of a file from its first bytes.
///
/// # Errors
/// As [`MatrixMarket::parse_header`]; `data` where no file could have so many values.
pub(super) fn header_of(head: &[u8]) -> Result<MatrixMarketHeader> {
    let file = MatrixMarket::parse_header(head)?;
    let (entries, pattern) = match file.layout {
        Layout::Coordinates { entries, pattern } => (entries as u64, pattern),
        Layout::Array => {
            let entries = u64::try_from(file.values_of_array()).map_err(|_| {
                Error::data(format!(
                    "line {}: no file has the values of a {} x {} matrix",
                    file.lines_before, file.rows, file.cols
                ))
            })?;
            (entries, false)
        }
    };
    Ok(MatrixMarketHeader {
        rows: file.rows as u64,
        cols: file.cols as u64,
        entries,
        array: file.layout == Layout::Array,
        pattern,
        symmetry: file.symmetry,
        bytes: (head.len() - file.body.len()) as u64,
    })
}

fn wrong_number(announced: u128, found: usize) -> Error {
    Error::data(format!(
        "the MatrixMarket file announces {announced} entries and has {found}"
    ))
}

fn unsupported_word(word: &str) -> Error {
    Error::unsupported(format!("MatrixMarket files with '{word}' are not read")).with_help(
        "coordinate and array files are read, real, integer and pattern ones, general, symmetric and skew-symmetric ones",
    )
}

/// Banner and size line of what [`super::write()`] writes.
pub(super) fn header(rows: usize, cols: usize, nnz: usize) -> String {
    format!("%%MatrixMarket matrix coordinate real general\n{rows} {cols} {nnz}\n")
}
