//! What is known about the data an operator gives.

use std::fmt;

use fulgurite_matrix::{SPARSE_THRESHOLD, TALL_ROWS, TALL_SHARE, ULTRA_SPARSE_ROWS};

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataType {
    Matrix,
    Scalar,
    Frame,
    List,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    Double,
    Int,
    Boolean,
    String,
}

/// Rows, columns and non-zeros; `None` is unknown (-1 in JSON). Scalars are 0 x 0, as in SystemML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Characteristics {
    pub rows: Option<u64>,
    pub cols: Option<u64>,
    pub nnz: Option<u64>,
}

impl Characteristics {
    pub const UNKNOWN: Self = Characteristics {
        rows: None,
        cols: None,
        nnz: None,
    };
    pub const SCALAR: Self = Characteristics {
        rows: Some(0),
        cols: Some(0),
        nnz: None,
    };

    pub fn new(rows: Option<u64>, cols: Option<u64>, nnz: Option<u64>) -> Self {
        Characteristics { rows, cols, nnz }
    }

    /// Known dimensions, unknown non-zeros.
    pub fn dims(rows: u64, cols: u64) -> Self {
        Characteristics::new(Some(rows), Some(cols), None)
    }

    pub fn with_nnz(mut self, nnz: u64) -> Self {
        self.nnz = Some(nnz);
        self
    }

    pub fn dims_known(&self) -> bool {
        self.rows.is_some() && self.cols.is_some()
    }

    pub fn cells(&self) -> Option<u64> {
        self.rows?.checked_mul(self.cols?)
    }

    /// Share of non-zeros; 1 where the non-zeros or the dimensions are unknown.
    pub fn sparsity(&self) -> f64 {
        match (self.nnz, self.rows, self.cols) {
            // There may be more cells than an integer can count.
            (Some(nnz), Some(rows), Some(cols)) if rows > 0 && cols > 0 => {
                (nnz as f64 / (rows as f64 * cols as f64)).min(1.0)
            }
            _ => 1.0,
        }
    }

    /// So few of the cells are non-zero that the matrix is kept in CSR.
    pub fn is_stored_sparse(&self) -> bool {
        (self.cols != Some(1) || self.is_tall()) && self.sparsity() < SPARSE_THRESHOLD
    }

    /// A column that is kept as coordinates, as few others are: see [`TALL_ROWS`].
    fn is_tall(&self) -> bool {
        let (Some(rows), Some(nnz)) = (self.rows, self.nnz) else {
            return false;
        };
        rows >= TALL_ROWS as u64 && nnz < rows / TALL_SHARE as u64
    }

    /// So few that it is kept as coordinates: less than one in [`ULTRA_SPARSE_ROWS`] rows.
    pub fn is_stored_ultra_sparse(&self) -> bool {
        let (Some(rows), Some(nnz)) = (self.rows, self.nnz) else {
            return false;
        };
        self.is_stored_sparse() && nnz < rows.div_ceil(ULTRA_SPARSE_ROWS as u64)
    }

    /// Estimated bytes in memory in the layout the sparsity asks for: 8 a dense cell; 12 a non-zero and 8 a
    /// row in CSR; 20 a non-zero as coordinates. `None` where the dimensions are unknown.
    pub fn memory_bytes(&self) -> Option<u64> {
        let (rows, cols) = (self.rows?, self.cols?);
        let dense = rows.saturating_mul(cols).saturating_mul(8);
        let sparse = match self.nnz {
            Some(nnz) if self.is_stored_ultra_sparse() => nnz.saturating_mul(20),
            Some(nnz) if self.is_stored_sparse() => nnz
                .saturating_mul(12)
                .saturating_add(rows.saturating_add(1).saturating_mul(8)),
            _ => u64::MAX,
        };
        Some(dense.min(sparse))
    }

    /// Bytes in memory in whichever layout takes more, if all cells were non-zeros. `None` where the dimensions are
    /// unknown.
    pub fn largest_bytes(&self) -> Option<u64> {
        let (rows, cols) = (self.rows?, self.cols?);
        let of_cells = rows.saturating_mul(cols).saturating_mul(12);
        Some(of_cells.saturating_add(rows.saturating_add(1).saturating_mul(8)))
    }
}

impl fmt::Display for Characteristics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
        write!(
            f,
            "[{} x {}, nnz {}]",
            number(self.rows),
            number(self.cols),
            number(self.nnz)
        )
    }
}
