//! Dense matrices, row-major.

use arrow::buffer::ScalarBuffer;
use fulgurite_error::{Error, Result};

use crate::{extent::KnownExtent, memory};

/// A row-major dense matrix; `values.len() == rows * cols`.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseMatrix {
    rows: usize,
    cols: usize,
    values: ScalarBuffer<f64>,
    pub(crate) extent: KnownExtent,
}

impl DenseMatrix {
    /// # Errors
    /// `data` when `values` does not hold `rows * cols` cells.
    pub fn new(rows: usize, cols: usize, values: impl Into<ScalarBuffer<f64>>) -> Result<Self> {
        let values = values.into();
        if rows.checked_mul(cols) != Some(values.len()) {
            return Err(Error::data(format!(
                "a dense {rows} x {cols} matrix needs {} values, its buffer holds {}",
                rows as u128 * cols as u128,
                values.len()
            )));
        }
        Ok(DenseMatrix {
            rows,
            cols,
            values,
            extent: KnownExtent::default(),
        })
    }

    /// # Errors
    /// `memory` when there is none for so many cells.
    pub fn filled(rows: usize, cols: usize, value: f64) -> Result<Self> {
        let cells = memory::cells(rows, cols)?;
        let values = match value.to_bits() {
            0 => memory::zeros(cells)?,
            _ => memory::filled(cells, value)?,
        };
        DenseMatrix::new(rows, cols, values)
    }

    /// A matrix whose cell (i, j) is `cell(i, j)`, counted from 0.
    ///
    /// # Errors
    /// `memory` when there is none for so many cells.
    pub fn from_fn(
        rows: usize,
        cols: usize,
        mut cell: impl FnMut(usize, usize) -> f64,
    ) -> Result<Self> {
        let mut values = memory::room(memory::cells(rows, cols)?)?;
        for i in 0..rows {
            for j in 0..cols {
                values.push(cell(i, j));
            }
        }
        DenseMatrix::new(rows, cols, values)
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub fn buffer(&self) -> &ScalarBuffer<f64> {
        &self.values
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// The values as a vector to write into: without a copy when nobody else holds the buffer.
    ///
    /// # Errors
    /// `memory` when there is none for the copy.
    pub fn into_vec(self) -> Result<Vec<f64>> {
        let length = self.values.len();
        let buffer = self.values.into_inner();
        match buffer.into_vec::<f64>() {
            Ok(vector) if vector.len() == length => Ok(vector),
            Ok(vector) => memory::copied(&vector[..length]),
            Err(shared) => memory::copied(&ScalarBuffer::<f64>::new(shared, 0, length)),
        }
    }

    /// Rows `from..to` (from 0), sharing the buffer.
    pub fn slice_rows(&self, from: usize, to: usize) -> Self {
        DenseMatrix {
            rows: to - from,
            cols: self.cols,
            values: self.values.slice(from * self.cols, (to - from) * self.cols),
            extent: KnownExtent::default(),
        }
    }
}
