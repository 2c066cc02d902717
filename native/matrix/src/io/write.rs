//! Writing files with their metadata.

use std::{ops::Range, path::Path};

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::{
    FileFormat, Metadata, cells, csv,
    files::local_path,
    in_order::InOrder,
    libsvm, matrix_market,
    pending::{PendingFile, described, finish_alone, finish_together},
};
use crate::{
    Block, Interrupt, MatrixBlock,
    arrow_block::{cut_off, ipc},
};

/// How a matrix is written.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteOptions {
    pub format: FileFormat,
    /// csv: between cells.
    pub separator: String,
    /// csv: a first line `C1,C2,...`.
    pub header: bool,
    /// csv: zeros are empty cells.
    pub sparse: bool,
}

impl WriteOptions {
    pub fn new(format: FileFormat) -> Self {
        WriteOptions {
            format,
            separator: ",".into(),
            header: false,
            sparse: false,
        }
    }

    /// What the `.mtd` file of a matrix that is written so says.
    pub fn metadata(&self, rows: u64, cols: u64, nnz: Option<u64>) -> Metadata {
        let is_csv = self.format == FileFormat::Csv;
        Metadata {
            data_type: Some("matrix".into()),
            value_type: Some("double".into()),
            rows: Some(rows),
            cols: Some(cols),
            nnz,
            format: Some(self.format),
            header: is_csv.then_some(self.header),
            separator: is_csv.then(|| self.separator.clone()),
            // Empty cells are meant: nobody has to be warned of them.
            fill: (is_csv && self.sparse).then_some(true),
            ..Metadata::default()
        }
    }
}

/// Writes a matrix and, but for MatrixMarket files, `<path>.mtd`. What was there is replaced; its mode and owner stay. A link is
/// followed. What is no file, a pipe or a device, is written to as it is, without metadata. Text is compressed if the name ends in
/// `.gz`.
///
/// # Errors
/// `io`, naming the path, in which case neither file is left half-written.
pub fn write(matrix: &MatrixBlock, path: &str, options: &WriteOptions) -> Result<()> {
    let local = local_path(path)?;
    if options.separator.is_empty() {
        return Err(Error::argument("cells cannot be separated by nothing"));
    }
    let mut file = PendingFile::create(&local)?;
    if options.format != FileFormat::Binary {
        file = file.packed_by_name();
    }
    let nnz = match options.format {
        FileFormat::Binary => write_blocks(&mut file, matrix, &local)?,
        _ => matrix.nnz(),
    };
    match options.format {
        FileFormat::Binary => {}
        FileFormat::Csv => {
            if options.header {
                file.write(csv::header_line(matrix.cols(), &options.separator).as_bytes())?;
            }
            write_rows(&mut file, matrix, |rows, text| {
                csv::format_rows(matrix, rows, &options.separator, options.sparse, text)
            })?;
        }
        FileFormat::Text => write_cells(&mut file, matrix, nnz)?,
        FileFormat::MatrixMarket => {
            file.write(matrix_market::header(matrix.rows(), matrix.cols(), nnz).as_bytes())?;
            write_cells(&mut file, matrix, nnz)?;
        }
        FileFormat::Libsvm => {
            write_rows(&mut file, matrix, |rows, text| {
                libsvm::format_rows(matrix, rows, text);
                Ok(())
            })?;
        }
        FileFormat::JsonLines => {
            return Err(Error::unsupported("a matrix has no JSON lines")
                .with_help("as.frame() makes a frame of it, which has"));
        }
        FileFormat::Parquet => {
            return Err(Error::unsupported("only Spark writes Parquet files")
                .with_help("run the script on Spark, or write csv, text, mm, libsvm or binary"));
        }
    }
    if options.format == FileFormat::MatrixMarket {
        cut_off::check()?;
        return finish_alone(file);
    }
    let metadata = options.metadata(matrix.rows() as u64, matrix.cols() as u64, Some(nnz as u64));
    finish_with_metadata(file, &metadata)
}

/// Writes a scalar's text as it is, and `<path>.mtd`.
///
/// # Errors
/// As [`write()`].
pub fn write_scalar(text: &str, value_type: &str, path: &str) -> Result<()> {
    let local = local_path(path)?;
    let mut file = PendingFile::create(&local)?;
    file.write(text.as_bytes())?;
    let metadata = Metadata {
        data_type: Some("scalar".into()),
        value_type: Some(value_type.into()),
        format: Some(FileFormat::Text),
        ..Metadata::default()
    };
    finish_with_metadata(file, &metadata)
}

/// Writes a frame, whose bytes `write` writes, and `<path>.mtd`.
///
/// # Errors
/// As [`write()`], and those of `write`.
pub fn write_frame(
    path: &str,
    metadata: &Metadata,
    write: impl FnOnce(&mut (dyn std::io::Write + Send)) -> Result<()>,
) -> Result<()> {
    let local = local_path(path)?;
    let mut file = PendingFile::create(&local)?;
    if let Some(FileFormat::Csv | FileFormat::JsonLines) = metadata.format {
        file = file.packed_by_name();
    }
    write(&mut file)?;
    finish_with_metadata(file, metadata)
}

/// Both files exist in full before either gets its name. Pipes and devices have no metadata.
fn finish_with_metadata(file: PendingFile, metadata: &Metadata) -> Result<()> {
    // What was written may have come from a file that is gone.
    cut_off::check()?;
    if file.is_stream() {
        return file.finish();
    }
    let described = described(&file, &metadata.to_json())?;
    finish_together(file, described)
}

/// Writes the matrix as blocks and counts its non-zeros meanwhile.
fn write_blocks(file: &mut PendingFile, matrix: &MatrixBlock, path: &Path) -> Result<usize> {
    let interrupt = Interrupt::current();
    let write = || interrupt.within(|| ipc::write(&stripes(matrix), file));
    let (written, nnz) = rayon::join(write, || matrix.nnz());
    interrupt.check()?;
    written.map_err(|error| {
        let reason = format!("cannot write {}: {}", path.display(), error.message());
        error.with_message(reason)
    })?;
    Ok(nnz)
}

/// A matrix in parts that several tasks can read at the same time; they share its buffers.
fn stripes(matrix: &MatrixBlock) -> Vec<Block> {
    const STRIPE_BYTES: usize = 8 << 20;
    let rows = matrix.rows();
    let stripes = matrix.memory_bytes().div_ceil(STRIPE_BYTES).max(1);
    let height = rows.div_ceil(stripes).max(1);
    if height >= rows {
        return vec![Block::whole(matrix.clone())];
    }
    (0..rows)
        .step_by(height)
        .map(|from| {
            let part = matrix.slice_rows(from, (from + height).min(rows));
            Block::new(from as u64, 0, part)
        })
        .collect()
}

/// The cells; an empty matrix gets the placeholder line, for readers that cannot take an empty file.
fn write_cells(file: &mut PendingFile, matrix: &MatrixBlock, nnz: usize) -> Result<()> {
    if nnz == 0 {
        return file.write(b"0 0 0\n");
    }
    if let MatrixBlock::Coordinate(coordinates) = matrix {
        return write_units(file, coordinates.stored(), 1, |stored, text| {
            cells::format_coordinates(coordinates, 0, stored, text);
            Ok(())
        });
    }
    write_rows(file, matrix, |rows, text| {
        cells::format_rows(matrix, 0, rows, text);
        Ok(())
    })
}

fn write_rows(
    file: &mut PendingFile,
    matrix: &MatrixBlock,
    format: impl Fn(Range<usize>, &mut Vec<u8>) -> Result<()> + Sync,
) -> Result<()> {
    write_units(file, matrix.rows(), matrix.cols(), format)
}

/// Formats stretches of rows, or of what else has so many cells each, on all threads and writes them in order. Of those that are
/// formatted and not written there are some at a time.
fn write_units(
    file: &mut PendingFile,
    units: usize,
    cells_of_each: usize,
    format: impl Fn(Range<usize>, &mut Vec<u8>) -> Result<()> + Sync,
) -> Result<()> {
    const CELLS_AT_A_TIME: usize = 1 << 22;
    // Cells and text stay in the cache of a core.
    const CELLS_PER_TASK: usize = 1 << 14;
    let cells = cells_of_each.max(1);
    let height = (CELLS_PER_TASK / cells).max(1);
    let tasks = units.div_ceil(height);
    let at_a_time = (CELLS_AT_A_TIME / cells / height).max(1);
    let interrupt = Interrupt::current();
    let in_order = InOrder::new(file);
    for from in (0..tasks).step_by(at_a_time) {
        let some = from..(from + at_a_time).min(tasks);
        // Unlike ranges, a bridge gives tasks out in order: texts need not wait for earlier ones.
        some.par_bridge().try_for_each(|task| {
            interrupt.check()?;
            let start = task * height;
            let mut text = in_order.text();
            format(start..(start + height).min(units), &mut text)?;
            in_order.put(task, text)
        })?;
    }
    Ok(())
}
