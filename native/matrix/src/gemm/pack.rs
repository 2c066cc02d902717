//! Operands laid out in the order in which tiles read them.

use std::{mem::MaybeUninit, ops::Range};

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{
    tile::{Strip, TileShape},
    view::View,
};
use crate::{
    lanes::{self, Instructions, Kernel, Lanes, run_with},
    memory,
};

/// Steps along the depth that a tile sums up before it adds to the result. They are the same for all instructions and shapes, and
/// so are the bits of results.
pub(super) const DEPTH: usize = 256;

/// The parts of a depth that are summed up one after the other: one empty part if there is none.
pub(super) fn depth_blocks(depth: usize) -> impl Iterator<Item = Range<usize>> {
    let from = (0..depth.max(1)).step_by(DEPTH);
    from.map(move |from| from..(from + DEPTH).min(depth))
}

/// Rows of a right operand whose columns are cut into panels as wide as a tile.
///
/// A panel holds its cells step by step, in whole vectors; beyond the last column they are zero. All panels of a block of the depth stand
/// before those of the next block.
#[derive(Debug)]
pub(super) struct RightPanels<'a> {
    instructions: Instructions,
    shape: TileShape,
    source: View<'a>,
    /// Panels of whole vectors are read where they are: those before a column.
    in_place: bool,
    packed_from: usize,
    cells: Vec<f64>,
}

impl<'a> RightPanels<'a> {
    /// No cells yet, but room for `depth x cols` of them. Those that `in_place` says are not laid out anew where whole vectors
    /// stand side by side anyway.
    ///
    /// # Errors
    /// As [`memory::room`].
    pub fn new(
        instructions: Instructions,
        source: View<'a>,
        (depth, cols): (usize, usize),
        in_place: bool,
    ) -> Result<Self> {
        let shape = TileShape::of(instructions);
        let in_place = in_place && source.is_by_rows();
        let packed = match in_place {
            // A panel that does not end with a whole vector.
            true => cols.min(shape.cols()),
            false => cols,
        };
        let room = depth.saturating_mul(packed.next_multiple_of(shape.width));
        Ok(RightPanels {
            instructions,
            shape,
            source: source.part(0..0, 0..0),
            in_place,
            packed_from: 0,
            cells: memory::room(room)?,
        })
    }

    /// Lays out other cells, which there is room for, on all threads if there are so many that it is worth it.
    pub fn fill(&mut self, source: View<'a>, parallel: bool) {
        self.source = source;
        self.cells.clear();
        let (depth, cols) = (source.rows(), source.cols());
        let (width, vector) = (self.shape.cols(), self.shape.width);
        self.packed_from = match self.in_place {
            false => 0,
            true if cols.is_multiple_of(vector) => cols,
            true => cols / width * width,
        };
        let len = depth * self.panels().packed_cols();
        let mut rest = &mut self.cells.spare_capacity_mut()[..len];
        let mut parts = Vec::new();
        for block in depth_blocks(depth) {
            for from in (self.packed_from..cols).step_by(PANELS_TOGETHER * width) {
                let to = (from + PANELS_TOGETHER * width).min(cols);
                let packed = (to - from).next_multiple_of(vector);
                let (part, later) = rest.split_at_mut(packed * block.len());
                parts.push((source.part(block.clone(), from..to), part));
                rest = later;
            }
        }
        let instructions = self.instructions;
        let pack = |(source, part)| pack_panels(instructions, source, width, vector, part);
        match parallel && len > LEAST_PARALLEL_CELLS {
            true => parts.into_par_iter().for_each(pack),
            false => parts.into_iter().for_each(pack),
        }
        // SAFETY: the parts are all of these cells, and `pack_panels` has written each of its part.
        unsafe { self.cells.set_len(len) };
    }

    /// As tiles read them.
    pub fn panels(&self) -> Panels<'_> {
        Panels {
            shape: self.shape,
            source: self.source,
            packed_from: self.packed_from,
            cells: &self.cells,
        }
    }

    /// All cells, of an operand that was laid out as a whole.
    pub fn into_cells(self) -> Vec<f64> {
        self.cells
    }
}

/// Panels as tiles read them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panels<'a> {
    shape: TileShape,
    source: View<'a>,
    packed_from: usize,
    cells: &'a [f64],
}

impl<'a> Panels<'a> {
    /// Of an operand of `depth x cols` cells, all of which were laid out.
    pub fn laid_out(shape: TileShape, (depth, cols): (usize, usize), cells: &'a [f64]) -> Self {
        Panels {
            shape,
            source: View::of_rows(&[], depth, cols, cols),
            packed_from: 0,
            cells,
        }
    }

    /// Columns of the operand.
    pub fn cols(&self) -> usize {
        self.source.cols()
    }

    /// Columns that were laid out anew, up to whole vectors.
    fn packed_cols(&self) -> usize {
        (self.source.cols() - self.packed_from).next_multiple_of(self.shape.width)
    }

    /// The cells of a block of the depth in the panel that begins with a column.
    pub fn strip(&self, block: &Range<usize>, from: usize) -> Strip<'a> {
        if from < self.packed_from {
            let source = self.source.part(block.clone(), from..from);
            return Strip {
                cells: source.cells(),
                across: 1,
                along: source.down(),
            };
        }
        let (cols, width) = (self.source.cols(), self.shape.cols());
        let before = block.start * self.packed_cols() + (from - self.packed_from) * block.len();
        Strip {
            cells: &self.cells[before..],
            across: 1,
            along: (cols - from).next_multiple_of(self.shape.width).min(width),
        }
    }
}

/// Rows of a left operand, as many as a tile has at a time, with the cells of each step side by side.
#[derive(Debug)]
pub(super) struct LeftTiles {
    instructions: Instructions,
    shape: TileShape,
    depth: usize,
    cells: Vec<f64>,
}

impl LeftTiles {
    /// No cells yet, but room for so many.
    ///
    /// # Errors
    /// As [`memory::room`].
    pub fn new(instructions: Instructions, cells: usize) -> Result<Self> {
        Ok(LeftTiles {
            instructions,
            shape: TileShape::of(instructions),
            depth: 0,
            cells: memory::room(cells)?,
        })
    }

    /// Lays out other cells, which there is room for.
    pub fn fill(&mut self, source: View<'_>) {
        self.cells.clear();
        self.depth = source.cols();
        let len = source.rows() * self.depth;
        let mut rest = &mut self.cells.spare_capacity_mut()[..len];
        for from in (0..source.rows()).step_by(self.shape.rows) {
            let to = (from + self.shape.rows).min(source.rows());
            let (part, later) = rest.split_at_mut((to - from) * self.depth);
            let rows = source.part(from..to, 0..self.depth);
            pack(self.instructions, rows.transposed(), to - from, part);
            rest = later;
        }
        // SAFETY: the parts are all of these cells, and `pack` has written each of its part.
        unsafe { self.cells.set_len(len) };
    }

    /// The cells of a tile of `rows` rows from this one on.
    pub fn strip(&self, from: usize, rows: usize) -> Strip<'_> {
        Strip {
            cells: &self.cells[from * self.depth..],
            across: 1,
            along: rows,
        }
    }
}

/// So few cells are laid out faster by one thread.
const LEAST_PARALLEL_CELLS: usize = 1 << 16;
/// Panels that are laid out together: their cells are read as longer parts of rows.
const PANELS_TOGETHER: usize = 8;
/// Rows of panels that are laid out together.
const ROWS_TOGETHER: usize = 8;

/// Writes all of `out`: panels of `width` columns, the last of them up to whole vectors.
fn pack_panels(
    instructions: Instructions,
    source: View<'_>,
    width: usize,
    vector: usize,
    out: &mut [MaybeUninit<f64>],
) {
    let (rows, cols) = (source.rows(), source.cols());
    let mut panels: Vec<_> = out.chunks_mut((rows * width).max(1)).collect();
    let step = match source.is_by_rows() {
        true => ROWS_TOGETHER,
        false => rows.max(1),
    };
    for row in (0..rows).step_by(step) {
        let end = (row + step).min(rows);
        for (panel, from) in panels.iter_mut().zip((0..cols).step_by(width)) {
            let to = (from + width).min(cols);
            let width = (to - from).next_multiple_of(vector);
            pack(
                instructions,
                source.part(row..end, from..to),
                width,
                &mut panel[row * width..end * width],
            );
        }
    }
}

/// Writes all of `out`: each row of the source, and zeros up to `width` cells.
fn pack(instructions: Instructions, source: View<'_>, width: usize, out: &mut [MaybeUninit<f64>]) {
    assert!(source.fits() && source.cols() <= width && out.len() == source.rows() * width);
    // SAFETY: the cells of the source are there, `out` has `width` for each row, and the caller found the instructions.
    unsafe { run_with(instructions, Pack { source, width, out }) }
}

/// The rows of a source, `width` cells apart.
struct Pack<'a> {
    source: View<'a>,
    width: usize,
    out: &'a mut [MaybeUninit<f64>],
}

impl Kernel for Pack<'_> {
    /// # Safety
    /// The instructions are present. The source's cells can be read, and as many rows of `width` cells, which are no fewer, written.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.source.is_by_rows() {
                true => self.copy::<L>(),
                false => self.turn::<L>(),
            }
        }
    }
}

impl Pack<'_> {
    /// Of a source whose rows' cells are neighbours.
    ///
    /// # Safety
    /// As the kernel says.
    #[inline(always)]
    unsafe fn copy<L: Lanes>(self) {
        let (rows, cols) = (self.source.rows(), self.source.cols());
        let (mut from, down) = (self.source.cells().as_ptr(), self.source.down());
        let mut to: *mut f64 = self.out.as_mut_ptr().cast();
        for _ in 0..rows {
            let mut at = 0;
            while at < self.width {
                let there = cols.saturating_sub(at).min(L::WIDTH);
                let wanted = (self.width - at).min(L::WIDTH);
                // SAFETY: both rows have as many cells from here on.
                unsafe {
                    let cells: L = lanes::load(from.wrapping_add(at), there);
                    lanes::store(cells, to.wrapping_add(at), wanted);
                }
                L::prefetch(from.wrapping_add(at + ROWS_TOGETHER * down));
                at += L::WIDTH;
            }
            from = from.wrapping_add(down);
            to = to.wrapping_add(self.width);
        }
    }

    /// Of a source whose columns' cells are neighbours.
    ///
    /// # Safety
    /// As the kernel says.
    #[inline(always)]
    unsafe fn turn<L: Lanes>(self) {
        let (rows, cols) = (self.source.rows(), self.source.cols());
        let (from, across) = (self.source.cells().as_ptr(), self.source.across());
        let (to, width): (*mut f64, _) = (self.out.as_mut_ptr().cast(), self.width);
        let (whole_rows, whole_cols) = (rows / L::WIDTH * L::WIDTH, cols / L::WIDTH * L::WIDTH);
        for col in (0..whole_cols).step_by(L::WIDTH) {
            let column = from.wrapping_add(col * across);
            for row in (0..whole_rows).step_by(L::WIDTH) {
                for at in 0..L::WIDTH {
                    // What is likely laid out next.
                    L::prefetch(column.wrapping_add((cols + at) * across + row));
                }
                // SAFETY: this square is a part of the source, and there is room for it.
                unsafe {
                    let out = to.add(row * width + col);
                    L::turn(column.add(row), across, out, width);
                }
            }
        }
        for row in 0..rows {
            let done = if row < whole_rows { whole_cols } else { 0 };
            for col in done..width {
                // SAFETY: the cell is one of the source's, and there is room for it.
                unsafe {
                    let cell = match col < cols {
                        true => *from.add(col * across + row),
                        false => 0.0,
                    };
                    *to.add(row * width + col) = cell;
                }
            }
        }
    }
}
