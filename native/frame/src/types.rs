//! Types of columns: found from their cells, given to them, and cells dropped that don't have them.

use fulgurite_error::{Error, Result};

use crate::{Cell, Column, ColumnType, Frame, column::boolean};

/// SystemDS writes it behind the type of a column with missing values, before an `n`, and between a category and its code.
pub(crate) const SEPARATOR: char = '\u{b7}';

impl Frame {
    /// The narrowest type of each column that all its cells have, as a frame of one row; `·n` follows where some are missing.
    ///
    /// # Errors
    /// `memory`.
    pub fn detect_schema(&self) -> Result<Frame> {
        let types: Vec<_> = self
            .columns()
            .iter()
            .map(|column| vec![Some(detected(column))])
            .collect();
        Frame::of_texts(&types, None)
    }

    /// The types that a frame of one row names, as [`Frame::detect_schema`] writes them.
    ///
    /// # Errors
    /// `dimension` when it has not one row; `data` where a cell names no type.
    pub fn read_schema(schema: &Frame) -> Result<Vec<ColumnType>> {
        if schema.rows() != 1 {
            return Err(Error::dimension(format!(
                "a schema is one row, not {}",
                schema.rows()
            )));
        }
        let names = (0..schema.cols()).map(|col| {
            let name = schema.cell(0, col).map(Cell::text).unwrap_or_default();
            ColumnType::parse(name.split(SEPARATOR).next().unwrap_or_default())
        });
        names.collect()
    }

    /// The same cells with these types.
    ///
    /// # Errors
    /// `dimension` when there is not one for each column; `data` where a cell is no value of its type.
    pub fn apply_schema(&self, schema: &[ColumnType]) -> Result<Frame> {
        self.check_schema(schema.len())?;
        self.map_columns(|col, column, name| column.cast(schema[col], name))
    }

    pub(crate) fn check_schema(&self, types: usize) -> Result<()> {
        match types == self.cols() {
            true => Ok(()),
            false => Err(Error::dimension(format!(
                "a schema of {types} types for a frame of {} columns",
                self.cols()
            ))),
        }
    }

    /// Without the cells whose own type is wider than that of the schema; the columns keep their types.
    ///
    /// # Errors
    /// `dimension` as [`Frame::apply_schema`]; `memory`.
    pub fn drop_invalid_type(&self, schema: &[ColumnType]) -> Result<Frame> {
        self.check_schema(schema.len())?;
        self.map_columns(|col, column, name| {
            let cells = column
                .cells()
                .map(|cell| cell.filter(|cell| fits(type_of(&cell.text()), schema[col])));
            Column::of_cells(column.column_type(), name, cells)
        })
    }

    /// Without the cells whose text is longer than the column's entry of `lengths`; a negative entry keeps all.
    ///
    /// # Errors
    /// `dimension` when there is not one for each column; `memory`.
    pub fn drop_invalid_length(&self, lengths: &[f64]) -> Result<Frame> {
        self.check_schema(lengths.len())?;
        self.map_columns(|col, column, name| {
            let most = lengths[col];
            let keeps =
                |cell: &Cell<'_>| most < 0.0 || cell.text().encode_utf16().count() as f64 <= most;
            Column::of_cells(
                column.column_type(),
                name,
                column.cells().map(|cell| cell.filter(keeps)),
            )
        })
    }
}

/// Floats have all whole numbers up to here.
const MOST_WHOLE_OF_FLOATS: f64 = 16_777_216.0;

fn detected(column: &Column) -> String {
    let mut widest = None;
    let mut is_exact = true;
    let mut is_missing = false;
    for cell in column.cells() {
        match cell {
            None => is_missing = true,
            Some(cell) => {
                let kind = type_of(&cell.text());
                let whole = cell
                    .number()
                    .filter(|_| rank(kind) <= rank(ColumnType::Int64));
                is_exact &= whole.is_none_or(|number| number.abs() <= MOST_WHOLE_OF_FLOATS);
                widest = Some(widest.map_or(kind, |widest| wider(widest, kind)));
            }
        }
    }
    let kind = match widest.unwrap_or(ColumnType::String) {
        ColumnType::Fp32 if !is_exact => ColumnType::Fp64,
        kind => kind,
    };
    match is_missing {
        true => format!("{kind}{SEPARATOR}n"),
        false => kind.to_string(),
    }
}

/// The narrowest type that a text is a value of.
pub(crate) fn type_of(text: &str) -> ColumnType {
    let text = text.trim();
    if boolean(text).is_some() {
        return ColumnType::Boolean;
    }
    if text.parse::<i32>().is_ok() {
        return ColumnType::Int32;
    }
    if text.parse::<i64>().is_ok() {
        return ColumnType::Int64;
    }
    match fulgurite_matrix::parse_double(text) {
        // A float has seven digits or so; what has more needs a double.
        Some(value) => {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            match digits <= 7 && (value as f32).is_finite() == value.is_finite() {
                true => ColumnType::Fp32,
                false => ColumnType::Fp64,
            }
        }
        None => ColumnType::String,
    }
}

fn rank(kind: ColumnType) -> usize {
    match kind {
        ColumnType::Boolean => 0,
        ColumnType::Int32 => 1,
        ColumnType::Int64 => 2,
        ColumnType::Fp32 => 3,
        ColumnType::Fp64 => 4,
        ColumnType::String => 5,
    }
}

fn wider(one: ColumnType, other: ColumnType) -> ColumnType {
    if one == other {
        return one;
    }
    match one == ColumnType::Boolean || other == ColumnType::Boolean {
        // Truth values are no numbers.
        true => ColumnType::String,
        false if rank(one) > rank(other) => one,
        false => other,
    }
}

pub(crate) fn fits(kind: ColumnType, within: ColumnType) -> bool {
    within == ColumnType::String
        || (kind == within)
        || (kind != ColumnType::Boolean && rank(kind) <= rank(within))
}
