//! Cells compared one by one.
//!
//! Rules are those of SystemDS 3.4. Where one side is text, both are compared as Java compares strings: `10` is below `9`.
//! Other cells are compared as numbers. A missing cell and one that is there give 0, whatever is asked;
//! two missing ones give 1, whatever is asked.

use std::cmp::Ordering;

use arrow::array::{Array, StringArray};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{DenseMatrix, Interrupt, MatrixBlock, memory};
use rayon::prelude::*;

use crate::{Cell, Column, ColumnType, Frame, column::ROWS_AT_ONCE};

/// What is asked of two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparison {
    /// The comparison that scripts write so.
    ///
    /// ```
    /// use fulgurite_frame::Comparison;
    /// assert_eq!(Comparison::parse("<="), Some(Comparison::LessEqual));
    /// ```
    pub fn parse(operator: &str) -> Option<Self> {
        Some(match operator {
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterEqual,
            _ => return None,
        })
    }

    /// None is the order of NaN and anything.
    pub(crate) fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Comparison::Equal => order == Some(Ordering::Equal),
            Comparison::NotEqual => order != Some(Ordering::Equal),
            Comparison::Less => order == Some(Ordering::Less),
            Comparison::LessEqual => order.is_some_and(Ordering::is_le),
            Comparison::Greater => order == Some(Ordering::Greater),
            Comparison::GreaterEqual => order.is_some_and(Ordering::is_ge),
        }
    }

    fn of_cells(self, left: Option<Cell<'_>>, right: Option<Cell<'_>>) -> bool {
        match (left, right) {
            (None, None) => true,
            (Some(left), Some(right)) => self.holds(order_of(left, right)),
            _ => false,
        }
    }
}

/// As Java compares strings: by units of UTF-16.
///
/// That is the order of UTF-8, but characters of two units are below those from U+E000 on.
pub(crate) fn java_order(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let differ = left.iter().zip(right).find(|(left, right)| left != right);
    match differ {
        None => left.len().cmp(&right.len()),
        Some((0xEE..=0xEF, 0xF0..)) => Ordering::Greater,
        Some((0xF0.., 0xEE..=0xEF)) => Ordering::Less,
        Some((left, right)) => left.cmp(right),
    }
}

/// Java's hash of a string.
pub(crate) fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

fn order_of(left: Cell<'_>, right: Cell<'_>) -> Option<Ordering> {
    match (left, right) {
        (Cell::Text(_), _) | (_, Cell::Text(_)) => Some(java_order(&left.text(), &right.text())),
        (Cell::Int(left), Cell::Int(right)) => Some(left.cmp(&right)),
        _ => left.number()?.partial_cmp(&right.number()?),
    }
}

impl Frame {
    /// 1 where a cell and that of the other frame compare so, else 0.
    ///
    /// # Errors
    /// `dimension` when the frames differ in rows or columns; `memory`.
    ///
    /// ```
    /// use fulgurite_frame::{Comparison, csv::{self, CsvFormat}};
    /// let frame = csv::read("a,1\nb,\n".as_bytes(), &CsvFormat::default(), None)?;
    /// let equal = frame.compare(Comparison::Equal, &frame)?;
    /// assert_eq!(equal.nnz(), 4);
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    pub fn compare(&self, op: Comparison, other: &Frame) -> Result<MatrixBlock> {
        if (self.rows(), self.cols()) != (other.rows(), other.cols()) {
            return Err(Error::dimension(format!(
                "a {} x {} frame is compared with a {} x {} frame",
                self.rows(),
                self.cols(),
                other.rows(),
                other.cols()
            )));
        }
        self.truth(|col, column, row| op.of_cells(column.cell(row), other.columns()[col].cell(row)))
    }

    /// 1 where a cell and this one compare so, else 0.
    ///
    /// # Errors
    /// `memory`.
    pub fn compare_cell(&self, op: Comparison, cell: Cell<'_>) -> Result<MatrixBlock> {
        // Each distinct text is compared once.
        let by_code = self.columns().iter().map(|column| match column {
            Column::Coded(coded) => match coded.values().as_any().downcast_ref::<StringArray>() {
                Some(texts) => memory::collected((0..texts.len()).map(|code| {
                    let text = (!texts.is_null(code)).then(|| Cell::Text(texts.value(code)));
                    op.of_cells(text, Some(cell))
                })),
                None => Ok(Vec::new()),
            },
            _ => Ok(Vec::new()),
        });
        let by_code = by_code.collect::<Result<Vec<_>>>()?;
        self.truth(|col, column, row| match column {
            Column::Coded(coded) => {
                !coded.is_null(row) && by_code[col][coded.keys().value(row) as usize]
            }
            _ => op.of_cells(column.cell(row), Some(cell)),
        })
    }

    /// 1 where a cell is missing or NaN, else 0.
    ///
    /// # Errors
    /// `memory`.
    pub fn is_missing(&self) -> Result<MatrixBlock> {
        self.truth(|_, column, row| match column {
            Column::Fp32(numbers) => numbers.is_null(row) || numbers.value(row).is_nan(),
            Column::Fp64(numbers) => numbers.is_null(row) || numbers.value(row).is_nan(),
            _ => column.cell(row).is_none(),
        })
    }

    /// A frame of truth values, as SystemDS has them for comparisons of frames.
    ///
    /// # Errors
    /// `memory`.
    pub fn of_truth(matrix: &MatrixBlock) -> Result<Frame> {
        let numbers = Frame::from_matrix(matrix)?;
        numbers.map_columns(|_, column, name| column.cast(ColumnType::Boolean, name))
    }

    /// The matrix of what holds at column and row.
    fn truth(&self, holds: impl Fn(usize, &Column, usize) -> bool + Sync) -> Result<MatrixBlock> {
        let (rows, cols) = (self.rows(), self.cols());
        memory::cells(rows, cols)?;
        let interrupt = Interrupt::current();
        let columns = self.columns().par_iter().enumerate().map(|(col, column)| {
            let mut held = memory::room(rows)?;
            for row in 0..rows {
                if row % ROWS_AT_ONCE == 0 {
                    interrupt.check()?;
                }
                held.push(holds(col, column, row));
            }
            Ok(held)
        });
        let columns = columns.collect::<Result<Vec<Vec<bool>>>>()?;
        let cells = DenseMatrix::from_fn(rows, cols, |row, col| {
            f64::from(u8::from(columns[col][row]))
        })?;
        MatrixBlock::Dense(cells).in_best_layout()
    }
}
