//! Kernels over the stored cells of CSR rows, and row-major dense matrices that their columns index. Those for a single column are
//! in [`super::sparse_vector`].

use fulgurite_matrix::lanes::{CACHE_LINE, Lanes, TOGETHER, load, store};

/// The stored cells of one row.
#[derive(Clone, Copy)]
pub(super) struct SparseRow {
    pub indices: *const i32,
    pub values: *const f64,
    pub stored: usize,
}

/// Successive rows: `pointers` has one more number than there are rows, and indexes `indices` and `values`.
#[derive(Clone, Copy)]
pub(super) struct SparseRows {
    pub pointers: *const i64,
    pub indices: *const i32,
    pub values: *const f64,
    pub rows: usize,
}

impl SparseRows {
    /// # Safety
    /// `at < rows`, and the pointers can be read. So it is for all functions here, and the pointers ascend.
    #[inline(always)]
    pub unsafe fn row(self, at: usize) -> SparseRow {
        // SAFETY: the caller's promise.
        unsafe { self.together(at, 1) }
    }

    /// The cells of `count` rows as if they were one.
    ///
    /// # Safety
    /// As for `row`, of the last of them.
    #[inline(always)]
    pub unsafe fn together(self, at: usize, count: usize) -> SparseRow {
        // SAFETY: the caller's promise: the pointers lie within `indices` and `values`.
        unsafe {
            let from = *self.pointers.add(at) as usize;
            let to = *self.pointers.add(at + count) as usize;
            SparseRow {
                indices: self.indices.add(from),
                values: self.values.add(from),
                stored: to.wrapping_sub(from),
            }
        }
    }

    /// # Safety
    /// The pointers can be read.
    pub unsafe fn iter(self) -> impl Iterator<Item = SparseRow> {
        // SAFETY: `at < rows`; the rest is the caller's promise.
        (0..self.rows).map(move |at| unsafe { self.row(at) })
    }
}

impl SparseRow {
    /// # Safety
    /// `at < stored`, and the row's indices can be read.
    #[inline(always)]
    pub unsafe fn column(self, at: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { *self.indices.add(at) as usize }
    }
}

impl SparseRow {
    /// Asks for cells that will be read soon: those that stand `ahead` cells after the row's. They need not be there.
    #[inline(always)]
    pub fn fetch_ahead<L: Lanes>(self, ahead: usize) {
        let values = self.values.wrapping_add(ahead);
        let indices = self.indices.wrapping_add(ahead);
        for at in (0..self.stored).step_by(2 * CACHE_LINE) {
            L::prefetch(values.wrapping_add(at));
            L::prefetch(values.wrapping_add(at + CACHE_LINE));
            L::prefetch(indices.wrapping_add(at).cast());
        }
    }
}

/// `out[..cols] += row %*% b`, with `b` row-major.
///
/// # Safety
/// Indices are rows of `b`, whose rows are `stride` apart and have `stride` cells, at least `cols`; `out` has `cols` cells.
#[inline(always)]
pub(super) unsafe fn add_times_matrix<L: Lanes>(
    row: SparseRow,
    b: *const f64,
    stride: usize,
    out: *mut f64,
    cols: usize,
) {
    let mut col = 0;
    while col < cols {
        let (left, there) = (cols - col, stride - col);
        // SAFETY: as many columns from `col` on are left as each takes, and `b` and `out` have them.
        unsafe {
            let (b, out) = (b.add(col), out.add(col));
            col += if left >= 4 * L::WIDTH {
                add_times_columns::<L, 4, 1, true>(row, b, stride, out, L::WIDTH)
            } else if left > L::WIDTH && there >= 2 * L::WIDTH {
                let last = (left - L::WIDTH).min(L::WIDTH);
                add_times_columns::<L, 2, 2, true>(row, b, stride, out, last)
            } else if there >= L::WIDTH {
                add_times_columns::<L, 1, 4, true>(row, b, stride, out, left.min(L::WIDTH))
            } else {
                add_times_columns::<L, 1, 4, false>(row, b, stride, out, left)
            };
        }
    }
}

/// The columns of `N` vectors, of which the last has `last` cells in `out`, stay in registers; gives how many they are. There are
/// `CHAINS` sums of each, so that the additions of one need not wait for each other. `FULL`: rows of `b` have cells for
/// all lanes.
///
/// # Safety
/// As [`add_times_matrix`].
#[inline(always)]
unsafe fn add_times_columns<L: Lanes, const N: usize, const CHAINS: usize, const FULL: bool>(
    row: SparseRow,
    b: *const f64,
    stride: usize,
    out: *mut f64,
    last: usize,
) -> usize {
    let count = |n: usize| if n + 1 == N { last } else { L::WIDTH };
    let mut sums = [[L::splat(0.0); N]; CHAINS];
    for (n, sum) in sums[0].iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *sum = unsafe { load::<L>(out.add(n * L::WIDTH), count(n)) };
    }
    let add = |at: usize, sums: &mut [L; N]| {
        // SAFETY: `at < stored`, and the index is a row of `b`.
        unsafe {
            let cells = b.add(row.column(at) * stride);
            let value = L::splat(*row.values.add(at));
            for (n, sum) in sums.iter_mut().enumerate() {
                let cells = cells.add(n * L::WIDTH);
                let cells = match FULL {
                    true => L::load(cells),
                    false => load::<L>(cells, count(n)),
                };
                *sum = value.mul_add(cells, *sum);
            }
        }
    };
    let mut at = 0;
    while at + CHAINS <= row.stored {
        for (chain, sums) in sums.iter_mut().enumerate() {
            add(at + chain, sums);
        }
        at += CHAINS;
    }
    for at in at..row.stored {
        add(at, &mut sums[0]);
    }
    let one = L::splat(1.0);
    let (totals, others) = sums.split_at_mut(1);
    for (n, total) in totals[0].iter_mut().enumerate() {
        for chain in others.iter() {
            *total = one.mul_add(chain[n], *total);
        }
        // SAFETY: the caller's promise.
        unsafe { store(*total, out.add(n * L::WIDTH), count(n)) };
    }
    (N - 1) * L::WIDTH + last
}

/// Adds the outer product of a row and `q` to `c`, which is row-major.
///
/// # Safety
/// Indices are rows of `c`, whose rows are `stride` apart and have `stride` cells, at least `cols`; `q` has `cols` cells. What
/// is in cells beyond `cols` is lost.
#[inline(always)]
pub(super) unsafe fn add_outer<L: Lanes>(
    row: SparseRow,
    q: *const f64,
    c: *mut f64,
    stride: usize,
    cols: usize,
) {
    let mut col = 0;
    while col < cols {
        let (left, there) = (cols - col, stride - col);
        // SAFETY: as many columns from `col` on are left as each takes, and `c` and `q` have them.
        unsafe {
            let (q, c) = (q.add(col), c.add(col));
            col += if left >= 4 * L::WIDTH {
                add_outer_columns::<L, 4, true>(row, q, c, stride, L::WIDTH)
            } else if left > L::WIDTH && there >= 2 * L::WIDTH {
                let last = (left - L::WIDTH).min(L::WIDTH);
                add_outer_columns::<L, 2, true>(row, q, c, stride, last)
            } else if there >= L::WIDTH {
                add_outer_columns::<L, 1, true>(row, q, c, stride, left.min(L::WIDTH))
            } else {
                add_outer_columns::<L, 1, false>(row, q, c, stride, left)
            };
        }
    }
}

/// The columns of `N` vectors, of which the last has `last` cells in `q`: `q` stays in registers. Gives how many they are.
/// `FULL`: rows of `c` have cells for all lanes.
///
/// # Safety
/// As [`add_outer`].
#[inline(always)]
unsafe fn add_outer_columns<L: Lanes, const N: usize, const FULL: bool>(
    row: SparseRow,
    q: *const f64,
    c: *mut f64,
    stride: usize,
    last: usize,
) -> usize {
    let count = |n: usize| if n + 1 == N { last } else { L::WIDTH };
    let mut factors = [L::splat(0.0); N];
    for (n, factor) in factors.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *factor = unsafe { load::<L>(q.add(n * L::WIDTH), count(n)) };
    }
    for at in 0..row.stored {
        // SAFETY: the index is a row of `c`.
        unsafe {
            let cells = c.add(row.column(at) * stride);
            let value = L::splat(*row.values.add(at));
            for (n, factor) in factors.iter().enumerate() {
                let cells = cells.add(n * L::WIDTH);
                match FULL {
                    true => value.mul_add(*factor, L::load(cells)).store(cells),
                    false => {
                        let sum = value.mul_add(*factor, load::<L>(cells, count(n)));
                        store(sum, cells, count(n));
                    }
                }
            }
        }
    }
    (N - 1) * L::WIDTH + last
}

/// `out[n] = u . v[indices[n]]` for the stored cells of a row, whose values are not read; `v` is row-major.
///
/// # Safety
/// Indices are rows of `v`, whose rows are `width` cells long, as `u` is; `out` has a cell for each index.
#[inline(always)]
pub(super) unsafe fn dots<L: Lanes>(
    row: SparseRow,
    u: *const f64,
    v: *const f64,
    width: usize,
    out: *mut f64,
) {
    // SAFETY: only asked for places below `stored`, and the index is a row of `v`.
    let of_v = |at: usize| unsafe { v.add(row.column(at) * width) };
    let mut at = 0;
    // SAFETY: the places are below `stored`, rows and `u` have `width` cells, and `out` has a cell for each.
    unsafe {
        while at + TOGETHER <= row.stored {
            let rows = [of_v(at), of_v(at + 1), of_v(at + 2), of_v(at + 3)];
            let dots = L::sums(lanes_of_dots::<L, TOGETHER>(u, rows, width));
            std::ptr::copy_nonoverlapping(dots.as_ptr(), out.add(at), TOGETHER);
            at += TOGETHER;
        }
        let rest = out.add(at);
        match row.stored - at {
            3 => sums_of_dots::<L, 3>(u, [of_v(at), of_v(at + 1), of_v(at + 2)], width, rest),
            2 => sums_of_dots::<L, 2>(u, [of_v(at), of_v(at + 1)], width, rest),
            1 => sums_of_dots::<L, 1>(u, [of_v(at)], width, rest),
            _ => {}
        }
    }
}

/// # Safety
/// As [`lanes_of_dots`], and `out` has a cell for each row.
#[inline(always)]
unsafe fn sums_of_dots<L: Lanes, const N: usize>(
    u: *const f64,
    rows: [*const f64; N],
    width: usize,
    out: *mut f64,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let dots = lanes_of_dots::<L, N>(u, rows, width).map(L::sum);
        std::ptr::copy_nonoverlapping(dots.as_ptr(), out, N);
    }
}

/// Dot products of `u` with rows, not summed over lanes yet. Each has two sums, so that few rows need not wait for each other's
/// additions, and its bits do not depend on how many rows there are.
///
/// # Safety
/// All have `width` cells.
#[inline(always)]
unsafe fn lanes_of_dots<L: Lanes, const N: usize>(
    u: *const f64,
    rows: [*const f64; N],
    width: usize,
) -> [L; N] {
    let (mut even, mut odd) = ([L::splat(0.0); N], [L::splat(0.0); N]);
    let mut at = 0;
    // SAFETY: cells below `width`.
    unsafe {
        while at + 2 * L::WIDTH <= width {
            let (left, next) = (L::load(u.add(at)), L::load(u.add(at + L::WIDTH)));
            for (sum, row) in even.iter_mut().zip(rows) {
                *sum = left.mul_add(L::load(row.add(at)), *sum);
            }
            for (sum, row) in odd.iter_mut().zip(rows) {
                *sum = next.mul_add(L::load(row.add(at + L::WIDTH)), *sum);
            }
            at += 2 * L::WIDTH;
        }
        if at + L::WIDTH <= width {
            let left = L::load(u.add(at));
            for (sum, row) in even.iter_mut().zip(rows) {
                *sum = left.mul_add(L::load(row.add(at)), *sum);
            }
            at += L::WIDTH;
        }
        if at < width {
            let left = L::load_first(u.add(at), width - at);
            for (sum, row) in odd.iter_mut().zip(rows) {
                *sum = left.mul_add(L::load_first(row.add(at), width - at), *sum);
            }
        }
    }
    let one = L::splat(1.0);
    std::array::from_fn(|at| even[at].mul_add(one, odd[at]))
}

/// Asks for the rows of `v` that indices name. They need not be there.
#[inline(always)]
pub(super) fn fetch_rows<L: Lanes>(indices: &[i32], v: *const f64, width: usize) {
    for index in indices {
        let row = v.wrapping_add(*index as usize * width);
        for at in (0..width).step_by(CACHE_LINE) {
            L::prefetch(row.wrapping_add(at));
        }
    }
}
