//! Cutting work into tasks and running them.

use std::ops::Range;

use fulgurite_error::Result;
use fulgurite_matrix::{
    CsrMatrix, MatrixBlock,
    kernels::TASK_CELLS,
    memory::{NewCells, NewPart},
};
use rayon::prelude::*;

use super::ExecutionContext;
use crate::bind::{Bound, Operand};

/// More tasks than threads, so that a thread that was held up does not hold up all.
const TASKS_PER_THREAD: usize = 8;

/// Ranges that cover `0..length` in order, for work of `cells` cells in all; their limits are multiples of
/// `grain`.
pub(super) fn even(
    length: usize,
    grain: usize,
    cells: usize,
    context: &ExecutionContext,
) -> Vec<Range<usize>> {
    let tasks = task_count(cells, context).min(length.div_ceil(grain.max(1)).max(1));
    let limit = |task: usize| {
        let exact = (length as u128 * task as u128 / tasks as u128) as usize;
        (exact / grain.max(1)) * grain.max(1)
    };
    (0..tasks)
        .map(|task| {
            limit(task)..if task + 1 == tasks {
                length
            } else {
                limit(task + 1)
            }
        })
        .filter(|range| !range.is_empty())
        .collect()
}

/// Ranges of rows of about as many stored cells each.
pub(super) fn of_rows(
    bound: &Bound<'_>,
    cells_per_row: usize,
    context: &ExecutionContext,
) -> Vec<Range<usize>> {
    let rows = bound.rows();
    let Operand::Matrix(MatrixBlock::Csr(csr)) = bound.main else {
        return even(rows, 1, rows.saturating_mul(cells_per_row), context);
    };
    of_stored(csr, 1, context)
}

/// Ranges of rows of about as many stored cells each, of which each costs as much as `per_cell` dense cells.
pub(super) fn of_stored(
    csr: &CsrMatrix,
    per_cell: usize,
    context: &ExecutionContext,
) -> Vec<Range<usize>> {
    let rows = csr.rows();
    let pointers = csr.pointers();
    let stored = csr.stored();
    let tasks = task_count(stored.saturating_mul(per_cell) + rows, context);
    let limit = |task: usize| {
        if task == tasks {
            return rows;
        }
        let target = (stored as u128 * task as u128 / tasks as u128) as i64;
        pointers
            .partition_point(|pointer| *pointer < target)
            .min(rows)
    };
    let mut ranges = Vec::new();
    let mut start = 0;
    for task in 1..=tasks {
        let end = limit(task).max(start);
        if end > start {
            ranges.push(start..end);
        }
        start = end;
    }
    ranges
}

fn task_count(cells: usize, context: &ExecutionContext) -> usize {
    match context.threads() {
        1 => 1,
        threads => (cells / TASK_CELLS).clamp(1, threads * TASKS_PER_THREAD),
    }
}

/// Fewer tasks, each of several adjacent ranges: where every task needs a large accumulator.
pub(super) fn at_most(ranges: Vec<Range<usize>>, tasks: usize) -> Vec<Range<usize>> {
    let together = ranges.len().div_ceil(tasks.max(1)).max(1);
    ranges
        .chunks(together)
        .map(|group| group[0].start..group[group.len() - 1].end)
        .collect()
}

/// Runs a task per item and gives the results in the order of items.
pub(super) fn run<T: Send, R: Send>(
    context: &ExecutionContext,
    items: Vec<T>,
    task: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let interrupt = context.interrupt.or_current();
    let counted = interrupt.parts(items.len());
    let task = |item| {
        let result = task(item);
        counted.passed();
        result
    };
    match &context.pool {
        Some(pool) if items.len() > 1 => pool.install(|| {
            // `with_max_len`: a task is never split further, nor bundled with its neighbour.
            items.into_par_iter().with_max_len(1).map(&task).collect()
        }),
        _ => items.into_iter().map(task).collect(),
    }
}

/// Ranges with the parts of `output` that belong to them, `per_unit` cells for each step of a range.
pub(super) fn with_outputs(
    ranges: Vec<Range<usize>>,
    output: &mut NewCells<f64>,
    per_unit: usize,
) -> Vec<(Range<usize>, NewPart<'_, f64>)> {
    let lengths: Vec<usize> = ranges.iter().map(|range| range.len() * per_unit).collect();
    ranges.into_iter().zip(output.parts(lengths)).collect()
}
