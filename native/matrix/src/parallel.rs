//! Results built by row chunks on rayon's threads.
//!
//! How work is cut depends on shapes only, never on the number of threads, so that results are the same
//! bits on any machine. Each task asks first whether the run goes on ([`Interrupt`]).

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use crate::{
    CsrMatrix, DenseMatrix, Extent, Interrupt,
    memory::{self, NewCells, by_chunks},
};

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

pub(crate) use crate::memory::cells;

/// The extent of these cells, found on all threads.
pub(crate) fn extent_of_cells(cells: &[f64]) -> Extent {
    if cells.len() <= TASK_CELLS {
        return Extent::of_cells(cells);
    }
    let parts = cells.par_chunks(TASK_CELLS).map(Extent::of_cells);
    parts.reduce(|| Extent::EMPTY, Extent::and)
}

/// A dense matrix whose rows `fill` writes, a task of rows at a time, into zeroed cells.
pub(crate) fn dense_by_rows(
    rows: usize,
    cols: usize,
    cells_per_row: usize,
    fill: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Result<DenseMatrix> {
    let chunk = rows_per_task(cells_per_row.max(cols));
    let values = by_chunks(cells(rows, cols)?, chunk * cols, |index, out| {
        let from = index * chunk;
        fill(from..from + out.len() / cols, out);
    })?;
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
    /// Appends a cell to the current row; columns ascend. Zeros are left out.
    pub(crate) fn push(&mut self, col: usize, value: f64) {
        if value != 0.0 {
            self.indices.push(col as i32);
            self.values.push(value);
        }
    }

    /// Appends rows: their cells one row after the other, and where each ends among these. Zeros are left out.
    pub(crate) fn append(&mut self, ends: &[usize], indices: &[i32], values: &[f64]) {
        if values
            .iter()
            .fold(false, |any, value| any | (*value == 0.0))
        {
            let mut start = 0;
            for end in ends {
                for (col, value) in indices[start..*end].iter().zip(&values[start..*end]) {
                    self.push(*col as usize, *value);
                }
                self.end_row();
                start = *end;
            }
        } else {
            let before = self.values.len();
            self.indices.extend_from_slice(indices);
            self.values.extend_from_slice(values);
            self.ends.extend(ends.iter().map(|end| before + end));
        }
    }

    /// Appends a row of all its cells, without branches on what they are.
    pub(crate) fn append_dense(&mut self, row: &[f64]) {
        let mut next = self.values.len();
        self.indices.resize(next + row.len(), 0);
        self.values.resize(next + row.len(), 0.0);
        for (col, value) in row.iter().enumerate() {
            self.indices[next] = col as i32;
            self.values[next] = *value;
            next += usize::from(*value != 0.0);
        }
        self.indices.truncate(next);
        self.values.truncate(next);
        self.end_row();
    }

    fn bytes(&self) -> usize {
        8 * self.ends.capacity() + 4 * self.indices.capacity() + 8 * self.values.capacity()
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
    csr_by_rows_within(rows, cols, cells_per_row, |_| 0, fill)
}

/// As [`csr_by_rows`]; `most` says how many cells a task has at most.
pub(crate) fn csr_by_rows_within(
    rows: usize,
    cols: usize,
    cells_per_row: usize,
    most: impl Fn(Range<usize>) -> usize + Sync,
    fill: impl Fn(Range<usize>, &mut SparseRows) + Sync,
) -> Result<CsrMatrix> {
    let interrupt = Interrupt::current();
    let tasks = row_tasks(rows, rows_per_task(cells_per_row));
    let counted = interrupt.parts(tasks.len());
    let parts = tasks
        .into_par_iter()
        .map(|task| {
            interrupt.check()?;
            let most = most(task.clone());
            let mut part = SparseRows {
                ends: memory::room(task.len())?,
                indices: memory::room(most)?,
                values: memory::room(most)?,
            };
            interrupt.within(|| fill(task, &mut part));
            counted.passed();
            // Tasks are small: what one has taken is asked for when it is there.
            memory::admit(part.bytes())?;
            Ok(part)
        })
        .collect::<Result<Vec<SparseRows>>>()?;
    let mut pointers = memory::room(rows.saturating_add(1))?;
    pointers.push(0i64);
    let mut stored = 0;
    for part in &parts {
        pointers.extend(part.ends.iter().map(|end| (stored + end) as i64));
        stored += part.values.len();
    }
    let lengths: Vec<usize> = parts.iter().map(|part| part.values.len()).collect();
    let (indices, values) = two_by_parts(stored, &lengths, |part, indices, values| {
        indices.copy_from_slice(&parts[part].indices);
        values.copy_from_slice(&parts[part].values);
        Ok(())
    })?;
    CsrMatrix::new(rows, cols, pointers, indices, values)
}

/// A CSR matrix of which it is known how many cells each row has; `fill` writes those of a row.
pub(crate) fn csr_of_known_rows(
    rows: usize,
    cols: usize,
    stored: impl Fn(usize) -> usize + Sync,
    fill: impl Fn(usize, &mut [i32], &mut [f64]) + Sync,
) -> Result<CsrMatrix> {
    let mut pointers = memory::room(rows.saturating_add(1))?;
    pointers.push(0i64);
    let mut end = 0;
    pointers.extend((0..rows).map(|row| {
        end += stored(row);
        end as i64
    }));
    let tasks = row_tasks(rows, rows_per_task(end / rows.max(1) + 1));
    let length = |rows: Range<usize>| (pointers[rows.end] - pointers[rows.start]) as usize;
    let lengths: Vec<usize> = tasks.iter().map(|task| length(task.clone())).collect();
    let (indices, values) = two_by_parts(end, &lengths, |part, mut indices, mut values| {
        for row in tasks[part].clone() {
            let (row_indices, later_indices) = indices.split_at_mut(length(row..row + 1));
            let (row_values, later_values) = values.split_at_mut(length(row..row + 1));
            fill(row, row_indices, row_values);
            (indices, values) = (later_indices, later_values);
        }
        Ok(())
    })?;
    CsrMatrix::new(rows, cols, pointers, indices, values)
}

/// Indices and values that `fill` writes, a part of these lengths at a time; it gets the part's number.
///
/// # Errors
/// `memory`; `interrupted`; that of a part.
pub(crate) fn two_by_parts(
    stored: usize,
    lengths: &[usize],
    fill: impl Fn(usize, &mut [i32], &mut [f64]) -> Result<()> + Sync,
) -> Result<(Vec<i32>, Vec<f64>)> {
    let (mut indices, mut values) = (NewCells::new(stored)?, NewCells::new(stored)?);
    let index_parts = indices.parts(lengths.iter().copied()).into_par_iter();
    let value_parts = values.parts(lengths.iter().copied()).into_par_iter();
    let parts = index_parts.zip(value_parts).enumerate();
    let interrupt = Interrupt::current();
    let counted = interrupt.parts(lengths.len());
    parts.try_for_each(|(part, (indices, values))| {
        interrupt.check()?;
        interrupt.within(|| fill(part, indices.cells(), values.cells()))?;
        counted.passed();
        Ok(())
    })?;
    Ok((indices.finish(), values.finish()))
}
