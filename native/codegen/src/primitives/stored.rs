//! Products at the stored cells of a row, for the Outer template: checked slices around the kernels of [`super::sparse`].

use fulgurite_error::{Error, Result};

use super::sparse::{self, SparseRow};
use fulgurite_matrix::lanes::{self, Lanes};

/// A row-major matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub cells: &'a [f64],
    pub cols: usize,
}

/// `out[n] = u . v[columns[n]]`. Asks for the rows of `v` that `later` names, which will be read soon.
///
/// # Errors
/// `internal` when the slices don't fit each other: nothing has been written then. So it is with all functions here.
pub(crate) fn dots(
    u: &[f64],
    v: Rows<'_>,
    columns: &[i32],
    later: &[i32],
    out: &mut [f64],
) -> Result<()> {
    let fits = u.len() == v.cols && out.len() == columns.len();
    check(fits && are_rows(columns, v.cells.len(), v.cols))?;
    let row = SparseRow {
        indices: columns.as_ptr(),
        values: std::ptr::null(),
        stored: columns.len(),
    };
    let product = Product::Dots {
        u: u.as_ptr(),
        v: v.cells.as_ptr(),
        width: v.cols,
        later,
        out: out.as_mut_ptr(),
    };
    // SAFETY: the columns are rows of `v`, as wide as `u`, and `out` has a cell for each; values are not read.
    unsafe { run(row, product) };
    Ok(())
}

/// Asks for a row that will be read soon.
pub(crate) fn fetch(row: &[f64]) {
    // SAFETY: it reads nothing.
    unsafe { lanes::run_over(row.len(), Fetch(row)) }
}

struct Fetch<'a>(&'a [f64]);

impl lanes::Kernel for Fetch<'_> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        for line in self.0.chunks(lanes::CACHE_LINE) {
            L::prefetch(line.as_ptr());
        }
    }
}

/// `out += sum over n of values[n] * w[columns[n]]`
///
/// # Errors
/// As [`dots`].
pub(crate) fn add_product(
    columns: &[i32],
    values: &[f64],
    w: Rows<'_>,
    out: &mut [f64],
) -> Result<()> {
    let fits = values.len() == columns.len() && out.len() == w.cols;
    check(fits && are_rows(columns, w.cells.len(), w.cols))?;
    let product = Product::AddTimesMatrix {
        w: w.cells.as_ptr(),
        width: w.cols,
        out: out.as_mut_ptr(),
    };
    // SAFETY: the columns are rows of `w`, and `out` is as wide.
    unsafe { run(stored(columns, values), product) };
    Ok(())
}

/// `out[columns[n]] += values[n] * row`, `out` row-major and as wide as `row`.
///
/// # Errors
/// As [`dots`].
pub(crate) fn add_outer(
    columns: &[i32],
    values: &[f64],
    row: &[f64],
    out: &mut [f64],
) -> Result<()> {
    let fits = values.len() == columns.len();
    check(fits && are_rows(columns, out.len(), row.len()))?;
    let product = Product::AddOuter {
        q: row.as_ptr(),
        width: row.len(),
        out: out.as_mut_ptr(),
    };
    // SAFETY: the columns are rows of `out`, which are as wide as `row`.
    unsafe { run(stored(columns, values), product) };
    Ok(())
}

fn stored(columns: &[i32], values: &[f64]) -> SparseRow {
    SparseRow {
        indices: columns.as_ptr(),
        values: values.as_ptr(),
        stored: columns.len(),
    }
}

fn check(fits: bool) -> Result<()> {
    match fits {
        true => Ok(()),
        false => Err(Error::internal("stored cells lie outside of a factor")),
    }
}

/// Whether all columns are rows of a matrix of this many cells, `width` in a row.
fn are_rows(columns: &[i32], cells: usize, width: usize) -> bool {
    // A negative column is a very large one.
    let last = columns.iter().map(|column| *column as u32).max();
    last.is_none_or(|last| {
        let end = (last as usize + 1).checked_mul(width);
        end.is_some_and(|end| end <= cells)
    })
}

#[derive(Clone, Copy)]
enum Product<'a> {
    Dots {
        u: *const f64,
        v: *const f64,
        width: usize,
        later: &'a [i32],
        out: *mut f64,
    },
    AddTimesMatrix {
        w: *const f64,
        width: usize,
        out: *mut f64,
    },
    AddOuter {
        q: *const f64,
        width: usize,
        out: *mut f64,
    },
}

impl Product<'_> {
    fn width(&self) -> usize {
        match self {
            Product::Dots { width, .. }
            | Product::AddTimesMatrix { width, .. }
            | Product::AddOuter { width, .. } => *width,
        }
    }
}

struct AtStored<'a> {
    row: SparseRow,
    product: Product<'a>,
}

impl lanes::Kernel for AtStored<'_> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let row = self.row;
        // SAFETY: the caller's promise.
        unsafe {
            match self.product {
                Product::Dots {
                    u,
                    v,
                    width,
                    later,
                    out,
                } => {
                    sparse::fetch_rows::<L>(later, v, width);
                    sparse::dots::<L>(row, u, v, width, out);
                }
                Product::AddTimesMatrix { w, width, out } => {
                    sparse::add_times_matrix::<L>(row, w, width, out, width);
                }
                Product::AddOuter { q, width, out } => {
                    sparse::add_outer::<L>(row, q, out, width, width);
                }
            }
        }
    }
}

/// # Safety
/// As the product asks.
unsafe fn run(row: SparseRow, product: Product<'_>) {
    // SAFETY: the caller's promise.
    unsafe { lanes::run_over(product.width(), AtStored { row, product }) }
}
