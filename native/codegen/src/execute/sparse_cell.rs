//! The Cell skeleton over the stored cells of a CSR matrix, for bodies that are 0 where the main input is.
//!
//! Values of side inputs are gathered at the stored cells, so that compiled code sees plain vectors.

use std::ops::Range;

use fulgurite_error::Result;
use fulgurite_fusion::cplan::InputBinding;
use fulgurite_hop::AggregateOp;
use fulgurite_matrix::CompressedCells;
use fulgurite_matrix::{
    CsrMatrix, Layout, MatrixBlock,
    kernels::aggregate::column_tasks_of_stored,
    memory::{self, NewCells},
};

use super::cell::{tile_cells, together};
use super::driver::Driver;
use super::factors::Factors;
use super::totals::{Total, Totals};
use super::vector_totals::{Aggregates, VectorTotals};
use super::{CellOutput, ExecutionContext, Output, column_vector, tasks};
use crate::bind::{Bound, Operand, Rows};
use crate::compiled::{CompiledPlan, Kernel};
use crate::frame::{Frame, Target, Widths};
use crate::program::Taken;

/// Stored cells whose products of factors are computed together.
const CHUNK: usize = 1 << 16;

/// A row of this many doubles stays in the second-level cache.
const MAX_SPREAD_COLUMNS: usize = 1 << 14;

/// Runs over the stored cells of a main input.
pub(super) struct Skeleton<'a> {
    kernel: &'a Kernel,
    bound: &'a Bound<'a>,
    factors: &'a Factors,
    main: &'a CsrMatrix,
    driver: &'a Driver<'a>,
    tile: usize,
}

/// Stored cells `cells` of the main input, of the rows `rows` (the first and last perhaps in part).
struct Tile {
    rows: Range<usize>,
    cells: Range<usize>,
}

/// What a task works with.
struct Workspace<'f> {
    frame: Frame<'f>,
    /// See [`Skeleton::spread_cells`]; all zero between rows.
    spread: Vec<f64>,
}

impl<'a> Skeleton<'a> {
    pub fn new(
        compiled: &'a CompiledPlan,
        bound: &'a Bound<'a>,
        factors: &'a Factors,
        driver: &'a Driver<'a>,
    ) -> Result<Self> {
        let kernel = compiled.gathered_kernel()?;
        Ok(Skeleton {
            kernel,
            bound,
            factors,
            main: &driver.csr,
            driver,
            tile: tile_cells(&kernel.program),
        })
    }

    pub fn driver(&self) -> &'a Driver<'a> {
        self.driver
    }

    /// Ranges of the driver's rows of about as much work each.
    pub fn ranges(&self, context: &ExecutionContext) -> Vec<Range<usize>> {
        let per_cell = self.kernel.program.work_per_cell() + self.factors.rank() / 4;
        tasks::of_stored(self.main, per_cell, context)
    }

    pub fn run(&self, output: &CellOutput, context: &ExecutionContext) -> Result<Output> {
        let (rows, cols) = (self.driver.rows(), self.main.cols());
        let cells = rows.saturating_mul(cols);
        let ranges = self.ranges(context);
        match output {
            CellOutput::Map => self.map(ranges, context),
            CellOutput::Full(ops) => {
                let totals = tasks::run(context, ranges, |range| self.full(ops, range))?;
                let mut totals = together(ops, &totals);
                if self.main.stored() < cells {
                    totals.take_zeros();
                }
                column_vector(totals.finish(cells))
            }
            CellOutput::Rows(op) => {
                let parts = tasks::run(context, ranges, |range| self.row_totals(*op, range))?;
                let mut empty = Total::new(*op);
                if cols > 0 {
                    empty.combine(0.0);
                }
                column_vector(
                    self.driver
                        .spread(parts.concat(), 1, &[empty.finish(cols)])?,
                )
            }
            CellOutput::SeveralOfRows(ops) => {
                let aggregates = Aggregates::new(ops, &self.kernel.program.taken);
                let parts = tasks::run(context, ranges, |range| {
                    self.several_of_rows(&aggregates, ops.len(), range)
                })?;
                let mut empty = aggregates.start(1)?;
                if cols > 0 {
                    empty.iter_mut().for_each(|totals| totals.take_zeros(0));
                }
                let mut of_empty = vec![0.0; ops.len()];
                aggregates.of_rows(&empty, cols, &mut of_empty);
                let cells = self.driver.spread(parts.concat(), ops.len(), &of_empty)?;
                MatrixBlock::dense(rows, ops.len(), cells).map(Output::Matrix)
            }
            CellOutput::Columns(ops) => {
                let ranges = column_tasks_of_stored(self.main);
                let aggregates = Aggregates::new(ops, &self.kernel.program.taken);
                let parts = tasks::run(context, ranges, |range| {
                    self.column_totals(&aggregates, range)
                })?;
                let mut all = aggregates.merged(cols, parts)?;
                let mut stored: Vec<usize> = memory::zeros_of(cols)?;
                for col in self.main.indices() {
                    stored[*col as usize] += 1;
                }
                for (col, stored) in stored.into_iter().enumerate() {
                    if stored < rows {
                        all.iter_mut().for_each(|totals| totals.take_zeros(col));
                    }
                }
                aggregates.of_columns(&all, cols, rows)
            }
        }
    }

    /// Gives the body's values at the stored cells of each of the driver's rows, in one or more pieces.
    pub fn values(
        &self,
        rows: Range<usize>,
        mut take: impl FnMut(usize, &[i32], &[f64]) -> Result<()>,
    ) -> Result<()> {
        let mut values = vec![0.0; self.tile];
        self.tiles(&mut self.workspace()?, rows, |frame, tile| {
            let cells = &mut values[..tile.cells.len()];
            let stride = cells.len();
            self.kernel.run(frame, Target { cells, stride })?;
            let mut rest = &values[..];
            for (row, columns) in self.segments(&tile) {
                let (part, after) = rest.split_at(columns.len());
                take(row, columns, part)?;
                rest = after;
            }
            Ok(())
        })
    }

    /// The result has the main input's structure.
    fn map(&self, ranges: Vec<Range<usize>>, context: &ExecutionContext) -> Result<Output> {
        let mut values = NewCells::new(self.main.stored())?;
        let lengths: Vec<usize> = ranges
            .iter()
            .map(|range| self.cells_of(range).len())
            .collect();
        let parts = ranges.into_iter().zip(values.parts(lengths)).collect();
        tasks::run(context, parts, |(range, mut part)| {
            self.tiles(&mut self.workspace()?, range, |frame, tile| {
                let cells = part.take(tile.cells.len());
                let stride = cells.len();
                self.kernel.run(frame, Target { cells, stride })
            })
        })?;
        let values = values.finish();
        if let Operand::Matrix(MatrixBlock::Coordinate(coordinates)) = self.bound.main {
            let result = coordinates.with_values(values)?;
            return Ok(Output::Matrix(result.into()));
        }
        Ok(Output::Matrix(self.main.with_values(values)?.into()))
    }

    fn full(&self, ops: &[AggregateOp], rows: Range<usize>) -> Result<Totals> {
        let mut totals = Totals::new(ops);
        let mut partials = vec![0.0; ops.len()];
        self.tiles(&mut self.workspace()?, rows, |frame, _| {
            self.reduced(frame, &mut partials)?;
            totals.combine(&partials);
            Ok(())
        })?;
        Ok(totals)
    }

    fn row_totals(&self, op: AggregateOp, rows: Range<usize>) -> Result<Vec<f64>> {
        let cols = self.main.cols();
        let mut results = memory::room(rows.len())?;
        let mut workspace = self.workspace()?;
        for row in rows {
            let mut total = Total::new(op);
            self.tiles(&mut workspace, row..row + 1, |frame, _| {
                let mut partial = [0.0];
                self.reduced(frame, &mut partial)?;
                total.combine(partial[0]);
                Ok(())
            })?;
            if self.cells_of(&(row..row + 1)).len() < cols {
                total.combine(0.0);
            }
            results.push(total.finish(cols));
        }
        Ok(results)
    }

    fn column_totals(
        &self,
        aggregates: &Aggregates<'_>,
        rows: Range<usize>,
    ) -> Result<Vec<VectorTotals>> {
        let mut totals = aggregates.start(self.main.cols())?;
        let mut results = memory::zeros(self.tile * self.kernel.program.results)?;
        self.tiles(&mut self.workspace()?, rows, |frame, tile| {
            let columns = &self.main.indices()[tile.cells.clone()];
            self.taken(
                aggregates,
                frame,
                &tile.cells,
                &mut results,
                |run, cells| {
                    totals[run].take_cells(columns, cells);
                },
            )
        })?;
        Ok(totals)
    }

    /// The totals of rows, those of a row side by side. No row is cut, so that its cells are summed up as if they were
    /// there alone.
    fn several_of_rows(
        &self,
        aggregates: &Aggregates<'_>,
        width: usize,
        rows: Range<usize>,
    ) -> Result<Vec<f64>> {
        let cols = self.main.cols();
        let stored = |row: usize| self.cells_of(&(row..row + 1)).len();
        let longest = rows.clone().map(stored).max().unwrap_or(0);
        let most = self.tile.max(longest);
        let mut workspace = self.workspace_of(most)?;
        let mut values = memory::zeros(most * self.kernel.program.results)?;
        let mut results = super::zeros(rows.len(), width)?;
        let mut from = rows.start;
        while from < rows.end {
            let first = self.main.pointers()[from] as usize;
            let fits = |row: &usize| self.main.pointers()[row + 1] as usize - first <= most;
            let to = from + (from..rows.end).take_while(fits).count();
            let cells = self.cells_of(&(from..to));
            let tile = Tile {
                rows: from..to,
                cells,
            };
            let mut totals = aggregates.start(to - from)?;
            let Workspace { frame, spread } = &mut workspace;
            if !tile.cells.is_empty() {
                frame.set_tile(1, tile.cells.len());
                self.bind_tile(frame, &tile, spread)?;
                self.taken(aggregates, frame, &tile.cells, &mut values, |run, cells| {
                    for row in tile.rows.clone() {
                        let of_row = self.cells_of(&(row..row + 1));
                        let of_row = &cells[of_row.start - first..of_row.end - first];
                        totals[run].take_rows(row - from, of_row, of_row.len());
                    }
                })?;
            }
            for row in tile.rows.clone().filter(|row| stored(*row) < cols) {
                totals.iter_mut().for_each(|all| all.take_zeros(row - from));
            }
            let results = &mut results[(from - rows.start) * width..(to - rows.start) * width];
            aggregates.of_rows(&totals, cols, results);
            from = to;
        }
        Ok(results)
    }

    /// Gives the values at a tile's stored cells that each run of totals takes in.
    fn taken<'f>(
        &'f self,
        aggregates: &Aggregates<'_>,
        frame: &mut Frame<'f>,
        cells: &Range<usize>,
        results: &mut [f64],
        mut take: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let program = &self.kernel.program;
        let count = cells.len();
        match program.results {
            0 => self.bound.interrupt.check()?,
            parts => {
                let cells = &mut results[..count * parts];
                let stride = count;
                self.kernel.run(frame, Target { cells, stride })?;
            }
        }
        for (run, taken) in aggregates.taken().enumerate() {
            take(
                run,
                match taken {
                    Taken::Result(place) => &results[place * count..][..count],
                    Taken::Input(0) => &self.main.values()[cells.clone()],
                    Taken::Input(input) => &frame.gathered(input)[..count],
                },
            );
        }
        Ok(())
    }

    /// The tile's partial totals.
    fn reduced(&self, frame: &mut Frame<'_>, partials: &mut [f64]) -> Result<()> {
        let stride = partials.len();
        let target = Target {
            cells: partials,
            stride,
        };
        self.kernel.run(frame, target)
    }

    fn workspace(&self) -> Result<Workspace<'_>> {
        self.workspace_of(self.tile)
    }

    /// For tiles of at most so many cells.
    fn workspace_of(&self, cells: usize) -> Result<Workspace<'_>> {
        Ok(Workspace {
            frame: self
                .kernel
                .frame(self.bound, Widths::of_tiles(cells), &[], 1)?,
            spread: vec![0.0; self.spread_cells()],
        })
    }

    /// Columns of a dense row into which a CSR side's rows are spread, so that picking cells from it needs no
    /// comparisons; none where such a row would not stay in cache.
    fn spread_cells(&self) -> usize {
        let any_csr_side = self.bound.operands[1..].iter().any(
            |operand| matches!(operand, Operand::Matrix(side) if side.layout() == Layout::Csr),
        );
        if any_csr_side && self.main.cols() <= MAX_SPREAD_COLUMNS {
            self.main.cols()
        } else {
            0
        }
    }

    fn cells_of(&self, rows: &Range<usize>) -> Range<usize> {
        let pointers = self.main.pointers();
        pointers[rows.start] as usize..pointers[rows.end] as usize
    }

    fn tiles<'f>(
        &'f self,
        workspace: &mut Workspace<'f>,
        rows: Range<usize>,
        mut run: impl FnMut(&mut Frame<'f>, Tile) -> Result<()>,
    ) -> Result<()> {
        let Workspace { frame, spread } = workspace;
        let cells = self.cells_of(&rows);
        let mut rows = rows;
        // Products of factors are computed for many tiles at once.
        let length = CHUNK.next_multiple_of(self.tile);
        for first in cells.clone().step_by(length) {
            let chunk = first..(first + length).min(cells.end);
            rows = self.rows_of(rows.start, &chunk);
            self.factors
                .multiply_stored(frame, self.driver, rows.clone(), chunk.clone())?;
            let mut row = rows.start;
            for start in chunk.clone().step_by(self.tile) {
                let cells = start..(start + self.tile).min(chunk.end);
                let rows = self.rows_of(row, &cells);
                row = rows.start;
                let tile = Tile { rows, cells };
                frame.set_tile(1, tile.cells.len());
                self.bind_tile(frame, &tile, spread)?;
                self.factors
                    .bind_stored(frame, start - chunk.start, tile.cells.len());
                run(frame, tile)?;
            }
        }
        Ok(())
    }

    /// The rows of some stored cells, of which there is at least one, looked for from a row on.
    fn rows_of(&self, mut first: usize, cells: &Range<usize>) -> Range<usize> {
        let pointers = self.main.pointers();
        while pointers[first + 1] as usize <= cells.start {
            first += 1;
        }
        let mut last = first;
        while (pointers[last + 1] as usize) < cells.end {
            last += 1;
        }
        first..last + 1
    }

    fn bind_tile<'f>(
        &'f self,
        frame: &mut Frame<'f>,
        tile: &Tile,
        spread: &mut [f64],
    ) -> Result<()> {
        let length = tile.cells.len();
        frame.bind_dense(0, &self.main.values()[tile.cells.clone()], length);
        for (input, binding) in self.kernel.program.operands_of_cells() {
            if binding == InputBinding::Main {
                continue;
            }
            let side = self.bound.rows_of(input)?;
            frame.bind_filled(input, length, length, |cells| {
                self.gather(side, binding, tile, cells, spread);
            })?;
        }
        Ok(())
    }

    /// The rows of a tile with the columns of their cells.
    fn segments(&self, tile: &Tile) -> impl Iterator<Item = (usize, &'a [i32])> + Clone + use<'a> {
        let (main, cells) = (self.main, tile.cells.clone());
        tile.rows.clone().map(move |row| {
            let pointers = main.pointers();
            let from = (pointers[row] as usize).max(cells.start);
            let to = (pointers[row + 1] as usize).min(cells.end);
            (row, &main.indices()[from..to])
        })
    }

    /// The side input's cells at the tile's stored cells.
    fn gather(
        &self,
        side: Rows<'_>,
        binding: InputBinding,
        tile: &Tile,
        cells: &mut [f64],
        spread: &mut [f64],
    ) {
        let mut rest = cells;
        for (row, columns) in self.segments(tile) {
            let (part, after) = rest.split_at_mut(columns.len());
            rest = after;
            let row = self.driver.number(row);
            match binding {
                InputBinding::ColumnVector => part.fill(cell_of(side, row)),
                InputBinding::RowVector => gather_row(side, 0, columns, part, spread),
                _ => gather_row(side, row, columns, part, spread),
            }
        }
    }
}

/// The cell of a column vector.
fn cell_of(side: Rows<'_>, row: usize) -> f64 {
    match side {
        Rows::Dense(dense) => dense.row(row)[0],
        Rows::Csr(csr) => csr.row(row).1.first().copied().unwrap_or(0.0),
        Rows::Compressed(groups) => groups.cell(row, 0),
    }
}

/// The cells of a row at ascending columns; `spread` is all zero before and after.
fn gather_row(side: Rows<'_>, row: usize, columns: &[i32], cells: &mut [f64], spread: &mut [f64]) {
    match side {
        Rows::Dense(dense) => pick(dense.row(row), columns, cells),
        Rows::Csr(csr) => {
            let (indices, values) = csr.row(row);
            if spread.is_empty() {
                return merge(indices, values, columns, cells);
            }
            for (index, value) in indices.iter().zip(values) {
                spread[*index as usize] = *value;
            }
            pick(spread, columns, cells);
            for index in indices {
                spread[*index as usize] = 0.0;
            }
        }
        Rows::Compressed(groups) => {
            for (cell, column) in cells.iter_mut().zip(columns) {
                *cell = groups.cell(row, *column as usize);
            }
        }
    }
}

fn pick(row: &[f64], columns: &[i32], cells: &mut [f64]) {
    for (cell, column) in cells.iter_mut().zip(columns) {
        *cell = row[*column as usize];
    }
}

fn merge(indices: &[i32], values: &[f64], columns: &[i32], cells: &mut [f64]) {
    let mut at = 0;
    for (cell, column) in cells.iter_mut().zip(columns) {
        while at < indices.len() && indices[at] < *column {
            at += 1;
        }
        *cell = match indices.get(at) {
            Some(index) if index == column => values[at],
            _ => 0.0,
        };
    }
}
