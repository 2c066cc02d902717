//! Kernels over the stored cells of CSR rows.

use super::lanes::{LANES, Lanes};

/// The stored cells of one row.
#[derive(Clone, Copy)]
pub(super) struct SparseRow {
    pub indices: *const i32,
    pub values: *const f64,
    pub stored: usize,
}

/// The dot product of a sparse row and a dense vector.
///
/// # Safety
/// The row's indices and values can be read, and each index is a cell of `v`.
#[inline(always)]
pub(super) unsafe fn dot(row: SparseRow, v: *const f64) -> f64 {
    // Four sums, so that the additions of one need not wait for each other.
    let mut sums = [0.0; 4];
    let whole = row.stored - row.stored % 4;
    let mut at = 0;
    while at < whole {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: `at + lane < stored`, and the indices are cells of `v`.
            *sum += unsafe {
                let col = *row.indices.add(at + lane) as usize;
                *row.values.add(at + lane) * *v.add(col)
            };
        }
        at += 4;
    }
    for at in whole..row.stored {
        // SAFETY: as above.
        sums[0] += unsafe { *row.values.add(at) * *v.add(*row.indices.add(at) as usize) };
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// `c[index] += value * factor` for the stored cells of a row.
///
/// # Safety
/// As [`dot`], and `c` can be written.
#[inline(always)]
pub(super) unsafe fn add_scaled(row: SparseRow, factor: f64, c: *mut f64) {
    for at in 0..row.stored {
        // SAFETY: `at < stored`, and the indices are cells of `c`.
        unsafe { *c.add(*row.indices.add(at) as usize) += *row.values.add(at) * factor };
    }
}

/// `out[..cols] = row %*% b`, with `b` row-major and its rows padded to whole lanes.
///
/// # Safety
/// Indices are rows of `b`, whose rows have `stride >= cols` cells rounded up to whole lanes; `out` has `cols`
/// cells.
#[inline(always)]
pub(super) unsafe fn times_matrix<L: Lanes>(
    row: SparseRow,
    b: *const f64,
    stride: usize,
    out: *mut f64,
    cols: usize,
) {
    let mut col = 0;
    while col < cols {
        let mut sum = L::splat(0.0);
        for at in 0..row.stored {
            // SAFETY: the index is a row of `b`, and padding makes four cells from `col` on readable.
            unsafe {
                let cells = L::load(b.add(*row.indices.add(at) as usize * stride + col));
                sum = L::splat(*row.values.add(at)).mul_add(cells, sum);
            }
        }
        let mut lanes = [0.0; LANES];
        // SAFETY: the array has four cells, and no more than `cols` are copied out.
        unsafe {
            sum.store(lanes.as_mut_ptr());
            let left = (cols - col).min(LANES);
            std::ptr::copy_nonoverlapping(lanes.as_ptr(), out.add(col), left);
        }
        col += LANES;
    }
}

/// Adds the outer product of a row and `q` to `c`, which is row-major with rows padded to whole lanes.
///
/// # Safety
/// Indices are rows of `c`, whose rows have `stride >= cols` cells rounded up to whole lanes; `q` has `cols` cells.
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
        let mut lanes = [0.0; LANES];
        // SAFETY: no more than `cols` cells of `q` are read, and padding makes four cells of each row of `c`
        // writable.
        unsafe {
            let left = (cols - col).min(LANES);
            std::ptr::copy_nonoverlapping(q.add(col), lanes.as_mut_ptr(), left);
            let factors = L::load(lanes.as_ptr());
            for at in 0..row.stored {
                let target = c.add(*row.indices.add(at) as usize * stride + col);
                let value = L::splat(*row.values.add(at));
                value.mul_add(factors, L::load(target)).store(target);
            }
        }
        col += LANES;
    }
}
