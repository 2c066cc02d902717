//! Matrices inside slices: their cells lie at fixed distances.

use std::{marker::PhantomData, mem::MaybeUninit, ops::Range};

/// A dense matrix inside a slice, by rows or, transposed, by columns.
///
/// ```
/// # use fulgurite_matrix::kernels::dense_product::{View, Write, multiply};
/// // Two rows of two cells, which stand three apart, and their transpose.
/// let cells = [1.0, 2.0, 9.0, 3.0, 4.0];
/// let view = View::of_rows(&cells, 2, 2, 3);
/// let mut product = vec![0.0; 4];
/// multiply(view, view.transposed(), &mut product, 2, Write::Replace)?;
/// assert_eq!(product, [5.0, 11.0, 11.0, 25.0]);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    cells: &'a [f64],
    rows: usize,
    cols: usize,
    /// From a row to the next one, and from a column to the next one.
    down: usize,
    across: usize,
    /// The cells of a row are neighbours, or else those of a column.
    is_by_rows: bool,
}

impl<'a> View<'a> {
    /// Rows of `cols` cells, `stride` apart.
    pub fn of_rows(cells: &'a [f64], rows: usize, cols: usize, stride: usize) -> Self {
        View {
            cells,
            rows,
            cols,
            down: stride,
            across: 1,
            is_by_rows: true,
        }
    }

    pub fn transposed(self) -> Self {
        View {
            cells: self.cells,
            rows: self.cols,
            cols: self.rows,
            down: self.across,
            across: self.down,
            is_by_rows: !self.is_by_rows,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    pub(crate) fn cells(&self) -> &'a [f64] {
        self.cells
    }

    pub(crate) fn down(&self) -> usize {
        self.down
    }

    pub(crate) fn across(&self) -> usize {
        self.across
    }

    /// Whether the cells of a row are neighbours.
    pub(super) fn is_by_rows(&self) -> bool {
        self.is_by_rows
    }

    /// Some rows and columns of it.
    pub(crate) fn part(self, rows: Range<usize>, cols: Range<usize>) -> Self {
        let skipped = rows.start * self.down + cols.start * self.across;
        View {
            cells: self.cells.get(skipped..).unwrap_or(&[]),
            rows: rows.len(),
            cols: cols.len(),
            ..self
        }
    }

    /// Whether all of its cells are in its slice.
    pub(super) fn fits(&self) -> bool {
        let (lines, length, stride) = match self.is_by_rows() {
            true => (self.rows, self.cols, self.down),
            false => (self.cols, self.rows, self.across),
        };
        fits(self.cells.len(), lines, length, stride)
    }
}

/// Whether lines this far apart lie among so many cells, without overlap.
pub(super) fn fits(cells: usize, lines: usize, length: usize, stride: usize) -> bool {
    lines == 0
        || length == 0
        || (lines - 1)
            .checked_mul(stride)
            .and_then(|before| before.checked_add(length))
            .is_some_and(|end| stride >= length && end <= cells)
}

/// Rows of a matrix that is written to, `stride` apart.
///
/// It may be cut into parts, which are disjoint, so that threads write to them at the same time.
#[derive(Debug)]
pub(crate) struct ViewMut<'a> {
    start: *mut f64,
    rows: usize,
    cols: usize,
    stride: usize,
    cells: PhantomData<&'a mut [f64]>,
}

// SAFETY: it is an exclusive reference to cells, which are numbers.
unsafe impl Send for ViewMut<'_> {}

impl<'a> ViewMut<'a> {
    /// None if the rows are not in the slice.
    pub(crate) fn of_rows(
        cells: &'a mut [f64],
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Option<Self> {
        fits(cells.len(), rows, cols, stride).then_some(ViewMut {
            start: cells.as_mut_ptr(),
            rows,
            cols,
            stride,
            cells: PhantomData,
        })
    }

    /// As [`ViewMut::of_rows`], of cells that may not be numbers yet: nothing may read them before they are written.
    pub(super) fn of_room(
        room: &'a mut [MaybeUninit<f64>],
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Option<Self> {
        fits(room.len(), rows, cols, stride).then_some(ViewMut {
            start: room.as_mut_ptr().cast(),
            rows,
            cols,
            stride,
            cells: PhantomData,
        })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn cols(&self) -> usize {
        self.cols
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// The first cell. So many rows of so many cells from there on can be written by the owner of this.
    pub(super) fn start(&mut self) -> *mut f64 {
        self.start
    }

    /// Where a cell is or would be: for prefetching, nothing is read there.
    pub(super) fn address(&self, row: usize, col: usize) -> *const f64 {
        self.start.wrapping_add(row * self.stride + col)
    }

    /// All of it, while it is borrowed.
    pub(crate) fn whole(&mut self) -> ViewMut<'_> {
        self.part(0..self.rows, 0..self.cols)
    }

    /// Some rows and columns of it, while it is borrowed.
    pub(crate) fn part(&mut self, rows: Range<usize>, cols: Range<usize>) -> ViewMut<'_> {
        // SAFETY: nothing else uses this view while the part does.
        unsafe { self.alias(rows, cols) }
    }

    pub(super) fn cell(&mut self, row: usize, col: usize) -> &mut f64 {
        assert!(row < self.rows && col < self.cols);
        // SAFETY: the cell is one of the view's, which is borrowed exclusively.
        unsafe { &mut *self.start.add(row * self.stride + col) }
    }

    /// The first rows, and those from `row` on.
    pub(super) fn split_at_row(self, row: usize) -> (ViewMut<'a>, ViewMut<'a>) {
        let (rows, cols) = (self.rows, self.cols);
        // SAFETY: the parts are disjoint, and this view is used up.
        unsafe { (self.alias(0..row, 0..cols), self.alias(row..rows, 0..cols)) }
    }

    /// The first columns, and those from `col` on.
    pub(super) fn split_at_col(self, col: usize) -> (ViewMut<'a>, ViewMut<'a>) {
        let (rows, cols) = (self.rows, self.cols);
        // SAFETY: the parts are disjoint, and this view is used up.
        unsafe { (self.alias(0..rows, 0..col), self.alias(0..rows, col..cols)) }
    }

    /// Another view of some rows and columns.
    ///
    /// # Safety
    /// No cell is read or written through two views at a time.
    unsafe fn alias(&self, rows: Range<usize>, cols: Range<usize>) -> ViewMut<'a> {
        assert!(rows.start <= rows.end && rows.end <= self.rows);
        assert!(cols.start <= cols.end && cols.end <= self.cols);
        // An empty part may begin beyond the cells, where nothing is read or written.
        let skipped = rows.start * self.stride + cols.start;
        ViewMut {
            start: self.start.wrapping_add(skipped),
            rows: rows.len(),
            cols: cols.len(),
            ..*self
        }
    }
}
