//! Frames as lines of JSON, an object for each row.

use std::{
    fmt,
    io::{BufRead, BufReader, Read, Write},
    sync::Arc,
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::Interrupt;
use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::{Cell, Column, ColumnType, Frame, TextBuilder, column::ROWS_AT_ONCE};

/// Reads a frame. Its columns are the keys of all objects, in the order of their first appearance.
///
/// Without a schema, a column of truth values is BOOLEAN, one of whole numbers INT64 and one of numbers FP64; others are text, in which
/// lists and objects are JSON. Keys that an object lacks are missing values.
///
/// # Errors
/// `data` with the line that is no object; as [`Frame::apply_schema`]; `io`; `memory`.
///
/// ```
/// use fulgurite_frame::{Cell, json_lines};
/// let frame = json_lines::read("{\"b\": 1}\n{\"b\": 2.5, \"a\": \"x\"}\n".as_bytes(), None)?;
/// assert_eq!(&*frame.names()[0], "b");
/// assert_eq!((frame.cell(0, 0), frame.cell(0, 1)), (Some(Cell::Fp64(1.0)), None));
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn read(input: impl Read, schema: Option<&[ColumnType]>) -> Result<Frame> {
    let interrupt = Interrupt::current();
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let mut reader = Columns::default();
    let mut number = 0;
    loop {
        if number % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        number += 1;
        line.clear();
        let len = input
            .read_until(b'\n', &mut line)
            .map_err(|error| Error::io(format!("lines of JSON can't be read: {error}")))?;
        if len == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let mut json = serde_json::Deserializer::from_slice(&line);
        let read = RowSeed(&mut reader).deserialize(&mut json);
        let result = match read.and_then(|result| json.end().map(|()| result)) {
            Ok(result) => result,
            Err(error) => {
                let message = error.to_string();
                let message = message.trim_end_matches(" at line 1 column 0");
                let message = message.replace(" at line 1 column", " at character");
                return Err(Error::data(format!("line {number}: {message}")));
            }
        };
        result?;
        reader.rows += 1;
    }
    reader.finish(schema)
}

/// Writes a frame. Missing values are null, and numbers that JSON lacks are the texts `NaN`, `Infinity` and `-Infinity`.
///
/// # Errors
/// `io` when the output takes no more.
pub fn write(frame: &Frame, output: impl Write) -> Result<()> {
    let interrupt = Interrupt::current();
    let unwritable =
        |error: std::io::Error| Error::io(format!("lines of JSON can't be written: {error}"));
    let mut output = std::io::BufWriter::new(output);
    let names = frame
        .names()
        .iter()
        .map(|name| Value::from(&**name).to_string());
    let names: Vec<_> = names.collect();
    for row in 0..frame.rows() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        output.write_all(b"{").map_err(unwritable)?;
        for (col, column) in frame.columns().iter().enumerate() {
            let comma = if col > 0 { "," } else { "" };
            write!(output, "{comma}{}:", names[col]).map_err(unwritable)?;
            let value = match column.cell(row) {
                None => Value::Null,
                Some(Cell::Boolean(value)) => Value::Bool(value),
                Some(Cell::Int(value)) => Value::from(value),
                Some(Cell::Fp64(value)) if value.is_finite() => Value::from(value),
                Some(Cell::Fp32(value)) if value.is_finite() => {
                    // The digits of a float, not those of the double that it is.
                    let text = value.to_string();
                    Value::from(text.parse::<f64>().unwrap_or(f64::from(value)))
                }
                Some(cell) => Value::from(&*cell.text()),
            };
            serde_json::to_writer(&mut output, &value).map_err(|error| unwritable(error.into()))?;
        }
        output.write_all(b"}\n").map_err(unwritable)?;
    }
    output.flush().map_err(unwritable)
}

/// What the values of a column have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    Boolean,
    Whole,
    Number,
    /// Texts of numbers that JSON lacks.
    NotFinite,
    Text,
}

impl Seen {
    fn and(self, other: Seen) -> Seen {
        match (self, other) {
            (Seen::Nothing, one) | (one, Seen::Nothing) => one,
            (one, other) if one == other => one,
            (
                Seen::Whole | Seen::Number | Seen::NotFinite,
                Seen::Whole | Seen::Number | Seen::NotFinite,
            ) => Seen::Number,
            _ => Seen::Text,
        }
    }
}

#[derive(Default)]
struct Columns {
    rows: usize,
    by_name: FxHashMap<Arc<str>, usize>,
    names: Vec<Arc<str>>,
    columns: Vec<OpenColumn>,
}

struct OpenColumn {
    texts: TextBuilder,
    rows: usize,
    seen: Seen,
}

impl Columns {
    fn push(&mut self, name: &str, value: &Value) -> Result<()> {
        let col = match self.by_name.get(name) {
            Some(col) => *col,
            None => {
                let name: Arc<str> = name.into();
                self.by_name.insert(name.clone(), self.names.len());
                self.names.push(name);
                self.columns.push(OpenColumn {
                    texts: TextBuilder::default(),
                    rows: 0,
                    seen: Seen::Nothing,
                });
                self.names.len() - 1
            }
        };
        let column = &mut self.columns[col];
        if column.rows > self.rows {
            return Err(Error::data(format!(
                "row {}: the key '{name}' is there twice",
                self.rows + 1
            )));
        }
        column.fill(self.rows)?;
        column.rows += 1;
        let (seen, text) = match value {
            Value::Null => return column.texts.push(None),
            Value::Bool(true) => (Seen::Boolean, "true"),
            Value::Bool(false) => (Seen::Boolean, "false"),
            Value::String(text) => match text.as_str() {
                "NaN" | "Infinity" | "-Infinity" => (Seen::NotFinite, text.as_str()),
                text => (Seen::Text, text),
            },
            Value::Number(number) => {
                let seen = match number.is_i64() {
                    true => Seen::Whole,
                    false => Seen::Number,
                };
                column.seen = column.seen.and(seen);
                return column.texts.push(Some(&number.to_string()));
            }
            Value::Array(_) | Value::Object(_) => {
                column.seen = Seen::Text;
                return column.texts.push(Some(&value.to_string()));
            }
        };
        column.seen = column.seen.and(seen);
        column.texts.push(Some(text))
    }

    fn finish(self, schema: Option<&[ColumnType]>) -> Result<Frame> {
        let mut columns = Vec::new();
        for (mut column, name) in self.columns.into_iter().zip(&self.names) {
            column.fill(self.rows)?;
            let kind = match column.seen {
                Seen::Boolean => ColumnType::Boolean,
                Seen::Whole => ColumnType::Int64,
                Seen::Number => ColumnType::Fp64,
                Seen::Nothing | Seen::NotFinite | Seen::Text => ColumnType::String,
            };
            let column: Column = column.texts.finish()?;
            columns.push(match schema {
                None => column.cast(kind, name)?,
                Some(_) => column,
            });
        }
        let frame = Frame::new(columns, Some(self.names))?;
        match schema {
            None => Ok(frame),
            Some(schema) => frame.apply_schema(schema),
        }
    }
}

impl OpenColumn {
    fn fill(&mut self, rows: usize) -> Result<()> {
        while self.rows < rows {
            self.texts.push(None)?;
            self.rows += 1;
        }
        Ok(())
    }
}

/// Reads one object into columns, in the order of its keys. The inner result is ours, the outer that of the JSON.
struct RowSeed<'a>(&'a mut Columns);

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = Result<()>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        json: D,
    ) -> std::result::Result<Result<()>, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = Result<()>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<Result<()>, M::Error> {
        let mut result = Ok(());
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if result.is_ok() {
                result = self.0.push(&name, &value);
            }
        }
        Ok(result)
    }
}
