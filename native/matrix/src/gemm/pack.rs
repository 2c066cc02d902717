//! Operands laid out in the order in which tiles read them.

use std::{mem::MaybeUninit, ops::Range};

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{
    tile::{Strip, TileShape},
    view::View,
};
use crate::memory;

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
        shape: TileShape,
        source: View<'a>,
        (depth, cols): (usize, usize),
        in_place: bool,
    ) -> Result<Self> {
        let in_place = in_place && source.is_by_rows();
        let packed = match in_place {
            // A panel that does not end with a whole vector.
            true => cols.min(shape.cols()),
            false => cols,
        };
        let room = depth.saturating_mul(packed.next_multiple_of(shape.width));
        Ok(RightPanels {
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
        let pack = |(source, part)| pack_panels(source, width, vector, part);
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
    shape: TileShape,
    depth: usize,
    cells: Vec<f64>,
}

impl LeftTiles {
    /// No cells yet, but room for so many.
    ///
    /// # Errors
    /// As [`memory::room`].
    pub fn new(shape: TileShape, cells: usize) -> Result<Self> {
        Ok(LeftTiles {
            shape,
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
            pack(rows.transposed(), to - from, part);
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
fn pack_panels(source: View<'_>, width: usize, vector: usize, out: &mut [MaybeUninit<f64>]) {
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
                source.part(row..end, from..to),
                width,
                &mut panel[row * width..end * width],
            );
        }
    }
}

/// Writes all of `out`: each row of the source, and zeros up to `width` cells.
fn pack(source: View<'_>, width: usize, out: &mut [MaybeUninit<f64>]) {
    let cols = source.cols();
    assert!(cols <= width && out.len() == source.rows() * width);
    if source.is_by_rows() {
        let rows = source.cells().chunks(source.down().max(1));
        for (out, row) in out.chunks_exact_mut(width.max(1)).zip(rows) {
            let (cells, padding) = out.split_at_mut(cols);
            copy(&row[..cols], cells);
            padding.fill(MaybeUninit::new(0.0));
        }
    } else {
        pack_columns(source, width, out);
    }
}

/// Coverage that are copied together.
const TOGETHER: usize = 8;

/// As `write_copy_of_slice`, without a call for so few cells.
fn copy(cells: &[f64], out: &mut [MaybeUninit<f64>]) {
    let (eights, rest) = cells.as_chunks::<TOGETHER>();
    let (out_eights, out_rest) = out.as_chunks_mut::<TOGETHER>();
    for (eight, out) in eights.iter().zip(out_eights) {
        *out = eight.map(MaybeUninit::new);
    }
    for (cell, out) in rest.iter().zip(out_rest) {
        out.write(*cell);
    }
}

/// Of a source whose columns' cells are neighbours.
fn pack_columns(source: View<'_>, width: usize, out: &mut [MaybeUninit<f64>]) {
    let (rows, cols) = (source.rows(), source.cols());
    let column = |col: usize| &source.cells()[col * source.across()..][..rows];
    let whole = cols / TOGETHER * TOGETHER;
    for from in (0..whole).step_by(TOGETHER) {
        let columns: [&[f64]; TOGETHER] = std::array::from_fn(|at| column(from + at));
        for row in (0..rows).step_by(TOGETHER) {
            let out = out[row * width..].chunks_mut(width);
            let out = out.map(|out| &mut out[from..from + TOGETHER]);
            if rows - row < TOGETHER {
                for (row, out) in (row..rows).zip(out) {
                    for (column, out) in columns.iter().zip(out) {
                        out.write(column[row]);
                    }
                }
            } else {
                turn(
                    std::array::from_fn(|at| &columns[at][row..row + TOGETHER]),
                    out,
                );
            }
        }
    }
    for col in whole..width {
        let out = out.chunks_exact_mut(width);
        match col < cols {
            true => out.zip(column(col)).for_each(|(out, cell)| {
                out[col].write(*cell);
            }),
            false => out.for_each(|out| {
                out[col].write(0.0);
            }),
        }
    }
}

/// Writes columns of a square as rows.
fn turn<'a>(columns: [&[f64]; TOGETHER], out: impl Iterator<Item = &'a mut [MaybeUninit<f64>]>) {
    let columns = columns.map(|column| column.first_chunk::<TOGETHER>());
    let mut square = [[0.0; TOGETHER]; TOGETHER];
    for (row, column) in square.iter_mut().zip(columns) {
        *row = *column.unwrap_or(&[0.0; TOGETHER]);
    }
    for (row, out) in out.take(TOGETHER).enumerate() {
        for (column, out) in square.iter().zip(out) {
            out.write(column[row]);
        }
    }
}
