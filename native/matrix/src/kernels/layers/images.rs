//! Rows of images: read one by one, written by tasks.

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use crate::{
    ByRows, Interrupt, MatrixBlock,
    memory::{self, NewCells, cells},
    parallel::{row_tasks, rows_per_task},
};

/// The most tasks that images are cut into: each has its own room for a few windows.
const MOST_TASKS: usize = 64;

/// Images as rows, sparse or not.
pub(super) struct Images<'a> {
    rows: ByRows<'a>,
    cols: usize,
}

impl<'a> Images<'a> {
    pub fn new(block: &'a MatrixBlock) -> Result<Self> {
        Ok(Images {
            rows: block.by_rows()?,
            cols: block.cols(),
        })
    }

    /// Room for one image of a sparse matrix; none is needed for a dense one.
    pub fn scratch(&self) -> Result<Vec<f64>> {
        match self.rows {
            ByRows::Dense(_) => Ok(Vec::new()),
            ByRows::Csr(_) => memory::zeros(self.cols),
        }
    }

    /// All cells of a row.
    pub fn row<'s>(&'s self, row: usize, scratch: &'s mut [f64]) -> &'s [f64] {
        match &self.rows {
            ByRows::Dense(dense) => dense.row(row),
            ByRows::Csr(csr) => {
                scratch.fill(0.0);
                let (indices, values) = csr.row(row);
                for (col, value) in indices.iter().zip(values) {
                    if let Some(cell) = scratch.get_mut(*col as usize) {
                        *cell = *value;
                    }
                }
                scratch
            }
        }
    }
}

/// A dense matrix whose rows `fill` writes into cells that are zero, a task of images at a time. A row costs as much as so many cells.
pub(super) fn by_images(
    images: usize,
    cols: usize,
    cost: usize,
    fill: impl Fn(Range<usize>, &mut [f64]) -> Result<()> + Sync,
) -> Result<MatrixBlock> {
    let mut output = NewCells::new(cells(images, cols)?)?;
    let interrupt = Interrupt::current();
    let tasks = image_tasks(images, cost.max(cols));
    let counted = interrupt.parts(tasks.len());
    let parts = output.parts(tasks.iter().map(|task| task.len() * cols));
    let parts = parts.into_par_iter().zip(tasks.into_par_iter());
    parts.try_for_each(|(part, task)| {
        interrupt.check()?;
        interrupt.within(|| fill(task, part.cells()))?;
        counted.passed();
        Ok::<(), fulgurite_error::Error>(())
    })?;
    MatrixBlock::dense(images, cols, output.finish())
}

/// Images cut into tasks.
pub(super) fn image_tasks(images: usize, cost: usize) -> Vec<Range<usize>> {
    row_tasks(images, rows_per_task(cost).max(images.div_ceil(MOST_TASKS)))
}
