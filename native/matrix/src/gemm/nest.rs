//! The loops around tiles.
//!
//! A chunk of the right operand is laid out in panels, on all threads. Then tasks take parts of the result. A task goes through the blocks
//! of the depth, and in each through panels, whose cells stay in the first-level cache while all rows of the task pass.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::{
    pack::{DEPTH, LeftTiles, Panels, RightPanels, depth_blocks},
    small,
    tile::{self, Ahead, Strip, TileOperands, TileShape, Write},
    view::{View, ViewMut},
};
use crate::{Interrupt, lanes::Instructions, memory};

/// Which cells of a product are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    All,
    /// Those on and above the diagonal, at least.
    Upper,
}

/// Columns whose panels are laid out at a time, and cells of all these panels: 8 MB.
const CHUNK_COLS: usize = 2016;
const CHUNK_CELLS: usize = 1 << 20;
/// Rows of a task: their cells in a block of the depth stay in the second-level cache.
pub(super) const TASK_ROWS: usize = 192;
/// So few rows are multiplied before laying out the right operand would pay: on a Zen 5 processor, 128 rows take 7 % longer with it, and
/// a quarter on two threads. 256 rows are even, but for rows of the right operand a power of two apart. Fused operators whose
/// rows go on with such a product lay it out for more rows, too.
pub const FEW_ROWS: usize = 192;
/// Laying out rows takes as long as multiplying them by two panels, or more. Columns are copied as whole vectors.
const FEW_PANELS_BY_ROWS: usize = 24;
const FEW_PANELS_BY_COLS: usize = 2;
/// Multiplications that are worth another thread, and those that a task should have.
const PARALLEL_MULTIPLICATIONS: usize = 1 << 21;
const TASK_MULTIPLICATIONS: usize = 1 << 19;
/// Tiles below each other that a task should have, or it would have read most of the right operand for a few rows.
const TASK_TILES: usize = 2;
/// Tasks of the least size for each thread, and of columns: they take different times.
const LEAST_TASKS: usize = 2;
const COLUMN_TASKS: usize = 4;

/// A product whose operands fit each other and their slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseProduct<'a> {
    left: View<'a>,
    right: View<'a>,
    coverage: Coverage,
    instructions: Instructions,
}

impl<'a> DenseProduct<'a> {
    /// None if the operands don't fit each other or their slices. The instructions must be present.
    pub fn new(
        left: View<'a>,
        right: View<'a>,
        coverage: Coverage,
        instructions: Instructions,
    ) -> Option<Self> {
        let fits = left.cols() == right.rows() && left.fits() && right.fits();
        fits.then_some(DenseProduct {
            left,
            right,
            coverage,
            instructions,
        })
    }

    /// Computes it on this thread.
    ///
    /// # Errors
    /// `interrupted`, and `memory` when there is no room for a single panel.
    pub fn run(&self, out: ViewMut<'_>, write: Write) -> Result<()> {
        self.run_in(1, out, write)
    }

    /// Computes it on rayon's threads. The bits are the same.
    ///
    /// # Errors
    /// As [`DenseProduct::run`].
    pub fn run_in_parallel(&self, out: ViewMut<'_>, write: Write) -> Result<()> {
        self.run_in(rayon::current_num_threads(), out, write)
    }

    /// Computes it on rayon's threads, into rows that follow each other. The bits are the same.
    ///
    /// # Errors
    /// As [`DenseProduct::run`], and `memory` when there is no room for the result.
    pub fn collect_in_parallel(&self) -> Result<Vec<f64>> {
        let (rows, cols) = (self.left.rows(), self.right.cols());
        let len = memory::cells(rows, cols)?;
        let mut cells = match self.coverage {
            Coverage::All => memory::room(len)?,
            Coverage::Upper => memory::zeros(len)?,
        };
        cells.clear();
        let room = &mut cells.spare_capacity_mut()[..len];
        let out = ViewMut::of_room(room, rows, cols, cols)
            .ok_or_else(|| Error::internal("a result has room for its cells"))?;
        self.run_in_parallel(out, Write::Replace)?;
        // SAFETY: there is room for them, and each was written: those of the upper triangle just now, others when they were made zero.
        unsafe { cells.set_len(len) };
        Ok(cells)
    }

    /// Computes it on this thread, cell by cell, without memory of its own. The bits are the same.
    pub fn run_in_place(&self, mut out: ViewMut<'_>, write: Write) {
        let cell = |view: &View<'_>, row, col| view.part(row..row + 1, col..col + 1).cells()[0];
        for row in 0..self.left.rows() {
            for col in 0..self.right.cols() {
                let out = out.cell(row, col);
                for block in depth_blocks(self.left.cols()) {
                    let write = if block.start == 0 {
                        write
                    } else {
                        write.next()
                    };
                    let sum = block.fold(0.0f64, |sum, k| {
                        let (x, y) = (cell(&self.left, row, k), cell(&self.right, k, col));
                        match self.instructions {
                            Instructions::Portable => x * y + sum,
                            _ => x.mul_add(y, sum),
                        }
                    });
                    *out = match write {
                        Write::Replace => sum,
                        Write::Add => *out + sum,
                        Write::Subtract => *out - sum,
                    };
                }
            }
        }
    }

    fn run_in(&self, threads: usize, mut out: ViewMut<'_>, write: Write) -> Result<()> {
        let shape = TileShape::of(self.instructions);
        let (rows, depth, cols) = (self.left.rows(), self.left.cols(), self.right.cols());
        if rows == 0 || cols == 0 {
            return Ok(());
        }
        let is_whole = self.coverage == Coverage::All;
        if is_whole && small::multiply(self.left, self.right, &mut out, write, self.instructions) {
            return Ok(());
        }
        let tasks = Tasks::of(shape, (rows, depth, cols), threads);
        let parallel = tasks.threads > 1;
        let mut chunk = Chunk::of(shape, cols, parallel);
        let room = |chunk: &Chunk| {
            let most = (depth.min(chunk.depth), cols.min(chunk.cols));
            RightPanels::new(self.instructions, self.right, most, rows <= FEW_ROWS)
        };
        let mut panels = room(&chunk).or_else(|_| {
            chunk = Chunk::least(shape);
            room(&chunk)
        })?;
        let interrupt = Interrupt::current();
        let chunks = cols.div_ceil(chunk.cols) * depth.max(1).div_ceil(chunk.depth);
        let counted = interrupt.parts(chunks);
        for from_col in (0..cols).step_by(chunk.cols) {
            let to_col = (from_col + chunk.cols).min(cols);
            for from in (0..depth.max(1)).step_by(chunk.depth) {
                let to = (from + chunk.depth).min(depth);
                interrupt.check()?;
                panels.fill(self.right.part(from..to, from_col..to_col), parallel);
                let chunk = DepthChunk {
                    shape,
                    instructions: self.instructions,
                    left: self.left,
                    coverage: self.coverage,
                    depth: from..to,
                    first_col: from_col,
                    panels: panels.panels(),
                    write: if from == 0 { write } else { write.next() },
                };
                let part = out.part(0..rows, from_col..to_col);
                tasks.run(part, |part| {
                    interrupt.check()?;
                    chunk.run(part);
                    Ok(())
                })?;
                counted.passed();
            }
        }
        Ok(())
    }
}

/// How much of the right operand is laid out at a time.
struct Chunk {
    depth: usize,
    cols: usize,
}

impl Chunk {
    fn of(shape: TileShape, cols: usize, parallel: bool) -> Self {
        let chunk_cols = CHUNK_COLS / shape.cols() * shape.cols();
        let blocks = match parallel {
            // Threads wait for each other at the end of each chunk.
            true => CHUNK_CELLS / DEPTH / chunk_cols.min(cols.next_multiple_of(shape.width)),
            false => 1,
        };
        Chunk {
            depth: DEPTH * blocks.max(1),
            cols: chunk_cols,
        }
    }

    /// A panel: less than what anyone is asked for.
    fn least(shape: TileShape) -> Self {
        Chunk {
            depth: DEPTH,
            cols: shape.cols(),
        }
    }
}

/// How the cells of a result are divided among threads.
struct Tasks {
    shape: TileShape,
    threads: usize,
    /// Rows of the smallest task, and columns of all of them.
    least_rows: usize,
    cols: usize,
}

impl Tasks {
    /// For a product of so many rows, steps of the depth and columns.
    fn of(shape: TileShape, (rows, depth, cols): (usize, usize, usize), threads: usize) -> Self {
        let whole = Tasks {
            shape,
            threads: 1,
            least_rows: TASK_ROWS.next_multiple_of(shape.rows),
            cols,
        };
        let multiplications = rows.saturating_mul(cols).saturating_mul(depth);
        if threads == 1 || multiplications < PARALLEL_MULTIPLICATIONS {
            return whole;
        }
        let enough = |cells: usize| TASK_MULTIPLICATIONS.div_ceil(depth.saturating_mul(cells));
        let least_rows = enough(cols).next_multiple_of(shape.rows);
        let least_rows = least_rows.max(TASK_TILES * shape.rows);
        if rows >= LEAST_TASKS * threads * least_rows {
            return Tasks {
                threads,
                least_rows,
                ..whole
            };
        }
        // There are too few rows for all threads: columns are divided, too.
        let task_rows = rows.min(TASK_ROWS);
        let task_cols = cols.div_ceil(COLUMN_TASKS * threads);
        let task_cols = task_cols.max(enough(task_rows));
        Tasks {
            threads,
            cols: task_cols.next_multiple_of(shape.cols()),
            ..whole
        }
    }

    /// Parts of the result, those with the most rows first: threads that take one after the other end at about the same time.
    fn cut<'a>(&self, out: ViewMut<'a>) -> Vec<OutPart<'a>> {
        let (rows, cols) = (out.rows(), out.cols());
        let mut parts = Vec::new();
        let (mut row, mut below) = (0, out);
        while row < rows {
            let share = (rows - row).div_ceil(2 * self.threads);
            let most = TASK_ROWS.max(self.least_rows);
            let share = share.clamp(self.least_rows, most);
            let end = (row + share.next_multiple_of(self.shape.rows)).min(rows);
            let (stripe, later) = below.split_at_row(end - row);
            below = later;
            let mut beside = stripe;
            for col in (0..cols).step_by(self.cols) {
                let to = (col + self.cols).min(cols);
                let (out, later) = beside.split_at_col(to - col);
                beside = later;
                parts.push(OutPart {
                    rows: row..end,
                    cols: col..to,
                    out,
                });
            }
            row = end;
        }
        parts
    }

    /// Runs the task of each part.
    fn run<'a>(
        &self,
        out: ViewMut<'a>,
        task: impl Fn(OutPart<'a>) -> Result<()> + Sync,
    ) -> Result<()> {
        let mut parts = self.cut(out).into_iter();
        if self.threads == 1 {
            return parts.try_for_each(task);
        }
        let parts = Mutex::new(parts);
        let next = || {
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.next()
        };
        let threads = (0..self.threads).into_par_iter().with_max_len(1);
        threads.try_for_each(|_| {
            while let Some(part) = next() {
                task(part)?;
            }
            Ok(())
        })
    }
}

/// A part of the result, with its place in the chunk.
pub(super) struct OutPart<'a> {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
    pub out: ViewMut<'a>,
}

/// Some of the depth and of the columns, whose panels are laid out.
pub(super) struct DepthChunk<'a> {
    pub shape: TileShape,
    pub instructions: Instructions,
    pub left: View<'a>,
    pub coverage: Coverage,
    pub depth: Range<usize>,
    pub first_col: usize,
    pub panels: Panels<'a>,
    pub write: Write,
}

impl DepthChunk<'_> {
    /// Computes a part, block by block of the depth. After the last one its cells are final.
    pub fn run(&self, part: OutPart<'_>) {
        let OutPart {
            rows,
            cols,
            mut out,
        } = part;
        let shape = self.shape;
        let left = self.left.part(rows.clone(), self.depth.clone());
        let panels = cols.len().div_ceil(shape.cols());
        let in_panels = self.has_left(&rows);
        let in_place = in_panels || panels <= few_panels(left);
        let room = rows.len() * left.cols().min(DEPTH);
        // Without room for it, the left operand is read where it is: slower, with the same result.
        let mut packed = (!in_place)
            .then(|| LeftTiles::new(self.instructions, room).ok())
            .flatten();
        for block in depth_blocks(left.cols()) {
            let write = if block.start == 0 {
                self.write
            } else {
                self.write.next()
            };
            let left = left.part(0..rows.len(), block.clone());
            if let Some(packed) = &mut packed {
                packed.fill(left);
            }
            for col in cols.clone().step_by(shape.cols()) {
                let end = (col + shape.cols()).min(cols.end);
                let panel = self.panels.strip(&block, col);
                // While the rows pass a panel, they fetch the next one.
                let next = self
                    .panels
                    .strip(&block, if end < cols.end { end } else { col });
                let step = shape.cols().div_ceil(rows.len().div_ceil(shape.rows));
                for row in (0..rows.len()).step_by(shape.rows) {
                    let skipped = self.below_diagonal(rows.start + row, col);
                    if col + skipped >= end {
                        break;
                    }
                    let to = (row + shape.rows).min(rows.len());
                    let fetched = row / shape.rows * block.len() * step;
                    let next_out = match to < rows.len() {
                        true => out.address(to, col - cols.start),
                        false => out.address(0, end - cols.start),
                    };
                    let operands = TileOperands {
                        left: match &packed {
                            Some(packed) => packed.strip(row, to - row),
                            None if in_panels => self.left_strip(&block, rows.start + row),
                            None => Strip::of_rows(left.part(row..to, 0..left.cols())),
                        },
                        right: panel.from(skipped),
                        depth: block.len(),
                        ahead: Ahead {
                            cells: next.cells.get(fetched..).unwrap_or(&[]),
                            step,
                            out: next_out,
                        },
                    };
                    let out = out.part(row..to, col + skipped - cols.start..end - cols.start);
                    tile::multiply(self.instructions, shape, operands, out, write);
                }
            }
        }
    }

    /// Whether the panels hold these rows of the left operand: of t(X) %*% X they are columns of X. No tile's rows may lie in two panels.
    fn has_left(&self, rows: &Range<usize>) -> bool {
        let cols = self.first_col..self.first_col + self.panels.cols();
        self.coverage == Coverage::Upper
            && self.shape.cols().is_multiple_of(self.shape.rows)
            && cols.start <= rows.start
            && rows.end <= cols.end
    }

    /// The left operand's rows from one on, as a panel holds them.
    fn left_strip(&self, block: &Range<usize>, row: usize) -> Strip<'_> {
        let within = (row - self.first_col) % self.shape.cols();
        let panel = row - self.first_col - within;
        self.panels.strip(block, panel).from(within)
    }

    /// Cells in the whole vectors of a panel that lie below the diagonal in all rows from one on, if nobody wants these.
    fn below_diagonal(&self, row: usize, col: usize) -> usize {
        match self.coverage {
            Coverage::All => 0,
            Coverage::Upper => {
                let below = row.saturating_sub(self.first_col + col);
                below / self.shape.width * self.shape.width
            }
        }
    }
}

/// So many panels are multiplied before laying out the left operand would pay.
fn few_panels(left: View<'_>) -> usize {
    match left.is_by_rows() {
        true => FEW_PANELS_BY_ROWS,
        false => FEW_PANELS_BY_COLS,
    }
}
