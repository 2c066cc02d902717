//! The `gemm` crate behind a checked interface: the only unsafe code among the kernels.

use gemm::Parallelism;

/// A dense matrix by its strides; a transposed view swaps them.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    values: &'a [f64],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> View<'a> {
    /// Rows of `cols` cells, one after the other.
    pub(crate) fn row_major(values: &'a [f64], rows: usize, cols: usize) -> Self {
        View::strided(values, rows, cols, cols, 1)
    }

    /// Cell (i, j) stands at `i * row_stride + j * col_stride`.
    pub(crate) fn strided(
        values: &'a [f64],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Self {
        if rows > 0 && cols > 0 {
            assert!((rows - 1) * row_stride + (cols - 1) * col_stride < values.len());
        }
        View {
            values,
            rows,
            cols,
            row_stride,
            col_stride,
        }
    }

    pub(crate) fn transposed(self) -> Self {
        View {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }
}

/// `out = left %*% right`, row-major with rows `out_stride` apart, on this thread or on rayon's.
pub(crate) fn multiply(
    left: View,
    right: View,
    out: &mut [f64],
    out_stride: usize,
    in_parallel: bool,
) {
    let (rows, depth, cols) = (left.rows, left.cols, right.cols);
    assert_eq!(depth, right.rows);
    if rows == 0 || cols == 0 {
        return;
    }
    assert!(out_stride >= cols && (rows - 1) * out_stride + cols <= out.len());
    if depth == 0 {
        for row in out.chunks_mut(out_stride) {
            let width = cols.min(row.len());
            row[..width].fill(0.0);
        }
        return;
    }
    let parallelism = if in_parallel {
        Parallelism::Rayon(0)
    } else {
        Parallelism::None
    };
    // SAFETY: the asserts here and in `View::strided` keep every cell that the strides reach within its
    // slice; `out` is borrowed mutably, so it overlaps neither operand.
    unsafe {
        gemm::gemm(
            rows,
            cols,
            depth,
            out.as_mut_ptr(),
            1,
            out_stride as isize,
            false,
            left.values.as_ptr(),
            left.col_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.col_stride as isize,
            right.row_stride as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}
