//! Dense products of tiles, by the `gemm` crate.

/// A dense matrix inside a slice; cell (i, j) stands at `i * row_stride + j * col_stride`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    cells: &'a [f64],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> View<'a> {
    /// Rows of `cols` cells, `stride` apart.
    pub fn of_rows(cells: &'a [f64], rows: usize, cols: usize, stride: usize) -> Self {
        View {
            cells,
            rows,
            cols,
            row_stride: stride,
            col_stride: 1,
        }
    }

    pub fn transposed(self) -> Self {
        View {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    fn is_within_its_slice(&self) -> bool {
        holds(
            self.cells.len(),
            (self.rows, self.row_stride),
            (self.cols, self.col_stride),
        )
    }
}

/// Whether all cells that the strides reach lie among this many.
fn holds(
    cells: usize,
    (rows, row_stride): (usize, usize),
    (cols, col_stride): (usize, usize),
) -> bool {
    let reach = |count: usize, stride: usize| (count - 1).checked_mul(stride);
    rows == 0
        || cols == 0
        || reach(rows, row_stride)
            .zip(reach(cols, col_stride))
            .and_then(|(down, across)| down.checked_add(across))
            .is_some_and(|last| last < cells)
}

/// What becomes of the cells that a product is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Replace,
    Add,
}

/// The product of `left` and `right` into the rows of `out`, `stride` apart, on this thread. Nothing happens, and the
/// answer is false, when the shapes don't fit each other or their slices.
#[must_use]
pub(crate) fn multiply(
    left: View<'_>,
    right: View<'_>,
    out: &mut [f64],
    stride: usize,
    write: Write,
) -> bool {
    let (rows, depth, cols) = (left.rows, left.cols, right.cols);
    let fits = depth == right.rows
        && left.is_within_its_slice()
        && right.is_within_its_slice()
        && stride >= cols
        && holds(out.len(), (rows, stride), (cols, 1));
    if !fits || rows == 0 || cols == 0 {
        return fits;
    }
    if depth == 0 {
        if write == Write::Replace {
            for row in out.chunks_mut(stride).take(rows) {
                row[..cols].fill(0.0);
            }
        }
        return true;
    }
    // SAFETY: the checks above keep every cell that the strides reach within its slice, and `out` is borrowed
    // exclusively, so it overlaps neither operand.
    unsafe {
        gemm::gemm(
            rows,
            cols,
            depth,
            out.as_mut_ptr(),
            1,
            stride as isize,
            write == Write::Add,
            left.cells.as_ptr(),
            left.col_stride as isize,
            left.row_stride as isize,
            right.cells.as_ptr(),
            right.col_stride as isize,
            right.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
    true
}
