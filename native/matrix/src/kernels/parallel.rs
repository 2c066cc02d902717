//! Results built by row chunks on rayon's threads.
//!
//! How work is cut depends on shapes only, never on the number of threads, so that results are the same
//! bits on any machine.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use crate::{CsrMatrix, DenseMatrix, Layout, MatrixBlock, memory::zeros};

/// Cells a task should have: less is not worth another thread.
pub const TASK_CELLS: usize = 1 << 16;

/// Rows a task should have where a row costs `cells_per_row`.
pub(crate) fn rows_per_task(cells_per_row: usize) -> usize {
    (TASK_CELLS / cells_per_row.max(1)).max(1)
}

/// `0..rows` cut into tasks.
pub(crate) fn row_tasks(rows: usize, rows_per_task: usize) -> Vec<Range<usize>> {
    (0..rows)
        .step_by(rows_per_task.max(1))
        .map(|from| from..(from + rows_per_task).min(rows))
        .collect()
}

/// Row tasks for reductions that keep an accumulator for each task: few, as each costs memory.
pub(crate) fn reduction_tasks(rows: usize, cells_per_row: usize) -> Vec<Range<usize>> {
    const MOST_TASKS: usize = 32;
    row_tasks(
        rows,
        rows_per_task(cells_per_row).max(rows.div_ceil(MOST_TASKS)),
    )
}

/// The number of cells of a dense matrix.
///
/// # Errors
/// `memory` when no machine could hold it.
pub(crate) fn cells(rows: usize, cols: usize) -> Result<usize> {
    rows.checked_mul(cols)
        .filter(|cells| *cells <= isize::MAX as usize / 8)
        .ok_or_else(|| {
            Error::memory(format!(
                "a dense {rows} x {cols} matrix is larger than memory can be"
            ))
        })
}

/// A dense matrix whose rows `fill` writes, a task of rows at a time, into zeroed cells.
pub(crate) fn dense_by_rows(
    rows: usize,
    cols: usize,
    cells_per_row: usize,
    fill: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Result<DenseMatrix> {
    let mut values = zeros(cells(rows, cols)?);
    if !values.is_empty() {
        let chunk = rows_per_task(cells_per_row.max(cols));
        if rows <= chunk {
            fill(0..rows, &mut values);
        } else {
            values
                .par_chunks_mut(chunk * cols)
                .enumerate()
                .for_each(|(index, out)| {
                    let from = index * chunk;
                    fill(from..from + out.len() / cols, out);
                });
        }
    }
    DenseMatrix::new(rows, cols, values)
}

/// The rows of a sparse result as a task collects them.
#[derive(Default)]
pub(crate) struct SparseRows {
    ends: Vec<usize>,
    indices: Vec<i32>,
    values: Vec<f64>,
}

impl SparseRows {
    /// Makes room for so many cells more.
    pub(crate) fn reserve(&mut self, cells: usize) {
        self.indices.reserve(cells);
        self.values.reserve(cells);
    }

    /// Appends a cell to the current row; columns ascend. Zeros are left out.
    pub(crate) fn push(&mut self, col: usize, value: f64) {
        if value != 0.0 {
            self.indices.push(col as i32);
            self.values.push(value);
        }
    }

    pub(crate) fn end_row(&mut self) {
        self.ends.push(self.values.len());
    }
}

/// A CSR matrix whose rows `fill` appends, a task of rows at a time; `fill` ends each row.
pub(crate) fn csr_by_rows(
    rows: usize,
    cols: usize,
    cells_per_row: usize,
    fill: impl Fn(Range<usize>, &mut SparseRows) + Sync,
) -> Result<CsrMatrix> {
    let parts: Vec<SparseRows> = row_tasks(rows, rows_per_task(cells_per_row))
        .into_par_iter()
        .map(|task| {
            let mut part = SparseRows::default();
            fill(task, &mut part);
            part
        })
        .collect();
    let mut pointers = Vec::with_capacity(rows + 1);
    pointers.push(0i64);
    let mut stored = 0;
    for part in &parts {
        pointers.extend(part.ends.iter().map(|end| (stored + end) as i64));
        stored += part.values.len();
    }
    let (mut indices, mut values) = (vec![0; stored], zeros(stored));
    let (mut index_rest, mut value_rest) = (&mut indices[..], &mut values[..]);
    let places = parts.into_iter().map(|part| {
        let (index_place, after) = std::mem::take(&mut index_rest).split_at_mut(part.values.len());
        index_rest = after;
        let (value_place, after) = std::mem::take(&mut value_rest).split_at_mut(part.values.len());
        value_rest = after;
        (part, index_place, value_place)
    });
    let places: Vec<_> = places.collect();
    places.into_par_iter().for_each(|(part, indices, values)| {
        indices.copy_from_slice(&part.indices);
        values.copy_from_slice(&part.values);
    });
    CsrMatrix::new(rows, cols, pointers, indices, values)
}

/// A sparse result in the layout that suits what it stores; reads the stored count only.
pub(crate) fn settle(result: impl Into<MatrixBlock>) -> MatrixBlock {
    let result = result.into();
    let best = Layout::best(result.rows(), result.cols(), result.values().len());
    result.in_layout(best)
}

/// `RxC` as messages print shapes.
pub(crate) fn shape(block: &MatrixBlock) -> String {
    format!("{} x {}", block.rows(), block.cols())
}
