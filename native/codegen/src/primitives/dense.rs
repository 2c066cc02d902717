//! Dense kernels: blocks of dot products and of scaled additions, register-blocked over rows and columns.

use super::lanes::{LANES, Lanes};

/// Rows that are worked on together.
const ROWS: usize = 4;
/// Vectors of the right operand that are worked on together: 4 x 2 accumulators, 4 + 2 operands of 16 registers.
const COLS: usize = 2;

/// `out[r][k] = x[r] . v[k]` for `rows` rows of `width` cells and `cols` vectors.
///
/// # Safety
/// `x` has `rows` rows of `width` cells at `x_stride`, `v` has `cols` rows of `width` cells at `v_stride`, `out`
/// has `rows` rows of `cols` cells at `out_stride`, and can be written.
#[inline(always)]
pub(super) unsafe fn dot_rows<L: Lanes>(
    (x, x_stride): (*const f64, usize),
    (v, v_stride): (*const f64, usize),
    (out, out_stride): (*mut f64, usize),
    rows: usize,
    width: usize,
    cols: usize,
) {
    let mut row = 0;
    while row < rows {
        let taken = if rows - row >= ROWS { ROWS } else { 1 };
        let mut col = 0;
        while col < cols {
            let pair = cols - col >= COLS;
            // SAFETY: `row + taken <= rows` and `col + (1 or 2) <= cols`, so all stays within what the caller
            // promised.
            unsafe {
                let x = x.add(row * x_stride);
                let v = v.add(col * v_stride);
                let out = out.add(row * out_stride + col);
                match (taken, pair) {
                    (ROWS, true) => {
                        store(
                            dots::<L, ROWS, COLS>(x, x_stride, v, v_stride, width),
                            out,
                            out_stride,
                        );
                    }
                    (ROWS, false) => {
                        store(
                            dots::<L, ROWS, 1>(x, x_stride, v, v_stride, width),
                            out,
                            out_stride,
                        );
                    }
                    (_, true) => {
                        store(
                            dots::<L, 1, COLS>(x, x_stride, v, v_stride, width),
                            out,
                            out_stride,
                        );
                    }
                    (_, false) => {
                        store(
                            dots::<L, 1, 1>(x, x_stride, v, v_stride, width),
                            out,
                            out_stride,
                        );
                    }
                }
            }
            col += if pair { COLS } else { 1 };
        }
        row += taken;
    }
}

#[inline(always)]
unsafe fn store<const R: usize, const K: usize>(
    values: [[f64; K]; R],
    out: *mut f64,
    out_stride: usize,
) {
    for (r, row) in values.iter().enumerate() {
        for (k, value) in row.iter().enumerate() {
            // SAFETY: the caller passes a block of at least R x K cells.
            unsafe { *out.add(r * out_stride + k) = *value };
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
/// `x` has `rows` rows of `width` cells at `x_stride`, `q` `rows` rows of `cols` cells at `q_stride`, `c` has
/// `cols` rows of `width` cells at `c_stride`, can be written, and overlaps neither.
#[inline(always)]
pub(super) unsafe fn add_scaled_rows<L: Lanes>(
    (x, x_stride): (*const f64, usize),
    (q, q_stride): (*const f64, usize),
    (c, c_stride): (*mut f64, usize),
    rows: usize,
    width: usize,
    cols: usize,
) {
    let mut row = 0;
    while row < rows {
        let taken = if rows - row >= ROWS { ROWS } else { 1 };
        let mut col = 0;
        while col < cols {
            let pair = cols - col >= COLS;
            // SAFETY: `row + taken <= rows` and `col + (1 or 2) <= cols`, so all stays within what the caller
            // promised.
            unsafe {
                let x = x.add(row * x_stride);
                let q = q.add(row * q_stride + col);
                let c = c.add(col * c_stride);
                match (taken, pair) {
                    (ROWS, true) => {
                        add_scaled::<L, ROWS, COLS>(
                            (x, x_stride),
                            (q, q_stride),
                            (c, c_stride),
                            width,
                        );
                    }
                    (ROWS, false) => {
                        add_scaled::<L, ROWS, 1>(
                            (x, x_stride),
                            (q, q_stride),
                            (c, c_stride),
                            width,
                        );
                    }
                    (_, true) => {
                        add_scaled::<L, 1, COLS>(
                            (x, x_stride),
                            (q, q_stride),
                            (c, c_stride),
                            width,
                        );
                    }
                    (_, false) => {
                        add_scaled::<L, 1, 1>((x, x_stride), (q, q_stride), (c, c_stride), width);
                    }
                }
            }
            col += if pair { COLS } else { 1 };
        }
        row += taken;
    }
}

#[inline(always)]
unsafe fn add_scaled<L: Lanes, const R: usize, const K: usize>(
    (x, x_stride): (*const f64, usize),
    (q, q_stride): (*const f64, usize),
    (c, c_stride): (*mut f64, usize),
    width: usize,
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
