//! Triangular systems of a few rows: what is left of large ones when products have done their part.
//!
//! A strip of some vectors of the right side is solved row by row. The sums of two rows stay in registers while the rows that are solved
//! already pass, as in the triangular kernels of Goto and van de Geijn, "High-Performance Implementation of the Level-3 BLAS", 2008.
//!
//! A cell takes the products in the order in which the unknowns are found, each by one fused multiply-add, and is divided by its
//! diagonal. So its bits depend on the triangle and on its column alone, as in [products](super).

use rayon::prelude::*;

use super::view::{View, ViewMut};
use crate::lanes::{self, Instructions, Kernel, Lanes, run_with};

/// Which cells of a triangle are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Lower,
    Upper,
}

/// A triangular matrix: the cells in its other half may be any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Triangle<'a> {
    pub cells: View<'a>,
    pub half: Half,
    /// The diagonal counts as ones, whatever its cells are.
    pub is_unit: bool,
}

/// Vectors of a strip, and rows whose sums are kept at a time: eight sums hide the time of a multiply-add.
const VECTORS: usize = 4;
const ROWS: usize = 2;

/// Replaces the right side by the X with `triangle %*% X = right`.
///
/// # Panics
/// If the triangle is not square, not in its slice, or has other rows than the right side.
pub(crate) fn substitute(triangle: Triangle<'_>, right: ViewMut<'_>) {
    substitute_with(Instructions::widest(), triangle, right);
}

/// The instructions must be present.
fn substitute_with(instructions: Instructions, triangle: Triangle<'_>, right: ViewMut<'_>) {
    let order = triangle.cells.rows();
    assert!(triangle.cells.cols() == order && triangle.cells.fits());
    assert_eq!(right.rows(), order);
    if order == 0 || right.cols() == 0 {
        return;
    }
    let substitution = Substitution { triangle, right };
    // SAFETY: the triangle is in its slice, the right side has as many rows, and the instructions are present.
    unsafe { run_with(instructions, substitution) }
}

/// As [`substitute`], with the columns of the right side divided among rayon's threads. The bits are the same.
///
/// # Panics
/// As [`substitute`].
pub(crate) fn substitute_in_parallel(triangle: Triangle<'_>, right: ViewMut<'_>) {
    /// Columns of a task: eight strips of AVX-512.
    const TASK_COLS: usize = 256;
    let mut tasks = Vec::new();
    let mut rest = right;
    while rest.cols() > TASK_COLS {
        let (task, later) = rest.split_at_col(TASK_COLS);
        tasks.push(task);
        rest = later;
    }
    tasks.push(rest);
    let tasks = tasks.into_par_iter().with_max_len(1);
    tasks.for_each(|task| substitute(triangle, task));
}

struct Substitution<'a> {
    triangle: Triangle<'a>,
    right: ViewMut<'a>,
}

/// A system in the order in which its unknowns are found. Steps may be negative.
#[derive(Clone, Copy)]
struct Walk {
    order: usize,
    is_unit: bool,
    /// The first cell of the diagonal, and the steps to the next row and to the next column.
    triangle: *const f64,
    down: isize,
    across: isize,
    /// The first row of the right side, and the step to the next one.
    right: *mut f64,
    stride: isize,
}

impl Kernel for Substitution<'_> {
    /// # Safety
    /// The instructions are present. The triangle is square and in its slice, and the right side has as many rows.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Substitution {
            triangle,
            mut right,
        } = self;
        let (cells, cols) = (triangle.cells, right.cols());
        let mut walk = Walk {
            order: cells.rows(),
            is_unit: triangle.is_unit,
            triangle: cells.cells().as_ptr(),
            down: cells.down() as isize,
            across: cells.across() as isize,
            stride: right.stride() as isize,
            right: right.start(),
        };
        if triangle.half == Half::Upper {
            // From the last unknown on.
            let last = walk.order as isize - 1;
            walk = Walk {
                triangle: walk
                    .triangle
                    .wrapping_offset(last * (walk.down + walk.across)),
                right: walk.right.wrapping_offset(last * walk.stride),
                down: -walk.down,
                across: -walk.across,
                stride: -walk.stride,
                ..walk
            };
        }
        let mut col = 0;
        while col < cols {
            let vectors = (cols - col).div_ceil(L::WIDTH).min(VECTORS);
            // Cells in the last of these vectors.
            let last = (cols - col - (vectors - 1) * L::WIDTH).min(L::WIDTH);
            let strip = Walk {
                right: walk.right.wrapping_add(col),
                ..walk
            };
            // SAFETY: the vectors are columns of the right side; the rest is the caller's promise.
            unsafe {
                match vectors {
                    1 => strip.solve::<L, 1>(last),
                    2 => strip.solve::<L, 2>(last),
                    3 => strip.solve::<L, 3>(last),
                    _ => strip.solve::<L, VECTORS>(last),
                }
            }
            col += vectors * L::WIDTH;
        }
    }
}

impl Walk {
    /// # Safety
    /// The instructions are present. The pointers and steps reach `order` rows and columns of a triangle, and as many rows of so many
    /// vectors, the last of which has `last` cells.
    #[inline(always)]
    unsafe fn solve<L: Lanes, const VECTORS: usize>(self, last: usize) {
        let mut first = 0;
        while first + ROWS <= self.order {
            // SAFETY: the caller's promise.
            unsafe { self.rows::<L, VECTORS, ROWS>(first, last) };
            first += ROWS;
        }
        if first < self.order {
            // SAFETY: the caller's promise.
            unsafe { self.rows::<L, VECTORS, 1>(first, last) };
        }
    }

    /// Solves for some rows, when those before are solved.
    ///
    /// # Safety
    /// As [`Walk::solve`], for `first + COUNT <= order`.
    #[inline(always)]
    #[expect(
        clippy::needless_range_loop,
        reason = "closures and iterators over vectors may be called, without the instructions: ten times slower"
    )]
    unsafe fn rows<L: Lanes, const VECTORS: usize, const COUNT: usize>(
        self,
        first: usize,
        last: usize,
    ) {
        let right = |row: usize| self.right.wrapping_offset(row as isize * self.stride);
        let cell = |row: usize, col: usize| {
            let (down, across) = (row as isize * self.down, col as isize * self.across);
            self.triangle.wrapping_offset(down + across)
        };
        let mut sums = [[L::splat(0.0); VECTORS]; COUNT];
        for row in 0..COUNT {
            for at in 0..VECTORS {
                let count = if at + 1 == VECTORS { last } else { L::WIDTH };
                let from = right(first + row).wrapping_add(at * L::WIDTH);
                // SAFETY: the row has so many cells.
                sums[row][at] = unsafe { lanes::load(from, count) };
            }
        }
        let mut factors = [cell(first, 0); COUNT];
        for row in 0..COUNT {
            factors[row] = cell(first + row, 0);
        }
        let mut from = right(0);
        for _ in 0..first {
            let mut solved = [L::splat(0.0); VECTORS];
            for at in 0..VECTORS {
                let count = if at + 1 == VECTORS { last } else { L::WIDTH };
                // SAFETY: the row has so many cells.
                solved[at] = unsafe { lanes::load(from.wrapping_add(at * L::WIDTH), count) };
            }
            for row in 0..COUNT {
                // SAFETY: the triangle has the row and this column.
                let factor = L::splat(-unsafe { *factors[row] });
                factors[row] = factors[row].wrapping_offset(self.across);
                for at in 0..VECTORS {
                    sums[row][at] = factor.mul_add(solved[at], sums[row][at]);
                }
            }
            from = from.wrapping_offset(self.stride);
        }
        for row in 0..COUNT {
            let out = right(first + row);
            for at in 0..VECTORS {
                let count = if at + 1 == VECTORS { last } else { L::WIDTH };
                // SAFETY: the row has so many cells.
                unsafe { lanes::store(sums[row][at], out.wrapping_add(at * L::WIDTH), count) };
            }
            if !self.is_unit {
                // SAFETY: the triangle has this cell of the diagonal.
                let diagonal = unsafe { *cell(first + row, first + row) };
                for at in 0..(VECTORS - 1) * L::WIDTH + last {
                    // SAFETY: the row has so many cells, which nothing else refers to.
                    unsafe { *out.wrapping_add(at) /= diagonal };
                }
            }
            for later in row + 1..COUNT {
                // SAFETY: the triangle has this row and this column.
                let factor = L::splat(-unsafe { *cell(first + later, first + row) });
                for at in 0..VECTORS {
                    let count = if at + 1 == VECTORS { last } else { L::WIDTH };
                    // SAFETY: the row has so many cells.
                    let solved = unsafe { lanes::load(out.wrapping_add(at * L::WIDTH), count) };
                    sums[later][at] = factor.mul_add(solved, sums[later][at]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells whose products and sums are exact.
    fn cells(count: usize, seed: usize) -> Vec<f64> {
        let cell = |at: usize| ((at * 31 + seed * 17) % 7) as f64 - 3.0;
        (0..count).map(cell).collect()
    }

    /// Cells between the rows of a right side.
    const GAP: usize = 3;

    fn columns(cells: &mut [f64], (rows, cols): (usize, usize)) -> ViewMut<'_> {
        ViewMut::of_rows(cells, rows, cols, cols + GAP).unwrap()
    }

    #[test]
    fn triangles_of_any_form_give_their_unknowns() {
        for order in [1, 2, 3, 5, 8, 13] {
            for cols in [1, 3, 8, 17, 31, 64, 77, 300] {
                for (half, is_unit, is_turned) in [
                    (Half::Lower, true, false),
                    (Half::Lower, false, true),
                    (Half::Upper, true, true),
                    (Half::Upper, false, false),
                ] {
                    let stride = order + 2;
                    let mut triangle = cells(order * stride, order);
                    for place in 0..order {
                        triangle[place * stride + place] = 2.0;
                    }
                    let view = View::of_rows(&triangle, order, order, stride);
                    let view = if is_turned { view.transposed() } else { view };
                    let cell = |row: usize, col: usize| {
                        let is_read = match half {
                            Half::Lower => col < row,
                            Half::Upper => col > row,
                        };
                        match (is_read, row == col, is_unit) {
                            (true, _, _) => view.cells()[row * view.down() + col * view.across()],
                            (_, true, true) => 1.0,
                            (_, true, false) => 2.0,
                            _ => 0.0,
                        }
                    };
                    let unknowns = cells(order * cols, 3);
                    let mut right = vec![7.0; order * (cols + GAP)];
                    for row in 0..order {
                        for col in 0..cols {
                            let product = |k: usize| cell(row, k) * unknowns[k * cols + col];
                            right[row * (cols + GAP) + col] = (0..order).map(product).sum();
                        }
                    }
                    let triangle = Triangle {
                        cells: view,
                        half,
                        is_unit,
                    };
                    let given = right.clone();
                    let mut parallel = right.clone();
                    let size = (order, cols);
                    substitute(triangle, columns(&mut right, size));
                    substitute_in_parallel(triangle, columns(&mut parallel, size));
                    assert_eq!(right, parallel);
                    for instructions in Instructions::present() {
                        let mut other = given.clone();
                        substitute_with(instructions, triangle, columns(&mut other, size));
                        assert_eq!(right, other, "{instructions:?}");
                    }
                    for (row, solved) in right.chunks(cols + GAP).enumerate() {
                        assert_eq!(solved[..cols], unknowns[row * cols..(row + 1) * cols]);
                        assert_eq!(solved[cols..], [7.0; GAP]);
                    }
                }
            }
        }
    }
}
