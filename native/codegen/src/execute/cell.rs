//! The Cell skeleton over dense cells: tiles of cells, with CSR operands made dense tile by tile.

use std::ops::Range;

use fulgurite_error::Result;
use fulgurite_fusion::cplan::InputBinding;
use fulgurite_hop::AggregateOp;
use fulgurite_matrix::{
    MatrixBlock,
    kernels::aggregate::column_tasks,
    memory::{self, NewCells},
};

use super::row::densify;
use super::totals::{Total, Totals};
use super::vector_totals::{Aggregates, VectorTotals};
use super::{CellOutput, ExecutionContext, Output, cells_of, column_vector, tasks};
use crate::bind::{Bound, Rows};
use crate::compiled::{CompiledPlan, Kernel};
use crate::frame::{Frame, Target, Widths};
use crate::program::{Program, Taken};

/// Cells of a tile whose values all stay in registers: long enough to hide the call, short enough for plain sums.
const TILE: usize = 4096;
/// Cells of a tile when values pass from step to step through buffers.
const BUFFERED_TILE: usize = 512;

/// Cells of a row that are sooner put together with those of the next rows than worked on by themselves.
const SHORT_ROW: usize = 8;
/// Columns of a tile whose cells are taken into totals of columns, so that some rows of it have one after the other.
const COLUMNS_OF_TILE: usize = 512;
/// Columns of a tile whose cells are taken into totals of rows: all, as far as they stay in the second-level cache.
const COLUMNS_OF_LONG_ROWS: usize = 1 << 16;
/// Tiles that are passed over in one go if their cells are read where they are.
const TILES_IN_PLACE: usize = 4;
/// Tiles of a long row that one call goes through, as rows of their own, if nothing is put together or kept in between.
const TILES_OF_CALL: usize = 8;

pub(super) fn tile_cells(program: &Program) -> usize {
    if program.steps.len() > 1 {
        BUFFERED_TILE
    } else {
        TILE
    }
}

pub(super) fn run(
    compiled: &CompiledPlan,
    bound: &Bound<'_>,
    output: &CellOutput,
    context: &ExecutionContext,
) -> Result<Output> {
    let kernel = compiled.kernel();
    let skeleton = Skeleton {
        kernel,
        bound,
        output,
        tile: tile_cells(&kernel.program),
    };
    if skeleton.is_flat()? {
        skeleton.flat(context)
    } else {
        skeleton.by_rows(context)
    }
}

struct Skeleton<'a> {
    kernel: &'a Kernel,
    bound: &'a Bound<'a>,
    output: &'a CellOutput,
    tile: usize,
}

impl Skeleton<'_> {
    /// Whether rows and columns don't matter, so that the matrix is one long row. Ranges have gaps between their rows; short rows
    /// are put together tile by tile, long ones are read where they are.
    fn is_flat(&self) -> Result<bool> {
        let mut flat = matches!(self.output, CellOutput::Map | CellOutput::Full(_));
        let are_short = self.bound.cols() <= SHORT_ROW;
        for (input, binding) in self.kernel.program.inputs.iter().enumerate() {
            flat &= match binding {
                InputBinding::Scalar => true,
                InputBinding::Main | InputBinding::Matrix => {
                    matches!(self.bound.rows_of(input)?, Rows::Dense(dense) if are_short || !dense.has_gaps())
                }
                _ => false,
            };
        }
        Ok(flat)
    }

    fn flat(&self, context: &ExecutionContext) -> Result<Output> {
        let (rows, cols) = (self.bound.rows(), self.bound.cols());
        let cells = rows * cols;
        let work = cells.saturating_mul(self.kernel.program.work_per_cell());
        let ranges = tasks::even(cells, self.tile, work, context);
        if let CellOutput::Full(ops) = self.output {
            let totals = tasks::run(context, ranges, |range| {
                let mut totals = Totals::new(ops);
                let mut partials = vec![0.0; TILES_OF_CALL * ops.len()];
                self.flat_tiles(range, |frame, tiles, _| {
                    let partials = &mut partials[..tiles * ops.len()];
                    let stride = ops.len();
                    let cells = &mut *partials;
                    self.kernel.run(frame, Target { cells, stride })?;
                    totals.combine(partials);
                    Ok(())
                })?;
                Ok(totals)
            })?;
            return column_vector(together(ops, &totals).finish(cells));
        }
        let mut output = NewCells::new(cells)?;
        let parts = tasks::with_outputs(ranges, &mut output, 1);
        tasks::run(context, parts, |(range, mut part)| {
            self.flat_tiles(range, |frame, tiles, cells| {
                let stride = cells.len() / tiles;
                let cells = part.take(cells.len());
                self.kernel.run(frame, Target { cells, stride })
            })
        })?;
        MatrixBlock::dense(rows, cols, output.finish()).map(Output::Matrix)
    }

    /// Gives how many tiles a call goes through, and their cells.
    fn flat_tiles<'f>(
        &'f self,
        cells: Range<usize>,
        mut run: impl FnMut(&mut Frame<'f>, usize, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let mut streams = Vec::new();
        for (input, binding) in self.kernel.program.inputs.iter().enumerate() {
            if *binding != InputBinding::Scalar
                && let Rows::Dense(dense) = self.bound.rows_of(input)?
            {
                streams.push((input, dense));
            }
        }
        let are_in_place = self.tile == TILE && !streams.iter().any(|(_, dense)| dense.has_gaps());
        let at_once = if are_in_place { TILES_OF_CALL } else { 1 };
        let widest = self.tile.min(cells.len());
        let widths = Widths::of_tiles(widest);
        let mut frame = self.kernel.frame(self.bound, widths, &[], at_once)?;
        let mut start = cells.start;
        while start < cells.end {
            let left = cells.end - start;
            let tiles = (left / self.tile).clamp(1, at_once);
            let width = left.min(self.tile);
            let tile = start..start + tiles * width;
            frame.set_tile(tiles, width);
            for (input, dense) in &streams {
                match dense.has_gaps() {
                    true => frame.bind_filled(*input, width, width, |cells| {
                        dense.pack(tile.clone(), cells);
                    })?,
                    false => frame.bind_dense(*input, &dense.cells()[tile.clone()], width),
                }
            }
            start = tile.end;
            run(&mut frame, tiles, tile)?;
        }
        Ok(())
    }

    fn by_rows(&self, context: &ExecutionContext) -> Result<Output> {
        let (rows, cols) = (self.bound.rows(), self.bound.cols());
        let work = (rows * cols).saturating_mul(self.kernel.program.work_per_cell());
        let ranges = tasks::even(rows, 1, work, context);
        match self.output {
            CellOutput::Map => {
                let mut output = NewCells::new(cells_of(rows, cols)?)?;
                let parts = tasks::with_outputs(ranges, &mut output, cols);
                tasks::run(context, parts, |(range, part)| {
                    let (first, part) = (range.start, part.cells());
                    self.row_tiles(range, |frame, tile| {
                        let from = (tile.rows.start - first) * cols + tile.cols.start;
                        let target = Target {
                            cells: &mut part[from..],
                            stride: cols,
                        };
                        self.kernel.run(frame, target)
                    })
                })?;
                MatrixBlock::dense(rows, cols, output.finish()).map(Output::Matrix)
            }
            CellOutput::Full(ops) => {
                let totals = tasks::run(context, ranges, |range| {
                    let mut totals = Totals::new(ops);
                    self.reduced_tiles(range, |_, partials| totals.combine(partials))?;
                    Ok(totals)
                })?;
                column_vector(together(ops, &totals).finish(rows * cols))
            }
            CellOutput::Rows(op) => {
                let parts = tasks::run(context, ranges, |range| self.row_totals(*op, range))?;
                column_vector(parts.concat())
            }
            CellOutput::SeveralOfRows(ops) => {
                let mut output = NewCells::new(cells_of(rows, ops.len())?)?;
                let parts = tasks::with_outputs(ranges, &mut output, ops.len());
                let aggregates = Aggregates::new(ops, &self.kernel.program.taken);
                tasks::run(context, parts, |(range, part)| {
                    self.several_of_rows(&aggregates, range, part.cells())
                })?;
                MatrixBlock::dense(rows, ops.len(), output.finish()).map(Output::Matrix)
            }
            CellOutput::Columns(ops) => {
                // Cut by the shape alone: on any number of threads, the bits are those of the basic operators.
                let ranges = column_tasks(rows, cols);
                let aggregates = Aggregates::new(ops, &self.kernel.program.taken);
                let parts = tasks::run(context, ranges, |range| {
                    self.column_totals(&aggregates, range)
                })?;
                let all = aggregates.merged(cols, parts)?;
                aggregates.of_columns(&all, cols, rows)
            }
        }
    }

    fn row_totals(&self, op: AggregateOp, rows: Range<usize>) -> Result<Vec<f64>> {
        let mut totals = memory::filled(rows.len(), Total::new(op))?;
        let first = rows.start;
        self.reduced_tiles(rows, |tile, partials| {
            let totals = &mut totals[tile.rows.start - first..];
            for (total, partial) in totals.iter_mut().zip(partials) {
                total.combine(*partial);
            }
        })?;
        let cols = self.bound.cols();
        memory::collected(totals.iter().map(|total| total.finish(cols)))
    }

    fn column_totals(
        &self,
        aggregates: &Aggregates<'_>,
        rows: Range<usize>,
    ) -> Result<Vec<VectorTotals>> {
        let mut totals = aggregates.start(self.bound.cols())?;
        let take = |run: usize, tile: &Tile, cells: &[f64], stride: usize| {
            let (first, width) = (tile.cols.start, tile.cols.len());
            totals[run].take_columns(first, width, cells, stride);
        };
        self.taken_tiles(aggregates, rows, COLUMNS_OF_TILE, take)?;
        Ok(totals)
    }

    /// Writes the totals of rows, those of a row side by side.
    fn several_of_rows(
        &self,
        aggregates: &Aggregates<'_>,
        rows: Range<usize>,
        output: &mut [f64],
    ) -> Result<()> {
        let cols = self.bound.cols();
        let first = rows.start;
        let mut totals = aggregates.start(rows.len())?;
        let take = |run: usize, tile: &Tile, cells: &[f64], stride: usize| {
            let width = tile.cols.len();
            let place = tile.rows.start - first;
            match stride == width {
                true => {
                    let cells = &cells[..tile.rows.len() * width];
                    totals[run].take_rows(place, cells, width);
                }
                false => {
                    for row in 0..tile.rows.len() {
                        let cells = &cells[row * stride..][..width];
                        totals[run].take_rows(place + row, cells, width);
                    }
                }
            }
        };
        self.taken_tiles(aggregates, rows, COLUMNS_OF_LONG_ROWS, take)?;
        aggregates.of_rows(&totals, cols, output);
        Ok(())
    }

    /// Gives, tile by tile, the cells that each run of totals takes in, and how far rows of them are apart.
    fn taken_tiles(
        &self,
        aggregates: &Aggregates<'_>,
        rows: Range<usize>,
        widest: usize,
        mut take: impl FnMut(usize, &Tile, &[f64], usize),
    ) -> Result<()> {
        let program = &self.kernel.program;
        let width = self.bound.cols().min(widest).max(1);
        let cells = match program.results {
            // Nothing is written that a second pass would look for in a cache.
            0 => TILES_IN_PLACE * TILE,
            results => self.tile / results,
        };
        let height = (cells / width).max(1);
        let mut results = memory::zeros(height * width * program.results)?;
        self.tiles_of(rows, width, height, |frame, tile| {
            let width = tile.cols.len();
            let count = tile.rows.len() * width;
            match program.results {
                0 => self.bound.interrupt.check()?,
                parts => {
                    let cells = &mut results[..count * parts];
                    let stride = width;
                    self.kernel.run(frame, Target { cells, stride })?;
                }
            }
            for (run, taken) in aggregates.taken().enumerate() {
                let (cells, stride) = match taken {
                    Taken::Result(place) => (&results[place * count..][..count], width),
                    Taken::Input(input) => match self.bound.rows_of(input)? {
                        Rows::Dense(dense) => {
                            let cells = dense.from(tile.rows.start, tile.cols.start);
                            let before_last = (tile.rows.len() - 1) * dense.stride;
                            (&cells[..before_last + width], dense.stride)
                        }
                        Rows::Csr(_) | Rows::Compressed(_) => {
                            (&frame.gathered(input)[..count], width)
                        }
                    },
                };
                take(run, &tile, cells, stride);
            }
            Ok(())
        })
    }

    /// Runs the code over tiles and gives the partial totals of each row of each tile.
    fn reduced_tiles(&self, rows: Range<usize>, mut take: impl FnMut(&Tile, &[f64])) -> Result<()> {
        let results = self.kernel.program.results;
        let mut partials = vec![0.0; self.tile * results];
        self.row_tiles(rows, |frame, tile| {
            let cells = &mut partials[..tile.rows.len() * results];
            let stride = results;
            self.kernel.run(frame, Target { cells, stride })?;
            take(&tile, &partials[..tile.rows.len() * results]);
            Ok(())
        })
    }

    /// Tiles of whole rows where they are short, of a stretch of one row where they are long.
    fn row_tiles<'f>(
        &'f self,
        rows: Range<usize>,
        run: impl FnMut(&mut Frame<'f>, Tile) -> Result<()>,
    ) -> Result<()> {
        let width = self.bound.cols().min(self.tile).max(1);
        let height = (self.tile / width).max(1);
        self.tiles_of(rows, width, height, run)
    }

    /// Tiles of at most so many columns and rows.
    fn tiles_of<'f>(
        &'f self,
        rows: Range<usize>,
        width: usize,
        height: usize,
        run: impl FnMut(&mut Frame<'f>, Tile) -> Result<()>,
    ) -> Result<()> {
        tiles_of(self.kernel, self.bound, rows, (width, height), run)
    }
}

/// Tiles of at most so many columns and rows, with their inputs bound.
pub(super) fn tiles_of<'f>(
    kernel: &'f Kernel,
    bound: &'f Bound<'f>,
    rows: Range<usize>,
    (width, height): (usize, usize),
    mut run: impl FnMut(&mut Frame<'f>, Tile) -> Result<()>,
) -> Result<()> {
    let cols = bound.cols();
    let mut frame = kernel.frame(bound, Widths::of_tiles(width), &[], height)?;
    for top in rows.clone().step_by(height) {
        let rows = top..(top + height).min(rows.end);
        // A matrix without columns still has rows to give totals for.
        let lefts = (0..cols.max(1)).step_by(width);
        for left in lefts {
            let tile = Tile {
                rows: rows.clone(),
                cols: left..(left + width).min(cols),
            };
            frame.set_tile(tile.rows.len(), tile.cols.len());
            bind_tile(kernel, bound, &mut frame, &tile)?;
            run(&mut frame, tile)?;
        }
    }
    Ok(())
}

/// Binds the inputs that are read cell by cell.
pub(super) fn bind_tile<'f>(
    kernel: &Kernel,
    bound: &'f Bound<'_>,
    frame: &mut Frame<'f>,
    tile: &Tile,
) -> Result<()> {
    for (input, binding) in kernel.program.operands_of_cells() {
        let (rows, cols) = match binding {
            InputBinding::RowVector => (0..1, tile.cols.clone()),
            InputBinding::ColumnVector => (tile.rows.clone(), 0..1),
            _ => (tile.rows.clone(), tile.cols.clone()),
        };
        let is_row_vector = binding == InputBinding::RowVector;
        match bound.rows_of(input)? {
            // A column's cells may be taken several at a time.
            Rows::Dense(column) if column.cols == 1 && column.has_gaps() && !is_row_vector => {
                frame.bind_filled(input, rows.len(), 1, |cells| column.pack(rows, cells))?;
            }
            Rows::Dense(dense) => {
                let stride = if is_row_vector { 0 } else { dense.stride };
                frame.bind_dense(input, dense.from(rows.start, cols.start), stride);
            }
            Rows::Csr(csr) => {
                let stride = if is_row_vector { 0 } else { cols.len() };
                let cells = rows.len() * cols.len();
                frame.bind_filled(input, cells, stride, |cells| {
                    densify(csr, rows, cols, cells)
                })?;
            }
            Rows::Compressed(groups) => {
                let stride = if is_row_vector { 0 } else { cols.len() };
                let cells = rows.len() * cols.len();
                frame.bind_filled(input, cells, stride, |cells| groups.fill(rows, cols, cells))?;
            }
        }
    }
    Ok(())
}

/// The totals of all tasks.
pub(super) fn together(ops: &[AggregateOp], parts: &[Totals]) -> Totals {
    let mut totals = Totals::new(ops);
    parts.iter().for_each(|part| totals.merge(part));
    totals
}

/// Some rows by some columns of the main input.
pub(super) struct Tile {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}
