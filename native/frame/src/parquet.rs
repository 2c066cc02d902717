//! Frames as Parquet files.

use std::io::Write;

use bytes::Bytes;

use ::parquet::{
    arrow::{ArrowWriter, ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder},
    basic::Compression,
    errors::ParquetError,
    file::{properties::WriterProperties, reader::ChunkReader},
};
use arrow::{
    array::{RecordBatch, RecordBatchReader},
    datatypes::SchemaRef,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

use crate::{Frame, column::ROWS_AT_ONCE, guard::reading};

/// Reads a file.
///
/// # Errors
/// `data` when it is damaged; `unsupported` for a compression that is not built in; `io`; as [`Frame::from_record_batches`].
pub fn read(input: impl ChunkReader + 'static) -> Result<Frame> {
    let (schema, mut batches) = read_batches(input, None)?;
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Frame::from_record_batches(&batches)
}

/// The columns of a file, with the types that Arrow has for them. Nothing else of it is read.
///
/// # Errors
/// `data` when it is damaged; `io`.
pub fn schema(input: impl ChunkReader + 'static) -> Result<SchemaRef> {
    reading("Parquet", || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(unreadable)?;
        Ok(builder.schema().clone())
    })
}

/// The rows of a file as Arrow has them: all of its columns, or the named ones in the order of the file.
///
/// # Errors
/// As [`read`], but for types of frames.
pub fn read_batches(
    input: impl ChunkReader + 'static,
    names: Option<&[String]>,
) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    reading("Parquet", || {
        let interrupt = Interrupt::current();
        let mut builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(unreadable)?;
        let fields = builder.schema().fields();
        let wanted = |name: &String| names.is_none_or(|names| names.contains(name));
        let roots: Vec<usize> = fields
            .iter()
            .enumerate()
            .filter(|(_, field)| wanted(field.name()))
            .map(|(root, _)| root)
            .collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
        let leaves = 0..builder.parquet_schema().num_columns();
        let leaves: Vec<usize> = leaves.filter(|leaf| mask.leaf_included(*leaf)).collect();
        let groups = builder.metadata().row_groups().iter();
        let bytes: i64 = groups
            .flat_map(|group| leaves.iter().map(|leaf| group.column(*leaf)))
            .map(|column| column.uncompressed_size().max(0))
            .sum();
        memory::admit(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        builder = builder.with_projection(mask).with_batch_size(ROWS_AT_ONCE);
        let reader = builder.build().map_err(unreadable)?;
        let schema = reader.schema();
        let mut batches = Vec::new();
        for batch in reader {
            interrupt.check()?;
            batches.push(batch.map_err(|error| {
                let message = format!("a Parquet file can't be read: {error}");
                match message.contains("Disabled feature") {
                    true => Error::unsupported(message)
                        .with_help("write the file with snappy, gzip or lz4"),
                    false => Error::data(message),
                }
            })?);
        }
        Ok((schema, batches))
    })
}

/// As [`read`], of a file that is in memory.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(input: Vec<u8>) -> Result<Frame> {
    read(Bytes::from(input))
}

/// Writes a file, compressed by snappy.
///
/// # Errors
/// `io` when the output takes no more.
pub fn write(frame: &Frame, output: impl Write + Send) -> Result<()> {
    let batch = frame.to_record_batch()?;
    let interrupt = Interrupt::current();
    let unwritable = |error| Error::io(format!("a Parquet file can't be written: {error}"));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer =
        ArrowWriter::try_new(output, batch.schema(), Some(properties)).map_err(unwritable)?;
    for from in (0..frame.rows()).step_by(ROWS_AT_ONCE) {
        interrupt.check()?;
        let rows = batch.slice(from, ROWS_AT_ONCE.min(frame.rows() - from));
        writer.write(&rows).map_err(unwritable)?;
    }
    writer.close().map_err(unwritable)?;
    Ok(())
}

fn unreadable(error: ParquetError) -> Error {
    let message = format!("a Parquet file can't be read: {error}");
    match error {
        ParquetError::External(_) => Error::io(message),
        _ => Error::data(message),
    }
}
