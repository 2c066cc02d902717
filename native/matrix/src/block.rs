//! A block in whichever layout suits it.

use fulgurite_error::Result;

use rayon::prelude::*;

use crate::{
    CsrMatrix, DenseMatrix,
    kernels::parallel::{TASK_CELLS, csr_by_rows},
};

/// Below this share of non-zeros a block goes to CSR (SystemML's turn point).
pub const SPARSE_THRESHOLD: f64 = 0.4;

/// How a block stores its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    Dense,
    Csr,
}

/// A matrix in one of the layouts.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixBlock {
    Dense(DenseMatrix),
    Csr(CsrMatrix),
}

impl MatrixBlock {
    /// # Errors
    /// As [`DenseMatrix::new`].
    pub fn dense(rows: usize, cols: usize, values: Vec<f64>) -> Result<Self> {
        DenseMatrix::new(rows, cols, values).map(MatrixBlock::Dense)
    }

    pub fn filled(rows: usize, cols: usize, value: f64) -> Self {
        MatrixBlock::Dense(DenseMatrix::filled(rows, cols, value))
    }

    pub fn rows(&self) -> usize {
        match self {
            MatrixBlock::Dense(dense) => dense.rows(),
            MatrixBlock::Csr(csr) => csr.rows(),
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            MatrixBlock::Dense(dense) => dense.cols(),
            MatrixBlock::Csr(csr) => csr.cols(),
        }
    }

    pub fn layout(&self) -> Layout {
        match self {
            MatrixBlock::Dense(_) => Layout::Dense,
            MatrixBlock::Csr(_) => Layout::Csr,
        }
    }

    /// Cells that are not 0 (NaN counts).
    pub fn nnz(&self) -> usize {
        let values = match self {
            MatrixBlock::Dense(dense) => dense.values(),
            MatrixBlock::Csr(csr) => csr.values(),
        };
        values
            .par_chunks(TASK_CELLS)
            .map(|chunk| chunk.iter().filter(|value| **value != 0.0).count())
            .sum()
    }

    /// Cell (row, col), counted from 0.
    pub fn get(&self, row: usize, col: usize) -> f64 {
        match self {
            MatrixBlock::Dense(dense) => dense.row(row)[col],
            MatrixBlock::Csr(csr) => {
                let (indices, values) = csr.row(row);
                match indices.binary_search(&(col as i32)) {
                    Ok(at) => values[at],
                    Err(_) => 0.0,
                }
            }
        }
    }

    /// Bytes of the buffers.
    pub fn memory_bytes(&self) -> usize {
        match self {
            MatrixBlock::Dense(dense) => 8 * dense.values().len(),
            MatrixBlock::Csr(csr) => 8 * csr.pointers().len() + 12 * csr.stored(),
        }
    }

    pub fn to_dense(&self) -> DenseMatrix {
        match self {
            MatrixBlock::Dense(dense) => dense.clone(),
            MatrixBlock::Csr(csr) => {
                let (rows, cols) = (csr.rows(), csr.cols());
                let mut values = crate::memory::zeros(rows * cols);
                for row in 0..rows {
                    let (indices, cells) = csr.row(row);
                    for (col, cell) in indices.iter().zip(cells) {
                        values[row * cols + *col as usize] = *cell;
                    }
                }
                DenseMatrix::new(rows, cols, values).expect("the vector was sized for it")
            }
        }
    }

    /// # Errors
    /// `unsupported` when the matrix has more columns than a CSR index can hold.
    pub fn to_csr(&self) -> Result<CsrMatrix> {
        match self {
            MatrixBlock::Csr(csr) => Ok(csr.clone()),
            MatrixBlock::Dense(dense) => {
                let (rows, cols) = (dense.rows(), dense.cols());
                csr_by_rows(rows, cols, cols, |task, part| {
                    for row in task {
                        for (col, value) in dense.row(row).iter().enumerate() {
                            part.push(col, *value);
                        }
                        part.end_row();
                    }
                })
            }
        }
    }

    /// The same matrix in the layout its sparsity asks for.
    pub fn in_best_layout(self) -> Self {
        let cells = self.rows() * self.cols();
        let sparse = self.cols() > 1
            && i32::try_from(self.cols()).is_ok()
            && (self.nnz() as f64) < SPARSE_THRESHOLD * cells as f64;
        match (&self, sparse) {
            (MatrixBlock::Dense(_), true) => self.to_csr().map_or(self, MatrixBlock::Csr),
            (MatrixBlock::Csr(_), false) => MatrixBlock::Dense(self.to_dense()),
            _ => self,
        }
    }

    /// Rows `from..to` (from 0). Dense blocks share the buffer.
    pub fn slice_rows(&self, from: usize, to: usize) -> Self {
        match self {
            MatrixBlock::Dense(dense) => MatrixBlock::Dense(dense.slice_rows(from, to)),
            MatrixBlock::Csr(csr) => {
                let pointers = csr.pointers();
                let base = pointers[from];
                let (start, end) = (base as usize, pointers[to] as usize);
                let rebased: Vec<i64> = pointers[from..=to].iter().map(|p| p - base).collect();
                let (_, indices, values) = csr.clone().into_buffers();
                MatrixBlock::Csr(
                    CsrMatrix::new(
                        to - from,
                        csr.cols(),
                        rebased,
                        indices.slice(start, end - start),
                        values.slice(start, end - start),
                    )
                    .expect("a slice of a CSR matrix is one"),
                )
            }
        }
    }
}

impl From<DenseMatrix> for MatrixBlock {
    fn from(dense: DenseMatrix) -> Self {
        MatrixBlock::Dense(dense)
    }
}

impl From<CsrMatrix> for MatrixBlock {
    fn from(csr: CsrMatrix) -> Self {
        MatrixBlock::Csr(csr)
    }
}
