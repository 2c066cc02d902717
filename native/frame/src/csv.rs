//! Frames as csv: fields may be quoted, with quotes in them doubled.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::Interrupt;

use crate::{Cell, Column, ColumnMeta, ColumnType, Frame, TextBuilder, column::ROWS_AT_ONCE};

/// How a csv file is written.
#[derive(Debug, Clone)]
pub struct CsvFormat {
    /// One byte between fields.
    pub separator: u8,
    /// The first line names the columns.
    pub header: bool,
    /// Fields that are missing values, besides empty ones.
    pub missing: Vec<String>,
    /// Short lines get missing values; otherwise they are errors.
    pub fill: bool,
}

impl Default for CsvFormat {
    fn default() -> Self {
        CsvFormat {
            separator: b',',
            header: false,
            missing: Vec::new(),
            fill: false,
        }
    }
}

/// Reads a frame. Without a schema all columns are text. Spaces around fields are dropped.
///
/// Lines of SystemDS before the rows that begin with `#Meta` become [`Frame::column_meta`].
///
/// # Errors
/// `data` with the line, or with row and column, of what can't be read; `io`; `memory`.
///
/// ```
/// use fulgurite_frame::csv::{self, CsvFormat};
/// let format = CsvFormat { header: true, ..CsvFormat::default() };
/// let frame = csv::read("name,age\n\"a,b\",3\n".as_bytes(), &format, None)?;
/// assert_eq!((frame.rows(), &*frame.names()[1]), (1, "age"));
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn read(input: impl Read, format: &CsvFormat, schema: Option<&[ColumnType]>) -> Result<Frame> {
    let interrupt = Interrupt::current();
    let mut reader = ::csv::ReaderBuilder::new()
        .delimiter(format.separator)
        .has_headers(format.header)
        // Lines of metadata are longer.
        .flexible(true)
        .trim(::csv::Trim::All)
        .from_reader(input);
    let names: Option<Vec<Arc<str>>> = match format.header {
        true => {
            let header = reader.headers().map_err(unreadable)?;
            Some(header.iter().map(Arc::from).collect())
        }
        false => None,
    };
    let mut builders: Vec<TextBuilder> = Vec::new();
    let mut rows = 0;
    let mut record = ::csv::StringRecord::new();
    let mut meta: Vec<ColumnMeta> = Vec::new();
    let known = names.as_ref().map(Vec::len).or(schema.map(<[_]>::len));
    builders.resize_with(known.unwrap_or(0), TextBuilder::default);
    while reader.read_record(&mut record).map_err(unreadable)? {
        if rows == 0 && read_meta(&record, &mut meta) {
            continue;
        }
        if rows == 0 && known.is_none() {
            builders.resize_with(record.len(), TextBuilder::default);
        }
        if record.len() > builders.len() || (record.len() < builders.len() && !format.fill) {
            return Err(Error::data(format!(
                "row {} has {} fields, not {}",
                rows + 1,
                record.len(),
                builders.len()
            )));
        }
        if rows % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        rows += 1;
        for (col, builder) in builders.iter_mut().enumerate() {
            let field = record.get(col).unwrap_or("");
            let is_missing = field.is_empty() || format.missing.iter().any(|text| text == field);
            builder.push((!is_missing).then_some(field))?;
        }
    }
    let columns = builders.into_iter().map(TextBuilder::finish);
    let mut columns = columns.collect::<Result<Vec<Column>>>()?;
    if rows == 0 && columns.is_empty() {
        // A file of metadata alone tells its columns.
        for _ in &meta {
            columns.push(TextBuilder::default().finish()?);
        }
    }
    let mut frame = Frame::new(columns, names)?;
    if let Some(schema) = schema {
        frame = frame.apply_schema(schema)?;
    }
    match meta.is_empty() {
        true => Ok(frame),
        false => frame.with_column_meta(meta),
    }
}

/// What lines begin with that say by what missing values were replaced, and how many categories there are.
const META_FILLS: &str = "#Meta\u{b7}MV";
const META_COUNTS: &str = "#Meta\u{b7}ND";

/// Whether this is a line of metadata, which is added to that of the columns.
fn read_meta(record: &::csv::StringRecord, meta: &mut Vec<ColumnMeta>) -> bool {
    let Some(kind @ (META_FILLS | META_COUNTS)) = record.get(0) else {
        return false;
    };
    meta.resize(meta.len().max(record.len() - 1), ColumnMeta::default());
    for (meta, field) in meta.iter_mut().zip(record.iter().skip(1)) {
        match kind {
            META_FILLS => meta.fill = Some(field).filter(|text| *text != "null").map(Arc::from),
            _ => meta.distinct = field.parse().ok(),
        }
    }
    true
}

/// Writes a frame; a missing value is an empty field.
///
/// # Errors
/// `io` when the output takes no more.
pub fn write(frame: &Frame, output: impl Write, format: &CsvFormat) -> Result<()> {
    let interrupt = Interrupt::current();
    let mut writer = ::csv::WriterBuilder::new()
        .delimiter(format.separator)
        .flexible(true)
        .from_writer(output);
    if format.header {
        let names = frame.names().iter().map(|name| name.as_bytes());
        writer.write_record(names).map_err(unwritable)?;
    }
    if !frame.column_meta().is_empty() {
        let meta = frame.column_meta().iter();
        let fills = meta.map(|meta| meta.fill.as_deref().unwrap_or("null").to_owned());
        let meta = frame.column_meta().iter();
        let counts = meta.map(|meta| meta.distinct.map_or("-1".into(), |count| count.to_string()));
        let lines: [(&str, Vec<String>); 2] = [
            (META_FILLS, fills.collect()),
            (META_COUNTS, counts.collect()),
        ];
        for (kind, fields) in lines {
            let fields = std::iter::once(kind).chain(fields.iter().map(String::as_str));
            writer.write_record(fields).map_err(unwritable)?;
        }
    }
    for row in 0..frame.rows() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        for column in frame.columns() {
            let text = column.cell(row).map(Cell::text).unwrap_or_default();
            writer.write_field(text.as_bytes()).map_err(unwritable)?;
        }
        writer.write_record(None::<&[u8]>).map_err(unwritable)?;
    }
    writer
        .flush()
        .map_err(|error| Error::io(format!("csv can't be written: {error}")))
}

fn unreadable(error: ::csv::Error) -> Error {
    let message = format!("csv can't be read: {error}");
    match error.is_io_error() {
        true => Error::io(message),
        false => Error::data(message),
    }
}

fn unwritable(error: ::csv::Error) -> Error {
    Error::io(format!("csv can't be written: {error}"))
}
