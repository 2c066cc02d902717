//! Dense kernels: blocks of dot products and of scaled additions, register-blocked over rows and columns.

use std::marker::PhantomData;

use super::lanes::{CACHE_LINE, LANES, Lanes};

/// Rows that are worked on together.
const ROWS: usize = 4;
/// Vectors of the right operand that are worked on together: 4 x 2 accumulators, 4 + 2 operands of 16 registers.
const COLS: usize = 2;
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
unsafe fn in_blocks(kernel: &impl Kernel, rows: usize, width: usize, cols: usize) {
    let panel = if cols > COLS { PANEL } else { width.max(1) };
    let mut row = 0;
    while row < rows {
        let is_full = rows - row >= ROWS;
        let mut from = 0;
        // Once even without cells: dot products of nothing are 0.
        loop {
            let cells = (from, (from + panel).min(width));
            let mut col = 0;
            while col < cols {
                let is_pair = cols - col >= COLS;
                // SAFETY: as many rows and vectors are left, and `cells` ends by `width`.
                unsafe {
                    match (is_full, is_pair) {
                        (true, true) => kernel.block::<ROWS, COLS>(row, col, cells),
                        (true, false) => kernel.block::<ROWS, 1>(row, col, cells),
                        (false, true) => kernel.block::<1, COLS>(row, col, cells),
                        (false, false) => kernel.block::<1, 1>(row, col, cells),
                    }
                }
                col += if is_pair { COLS } else { 1 };
            }
            from += panel;
            if from >= width {
                break;
            }
        }
        row += if is_full { ROWS } else { 1 };
    }
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
    unsafe { in_blocks(&kernel, rows, width, cols) }
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
    let whole = width - width % LANES;
    let mut at = 0;
    while at < whole {
        let mut right = [L::splat(0.0); K];
        for (k, right) in right.iter_mut().enumerate() {
            // SAFETY: `at + LANES <= width`.
            *right = unsafe { L::load(v.add(k * v_stride + at)) };
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let left = unsafe { L::load(x.add(r * x_stride + at)) };
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = left.mul_add(right, *sum);
            }
        }
        at += LANES;
    }
    let mut totals = [[0.0; K]; R];
    for (r, totals) in totals.iter_mut().enumerate() {
        for (k, total) in totals.iter_mut().enumerate() {
            *total = sums[r][k].sum();
            for at in whole..width {
                // SAFETY: `at < width`.
                *total += unsafe { *x.add(r * x_stride + at) * *v.add(k * v_stride + at) };
            }
        }
    }
    totals
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
    unsafe { in_blocks(&kernel, rows, width, cols) }
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
    let mut numbers = [[0.0; K]; R];
    let mut factors = [[L::splat(0.0); K]; R];
    for r in 0..R {
        for k in 0..K {
            // SAFETY: the caller's block of factors has R rows of K cells.
            numbers[r][k] = unsafe { *q.add(r * q_stride + k) };
            factors[r][k] = L::splat(numbers[r][k]);
        }
    }
    let whole = width - width % LANES;
    let mut at = 0;
    while at < whole {
        let mut left = [L::splat(0.0); R];
        for (r, left) in left.iter_mut().enumerate() {
            // SAFETY: `at + LANES <= width`.
            *left = unsafe { L::load(x.add(r * x_stride + at)) };
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
                let mut sum = L::load(target);
                for (left, factors) in left.iter().zip(&factors) {
                    sum = left.mul_add(factors[k], sum);
                }
                sum.store(target);
            }
        }
        at += LANES;
    }
    for at in whole..width {
        for k in 0..K {
            for (r, numbers) in numbers.iter().enumerate() {
                // SAFETY: `at < width`.
                unsafe { *c.add(k * c_stride + at) += *x.add(r * x_stride + at) * numbers[k] };
            }
        }
    }
}
