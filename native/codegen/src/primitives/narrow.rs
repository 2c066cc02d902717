//! Products of narrow dense rows, of which a few vectors would hold all cells: sums over lanes, and vectors that are filled in part, would take
//! longer than the products. Here a lane is a column of the result, or of the accumulator, and cells of the other operand are
//! the same in all lanes. Only of a product with a single column lanes have to be summed up.

use super::dense::Matrix;
use fulgurite_matrix::lanes::{CACHE_LINE, Lanes, TOGETHER, WIDEST, load, store};

/// Cells of the longest rows that are narrow.
const MOST: usize = 32;
/// Rows that are worked on together, so that a vector that they all meet is read once.
const ROWS: usize = 8;

/// Whether rows of `width` cells that meet a matrix of `cols` columns are narrow: there is an operation for each cell and vector of
/// columns here, elsewhere one for each column and vector of cells, and the sum of its lanes.
pub(super) fn is_narrow(width: usize, cols: usize) -> bool {
    width <= MOST && (cols == 1 || width <= 8 * cols)
}

/// How many cells stand side by side where lanes are `cells` cells: whole vectors, unless half as wide ones would hold them.
pub(super) fn side_by_side(cells: usize) -> usize {
    if cells > WIDEST / 2 {
        cells.next_multiple_of(WIDEST)
    } else {
        cells
    }
}

/// Asks for as many rows that lie `ahead` cells further on, if they are to be asked for.
#[inline(always)]
fn fetch<L: Lanes>(x: Matrix<*const f64>, ahead: Option<usize>, rows: usize, width: usize) {
    let Some(ahead) = ahead else {
        return;
    };
    let (rows, width) = match x.stride == width {
        true => (1, rows * width),
        false => (rows, width),
    };
    for row in 0..rows {
        let next = x.cells.wrapping_add(ahead + row * x.stride);
        for at in (0..width).step_by(CACHE_LINE) {
            L::prefetch(next.wrapping_add(at));
        }
    }
}

/// `out[r][k] = x[r] . v[k]` for `rows` rows of `width` cells and `cols` vectors.
///
/// # Safety
/// As [`super::dense::dot_rows`], and the rows are [narrow](is_narrow).
#[inline(always)]
pub(super) unsafe fn dot_rows<L: Lanes>(
    x: Matrix<*const f64>,
    v: Matrix<*const f64>,
    out: Matrix<*mut f64>,
    (rows, width, cols): (usize, usize, usize),
    fetches: bool,
) {
    let ahead = fetches.then_some(rows * x.stride);
    if cols == 1 {
        // SAFETY: the caller's promise.
        return unsafe { dots_of_column::<L>(x, v.cells, out, (rows, width), ahead) };
    }
    let mut col = 0;
    while col < cols {
        let left = cols - col;
        // SAFETY: as many columns from `col` on are left as each takes.
        unsafe {
            let v = Matrix {
                cells: v.cells.add(col * v.stride),
                ..v
            };
            let out = Matrix {
                cells: out.cells.add(col),
                ..out
            };
            col += match left > L::WIDTH {
                true => {
                    let last = (left - L::WIDTH).min(L::WIDTH);
                    dot_columns::<L, 2>(x, v, out, (rows, width, last), ahead)
                }
                false => dot_columns::<L, 1>(x, v, out, (rows, width, left), ahead),
            };
        }
    }
}

/// `out[r][0] = x[r] . v`
///
/// # Safety
/// As [`dot_rows`], with `v` for the only column.
#[inline(always)]
unsafe fn dots_of_column<L: Lanes>(
    x: Matrix<*const f64>,
    v: *const f64,
    out: Matrix<*mut f64>,
    (rows, width): (usize, usize),
    ahead: Option<usize>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match width.div_ceil(L::WIDTH) {
            1 => dots_of_vectors::<L, 1>(x, v, out, (rows, width), ahead),
            2 => dots_of_vectors::<L, 2>(x, v, out, (rows, width), ahead),
            3 => dots_of_vectors::<L, 3>(x, v, out, (rows, width), ahead),
            4 => dots_of_vectors::<L, 4>(x, v, out, (rows, width), ahead),
            0 => dots_of_vectors::<L, 0>(x, v, out, (rows, width), ahead),
            5..=8 => dots_of_vectors::<L, 8>(x, v, out, (rows, width), ahead),
            _ => dots_of_vectors::<L, MOST>(x, v, out, (rows, width), ahead),
        }
    }
}

/// [`dots_of_column`] of at most `N` vectors, which stay in registers as far as there are some.
///
/// # Safety
/// As [`dots_of_column`]; so many vectors hold `width` cells.
#[inline(always)]
unsafe fn dots_of_vectors<L: Lanes, const N: usize>(
    x: Matrix<*const f64>,
    v: *const f64,
    out: Matrix<*mut f64>,
    (rows, width): (usize, usize),
    ahead: Option<usize>,
) {
    let mut right = [L::splat(0.0); N];
    for (right, from) in right.iter_mut().zip((0..width).step_by(L::WIDTH)) {
        // SAFETY: so many cells are left.
        *right = unsafe { load::<L>(v.add(from), (width - from).min(L::WIDTH)) };
    }
    let (mut x, mut out, mut left) = (x, out, rows);
    // SAFETY: so many rows are left, and rows have a cell in `out`.
    unsafe {
        while left >= TOGETHER {
            fetch::<L>(x, ahead, TOGETHER, width);
            let sums = L::sums(lanes_of_dots::<L, TOGETHER, N>(x, right, width));
            match out.stride {
                1 => out.cells.copy_from_nonoverlapping(sums.as_ptr(), TOGETHER),
                stride => {
                    for (r, sum) in sums.iter().enumerate() {
                        *out.cells.add(r * stride) = *sum;
                    }
                }
            }
            (x, out) = (x.from(TOGETHER), out.from(TOGETHER));
            left -= TOGETHER;
        }
        for _ in 0..left {
            let [sum] = lanes_of_dots::<L, 1, N>(x, right, width);
            *out.cells = sum.sum();
            (x, out) = (x.from(1), out.from(1));
        }
    }
}

/// Dot products of `R` rows with `N` vectors of cells, not summed over lanes yet.
///
/// # Safety
/// Rows have `width` cells, and `N` vectors hold them.
#[inline(always)]
unsafe fn lanes_of_dots<L: Lanes, const R: usize, const N: usize>(
    x: Matrix<*const f64>,
    right: [L; N],
    width: usize,
) -> [L; R] {
    let mut sums = [L::splat(0.0); R];
    for (right, from) in right.into_iter().zip((0..width).step_by(L::WIDTH)) {
        let count = (width - from).min(L::WIDTH);
        for (r, sum) in sums.iter_mut().enumerate() {
            // SAFETY: so many cells are left.
            let left = unsafe { load::<L>(x.cells.add(r * x.stride + from), count) };
            *sum = left.mul_add(right, *sum);
        }
    }
    sums
}

/// The columns of `N` vectors, of which the last has `last`. Gives how many they are.
///
/// # Safety
/// As [`dot_rows`].
#[inline(always)]
unsafe fn dot_columns<L: Lanes, const N: usize>(
    x: Matrix<*const f64>,
    v: Matrix<*const f64>,
    out: Matrix<*mut f64>,
    (rows, width, last): (usize, usize, usize),
    ahead: Option<usize>,
) -> usize {
    let cols = (N - 1) * L::WIDTH + last;
    // Row-major, in whole vectors.
    let mut columns = [[[0.0; WIDEST]; N]; MOST];
    for (k, vectors) in columns.iter_mut().enumerate().take(width) {
        for col in 0..cols {
            // SAFETY: there are so many vectors, of `width` cells.
            vectors[col / L::WIDTH][col % L::WIDTH] = unsafe { *v.cells.add(col * v.stride + k) };
        }
    }
    let dots = Dots::<L, N> {
        columns: &columns[..width],
        last,
        ahead,
        lanes: std::marker::PhantomData,
    };
    let mut row = 0;
    // SAFETY: so many rows are left.
    unsafe {
        while row + ROWS <= rows {
            dots.rows::<ROWS>(x.from(row), out.from(row));
            row += ROWS;
        }
        while row < rows {
            dots.rows::<1>(x.from(row), out.from(row));
            row += 1;
        }
    }
    cols
}

struct Dots<'a, L, const N: usize> {
    columns: &'a [[[f64; WIDEST]; N]],
    last: usize,
    /// From a cell of `x` to that of the next block's rows, which are fetched meanwhile.
    ahead: Option<usize>,
    lanes: std::marker::PhantomData<L>,
}

impl<L: Lanes, const N: usize> Dots<'_, L, N> {
    /// # Safety
    /// There are `R` rows.
    #[inline(always)]
    unsafe fn rows<const R: usize>(&self, x: Matrix<*const f64>, out: Matrix<*mut f64>) {
        let mut sums = [[L::splat(0.0); N]; R];
        for (k, vectors) in self.columns.iter().enumerate() {
            // SAFETY: arrays of cells are no narrower than a vector, and rows have a cell for each.
            unsafe {
                let mut columns = [L::splat(0.0); N];
                for (column, cells) in columns.iter_mut().zip(vectors) {
                    *column = L::load(cells.as_ptr());
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let cell = L::splat(*x.cells.add(r * x.stride + k));
                    for (sum, column) in sums.iter_mut().zip(columns) {
                        *sum = cell.mul_add(column, *sum);
                    }
                }
            }
        }
        fetch::<L>(x, self.ahead, R, self.columns.len());
        for (r, sums) in sums.into_iter().enumerate() {
            for (n, sum) in sums.into_iter().enumerate() {
                let count = if n + 1 == N { self.last } else { L::WIDTH };
                // SAFETY: as many columns are there.
                unsafe { store(sum, out.cells.add(r * out.stride + n * L::WIDTH), count) };
            }
        }
    }
}

/// `c[k] += sum over r of q[r][k] * x[r]` for `rows` rows of `width` cells and `cols` vectors.
///
/// # Safety
/// As [`super::dense::add_scaled_rows`].
#[inline(always)]
pub(super) unsafe fn add_scaled_rows<L: Lanes>(
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    c: Matrix<*mut f64>,
    (rows, width, cols): (usize, usize, usize),
    fetches: bool,
) {
    let ahead = fetches.then_some(rows * x.stride);
    if cols == 1 {
        // SAFETY: the caller's promise.
        return unsafe { add_scaled_by_column::<L>(x, q, c.cells, (rows, width), ahead) };
    }
    let mut row = 0;
    while row < rows {
        // SAFETY: so many rows are left.
        row += unsafe {
            match rows - row >= ROWS {
                true => add_rows::<L, ROWS>(x.from(row), q.from(row), c, (width, cols), ahead),
                false => add_rows::<L, 1>(x.from(row), q.from(row), c, (width, cols), ahead),
            }
        };
    }
}

/// Adds up `R` rows, and gives their number.
///
/// # Safety
/// As [`add_scaled_rows`], with `R` rows.
#[inline(always)]
unsafe fn add_rows<L: Lanes, const R: usize>(
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    c: Matrix<*mut f64>,
    (width, cols): (usize, usize),
    ahead: Option<usize>,
) -> usize {
    fetch::<L>(x, ahead, R, width);
    for from in (0..width).step_by(L::WIDTH) {
        let count = (width - from).min(L::WIDTH);
        let mut cells = [L::splat(0.0); R];
        for (r, cells) in cells.iter_mut().enumerate() {
            // SAFETY: there are so many rows and cells.
            *cells = unsafe { load::<L>(x.cells.add(r * x.stride + from), count) };
        }
        for k in 0..cols {
            // SAFETY: `c` has a row for each column of `q`.
            unsafe {
                let target = c.cells.add(k * c.stride + from);
                let mut sum = load::<L>(target, count);
                for (r, cells) in cells.iter().enumerate() {
                    sum = cells.mul_add(L::splat(*q.cells.add(r * q.stride + k)), sum);
                }
                store(sum, target, count);
            }
        }
    }
    R
}

/// `c += sum over r of q[r][0] * x[r]`
///
/// # Safety
/// As [`add_scaled_rows`], with `c` for the only row.
#[inline(always)]
unsafe fn add_scaled_by_column<L: Lanes>(
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    c: *mut f64,
    (rows, width): (usize, usize),
    ahead: Option<usize>,
) {
    /// Vectors of a strip, whose sums stay in registers.
    const MOST_VECTORS: usize = 4;
    for from in (0..width).step_by(MOST_VECTORS * L::WIDTH) {
        let left = (width - from).min(MOST_VECTORS * L::WIDTH);
        let ahead = ahead.filter(|_| from == 0);
        let vectors = left.div_ceil(L::WIDTH);
        // SAFETY: so many cells are left.
        unsafe {
            let x = Matrix {
                cells: x.cells.add(from),
                ..x
            };
            let c = c.add(from);
            let last = left - (vectors - 1) * L::WIDTH;
            match vectors {
                1 => add_strip::<L, 1>(x, q, c, (rows, width, last), ahead),
                2 => add_strip::<L, 2>(x, q, c, (rows, width, last), ahead),
                3 => add_strip::<L, 3>(x, q, c, (rows, width, last), ahead),
                _ => add_strip::<L, MOST_VECTORS>(x, q, c, (rows, width, last), ahead),
            }
        }
    }
}

/// The cells of `N` vectors, of which the last has `last`. Rows are added one by one, so that the bits do not depend on how many come
/// together.
///
/// # Safety
/// As [`add_scaled_by_column`].
#[inline(always)]
unsafe fn add_strip<L: Lanes, const N: usize>(
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    c: *mut f64,
    (rows, width, last): (usize, usize, usize),
    ahead: Option<usize>,
) {
    let count = |n: usize| if n + 1 == N { last } else { L::WIDTH };
    let mut sums = [L::splat(0.0); N];
    for (n, sum) in sums.iter_mut().enumerate() {
        // SAFETY: `c` has the cells.
        *sum = unsafe { load::<L>(c.add(n * L::WIDTH), count(n)) };
    }
    let (mut x, mut q, mut left) = (x, q, rows);
    // SAFETY: there are so many rows, of so many cells.
    unsafe {
        while left >= ROWS {
            fetch::<L>(x, ahead, ROWS, width);
            for _ in 0..ROWS {
                add_row::<L, N>(x, q, &mut sums, last);
                (x, q) = (x.from(1), q.from(1));
            }
            left -= ROWS;
        }
        for _ in 0..left {
            add_row::<L, N>(x, q, &mut sums, last);
            (x, q) = (x.from(1), q.from(1));
        }
    }
    for (n, sum) in sums.into_iter().enumerate() {
        // SAFETY: as above; it can be written.
        unsafe { store(sum, c.add(n * L::WIDTH), count(n)) };
    }
}

/// Adds the first row, times its only scale, to vectors of which the last has `last` cells.
///
/// # Safety
/// There is such a row.
#[inline(always)]
unsafe fn add_row<L: Lanes, const N: usize>(
    x: Matrix<*const f64>,
    q: Matrix<*const f64>,
    sums: &mut [L; N],
    last: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let scale = L::splat(*q.cells);
        for (n, sum) in sums.iter_mut().enumerate() {
            let count = if n + 1 == N { last } else { L::WIDTH };
            *sum = load::<L>(x.cells.add(n * L::WIDTH), count).mul_add(scale, *sum);
        }
    }
}
