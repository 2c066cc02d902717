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

/// Asks for as many rows that lie `ahead` cells further on.
#[inline(always)]
fn fetch<L: Lanes>(x: Matrix<*const f64>, ahead: usize, rows: usize, width: usize) {
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
    rows: usize,
    width: usize,
    cols: usize,
) {
    if cols == 1 {
        // SAFETY: the caller's promise.
        return unsafe { dots_of_column::<L>(x, v.cells, out, rows, width) };
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
                    dot_columns::<L, 2>(x, v, out, (rows, width, last))
                }
                false => dot_columns::<L, 1>(x, v, out, (rows, width, left)),
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
    rows: usize,
    width: usize,
) {
    let ahead = rows * x.stride;
    let mut row = 0;
    // SAFETY: so many rows are left, and rows have a cell in `out`.
    unsafe {
        while row + TOGETHER <= rows {
            fetch::<L>(x.from(row), ahead, TOGETHER, width);
            let sums = L::sums(lanes_of_dots::<L, TOGETHER>(x.from(row), v, width));
            for (r, sum) in sums.iter().enumerate() {
                *out.cells.add((row + r) * out.stride) = *sum;
            }
            row += TOGETHER;
        }
        while row < rows {
            let [sum] = lanes_of_dots::<L, 1>(x.from(row), v, width);
            *out.cells.add(row * out.stride) = sum.sum();
            row += 1;
        }
    }
}

/// Dot products of `R` rows with a vector, not summed over lanes yet.
///
/// # Safety
/// All have `width` cells.
#[inline(always)]
unsafe fn lanes_of_dots<L: Lanes, const R: usize>(
    x: Matrix<*const f64>,
    v: *const f64,
    width: usize,
) -> [L; R] {
    let mut sums = [L::splat(0.0); R];
    let mut from = 0;
    while from < width {
        let count = (width - from).min(L::WIDTH);
        // SAFETY: so many cells are left.
        unsafe {
            let right = load::<L>(v.add(from), count);
            for (r, sum) in sums.iter_mut().enumerate() {
                let left = load::<L>(x.cells.add(r * x.stride + from), count);
                *sum = left.mul_add(right, *sum);
            }
        }
        from += L::WIDTH;
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
        ahead: rows * x.stride,
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
    ahead: usize,
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
    rows: usize,
    width: usize,
    cols: usize,
) {
    if cols == 1 {
        // SAFETY: the caller's promise.
        return unsafe { add_scaled_by_column::<L>(x, q, c.cells, rows, width) };
    }
    let mut row = 0;
    while row < rows {
        // SAFETY: so many rows are left.
        row += unsafe {
            match rows - row >= ROWS {
                true => add_rows::<L, ROWS>(x.from(row), q.from(row), c, (rows, width, cols)),
                false => add_rows::<L, 1>(x.from(row), q.from(row), c, (rows, width, cols)),
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
    (rows, width, cols): (usize, usize, usize),
) -> usize {
    fetch::<L>(x, rows * x.stride, R, width);
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
    rows: usize,
    width: usize,
) {
    /// Vectors of a strip, whose sums stay in registers.
    const MOST_VECTORS: usize = 4;
    for from in (0..width).step_by(MOST_VECTORS * L::WIDTH) {
        let left = (width - from).min(MOST_VECTORS * L::WIDTH);
        let fetched = if from == 0 { width } else { 0 };
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
                1 => add_strip::<L, 1>(x, q, c, (rows, last, fetched)),
                2 => add_strip::<L, 2>(x, q, c, (rows, last, fetched)),
                3 => add_strip::<L, 3>(x, q, c, (rows, last, fetched)),
                _ => add_strip::<L, MOST_VECTORS>(x, q, c, (rows, last, fetched)),
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
    (rows, last, fetched): (usize, usize, usize),
) {
    let count = |n: usize| if n + 1 == N { last } else { L::WIDTH };
    let mut sums = [L::splat(0.0); N];
    for (n, sum) in sums.iter_mut().enumerate() {
        // SAFETY: `c` has the cells.
        *sum = unsafe { load::<L>(c.add(n * L::WIDTH), count(n)) };
    }
    for row in 0..rows {
        // SAFETY: there are so many rows, of so many cells.
        unsafe {
            if row % ROWS == 0 {
                fetch::<L>(x.from(row), rows * x.stride, ROWS, fetched);
            }
            let scale = L::splat(*q.cells.add(row * q.stride));
            for (n, sum) in sums.iter_mut().enumerate() {
                let cells = x.cells.add(row * x.stride + n * L::WIDTH);
                *sum = load::<L>(cells, count(n)).mul_add(scale, *sum);
            }
        }
    }
    for (n, sum) in sums.into_iter().enumerate() {
        // SAFETY: as above; it can be written.
        unsafe { store(sum, c.add(n * L::WIDTH), count(n)) };
    }
}
