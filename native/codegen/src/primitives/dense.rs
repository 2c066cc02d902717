//! Dense kernels: blocks of dot products and of scaled additions, register-blocked over rows and columns.

use std::marker::PhantomData;

use fulgurite_matrix::lanes::{CACHE_LINE, Lanes, TOGETHER, load, store};

/// Rows that are worked on together.
const ROWS: usize = 4;
/// Cells of the vectors that rows meet in a panel: a quarter of the first-level cache, where they stay while rows pass by.
const PANEL_CELLS: usize = 1024;
/// Columns of a panel: four such stretches of rows fill half of that cache, for groups of vectors that pass over them.
const PANEL: usize = 512;

/// A row-major matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix<P> {
    pub cells: P,
    pub stride: usize,
}

impl Matrix<*const f64> {
    /// The matrix from a cell on.
    ///
    /// # Safety
    /// It has the cell, or ends before it.
    #[inline(always)]
    unsafe fn at(self, row: usize, col: usize) -> Self {
        // SAFETY: the caller's promise.
        let cells = unsafe { self.cells.add(row * self.stride + col) };
        Matrix { cells, ..self }
    }

    /// The matrix from a row on.
    ///
    /// # Safety
    /// It has the row, or ends before it.
    #[inline(always)]
    pub unsafe fn from(self, row: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.at(row, 0) }
    }
}

impl Matrix<*mut f64> {
    /// The matrix from a cell on.
    ///
    /// # Safety
    /// It has the cell, or ends before it.
    #[inline(always)]
    unsafe fn at(self, row: usize, col: usize) -> Self {
        // SAFETY: the caller's promise.
        let cells = unsafe { self.cells.add(row * self.stride + col) };
        Matrix { cells, ..self }
    }

    /// The matrix from a row on.
    ///
    /// # Safety
    /// It has the row, or ends before it.
    #[inline(always)]
    pub unsafe fn from(self, row: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.at(row, 0) }
    }
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

/// Runs a kernel over `rows` rows of `width` cells and `cols` vectors, panel by panel and in these block by block.
///
/// # Safety
/// The kernel's operands have as many rows, vectors and cells.
#[inline(always)]
unsafe fn in_blocks<L: Lanes>(kernel: &impl Kernel, rows: usize, width: usize, cols: usize) {
    // Whatever the number of rows: the bits of a row's dot product do not depend on what others it comes with.
    let panel = (PANEL_CELLS / cols.max(1)).clamp(CACHE_LINE, PANEL) / CACHE_LINE * CACHE_LINE;
    let mut from = 0;
    // Once even without cells: dot products of nothing are 0.
    loop {
        let cells = (from, (from + panel).min(width));
        let mut row = 0;
        while row < rows {
            let is_full = rows - row >= ROWS;
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
            row += if is_full { ROWS } else { 1 };
        }
        from += panel;
        if from >= width {
            break;
        }
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
        ahead: NextRows { rows, width },
        lanes: PhantomData,
    };
    // SAFETY: the caller's promise.
    unsafe { in_blocks::<L>(&kernel, rows, width, cols) }
}

struct Dots<L> {
    x: Matrix<*const f64>,
    v: Matrix<*const f64>,
    out: Matrix<*mut f64>,
    /// All that are worked on here are on their way already, if a scaled sum or a dot product came before.
    ahead: NextRows,
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
            let mut products = DotProducts::<L, R, K> {
                x: self.x.at(row, from),
                v: self.v.at(col, from),
                sums: [[L::splat(0.0); K]; R],
            };
            // Only the first vectors fetch.
            let ahead = (R == ROWS && col == 0).then(|| self.ahead.of(self.x, row, (from, to)));
            work::<L, R>(&mut products, self.x.stride, to - from, ahead);
            let values = products.values();
            let out = self.out.cells.add(row * self.out.stride + col);
            for (r, row) in values.iter().enumerate() {
                for (k, value) in row.iter().enumerate() {
                    let cell = out.add(r * self.out.stride + k);
                    *cell = if from == 0 { *value } else { *cell + *value };
                }
            }
        }
    }
}

/// Dot products of `R` rows and `K` vectors.
struct DotProducts<L, const R: usize, const K: usize> {
    x: Matrix<*const f64>,
    v: Matrix<*const f64>,
    sums: [[L; K]; R],
}

impl<L: Lanes, const R: usize, const K: usize> Stretch for DotProducts<L, R, K> {
    #[inline(always)]
    unsafe fn cells(&mut self, at: usize, count: usize) {
        let mut right = [L::splat(0.0); K];
        for (k, right) in right.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *right = unsafe { load::<L>(self.v.cells.add(k * self.v.stride + at), count) };
        }
        for (r, sums) in self.sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let left = unsafe { load::<L>(self.x.cells.add(r * self.x.stride + at), count) };
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = left.mul_add(right, *sum);
            }
        }
    }
}

impl<L: Lanes, const R: usize, const K: usize> DotProducts<L, R, K> {
    #[inline(always)]
    fn values(self) -> [[f64; K]; R] {
        let mut values = [[0.0; K]; R];
        for k in 0..K {
            if R == TOGETHER {
                let of_rows = L::sums(std::array::from_fn(|r| self.sums[r][k]));
                for (row, value) in values.iter_mut().zip(of_rows) {
                    row[k] = value;
                }
            } else {
                for (row, sums) in values.iter_mut().zip(&self.sums) {
                    row[k] = sums[k].sum();
                }
            }
        }
        values
    }
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
        ahead: NextRows { rows, width },
        lanes: PhantomData,
    };
    // SAFETY: the caller's promise.
    unsafe { in_blocks::<L>(&kernel, rows, width, cols) }
}

struct ScaledSums<L> {
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    c: Matrix<*mut f64>,
    /// They are fetched while these, in the cache by now, are worked on: memory would be idle else. Where dot products came before,
    /// they have fetched them, and it costs little.
    ahead: NextRows,
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
            let factors = std::array::from_fn(|r| {
                let q = self.q.cells.add((row + r) * self.q.stride + col);
                std::array::from_fn(|k| L::splat(*q.add(k)))
            });
            let mut sums = AddScaled::<L, R, K> {
                x: self.x.at(row, from),
                factors,
                c: self.c.at(col, from),
            };
            // Only the first vectors fetch.
            let ahead = (R == ROWS && col == 0).then(|| self.ahead.of(self.x, row, (from, to)));
            work::<L, R>(&mut sums, self.x.stride, to - from, ahead);
        }
    }
}

/// `R` rows, scaled, that are added to `K` vectors.
struct AddScaled<L, const R: usize, const K: usize> {
    x: Matrix<*const f64>,
    factors: [[L; K]; R],
    c: Matrix<*mut f64>,
}

impl<L: Lanes, const R: usize, const K: usize> Stretch for AddScaled<L, R, K> {
    #[inline(always)]
    unsafe fn cells(&mut self, at: usize, count: usize) {
        let mut left = [L::splat(0.0); R];
        for (r, left) in left.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *left = unsafe { load::<L>(self.x.cells.add(r * self.x.stride + at), count) };
        }
        for k in 0..K {
            // SAFETY: as above.
            unsafe {
                let target = self.c.cells.add(k * self.c.stride + at);
                let mut sum = load::<L>(target, count);
                for (left, factors) in left.iter().zip(&self.factors) {
                    sum = left.mul_add(factors[k], sum);
                }
                store(sum, target, count);
            }
        }
    }
}

/// Work on a stretch of some rows.
trait Stretch {
    /// Works on a vector of each row.
    ///
    /// # Safety
    /// The rows have the cells from `at` on, `count` of them.
    unsafe fn cells(&mut self, at: usize, count: usize);
}

/// The rows that come after as many of `width` cells.
#[derive(Clone, Copy)]
struct NextRows {
    rows: usize,
    width: usize,
}

impl NextRows {
    /// Where those cells begin that are fetched while the cells `from..to` of rows from `row` on are worked on, and whether they are one
    /// stretch of memory. Whole rows are: memory and the outer caches give lines up to twice as fast in their order as
    /// those of four rows in turns.
    #[inline(always)]
    fn of(
        self,
        x: Matrix<*const f64>,
        row: usize,
        (from, to): (usize, usize),
    ) -> (*const f64, bool) {
        let next = x.cells.wrapping_add(self.rows * x.stride);
        match x.stride == self.width {
            true => (
                next.wrapping_add(from * self.rows + row * (to - from)),
                true,
            ),
            false => (next.wrapping_add(row * x.stride + from), false),
        }
    }
}

/// Works on `width` cells of `R` rows, `stride` cells apart, and meanwhile fetches as many from where it is said, row by row if
/// they aren't one stretch.
///
/// # Safety
/// The rows have the cells.
#[inline(always)]
unsafe fn work<L: Lanes, const R: usize>(
    stretch: &mut impl Stretch,
    stride: usize,
    width: usize,
    ahead: Option<(*const f64, bool)>,
) {
    let whole = width / L::WIDTH * L::WIDTH;
    let mut at = 0;
    if let Some((next, is_one_stretch)) = ahead {
        // An R-th of the columns while one row is fetched.
        let share = match is_one_stretch {
            true => usize::MAX,
            false => width.div_ceil(R).next_multiple_of(CACHE_LINE),
        };
        let mut row = next;
        let mut fetched = row;
        let mut next_row = share;
        while at < whole {
            // SAFETY: a whole vector is left.
            unsafe { stretch.cells(at, L::WIDTH) };
            for _ in 0..R * L::WIDTH / CACHE_LINE {
                L::prefetch(fetched);
                fetched = fetched.wrapping_add(CACHE_LINE);
            }
            at += L::WIDTH;
            if at >= next_row {
                row = row.wrapping_add(stride);
                fetched = row;
                next_row += share;
            }
        }
        if at < width {
            for _ in 0..R * L::WIDTH / CACHE_LINE {
                L::prefetch(fetched);
                fetched = fetched.wrapping_add(CACHE_LINE);
            }
        }
    }
    while at < whole {
        // SAFETY: a whole vector is left.
        unsafe { stretch.cells(at, L::WIDTH) };
        at += L::WIDTH;
    }
    if at < width {
        // SAFETY: so many cells are left.
        unsafe { stretch.cells(at, width - at) };
    }
}
