//! Frames as csv: fields may be quoted, with quotes in them doubled.

mod piece;
mod records;

use std::{
    borrow::Cow,
    io::{BufWriter, Read, Write},
    sync::Arc,
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use memchr::memchr2;
use rayon::prelude::*;

use crate::{Cell, ColumnMeta, ColumnType, Frame, column::ROWS_AT_ONCE, frame::admit_columns};
use piece::Growing;
use records::{Records, boundaries};

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
pub fn read(
    mut input: impl Read,
    format: &CsvFormat,
    schema: Option<&[ColumnType]>,
) -> Result<Frame> {
    let interrupt = Interrupt::current();
    let mut reader = Reader::default();
    let mut text: Vec<u8> = Vec::new();
    loop {
        interrupt.check()?;
        memory::reserve(&mut text, PIECES_BYTES)?;
        let before = text.len();
        (&mut input)
            .take(PIECES_BYTES as u64)
            .read_to_end(&mut text)
            .map_err(|error| Error::io(format!("csv can't be read: {error}")))?;
        let is_all = text.len() - before < PIECES_BYTES;
        if !reader.has_begun && text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        let begin = match reader.has_begun {
            true => Some(0),
            false => reader.begin(&text, is_all, format, schema)?,
        };
        // Not even the first row is all here.
        let Some(begin) = begin else {
            continue;
        };
        let end = begin + reader.read(&text[begin..], is_all, format)?;
        if is_all {
            return reader.finish(schema);
        }
        text.drain(..end);
    }
}

/// Bytes that are read at once, and that a thread reads of them.
const PIECES_BYTES: usize = 1 << 25;
const PIECE_BYTES: usize = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Default)]
struct Reader {
    has_begun: bool,
    names: Option<Vec<Arc<str>>>,
    meta: Vec<ColumnMeta>,
    types: Vec<ColumnType>,
    columns: Vec<Growing>,
    rows: usize,
}

impl Reader {
    /// Reads header and metadata, and finds how many columns there are. Returns where the rows begin, or none when more must be read first.
    fn begin(
        &mut self,
        text: &[u8],
        is_all: bool,
        format: &CsvFormat,
        schema: Option<&[ColumnType]>,
    ) -> Result<Option<usize>> {
        let whole = boundaries(text, format.separator, usize::MAX, is_all);
        let text = &text[..whole.last().copied().unwrap_or(0)];
        let valid = std::str::from_utf8(text).unwrap_or_else(|error| {
            // What is wrong is found with the rows.
            std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default()
        });
        // Each field of the first line is a column.
        let first_line = &text[..memchr2(b'\n', b'\r', text).unwrap_or(text.len())];
        let separators = first_line.iter().filter(|byte| **byte == format.separator);
        admit_columns(separators.count() + 1)?;
        let mut records = Records::new(valid, format.separator);
        let mut begin = 0;
        let mut first = None;
        loop {
            let mut fields: Vec<String> = Vec::new();
            if records
                .next(|_, field| fields.push(field.into_owned()))
                .is_none()
            {
                if !is_all {
                    return Ok(None);
                }
                break;
            }
            if format.header && self.names.is_none() {
                self.names = Some(fields.iter().map(|name| name.as_str().into()).collect());
            } else if !read_meta(&fields, &mut self.meta) {
                first = Some(fields.len());
                break;
            }
            begin = records.place();
        }
        self.has_begun = true;
        // A file of metadata alone tells its columns.
        let meta = Some(self.meta.len()).filter(|len| *len > 0);
        let width = self.names.as_ref().map(Vec::len).or(schema.map(<[_]>::len));
        let width = width.or(first).or(meta).unwrap_or(0);
        self.types = match schema {
            Some(schema) if schema.len() == width => schema.to_vec(),
            _ => std::iter::repeat_n(ColumnType::String, width).collect(),
        };
        self.columns = self.types.iter().map(|kind| Growing::new(*kind)).collect();
        Ok(Some(begin))
    }

    /// Reads the rows that are complete, and returns where they end.
    fn read(&mut self, text: &[u8], is_all: bool, format: &CsvFormat) -> Result<usize> {
        let interrupt = Interrupt::current();
        let boundaries = boundaries(text, format.separator, PIECE_BYTES, is_all);
        let pieces: Vec<_> = boundaries.windows(2).collect();
        let pieces = pieces.into_par_iter().map(|piece| {
            interrupt.within(|| piece::read(&text[piece[0]..piece[1]], format, &self.types))
        });
        let pieces: Vec<_> = pieces.collect();
        interrupt.check()?;
        let mut read = Vec::new();
        for piece in pieces {
            let (rows, columns) = piece.map_err(|refused| {
                let name = |col: usize| match &self.names {
                    Some(names) => names[col].to_string(),
                    None => format!("C{}", col + 1),
                };
                refused.error(self.rows, &self.types, name)
            })?;
            self.rows += rows;
            read.push(columns);
        }
        let columns = self.columns.par_iter_mut().enumerate();
        columns.try_for_each(|(col, column)| {
            interrupt.within(|| read.iter().try_for_each(|piece| column.add(&piece[col])))
        })?;
        Ok(boundaries.last().copied().unwrap_or(0))
    }

    fn finish(self, schema: Option<&[ColumnType]>) -> Result<Frame> {
        let columns = self.columns.into_iter().map(Growing::finish);
        let mut frame = Frame::new(columns.collect::<Result<_>>()?, self.names)?;
        if let Some(schema) = schema {
            frame = frame.apply_schema(schema)?;
        }
        match self.meta.is_empty() {
            true => Ok(frame),
            false => frame.with_column_meta(self.meta),
        }
    }
}

/// What lines begin with that say by what missing values were replaced, and how many categories there are.
const META_FILLS: &str = "#Meta\u{b7}MV";
const META_COUNTS: &str = "#Meta\u{b7}ND";

/// Whether this is a line of metadata, which is added to that of the columns.
fn read_meta(record: &[String], meta: &mut Vec<ColumnMeta>) -> bool {
    let Some((kind @ (META_FILLS | META_COUNTS), fields)) = record
        .split_first()
        .map(|(kind, fields)| (kind.as_str(), fields))
    else {
        return false;
    };
    meta.resize(meta.len().max(fields.len()), ColumnMeta::default());
    for (meta, field) in meta.iter_mut().zip(fields) {
        match kind {
            META_FILLS => {
                let fill = Some(field.as_str()).filter(|text| *text != "null");
                meta.fill = fill.map(Arc::from);
            }
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
    let mut lines = Lines {
        output: BufWriter::new(output),
        separator: format.separator,
        line: Vec::new(),
    };
    if format.header {
        lines.write(frame.names().iter().map(|name| Cow::Borrowed(&**name)))?;
    }
    if !frame.column_meta().is_empty() {
        let meta = frame.column_meta().iter();
        let fills = meta.map(|meta| Cow::Borrowed(meta.fill.as_deref().unwrap_or("null")));
        lines.write(std::iter::once(Cow::Borrowed(META_FILLS)).chain(fills))?;
        let meta = frame.column_meta().iter();
        let counts = meta.map(|meta| meta.distinct.map_or("-1".into(), |count| count.to_string()));
        let counts = counts.map(Cow::Owned);
        lines.write(std::iter::once(Cow::Borrowed(META_COUNTS)).chain(counts))?;
    }
    for row in 0..frame.rows() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        let cells = frame.columns().iter().map(|column| column.cell(row));
        lines.write(cells.map(|cell| cell.map(Cell::text).unwrap_or_default()))?;
    }
    lines.output.flush().map_err(unwritable)
}

struct Lines<W: Write> {
    output: BufWriter<W>,
    separator: u8,
    line: Vec<u8>,
}

impl<W: Write> Lines<W> {
    fn write<'a>(&mut self, fields: impl Iterator<Item = Cow<'a, str>>) -> Result<()> {
        self.line.clear();
        for (at, field) in fields.enumerate() {
            if at > 0 {
                self.line.push(self.separator);
            }
            self.put(&field);
        }
        if self.line.is_empty() {
            // An empty line would be no record.
            self.line.extend_from_slice(b"\"\"");
        }
        self.line.push(b'\n');
        self.output.write_all(&self.line).map_err(unwritable)
    }

    /// In quotes if it would be read otherwise without: readers drop spaces around it.
    fn put(&mut self, field: &str) {
        let separator = self.separator;
        let special = |byte: u8| byte == separator || matches!(byte, b'"' | b'\n' | b'\r');
        if !field.bytes().any(special) && field.trim().len() == field.len() {
            self.line.extend_from_slice(field.as_bytes());
            return;
        }
        self.line.push(b'"');
        for byte in field.bytes() {
            if byte == b'"' {
                self.line.push(b'"');
            }
            self.line.push(byte);
        }
        self.line.push(b'"');
    }
}

fn unwritable(error: std::io::Error) -> Error {
    Error::io(format!("csv can't be written: {error}"))
}
