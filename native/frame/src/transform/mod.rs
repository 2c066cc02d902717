//! Categories as numbers, by a specification, with a frame of metadata that says what stands for what.
//!
//! The metadata is that of SystemDS 3.4. A recoded column holds a cell `category·code` for each category, a binned one `min·max` for
//! each bin, a hashed one the number of its buckets. Codes count from 1, in the order in which categories appear.
//! A missing value stays missing (NaN), and so does a category that the metadata does not know. Dummy-coded, both are a row of zeros.

mod columns;
mod spec;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{CsrMatrix, Interrupt, MatrixBlock, memory};
use rayon::prelude::*;

pub use spec::{Binning, Coding, ColumnSpec, Spec};

use crate::{Cell, Column, ColumnType, Frame, column::ROWS_AT_ONCE};
use columns::Coder;

/// The matrix of a frame, and the metadata to encode others alike.
///
/// # Errors
/// `data` with row and column of a cell that is no number where one is needed, or when the specification does not fit the frame; `memory`.
///
/// ```
/// use fulgurite_frame::{csv::{self, CsvFormat}, transform::{self, Spec}};
/// let frame = csv::read("Graz\nLinz\nGraz\n".as_bytes(), &CsvFormat::default(), None)?;
/// let (matrix, meta) = transform::encode(&frame, &Spec::parse("{ids: true, recode: [1]}")?)?;
/// assert_eq!(matrix.get(1, 0), 2.0);
/// assert_eq!(meta.cell(1, 0).map(|cell| cell.text().into_owned()).as_deref(), Some("Linz·2"));
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn encode(frame: &Frame, spec: &Spec) -> Result<(MatrixBlock, Frame)> {
    let plan = spec.columns(frame)?;
    let coders = coders_for(frame, &plan)?;
    let meta = meta_of(frame, &coders)?;
    Ok((matrix_of(frame, &plan, &coders)?, meta))
}

/// The metadata of a frame alone: [`apply`] encodes it, and others alike.
///
/// # Errors
/// As [`encode`].
pub fn metadata(frame: &Frame, spec: &Spec) -> Result<Frame> {
    let plan = spec.columns(frame)?;
    meta_of(frame, &coders_for(frame, &plan)?)
}

fn coders_for(frame: &Frame, plan: &[ColumnSpec]) -> Result<Vec<Coder>> {
    let interrupt = Interrupt::current();
    let columns = frame.columns().par_iter().zip(frame.names()).zip(plan);
    let coders =
        columns.map(|((column, name), plan)| interrupt.within(|| Coder::build(column, name, plan)));
    coders.collect()
}

/// The matrix of a frame by the metadata of another.
///
/// # Errors
/// As [`encode`]; `data` where a cell of the metadata does not read.
pub fn apply(frame: &Frame, spec: &Spec, meta: &Frame) -> Result<MatrixBlock> {
    let plan = spec.columns(frame)?;
    let coders = coders_of(meta, &plan, frame.cols())?;
    matrix_of(frame, &plan, &coders)
}

/// The frame that a matrix was made of: categories by their codes, and the middle of each bin.
///
/// # Errors
/// `dimension` when the matrix has not the columns that the metadata asks for; `data` where the metadata does not read; `unsupported` for
/// hashed columns, which forget their categories.
pub fn decode(matrix: &MatrixBlock, spec: &Spec, meta: &Frame) -> Result<Frame> {
    let plan = spec.columns(meta)?;
    let coders = coders_of(meta, &plan, meta.cols())?;
    let ranges = ranges(&plan, &coders);
    let width = ranges.last().map_or(0, |(_, to)| *to);
    if matrix.cols() != width {
        return Err(Error::dimension(format!(
            "the metadata describes {width} columns, the matrix has {}",
            matrix.cols()
        )));
    }
    let interrupt = Interrupt::current();
    let mut codes: Vec<Vec<f64>> = Vec::new();
    for _ in &plan {
        codes.push(memory::filled(matrix.rows(), f64::NAN)?);
    }
    let mut owner = memory::room(width)?;
    for (col, (from, to)) in ranges.iter().enumerate() {
        owner.extend((*from..*to).map(|at| (col, at - from)));
        if !plan[col].dummycode {
            codes[col].fill(0.0);
        }
    }
    interrupt.check()?;
    matrix.for_each_stored(|row, at, value| {
        let (col, place) = owner[at];
        match plan[col].dummycode {
            false => codes[col][row] = value,
            true if value != 0.0 => codes[col][row] = (place + 1) as f64,
            true => {}
        }
    });
    let columns = coders.iter().zip(meta.names()).zip(codes);
    let columns = columns.map(|((coder, name), codes)| coder.decode(&codes, name));
    Frame::new(columns.collect::<Result<_>>()?, Some(meta.names().to_vec()))
}

/// A row for each column of the frame: its number, and the first and last column of the matrix that stand for it, counted from 1.
///
/// # Errors
/// As [`apply`].
pub fn column_map(meta: &Frame, spec: &Spec) -> Result<MatrixBlock> {
    let plan = spec.columns(meta)?;
    let coders = coders_of(meta, &plan, meta.cols())?;
    let rows = (1..).zip(ranges(&plan, &coders));
    let cells =
        rows.flat_map(|(number, (from, to))| [number, from + 1, to].map(|value| value as f64));
    MatrixBlock::dense(plan.len(), 3, cells.collect())
}

fn coders_of(meta: &Frame, plan: &[ColumnSpec], cols: usize) -> Result<Vec<Coder>> {
    if meta.cols() != cols {
        return Err(Error::dimension(format!(
            "metadata of {} columns for a frame of {cols}",
            meta.cols()
        )));
    }
    let columns = meta.columns().iter().zip(meta.names()).zip(plan);
    columns
        .map(|((column, name), plan)| Coder::read(column, name, plan))
        .collect()
}

fn meta_of(frame: &Frame, coders: &[Coder]) -> Result<Frame> {
    let rows = coders.iter().map(Coder::meta_len).max().unwrap_or(0);
    let columns = coders.iter().map(|coder| {
        let cells = coder.meta();
        let missing = std::iter::repeat_n(None, rows - cells.len());
        let cells = cells
            .iter()
            .map(|text| Some(Cell::Text(text)))
            .chain(missing);
        Column::of_cells(ColumnType::String, "", cells)
    });
    Frame::new(
        columns.collect::<Result<_>>()?,
        Some(frame.names().to_vec()),
    )
}

/// The columns `from..to` of the matrix for each of the frame.
fn ranges(plan: &[ColumnSpec], coders: &[Coder]) -> Vec<(usize, usize)> {
    let mut next = 0;
    let ranges = plan.iter().zip(coders).map(|(plan, coder)| {
        let from = next;
        next += match plan.dummycode {
            true => coder.codes(),
            false => 1,
        };
        (from, next)
    });
    ranges.collect()
}

fn matrix_of(frame: &Frame, plan: &[ColumnSpec], coders: &[Coder]) -> Result<MatrixBlock> {
    let (rows, ranges) = (frame.rows(), ranges(plan, coders));
    let width = ranges.last().map_or(0, |(_, to)| *to);
    let interrupt = Interrupt::current();
    let columns = frame.columns().par_iter().zip(frame.names()).zip(coders);
    let codes =
        columns.map(|((column, name), coder)| interrupt.within(|| coder.encode(column, name)));
    let codes = codes.collect::<Result<Vec<Vec<f64>>>>()?;
    let placed = |row: usize, col: usize| {
        let (value, (from, to)) = (codes[col][row], ranges[col]);
        match plan[col].dummycode {
            false => (value != 0.0).then_some((from, value)),
            true => (value >= 1.0 && value <= (to - from) as f64)
                .then(|| (from + value as usize - 1, 1.0)),
        }
    };
    let most = memory::bytes_of::<f64>(rows.saturating_mul(frame.cols()))? / size_of::<f64>();
    if width == frame.cols() || i32::try_from(width).is_err() {
        let mut cells = memory::zeros(memory::cells(rows, width)?)?;
        for (row, cells) in cells.chunks_mut(width.max(1)).enumerate() {
            if row % ROWS_AT_ONCE == 0 {
                interrupt.check()?;
            }
            for (at, value) in (0..plan.len()).filter_map(|col| placed(row, col)) {
                cells[at] = value;
            }
        }
        return MatrixBlock::dense(rows, width, cells)?.in_best_layout();
    }
    let mut pointers = memory::room::<i64>(rows + 1)?;
    let (mut indices, mut values) = (memory::room::<i32>(most)?, memory::room::<f64>(most)?);
    pointers.push(0);
    for row in 0..rows {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        for (at, value) in (0..plan.len()).filter_map(|col| placed(row, col)) {
            // There are no more columns than an index holds.
            indices.push(at as i32);
            values.push(value);
        }
        pointers.push(values.len() as i64);
    }
    MatrixBlock::Csr(CsrMatrix::new(rows, width, pointers, indices, values)?).in_best_layout()
}
