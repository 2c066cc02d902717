//! Frames of parts of others: ranges, columns by name, one beside or below the other.

use std::ops::Range;

use fulgurite_error::{Error, Result};

use crate::{
    Cell, Column, ColumnType, Frame,
    frame::{admit_columns, default_names},
};

impl Frame {
    /// Rows and columns of these ranges, sharing the buffers.
    ///
    /// # Errors
    /// `dimension` when a range is not within the frame.
    pub fn slice(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Frame> {
        self.check(&rows, &cols)?;
        let columns = self.columns()[cols.clone()].iter();
        let columns = columns.map(|column| column.slice(rows.start, rows.end));
        Frame::new(columns.collect(), Some(self.names()[cols].to_vec()))
    }

    fn check(&self, rows: &Range<usize>, cols: &Range<usize>) -> Result<()> {
        for (what, range, len) in [("rows", rows, self.rows()), ("columns", cols, self.cols())] {
            if range.start > range.end || range.end > len {
                return Err(Error::dimension(format!(
                    "{what} {}:{} are not within the {len} of the frame",
                    range.start + 1,
                    range.end
                )));
            }
        }
        Ok(())
    }

    /// The columns of these names, in their order.
    ///
    /// # Errors
    /// As [`Frame::find`].
    pub fn select(&self, names: &[&str]) -> Result<Frame> {
        let found = names.iter().map(|name| self.find(name));
        let found = found.collect::<Result<Vec<_>>>()?;
        let columns = found.iter().map(|col| self.columns()[*col].clone());
        let names = found.iter().map(|col| self.names()[*col].clone());
        Frame::new(columns.collect(), Some(names.collect()))
    }

    /// The columns of this frame, then those of the other. Names that only number the columns go on from here.
    ///
    /// # Errors
    /// `dimension` when the frames differ in rows.
    pub fn cbind(&self, other: &Frame) -> Result<Frame> {
        if self.rows() != other.rows() {
            return Err(Error::dimension(format!(
                "cbind of frames with {} and {} rows",
                self.rows(),
                other.rows()
            )));
        }
        let columns = self.columns().iter().chain(other.columns()).cloned();
        let numbered = default_names(self.cols() + other.cols());
        let have_numbers = *other.names() == numbered[..other.cols()];
        let of_other = match have_numbers {
            true => &numbered[self.cols()..],
            false => other.names(),
        };
        let names = self.names().iter().chain(of_other).cloned();
        Frame::new(columns.collect(), Some(names.collect()))
    }

    /// The rows of this frame, then those of the other, whose cells become values of this one's types.
    ///
    /// # Errors
    /// `dimension` when the frames differ in columns; `data` when a cell is no value of the type; `memory`.
    pub fn rbind(&self, other: &Frame) -> Result<Frame> {
        if self.cols() != other.cols() {
            return Err(Error::dimension(format!(
                "rbind of frames with {} and {} columns",
                self.cols(),
                other.cols()
            )));
        }
        self.map_columns(|col, column, name| {
            let below = &other.columns()[col].cast(column.column_type(), name)?;
            Column::of_cells(
                column.column_type(),
                name,
                column.cells().chain(below.cells()),
            )
        })
    }

    /// This frame with the cells of another at a range, as values of this one's types.
    ///
    /// # Errors
    /// `dimension` when the range is not within the frame or not of the other's shape; `data` when a cell is no value of the type.
    pub fn assign(&self, rows: Range<usize>, cols: Range<usize>, value: &Frame) -> Result<Frame> {
        self.check(&rows, &cols)?;
        if (rows.len(), cols.len()) != (value.rows(), value.cols()) {
            return Err(Error::dimension(format!(
                "a {} x {} frame is assigned to {} x {} cells",
                value.rows(),
                value.cols(),
                rows.len(),
                cols.len()
            )));
        }
        self.map_columns(|col, column, name| {
            if !cols.contains(&col) {
                return Ok(column.clone());
            }
            let within = &value.columns()[col - cols.start].cast(column.column_type(), name)?;
            let before = (0..rows.start).map(|row| column.cell(row));
            let after = (rows.end..self.rows()).map(|row| column.cell(row));
            let cells = before.chain(within.cells()).chain(after);
            Column::of_cells(column.column_type(), name, cells)
        })
    }

    /// As [`Frame::assign`], of one value to all cells of the range.
    ///
    /// # Errors
    /// As [`Frame::assign`].
    pub fn assign_cell(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        value: Option<Cell<'_>>,
    ) -> Result<Frame> {
        self.check(&rows, &cols)?;
        self.map_columns(|col, column, name| match cols.contains(&col) {
            false => Ok(column.clone()),
            true => {
                if let Some(written) = column.with_values(rows.clone(), value)? {
                    return Ok(written);
                }
                let cells = column.cells().enumerate();
                let cells = cells.map(|(row, cell)| if rows.contains(&row) { value } else { cell });
                Column::of_cells(column.column_type(), name, cells)
            }
        })
    }

    /// This frame with the cells in which `changed` differs from `before`.
    ///
    /// # Errors
    /// `dimension` when the three differ in sizes; `data` when a cell is no value of the column's type; `memory`.
    pub fn with_changes(&self, before: &Frame, changed: &Frame) -> Result<Frame> {
        let size = (self.rows(), self.cols());
        for other in [before, changed] {
            if (other.rows(), other.cols()) != size {
                return Err(Error::dimension(format!(
                    "a {} x {} frame in place of a {} x {} one",
                    other.rows(),
                    other.cols(),
                    size.0,
                    size.1
                )));
            }
        }
        self.map_columns(|col, column, name| {
            let (before, changed) = (&before.columns()[col], &changed.columns()[col]);
            let cells = (0..size.0).map(|row| {
                let (old, new) = (before.cell(row), changed.cell(row));
                match old.map(Cell::text) == new.map(Cell::text) {
                    true => column.cell(row),
                    false => new,
                }
            });
            Column::of_cells(column.column_type(), name, cells)
        })
    }

    /// A frame of the same names whose columns `map` makes of number, column and name.
    pub(crate) fn map_columns(
        &self,
        map: impl Fn(usize, &Column, &str) -> Result<Column>,
    ) -> Result<Frame> {
        let columns = self.columns().iter().zip(self.names()).enumerate();
        let columns = columns.map(|(col, (column, name))| map(col, column, name));
        Frame::new(columns.collect::<Result<_>>()?, Some(self.names().to_vec()))
    }

    /// A frame with one value in every cell.
    ///
    /// # Errors
    /// `memory`.
    pub fn filled(value: Cell<'_>, rows: usize, cols: usize) -> Result<Frame> {
        admit_columns(cols)?;
        let cells = std::iter::repeat_n(Some(value), rows);
        let column = Column::of_cells(type_of(value), "", cells)?;
        Frame::new(vec![column; cols], None)
    }

    /// A frame with these cells, row by row. A column of numbers of several types is FP64, of other types text.
    ///
    /// # Errors
    /// `dimension` for another number of cells; `memory`.
    pub fn of_cells(cells: &[Cell<'_>], rows: usize, cols: usize) -> Result<Frame> {
        if rows.checked_mul(cols) != Some(cells.len()) {
            return Err(Error::dimension(format!(
                "{} values for a frame that is {rows} x {cols}",
                cells.len()
            )));
        }
        admit_columns(cols)?;
        let columns = (0..cols).map(|col| {
            let of_column = || cells.iter().skip(col).step_by(cols);
            let types = of_column().map(|cell| type_of(*cell));
            let common = types.reduce(ColumnType::common);
            let kind = common.unwrap_or(ColumnType::String);
            Column::of_cells(kind, "", of_column().map(|cell| Some(*cell)))
        });
        Frame::new(columns.collect::<Result<_>>()?, None)
    }

    /// One cell as a frame.
    ///
    /// # Errors
    /// `memory`.
    pub fn of_cell(value: Cell<'_>) -> Result<Frame> {
        Frame::filled(value, 1, 1)
    }
}

/// The type of columns that such values are of.
fn type_of(value: Cell<'_>) -> ColumnType {
    match value {
        Cell::Text(_) => ColumnType::String,
        Cell::Boolean(_) => ColumnType::Boolean,
        Cell::Int(_) => ColumnType::Int64,
        Cell::Fp32(_) => ColumnType::Fp32,
        Cell::Fp64(_) => ColumnType::Fp64,
    }
}
