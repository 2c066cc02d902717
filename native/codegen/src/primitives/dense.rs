//! Dense kernels: blocks of dot products and of scaled additions, register-blocked over rows and columns.

use std::marker::PhantomData;

use super::lanes::{CACHE_LINE, Lanes, load, store};

/// Rows that are worked on together.
const ROWS: usize = 4;
/// Columns of the rows that are worked on together where several groups of vectors pass over them: four such
/// stretches fill half of the first-level cache.
const PANEL: usize = 512;

/// A row-major matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix<P> {
    pub cells: P,
    pub stride: usize,
}

/// A kernel for blocks of `R` rows by `K` vectors.
trait Kernel {
    /// # Safety
    /// The block, and the cells `from..to` of its rows and vectors, lie within the operands.
    unsafe fn block<const R: usize, const K: usize>(
        &self,
        row: usize,
        col: usize,
        cells: (usize, usize),
    );
}

/// Runs a kernel over `rows` rows of `width` cells and `cols` vectors, block by block.
///
/// # Safety
/// The kernel's operands have as many rows, vectors and cells.
#[inline(always)]
unsafe fn in_blocks<L: Lanes>(kernel: &impl Kernel, rows: usize, width: usize, cols: usize) {
    let panel = if cols > L::GROUP { PANEL } else { width.max(1) };
    let mut row = 0;
    while row < rows {
        let is_full = rows - row >= ROWS;
        let mut from = 0;
        // Once even without cells: dot products of nothing are 0.
        loop {
            let cells = (from, (from + panel).min(width));
            let mut col = 0;
            while col < cols {
                // SAFETY: as many rows and vectors are left, and `cells` ends by `width`.
                col += unsafe {
                    match cols - col {
                        4.. if L::GROUP == 4 => group::<4>(kernel, is_full, row, col, cells),
                        2.. => group::<2>(kernel, is_full, row, col, cells),
                        _ => group::<1>(kernel, is_full, row, col, cells),
                    }
                };
            }
            from += panel;
            if from >= width {
                break;
            }
        }
        row += if is_full { ROWS } else { 1 };
    }
}

/// A block of `K` vectors by four rows or one; gives how many vectors.
///
/// # Safety
/// As [`Kernel::block`].
#[inline(always)]
unsafe fn group<const K: usize>(
    kernel: &impl Kernel,
    is_full: bool,
    row: usize,
    col: usize,
    cells: (usize, usize),
) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        match is_full {
            true => kernel.block::<ROWS, K>(row, col, cells),
            false => kernel.block::<1, K>(row, col, cells),
        }
    }
    K
}

/// `out[r][k] = x[r] . v[k]` for `rows` rows of `width` cells and `cols` vectors.
///
/// # Safety
/// `x` has `rows` rows of `width` cells, `v` has `cols` rows of `width` cells, `out` has `rows` rows of `cols` cells,
/// and can be written.
#[inline(always)]
pub(super) unsafe fn dot_rows<L: Lanes>(
    x: Matrix<*const f64>,
    v: Matrix<*const f64>,
    out: Matrix<*mut f64>,
    rows: usize,
    width: usize,
    cols: usize,
) {
    let kernel = Dots::<L> {
        x,
        v,
        out,
        lanes: PhantomData,
    };
    // SAFETY: the caller's promise.
    unsafe { in_blocks::<L>(&kernel, rows, width, cols) }
}

struct Dots<L> {
    x: Matrix<*const f64>,
    v: Matrix<*const f64>,
    out: Matrix<*mut f64>,
    lanes: PhantomData<L>,
}

impl<L: Lanes> Kernel for Dots<L> {
    #[inline(always)]
    unsafe fn block<const R: usize, const K: usize>(
        &self,
        row: usize,
        col: usize,
        (from, to): (usize, usize),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let x = self.x.cells.add(row * self.x.stride + from);
            let v = self.v.cells.add(col * self.v.stride + from);
            let out = self.out.cells.add(row * self.out.stride + col);
            let values = dots::<L, R, K>(x, self.x.stride, v, self.v.stride, to - from);
            for (r, row) in values.iter().enumerate() {
                for (k, value) in row.iter().enumerate() {
                    let cell = out.add(r * self.out.stride + k);
                    *cell = if from == 0 { *value } else { *cell + *value };
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn dots<L: Lanes, const R: usize, const K: usize>(
    x: *const f64,
    x_stride: usize,
    v: *const f64,
    v_stride: usize,
    width: usize,
) -> [[f64; K]; R] {
    let mut sums = [[L::splat(0.0); K]; R];
    let mut at = 0;
    while at < width {
        let count = (width - at).min(L::WIDTH);
        let mut right = [L::splat(0.0); K];
        for (k, right) in right.iter_mut().enumerate() {
            // SAFETY: `at + count <= width`.
            *right = unsafe { load::<L>(v.add(k * v_stride + at), count) };
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let left = unsafe { load::<L>(x.add(r * x_stride + at), count) };
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = left.mul_add(right, *sum);
            }
        }
        at += L::WIDTH;
    }
    sums.map(|sums| sums.map(Lanes::sum))
}

/// `c[k] += sum over r of q[r][k] * x[r]` for `rows` rows of `width` cells and `cols` vectors.
///
/// # Safety
/// `x` has `rows` rows of `width` cells, `q` `rows` rows of `cols` cells, `c` has `cols` rows of `width` cells, can be
/// written, and overlaps neither.
#[inline(always)]
pub(super) unsafe fn add_scaled_rows<L: Lanes>(
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    c: Matrix<*mut f64>,
    rows: usize,
    width: usize,
    cols: usize,
) {
    let kernel = ScaledSums::<L> {
        x,
        q,
        c,
        ahead: rows * x.stride,
        lanes: PhantomData,
    };
    // SAFETY: the caller's promise.
    unsafe { in_blocks::<L>(&kernel, rows, width, cols) }
}

struct ScaledSums<L> {
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    c: Matrix<*mut f64>,
    /// From a cell of `x` to that of the next block of rows, which is fetched while this one, in the cache by now, is
    /// worked on: memory would be idle else.
    ahead: usize,
    lanes: PhantomData<L>,
}

impl<L: Lanes> Kernel for ScaledSums<L> {
    #[inline(always)]
    unsafe fn block<const R: usize, const K: usize>(
        &self,
        row: usize,
        col: usize,
        (from, to): (usize, usize),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let x = self.x.cells.add(row * self.x.stride + from);
            let q = self.q.cells.add(row * self.q.stride + col);
            let c = self.c.cells.add(col * self.c.stride + from);
            // Only the first vectors fetch.
            let ahead = if col == 0 { Some(self.ahead) } else { None };
            add_scaled::<L, R, K>(
                (x, self.x.stride),
                (q, self.q.stride),
                (c, self.c.stride),
                to - from,
                ahead,
            );
        }
    }
}

#[inline(always)]
unsafe fn add_scaled<L: Lanes, const R: usize, const K: usize>(
    (x, x_stride): (*const f64, usize),
    (q, q_stride): (*const f64, usize),
    (c, c_stride): (*mut f64, usize),
    width: usize,
    ahead: Option<usize>,
) {
    let mut factors = [[L::splat(0.0); K]; R];
    for (r, factors) in factors.iter_mut().enumerate() {
        for (k, factor) in factors.iter_mut().enumerate() {
            // SAFETY: the caller's block of factors has R rows of K cells.
            *factor = L::splat(unsafe { *q.add(r * q_stride + k) });
        }
    }
    let mut at = 0;
    while at < width {
        let count = (width - at).min(L::WIDTH);
        let mut left = [L::splat(0.0); R];
        for (r, left) in left.iter_mut().enumerate() {
            // SAFETY: `at + count <= width`.
            *left = unsafe { load::<L>(x.add(r * x_stride + at), count) };
            if let Some(ahead) = ahead
                && at % CACHE_LINE == 0
            {
                L::prefetch(x.wrapping_add(r * x_stride + at + ahead));
            }
        }
        for k in 0..K {
            // SAFETY: as above; `c` has K rows.
            unsafe {
                let target = c.add(k * c_stride + at);
                let mut sum = load::<L>(target, count);
                for (left, factors) in left.iter().zip(&factors) {
                    sum = left.mul_add(factors[k], sum);
                }
                store(sum, target, count);
            }
        }
        at += L::WIDTH;
    }
}
