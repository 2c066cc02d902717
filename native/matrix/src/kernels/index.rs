//! Right indexing, and putting matrices beside or below each other.

use std::ops::Range;

use fulgurite_error::{Code, Error, Result};
use rayon::prelude::*;

use super::{dense_range::DenseRange, results::settle};
use crate::{
    ByRows, CoordinateMatrix, CsrMatrix, DenseMatrix, MatrixBlock,
    memory::{self, NewCells, Zeroed},
    parallel::{SparseRows, TASK_CELLS, cells, csr_by_rows, csr_of_known_rows, dense_by_rows},
};

/// A range of rows or columns as DML writes it: from 1, both ends inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRange {
    pub first: i64,
    pub last: i64,
}

impl IndexRange {
    pub fn new(first: i64, last: i64) -> Self {
        IndexRange { first, last }
    }

    /// Of places that are counted from 0, its end outside.
    pub fn from_zero(range: &Range<u64>) -> Self {
        IndexRange::new(range.start as i64 + 1, range.end as i64)
    }

    /// The range from 0, its end outside, of the rows or columns (`what`) of a matrix with `size` of them.
    ///
    /// # Errors
    /// `dimension` when it is empty or out of bounds.
    pub fn within(self, size: usize, what: &str) -> Result<Range<usize>> {
        let IndexRange { first, last } = self;
        let written = if first == last {
            format!("{what} {first}")
        } else {
            format!("{what}s {first}:{last}")
        };
        if first < 1 || last > size as i64 {
            return Err(
                Error::dimension(format!("{written} of a matrix with {size} {what}s"))
                    .with_code(Code::IndexOutOfRange),
            );
        }
        if first > last {
            return Err(Error::dimension(format!(
                "{written}: the lower bound is above the upper one"
            ))
            .with_code(Code::EmptyRange));
        }
        Ok(first as usize - 1..last as usize)
    }
}

/// `matrix[rows, cols]`. Whole rows of dense matrices share the cells.
///
/// # Errors
/// `dimension` when a range is empty or out of bounds.
pub fn right_index(
    matrix: &MatrixBlock,
    rows: IndexRange,
    cols: IndexRange,
) -> Result<MatrixBlock> {
    let rows = rows.within(matrix.rows(), "row")?;
    let cols = cols.within(matrix.cols(), "column")?;
    if cols.len() == matrix.cols() {
        return Ok(matrix.slice_rows(rows.start, rows.end));
    }
    part_of(matrix, rows, cols)
}

fn part_of(matrix: &MatrixBlock, rows: Range<usize>, cols: Range<usize>) -> Result<MatrixBlock> {
    match matrix {
        MatrixBlock::Compressed(_) => part_of(&*matrix.plain()?, rows, cols),
        MatrixBlock::Dense(dense) => DenseRange::new(dense, rows, cols)?
            .to_dense()
            .map(MatrixBlock::Dense),
        MatrixBlock::Coordinate(coordinates) => settle(coordinates.part(rows, cols)),
        MatrixBlock::Csr(csr) => {
            let per_row = csr.stored() / csr.rows().max(1) + 1;
            csr_by_rows(rows.len(), cols.len(), per_row, |task, out| {
                for row in task {
                    push_part(csr, rows.start + row, &cols, 0, out);
                    out.end_row();
                }
            })
            .and_then(settle)
        }
    }
}

/// `matrix[rows, cols]` to be read where it lies.
///
/// # Errors
/// `dimension`, as [`right_index`].
pub fn dense_range(matrix: &DenseMatrix, rows: IndexRange, cols: IndexRange) -> Result<DenseRange> {
    let rows = rows.within(matrix.rows(), "row")?;
    DenseRange::new(matrix, rows, cols.within(matrix.cols(), "column")?)
}

/// `range[rows, cols]` to be read where it lies.
///
/// # Errors
/// `dimension`, as [`right_index`].
pub fn part_of_range(range: &DenseRange, rows: IndexRange, cols: IndexRange) -> Result<DenseRange> {
    let rows = rows.within(range.rows(), "row")?;
    range.part(rows, cols.within(range.cols(), "column")?)
}

/// Appends the cells of a row within `cols`, moved to begin at column `to`.
pub(super) fn push_part(
    csr: &CsrMatrix,
    row: usize,
    cols: &Range<usize>,
    to: usize,
    out: &mut SparseRows,
) {
    let (indices, values) = csr.row(row);
    let from = indices.partition_point(|col| (*col as usize) < cols.start);
    let until = indices.partition_point(|col| (*col as usize) < cols.end);
    for (col, value) in indices[from..until].iter().zip(&values[from..until]) {
        out.push(*col as usize - cols.start + to, *value);
    }
}

/// Matrices of equal height beside each other.
///
/// # Errors
/// `dimension` when the heights differ or there is no matrix.
pub fn cbind(matrices: &[&MatrixBlock]) -> Result<MatrixBlock> {
    let rows = same_extent(matrices, "cbind", "rows", MatrixBlock::rows)?;
    let cols: usize = matrices.iter().map(|matrix| matrix.cols()).sum();
    if let Some(coordinates) = all_coordinates(matrices) {
        return settle(CoordinateMatrix::beside(&coordinates, rows, cols)?);
    }
    if mostly_sparse(matrices, rows, cols) {
        let parts = as_csr(matrices)?;
        let stored = |row: usize| parts.iter().map(|part| part.row(row).1.len()).sum();
        return csr_of_known_rows(rows, cols, stored, |row, mut indices, mut values| {
            let mut to = 0;
            for part in &parts {
                let (from_indices, from_values) = part.row(row);
                let (own_indices, later_indices) = indices.split_at_mut(from_indices.len());
                let (own_values, later_values) = values.split_at_mut(from_values.len());
                for (own, index) in own_indices.iter_mut().zip(from_indices) {
                    *own = index + to;
                }
                own_values.copy_from_slice(from_values);
                (indices, values) = (later_indices, later_values);
                to += part.cols() as i32;
            }
        })
        .and_then(settle);
    }
    let parts: Vec<ByRows> = matrices
        .iter()
        .map(|matrix| matrix.by_rows())
        .collect::<Result<_>>()?;
    if cols <= FEW_COLUMNS
        && let Some(dense) = all_dense(&parts)
    {
        return dense_by_rows(rows, cols, cols, |task, out| {
            narrow_beside(&dense, task, out, cols);
        })
        .map(MatrixBlock::Dense);
    }
    dense_by_rows(rows, cols, cols, |task, out| {
        for (row, mut out) in task.zip(out.chunks_exact_mut(cols)) {
            for (matrix, part) in matrices.iter().zip(&parts) {
                let (cells, rest) = out.split_at_mut(matrix.cols());
                copy_row(part, row, cells);
                out = rest;
            }
        }
    })
    .map(MatrixBlock::Dense)
}

/// Rows of so few cells cost more to find than to copy.
const FEW_COLUMNS: usize = 32;
/// Rows whose cells stay in the cache until all columns are written.
const ROWS_IN_CACHE: usize = 256;

fn all_dense<'a>(parts: &'a [ByRows]) -> Option<Vec<&'a DenseMatrix>> {
    let dense = parts.iter().map(|part| match part {
        ByRows::Dense(dense) => Some(&**dense),
        ByRows::Csr(_) => None,
    });
    dense.collect()
}

/// Rows of narrow matrices beside each other, a column at a time.
fn narrow_beside(parts: &[&DenseMatrix], rows: Range<usize>, out: &mut [f64], width: usize) {
    let mut start = rows.start;
    for out in out.chunks_mut(ROWS_IN_CACHE * width) {
        let height = out.len() / width;
        let mut to = 0;
        for part in parts {
            let cols = part.cols();
            let cells = &part.values()[start * cols..(start + height) * cols];
            for col in 0..cols {
                let column = cells[col..].iter().step_by(cols);
                let places = out[to + col..].iter_mut().step_by(width);
                places.zip(column).for_each(|(place, cell)| *place = *cell);
            }
            to += cols;
        }
        start += height;
    }
}

/// Matrices of equal width below each other.
///
/// # Errors
/// `dimension` when the widths differ or there is no matrix.
pub fn rbind(matrices: &[&MatrixBlock]) -> Result<MatrixBlock> {
    let cols = same_extent(matrices, "rbind", "columns", MatrixBlock::cols)?;
    let rows: usize = matrices.iter().map(|matrix| matrix.rows()).sum();
    if let Some(coordinates) = all_coordinates(matrices) {
        return settle(CoordinateMatrix::stacked(&coordinates, cols));
    }
    if mostly_sparse(matrices, rows, cols) {
        let parts = as_csr(matrices)?;
        let mut pointers = memory::room(rows.saturating_add(1))?;
        pointers.push(0i64);
        let mut base = 0;
        for part in &parts {
            pointers.extend(part.pointers().iter().skip(1).map(|pointer| base + pointer));
            base += part.stored() as i64;
        }
        let indices = concatenate(parts.iter().map(CsrMatrix::indices).collect())?;
        let values = concatenate(parts.iter().map(CsrMatrix::values).collect())?;
        return CsrMatrix::new(rows, cols, pointers, indices, values).and_then(settle);
    }
    // Whether they fit into memory.
    cells(rows, cols)?;
    let parts: Vec<_> = matrices
        .iter()
        .map(|matrix| matrix.to_dense())
        .collect::<Result<_>>()?;
    let cells = concatenate(parts.iter().map(|part| part.values()).collect())?;
    MatrixBlock::dense(rows, cols, cells)
}

/// The matrices, where all of them are kept as coordinates.
fn all_coordinates<'a>(matrices: &[&'a MatrixBlock]) -> Option<Vec<&'a CoordinateMatrix>> {
    let coordinates = matrices.iter().map(|matrix| match matrix {
        MatrixBlock::Coordinate(coordinates) => Some(coordinates),
        _ => None,
    });
    coordinates.collect()
}

/// One after the other, on all threads: most of the time goes into pages of the output that nobody has touched.
fn concatenate<T: Zeroed + Send + Sync>(parts: Vec<&[T]>) -> Result<Vec<T>> {
    let chunks: Vec<&[T]> = parts
        .iter()
        .flat_map(|part| part.chunks(TASK_CELLS))
        .collect();
    let mut cells = NewCells::new(parts.iter().map(|part| part.len()).sum())?;
    let places = cells.parts(chunks.iter().map(|chunk| chunk.len()));
    let places = places.into_par_iter().zip(chunks);
    places.for_each(|(place, chunk)| place.cells().copy_from_slice(chunk));
    Ok(cells.finish())
}

fn same_extent(
    matrices: &[&MatrixBlock],
    operator: &str,
    what: &str,
    extent: fn(&MatrixBlock) -> usize,
) -> Result<usize> {
    let mut extents = matrices.iter().map(|matrix| extent(matrix));
    let Some(first) = extents.next() else {
        return Err(Error::dimension(format!("{operator} needs a matrix")));
    };
    match extents.find(|extent| *extent != first) {
        None => Ok(first),
        Some(other) => Err(Error::dimension(format!(
            "{operator} needs matrices with equally many {what}, not {first} and {other}"
        ))
        .with_code(Code::ShapesDiffer)),
    }
}

/// Whether the result belongs in CSR, going by sparse parts' non-zeros and counting dense parts as full.
fn mostly_sparse(matrices: &[&MatrixBlock], rows: usize, cols: usize) -> bool {
    let stored: usize = matrices.iter().map(|matrix| matrix.stored()).sum();
    cols > 1
        && i32::try_from(cols).is_ok()
        && (stored as f64) < crate::SPARSE_THRESHOLD * rows as f64 * cols as f64
}

fn as_csr(matrices: &[&MatrixBlock]) -> Result<Vec<CsrMatrix>> {
    matrices.iter().map(|matrix| matrix.to_csr()).collect()
}

/// Into zeroed cells.
pub(super) fn copy_row(matrix: &ByRows, row: usize, out: &mut [f64]) {
    match matrix {
        ByRows::Dense(dense) => out.copy_from_slice(dense.row(row)),
        ByRows::Csr(csr) => {
            let (indices, values) = csr.row(row);
            for (col, value) in indices.iter().zip(values) {
                out[*col as usize] = *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::left_index, *};

    #[test]
    fn columns_of_dense_rows_are_read_and_written_in_tasks() {
        for height in [1, 2, 7, 63, 8191, 8193, 20_011] {
            for stride in [2, 5, 13] {
                let cells = (0..height * stride).map(|cell| cell as f64).collect();
                let matrix = MatrixBlock::dense(height, stride, cells).unwrap();
                for width in 1..stride.min(7) {
                    for first in [0, stride - width] {
                        let top = height / 3;
                        let rows = IndexRange::new(top as i64 + 1, height as i64);
                        let cols = IndexRange::new(first as i64 + 1, (first + width) as i64);
                        let part = right_index(&matrix, rows, cols).unwrap();
                        assert_eq!((part.rows(), part.cols()), (height - top, width));
                        let dense = part.to_dense().unwrap();
                        for (row, cells) in dense.values().chunks_exact(width).enumerate() {
                            let at = (top + row) * stride + first;
                            let mut expected = (at..at + width).map(|cell| cell as f64);
                            assert!(cells.iter().all(|cell| expected.next() == Some(*cell)));
                        }
                        let negative = dense.values().iter().map(|cell| -cell).collect();
                        let value = MatrixBlock::dense(height - top, width, negative).unwrap();
                        let written = left_index(matrix.clone(), &value, rows, cols).unwrap();
                        let written = written.to_dense().unwrap();
                        for (at, cell) in written.values().iter().enumerate() {
                            let (row, col) = (at / stride, at % stride);
                            let is_written = row >= top && (first..first + width).contains(&col);
                            let expected = if is_written { -(at as f64) } else { at as f64 };
                            assert_eq!(*cell, expected, "{height} x {stride} {width}");
                        }
                    }
                }
            }
        }
    }
}
