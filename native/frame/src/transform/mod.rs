//! Categories as numbers, by a specification, with a frame of metadata that says what stands for what.
//!
//! The metadata is that of SystemDS 3.4. A recoded column holds a cell `category·code` for each category, a binned one `min·max` for
//! each bin, a hashed one the number of its buckets. Codes count from 1, in the order in which categories appear.
//! `impute` fills missing values before all else, and the metadata keeps by what ([`Frame::column_meta`]). `omit` leaves out rows where
//! its columns miss a value; their categories have codes nevertheless. `scale` is that of SystemML 1.2, whose specifications are read too.
//! A missing value that is not filled stays missing (NaN), and so does a category that the metadata does not know. Dummy-coded, both are a row of zeros.

mod columns;
mod fill;
mod known;
mod matrix;
mod spec;
mod stored;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, MatrixBlock, memory};
use rayon::prelude::*;

pub use spec::{Binning, Coding, ColumnSpec, Filling, Scaling, Spec};
pub use stored::{store, stored_metadata, stored_specification};

use crate::{Cell, Column, ColumnMeta, ColumnType, Frame};
use columns::Coder;
use matrix::{Source, assembled};

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
    let meta = metadata(frame, spec)?;
    Ok((apply(frame, spec, &meta)?, meta))
}

/// The metadata of a frame alone: [`apply`] encodes it, and others alike.
///
/// # Errors
/// As [`encode`].
pub fn metadata(frame: &Frame, spec: &Spec) -> Result<Frame> {
    let plan = spec.columns(frame)?;
    check_no_embedding(&plan)?;
    let interrupt = Interrupt::current();
    let columns = frame.columns().iter().zip(frame.names()).zip(&plan);
    let column_meta = columns.map(|((column, name), plan)| {
        let fill = fill::fill_of(column, name, plan)?;
        Ok(ColumnMeta {
            fill,
            distinct: None,
        })
    });
    let mut column_meta = column_meta.collect::<Result<Vec<_>>>()?;
    let filled = filled_frame(frame, &plan, &column_meta)?;
    let columns = filled.columns().par_iter().zip(frame.names()).zip(&plan);
    let coders =
        columns.map(|((column, name), plan)| interrupt.within(|| Coder::build(column, name, plan)));
    let coders = coders.collect::<Result<Vec<_>>>()?;
    let meta = meta_of(frame, &coders)?;
    if column_meta.iter().all(|meta| meta.fill.is_none()) {
        return Ok(meta);
    }
    // SystemDS has no place for a fill but these.
    for (column_meta, coder) in column_meta.iter_mut().zip(&coders) {
        column_meta.distinct = coder.distinct();
    }
    meta.with_column_meta(column_meta)
}

/// The matrix of a frame by the metadata of another.
///
/// # Errors
/// As [`encode`]; `data` where a cell of the metadata does not read.
pub fn apply(frame: &Frame, spec: &Spec, meta: &Frame) -> Result<MatrixBlock> {
    let plan = spec.columns(frame)?;
    check_no_embedding(&plan)?;
    applied(frame, &plan, meta, None)
}

/// As [`apply`], where columns of `word_embedding` become as many as the embedding has: the row of the word's code.
/// A word that the metadata does not know is a row of zeros.
///
/// # Errors
/// As [`apply`]; `dimension` when the embedding has not a row for each code.
pub fn apply_embedding(
    frame: &Frame,
    spec: &Spec,
    meta: &Frame,
    embedding: &MatrixBlock,
) -> Result<MatrixBlock> {
    let plan = spec.columns(frame)?;
    applied(frame, &plan, meta, Some(embedding))
}

fn applied(
    frame: &Frame,
    plan: &[ColumnSpec],
    meta: &Frame,
    embedding: Option<&MatrixBlock>,
) -> Result<MatrixBlock> {
    let coders = coders_of(meta, plan, frame.cols())?;
    if let Some(embedding) = embedding {
        let codes = coders.iter().zip(plan);
        let codes = codes.filter(|(_, plan)| plan.coding == Coding::Embed);
        let most = codes.map(|(coder, _)| coder.codes()).max().unwrap_or(0);
        if embedding.rows() < most {
            return Err(Error::dimension(format!(
                "an embedding of {} rows for {most} words",
                embedding.rows()
            )));
        }
    }
    let mut column_meta = meta.column_meta().to_vec();
    for (col, plan) in plan.iter().enumerate() {
        // Without the metadata of a file, a constant is known.
        let fill = match &plan.fill {
            Some(Filling::Constant(text)) => Some(text.clone()),
            Some(Filling::Mean | Filling::Mode) if column_meta.is_empty() => {
                return Err(Error::data(format!(
                    "column '{}' is imputed, and the metadata does not say by what",
                    frame.names()[col]
                ))
                .with_help("write the metadata as csv, which keeps it"));
            }
            _ => continue,
        };
        if column_meta.is_empty() {
            column_meta.resize(frame.cols(), ColumnMeta::default());
        }
        if column_meta[col].fill.is_none() {
            column_meta[col].fill = fill;
        }
    }
    let filled = filled_frame(frame, plan, &column_meta)?;
    matrix_of(&kept_rows(frame, plan, filled)?, plan, &coders, embedding)
}

/// The frame that a matrix was made of: categories by their codes, and the middle of each bin.
///
/// # Errors
/// `dimension` when the matrix has not the columns that the metadata asks for; `data` where the metadata does not read; `unsupported` for
/// hashed columns, which forget their categories.
pub fn decode(matrix: &MatrixBlock, spec: &Spec, meta: &Frame) -> Result<Frame> {
    let plan = spec.columns(meta)?;
    check_no_embedding(&plan)?;
    let coders = coders_of(meta, &plan, meta.cols())?;
    let ranges = ranges(&plan, &coders, 1);
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
    check_no_embedding(&plan)?;
    let coders = coders_of(meta, &plan, meta.cols())?;
    let rows = (1..).zip(ranges(&plan, &coders, 1));
    let cells =
        rows.flat_map(|(number, (from, to))| [number, from + 1, to].map(|value| value as f64));
    MatrixBlock::dense(plan.len(), 3, cells.collect())
}

fn check_no_embedding(plan: &[ColumnSpec]) -> Result<()> {
    match plan.iter().any(|plan| plan.coding == Coding::Embed) {
        false => Ok(()),
        true => Err(Error::unsupported("word_embedding without an embedding")
            .with_help("recode the words, and give the matrix to transformapply: embedding=W")),
    }
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
fn ranges(plan: &[ColumnSpec], coders: &[Coder], words: usize) -> Vec<(usize, usize)> {
    let mut next = 0;
    let ranges = plan.iter().zip(coders).map(|(plan, coder)| {
        let from = next;
        next += match plan.dummycode {
            _ if plan.coding == Coding::Embed => words,
            true => coder.codes(),
            false => 1,
        };
        (from, next)
    });
    ranges.collect()
}

/// The matrix of a frame whose missing cells are filled.
fn matrix_of(
    frame: &Frame,
    plan: &[ColumnSpec],
    coders: &[Coder],
    embedding: Option<&MatrixBlock>,
) -> Result<MatrixBlock> {
    let words = embedding.map_or(1, MatrixBlock::cols);
    let ranges = ranges(plan, coders, words);
    let width = ranges.last().map_or(0, |(_, to)| *to);
    let interrupt = Interrupt::current();
    let sources = (0..frame.cols()).into_par_iter().map(|col| {
        interrupt.within(|| {
            let (column, name) = (&frame.columns()[col], &frame.names()[col]);
            Source::new(
                ranges[col],
                column,
                name,
                &plan[col],
                &coders[col],
                embedding,
            )
        })
    });
    let sources = sources.collect::<Result<Vec<_>>>()?;
    assembled(frame.rows(), width, &sources)
}

/// The frame with these cells in place of missing ones.
fn filled_frame(frame: &Frame, plan: &[ColumnSpec], meta: &[ColumnMeta]) -> Result<Frame> {
    if meta.iter().all(|meta| meta.fill.is_none()) {
        return Ok(frame.clone());
    }
    frame.map_columns(|col, column, name| match &meta[col].fill {
        Some(fill) if plan[col].fill.is_some() => fill::filled(column, name, &plan[col], fill),
        _ => Ok(column.clone()),
    })
}

/// Without the rows that `omit` leaves out for missing cells of the frame as it was.
fn kept_rows(frame: &Frame, plan: &[ColumnSpec], filled: Frame) -> Result<Frame> {
    match fill::kept(frame, plan)? {
        Some(rows) => filled.take(&rows),
        None => Ok(filled),
    }
}
