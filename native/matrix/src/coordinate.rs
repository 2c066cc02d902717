//! Coordinates: the layout of ultra-sparse matrices.

use std::ops::Range;

use arrow::buffer::ScalarBuffer;
use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use crate::{CsrMatrix, Interrupt, memory};

/// A matrix most of whose rows are empty: its stored cells by row, then by column, each with both. An empty row takes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct CoordinateMatrix {
    rows: usize,
    cols: usize,
    row_indices: ScalarBuffer<i64>,
    indices: ScalarBuffer<i32>,
    values: ScalarBuffer<f64>,
}

/// The rows of a matrix that are not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactRows {
    /// Their numbers (from 0) in the whole matrix, ascending.
    pub numbers: Vec<usize>,
    pub csr: CsrMatrix,
}

/// Whether an index can hold the columns.
fn check_cols(cols: usize) -> Result<()> {
    i32::try_from(cols).map(drop).map_err(|_| {
        Error::unsupported(format!(
            "sparse blocks have at most {} columns, not {cols}",
            i32::MAX
        ))
    })
}

impl CoordinateMatrix {
    /// # Errors
    /// `data` when the buffers do not describe a `rows x cols` matrix: they differ in length, a cell is out of range, out of
    /// order, or there twice. `unsupported` when there are more columns than an index can hold.
    pub fn new(
        rows: usize,
        cols: usize,
        row_indices: impl Into<ScalarBuffer<i64>>,
        indices: impl Into<ScalarBuffer<i32>>,
        values: impl Into<ScalarBuffer<f64>>,
    ) -> Result<Self> {
        let (row_indices, indices, values) = (row_indices.into(), indices.into(), values.into());
        check_cols(cols)?;
        let refused = |reason: String| {
            Err(Error::data(format!(
                "not a {rows} x {cols} block of coordinates: {reason}"
            )))
        };
        let stored = values.len();
        if row_indices.len() != stored || indices.len() != stored {
            return refused(format!(
                "{} rows, {} columns and {stored} values",
                row_indices.len(),
                indices.len()
            ));
        }
        let mut last = None;
        for cell in row_indices.iter().zip(indices.iter()) {
            let (row, col) = (usize::try_from(*cell.0), usize::try_from(*cell.1));
            if !row.is_ok_and(|row| row < rows) || !col.is_ok_and(|col| col < cols) {
                return refused(format!("cell ({}, {}) from 0", cell.0, cell.1));
            }
            if last.is_some_and(|last| last >= cell) {
                return refused("its cells are not in order, or one is there twice".into());
            }
            last = Some(cell);
        }
        Ok(CoordinateMatrix {
            rows,
            cols,
            row_indices,
            indices,
            values,
        })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Stored values (explicit zeros count).
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// The row of each stored value.
    pub fn row_indices(&self) -> &[i64] {
        &self.row_indices
    }

    /// The column of each stored value.
    pub fn indices(&self) -> &[i32] {
        &self.indices
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Which of the stored values are those of some rows.
    pub fn stored_in(&self, rows: Range<usize>) -> Range<usize> {
        let before = |limit: usize| {
            self.row_indices
                .partition_point(|row| (*row as usize) < limit)
        };
        before(rows.start)..before(rows.end)
    }

    /// Column indices and values of a row, which is looked for.
    pub fn row(&self, row: usize) -> (&[i32], &[f64]) {
        let stored = self.stored_in(row..row + 1);
        (&self.indices[stored.clone()], &self.values[stored])
    }

    /// Rows `rows`, with columns `cols` of them, as a matrix of their own.
    pub fn part(&self, rows: Range<usize>, cols: Range<usize>) -> Self {
        let stored = self.stored_in(rows.clone());
        let whole_rows = cols == (0..self.cols);
        let places: Vec<usize> = stored
            .clone()
            .filter(|at| whole_rows || cols.contains(&(self.indices[*at] as usize)))
            .collect();
        let row_indices: Vec<i64> = places
            .iter()
            .map(|at| self.row_indices[*at] - rows.start as i64)
            .collect();
        let (indices, values) = match whole_rows {
            true => (
                self.indices.slice(stored.start, stored.len()),
                self.values.slice(stored.start, stored.len()),
            ),
            false => (
                places
                    .iter()
                    .map(|at| self.indices[*at] - cols.start as i32)
                    .collect(),
                places.iter().map(|at| self.values[*at]).collect(),
            ),
        };
        CoordinateMatrix {
            rows: rows.len(),
            cols: cols.len(),
            row_indices: row_indices.into(),
            indices,
            values,
        }
    }

    /// The same cells with other values, in their order.
    ///
    /// # Errors
    /// `internal` when there is not one for each.
    pub fn with_values(&self, values: Vec<f64>) -> Result<Self> {
        if values.len() != self.stored() {
            return Err(Error::internal(format!(
                "{} values for {} cells",
                values.len(),
                self.stored()
            )));
        }
        Ok(CoordinateMatrix {
            values: values.into(),
            ..self.clone()
        })
    }

    /// The rows that are not empty; they share the buffers of columns and values.
    pub fn compact(&self) -> CompactRows {
        let (mut numbers, mut pointers) = (Vec::new(), Vec::new());
        for (at, row) in self.row_indices.iter().enumerate() {
            let row = *row as usize;
            if numbers.last() != Some(&row) {
                numbers.push(row);
                pointers.push(at as i64);
            }
        }
        pointers.push(self.stored() as i64);
        let csr = self.csr(numbers.len(), pointers);
        CompactRows { numbers, csr }
    }

    /// With pointers to all rows.
    ///
    /// # Errors
    /// `memory` when there is none for the pointers.
    pub fn to_csr(&self) -> Result<CsrMatrix> {
        let mut pointers = memory::room(self.rows.saturating_add(1))?;
        pointers.push(0);
        for (at, row) in self.row_indices.iter().enumerate() {
            while pointers.len() <= *row as usize {
                pointers.push(at as i64);
            }
        }
        pointers.resize(self.rows + 1, self.stored() as i64);
        Ok(self.csr(self.rows, pointers))
    }

    fn csr(&self, rows: usize, pointers: Vec<i64>) -> CsrMatrix {
        let (indices, values) = (self.indices.clone(), self.values.clone());
        CsrMatrix::new(rows, self.cols, pointers, indices, values)
            .expect("coordinates in order are rows in order")
    }

    /// # Errors
    /// `unsupported` when there are more rows than a column index can hold.
    pub fn transpose(&self) -> Result<Self> {
        let mut cells: Vec<(i32, i64, f64)> = (self.indices.iter())
            .zip(self.row_indices.iter())
            .zip(self.values.iter())
            .map(|((col, row), value)| (*col, *row, *value))
            .collect();
        // No two are at one place, so that an unstable sort has one result.
        Interrupt::unwinding(|interrupt| {
            let key = |(col, row, _): &(i32, i64, f64)| (*col, *row);
            cells.par_sort_unstable_by_key(interrupt.key(key));
        })?;
        if i32::try_from(self.rows).is_err() {
            return Err(Error::unsupported(format!(
                "the transpose of a sparse {} x {} matrix has too many columns",
                self.rows, self.cols
            )));
        }
        Ok(CoordinateMatrix {
            rows: self.cols,
            cols: self.rows,
            row_indices: cells.iter().map(|(col, ..)| i64::from(*col)).collect(),
            indices: cells.iter().map(|(_, row, _)| *row as i32).collect(),
            values: cells.iter().map(|(.., value)| *value).collect(),
        })
    }

    /// f of the cells stored on either side of matrices of one shape, where f(0, 0) = 0. Zeros are left out.
    pub fn merge(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let (mut row_indices, mut indices, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let place = |matrix: &Self, at: usize| {
            Some((*matrix.row_indices.get(at)?, *matrix.indices.get(at)?))
        };
        let (mut left, mut right) = (0, 0);
        loop {
            let places = (place(self, left), place(other, right));
            let Some((row, col)) = places.0.into_iter().chain(places.1).min() else {
                break;
            };
            let (mut x, mut y) = (0.0, 0.0);
            if places.0 == Some((row, col)) {
                x = self.values[left];
                left += 1;
            }
            if places.1 == Some((row, col)) {
                y = other.values[right];
                right += 1;
            }
            let value = f(x, y);
            if value != 0.0 {
                row_indices.push(row);
                indices.push(col);
                values.push(value);
            }
        }
        CoordinateMatrix {
            rows: self.rows,
            cols: self.cols,
            row_indices: row_indices.into(),
            indices: indices.into(),
            values: values.into(),
        }
    }

    /// Matrices of equal height beside each other.
    ///
    /// # Errors
    /// `unsupported` when there are more columns than an index can hold, `memory` when there is none for the cells.
    pub(crate) fn beside(parts: &[&Self], rows: usize, cols: usize) -> Result<Self> {
        check_cols(cols)?;
        let mut cells: Vec<(i64, i32, f64)> =
            memory::room(parts.iter().map(|part| part.stored()).sum())?;
        let mut to = 0;
        for part in parts {
            let places = part.row_indices.iter().zip(part.indices.iter());
            let part_cells = places.zip(part.values.iter());
            cells.extend(part_cells.map(|((row, col), value)| (*row, col + to, *value)));
            to += part.cols as i32;
        }
        // No two are at one place, so that an unstable sort has one result.
        Interrupt::unwinding(|interrupt| {
            let key = |(row, col, _): &(i64, i32, f64)| (*row, *col);
            cells.par_sort_unstable_by_key(interrupt.key(key));
        })?;
        let row_indices = memory::collected(cells.iter().map(|(row, ..)| *row))?;
        let indices = memory::collected(cells.iter().map(|(_, col, _)| *col))?;
        let values = memory::collected(cells.iter().map(|(.., value)| *value))?;
        CoordinateMatrix::new(rows, cols, row_indices, indices, values)
    }

    /// Matrices of equal width below each other.
    pub(crate) fn stacked(parts: &[&Self], cols: usize) -> Self {
        let (mut row_indices, mut indices, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut rows = 0;
        for part in parts {
            row_indices.extend(part.row_indices.iter().map(|row| row + rows as i64));
            indices.extend_from_slice(&part.indices);
            values.extend_from_slice(&part.values);
            rows += part.rows;
        }
        CoordinateMatrix {
            rows,
            cols,
            row_indices: row_indices.into(),
            indices: indices.into(),
            values: values.into(),
        }
    }

    /// The buffers: rows, columns and values.
    pub fn into_buffers(self) -> (ScalarBuffer<i64>, ScalarBuffer<i32>, ScalarBuffer<f64>) {
        (self.row_indices, self.indices, self.values)
    }
}

impl TryFrom<&CsrMatrix> for CoordinateMatrix {
    type Error = Error;

    fn try_from(csr: &CsrMatrix) -> Result<Self> {
        let mut row_indices = memory::room(csr.stored())?;
        for (row, pointers) in csr.pointers().windows(2).enumerate() {
            let stored = (pointers[1] - pointers[0]) as usize;
            row_indices.resize(row_indices.len() + stored, row as i64);
        }
        let (_, indices, values) = csr.clone().into_buffers();
        Ok(CoordinateMatrix {
            rows: csr.rows(),
            cols: csr.cols(),
            row_indices: row_indices.into(),
            indices,
            values,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MatrixBlock;

    fn three_cells() -> CoordinateMatrix {
        let rows = vec![1i64, 1, 6];
        CoordinateMatrix::new(9, 4, rows, vec![0, 3, 2], vec![1.0, -2.0, f64::NAN]).unwrap()
    }

    /// Debug prints compare NaN with itself.
    fn cells(matrix: &MatrixBlock) -> String {
        format!("{:?}", matrix.to_dense().unwrap())
    }

    #[test]
    fn coordinates_are_the_same_matrix_as_csr() {
        let coordinates = three_cells();
        let csr = coordinates.to_csr().unwrap();
        assert_eq!(csr.pointers(), [0, 0, 2, 2, 2, 2, 2, 3, 3, 3]);
        let back = CoordinateMatrix::try_from(&csr).unwrap();
        assert_eq!(back.row_indices(), coordinates.row_indices());
        assert_eq!(cells(&csr.into()), cells(&coordinates.clone().into()));
        let compact = coordinates.compact();
        assert_eq!(compact.numbers, [1, 6]);
        assert_eq!(compact.csr.pointers(), [0, 2, 3]);
        assert_eq!((compact.csr.rows(), compact.csr.cols()), (2, 4));
    }

    #[test]
    fn parts_and_transposes_are_those_of_the_dense_matrix() {
        let coordinates = three_cells();
        let dense = coordinates.to_csr().unwrap();
        for (rows, cols) in [
            (0..9, 0..4),
            (1..2, 0..4),
            (1..7, 1..3),
            (2..6, 0..1),
            (3..3, 0..4),
        ] {
            let part = coordinates.part(rows.clone(), cols.clone());
            assert_eq!((part.rows(), part.cols()), (rows.len(), cols.len()));
            let part = MatrixBlock::from(part);
            for (at, row) in rows.enumerate() {
                for (to, col) in cols.clone().enumerate() {
                    let expected = MatrixBlock::from(dense.clone()).get(row, col);
                    assert_eq!(part.get(at, to).to_bits(), expected.to_bits());
                }
            }
        }
        let turned = coordinates.transpose().unwrap();
        assert_eq!(turned.row_indices(), [0, 2, 3]);
        assert_eq!(turned.indices(), [1, 6, 1]);
        let back = turned.transpose().unwrap();
        assert_eq!(cells(&back.into()), cells(&coordinates.into()));
    }

    #[test]
    fn merging_drops_what_becomes_zero() {
        let left = CoordinateMatrix::new(5, 2, vec![0i64, 3], vec![1, 0], vec![2.0, 3.0]).unwrap();
        let right = CoordinateMatrix::new(5, 2, vec![0i64, 4], vec![1, 0], vec![2.0, 5.0]).unwrap();
        let difference = left.merge(&right, |x, y| x - y);
        assert_eq!(difference.row_indices(), [3, 4]);
        assert_eq!(difference.values(), [3.0, -5.0]);
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        let refusal = |rows: Vec<i64>, cols: Vec<i32>, values: Vec<f64>| {
            let refused = CoordinateMatrix::new(3, 2, rows, cols, values).unwrap_err();
            refused.message().to_owned()
        };
        insta::assert_snapshot!(
            [
                refusal(vec![0], vec![0, 1], vec![1.0, 2.0]),
                refusal(vec![3], vec![0], vec![1.0]),
                refusal(vec![-1], vec![0], vec![1.0]),
                refusal(vec![0], vec![2], vec![1.0]),
                refusal(vec![1, 0], vec![0, 0], vec![1.0, 2.0]),
                refusal(vec![1, 1], vec![1, 1], vec![1.0, 2.0]),
            ]
            .join("\n")
        );
    }
}
