//! A block in whichever layout suits it.

use std::borrow::Cow;

use fulgurite_error::Result;

use rayon::prelude::*;

use crate::{
    CompressedBlock, CoordinateMatrix, CsrMatrix, DenseMatrix, Extent, memory,
    parallel::{TASK_CELLS, csr_by_rows, rows_per_task},
};

/// Below this share of non-zeros a block goes to CSR (SystemML's turn point).
pub const SPARSE_THRESHOLD: f64 = 0.4;

/// A sparse block that stores less than one cell in this many rows is ultra-sparse: pointers to all rows would take more than the
/// cells, and operators more time to pass over empty rows.
pub const ULTRA_SPARSE_ROWS: usize = 4;

/// A column is dense, unless it has so many rows and non-zeros in less than one of [`TALL_SHARE`]: 1 GiB of cells that nobody has
/// shown to be there.
pub const TALL_ROWS: usize = 1 << 27;

/// See [`TALL_ROWS`].
pub const TALL_SHARE: usize = 64;

/// How a block stores its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    Dense,
    Csr,
    Coordinate,
    /// Column groups, see [`crate::compressed`].
    Compressed,
}

impl Layout {
    /// The layout for a matrix with so many non-zeros.
    pub fn best(rows: usize, cols: usize, nnz: usize) -> Self {
        let is_tall = cols == 1 && rows >= TALL_ROWS && nnz < rows / TALL_SHARE;
        let is_sparse = (cols > 1 || is_tall)
            && i32::try_from(cols).is_ok()
            && (nnz as f64) < SPARSE_THRESHOLD * rows as f64 * cols as f64;
        match is_sparse {
            false => Layout::Dense,
            true if nnz < rows.div_ceil(ULTRA_SPARSE_ROWS) => Layout::Coordinate,
            true => Layout::Csr,
        }
    }
}

/// A matrix in one of the layouts.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixBlock {
    Dense(DenseMatrix),
    Csr(CsrMatrix),
    Coordinate(CoordinateMatrix),
    /// Made by [`compress`](crate::compressed::compress) alone: no operator gives it but those on compressed matrices.
    Compressed(CompressedBlock),
}

/// A matrix whose rows can be had one by one.
#[derive(Debug, Clone)]
pub enum ByRows<'a> {
    /// Of a compressed matrix, a copy of all cells.
    Dense(Cow<'a, DenseMatrix>),
    /// Of coordinates, a copy with pointers to all rows.
    Csr(Cow<'a, CsrMatrix>),
}

impl MatrixBlock {
    /// # Errors
    /// As [`DenseMatrix::new`].
    pub fn dense(rows: usize, cols: usize, values: Vec<f64>) -> Result<Self> {
        DenseMatrix::new(rows, cols, values).map(MatrixBlock::Dense)
    }

    /// # Errors
    /// As [`DenseMatrix::filled`].
    pub fn filled(rows: usize, cols: usize, value: f64) -> Result<Self> {
        DenseMatrix::filled(rows, cols, value).map(MatrixBlock::Dense)
    }

    pub fn rows(&self) -> usize {
        match self {
            MatrixBlock::Dense(dense) => dense.rows(),
            MatrixBlock::Csr(csr) => csr.rows(),
            MatrixBlock::Coordinate(coordinates) => coordinates.rows(),
            MatrixBlock::Compressed(compressed) => compressed.cells().rows(),
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            MatrixBlock::Dense(dense) => dense.cols(),
            MatrixBlock::Csr(csr) => csr.cols(),
            MatrixBlock::Coordinate(coordinates) => coordinates.cols(),
            MatrixBlock::Compressed(compressed) => compressed.cells().cols(),
        }
    }

    pub fn layout(&self) -> Layout {
        match self {
            MatrixBlock::Dense(_) => Layout::Dense,
            MatrixBlock::Csr(_) => Layout::Csr,
            MatrixBlock::Coordinate(_) => Layout::Coordinate,
            MatrixBlock::Compressed(_) => Layout::Compressed,
        }
    }

    /// The cells that are stored: all of a dense block, none of a compressed one.
    pub fn values(&self) -> &[f64] {
        match self {
            MatrixBlock::Dense(dense) => dense.values(),
            MatrixBlock::Csr(csr) => csr.values(),
            MatrixBlock::Coordinate(coordinates) => coordinates.values(),
            MatrixBlock::Compressed(_) => &[],
        }
    }

    /// How many cells are stored: all of a dense block, the non-zeros of a compressed one.
    pub fn stored(&self) -> usize {
        match self {
            MatrixBlock::Dense(dense) => dense.values().len(),
            MatrixBlock::Csr(csr) => csr.stored(),
            MatrixBlock::Coordinate(coordinates) => coordinates.stored(),
            MatrixBlock::Compressed(compressed) => compressed.cells().nnz(),
        }
    }

    /// The block, or what it is when it is not compressed: for all that has no way of its own to work on column groups.
    ///
    /// # Errors
    /// `memory` when there is none for the cells.
    pub fn plain(&self) -> Result<Cow<'_, MatrixBlock>> {
        match self {
            MatrixBlock::Dense(_) | MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) => {
                Ok(Cow::Borrowed(self))
            }
            MatrixBlock::Compressed(_) => self.expanded().map(Cow::Owned),
        }
    }

    /// As [`MatrixBlock::plain`].
    ///
    /// # Errors
    /// As [`MatrixBlock::plain`].
    pub fn into_plain(self) -> Result<Self> {
        match &self {
            MatrixBlock::Dense(_) | MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) => Ok(self),
            MatrixBlock::Compressed(_) => self.expanded(),
        }
    }

    /// In the layout that the non-zeros ask for.
    fn expanded(&self) -> Result<Self> {
        match Layout::best(self.rows(), self.cols(), self.nnz()) {
            Layout::Csr => self.to_csr().map(MatrixBlock::Csr),
            Layout::Coordinate => Ok(MatrixBlock::Coordinate((&self.to_csr()?).try_into()?)),
            Layout::Dense | Layout::Compressed => self.to_dense().map(MatrixBlock::Dense),
        }
    }

    /// For what passes over all rows.
    ///
    /// # Errors
    /// `memory` when there is none for pointers to all rows.
    pub fn by_rows(&self) -> Result<ByRows<'_>> {
        Ok(match self {
            MatrixBlock::Dense(dense) => ByRows::Dense(Cow::Borrowed(dense)),
            MatrixBlock::Csr(csr) => ByRows::Csr(Cow::Borrowed(csr)),
            MatrixBlock::Coordinate(coordinates) => ByRows::Csr(Cow::Owned(coordinates.to_csr()?)),
            MatrixBlock::Compressed(_) => match self.expanded()? {
                MatrixBlock::Dense(dense) => ByRows::Dense(Cow::Owned(dense)),
                sparse => ByRows::Csr(Cow::Owned(sparse.to_csr()?)),
            },
        })
    }

    /// Calls `visit(row, column, value)` for the stored cells, in the order of rows, then columns: for all of a dense block,
    /// and those that are not +0 of a compressed one.
    pub fn for_each_stored(&self, mut visit: impl FnMut(usize, usize, f64)) {
        match self {
            MatrixBlock::Dense(dense) => {
                for row in 0..dense.rows() {
                    for (col, value) in dense.row(row).iter().enumerate() {
                        visit(row, col, *value);
                    }
                }
            }
            MatrixBlock::Csr(csr) => {
                for row in 0..csr.rows() {
                    let (indices, values) = csr.row(row);
                    for (col, value) in indices.iter().zip(values) {
                        visit(row, *col as usize, *value);
                    }
                }
            }
            MatrixBlock::Coordinate(coordinates) => {
                let places = coordinates.row_indices().iter().zip(coordinates.indices());
                for ((row, col), value) in places.zip(coordinates.values()) {
                    visit(*row as usize, *col as usize, *value);
                }
            }
            MatrixBlock::Compressed(compressed) => compressed.cells().for_each_filled(&mut visit),
        }
    }

    /// Cells that are not 0 (NaN counts).
    pub fn nnz(&self) -> usize {
        if let MatrixBlock::Compressed(compressed) = self {
            return compressed.cells().nnz();
        }
        self.values()
            .par_chunks(TASK_CELLS)
            .map(|chunk| chunk.iter().filter(|value| **value != 0.0).count())
            .sum()
    }

    /// The extent of all cells, zeros that are not stored included. `scan` finds that of stored ones, on as many threads as the
    /// caller has; of a dense or CSR matrix it is looked for once.
    pub fn extent_by(&self, scan: impl FnOnce(&[f64]) -> Extent) -> Extent {
        let (stored, count) = match self {
            MatrixBlock::Dense(dense) => {
                return dense.extent.get_or_find(|| scan(dense.values()));
            }
            MatrixBlock::Csr(csr) => {
                let stored = csr.extent.get_or_find(|| scan(csr.values()));
                (stored, csr.stored())
            }
            MatrixBlock::Coordinate(coordinates) => {
                (scan(coordinates.values()), coordinates.stored())
            }
            MatrixBlock::Compressed(compressed) => return compressed.cells().extent(),
        };
        let cells = self.rows().saturating_mul(self.cols());
        match count < cells {
            true => stored.and(Extent::of(0.0)),
            false => stored,
        }
    }

    /// The extent of all cells.
    pub fn extent(&self) -> Extent {
        self.extent_by(Extent::of_cells)
    }

    /// Cell (row, col), counted from 0.
    pub fn get(&self, row: usize, col: usize) -> f64 {
        let (indices, values) = match self {
            MatrixBlock::Dense(dense) => return dense.row(row)[col],
            MatrixBlock::Csr(csr) => csr.row(row),
            MatrixBlock::Coordinate(coordinates) => coordinates.row(row),
            MatrixBlock::Compressed(compressed) => return compressed.cells().cell(row, col),
        };
        match indices.binary_search(&(col as i32)) {
            Ok(at) => values[at],
            Err(_) => 0.0,
        }
    }

    /// Bytes of the buffers.
    pub fn memory_bytes(&self) -> usize {
        match self {
            MatrixBlock::Dense(dense) => 8 * dense.values().len(),
            MatrixBlock::Csr(csr) => 8 * csr.pointers().len() + 12 * csr.stored(),
            MatrixBlock::Coordinate(coordinates) => 20 * coordinates.stored(),
            MatrixBlock::Compressed(compressed) => compressed.cells().memory_bytes(),
        }
    }

    /// # Errors
    /// `memory` when there is none for all cells.
    pub fn to_dense(&self) -> Result<DenseMatrix> {
        match self {
            MatrixBlock::Dense(dense) => Ok(dense.clone()),
            MatrixBlock::Csr(csr) => {
                let (rows, cols) = (csr.rows(), csr.cols());
                let mut values = memory::zeros(memory::cells(rows, cols)?)?;
                let chunk = rows_per_task(cols);
                let parts = values.par_chunks_mut((chunk * cols).max(1)).enumerate();
                parts.for_each(|(part, out)| {
                    for (row, out) in (part * chunk..).zip(out.chunks_exact_mut(cols)) {
                        let (indices, cells) = csr.row(row);
                        for (col, cell) in indices.iter().zip(cells) {
                            out[*col as usize] = *cell;
                        }
                    }
                });
                DenseMatrix::new(rows, cols, values)
            }
            MatrixBlock::Coordinate(coordinates) => {
                let (rows, cols) = (coordinates.rows(), coordinates.cols());
                let mut values = memory::zeros(memory::cells(rows, cols)?)?;
                self.for_each_stored(|row, col, cell| values[row * cols + col] = cell);
                DenseMatrix::new(rows, cols, values)
            }
            MatrixBlock::Compressed(compressed) => compressed.cells().to_dense(),
        }
    }

    /// # Errors
    /// `unsupported` when the matrix has more columns than a CSR index can hold, `memory` when there is none.
    pub fn to_csr(&self) -> Result<CsrMatrix> {
        match self {
            MatrixBlock::Csr(csr) => Ok(csr.clone()),
            MatrixBlock::Coordinate(coordinates) => coordinates.to_csr(),
            MatrixBlock::Compressed(compressed) => compressed.cells().to_csr(),
            MatrixBlock::Dense(dense) => {
                let (rows, cols) = (dense.rows(), dense.cols());
                csr_by_rows(rows, cols, cols, |task, part| {
                    for row in task {
                        part.append_dense(dense.row(row));
                    }
                })
            }
        }
    }

    /// The same matrix in the layout its sparsity asks for.
    ///
    /// # Errors
    /// As [`MatrixBlock::in_layout`].
    pub fn in_best_layout(self) -> Result<Self> {
        let best = Layout::best(self.rows(), self.cols(), self.nnz());
        self.in_layout(best)
    }

    /// The same matrix in this layout; as it is where it has too many columns for a sparse one, and where it is to be compressed,
    /// which [`compress`](crate::compressed::compress) does.
    ///
    /// # Errors
    /// `memory` when there is none for the copy.
    pub fn in_layout(self, layout: Layout) -> Result<Self> {
        if layout == self.layout()
            || (layout != Layout::Dense && i32::try_from(self.cols()).is_err())
        {
            return Ok(self);
        }
        Ok(match layout {
            Layout::Dense => MatrixBlock::Dense(self.to_dense()?),
            Layout::Csr => MatrixBlock::Csr(self.to_csr()?),
            Layout::Coordinate => MatrixBlock::Coordinate((&self.to_csr()?).try_into()?),
            Layout::Compressed => self,
        })
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
            MatrixBlock::Coordinate(coordinates) => {
                MatrixBlock::Coordinate(coordinates.part(from..to, 0..coordinates.cols()))
            }
            MatrixBlock::Compressed(compressed) => MatrixBlock::Compressed(
                compressed
                    .cells()
                    .rows_of(from..to)
                    .expect("rows of column groups are column groups"),
            ),
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

impl From<CoordinateMatrix> for MatrixBlock {
    fn from(coordinates: CoordinateMatrix) -> Self {
        MatrixBlock::Coordinate(coordinates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_all_cells_in_every_layout() {
        let cells = |i: usize, j: usize| match (i * 7 + j) % 20 {
            0 => -3.0,
            7 => f64::NAN,
            9 => 2.5,
            _ => 0.0,
        };
        let matrix: MatrixBlock = DenseMatrix::from_fn(9, 11, cells).unwrap().into();
        for layout in [Layout::Dense, Layout::Csr, Layout::Coordinate] {
            let extent = matrix.clone().in_layout(layout).unwrap().extent();
            let limits = (extent.least, extent.greatest, extent.least_magnitude);
            assert_eq!(limits, (-3.0, 2.5, 0.0), "{layout:?}");
            assert!(extent.has_nan && !extent.is_finite() && !extent.is_zero());
        }
        let ones: MatrixBlock = DenseMatrix::filled(3, 4, -1.5).unwrap().into();
        assert_eq!(ones.extent(), Extent::of(-1.5));
        assert!(!Extent::of(f64::INFINITY).is_finite() && Extent::of(-0.0).is_zero());
    }
}
