//! A column, its cells, and how text becomes one.

use std::{borrow::Cow, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int32Array,
        Int64Array, StringArray,
    },
    buffer::{NullBuffer, OffsetBuffer},
    datatypes::Int32Type,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, java_double, memory, parse_double};
use rustc_hash::FxHashMap;

use crate::ColumnType;

/// Rows between two looks at the interrupt flag.
pub(crate) const ROWS_AT_ONCE: usize = 1 << 16;

/// The values of a column; a null is a missing value.
#[derive(Debug, Clone)]
pub enum Column {
    Text(StringArray),
    /// Text by codes of its distinct values.
    Coded(DictionaryArray<Int32Type>),
    Boolean(BooleanArray),
    Int32(Int32Array),
    Int64(Int64Array),
    Fp32(Float32Array),
    Fp64(Float64Array),
}

/// A value that is not missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    Text(&'a str),
    Boolean(bool),
    Int(i64),
    Fp32(f32),
    Fp64(f64),
}

impl<'a> Cell<'a> {
    /// As Java prints it.
    pub fn text(self) -> Cow<'a, str> {
        match self {
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Boolean(true) => Cow::Borrowed("true"),
            Cell::Boolean(false) => Cow::Borrowed("false"),
            Cell::Int(value) => Cow::Owned(value.to_string()),
            // The digits of a float, in the notation of a double.
            Cell::Fp32(value) => Cow::Owned(match value.to_string().parse::<f64>() {
                Ok(digits) if digits.is_finite() => java_double(digits),
                _ => java_double(f64::from(value)),
            }),
            Cell::Fp64(value) => Cow::Owned(java_double(value)),
        }
    }

    /// As a number; `true` is 1. None for text that is no number.
    pub fn number(self) -> Option<f64> {
        match self {
            Cell::Text(text) => number(text),
            Cell::Boolean(value) => Some(f64::from(u8::from(value))),
            Cell::Int(value) => Some(value as f64),
            Cell::Fp32(value) => Some(f64::from(value)),
            Cell::Fp64(value) => Some(value),
        }
    }
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    parse_double(text).or_else(|| boolean(text).map(|value| f64::from(u8::from(value))))
}

pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

impl Column {
    pub fn column_type(&self) -> ColumnType {
        match self {
            Column::Text(_) | Column::Coded(_) => ColumnType::String,
            Column::Boolean(_) => ColumnType::Boolean,
            Column::Int32(_) => ColumnType::Int32,
            Column::Int64(_) => ColumnType::Int64,
            Column::Fp32(_) => ColumnType::Fp32,
            Column::Fp64(_) => ColumnType::Fp64,
        }
    }

    /// The Arrow array.
    pub fn array(&self) -> &dyn Array {
        match self {
            Column::Text(array) => array,
            Column::Coded(array) => array,
            Column::Boolean(array) => array,
            Column::Int32(array) => array,
            Column::Int64(array) => array,
            Column::Fp32(array) => array,
            Column::Fp64(array) => array,
        }
    }

    /// The column of an Arrow array.
    ///
    /// # Errors
    /// `unsupported` when columns have no such type, `data` for a dictionary shorter than its codes.
    pub fn from_array(array: &ArrayRef) -> Result<Self> {
        fn of<A: Array + Clone + 'static>(
            array: &ArrayRef,
            column: impl Fn(A) -> Column,
        ) -> Option<Column> {
            array.as_any().downcast_ref::<A>().cloned().map(column)
        }
        if let Some(coded) = array.as_any().downcast_ref::<DictionaryArray<Int32Type>>()
            && coded.values().as_any().is::<StringArray>()
        {
            let codes = coded.to_data().validate_values();
            codes.map_err(|error| {
                Error::data(format!("a dictionary does not fit its codes: {error}"))
            })?;
            return Ok(Column::Coded(coded.clone()));
        }
        of(array, Column::Text)
            .or_else(|| of(array, Column::Boolean))
            .or_else(|| of(array, Column::Int32))
            .or_else(|| of(array, Column::Int64))
            .or_else(|| of(array, Column::Fp32))
            .or_else(|| of(array, Column::Fp64))
            .ok_or_else(|| {
                Error::unsupported(format!(
                    "frames have no columns of the Arrow type {}",
                    array.data_type()
                ))
            })
    }

    pub fn len(&self) -> usize {
        self.array().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the buffers.
    pub fn memory_bytes(&self) -> usize {
        self.array().get_buffer_memory_size()
    }

    /// The value of a row, or none where it is missing. There are [`Column::len`] rows.
    pub fn cell(&self, row: usize) -> Option<Cell<'_>> {
        if self.array().is_null(row) {
            return None;
        }
        Some(match self {
            Column::Text(array) => Cell::Text(array.value(row)),
            Column::Coded(array) => {
                let values = array.values().as_any().downcast_ref::<StringArray>()?;
                let code = usize::try_from(array.keys().value(row)).ok()?;
                if values.is_null(code) {
                    return None;
                }
                Cell::Text(values.value(code))
            }
            Column::Boolean(array) => Cell::Boolean(array.value(row)),
            Column::Int32(array) => Cell::Int(i64::from(array.value(row))),
            Column::Int64(array) => Cell::Int(array.value(row)),
            Column::Fp32(array) => Cell::Fp32(array.value(row)),
            Column::Fp64(array) => Cell::Fp64(array.value(row)),
        })
    }

    /// All cells, in the order of rows.
    pub fn cells(&self) -> impl Iterator<Item = Option<Cell<'_>>> {
        (0..self.len()).map(|row| self.cell(row))
    }

    /// Rows `from..to`, sharing the buffers.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        let len = to - from;
        match self {
            Column::Text(array) => Column::Text(array.slice(from, len)),
            Column::Coded(array) => Column::Coded(array.slice(from, len)),
            Column::Boolean(array) => Column::Boolean(array.slice(from, len)),
            Column::Int32(array) => Column::Int32(array.slice(from, len)),
            Column::Int64(array) => Column::Int64(array.slice(from, len)),
            Column::Fp32(array) => Column::Fp32(array.slice(from, len)),
            Column::Fp64(array) => Column::Fp64(array.slice(from, len)),
        }
    }

    /// A column of this type with the values of cells.
    ///
    /// # Errors
    /// `data`, with the row and the name of the column, where a cell is no value of the type; `memory`.
    pub fn of_cells<'a>(
        to: ColumnType,
        name: &str,
        cells: impl Iterator<Item = Option<Cell<'a>>>,
    ) -> Result<Self> {
        let interrupt = Interrupt::current();
        let cells = cells.enumerate().map(|(row, cell)| {
            if row % ROWS_AT_ONCE == 0 {
                interrupt.check()?;
            }
            Ok((row, cell))
        });
        let refused = |row: usize, cell: Cell<'_>| not_a(to, row, name, &cell.text());
        // A cell of text without a character is a missing number.
        fn present(cell: Option<Cell<'_>>) -> Option<Cell<'_>> {
            cell.filter(|cell| !matches!(cell, Cell::Text(text) if text.trim().is_empty()))
        }
        macro_rules! column {
            ($kind:ident, $array:ty, $convert:expr) => {{
                let mut values = Vec::new();
                for cell in cells {
                    let (row, cell) = cell?;
                    let value = match present(cell) {
                        Some(cell) => {
                            let convert: fn(Cell<'_>) -> Option<_> = $convert;
                            Some(convert(cell).ok_or_else(|| refused(row, cell))?)
                        }
                        None => None,
                    };
                    push(&mut values, value)?;
                }
                Ok(Column::$kind(<$array>::from(values)))
            }};
        }
        match to {
            ColumnType::String => {
                let mut builder = TextBuilder::default();
                for cell in cells {
                    builder.push(cell?.1.map(Cell::text).as_deref())?;
                }
                builder.finish()
            }
            ColumnType::Boolean => column!(Boolean, BooleanArray, |cell| match cell {
                Cell::Text(text) => boolean(text.trim()).or_else(|| number(text).map(|n| n != 0.0)),
                cell => cell.number().map(|value| value != 0.0),
            }),
            ColumnType::Int32 => {
                column!(Int32, Int32Array, |cell| i32::try_from(whole(cell)?).ok())
            }
            ColumnType::Int64 => column!(Int64, Int64Array, whole),
            ColumnType::Fp32 => column!(Fp32, Float32Array, |cell| Some(cell.number()? as f32)),
            ColumnType::Fp64 => column!(Fp64, Float64Array, |cell| cell.number()),
        }
    }

    /// The same values as another type.
    ///
    /// # Errors
    /// As [`Column::of_cells`].
    pub fn cast(&self, to: ColumnType, name: &str) -> Result<Self> {
        match self.column_type() == to {
            true => Ok(self.clone()),
            false => Column::of_cells(to, name, self.cells()),
        }
    }
}

/// A whole number: of a number with a fraction, what is before its point.
fn whole(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Int(value) => Some(value),
        Cell::Text(text) if text.trim().parse::<i64>().is_ok() => text.trim().parse().ok(),
        cell => {
            let value = cell.number()?.trunc();
            // The first double above all of `i64`.
            let above = 2.0_f64.powi(63);
            (-above..above).contains(&value).then_some(value as i64)
        }
    }
}

pub(crate) fn not_a(to: ColumnType, row: usize, name: &str, text: &str) -> Error {
    let text: String = text.chars().take(60).collect();
    Error::data(format!(
        "row {}, column '{name}': '{text}' is no {to}",
        row + 1
    ))
}

/// Adds a value, in room that grows by doubling.
pub(crate) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        memory::reserve(values, values.len().max(16))?;
    }
    values.push(value);
    Ok(())
}

/// Builds a column of text, value by value.
///
/// ```
/// let mut builder = fulgurite_frame::TextBuilder::default();
/// for text in [Some("a"), None, Some("a")] {
///     builder.push(text)?;
/// }
/// assert_eq!(builder.finish()?.len(), 3);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
#[derive(Default)]
pub struct TextBuilder {
    /// -1 where the value is missing.
    codes: Vec<i32>,
    distinct: FxHashMap<Arc<str>, i32>,
    /// By code.
    values: Vec<Arc<str>>,
    distinct_bytes: usize,
    bytes: usize,
}

impl TextBuilder {
    /// # Errors
    /// `memory`; `unsupported` for more distinct values than a dictionary holds.
    pub fn push(&mut self, text: Option<&str>) -> Result<()> {
        let Some(text) = text else {
            return push(&mut self.codes, -1);
        };
        self.bytes = self.bytes.saturating_add(text.len());
        if let Some(code) = self.distinct.get(text) {
            return push(&mut self.codes, *code);
        }
        let code = i32::try_from(self.values.len())
            .map_err(|_| Error::unsupported("a column has at most 2^31 distinct texts"))?;
        if text.len() > 1 << 12 || self.values.len().is_power_of_two() {
            // The map doubles here: two pointers and a code for each value.
            memory::admit(
                text.len()
                    .saturating_add(self.values.len().saturating_mul(48)),
            )?;
        }
        let text: Arc<str> = text.into();
        self.distinct_bytes += text.len();
        self.distinct.insert(text.clone(), code);
        push(&mut self.values, text)?;
        push(&mut self.codes, code)
    }

    /// # Errors
    /// `memory`; `unsupported` for more text than an Arrow array holds.
    pub fn finish(self) -> Result<Column> {
        let codes_bytes = self
            .values
            .len()
            .saturating_mul(4)
            .saturating_add(self.distinct_bytes);
        let nulls = self.codes.iter().map(|code| *code >= 0);
        let nulls = self
            .codes
            .contains(&-1)
            .then(|| NullBuffer::from_iter(nulls));
        if codes_bytes >= self.bytes && i32::try_from(self.bytes).is_ok() {
            let texts = self.codes.iter().map(|code| {
                let code = usize::try_from(*code).ok();
                code.map_or("", |code| &*self.values[code])
            });
            return Ok(Column::Text(string_array(
                texts,
                self.codes.len(),
                self.bytes,
                nulls,
            )?));
        }
        let values = self.values.iter().map(|text| &**text);
        let values = string_array(values, self.values.len(), self.distinct_bytes, None)?;
        let mut codes = self.codes;
        for code in &mut codes {
            *code = (*code).max(0);
        }
        let keys = Int32Array::try_new(codes.into(), nulls).map_err(inconsistent)?;
        let coded = DictionaryArray::try_new(keys, Arc::new(values)).map_err(inconsistent)?;
        Ok(Column::Coded(coded))
    }
}

fn inconsistent(error: arrow::error::ArrowError) -> Error {
    Error::internal(format!("a column is inconsistent: {error}"))
}

fn string_array<'a>(
    texts: impl Iterator<Item = &'a str>,
    len: usize,
    bytes: usize,
    nulls: Option<NullBuffer>,
) -> Result<StringArray> {
    if i32::try_from(bytes).is_err() {
        return Err(Error::unsupported(format!(
            "{bytes} bytes of distinct text in a column; at most 2^31 are supported"
        )));
    }
    let mut offsets = memory::room::<i32>(len + 1)?;
    let mut data = memory::room::<u8>(bytes)?;
    offsets.push(0);
    for text in texts {
        data.extend_from_slice(text.as_bytes());
        offsets.push(data.len() as i32);
    }
    StringArray::try_new(OffsetBuffer::new(offsets.into()), data.into(), nulls)
        .map_err(inconsistent)
}
