//! Matrix products of a block of rows, dense or CSR.

use super::dense::Matrix;
use super::lanes::{Lanes, Portable};
use super::sparse::SparseRow;
use super::{CsrRows, Whole, dense, sparse};

/// The left operand: `rows` rows of `width` cells.
#[derive(Clone, Copy)]
struct Left {
    values: *const f64,
    stride: usize,
    width: usize,
    csr: *const CsrRows,
    rows: usize,
}

impl Left {
    fn rows_of_cells(&self) -> Matrix<*const f64> {
        Matrix {
            cells: self.values,
            stride: self.stride,
        }
    }

    /// # Safety
    /// `csr` is null or describes `rows` rows.
    unsafe fn sparse_rows(&self) -> Option<impl Iterator<Item = SparseRow> + use<>> {
        // SAFETY: a pointer that is not null comes from the frame.
        let csr = unsafe { self.csr.as_ref() }?;
        if csr.pointers.is_null() {
            return None;
        }
        let (pointers, indices, values) = (csr.pointers, csr.indices, csr.values);
        Some((0..self.rows).map(move |row| {
            // SAFETY: `rows + 1` pointers ascend within `indices` and `values`.
            unsafe {
                let (from, to) = (*pointers.add(row) as usize, *pointers.add(row + 1) as usize);
                SparseRow {
                    indices: indices.add(from),
                    values: values.add(from),
                    stored: to.wrapping_sub(from),
                }
            }
        }))
    }
}

/// `out[row] = left[row] %*% whole` for each row of the block.
///
/// # Safety
/// See the module [`super`]: all describe memory that is there; the width is the matrix's rows.
pub(super) unsafe extern "C" fn vector_matrix(
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
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        // SAFETY: the features were detected; the rest is the caller's promise.
        return unsafe { vector_matrix_avx2(left, &*whole, out, out_stride) };
    }
    // SAFETY: the caller's promise.
    unsafe { vector_matrix_with::<Portable>(left, &*whole, out, out_stride) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn vector_matrix_avx2(left: Left, whole: &Whole, out: *mut f64, out_stride: usize) {
    // SAFETY: the caller's promise.
    unsafe { vector_matrix_with::<super::lanes::Avx2>(left, whole, out, out_stride) }
}

#[inline(always)]
unsafe fn vector_matrix_with<L: Lanes>(
    left: Left,
    whole: &Whole,
    out: *mut f64,
    out_stride: usize,
) {
    // SAFETY: the caller's promise, here and below.
    match unsafe { left.sparse_rows() } {
        Some(rows) => {
            for (at, row) in rows.enumerate() {
                // SAFETY: column indices are rows of the matrix, which is there row-major for CSR operands.
                unsafe {
                    let out = out.add(at * out_stride);
                    if whole.cols == 1 {
                        *out = sparse::dot(row, whole.row_major);
                    } else {
                        let (b, stride) = (whole.row_major, whole.row_stride);
                        std::ptr::write_bytes(out, 0, whole.cols);
                        sparse::add_times_matrix::<L>(row, b, stride, out, whole.cols);
                    }
                }
            }
        }
        // SAFETY: the matrix is there transposed for dense operands.
        None => unsafe {
            dense::dot_rows::<L>(
                left.rows_of_cells(),
                Matrix {
                    cells: whole.transposed.cast_const(),
                    stride: whole.transposed_stride,
                },
                Matrix {
                    cells: out,
                    stride: out_stride,
                },
                left.rows,
                left.width,
                whole.cols,
            );
        },
    }
}

/// `accumulator += t(left) %*% right` over the rows of the block.
///
/// # Safety
/// As [`vector_matrix`]; the accumulator is left's width x right's width and overlaps no operand.
pub(super) unsafe extern "C" fn outer_product(
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
    let right = (right, right_stride, right_width);
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        // SAFETY: the features were detected; the rest is the caller's promise.
        return unsafe { outer_product_avx2(left, right, &*accumulator) };
    }
    // SAFETY: the caller's promise.
    unsafe { outer_product_with::<Portable>(left, right, &*accumulator) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn outer_product_avx2(left: Left, right: (*const f64, usize, usize), accumulator: &Whole) {
    // SAFETY: the caller's promise.
    unsafe { outer_product_with::<super::lanes::Avx2>(left, right, accumulator) }
}

#[inline(always)]
unsafe fn outer_product_with<L: Lanes>(
    left: Left,
    (right, right_stride, cols): (*const f64, usize, usize),
    accumulator: &Whole,
) {
    // SAFETY: the caller's promise, here and below.
    match unsafe { left.sparse_rows() } {
        Some(rows) => {
            for (at, row) in rows.enumerate() {
                // SAFETY: column indices are rows of the accumulator, which is row-major for CSR operands.
                unsafe {
                    let q = right.add(at * right_stride);
                    if cols == 1 {
                        sparse::add_scaled(row, *q, accumulator.row_major);
                    } else {
                        let (c, stride) = (accumulator.row_major, accumulator.row_stride);
                        sparse::add_outer::<L>(row, q, c, stride, cols);
                    }
                }
            }
        }
        // SAFETY: the accumulator is transposed for dense operands.
        None => unsafe {
            dense::add_scaled_rows::<L>(
                left.rows_of_cells(),
                Matrix {
                    cells: right,
                    stride: right_stride,
                },
                Matrix {
                    cells: accumulator.transposed,
                    stride: accumulator.transposed_stride,
                },
                left.rows,
                left.width,
                cols,
            );
        },
    }
}
