//! Frames as Parquet files.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    sync::Arc,
};

use ::parquet::{
    arrow::{
        ArrowWriter, ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
            statistics::StatisticsConverter,
        },
    },
    basic::Compression,
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        reader::{ChunkReader, Length},
    },
};
use arrow::{
    array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array},
    datatypes::{FieldRef, Schema, SchemaRef},
};
use bytes::Bytes;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;

use crate::{Frame, column::ROWS_AT_ONCE, guard::reading};

/// A file whose columns are read by all threads.
pub struct ParquetFile<R> {
    input: R,
    metadata: ArrowReaderMetadata,
}

/// What a file tells of a column in each of its row groups; null where it does not.
#[derive(Debug, Clone)]
pub struct ColumnStatistics {
    pub name: Arc<str>,
    /// No value is less, or greater, but NaN.
    pub least: ArrayRef,
    pub greatest: ArrayRef,
    pub nulls: UInt64Array,
    pub nans: UInt64Array,
}

impl<R: ChunkReader + Clone + 'static> ParquetFile<R> {
    /// Reads what a file tells of itself.
    ///
    /// # Errors
    /// `data` when it is damaged; `io`.
    pub fn open(input: R) -> Result<Self> {
        reading("Parquet", || {
            let options = ArrowReaderOptions::default();
            let metadata = ArrowReaderMetadata::load(&input, options).map_err(unreadable)?;
            Ok(ParquetFile { input, metadata })
        })
    }

    /// The columns, with the types that Arrow has for them.
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// The number of rows in each row group.
    pub fn group_rows(&self) -> UInt64Array {
        let groups = self.metadata.metadata().row_groups().iter();
        groups
            .map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
            .collect::<Vec<_>>()
            .into()
    }

    /// What the file tells of these columns. Columns of which it tells nothing that could be trusted are left out.
    ///
    /// # Errors
    /// `data` when it is damaged.
    pub fn statistics(&self, names: &[&str]) -> Result<Vec<ColumnStatistics>> {
        let found = names.iter().map(|name| self.statistics_of(name));
        let found = reading("Parquet", || Ok(found.collect::<Vec<_>>()))?;
        Ok(found.into_iter().flatten().collect())
    }

    fn statistics_of(&self, name: &str) -> Option<ColumnStatistics> {
        let metadata = self.metadata.metadata();
        let parquet_schema = self.metadata.parquet_schema();
        let converter = StatisticsConverter::try_new(name, self.schema(), parquet_schema)
            .ok()?
            .with_missing_null_counts_as_zero(false);
        let leaf = converter.parquet_column_index()?;
        let groups = || metadata.row_groups().iter();
        // Fields of old files, for which writers compared bytes in several ways.
        let is_old = groups()
            .filter_map(|group| group.column(leaf).statistics())
            .any(|statistics| statistics.is_min_max_deprecated());
        if is_old {
            return None;
        }
        Some(ColumnStatistics {
            name: name.into(),
            least: converter.row_group_mins(groups()).ok()?,
            greatest: converter.row_group_maxes(groups()).ok()?,
            nulls: converter.row_group_null_counts(groups()).ok()?,
            nans: converter.row_group_nan_counts(groups()).ok()?,
        })
    }

    /// Rows as Arrow has them: of all columns, or of the named ones in the order of the file; of all row groups, or of those that are
    /// chosen.
    ///
    /// # Errors
    /// `data` when it is damaged; `unsupported` for a compression that is not built in; `memory`; `io`; `interrupted`.
    pub fn read(
        &self,
        names: Option<&[String]>,
        chosen: Option<&[bool]>,
    ) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        reading("Parquet", || {
            let fields = self.schema().fields().iter().enumerate();
            let wanted = |name: &String| names.is_none_or(|names| names.contains(name));
            let (roots, fields): (Vec<usize>, Vec<FieldRef>) = fields
                .filter(|(_, field)| wanted(field.name()))
                .map(|(root, field)| (root, Arc::clone(field)))
                .unzip();
            let schema = Arc::new(Schema::new_with_metadata(
                fields,
                self.schema().metadata().clone(),
            ));
            let is_chosen = |group: &usize| chosen.is_none_or(|chosen| chosen[*group]);
            let metadata = self.metadata.metadata();
            let groups: Vec<usize> = (0..metadata.num_row_groups()).filter(is_chosen).collect();
            let columns: Vec<(usize, usize)> = groups
                .iter()
                .flat_map(|group| roots.iter().map(|root| (*group, *root)))
                .collect();
            let bytes = columns
                .iter()
                .map(|(group, root)| self.bytes(*group, *root));
            memory::admit(usize::try_from(bytes.sum::<u64>()).unwrap_or(usize::MAX))?;
            let interrupt = Interrupt::current();
            let read = columns
                .into_par_iter()
                .map(|(group, root)| self.read_column(group, root, &interrupt))
                .collect::<Result<Vec<_>>>()?;
            let mut batches = Vec::new();
            let mut read = read.into_iter();
            for group in groups {
                let columns: Vec<Vec<ArrayRef>> = read.by_ref().take(roots.len()).collect();
                let rows = metadata.row_group(group).num_rows();
                let rows = usize::try_from(rows).unwrap_or(0);
                let most = match roots.is_empty() {
                    true => rows.max(1),
                    false => ROWS_AT_ONCE,
                };
                for (number, from) in (0..rows).step_by(most).enumerate() {
                    let rows = most.min(rows - from);
                    let parts = columns.iter().map(|parts| parts.get(number).cloned());
                    let parts = parts.collect::<Option<Vec<_>>>();
                    let parts = parts
                        .ok_or_else(|| Error::data("a Parquet file has less rows than it says"))?;
                    let options = RecordBatchOptions::new().with_row_count(Some(rows));
                    let batch =
                        RecordBatch::try_new_with_options(Arc::clone(&schema), parts, &options);
                    batches.push(batch.map_err(|error| unreadable(error.into()))?);
                }
            }
            Ok((schema, batches))
        })
    }

    /// What a column of a row group takes once it is not compressed.
    fn bytes(&self, group: usize, root: usize) -> u64 {
        let group = self.metadata.metadata().row_group(group);
        let schema = self.metadata.parquet_schema();
        let leaves = (0..schema.num_columns())
            .filter(|leaf| schema.get_column_root_idx(*leaf) == root)
            .map(|leaf| group.column(leaf).uncompressed_size());
        leaves.map(|bytes| u64::try_from(bytes).unwrap_or(0)).sum()
    }

    /// A column of a row group, in parts of so many rows as are read at once.
    fn read_column(
        &self,
        group: usize,
        root: usize,
        interrupt: &Interrupt,
    ) -> Result<Vec<ArrayRef>> {
        let schema = self.metadata.parquet_schema();
        let (input, metadata) = (self.input.clone(), self.metadata.clone());
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(input, metadata)
            .with_projection(ProjectionMask::roots(schema, [root]))
            .with_row_groups(vec![group])
            .with_batch_size(ROWS_AT_ONCE)
            .build()
            .map_err(unreadable)?;
        let mut parts = Vec::new();
        for batch in reader {
            interrupt.check()?;
            let batch = batch.map_err(|error| unreadable(error.into()))?;
            parts.push(Arc::clone(batch.column(0)));
        }
        Ok(parts)
    }
}

/// A file of the system that many threads read: each says where.
#[derive(Debug, Clone)]
pub struct SharedFile {
    file: Arc<File>,
    bytes: u64,
}

impl SharedFile {
    /// # Errors
    /// Those of the system.
    pub fn new(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(SharedFile {
            file: Arc::new(file),
            bytes,
        })
    }

    fn from(&self, at: u64) -> FileFrom {
        FileFrom {
            file: Arc::clone(&self.file),
            at,
        }
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<FileFrom>;

    fn get_read(&self, start: u64) -> ::parquet::errors::Result<Self::T> {
        Ok(BufReader::new(self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ::parquet::errors::Result<Bytes> {
        // A damaged file may ask for any length.
        let most = usize::try_from(self.bytes.saturating_sub(start)).unwrap_or(usize::MAX);
        if length > most {
            return Err(ParquetError::EOF(format!(
                "{length} bytes are asked for and there are {most}"
            )));
        }
        let bytes = memory::zeros_of::<u8>(length);
        let mut bytes = bytes.map_err(|error| ParquetError::External(Box::new(error)))?;
        self.from(start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A file from some place on.
pub struct FileFrom {
    file: Arc<File>,
    at: u64,
}

impl Read for FileFrom {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(&*self.file, to, self.at)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(&*self.file, to, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Reads a file.
///
/// # Errors
/// As [`ParquetFile::read`] and [`Frame::from_record_batches`].
pub fn read(input: impl ChunkReader + Clone + 'static) -> Result<Frame> {
    let (schema, mut batches) = ParquetFile::open(input)?.read(None, None)?;
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Frame::from_record_batches(&batches)
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
        _ if message.contains("Disabled feature") => {
            Error::unsupported(message).with_help("write the file with zstd, snappy, gzip or lz4")
        }
        _ => Error::data(message),
    }
}
