//! Cell functions: dictionaries change, codes stay.

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::{ColumnGroup, CompressedMatrix};
use crate::{kernels, memory};

impl CompressedMatrix {
    /// `f` of each cell. It is called once for each value of a dictionary, and for each cell of groups that are not compressed.
    ///
    /// # Errors
    /// `memory` when there is none for the new dictionaries.
    pub fn unary(&self, f: impl Fn(f64) -> f64 + Sync) -> Result<Self> {
        self.by_column(|_, value| f(value))
    }

    /// As [`CompressedMatrix::unary`], with f over slices of one length.
    ///
    /// # Errors
    /// As [`CompressedMatrix::unary`].
    pub fn unary_over_slices(&self, f: impl Fn(&[f64], &mut [f64]) + Sync) -> Result<Self> {
        let over = |tuples: &[f64]| {
            let mut out = memory::zeros(tuples.len())?;
            f(tuples, &mut out);
            Ok(out.into())
        };
        let groups = self
            .groups
            .par_iter()
            .map(|group| group.with_values(over, |block| kernels::unary_over_slices(block, &f)));
        Ok(self.with_groups(groups.collect::<Result<Vec<_>>>()?))
    }

    /// `f(cell, scalar)` of each cell: also comparisons, and `X != 0`.
    ///
    /// # Errors
    /// As [`CompressedMatrix::unary`].
    pub fn with_scalar(&self, scalar: f64, f: impl Fn(f64, f64) -> f64 + Sync) -> Result<Self> {
        self.by_column(|_, value| f(value, scalar))
    }

    /// `f(cell, row[column])` of each cell.
    ///
    /// # Errors
    /// `dimension` unless the row has a cell for each column; as [`CompressedMatrix::unary`].
    pub fn with_row(&self, row: &[f64], f: impl Fn(f64, f64) -> f64 + Sync) -> Result<Self> {
        if row.len() != self.cols {
            return Err(Error::dimension(format!(
                "a row of {} cells for a compressed matrix of {} columns",
                row.len(),
                self.cols
            )));
        }
        self.by_column(|column, value| f(value, row[column]))
    }

    /// Cells that are `pattern` become `replacement`; NaN is a pattern too.
    ///
    /// # Errors
    /// As [`CompressedMatrix::unary`].
    pub fn replace(&self, pattern: f64, replacement: f64) -> Result<Self> {
        self.unary(|value| {
            let is_it = value == pattern || (value.is_nan() && pattern.is_nan());
            if is_it { replacement } else { value }
        })
    }

    fn by_column(&self, f: impl Fn(usize, f64) -> f64 + Sync) -> Result<Self> {
        let groups = self.groups.par_iter().map(|group| {
            let columns = group.columns();
            group.mapped(|column, value| f(columns[column] as usize, value))
        });
        Ok(self.with_groups(groups.collect::<Result<Vec<_>>>()?))
    }

    fn with_groups(&self, groups: Vec<ColumnGroup>) -> Self {
        CompressedMatrix {
            rows: self.rows,
            cols: self.cols,
            groups: groups.into(),
        }
    }
}
