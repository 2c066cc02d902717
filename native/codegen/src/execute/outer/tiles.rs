//! Outer over all cells: a tile of `U %*% t(V)` is a small dense product, which the body's code then reads.

use std::ops::Range;

use fulgurite_error::Result;
use fulgurite_fusion::cplan::OuterOutput;
use fulgurite_hop::AggregateOp;
use fulgurite_matrix::kernels::dense_product::{View, Write, multiply};
use fulgurite_matrix::{DenseMatrix, MatrixBlock, memory::NewCells};

use super::super::cell::{Tile, bind_tile, tile_cells, together};
use super::super::factors::{Factors, row_range};
use super::super::totals::Totals;
use super::super::{ExecutionContext, Output, cells_of, column_vector, scalar, tasks};
use super::{cells, multiplied};
use crate::bind::Bound;
use crate::compiled::{CompiledPlan, Kernel};
use crate::frame::{Frame, Target, Widths};

/// Rows and columns of a tile: its product runs at nearly the speed of a large one, and its cells stay in the
/// second-level cache. Columns are a multiple of what tiles of products take at once, 48, 24 or 12: the rest of a wider tile
/// takes them four times as long.
const ROWS: usize = 192;
const COLS: usize = 192;

pub(super) fn run(
    compiled: &CompiledPlan,
    bound: &Bound<'_>,
    factors: &Factors,
    output: OuterOutput,
    context: &ExecutionContext,
) -> Result<Output> {
    let skeleton = Skeleton {
        kernel: compiled.kernel(),
        bound,
        factors,
    };
    match output {
        OuterOutput::NoAggregate => skeleton.map(context),
        OuterOutput::FullAggregate(op) => skeleton.full(op, context).map(scalar),
        OuterOutput::RightMultiply { input } => {
            skeleton.right_multiply(&multiplied(bound, input)?, context)
        }
        OuterOutput::LeftMultiply { input } => {
            skeleton.left_multiply(&multiplied(bound, input)?, context)
        }
    }
}

struct Skeleton<'a> {
    kernel: &'a Kernel,
    bound: &'a Bound<'a>,
    factors: &'a Factors,
}

impl Skeleton<'_> {
    fn map(&self, context: &ExecutionContext) -> Result<Output> {
        let (rows, cols) = (self.bound.rows(), self.bound.cols());
        let mut output = NewCells::new(cells_of(rows, cols)?)?;
        let parts = tasks::with_outputs(self.row_ranges(context), &mut output, cols);
        tasks::run(context, parts, |(range, part)| {
            let (first, part) = (range.start, part.cells());
            self.tiles(range, 0..cols, |frame, tile| {
                self.strips(frame, tile, |frame, strip| {
                    let from = (strip.rows.start - first) * cols + strip.cols.start;
                    let target = Target {
                        cells: &mut part[from..],
                        stride: cols,
                    };
                    self.kernel.run(frame, target)
                })
            })
        })?;
        MatrixBlock::dense(rows, cols, output.finish()).map(Output::Matrix)
    }

    fn full(&self, op: AggregateOp, context: &ExecutionContext) -> Result<Output> {
        let cols = self.bound.cols();
        let totals = tasks::run(context, self.row_ranges(context), |range| {
            let mut totals = Totals::new(&[op]);
            let mut partials = vec![0.0; ROWS];
            self.tiles(range, 0..cols, |frame, tile| {
                self.strips(frame, tile, |frame, strip| {
                    let cells = &mut partials[..strip.rows.len()];
                    self.kernel.run(frame, Target { cells, stride: 1 })?;
                    totals.combine(&partials[..strip.rows.len()]);
                    Ok(())
                })
            })?;
            Ok(totals)
        })?;
        column_vector(together(&[op], &totals).finish(cells(self.bound)))
    }

    fn right_multiply(&self, w: &DenseMatrix, context: &ExecutionContext) -> Result<Output> {
        let (rows, cols, width) = (self.bound.rows(), self.bound.cols(), w.cols());
        let mut output = NewCells::new(cells_of(rows, width)?)?;
        let parts = tasks::with_outputs(self.row_ranges(context), &mut output, width);
        tasks::run(context, parts, |(range, part)| {
            let (first, part) = (range.start, part.cells());
            self.values(range, 0..cols, |tile, values| {
                let from = (tile.rows.start - first) * width;
                let w = row_range(w, &tile.cols);
                multiply(values, w, &mut part[from..], width, Write::Add)
            })
        })?;
        MatrixBlock::dense(rows, width, output.finish()).map(Output::Matrix)
    }

    /// Columns of the driver are rows of the result, so tasks divide columns.
    fn left_multiply(&self, w: &DenseMatrix, context: &ExecutionContext) -> Result<Output> {
        let (rows, cols, width) = (self.bound.rows(), self.bound.cols(), w.cols());
        let mut output = NewCells::new(cells_of(cols, width)?)?;
        let ranges = tasks::even(cols, COLS, self.work(), context);
        let parts = tasks::with_outputs(ranges, &mut output, width);
        tasks::run(context, parts, |(range, part)| {
            let (first, part) = (range.start, part.cells());
            self.values(0..rows, range, |tile, values| {
                let from = (tile.cols.start - first) * width;
                let w = row_range(w, &tile.rows);
                let values = values.transposed();
                multiply(values, w, &mut part[from..], width, Write::Add)
            })
        })?;
        MatrixBlock::dense(cols, width, output.finish()).map(Output::Matrix)
    }

    fn row_ranges(&self, context: &ExecutionContext) -> Vec<Range<usize>> {
        tasks::even(self.bound.rows(), ROWS, self.work(), context)
    }

    /// In terms of cells of a plan without products.
    fn work(&self) -> usize {
        cells(self.bound).saturating_mul(1 + self.factors.rank() / 8)
    }

    /// The body's values at each tile.
    fn values(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        mut take: impl FnMut(&Tile, View<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut values = vec![0.0; ROWS * COLS];
        self.tiles(rows, cols, |frame, tile| {
            let stride = tile.cols.len();
            self.strips(frame, tile, |frame, strip| {
                let from = (strip.rows.start - tile.rows.start) * stride;
                let cells = &mut values[from..];
                self.kernel.run(frame, Target { cells, stride })
            })?;
            take(
                tile,
                View::of_rows(&values, tile.rows.len(), stride, stride),
            )
        })
    }

    /// Computes the factors' products tile by tile.
    fn tiles<'f>(
        &'f self,
        rows: Range<usize>,
        cols: Range<usize>,
        mut run: impl FnMut(&mut Frame<'f>, &Tile) -> Result<()>,
    ) -> Result<()> {
        let (height, width) = (self.strip_rows(), self.tile_cols());
        let mut frame = self
            .kernel
            .frame(self.bound, Widths::of_tiles(width), &[], height)?;
        for top in rows.clone().step_by(ROWS) {
            for left in cols.clone().step_by(COLS) {
                let tile = Tile {
                    rows: top..(top + ROWS).min(rows.end),
                    cols: left..(left + COLS).min(cols.end),
                };
                self.factors.multiply(&mut frame, &tile.rows, &tile.cols)?;
                run(&mut frame, &tile)?;
            }
        }
        Ok(())
    }

    /// Runs over a few rows of a tile at a time, so that what passes from step to step stays in the first-level
    /// cache.
    fn strips<'f>(
        &'f self,
        frame: &mut Frame<'f>,
        tile: &Tile,
        mut run: impl FnMut(&mut Frame<'f>, &Tile) -> Result<()>,
    ) -> Result<()> {
        let width = tile.cols.len();
        let height = self.strip_rows();
        for top in tile.rows.clone().step_by(height) {
            let strip = Tile {
                rows: top..(top + height).min(tile.rows.end),
                cols: tile.cols.clone(),
            };
            frame.set_tile(strip.rows.len(), width);
            bind_tile(self.kernel, self.bound, frame, &strip)?;
            self.factors.bind_tile(frame, top - tile.rows.start, width);
            run(frame, &strip)?;
        }
        Ok(())
    }

    fn strip_rows(&self) -> usize {
        (tile_cells(&self.kernel.program) / self.tile_cols()).clamp(1, ROWS)
    }

    fn tile_cols(&self) -> usize {
        self.bound.cols().clamp(1, COLS)
    }
}
