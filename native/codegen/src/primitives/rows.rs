//! Matrix products of a block of rows, dense or CSR.

use super::dense::Matrix;
use super::sparse::SparseRows;
use super::{CsrRows, Whole, dense, narrow, sparse, sparse_vector, wide};
use fulgurite_matrix::lanes::{self, Kernel, Lanes};

/// The left operand: `rows` rows of `width` cells.
#[derive(Clone, Copy)]
pub(super) struct Left {
    pub values: *const f64,
    pub stride: usize,
    pub width: usize,
    pub csr: *const CsrRows,
    pub rows: usize,
}

impl Left {
    fn rows_of_cells(&self) -> Matrix<*const f64> {
        Matrix {
            cells: self.values,
            stride: self.stride,
        }
    }

    /// # Safety
    /// `csr` is null or can be read.
    unsafe fn is_dense(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.csr.as_ref() }.is_none_or(|csr| csr.pointers.is_null())
    }

    /// How many cells stand side by side where rows meet a row-major matrix with rows of `cells`: those where the rows
    /// are CSR, else those of a row.
    ///
    /// # Safety
    /// `csr` is null or can be read.
    unsafe fn cells_of_vectors(&self, cells: usize) -> usize {
        // SAFETY: the caller's promise.
        match unsafe { self.is_dense() } {
            false if cells > 1 => cells,
            _ => self.width,
        }
    }

    /// # Safety
    /// `csr` is null or describes `rows` rows.
    unsafe fn sparse_rows(&self) -> Option<SparseRows> {
        // SAFETY: a pointer that is not null comes from the frame.
        let csr = unsafe { self.csr.as_ref() }?;
        (!csr.pointers.is_null()).then_some(SparseRows {
            pointers: csr.pointers,
            indices: csr.indices,
            values: csr.values,
            rows: self.rows,
        })
    }
}

/// `out[row] = left[row] %*% whole` for each row of the block.
///
/// # Safety
/// See the module [`super`]: all describe memory that is there; the width is the matrix's rows.
pub(crate) unsafe extern "C" fn vector_matrix(
    values: *const f64,
    stride: usize,
    width: usize,
    csr: *const CsrRows,
    whole: *const Whole,
    out: *mut f64,
    out_stride: usize,
    rows: usize,
) {
    let left = Left {
        values,
        stride,
        width,
        csr,
        rows,
    };
    // SAFETY: the caller's promise.
    unsafe {
        let whole = &*whole;
        if left.is_dense() && whole.transposed.is_null() {
            let out = Matrix {
                cells: out,
                stride: out_stride,
            };
            return wide::vector_matrix(left.rows_of_cells(), whole, out, (rows, width));
        }
        let cells = match left.is_dense() && narrow::is_narrow(width, whole.cols) {
            true if whole.cols == 1 => narrow::side_by_side(width),
            true => narrow::side_by_side(whole.cols),
            false => left.cells_of_vectors(whole.row_stride),
        };
        let product = VectorMatrix {
            left,
            whole,
            out,
            out_stride,
        };
        lanes::run_over(cells, product);
    }
}

pub(super) struct VectorMatrix<'a> {
    pub left: Left,
    pub whole: &'a Whole,
    pub out: *mut f64,
    pub out_stride: usize,
}

impl Kernel for VectorMatrix<'_> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (left, whole) = (self.left, self.whole);
        // SAFETY: the caller's promise, here and below.
        let Some(rows) = (unsafe { left.sparse_rows() }) else {
            let transposed = Matrix {
                cells: whole.transposed.cast_const(),
                stride: whole.transposed_stride,
            };
            let out = Matrix {
                cells: self.out,
                stride: self.out_stride,
            };
            let x = left.rows_of_cells();
            let (rows, width, cols) = (left.rows, left.width, whole.cols);
            let fetches = whole.fetches != 0;
            // SAFETY: the matrix is there transposed for dense operands.
            return unsafe {
                match narrow::is_narrow(width, cols) {
                    true => narrow::dot_rows::<L>(x, transposed, out, (rows, width, cols), fetches),
                    false => dense::dot_rows::<L>(x, transposed, out, rows, width, cols),
                }
            };
        };
        let (b, stride) = (whole.row_major.cast_const(), whole.row_stride);
        // SAFETY: column indices are rows of the matrix, which is there row-major for CSR operands.
        unsafe {
            if whole.cols == 1 {
                return sparse_vector::dots::<L>(rows, b, self.out, self.out_stride);
            }
            for (at, row) in rows.iter().enumerate() {
                let out = self.out.add(at * self.out_stride);
                std::ptr::write_bytes(out, 0, whole.cols);
                sparse::add_times_matrix::<L>(row, b, stride, out, whole.cols);
            }
        }
    }
}

/// `accumulator += t(left) %*% right` over the rows of the block.
///
/// # Safety
/// As [`vector_matrix`]; the accumulator is left's width x right's width and overlaps no operand.
pub(crate) unsafe extern "C" fn outer_product(
    values: *const f64,
    stride: usize,
    width: usize,
    csr: *const CsrRows,
    right: *const f64,
    right_stride: usize,
    right_width: usize,
    accumulator: *const Whole,
    rows: usize,
) {
    let left = Left {
        values,
        stride,
        width,
        csr,
        rows,
    };
    // SAFETY: the caller's promise.
    unsafe {
        let right = Matrix {
            cells: right,
            stride: right_stride,
        };
        let accumulator = &*accumulator;
        if left.is_dense() && accumulator.transposed.is_null() {
            let sums = Matrix {
                cells: accumulator.row_major,
                stride: accumulator.row_stride,
            };
            let shape = (rows, width, right_width);
            return wide::outer_product(left.rows_of_cells(), right, sums, shape);
        }
        let cells = match left.is_dense() && narrow::is_narrow(width, right_width) {
            true => narrow::side_by_side(width),
            false => left.cells_of_vectors(accumulator.row_stride),
        };
        let product = OuterProduct {
            left,
            right,
            right_width,
            accumulator,
        };
        lanes::run_over(cells, product);
    }
}

pub(super) struct OuterProduct<'a> {
    pub left: Left,
    pub right: Matrix<*const f64>,
    pub right_width: usize,
    pub accumulator: &'a Whole,
}

impl Kernel for OuterProduct<'_> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (left, right, accumulator) = (self.left, self.right, self.accumulator);
        let cols = self.right_width;
        // SAFETY: the caller's promise, here and below.
        let Some(rows) = (unsafe { left.sparse_rows() }) else {
            let transposed = Matrix {
                cells: accumulator.transposed,
                stride: accumulator.transposed_stride,
            };
            let x = left.rows_of_cells();
            let (rows, width) = (left.rows, left.width);
            let fetches = accumulator.fetches != 0;
            // SAFETY: the accumulator is transposed for dense operands.
            return unsafe {
                match narrow::is_narrow(width, cols) {
                    true => narrow::add_scaled_rows::<L>(
                        x,
                        right,
                        transposed,
                        (rows, width, cols),
                        fetches,
                    ),
                    false => dense::add_scaled_rows::<L>(x, right, transposed, rows, width, cols),
                }
            };
        };
        let (c, stride) = (accumulator.row_major, accumulator.row_stride);
        // SAFETY: column indices are rows of the accumulator, which is row-major for CSR operands.
        unsafe {
            if cols == 1 {
                return sparse_vector::add_scaled::<L>(rows, right.cells, right.stride, c);
            }
            // While the rows of this block, which are in cache, are added up, those of the next one can come.
            let ahead = rows.together(0, rows.rows).stored;
            for (at, row) in rows.iter().enumerate() {
                row.fetch_ahead::<L>(ahead);
                let q = right.cells.add(at * right.stride);
                sparse::add_outer::<L>(row, q, c, stride, cols);
            }
        }
    }
}
