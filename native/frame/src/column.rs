//! A column, its cells, and how text becomes one.

use std::{borrow::Cow, ops::Range, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, Float32Array,
        Float64Array, Int32Array, Int64Array, PrimitiveArray, StringArray,
    },
    buffer::{BooleanBuffer, NullBuffer, OffsetBuffer},
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
            ColumnType::Boolean => column!(Boolean, BooleanArray, as_boolean),
            ColumnType::Int32 => column!(Int32, Int32Array, as_int32),
            ColumnType::Int64 => column!(Int64, Int64Array, as_int64),
            ColumnType::Fp32 => column!(Fp32, Float32Array, as_fp32),
            ColumnType::Fp64 => column!(Fp64, Float64Array, as_fp64),
        }
    }

    /// The column with one value in some rows, if that takes no more than a copy of the buffers: of numbers, and of texts that the
    /// dictionary has. None for a value that is not of the type as it is.
    ///
    /// # Errors
    /// `memory`.
    pub(crate) fn with_values(
        &self,
        rows: Range<usize>,
        value: Option<Cell<'_>>,
    ) -> Result<Option<Self>> {
        fn written<T: ArrowPrimitiveType>(
            array: &PrimitiveArray<T>,
            rows: Range<usize>,
            value: Option<T::Native>,
        ) -> Result<PrimitiveArray<T>> {
            let mut values = memory::room(array.len())?;
            values.extend_from_slice(array.values());
            values[rows.clone()].fill(value.unwrap_or_default());
            let is_present = |row: usize| match rows.contains(&row) {
                true => value.is_some(),
                false => array.is_valid(row),
            };
            let nulls = (value.is_none() || array.null_count() > 0)
                .then(|| NullBuffer::new(BooleanBuffer::collect_bool(array.len(), is_present)));
            PrimitiveArray::try_new(values.into(), nulls).map_err(inconsistent)
        }
        Ok(Some(match (self, value) {
            (Column::Int64(array), Some(Cell::Int(value))) => {
                Column::Int64(written(array, rows, Some(value))?)
            }
            (Column::Int64(array), None) => Column::Int64(written(array, rows, None)?),
            (Column::Int32(array), None) => Column::Int32(written(array, rows, None)?),
            (Column::Fp64(array), Some(Cell::Fp64(value))) => {
                Column::Fp64(written(array, rows, Some(value))?)
            }
            (Column::Fp64(array), None) => Column::Fp64(written(array, rows, None)?),
            (Column::Fp32(array), None) => Column::Fp32(written(array, rows, None)?),
            (Column::Coded(array), value) => {
                let code = match value {
                    None => None,
                    Some(Cell::Text(text)) => {
                        let values = array.values().as_any().downcast_ref::<StringArray>();
                        let code = values
                            .into_iter()
                            .flatten()
                            .position(|known| known == Some(text));
                        let Some(code) = code else { return Ok(None) };
                        i32::try_from(code).ok()
                    }
                    Some(_) => return Ok(None),
                };
                let keys = written(array.keys(), rows, code)?;
                let coded = DictionaryArray::try_new(keys, array.values().clone());
                Column::Coded(coded.map_err(inconsistent)?)
            }
            _ => return Ok(None),
        }))
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

pub(crate) fn as_boolean(cell: Cell<'_>) -> Option<bool> {
    match cell {
        Cell::Text(text) => boolean(text.trim()).or_else(|| number(text).map(|n| n != 0.0)),
        cell => cell.number().map(|value| value != 0.0),
    }
}

pub(crate) fn as_int32(cell: Cell<'_>) -> Option<i32> {
    i32::try_from(as_int64(cell)?).ok()
}

pub(crate) fn as_fp32(cell: Cell<'_>) -> Option<f32> {
    Some(cell.number()? as f32)
}

pub(crate) fn as_fp64(cell: Cell<'_>) -> Option<f64> {
    cell.number()
}

/// A whole number.
pub(crate) fn as_int64(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Int(value) => Some(value),
        Cell::Text(text) if text.trim().parse::<i64>().is_ok() => text.trim().parse().ok(),
        cell => {
            let value = cell.number().filter(|value| value.fract() == 0.0)?;
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
    /// -1 where the value is missing. Of plain text, else, any other number.
    codes: Vec<i32>,
    distinct: FxHashMap<Arc<str>, i32>,
    /// By code.
    values: Vec<Arc<str>>,
    distinct_bytes: usize,
    bytes: usize,
    /// Texts one behind the other and where they end, once most have turned out to be distinct.
    plain: Option<(Vec<u8>, Vec<i32>)>,
}

/// Distinct texts after which a column whose texts are mostly distinct becomes plain.
const TRIED_TEXTS: usize = 1 << 14;

impl TextBuilder {
    /// # Errors
    /// `memory`; `unsupported` for more distinct values than a dictionary holds.
    pub fn push(&mut self, text: Option<&str>) -> Result<()> {
        if self.plain.is_some() {
            return self.push_plain(text);
        }
        let Some(text) = text else {
            return push(&mut self.codes, -1);
        };
        let code = self.code(text)?;
        self.bytes = self.bytes.saturating_add(text.len());
        push(&mut self.codes, code)?;
        if self.values.len() == TRIED_TEXTS && self.codes.len() < 2 * TRIED_TEXTS {
            self.become_plain()?;
        }
        Ok(())
    }

    fn code(&mut self, text: &str) -> Result<i32> {
        if let Some(code) = self.distinct.get(text) {
            return Ok(*code);
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
        Ok(code)
    }

    fn become_plain(&mut self) -> Result<()> {
        self.plain = Some((memory::room(self.bytes)?, memory::room(self.codes.len())?));
        let codes = std::mem::take(&mut self.codes);
        let values = std::mem::take(&mut self.values);
        (self.distinct, self.distinct_bytes) = (FxHashMap::default(), 0);
        for code in codes {
            let text = usize::try_from(code).ok().map(|code| &*values[code]);
            self.push_plain(text)?;
        }
        Ok(())
    }

    fn push_plain(&mut self, text: Option<&str>) -> Result<()> {
        let Some((data, ends)) = &mut self.plain else {
            return self.push(text);
        };
        let bytes = text.map_or(&[][..], str::as_bytes);
        match i32::try_from(data.len() + bytes.len()) {
            Ok(end) => {
                if data.capacity() - data.len() < bytes.len() {
                    memory::reserve(data, data.len().max(bytes.len()).max(1 << 12))?;
                }
                data.extend_from_slice(bytes);
                push(ends, end)?;
                push(&mut self.codes, if text.is_some() { 0 } else { -1 })
            }
            // Too long for one array: a dictionary may still hold the distinct ones.
            Err(_) => {
                self.become_coded()?;
                self.push(text)
            }
        }
    }

    fn become_coded(&mut self) -> Result<()> {
        let Some((data, ends)) = self.plain.take() else {
            return Ok(());
        };
        let present = std::mem::take(&mut self.codes);
        self.bytes = data.len();
        let mut from = 0;
        for (end, present) in ends.into_iter().zip(present) {
            let bytes = &data[from..end as usize];
            from = end as usize;
            // It came from texts.
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            let code = if present < 0 { -1 } else { self.code(text)? };
            push(&mut self.codes, code)?;
        }
        Ok(())
    }

    /// Adds texts by codes of these values; -1 is a missing one.
    ///
    /// # Errors
    /// As [`TextBuilder::push`].
    pub(crate) fn append(
        &mut self,
        codes: &[i32],
        values: &[impl AsRef<str>],
        is_plain: bool,
    ) -> Result<()> {
        if is_plain && self.plain.is_none() && self.codes.len() <= 2 * self.values.len() {
            self.become_plain()?;
        }
        let text = |code: i32| usize::try_from(code).ok().map(|code| values[code].as_ref());
        if self.plain.is_some() || is_plain {
            return codes.iter().try_for_each(|code| self.push(text(*code)));
        }
        let mut ours = memory::room(values.len())?;
        for value in values {
            ours.push(self.code(value.as_ref())?);
        }
        for code in codes {
            let len = text(*code).map_or(0, str::len);
            self.bytes = self.bytes.saturating_add(len);
            let code = usize::try_from(*code).map_or(-1, |code| ours[code]);
            push(&mut self.codes, code)?;
        }
        Ok(())
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
        if let Some((data, ends)) = self.plain {
            let mut offsets = memory::room::<i32>(ends.len() + 1)?;
            offsets.push(0);
            offsets.extend_from_slice(&ends);
            return StringArray::try_new(OffsetBuffer::new(offsets.into()), data.into(), nulls)
                .map(Column::Text)
                .map_err(inconsistent);
        }
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
