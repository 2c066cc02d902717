//! Columns of a piece of csv.

use std::borrow::Cow;

use arrow::array::{BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array};
use fulgurite_error::{Error, Result};
use rustc_hash::FxHashMap;

use super::{CsvFormat, records::Records};
use crate::{
    Cell, Column, ColumnType, TextBuilder,
    column::{as_boolean, as_fp32, as_fp64, as_int32, as_int64, not_a, push},
};

/// Rows after which a column of text tells whether its values repeat.
const TRIED_ROWS: usize = 1 << 12;

/// Cells of a column of one piece.
pub(super) enum Cells<'a> {
    Text(Texts<'a>),
    Boolean(Vec<Option<bool>>),
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Fp32(Vec<Option<f32>>),
    Fp64(Vec<Option<f64>>),
}

/// Texts by codes of those that are distinct, as long as many are the same.
#[derive(Default)]
pub(super) struct Texts<'a> {
    /// -1 where the value is missing.
    codes: Vec<i32>,
    distinct: FxHashMap<Cow<'a, str>, i32>,
    values: Vec<Cow<'a, str>>,
    is_plain: bool,
}

impl<'a> Texts<'a> {
    fn push(&mut self, text: Option<Cow<'a, str>>) -> Result<()> {
        let Some(text) = text else {
            return push(&mut self.codes, -1);
        };
        let next = self.values.len() as i32;
        if self.is_plain {
            push(&mut self.values, text)?;
            return push(&mut self.codes, next);
        }
        if let Some(code) = self.distinct.get(&*text) {
            return push(&mut self.codes, *code);
        }
        self.distinct.insert(text.clone(), next);
        push(&mut self.values, text)?;
        push(&mut self.codes, next)?;
        if self.codes.len() == TRIED_ROWS {
            self.is_plain = self.values.len() > TRIED_ROWS / 2;
        }
        Ok(())
    }
}

/// Why a piece can't be read, and in which of its rows, from 0.
pub(super) struct Refused {
    pub(super) row: usize,
    pub(super) reason: Reason,
}

pub(super) enum Reason {
    Fields(usize),
    Cell(usize, String),
    NotUtf8,
    Other(Error),
}

/// Reads all records of a piece into columns of these types, and counts them.
pub(super) fn read<'a>(
    piece: &'a [u8],
    format: &CsvFormat,
    types: &[ColumnType],
) -> std::result::Result<(usize, Vec<Cells<'a>>), Refused> {
    let text = std::str::from_utf8(piece).map_err(|error| {
        let before = std::str::from_utf8(&piece[..error.valid_up_to()]).unwrap_or_default();
        let mut records = Records::new(before, format.separator);
        let mut row = 0;
        while records.next(|_, _| ()).is_some() {
            // The last record may be the one that is not valid.
            if records.place() < before.len() || before.ends_with(['\n', '\r']) {
                row += 1;
            }
        }
        Refused {
            row,
            reason: Reason::NotUtf8,
        }
    })?;
    let mut columns: Vec<_> = types.iter().map(|kind| Cells::new(*kind)).collect();
    let mut records = Records::new(text, format.separator);
    let mut row = 0;
    loop {
        let mut wrong = None;
        let fields = records.next(|col, field| {
            let Some(column) = columns.get_mut(col).filter(|_| wrong.is_none()) else {
                return;
            };
            let is_missing =
                field.is_empty() || format.missing.iter().any(|missing| *missing == field);
            wrong = match column.push((!is_missing).then_some(field)) {
                Ok(None) => None,
                Ok(Some(text)) => Some(Reason::Cell(col, text)),
                Err(error) => Some(Reason::Other(error)),
            };
        });
        let Some(fields) = fields else {
            return Ok((row, columns));
        };
        if fields > columns.len() || (fields < columns.len() && !format.fill) {
            wrong = Some(Reason::Fields(fields));
        }
        for column in columns.iter_mut().skip(fields) {
            if let Err(error) = column.push(None) {
                wrong = Some(Reason::Other(error));
            }
        }
        if let Some(reason) = wrong {
            return Err(Refused { row, reason });
        }
        row += 1;
    }
}

impl<'a> Cells<'a> {
    fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::String => Cells::Text(Texts::default()),
            ColumnType::Boolean => Cells::Boolean(Vec::new()),
            ColumnType::Int32 => Cells::Int32(Vec::new()),
            ColumnType::Int64 => Cells::Int64(Vec::new()),
            ColumnType::Fp32 => Cells::Fp32(Vec::new()),
            ColumnType::Fp64 => Cells::Fp64(Vec::new()),
        }
    }

    /// Adds a cell. The text is returned when it is no value of the type.
    #[inline]
    fn push(&mut self, text: Option<Cow<'a, str>>) -> Result<Option<String>> {
        fn add<T>(
            cells: &mut Vec<Option<T>>,
            text: Option<Cow<'_, str>>,
            convert: impl Fn(Cell<'_>) -> Option<T>,
        ) -> Result<Option<String>> {
            let value = match text {
                None => None,
                Some(text) => match convert(Cell::Text(&text)) {
                    Some(value) => Some(value),
                    // Quotes keep the spaces of a field without a value.
                    None if text.trim().is_empty() => None,
                    None => return Ok(Some(text.into_owned())),
                },
            };
            push(cells, value).map(|()| None)
        }
        match self {
            Cells::Text(texts) => texts.push(text).map(|()| None),
            Cells::Boolean(cells) => add(cells, text, as_boolean),
            Cells::Int32(cells) => add(cells, text, as_int32),
            Cells::Int64(cells) => add(cells, text, as_int64),
            Cells::Fp32(cells) => add(cells, text, as_fp32),
            Cells::Fp64(cells) => add(cells, text, as_fp64),
        }
    }
}

/// A column to which those of pieces are added.
pub(super) enum Growing {
    Text(TextBuilder),
    Boolean(Vec<Option<bool>>),
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Fp32(Vec<Option<f32>>),
    Fp64(Vec<Option<f64>>),
}

impl Growing {
    pub(super) fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::String => Growing::Text(TextBuilder::default()),
            ColumnType::Boolean => Growing::Boolean(Vec::new()),
            ColumnType::Int32 => Growing::Int32(Vec::new()),
            ColumnType::Int64 => Growing::Int64(Vec::new()),
            ColumnType::Fp32 => Growing::Fp32(Vec::new()),
            ColumnType::Fp64 => Growing::Fp64(Vec::new()),
        }
    }

    /// # Errors
    /// `memory`; as [`TextBuilder::push`].
    pub(super) fn add(&mut self, cells: &Cells<'_>) -> Result<()> {
        fn extend<T: Copy>(all: &mut Vec<T>, more: &[T]) -> Result<()> {
            more.iter().try_for_each(|value| push(all, *value))
        }
        match (self, cells) {
            (Growing::Text(all), Cells::Text(more)) => {
                all.append(&more.codes, &more.values, more.is_plain)
            }
            (Growing::Boolean(all), Cells::Boolean(more)) => extend(all, more),
            (Growing::Int32(all), Cells::Int32(more)) => extend(all, more),
            (Growing::Int64(all), Cells::Int64(more)) => extend(all, more),
            (Growing::Fp32(all), Cells::Fp32(more)) => extend(all, more),
            (Growing::Fp64(all), Cells::Fp64(more)) => extend(all, more),
            _ => Err(Error::internal("a piece of csv has other types")),
        }
    }

    pub(super) fn finish(self) -> Result<Column> {
        Ok(match self {
            Growing::Text(texts) => texts.finish()?,
            Growing::Boolean(cells) => Column::Boolean(BooleanArray::from(cells)),
            Growing::Int32(cells) => Column::Int32(Int32Array::from(cells)),
            Growing::Int64(cells) => Column::Int64(Int64Array::from(cells)),
            Growing::Fp32(cells) => Column::Fp32(Float32Array::from(cells)),
            Growing::Fp64(cells) => Column::Fp64(Float64Array::from(cells)),
        })
    }
}

impl Refused {
    /// The error, when so many rows are above the piece.
    pub(super) fn error(
        self,
        rows: usize,
        types: &[ColumnType],
        name: impl Fn(usize) -> String,
    ) -> Error {
        let row = rows + self.row;
        match self.reason {
            Reason::Fields(fields) => Error::data(format!(
                "row {} has {fields} fields, not {}",
                row + 1,
                types.len()
            )),
            Reason::Cell(col, text) => not_a(types[col], row, &name(col), &text),
            Reason::NotUtf8 => Error::data(format!("row {} of the csv is not UTF-8", row + 1)),
            Reason::Other(error) => error,
        }
    }
}
