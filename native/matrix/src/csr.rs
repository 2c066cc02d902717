//! Compressed sparse rows.

use arrow::buffer::ScalarBuffer;
use fulgurite_error::{Error, Result};
use sprs::CsMatBase;

/// A CSR matrix: 4-byte column indices (ascending within a row), 8-byte row pointers that start at 0.
///
/// `sprs` keeps its structure; the buffers are Arrow's.
#[derive(Debug, Clone, PartialEq)]
pub struct CsrMatrix {
    inner: Inner,
    /// The same buffer as `inner`'s, which `sprs` only lends for a moment.
    pointers: ScalarBuffer<i64>,
}

type Inner = CsMatBase<f64, i32, ScalarBuffer<i64>, ScalarBuffer<i32>, ScalarBuffer<f64>, i64>;

impl CsrMatrix {
    /// # Errors
    /// `data` when the buffers do not describe a `rows x cols` matrix: pointers that do not ascend from 0
    /// to the number of values, indices out of range or out of order.
    pub fn new(
        rows: usize,
        cols: usize,
        pointers: impl Into<ScalarBuffer<i64>>,
        indices: impl Into<ScalarBuffer<i32>>,
        values: impl Into<ScalarBuffer<f64>>,
    ) -> Result<Self> {
        let (pointers, indices, values) = (pointers.into(), indices.into(), values.into());
        if pointers.first().is_some_and(|first| *first != 0) {
            return Err(Error::data("a CSR block's row pointers must start at 0"));
        }
        if i32::try_from(cols).is_err() {
            return Err(Error::unsupported(format!(
                "sparse blocks have at most {} columns, not {cols}",
                i32::MAX
            )));
        }
        let inner = Inner::try_new((rows, cols), pointers.clone(), indices, values).map_err(
            |(_, _, _, reason)| Error::data(format!("not a {rows} x {cols} CSR block: {reason}")),
        )?;
        Ok(CsrMatrix { inner, pointers })
    }

    /// The same cells with other values, which may be zero.
    ///
    /// # Errors
    /// `internal` when there is not one for each stored cell.
    pub fn with_values(&self, values: impl Into<ScalarBuffer<f64>>) -> Result<Self> {
        let values = values.into();
        if values.len() != self.stored() {
            return Err(Error::internal(format!(
                "{} values for {} cells",
                values.len(),
                self.stored()
            )));
        }
        let (pointers, indices, _) = self.inner.clone().into_raw_storage();
        // SAFETY: pointers and indices are those of a matrix of this shape, which were checked when that was made, and there
        // is a value for each index.
        let inner = unsafe {
            Inner::new_unchecked(
                self.inner.storage(),
                self.inner.shape(),
                pointers,
                indices,
                values,
            )
        };
        Ok(CsrMatrix {
            inner,
            pointers: self.pointers.clone(),
        })
    }

    pub fn rows(&self) -> usize {
        self.inner.rows()
    }

    pub fn cols(&self) -> usize {
        self.inner.cols()
    }

    /// Stored values (explicit zeros count).
    pub fn stored(&self) -> usize {
        self.inner.nnz()
    }

    /// Stored values that are not 0 (NaN counts).
    pub fn non_zeros(&self) -> usize {
        self.values().iter().filter(|value| **value != 0.0).count()
    }

    /// The same matrix without stored zeros.
    ///
    /// # Errors
    /// None: what is left of a CSR matrix is one.
    pub fn without_zeros(&self) -> Result<Self> {
        let non_zeros = self.non_zeros();
        let mut pointers = Vec::with_capacity(self.rows() + 1);
        let (mut indices, mut values) =
            (Vec::with_capacity(non_zeros), Vec::with_capacity(non_zeros));
        pointers.push(0i64);
        for row in 0..self.rows() {
            let (columns, cells) = self.row(row);
            for (column, cell) in columns.iter().zip(cells) {
                if *cell != 0.0 {
                    indices.push(*column);
                    values.push(*cell);
                }
            }
            pointers.push(values.len() as i64);
        }
        CsrMatrix::new(self.rows(), self.cols(), pointers, indices, values)
    }

    pub fn pointers(&self) -> &[i64] {
        &self.pointers
    }

    pub fn indices(&self) -> &[i32] {
        self.inner.indices()
    }

    pub fn values(&self) -> &[f64] {
        self.inner.data()
    }

    /// Column indices and values of a row.
    pub fn row(&self, row: usize) -> (&[i32], &[f64]) {
        let pointers = self.pointers();
        let (from, to) = (pointers[row] as usize, pointers[row + 1] as usize);
        (&self.indices()[from..to], &self.values()[from..to])
    }

    /// The `sprs` matrix, for its algorithms.
    pub fn as_sprs(&self) -> &Inner {
        &self.inner
    }

    /// The three Arrow buffers: pointers, indices, values.
    pub fn into_buffers(self) -> (ScalarBuffer<i64>, ScalarBuffer<i32>, ScalarBuffer<f64>) {
        self.inner.into_raw_storage()
    }
}
