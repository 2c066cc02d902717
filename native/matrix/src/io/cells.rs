//! `row column value` lines: the text format, and MatrixMarket's coordinate format around it.

use std::fmt::Write;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::chunks::{chunks, split_first_line};
use crate::{CsrMatrix, JavaDouble, MatrixBlock, parse_double};

/// A cell from 0.
type Cell = (usize, usize, f64);

/// Parses text cells (rows and columns from 1, in any order) into a matrix of the given size. Of several
/// lines for one cell the last one counts.
///
/// # Errors
/// `data`, naming the line.
pub(super) fn parse_text(bytes: &[u8], rows: usize, cols: usize) -> Result<MatrixBlock> {
    let cells = parse_cells(bytes, rows, cols, false, 0)?;
    assemble(rows, cols, cells)
}

/// The header of a MatrixMarket file.
pub(super) struct MatrixMarket<'a> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) entries: usize,
    pattern: bool,
    symmetric: bool,
    body: &'a [u8],
    lines_before: usize,
}

impl<'a> MatrixMarket<'a> {
    /// # Errors
    /// `data` when it is no such file, `unsupported` for dense arrays, complex numbers and other symmetries.
    pub(super) fn parse_header(bytes: &'a [u8]) -> Result<Self> {
        let (banner, mut rest) = split_first_line(bytes);
        let banner = String::from_utf8_lossy(banner).to_ascii_lowercase();
        let words: Vec<&str> = banner.split_whitespace().collect();
        let ["%%matrixmarket", "matrix", "coordinate", field, symmetry] = words[..] else {
            return Err(match words[..] {
                ["%%matrixmarket", ..] => Error::unsupported(format!(
                    "MatrixMarket files are read as 'matrix coordinate', not '{}'",
                    banner.trim()
                )),
                _ => Error::data("the file does not begin with a MatrixMarket banner"),
            });
        };
        let pattern = match field {
            "real" | "integer" => false,
            "pattern" => true,
            _ => return Err(unsupported_word(field)),
        };
        let symmetric = match symmetry {
            "general" => false,
            "symmetric" => true,
            _ => return Err(unsupported_word(symmetry)),
        };
        let mut lines_before = 1;
        loop {
            if rest.is_empty() {
                return Err(Error::data(
                    "the MatrixMarket file has no line with its size",
                ));
            }
            let (line, after) = split_first_line(rest);
            rest = after;
            lines_before += 1;
            let line = String::from_utf8_lossy(line);
            if line.starts_with('%') || line.trim().is_empty() {
                continue;
            }
            let sizes: Vec<usize> = line
                .split_whitespace()
                .map_while(|word| word.parse().ok())
                .collect();
            let [rows, cols, entries] = sizes[..] else {
                return Err(Error::data(format!(
                    "line {lines_before}: '{}' is not 'rows columns entries'",
                    line.trim()
                )));
            };
            return Ok(MatrixMarket {
                rows,
                cols,
                entries,
                pattern,
                symmetric,
                body: rest,
                lines_before,
            });
        }
    }

    /// # Errors
    /// `data`, naming the line, or when there are more or fewer entries than announced.
    pub(super) fn parse(&self) -> Result<MatrixBlock> {
        let mut cells = parse_cells(
            self.body,
            self.rows,
            self.cols,
            self.pattern,
            self.lines_before,
        )?;
        if cells.len() != self.entries {
            return Err(Error::data(format!(
                "the MatrixMarket file announces {} entries and has {}",
                self.entries,
                cells.len()
            )));
        }
        if self.symmetric {
            let mirrored: Vec<Cell> = cells
                .iter()
                .filter(|(row, col, _)| row != col)
                .map(|(row, col, value)| (*col, *row, *value))
                .collect();
            if mirrored
                .iter()
                .any(|(row, col, _)| *row >= self.rows || *col >= self.cols)
            {
                return Err(Error::data("a symmetric MatrixMarket file must be square"));
            }
            cells.extend(mirrored);
        }
        assemble(self.rows, self.cols, cells)
    }
}

fn unsupported_word(word: &str) -> Error {
    Error::unsupported(format!("MatrixMarket files with '{word}' are not read"))
        .with_help("real, integer and pattern matrices are read, general or symmetric")
}

/// Cells of all lines; the placeholder line `0 0 0` of an empty matrix is skipped.
fn parse_cells(
    bytes: &[u8],
    rows: usize,
    cols: usize,
    pattern: bool,
    lines_before: usize,
) -> Result<Vec<Cell>> {
    let parts: Vec<(Vec<Cell>, usize, Option<String>)> = chunks(bytes)
        .into_par_iter()
        .map(|chunk| parse_chunk(chunk, rows, cols, pattern))
        .collect();
    let mut lines = lines_before;
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
fn parse_chunk(
    chunk: &[u8],
    rows: usize,
    cols: usize,
    pattern: bool,
) -> (Vec<Cell>, usize, Option<String>) {
    let mut cells = Vec::new();
    let mut lines = 0;
    let mut rest = chunk;
    while !rest.is_empty() {
        let (line, after) = split_first_line(rest);
        rest = after;
        lines += 1;
        let line = String::from_utf8_lossy(line);
        if line.trim().is_empty() || line.starts_with('%') {
            continue;
        }
        let mut words = line.split_whitespace();
        let mut index = || words.next().and_then(|word| word.parse::<usize>().ok());
        let (row, col) = (index(), index());
        let value = if pattern {
            Some(1.0)
        } else {
            words.next().and_then(parse_double)
        };
        let (Some(row), Some(col), Some(value), None) = (row, col, value, words.next()) else {
            let problem = format!("'{}' is not 'row column value'", line.trim());
            return (cells, lines, Some(problem));
        };
        if (row, col) == (0, 0) && value == 0.0 {
            continue;
        }
        if !(1..=rows).contains(&row) || !(1..=cols).contains(&col) {
            let problem = format!("cell ({row}, {col}) is outside the {rows} x {cols} matrix");
            return (cells, lines, Some(problem));
        }
        cells.push((row - 1, col - 1, value));
    }
    (cells, lines, None)
}

fn assemble(rows: usize, cols: usize, mut cells: Vec<Cell>) -> Result<MatrixBlock> {
    if i32::try_from(cols).is_err() {
        return Err(Error::unsupported(format!(
            "sparse files have at most {} columns, not {cols}",
            i32::MAX
        )));
    }
    cells.par_sort_by_key(|(row, col, _)| (*row, *col));
    let mut pointers = Vec::with_capacity(rows + 1);
    let (mut indices, mut values) = (Vec::with_capacity(cells.len()), Vec::new());
    pointers.push(0i64);
    for (at, (row, col, value)) in cells.iter().enumerate() {
        let repeated = cells
            .get(at + 1)
            .is_some_and(|(next_row, next_col, _)| (next_row, next_col) == (row, col));
        if repeated {
            continue;
        }
        while pointers.len() <= *row {
            pointers.push(values.len() as i64);
        }
        indices.push(*col as i32);
        values.push(*value);
    }
    pointers.resize(rows + 1, values.len() as i64);
    let csr = CsrMatrix::new(rows, cols, pointers, indices, values)?;
    Ok(MatrixBlock::Csr(csr).in_best_layout())
}

/// The lines of the non-zeros of rows `from..to`.
pub(super) fn format_rows(matrix: &MatrixBlock, rows: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    let mut line = |row: usize, col: usize, value: f64| {
        if value != 0.0 {
            // Writing to a string has no errors.
            let _ = writeln!(text, "{} {} {}", row + 1, col + 1, JavaDouble(value));
        }
    };
    for row in rows {
        match matrix {
            MatrixBlock::Dense(dense) => {
                for (col, value) in dense.row(row).iter().enumerate() {
                    line(row, col, *value);
                }
            }
            MatrixBlock::Csr(csr) => {
                let (indices, values) = csr.row(row);
                for (col, value) in indices.iter().zip(values) {
                    line(row, *col as usize, *value);
                }
            }
        }
    }
    text
}

/// Banner and size line.
pub(super) fn matrix_market_header(matrix: &MatrixBlock, nnz: usize) -> String {
    format!(
        "%%MatrixMarket matrix coordinate real general\n{} {} {nnz}\n",
        matrix.rows(),
        matrix.cols()
    )
}
