//! Products of a block of dense rows with a matrix so [wide](fulgurite_matrix::kernels::dense_product::WIDE_COLS) that the
//! tiles of large products, whose operands are laid out anew, are the faster ones.

use fulgurite_matrix::kernels::dense_product::{
    View, Write, add_squares_in_any_room, multiply_in_any_room,
};

use super::{Whole, dense::Matrix};

/// `out = x %*% whole` for `rows` rows of `width` cells and the matrix of `width` rows, in panels or row-major.
///
/// # Safety
/// `x` has as many rows and cells, `whole` describes matrices that are there, `out` has `rows` rows of as many cells as the matrix has
/// columns, can be written, and overlaps neither.
pub(super) unsafe fn vector_matrix(
    x: Matrix<*const f64>,
    whole: &Whole,
    out: Matrix<*mut f64>,
    (rows, width): (usize, usize),
) {
    let cols = whole.cols;
    let b = Matrix {
        cells: whole.row_major.cast_const(),
        stride: whole.row_stride,
    };
    // SAFETY: a pointer that is not null comes from the frame, which holds the panels.
    let laid_out = unsafe { whole.laid_out.as_ref() };
    // Rows that are all the same one stand on top of each other.
    let at_once = if x.stride < width { 1 } else { rows };
    for from in (0..rows).step_by(at_once.max(1)) {
        // SAFETY: the caller's promise.
        let (x, cells) = unsafe {
            (
                view(x, from, at_once, width),
                cells_mut(out, from, at_once, cols),
            )
        };
        let stride = out.stride.max(cols);
        let fits = match laid_out {
            Some(panels) => panels.multiply(x, cells, stride, Write::Replace),
            None => {
                // SAFETY: the caller's promise: without panels the matrix is row-major.
                let b = unsafe { view(b, 0, width, cols) };
                multiply_in_any_room(x, b, cells, stride, Write::Replace).is_ok()
            }
        };
        if !fits {
            does_not_fit(cells);
        }
    }
}

/// `c += t(x) %*% q` for `rows` rows of `width` and of `cols` cells and the row-major `width x cols` matrix `c`.
///
/// # Safety
/// `x` and `q` have as many rows and cells, `c` has `width` rows of `cols` cells, can be written, and overlaps
/// neither.
pub(super) unsafe fn outer_product(
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    c: Matrix<*mut f64>,
    (rows, width, cols): (usize, usize, usize),
) {
    let overlap = x.stride < width || q.stride < cols;
    // The result is symmetric then, to the bit, and has been so far: all it sums up are products of these operands.
    let is_same = x.cells == q.cells && x.stride == q.stride && width == cols;
    let at_once = if overlap { 1 } else { rows };
    for from in (0..rows).step_by(at_once.max(1)) {
        // SAFETY: the caller's promise.
        let (x, q, cells) = unsafe {
            (
                view(x, from, at_once, width),
                view(q, from, at_once, cols),
                cells_mut(c, 0, width, cols),
            )
        };
        let stride = c.stride.max(cols);
        let added = match is_same {
            true => add_squares_in_any_room(x, cells, stride),
            false => multiply_in_any_room(x.transposed(), q, cells, stride, Write::Add),
        };
        if added.is_err() {
            does_not_fit(cells);
        }
    }
}

/// What no frame lets through: it checks its operands before the code runs.
fn does_not_fit(cells: &mut [f64]) {
    debug_assert!(false, "operands of a wide product don't fit");
    cells.fill(f64::NAN);
}

/// # Safety
/// The matrix has these rows, of `cols` cells.
unsafe fn view<'a>(matrix: Matrix<*const f64>, from: usize, rows: usize, cols: usize) -> View<'a> {
    let stride = matrix.stride.max(cols);
    let cells = match length(rows, cols, stride) {
        0 => &[],
        // SAFETY: the caller's promise: the last row ends there. One row alone has any stride.
        length => unsafe {
            std::slice::from_raw_parts(matrix.cells.add(from * matrix.stride), length)
        },
    };
    View::of_rows(cells, rows, cols, stride)
}

/// # Safety
/// The matrix has these rows, of `cols` cells, and they can be written.
unsafe fn cells_mut<'a>(
    matrix: Matrix<*mut f64>,
    from: usize,
    rows: usize,
    cols: usize,
) -> &'a mut [f64] {
    match length(rows, cols, matrix.stride.max(cols)) {
        0 => &mut [],
        // SAFETY: the caller's promise: the last row ends there.
        length => unsafe {
            std::slice::from_raw_parts_mut(matrix.cells.add(from * matrix.stride), length)
        },
    }
}

/// Cells from the first row's start to the last one's end.
fn length(rows: usize, cols: usize, stride: usize) -> usize {
    match rows {
        0 => 0,
        _ if cols == 0 => 0,
        _ => (rows - 1) * stride + cols,
    }
}
