//! Cellwise operators, reductions and copies of a block, by the definitions of the operators.
//!
//! `exp`, `log` and `sigmoid` have vector code ([`super::math`]); all others apply `eval` to each cell.

use std::slice;

use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, UnaryOp};

use super::math;

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

/// # Safety
/// See the module [`super`]. Input and output don't overlap.
pub(super) unsafe extern "C" fn unary(
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
    for at in 0..rows {
        // SAFETY: the caller's promise.
        let (x, out) = unsafe {
            (
                row(x, at, x_stride, width),
                row_mut(out, at, out_stride, width),
            )
        };
        match op {
            UnaryOp::Exp => math::exp(x, out),
            UnaryOp::Log => math::log(x, out),
            UnaryOp::Sigmoid => math::sigmoid(x, out),
            other => {
                for (out, x) in out.iter_mut().zip(x) {
                    *out = other.eval(*x);
                }
            }
        }
    }
}

/// Operands have a stride per row and per column, 0 where they are spread.
///
/// # Safety
/// See the module [`super`]. Inputs and output don't overlap.
pub(super) unsafe extern "C" fn binary(
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
    for at in 0..rows {
        // SAFETY: the caller's promise.
        let out = unsafe { row_mut(out, at, out_stride, width) };
        for (col, out) in out.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *out = unsafe {
                op.eval(
                    *x.add(at * x_row + col * x_col),
                    *y.add(at * y_row + col * y_col),
                )
            };
        }
    }
}

/// Reductions that compiled code does not do itself: one number per row.
///
/// # Safety
/// See the module [`super`].
pub(super) unsafe extern "C" fn reduce(
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
        *out = match op {
            AggregateOp::Var => variance(x),
            AggregateOp::Sd => variance(x).sqrt(),
            AggregateOp::IndexMax => last_best(x, |new, best| new >= best),
            AggregateOp::IndexMin => last_best(x, |new, best| new <= best),
            _ => f64::NAN,
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
pub(super) unsafe extern "C" fn cumulative(
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
        CumulativeOp::Min => (|a, x| BinaryOp::Min.eval(a, x), f64::INFINITY),
        CumulativeOp::Max => (|a, x| BinaryOp::Max.eval(a, x), f64::NEG_INFINITY),
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
pub(super) unsafe extern "C" fn copy(
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
