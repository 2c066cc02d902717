//! The frame: columns of equal length, with names.

use std::sync::Arc;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{DenseMatrix, Interrupt, MatrixBlock, memory};
use rayon::prelude::*;

use crate::{Cell, Column, ColumnType, column::ROWS_AT_ONCE, column::not_a};

/// A table of typed, named columns. Cloning is cheap; a frame never changes.
///
/// ```
/// use fulgurite_frame::{Cell, Column, ColumnType, Frame};
/// let cells = ["Graz", "Linz"].map(|text| Some(Cell::Text(text)));
/// let column = Column::of_cells(ColumnType::String, "city", cells.into_iter())?;
/// let frame = Frame::new(vec![column], Some(vec!["city".into()]))?;
/// assert_eq!(frame.cell(1, 0), Some(Cell::Text("Linz")));
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Frame(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rows: usize,
    columns: Vec<Column>,
    names: Vec<Arc<str>>,
    /// Of each column, or none.
    meta: Vec<ColumnMeta>,
}

/// What metadata of an encoding says about a column besides its cells. Csv files keep it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnMeta {
    /// What takes the place of missing cells.
    pub fill: Option<Arc<str>>,
    /// The number of categories.
    pub distinct: Option<usize>,
}

/// Frames are equal when their types, names and cells are, however they are stored. NaN equals NaN.
impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        let text = |cell: Option<Cell<'_>>| cell.map(|cell| cell.text().into_owned());
        self.rows() == other.rows()
            && self.names() == other.names()
            && self.schema() == other.schema()
            && self
                .columns()
                .iter()
                .zip(other.columns())
                .all(|(a, b)| a.cells().zip(b.cells()).all(|(a, b)| text(a) == text(b)))
    }
}

impl Frame {
    /// A frame of columns; without names they are `C1`, `C2`, …
    ///
    /// # Errors
    /// `dimension` when the columns differ in length, or there is not one name for each.
    pub fn new(columns: Vec<Column>, names: Option<Vec<Arc<str>>>) -> Result<Self> {
        let rows = columns.first().map_or(0, Column::len);
        if let Some((number, column)) = (1..).zip(&columns).find(|(_, column)| column.len() != rows)
        {
            return Err(Error::dimension(format!(
                "column 1 has {rows} rows, column {number} has {}",
                column.len()
            )));
        }
        let names = names.unwrap_or_else(|| default_names(columns.len()));
        if names.len() != columns.len() {
            return Err(Error::dimension(format!(
                "{} names for {} columns",
                names.len(),
                columns.len()
            )));
        }
        Ok(Frame(Arc::new(Inner {
            rows,
            columns,
            names,
            meta: Vec::new(),
        })))
    }

    /// The same frame with this metadata of its columns. Parts and other frames made of it have none.
    ///
    /// # Errors
    /// `dimension` when there is not one for each column.
    pub fn with_column_meta(&self, meta: Vec<ColumnMeta>) -> Result<Self> {
        if meta.len() != self.cols() {
            return Err(Error::dimension(format!(
                "metadata of {} columns for {}",
                meta.len(),
                self.cols()
            )));
        }
        Ok(Frame(Arc::new(Inner {
            rows: self.rows(),
            columns: self.columns().to_vec(),
            names: self.names().to_vec(),
            meta,
        })))
    }

    /// One for each column, or none at all.
    pub fn column_meta(&self) -> &[ColumnMeta] {
        &self.0.meta
    }

    /// A frame of one column of text for each list.
    pub(crate) fn of_texts(
        columns: &[Vec<Option<String>>],
        names: Option<Vec<Arc<str>>>,
    ) -> Result<Self> {
        let columns = columns.iter().map(|texts| {
            let cells = texts.iter().map(|text| text.as_deref().map(Cell::Text));
            Column::of_cells(ColumnType::String, "", cells)
        });
        Frame::new(columns.collect::<Result<_>>()?, names)
    }

    /// A frame with a column of type FP64 for each of the matrix.
    ///
    /// # Errors
    /// `memory`.
    pub fn from_matrix(matrix: &MatrixBlock) -> Result<Self> {
        let (rows, cols) = (matrix.rows(), matrix.cols());
        memory::cells(rows, cols)?;
        admit_columns(cols)?;
        let interrupt = Interrupt::current();
        let mut columns = Vec::new();
        for _ in 0..cols {
            columns.push(memory::zeros(rows)?);
        }
        interrupt.check()?;
        matrix.for_each_stored(|row, col, value| columns[col][row] = value);
        let columns = columns.into_iter();
        Frame::new(
            columns.map(|values| Column::Fp64(values.into())).collect(),
            None,
        )
    }

    /// The cells as numbers: `true` is 1, and a missing value is NaN.
    ///
    /// # Errors
    /// `data` with row, column and text of a cell that is no number; `memory`.
    pub fn to_matrix(&self) -> Result<MatrixBlock> {
        let (rows, cols) = (self.rows(), self.cols());
        memory::cells(rows, cols)?;
        let interrupt = Interrupt::current();
        let columns = self.columns().par_iter().zip(self.names());
        let columns =
            columns.map(|(column, name)| interrupt.within(|| column_of_numbers(column, name)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let cells = DenseMatrix::from_fn(rows, cols, |row, col| columns[col][row])?;
        MatrixBlock::Dense(cells).in_best_layout()
    }

    /// Whether it is the very same frame.
    pub fn is(&self, other: &Frame) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn rows(&self) -> usize {
        self.0.rows
    }

    pub fn cols(&self) -> usize {
        self.0.columns.len()
    }

    pub fn columns(&self) -> &[Column] {
        &self.0.columns
    }

    /// A column, counted from 0.
    pub fn column(&self, col: usize) -> Option<&Column> {
        self.0.columns.get(col)
    }

    pub fn names(&self) -> &[Arc<str>] {
        &self.0.names
    }

    /// The types of the columns.
    pub fn schema(&self) -> Vec<ColumnType> {
        self.columns().iter().map(Column::column_type).collect()
    }

    /// The value of a cell, counted from 0, or none where it is missing or there is no such cell.
    pub fn cell(&self, row: usize, col: usize) -> Option<Cell<'_>> {
        let column = self.column(col)?;
        (row < self.rows()).then(|| column.cell(row)).flatten()
    }

    /// The names as a frame of one row (`colnames`).
    ///
    /// # Errors
    /// `memory`.
    pub fn names_frame(&self) -> Result<Frame> {
        let names: Vec<_> = self
            .names()
            .iter()
            .map(|name| vec![Some(name.to_string())])
            .collect();
        Frame::of_texts(&names, None)
    }

    /// The types of the columns as a frame of one row (`typeof`).
    ///
    /// # Errors
    /// `memory`.
    pub fn schema_frame(&self) -> Result<Frame> {
        let types = self.schema().into_iter();
        let types: Vec<_> = types
            .map(|kind| vec![Some(kind.name().to_owned())])
            .collect();
        Frame::of_texts(&types, None)
    }

    /// The same columns with other names.
    ///
    /// # Errors
    /// `dimension` when there is not one name for each.
    pub fn with_names(&self, names: Vec<Arc<str>>) -> Result<Frame> {
        let renamed = Frame::new(self.columns().to_vec(), Some(names))?;
        match self.column_meta() {
            [] => Ok(renamed),
            meta => renamed.with_column_meta(meta.to_vec()),
        }
    }

    /// Bytes of the columns' buffers.
    pub fn memory_bytes(&self) -> usize {
        self.columns().iter().map(Column::memory_bytes).sum()
    }

    /// The number of the column of this name, from 0.
    ///
    /// # Errors
    /// `data` when there is none; it tells the names that are near.
    pub fn find(&self, name: &str) -> Result<usize> {
        let found = self.names().iter().position(|other| **other == *name);
        found.ok_or_else(|| {
            let near = self
                .names()
                .iter()
                .map(|other| (strsim::osa_distance(name, other), other));
            let near = near
                .filter(|(distance, _)| *distance <= 1 + name.len() / 4)
                .min();
            let error = Error::data(format!("the frame has no column '{name}'"));
            match near {
                Some((_, near)) => error.with_help(format!("did you mean '{near}'?")),
                None => error,
            }
        })
    }
}

/// Asks for the memory of so many columns, before they are made: without a row they take some all the same.
pub(crate) fn admit_columns(cols: usize) -> Result<()> {
    const BYTES_OF_A_COLUMN: usize = 512;
    memory::admit(cols.saturating_mul(BYTES_OF_A_COLUMN))
}

pub(crate) fn default_names(cols: usize) -> Vec<Arc<str>> {
    (1..=cols)
        .map(|number| format!("C{number}").into())
        .collect()
}

/// The cells of a column as numbers, NaN where they are missing.
pub(crate) fn column_of_numbers(column: &Column, name: &str) -> Result<Vec<f64>> {
    let interrupt = Interrupt::current();
    let mut numbers = memory::room(column.len())?;
    for (row, cell) in column.cells().enumerate() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        numbers.push(match cell {
            None => f64::NAN,
            Some(cell) => cell
                .number()
                .ok_or_else(|| not_a(ColumnType::Fp64, row, name, &cell.text()))?,
        });
    }
    Ok(numbers)
}
