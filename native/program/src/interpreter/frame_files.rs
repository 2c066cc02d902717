//! Frames in files: csv, JSON lines, Parquet, and Arrow's IPC format.

use std::{borrow::Cow, io::Cursor};

use fulgurite_error::{Error, Result};
use fulgurite_frame::{
    ColumnType, Frame,
    csv::{self, CsvFormat},
    ipc, json_lines, parquet,
};
use fulgurite_matrix::io::{self, FileFormat, Metadata};

/// The frame in these parts of a file.
///
/// # Errors
/// `data`, with the file's name, for what cannot be understood; `unsupported` for formats that frames do not have.
pub(super) fn read(path: &str, parts: Vec<Vec<u8>>, resolved: &Metadata) -> Result<Frame> {
    let read = || {
        let schema = resolved.schema.as_deref().map(schema_of).transpose()?;
        let frame = match resolved.format {
            Some(FileFormat::Csv) => csv::read(
                &*joined(&parts, resolved),
                &csv_format(resolved)?,
                schema.as_deref(),
            )?,
            Some(FileFormat::JsonLines) => {
                json_lines::read(&*joined(&parts, resolved), schema.as_deref())?
            }
            Some(FileFormat::Parquet) => bound(parts.into_iter().map(parquet::read_bytes))?,
            Some(FileFormat::Binary) => {
                bound(parts.iter().map(|part| ipc::read(Cursor::new(part))))?
            }
            other => return Err(no_format(other)),
        };
        for (what, promised, found) in [
            ("rows", resolved.rows, frame.rows()),
            ("columns", resolved.cols, frame.cols()),
        ] {
            if let Some(promised) = promised.filter(|promised| *promised != found as u64) {
                return Err(Error::data(format!(
                    "the file has {found} {what}, its metadata promise {promised}"
                )));
            }
        }
        Ok(frame)
    };
    read().map_err(|error| {
        let message = format!("{path}: {}", error.message());
        error.with_message(message)
    })
}

/// Parts of a frame, one below the other.
fn bound(parts: impl Iterator<Item = Result<Frame>>) -> Result<Frame> {
    let mut whole: Option<Frame> = None;
    for part in parts {
        let part = part?;
        whole = Some(match whole {
            None => part,
            Some(above) => above.rbind(&part)?,
        });
    }
    whole.ok_or_else(|| Error::data("the file has no parts"))
}

/// Writes a frame with its metadata.
///
/// # Errors
/// `io`; `unsupported` for formats that frames do not have.
pub(super) fn write(frame: &Frame, path: &str, options: &io::WriteOptions) -> Result<()> {
    let types: Vec<&str> = frame.schema().iter().map(|kind| kind.name()).collect();
    let is_csv = options.format == FileFormat::Csv;
    let metadata = Metadata {
        data_type: Some("frame".into()),
        value_type: Some("string".into()),
        rows: Some(frame.rows() as u64),
        cols: Some(frame.cols() as u64),
        format: Some(options.format),
        header: is_csv.then_some(options.header),
        separator: is_csv.then(|| options.separator.clone()),
        schema: Some(types.join(",")),
        ..Metadata::default()
    };
    match options.format {
        FileFormat::Csv => {
            let format = csv_format(&metadata)?;
            io::write_frame(path, &metadata, |output| csv::write(frame, output, &format))
        }
        FileFormat::JsonLines => {
            io::write_frame(path, &metadata, |output| json_lines::write(frame, output))
        }
        FileFormat::Parquet => {
            io::write_frame(path, &metadata, |output| parquet::write(frame, output))
        }
        FileFormat::Binary => io::write_frame(path, &metadata, |output| ipc::write(frame, output)),
        other => Err(no_format(Some(other))),
    }
}

fn no_format(format: Option<FileFormat>) -> Error {
    let code = format.map_or("none", FileFormat::code);
    Error::unsupported(format!("frames have no files of the format '{code}'")).with_help(
        "the formats are csv, jsonl, parquet and binary: give one, or put it into the file's .mtd",
    )
}

/// `STRING,FP64`: a comma at the end is none.
fn schema_of(text: &str) -> Result<Vec<ColumnType>> {
    let names = text.trim().trim_end_matches(',').split(',');
    names.map(ColumnType::parse).collect()
}

fn csv_format(metadata: &Metadata) -> Result<CsvFormat> {
    let separator = match metadata.separator.as_deref().map(str::as_bytes) {
        None => b',',
        Some([separator]) => *separator,
        Some(_) => {
            return Err(Error::argument(
                "the separator of a frame's csv file is one ASCII character",
            ));
        }
    };
    Ok(CsvFormat {
        separator,
        header: metadata.header.unwrap_or(false),
        missing: metadata.na_strings.clone().unwrap_or_default(),
        fill: metadata.fill.unwrap_or(false),
    })
}

/// The parts as one text; header lines that later parts repeat are left out.
fn joined<'a>(parts: &'a [Vec<u8>], metadata: &Metadata) -> Cow<'a, [u8]> {
    if let [only] = parts {
        return Cow::Borrowed(only);
    }
    let line_of = |part: &'a [u8]| {
        let end = part.iter().position(|byte| *byte == b'\n');
        part.split_at(end.map_or(part.len(), |end| end + 1))
    };
    let mut text: Vec<u8> = Vec::new();
    let mut header: Option<&[u8]> = None;
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let (line, rest) = line_of(part);
        if text.last().is_some_and(|last| *last != b'\n') {
            text.push(b'\n');
        }
        match header {
            Some(header) if metadata.header == Some(true) && header == line => {
                text.extend_from_slice(rest);
            }
            _ => text.extend_from_slice(part),
        }
        header.get_or_insert(line);
    }
    Cow::Owned(text)
}
