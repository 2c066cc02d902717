//! Values as text.
//!
//! - `2.5`: a number,
//! - `1 2; 3 4`: a matrix with the rows `1 2` and `3 4`; a matrix of one cell ends in `;`,
//! - `cells(20, 5, 1)`: 20 x 5 cells between -2 and 2, a third of them 0; the last number is the seed,
//! - `whole(20, 5, 1)`: the same, rounded, so that sums are exact in any order,
//! - `special(20, 5, 1)`: as `cells`, with NaN, infinities and -0 among them,
//! - `sparse(20, 5, 1)`: as `whole`, without most of the cells.

use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;

/// What a variable holds.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Number(f64),
    Matrix(MatrixBlock),
}

impl Value {
    /// # Errors
    /// Argument, where the text is not understood.
    pub fn parse(text: &str) -> Result<Value> {
        let wrong = || {
            Error::argument(format!("the value '{text}' is not understood"))
                .with_help("give a number, rows as in '1 2; 3 4', or cells(rows, cols, seed)")
        };
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        if let Some((generator, arguments)) = text.split_once('(') {
            let arguments = arguments.strip_suffix(')').ok_or_else(wrong)?;
            let arguments = arguments
                .split(',')
                .map(|text| text.trim().parse::<usize>());
            let arguments: Vec<usize> = arguments.collect::<Result<_, _>>().map_err(|_| wrong())?;
            let [rows, cols, seed] = arguments[..] else {
                return Err(wrong());
            };
            let cells = cells(rows * cols, seed as u64);
            // Not -0, which sparse matrices do not keep.
            let whole = |cells: &[f64]| cells.iter().map(|cell| cell.round() + 0.0).collect();
            let cells = match generator {
                "cells" => cells,
                "whole" => whole(&cells),
                "special" => with_specials(cells),
                "sparse" => thinned(whole(&cells)),
                _ => return Err(wrong()),
            };
            return Ok(Value::Matrix(MatrixBlock::dense(rows, cols, cells)?));
        }
        if !text.contains([' ', ';']) {
            return Ok(Value::Number(number(text)?));
        }
        let rows = text.trim_end_matches(';').split(';');
        let rows = rows.map(|row| {
            row.split_whitespace()
                .map(number)
                .collect::<Result<Vec<_>>>()
        });
        let rows: Vec<Vec<f64>> = rows.collect::<Result<_>>()?;
        let cols = rows[0].len();
        if rows.iter().any(|row| row.len() != cols) {
            return Err(wrong());
        }
        let block = MatrixBlock::dense(rows.len(), cols, rows.concat())?;
        Ok(Value::Matrix(block))
    }

    /// `name = value`, with a line for each row of a matrix with several columns.
    pub fn named(&self, name: &str) -> String {
        match self {
            Value::Number(number) => format!("{name} = {}\n", text(*number)),
            Value::Matrix(matrix) => {
                let row = |row: usize| {
                    let cells = (0..matrix.cols()).map(|col| text(matrix.get(row, col)));
                    cells.collect::<Vec<_>>().join(" ")
                };
                let rows: Vec<String> = (0..matrix.rows()).map(row).collect();
                match matrix.cols() {
                    1 => format!("{name} = {};\n", rows.join("; ")),
                    _ => format!("{name} =\n  {};\n", rows.join(";\n  ")),
                }
            }
        }
    }

    pub fn shape(&self) -> Option<(usize, usize)> {
        match self {
            Value::Number(_) => None,
            Value::Matrix(matrix) => Some((matrix.rows(), matrix.cols())),
        }
    }

    /// Row by row.
    pub fn cells(&self) -> Result<Vec<f64>> {
        Ok(match self {
            Value::Number(number) => vec![*number],
            Value::Matrix(matrix) => matrix.to_dense()?.values().to_vec(),
        })
    }

    /// A number, or the one cell of a matrix.
    ///
    /// # Errors
    /// Internal, of a matrix with more cells.
    pub fn number(&self) -> Result<f64> {
        match (self, self.shape()) {
            (Value::Number(number), _) => Ok(*number),
            (Value::Matrix(matrix), Some((1, 1))) => Ok(matrix.get(0, 0)),
            (_, shape) => Err(Error::internal(format!("{shape:?} is no number"))),
        }
    }
}

fn text(number: f64) -> String {
    match number.abs() {
        0.0 => format!("{}", number + 0.0),
        size if (1e-5..1e15).contains(&size) || !number.is_finite() => format!("{number}"),
        _ => format!("{number:e}"),
    }
}

/// Cells between -2 and 2, a third of them 0.
fn cells(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut cell = || {
        let is_zero = next() % 3 == 0;
        let cell = (next() >> 11) as f64 / (1u64 << 51) as f64 - 2.0;
        if is_zero { 0.0 } else { cell }
    };
    (0..count).map(|_| cell()).collect()
}

/// Every seventh cell NaN, infinite or -0.
fn with_specials(mut cells: Vec<f64>) -> Vec<f64> {
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
    for (turn, cell) in cells.iter_mut().skip(3).step_by(7).enumerate() {
        *cell = specials[turn % specials.len()];
    }
    cells
}

/// Four cells in five zero.
fn thinned(mut cells: Vec<f64>) -> Vec<f64> {
    for (place, cell) in cells.iter_mut().enumerate() {
        if place % 5 != 2 {
            *cell = 0.0;
        }
    }
    cells
}
