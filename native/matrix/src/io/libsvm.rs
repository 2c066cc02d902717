//! Lines `label index:value index:value ...`: the label becomes the last column, the features those before it.

use std::fmt::Write;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::{
    cells::for_each_non_zero,
    chunks::{chunks, split_first_line},
};
use crate::{CsrMatrix, JavaDouble, MatrixBlock, parse_double};

/// Rows of a chunk up to its end or its first problem.
#[derive(Default)]
struct Part {
    labels: Vec<f64>,
    /// Where each row's features end.
    ends: Vec<usize>,
    indices: Vec<i32>,
    values: Vec<f64>,
    lines: usize,
    /// Of the indices, from 1; zeros count.
    largest: i64,
    problem: Option<String>,
}

/// Parses whole lines on all threads. Blank lines, and what follows a `#`, are skipped.
///
/// `cols`, where it is known, counts the label; otherwise the largest index tells.
///
/// # Errors
/// `data`, naming the line, for what is no row, and for indices that do not ascend or are too large.
pub(super) fn parse(bytes: &[u8], cols: Option<usize>) -> Result<MatrixBlock> {
    let most = match cols {
        Some(0) => {
            return Err(Error::data(
                "a libsvm file has at least a column, of labels",
            ));
        }
        Some(cols) => i32::try_from(cols - 1).unwrap_or(i32::MAX - 1),
        None => i32::MAX - 1,
    };
    let parts: Vec<Part> = chunks(bytes)
        .into_par_iter()
        .map(|chunk| parse_chunk(chunk, most))
        .collect();
    let mut lines = 0;
    for part in &parts {
        lines += part.lines;
        if let Some(problem) = &part.problem {
            return Err(Error::data(format!("line {lines}: {problem}")).with_help(
                "a line is 'label index:value index:value ...', with indices from 1 that ascend",
            ));
        }
    }
    let rows: usize = parts.iter().map(|part| part.labels.len()).sum();
    if rows == 0 && cols.is_none() {
        return MatrixBlock::dense(0, 0, Vec::new());
    }
    let largest = parts.iter().map(|part| part.largest).max().unwrap_or(0);
    let cols = cols.unwrap_or(largest as usize + 1);
    let stored = parts.iter().map(|part| part.values.len()).sum::<usize>() + rows;
    let mut pointers = Vec::with_capacity(rows + 1);
    let (mut indices, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
    pointers.push(0i64);
    for part in parts {
        let mut from = 0;
        for (label, end) in part.labels.iter().zip(part.ends) {
            indices.extend_from_slice(&part.indices[from..end]);
            values.extend_from_slice(&part.values[from..end]);
            if *label != 0.0 {
                indices.push((cols - 1) as i32);
                values.push(*label);
            }
            pointers.push(values.len() as i64);
            from = end;
        }
    }
    let csr = CsrMatrix::new(rows, cols, pointers, indices, values)?;
    Ok(MatrixBlock::Csr(csr).in_best_layout())
}

fn parse_chunk(chunk: &[u8], most: i32) -> Part {
    let mut part = Part::default();
    let mut rest = chunk;
    while !rest.is_empty() && part.problem.is_none() {
        let (line, after) = split_first_line(rest);
        rest = after;
        part.lines += 1;
        let line = String::from_utf8_lossy(line);
        let line = line.split('#').next().unwrap_or_default();
        part.problem = part.push_row(line, most).err();
    }
    part
}

impl Part {
    fn push_row(&mut self, line: &str, most: i32) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let Some(label) = words.next() else {
            return Ok(());
        };
        let label =
            parse_double(label).ok_or_else(|| format!("the label '{label}' is not a number"))?;
        let mut before = 0;
        for word in words {
            let feature = word.split_once(':').and_then(|(index, value)| {
                Some((index.parse::<i64>().ok()?, parse_double(value)?))
            });
            let (index, value) = feature.ok_or_else(|| format!("'{word}' is not 'index:value'"))?;
            if index < 1 {
                return Err(format!("the index {index} is less than 1"));
            }
            if index <= before {
                return Err(format!("the index {index} comes after {before}"));
            }
            if index > i64::from(most) {
                return Err(format!("the index {index} is beyond the {most} features"));
            }
            before = index;
            self.largest = self.largest.max(index);
            if value != 0.0 {
                self.indices.push((index - 1) as i32);
                self.values.push(value);
            }
        }
        self.labels.push(label);
        self.ends.push(self.values.len());
        Ok(())
    }
}

/// The lines of rows `from..to`.
pub(super) fn format_rows(matrix: &MatrixBlock, rows: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    let label_at = matrix.cols().saturating_sub(1);
    for row in rows {
        let mut label = 0.0;
        let mut features = String::new();
        for_each_non_zero(matrix, row, |col, value| {
            if col == label_at {
                label = value;
            } else {
                // Writing to a string has no errors.
                let _ = write!(features, " {}:{}", col + 1, JavaDouble(value));
            }
        });
        let _ = writeln!(text, "{}{features}", JavaDouble(label));
    }
    text
}
