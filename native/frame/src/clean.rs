//! Cells replaced, empty rows and columns left out, cells of a row put into their columns.

use arrow::array::{ArrayRef, UInt64Array};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, MatrixBlock, memory, parse_double};

use crate::{
    Cell, Column, ColumnType, Frame,
    column::{ROWS_AT_ONCE, boolean, push},
    frame::default_names,
};

impl Frame {
    /// With the cells that are `pattern` replaced.
    ///
    /// A cell is the pattern when their texts are the same, or both are the same truth value or number with a fraction.
    /// As in SystemDS, `2` is not the `2.0` of a column of type FP64. The empty pattern is a missing cell, and so is NaN in columns
    /// of numbers.
    ///
    /// # Errors
    /// `data` with the column where the replacement is no value of its type; `memory`.
    ///
    /// ```
    /// use fulgurite_frame::{Cell, csv::{self, CsvFormat}};
    /// let frame = csv::read("a,1\n,2\n".as_bytes(), &CsvFormat::default(), None)?;
    /// let filled = frame.replace("", "none")?;
    /// assert_eq!(filled.cell(1, 0), Some(Cell::Text("none")));
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    pub fn replace(&self, pattern: &str, replacement: &str) -> Result<Frame> {
        let pattern = Pattern::new(pattern);
        self.map_columns(|_, column, name| {
            let first = column.cells().position(|cell| pattern.is(cell, column));
            let Some(first) = first else {
                return Ok(column.clone());
            };
            let kind = column.column_type();
            let value = value_of(kind, replacement).ok_or_else(|| {
                Error::data(format!(
                    "row {}, column '{name}': the replacement '{replacement}' is no {kind}",
                    first + 1
                ))
            })?;
            let cells = column.cells().map(|cell| {
                if pattern.is(cell, column) {
                    value
                } else {
                    cell
                }
            });
            Column::of_cells(kind, name, cells)
        })
    }

    /// Without the rows (or columns) whose cells are all empty, or only those that `select` has a number other than 0 for.
    ///
    /// Empty are missing cells, 0, `false`, the text `0` and the empty text.
    ///
    /// # Errors
    /// `dimension` when `select` is not a vector with a number for each row (or column); `memory`.
    pub fn remove_empty(&self, by_rows: bool, select: Option<&MatrixBlock>) -> Result<Frame> {
        let interrupt = Interrupt::current();
        let len = if by_rows { self.rows() } else { self.cols() };
        let mut keeps = memory::filled(len, false)?;
        match select {
            Some(select) => {
                let expected = if by_rows { (len, 1) } else { (1, len) };
                if (select.rows(), select.cols()) != expected {
                    return Err(Error::dimension(format!(
                        "select is {} x {}, not {} x {}",
                        select.rows(),
                        select.cols(),
                        expected.0,
                        expected.1
                    )));
                }
                select.for_each_stored(|row, col, value| keeps[row.max(col)] = value != 0.0);
            }
            None => {
                for (col, column) in self.columns().iter().enumerate() {
                    for row in 0..self.rows() {
                        if row % ROWS_AT_ONCE == 0 {
                            interrupt.check()?;
                        }
                        let at = if by_rows { row } else { col };
                        if !keeps[at] && !is_empty(column.cell(row)) {
                            keeps[at] = true;
                        }
                    }
                }
            }
        }
        let mut kept = Vec::new();
        for at in (0..len).filter(|at| keeps[*at]) {
            push(&mut kept, at)?;
        }
        match by_rows {
            true if kept.len() == len => Ok(self.clone()),
            true => self.take(&kept),
            false => {
                let columns = kept.iter().map(|col| self.columns()[*col].clone());
                let names = kept.iter().map(|col| self.names()[*col].clone());
                Frame::new(columns.collect(), Some(names.collect()))
            }
        }
    }

    /// What SystemDS returns for an empty result (`empty.return=TRUE`): one row of the same columns with an empty cell each.
    ///
    /// # Errors
    /// `memory`.
    pub fn one_empty_row(&self) -> Result<Frame> {
        self.map_columns(|_, column, name| {
            let kind = column.column_type();
            let cell = match kind {
                ColumnType::String => None,
                ColumnType::Boolean => Some(Cell::Boolean(false)),
                _ => Some(Cell::Int(0)),
            };
            Column::of_cells(kind, name, std::iter::once(cell))
        })
    }

    /// The same for columns: one of text with as many missing cells as this frame has rows.
    ///
    /// # Errors
    /// `memory`.
    pub fn one_empty_column(&self) -> Result<Frame> {
        let cells = std::iter::repeat_n(None, self.rows());
        let column = Column::of_cells(ColumnType::String, "C1", cells)?;
        Frame::new(vec![column], Some(default_names(1)))
    }

    /// Rows by their numbers, in that order.
    ///
    /// # Errors
    /// `dimension` for a row that the frame does not have; `memory`.
    pub fn take(&self, rows: &[usize]) -> Result<Frame> {
        if let Some(beyond) = rows.iter().find(|row| **row >= self.rows()) {
            return Err(Error::dimension(format!(
                "row {} is not within the {} of the frame",
                beyond.saturating_add(1),
                self.rows()
            )));
        }
        let interrupt = Interrupt::current();
        let places = UInt64Array::from(memory::collected(rows.iter().map(|row| *row as u64))?);
        self.map_columns(|_, column, name| {
            interrupt.check()?;
            let bytes = match column {
                Column::Text(texts) => rows
                    .iter()
                    .map(|row| texts.value_length(*row) as usize)
                    .sum(),
                _ => 0_usize,
            };
            if i32::try_from(bytes).is_err() {
                let cells = rows.iter().map(|row| column.cell(*row));
                return Column::of_cells(column.column_type(), name, cells);
            }
            memory::admit(rows.len().saturating_mul(9).saturating_add(bytes))?;
            let taken: ArrayRef = arrow::compute::take(column.array(), &places, None)
                .map_err(|error| Error::internal(format!("rows can't be taken: {error}")))?;
            Column::from_array(&taken)
        })
    }

    /// With cells that do not fit the type of their column exchanged with others of their row.
    ///
    /// A cell that does not fit goes to the first column that it fits and whose own cell fits here;
    /// where there is none, to the first misfit's that comes here rightly. What fits nowhere stays.
    /// All columns become text.
    ///
    /// # Errors
    /// `dimension` when there is not a type for each column; `memory`.
    pub fn value_swap(&self, schema: &[ColumnType]) -> Result<Frame> {
        self.check_schema(schema.len())?;
        let interrupt = Interrupt::current();
        let cols = self.cols();
        let mut places: Vec<Vec<u32>> = Vec::new();
        for _ in 0..cols {
            places.push(memory::room(self.rows())?);
        }
        let mut row_types = memory::filled(cols, None)?;
        let mut order: Vec<usize> = memory::collected(0..cols)?;
        for row in 0..self.rows() {
            if row % ROWS_AT_ONCE == 0 {
                interrupt.check()?;
            }
            for (col, column) in self.columns().iter().enumerate() {
                row_types[col] = column
                    .cell(row)
                    .map(|cell| crate::types::type_of(&cell.text()));
                order[col] = col;
            }
            // A missing cell fits everywhere. Numbers are text too, but don't go to a column of text when they have one of their own.
            let fits = |kind: Option<ColumnType>, col: usize| {
                kind.is_none_or(|kind| crate::types::fits(kind, schema[col]))
            };
            for col in 0..cols {
                if fits(row_types[order[col]], col) {
                    continue;
                }
                let others = || (0..cols).filter(|other| *other != col);
                let both = others().find(|other| {
                    fits(row_types[order[*other]], col) && fits(row_types[order[col]], *other)
                });
                let half = || {
                    others().find(|other| {
                        let kind = row_types[order[*other]];
                        fits(kind, col) && !fits(kind, *other)
                    })
                };
                if let Some(other) = both.or_else(half) {
                    order.swap(col, other);
                }
            }
            for (col, places) in places.iter_mut().enumerate() {
                // A frame has fewer columns than that.
                places.push(order[col] as u32);
            }
        }
        self.map_columns(|col, _, name| {
            let cells = places[col].iter().enumerate();
            let cells = cells.map(|(row, from)| self.columns()[*from as usize].cell(row));
            Column::of_cells(ColumnType::String, name, cells)
        })
    }
}

fn is_empty(cell: Option<Cell<'_>>) -> bool {
    match cell {
        None => true,
        Some(Cell::Text(text)) => text.is_empty() || text == "0",
        Some(Cell::Boolean(value)) => !value,
        Some(Cell::Int(value)) => value == 0,
        Some(Cell::Fp32(value)) => value == 0.0,
        Some(Cell::Fp64(value)) => value == 0.0,
    }
}

struct Pattern<'a> {
    text: &'a str,
    boolean: Option<bool>,
    whole: Option<i64>,
    /// Not of a whole number.
    number: Option<f64>,
}

impl<'a> Pattern<'a> {
    fn new(text: &'a str) -> Self {
        let trimmed = text.trim();
        let whole = trimmed.parse().ok();
        Pattern {
            text,
            boolean: boolean(trimmed),
            whole,
            number: parse_double(trimmed).filter(|_| whole.is_none()),
        }
    }

    fn is(&self, cell: Option<Cell<'_>>, column: &Column) -> bool {
        let same = |value: f64| {
            let number = self.number;
            number.is_some_and(|number| number == value || (number.is_nan() && value.is_nan()))
        };
        match cell {
            None => {
                let is_number = !matches!(
                    column,
                    Column::Text(_) | Column::Coded(_) | Column::Boolean(_)
                );
                self.text.is_empty() || (is_number && same(f64::NAN))
            }
            Some(Cell::Text(text)) => {
                text == self.text || (self.boolean.is_some() && boolean(text) == self.boolean)
            }
            Some(Cell::Boolean(value)) => self.boolean == Some(value),
            Some(Cell::Int(value)) => self.whole == Some(value),
            Some(Cell::Fp64(value)) => same(value),
            Some(Cell::Fp32(value)) => {
                same(f64::from(value)) || self.number.is_some_and(|number| number as f32 == value)
            }
        }
    }
}

/// The cell that a text is in a column of this type, if it is one.
fn value_of(kind: ColumnType, text: &str) -> Option<Option<Cell<'_>>> {
    let trimmed = text.trim();
    let is_missing = || trimmed.is_empty() || trimmed == "NaN";
    let cell = match kind {
        ColumnType::String => Some(Cell::Text(text)),
        ColumnType::Boolean => boolean(trimmed).map(Cell::Boolean),
        ColumnType::Int32 => trimmed
            .parse::<i32>()
            .ok()
            .map(|value| Cell::Int(value.into())),
        ColumnType::Int64 => trimmed.parse().ok().map(Cell::Int),
        ColumnType::Fp32 | ColumnType::Fp64 => parse_double(trimmed).map(Cell::Fp64),
    };
    match cell {
        Some(cell) => Some(Some(cell)),
        None => is_missing().then_some(None),
    }
}
