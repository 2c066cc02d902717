//! Cellwise operators, reductions and copies of a block, by the definitions of the operators.
//!
//! Functions of cells work on whole stretches, by their vector forms.

use std::slice;

use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, UnaryOp, scalar};
use fulgurite_matrix::vector_math::Cells;

use crate::aggregates::{self, AggregateForm, RowFunction};

/// A primitive with one operand of the result's shape.
pub(crate) type Rowwise =
    unsafe extern "C" fn(usize, *const f64, usize, *mut f64, usize, usize, usize);

/// One row of a block.
///
/// # Safety
/// `width` cells from `pointer + row * stride` on can be read for `'a`.
unsafe fn row<'a>(pointer: *const f64, row: usize, stride: usize, width: usize) -> &'a [f64] {
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(pointer.add(row * stride), width) }
}

/// # Safety
/// As [`row`], writable, and nobody else has the row for `'a`.
unsafe fn row_mut<'a>(pointer: *mut f64, row: usize, stride: usize, width: usize) -> &'a mut [f64] {
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(pointer.add(row * stride), width) }
}

/// Cells that lie side by side, or one for all; `None` where they lie further apart.
///
/// # Safety
/// `width` cells, at least one, from `pointer` on, `stride` apart, can be read for `'a`.
unsafe fn stretch<'a>(pointer: *const f64, stride: usize, width: usize) -> Option<Cells<'a>> {
    match stride {
        // SAFETY: the caller's promise.
        0 => Some(Cells::Same(unsafe { *pointer })),
        // SAFETY: as above.
        1 => Some(Cells::Each(unsafe { row(pointer, 0, 0, width) })),
        _ => None,
    }
}

/// # Safety
/// See the module [`super`]. Input and output don't overlap.
pub(crate) unsafe extern "C" fn unary(
    op: usize,
    x: *const f64,
    x_stride: usize,
    out: *mut f64,
    out_stride: usize,
    rows: usize,
    width: usize,
) {
    let Some(op) = UnaryOp::ALL.get(op) else {
        return;
    };
    // Rows without gaps are one.
    let (rows, width) = match x_stride == width && out_stride == width {
        true => (rows.min(1), rows * width),
        false => (rows, width),
    };
    for at in 0..rows {
        // SAFETY: the caller's promise.
        let (x, out) = unsafe {
            (
                row(x, at, x_stride, width),
                row_mut(out, at, out_stride, width),
            )
        };
        op.eval_cells(x, out);
    }
}

/// Cells that lie apart are put side by side so many at a time.
const GATHERED: usize = 64;

/// Operands have a stride per row and per column, 0 where they are spread.
///
/// # Safety
/// See the module [`super`]. Inputs and output don't overlap.
pub(crate) unsafe extern "C" fn binary(
    op: usize,
    x: *const f64,
    x_row: usize,
    x_col: usize,
    y: *const f64,
    y_row: usize,
    y_col: usize,
    out: *mut f64,
    out_stride: usize,
    rows: usize,
    width: usize,
) {
    let Some(op) = BinaryOp::ALL.get(op) else {
        return;
    };
    if width == 0 {
        return;
    }
    // Rows without gaps are one; a number for all cells has no rows.
    let whole = |row: usize, col: usize| (row, col) == (width, 1) || (row, col) == (0, 0);
    let (rows, width) = match whole(x_row, x_col) && whole(y_row, y_col) && out_stride == width {
        true => (rows.min(1), rows * width),
        false => (rows, width),
    };
    for at in 0..rows {
        // SAFETY: the caller's promise.
        let (x, y, out) = unsafe {
            (
                x.add(at * x_row),
                y.add(at * y_row),
                row_mut(out, at, out_stride, width),
            )
        };
        // SAFETY: as above.
        match unsafe { (stretch(x, x_col, width), stretch(y, y_col, width)) } {
            (Some(x), Some(y)) => op.eval_cells(x, y, out),
            _ => {
                let (mut xs, mut ys) = ([0.0; GATHERED], [0.0; GATHERED]);
                for (part, out) in out.chunks_mut(GATHERED).enumerate() {
                    let from = part * GATHERED;
                    for (at, (x_cell, y_cell)) in xs.iter_mut().zip(&mut ys).enumerate() {
                        // The last part is shorter.
                        let col = from + at.min(out.len() - 1);
                        // SAFETY: as above.
                        (*x_cell, *y_cell) = unsafe { (*x.add(col * x_col), *y.add(col * y_col)) };
                    }
                    op.eval_cells(Cells::Each(&xs), Cells::Each(&ys), out);
                }
            }
        }
    }
}

/// Reductions that compiled code does not do itself: one number per row.
///
/// # Safety
/// See the module [`super`].
pub(crate) unsafe extern "C" fn reduce(
    op: usize,
    x: *const f64,
    x_stride: usize,
    out: *mut f64,
    rows: usize,
    width: usize,
) {
    let Some(op) = AggregateOp::ALL.get(op) else {
        return;
    };
    for at in 0..rows {
        // SAFETY: the caller's promise.
        let (x, out) = unsafe { (row(x, at, x_stride, width), &mut *out.add(at)) };
        *out = match aggregates::form(*op) {
            AggregateForm::OfRow(RowFunction::Variance) => variance(x),
            AggregateForm::OfRow(RowFunction::Deviation) => variance(x).sqrt(),
            AggregateForm::OfRow(RowFunction::LastMaximum) => last_best(x, |new, best| new >= best),
            AggregateForm::OfRow(RowFunction::LastMinimum) => last_best(x, |new, best| new <= best),
            // Loops compute them.
            AggregateForm::Incremental(_) | AggregateForm::Unsupported => f64::NAN,
        };
    }
}

/// The sample variance, in two passes.
fn variance(x: &[f64]) -> f64 {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let squares: f64 = x.iter().map(|x| (x - mean) * (x - mean)).sum();
    squares / (x.len() as f64 - 1.0)
}

/// The place (from 1) of the last cell that is as good as any; NaN cells don't count.
fn last_best(x: &[f64], is_as_good: impl Fn(f64, f64) -> bool) -> f64 {
    let mut best: Option<(usize, f64)> = None;
    for (at, cell) in x.iter().enumerate().filter(|(_, cell)| !cell.is_nan()) {
        if best.is_none_or(|(_, best)| is_as_good(*cell, best)) {
            best = Some((at, *cell));
        }
    }
    best.map_or(1.0, |(at, _)| at as f64 + 1.0)
}

/// # Safety
/// See the module [`super`]. Input and output don't overlap.
pub(crate) unsafe extern "C" fn cumulative(
    op: usize,
    x: *const f64,
    x_stride: usize,
    out: *mut f64,
    out_stride: usize,
    rows: usize,
    width: usize,
) {
    let Some(op) = CumulativeOp::ALL.get(op) else {
        return;
    };
    let (mut step, start): (fn(f64, f64) -> f64, f64) = match op {
        CumulativeOp::Sum => (|a, x| a + x, 0.0),
        CumulativeOp::Prod => (|a, x| a * x, 1.0),
        CumulativeOp::Min => (scalar::minimum, f64::INFINITY),
        CumulativeOp::Max => (scalar::maximum, f64::NEG_INFINITY),
    };
    for at in 0..rows {
        // SAFETY: the caller's promise.
        let (x, out) = unsafe {
            (
                row(x, at, x_stride, width),
                row_mut(out, at, out_stride, width),
            )
        };
        accumulate_along(x, out, start, &mut step);
    }
}

fn accumulate_along(
    x: &[f64],
    out: &mut [f64],
    start: f64,
    step: &mut impl FnMut(f64, f64) -> f64,
) {
    let mut total = start;
    for (out, x) in out.iter_mut().zip(x) {
        total = step(total, *x);
        *out = total;
    }
}

/// # Safety
/// See the module [`super`]. Input and output don't overlap.
pub(crate) unsafe extern "C" fn copy(
    x: *const f64,
    x_stride: usize,
    out: *mut f64,
    out_stride: usize,
    rows: usize,
    width: usize,
) {
    for at in 0..rows {
        // SAFETY: the caller's promise; a stretch of an output row beside others' stretches.
        unsafe { row_mut(out, at, out_stride, width).copy_from_slice(row(x, at, x_stride, width)) };
    }
}
