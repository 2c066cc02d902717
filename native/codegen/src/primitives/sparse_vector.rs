//! Kernels over the stored cells of CSR rows, and vectors that their columns index.
//!
//! Where rows are short, each of them ends a loop that the processor has begun to repeat, which costs more than their cells. The
//! cells of several such rows are multiplied, or added up, as if they were one row's, through a buffer of products. The bits of
//! a result do not depend on which rows stand beside each other.

use super::sparse::{SparseRow, SparseRows};
use fulgurite_matrix::lanes::{Lanes, TOGETHER, WIDEST};

/// Rows that are worked on together.
const GROUP: usize = 32;
/// Vectors of cells that a short row has at most: those that one sum for each chain takes.
const SHORT_VECTORS: usize = CHAINS;
/// Sums of a row, so that the additions of one need not wait for each other.
const CHAINS: usize = 2;

/// Products of the cells of a group of rows, and room for what is written beyond the last one.
struct Products([f64; (GROUP + 1) * SHORT_VECTORS * WIDEST]);

impl Products {
    fn new() -> Self {
        Products([0.0; (GROUP + 1) * SHORT_VECTORS * WIDEST])
    }
}

/// How many cells a short row has at most.
const fn short<L: Lanes>() -> usize {
    SHORT_VECTORS * L::WIDTH
}

/// A group of rows that meets a vector.
#[derive(Clone, Copy)]
struct Group {
    rows: SparseRows,
    first: usize,
    cells: SparseRow,
    v: *const f64,
    /// Of the cells, where there are few for each row.
    products: Option<*const f64>,
}

impl Group {
    /// What is to be summed over lanes for the dot product of a row.
    ///
    /// # Safety
    /// As [`dots`], and the row is one of the group.
    #[inline(always)]
    unsafe fn lanes<L: Lanes>(&self, at: usize) -> L {
        // SAFETY: the caller's promise; products stand where the row's cells do.
        unsafe {
            let row = self.rows.row(self.first + at);
            match self.products {
                Some(products) if row.stored <= short::<L>() => {
                    let before = row.values.offset_from(self.cells.values) as usize;
                    lanes_of_products::<L>(products.add(before), row.stored)
                }
                _ => lanes_of_dot::<L>(row, self.v),
            }
        }
    }
}

/// `out[row * stride] = row . v` for each row.
///
/// # Safety
/// The rows can be read, each index is a cell of `v`, and `out` has the cells.
#[inline(always)]
pub(super) unsafe fn dots<L: Lanes>(rows: SparseRows, v: *const f64, out: *mut f64, stride: usize) {
    let mut buffer = Products::new();
    for first in (0..rows.rows).step_by(GROUP) {
        let count = GROUP.min(rows.rows - first);
        // SAFETY: there are `count` rows from `first` on, and as many cells of `out`.
        unsafe {
            let cells = rows.together(first, count);
            let mut products = None;
            if cells.stored <= count * short::<L>() {
                multiply::<L>(cells, v, buffer.0.as_mut_ptr());
                products = Some(buffer.0.as_ptr());
            }
            let group = Group {
                rows,
                first,
                cells,
                v,
                products,
            };
            let out = out.add(first * stride);
            let mut at = 0;
            while at + TOGETHER <= count {
                let mut lanes = [L::splat(0.0); TOGETHER];
                for (place, lanes) in lanes.iter_mut().enumerate() {
                    *lanes = group.lanes::<L>(at + place);
                }
                for (place, sum) in L::sums(lanes).into_iter().enumerate() {
                    *out.add((at + place) * stride) = sum;
                }
                at += TOGETHER;
            }
            while at < count {
                *out.add(at * stride) = group.lanes::<L>(at).sum();
                at += 1;
            }
        }
    }
}

/// `out[n] = values[n] * v[indices[n]]`
///
/// # Safety
/// As [`dots`]; `out` has a cell for each that is stored.
#[inline(always)]
unsafe fn multiply<L: Lanes>(cells: SparseRow, v: *const f64, out: *mut f64) {
    let mut at = 0;
    while at < cells.stored {
        let count = L::WIDTH.min(cells.stored - at);
        // SAFETY: so many cells are stored, and there are as many of `out`.
        unsafe {
            let product = product::<L>(cells, at, count, v, L::splat(0.0));
            match count == L::WIDTH {
                true => product.store(out.add(at)),
                false => product.store_first(out.add(at), count),
            }
        }
        at += count;
    }
}

/// What is to be summed over lanes for the dot product of a short row, from its products.
///
/// # Safety
/// `stored <= short::<L>()` products can be read.
#[inline(always)]
unsafe fn lanes_of_products<L: Lanes>(products: *const f64, stored: usize) -> L {
    let mut sums = [L::splat(0.0); CHAINS];
    for (vector, sum) in sums.iter_mut().enumerate() {
        let from = vector * L::WIDTH;
        let count = stored.saturating_sub(from).min(L::WIDTH);
        // SAFETY: so many are there.
        *sum = unsafe { L::load_first(products.wrapping_add(from), count) };
    }
    add(sums)
}

/// What is to be summed over lanes for the dot product of a row.
///
/// # Safety
/// As [`dots`].
#[inline(always)]
unsafe fn lanes_of_dot<L: Lanes>(row: SparseRow, v: *const f64) -> L {
    let mut sums = [L::splat(0.0); CHAINS];
    let mut at = 0;
    while at + L::WIDTH <= row.stored {
        // SAFETY: as many cells are stored.
        sums = [sums[1], unsafe {
            product::<L>(row, at, L::WIDTH, v, sums[0])
        }];
        at += L::WIDTH;
    }
    if at < row.stored {
        // SAFETY: the cells that are left.
        sums[0] = unsafe { product::<L>(row, at, row.stored - at, v, sums[0]) };
    }
    add(sums)
}

/// `addend + values * v[indices]` for `count` cells; the addend in the other lanes.
///
/// # Safety
/// As [`dots`], and `at + count <= stored`.
#[inline(always)]
unsafe fn product<L: Lanes>(
    row: SparseRow,
    at: usize,
    count: usize,
    v: *const f64,
    addend: L,
) -> L {
    // SAFETY: the caller's promise.
    unsafe {
        let (values, indices) = (row.values.add(at), row.indices.add(at));
        match count == L::WIDTH {
            true => L::load(values).mul_add(L::gather(v, indices), addend),
            false => {
                let values = L::load_first(values, count);
                values.mul_add(L::gather_first(v, indices, count), addend)
            }
        }
    }
}

#[inline(always)]
fn add<L: Lanes>([left, right]: [L; CHAINS]) -> L {
    left.mul_add(L::splat(1.0), right)
}

/// `c[index] += value * factors[row * stride]` for the stored cells of each row. Asks for those of as many rows more, which will be
/// read soon.
///
/// # Safety
/// As [`dots`], with `c` in the place of `v`, which can be written; each row has a factor.
#[inline(always)]
pub(super) unsafe fn add_scaled<L: Lanes>(
    rows: SparseRows,
    factors: *const f64,
    stride: usize,
    c: *mut f64,
) {
    let mut products = Products::new();
    // SAFETY: there are so many rows.
    let ahead = unsafe { rows.together(0, rows.rows) }.stored;
    for first in (0..rows.rows).step_by(GROUP) {
        let count = GROUP.min(rows.rows - first);
        // SAFETY: there are `count` rows from `first` on, with as many factors.
        unsafe {
            let cells = rows.together(first, count);
            let are_short = cells.stored <= count * short::<L>();
            let products = products.0.as_mut_ptr();
            let mut before = 0;
            for at in first..first + count {
                let (row, factor) = (rows.row(at), *factors.add(at * stride));
                row.fetch_ahead::<L>(ahead);
                if are_short {
                    scale::<L>(row, factor, products.add(before));
                    before += row.stored;
                } else {
                    for at in 0..row.stored {
                        *c.add(row.column(at)) += *row.values.add(at) * factor;
                    }
                }
            }
            if are_short {
                for at in 0..cells.stored {
                    *c.add(cells.column(at)) += *products.add(at);
                }
            }
        }
    }
}

/// `out[n] = values[n] * factor`, and anything in up to [`short`] cells behind them.
///
/// # Safety
/// The row can be read, and `out` has the cells.
#[inline(always)]
unsafe fn scale<L: Lanes>(row: SparseRow, factor: f64, out: *mut f64) {
    // The sum of any number and the negative zero is that number.
    let (factor, zero) = (L::splat(factor), L::splat(-0.0));
    let mut from = 0;
    // All short rows take the same way.
    while from < short::<L>() || from < row.stored {
        let count = row.stored.saturating_sub(from).min(L::WIDTH);
        // SAFETY: so many cells are stored; `out` has room behind the last one.
        unsafe {
            let values = L::load_first(row.values.wrapping_add(from), count);
            values.mul_add(factor, zero).store(out.add(from));
        }
        from += L::WIDTH;
    }
}
