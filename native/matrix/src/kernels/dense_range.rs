//! Ranges of dense matrices that are read where they lie.

use std::ops::Range;

use fulgurite_error::{Error, Result};

use crate::{DenseMatrix, parallel::dense_by_rows};

/// Some rows by some columns of a dense matrix: an offset into its cells, and its stride. It holds the matrix, not a copy.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseRange {
    matrix: DenseMatrix,
    rows: Range<usize>,
    cols: Range<usize>,
}

impl DenseRange {
    /// Places count from 0, and ends are outside.
    ///
    /// # Errors
    /// `internal` when a range is empty or not within the matrix.
    pub fn new(matrix: &DenseMatrix, rows: Range<usize>, cols: Range<usize>) -> Result<Self> {
        let within = |range: &Range<usize>, size| range.start < range.end && range.end <= size;
        if !within(&rows, matrix.rows()) || !within(&cols, matrix.cols()) {
            return Err(Error::internal(format!(
                "rows {rows:?} and columns {cols:?} of a {} x {} matrix were taken for a range of it",
                matrix.rows(),
                matrix.cols()
            )));
        }
        Ok(DenseRange {
            matrix: matrix.clone(),
            rows,
            cols,
        })
    }

    /// A range of this range.
    ///
    /// # Errors
    /// `internal` when a range is empty or not within this one.
    pub fn part(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Self> {
        if rows.end > self.rows() || cols.end > self.cols() {
            return Err(Error::internal(format!(
                "rows {rows:?} and columns {cols:?} of a range of {} x {}",
                self.rows(),
                self.cols()
            )));
        }
        let (top, left) = (self.rows.start, self.cols.start);
        let rows = top + rows.start..top + rows.end;
        DenseRange::new(&self.matrix, rows, left + cols.start..left + cols.end)
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    pub fn cols(&self) -> usize {
        self.cols.len()
    }

    /// Cells from a row's first to the next row's.
    pub fn stride(&self) -> usize {
        self.matrix.cols()
    }

    /// The matrix's cells from the range's first one to its last one.
    pub fn span(&self) -> &[f64] {
        let last = (self.rows.end - 1) * self.stride() + self.cols.end;
        &self.matrix.values()[self.rows.start * self.stride() + self.cols.start..last]
    }

    /// A row of it.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.matrix.row(self.rows.start + row)[self.cols.clone()]
    }

    /// Bytes of its cells, as a matrix of their own.
    pub fn memory_bytes(&self) -> usize {
        8 * self.rows() * self.cols()
    }

    /// What it is a range of.
    pub fn matrix(&self) -> &DenseMatrix {
        &self.matrix
    }

    /// The range as a matrix that shares the cells, where these follow each other without gaps: whole rows, or one row.
    pub fn without_gaps(&self) -> Option<DenseMatrix> {
        if self.cols() == self.matrix.cols() {
            return Some(self.matrix.slice_rows(self.rows.start, self.rows.end));
        }
        if self.rows() > 1 {
            return None;
        }
        let from = self.rows.start * self.stride() + self.cols.start;
        let cells = self.matrix.buffer().slice(from, self.cols());
        DenseMatrix::new(1, self.cols(), cells).ok()
    }

    /// The range as a matrix of its own. Whole rows share the cells.
    ///
    /// # Errors
    /// `memory` when there is none for the cells.
    pub fn to_dense(&self) -> Result<DenseMatrix> {
        let (rows, cols) = (self.rows(), self.cols());
        if cols == self.matrix.cols() {
            return Ok(self.matrix.slice_rows(self.rows.start, self.rows.end));
        }
        let (span, stride) = (self.span(), self.stride());
        dense_by_rows(rows, cols, cols.max(LINE_CELLS), |task, out| {
            let from = &span[task.start * stride..];
            match cols {
                1 => copy_narrow::<1>(from, stride, out),
                2 => copy_narrow::<2>(from, stride, out),
                3 => copy_narrow::<3>(from, stride, out),
                4 => copy_narrow::<4>(from, stride, out),
                _ => {
                    for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
                        out.copy_from_slice(self.row(row));
                    }
                }
            }
        })
    }
}

/// Cells of a cache line: a narrower part of a row takes as long.
pub(super) const LINE_CELLS: usize = 8;

/// Copies the first `WIDTH` cells of rows that are `stride` cells apart. A call for each row would take longer than its cells.
fn copy_narrow<const WIDTH: usize>(from: &[f64], stride: usize, out: &mut [f64]) {
    // The last row may end with the cells that are copied.
    let rows = from.chunks(stride);
    for (row, out) in rows.zip(out.as_chunks_mut::<WIDTH>().0) {
        if let Some(cells) = row.first_chunk::<WIDTH>() {
            *out = *cells;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(rows: usize, cols: usize) -> DenseMatrix {
        DenseMatrix::from_fn(rows, cols, |row, col| (10 * row + col) as f64).expect("it is small")
    }

    #[test]
    fn ranges_of_ranges_share_the_cells() {
        let matrix = numbered(5, 6);
        let range = DenseRange::new(&matrix, 1..5, 2..6).expect("it is within");
        let part = range.part(1..3, 1..3).expect("it is within");
        assert_eq!((part.rows(), part.cols(), part.stride()), (2, 2, 6));
        assert_eq!(part.to_dense().unwrap().values(), [23.0, 24.0, 33.0, 34.0]);
        assert_eq!(part.span().as_ptr(), matrix.row(2)[3..].as_ptr());
        assert_eq!(part.span().len(), 8);
        assert_eq!(part.row(1), [33.0, 34.0]);
        assert!(part.without_gaps().is_none());
    }

    #[test]
    fn rows_without_gaps_are_matrices() {
        let matrix = numbered(5, 6);
        let row = DenseRange::new(&matrix, 3..4, 1..4).expect("it is within");
        let row = row.without_gaps().expect("it is one row");
        assert_eq!(row.values().as_ptr(), matrix.row(3)[1..].as_ptr());
        assert_eq!((row.rows(), row.cols()), (1, 3));
        let rows = DenseRange::new(&matrix, 2..5, 0..6).expect("it is within");
        let rows = rows.without_gaps().expect("the rows are whole");
        assert_eq!(rows, matrix.slice_rows(2, 5));
    }

    #[test]
    fn what_is_not_within_is_refused() {
        let matrix = numbered(3, 3);
        for (rows, cols) in [(0..4, 0..1), (0..1, 2..4), (1..1, 0..3), (0..3, 3..3)] {
            assert!(DenseRange::new(&matrix, rows, cols).is_err());
        }
        let range = DenseRange::new(&matrix, 1..3, 1..3).expect("it is within");
        assert!(range.part(0..3, 0..1).is_err());
        assert!(range.part(0..2, 1..3).is_err());
    }
}
