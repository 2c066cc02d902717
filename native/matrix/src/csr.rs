//! Compressed sparse rows.

use arrow::buffer::ScalarBuffer;
use fulgurite_error::{Error, Result};
use rayon::prelude::*;
use sprs::{CompressedStorage, CsMatBase};

use crate::{
    extent::KnownExtent,
    memory,
    vector_math::{Work, vectorized},
};

/// A CSR matrix: 4-byte column indices (ascending within a row), 8-byte row pointers that start at 0.
///
/// `sprs` keeps its structure; the buffers are Arrow's.
#[derive(Debug, Clone, PartialEq)]
pub struct CsrMatrix {
    inner: Inner,
    /// The same buffer as `inner`'s, which `sprs` only lends for a moment.
    pointers: ScalarBuffer<i64>,
    pub(crate) extent: KnownExtent,
    pub(crate) copied: Copied,
}

/// How many cells were copied to assign ranges, one after the other: matrices do not differ by that.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Copied {
    pub(crate) cells: u64,
}

impl PartialEq for Copied {
    fn eq(&self, _: &Self) -> bool {
        true
    }
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
        let shape = (rows, cols);
        let inner = match is_sound(shape, &pointers, &indices, values.len()) {
            // SAFETY: the buffers have the lengths, the order and the ranges that a matrix of this shape has.
            true => unsafe {
                Inner::new_unchecked(
                    CompressedStorage::CSR,
                    shape,
                    pointers.clone(),
                    indices,
                    values,
                )
            },
            // What is wrong with them, one by one.
            false => Inner::try_new(shape, pointers.clone(), indices, values).map_err(
                |(_, _, _, reason)| {
                    Error::data(format!("not a {rows} x {cols} CSR block: {reason}"))
                },
            )?,
        };
        Ok(CsrMatrix {
            inner,
            pointers,
            extent: KnownExtent::default(),
            copied: Copied::default(),
        })
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
            extent: KnownExtent::default(),
            copied: Copied::default(),
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
    /// `memory` when there is none for what is left.
    pub fn without_zeros(&self) -> Result<Self> {
        let non_zeros = self.non_zeros();
        let mut pointers = memory::room(self.rows() + 1)?;
        let (mut indices, mut values) = (memory::room(non_zeros)?, memory::room(non_zeros)?);
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

    /// The three Arrow buffers: pointers, indices, values.
    pub fn into_buffers(self) -> (ScalarBuffer<i64>, ScalarBuffer<i32>, ScalarBuffer<f64>) {
        self.inner.into_raw_storage()
    }
}

/// The buffers are those of a CSR matrix: pointers ascend from 0 to the number of values, and indices ascend within each row and
/// are columns.
///
/// Not row by row, as rows are short: wherever an index is not more than the one before it, a row must start.
fn is_sound(
    (rows, cols): (usize, usize),
    pointers: &[i64],
    indices: &[i32],
    values: usize,
) -> bool {
    let ends = (pointers.first(), pointers.last());
    let stored = values as i64;
    if pointers.len() != rows + 1 || ends != (Some(&0), Some(&stored)) || indices.len() != values {
        return false;
    }
    const TASK: usize = 1 << 18;
    // Places between neighbours: those of a chunk, and the one behind it.
    let chunks = indices.par_chunks(TASK).enumerate().map(|(chunk, part)| {
        let end = (chunk * TASK + part.len() + 1).min(indices.len());
        vectorized(Descents(&indices[chunk * TASK..end], cols as i32))
    });
    let Some(descents) = chunks.try_reduce(|| 0, |a, b| Some(a + b)) else {
        return false;
    };
    let starts = pointers.par_windows(2).with_min_len(TASK).map(|bounds| {
        let (start, end) = (bounds[0], bounds[1]);
        if start > end || start < 0 || end > stored {
            return None;
        }
        // Empty rows start where the next one does, which counts.
        let is_start = start > 0 && start < end;
        Some(usize::from(
            is_start && {
                let start = start as usize;
                indices[start - 1] >= indices[start]
            },
        ))
    });
    starts.try_reduce(|| 0, |a, b| Some(a + b)) == Some(descents)
}

/// How many indices are not less than the one behind them; `None` where one is not a column.
struct Descents<'a>(&'a [i32], i32);

impl Work for Descents<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        let Descents(indices, cols) = self;
        let mut are_columns = true;
        for index in indices {
            are_columns &= *index >= 0 && *index < cols;
        }
        let later = indices.get(1..).unwrap_or_default();
        let mut descents = 0u32;
        for (index, next) in indices.iter().zip(later) {
            descents += u32::from(index >= next);
        }
        are_columns.then_some(descents as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buffers_that_describe_no_matrix_are_refused() {
        let made = |pointers: &[i64], indices: &[i32]| {
            let values = vec![1.0; indices.len()];
            CsrMatrix::new(2, 3, pointers.to_vec(), indices.to_vec(), values)
        };
        assert!(made(&[0, 2, 3], &[0, 2, 1]).is_ok());
        assert!(made(&[0, 0, 3], &[0, 1, 2]).is_ok());
        assert!(made(&[0, 3, 3], &[0, 1, 2]).is_ok());
        for (pointers, indices) in [
            (&[0, 2, 3][..], &[2, 0, 1][..]),
            (&[0, 2, 3], &[1, 1, 0]),
            (&[0, 1, 3], &[2, 1, 0]),
            (&[0, 2, 3], &[0, 3, 1]),
            (&[0, 2, 3], &[-1, 2, 1]),
            (&[0, 2], &[0, 2]),
            (&[0, 2, 1], &[0]),
            (&[0, 4, 3], &[0, 1, 2]),
            (&[0, -1, 3], &[0, 1, 2]),
            (&[0, 1, 2], &[0, 1, 2]),
        ] {
            assert!(made(pointers, indices).is_err(), "{pointers:?} {indices:?}");
        }
    }

    proptest! {
        #[test]
        fn soundness_is_what_the_library_says(
            pointers in proptest::collection::vec(-1i64..6, 1..5), indices in proptest::collection::vec(-1i32..4, 0..6),
        ) {
            let rows = pointers.len() - 1;
            let values = vec![1.0; indices.len()];
            let expected = pointers[0] == 0 && CsMatBase::<f64, i32, Vec<i64>, Vec<i32>, Vec<f64>, i64>::try_new(
                (rows, 3), pointers.clone(), indices.clone(), values,
            ).is_ok();
            prop_assert_eq!(is_sound((rows, 3), &pointers, &indices, indices.len()), expected);
        }
    }
}
