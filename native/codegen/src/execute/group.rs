//! The Group skeleton: cells are computed tile by tile, and taken into tables by the groups of their rows.
//!
//! Work is cut, and cells are taken in, as `aggregate` does it: by the number of rows and of groups alone. So sums of columns have
//! its bits, on any number of threads.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{GroupTemplate, InputBinding};
use fulgurite_hop::{AggregateOp, scalar};
use fulgurite_matrix::kernels::groups::{
    GroupTasks,
    tables::{GroupCounts, GroupTotal, GroupTotals, MOST_COLUMNS, MOST_NUMBERED, numbers},
};
use fulgurite_matrix::{MatrixBlock, memory};

use super::cell::tiles_of;
use super::row::densify;
use super::{ExecutionContext, Output, cells_of, tasks};
use crate::aggregates::{self, Accumulation};
use crate::bind::{Bound, Rows};
use crate::compiled::{CompiledPlan, Kernel};
use crate::frame::{Frame, Target, Widths};
use crate::program::Taken;

/// Rows of a tile of one column: its values, and the tables of few groups, stay in the first-level cache.
const ROWS_OF_TILE: usize = 512;
/// Cells of a tile of several columns.
const CELLS_OF_TILE: usize = 4096;
/// Columns of such a tile.
const COLUMNS_OF_TILE: usize = 512;

pub(super) fn run(
    compiled: &CompiledPlan,
    bound: &Bound<'_>,
    template: &GroupTemplate,
    context: &ExecutionContext,
) -> Result<Output> {
    let count = scalar::double_to_int(bound.scalar(template.count));
    let count = usize::try_from(count)
        .map_err(|_| Error::argument("aggregate cannot have a negative number of groups"))?;
    if count >= MOST_NUMBERED {
        return Err(Error::unsupported(format!(
            "a fused operator has up to {MOST_NUMBERED} groups, not {count}"
        ))
        .with_help("run with fulgurite.fusion.policy=none"));
    }
    let aggregates = template.aggregates.iter();
    let aggregates = aggregates.map(|aggregate| Aggregate {
        op: aggregate.0,
        counts_rows: compiled.plan().counts_rows(*aggregate),
    });
    let aggregates: Vec<Aggregate> = aggregates.collect();
    let kernel = compiled.kernel();
    let skeleton = Skeleton {
        kernel,
        bound,
        layout: TableLayout::new(&aggregates, &kernel.program.taken, bound.cols()),
        aggregates,
    };
    let (rows, cols) = (bound.rows(), bound.cols());
    let width = cells_of(skeleton.aggregates.len(), cols)?;
    let mut results = memory::zeros(cells_of(count, width)?)?;
    match GroupTasks::new(rows, cols, count, context.threads()) {
        GroupTasks::Rows(ranges) => {
            let of = |rows| skeleton.tables_of(rows, 0..count);
            let mut parts = tasks::run(context, ranges, of)?.into_iter();
            let mut all = parts
                .next()
                .map_or_else(|| skeleton.new_tables(count), Ok)?;
            parts.for_each(|part| all.merge(&part));
            skeleton.finish(&all, &mut results);
        }
        // Threads compute the same cells, each for its own groups.
        GroupTasks::Groups(ranges) => {
            let of =
                |groups: Range<usize>| Ok((groups.clone(), skeleton.tables_of(0..rows, groups)?));
            for (groups, tables) in tasks::run(context, ranges, of)? {
                let results = &mut results[groups.start * width..groups.end * width];
                skeleton.finish(&tables, results);
            }
        }
    }
    MatrixBlock::dense(count, width, results).map(Output::Matrix)
}

struct Aggregate {
    op: AggregateOp,
    counts_rows: bool,
}

/// Which table has which aggregate.
struct TableLayout {
    tables: Vec<TableOf>,
    /// Per aggregate, its table and the column there; `None` of those that count rows.
    places: Vec<Option<(usize, usize)>>,
    counts_rows: bool,
}

/// What is taken into a table: columns if the main input is one, else a matrix.
struct TableOf {
    total: GroupTotal,
    taken: Vec<Taken>,
}

impl TableLayout {
    /// `taken` are the numbers of groups, then the cells of each aggregate that does not count rows.
    fn new(aggregates: &[Aggregate], taken: &[Taken], cols: usize) -> Self {
        let mut layout = TableLayout {
            tables: Vec::new(),
            places: Vec::new(),
            counts_rows: false,
        };
        let most = if cols == 1 { MOST_COLUMNS } else { 1 };
        let mut taken = taken.iter().skip(1);
        for aggregate in aggregates {
            let taken = match aggregate.counts_rows {
                true => None,
                false => taken.next(),
            };
            let total = total_of(aggregate.op);
            let place = taken.map(|taken| place(&mut layout.tables, total, *taken, most));
            layout.places.push(place);
            // Groups without rows have zeros, which only sums are by themselves.
            layout.counts_rows |= aggregate.counts_rows
                || aggregates::is_mean(aggregate.op)
                || total != GroupTotal::Sum;
        }
        layout
    }
}

/// The table of these totals, of up to `most` columns, that has these cells, and their column there. Those that are taken in alike share
/// one: a sum and a mean.
fn place(
    tables: &mut Vec<TableOf>,
    total: GroupTotal,
    taken: Taken,
    most: usize,
) -> (usize, usize) {
    let alike = tables.iter().enumerate();
    let alike = alike.filter(|(_, table)| table.total == total);
    let known = alike.clone().find_map(|(at, table)| {
        let column = table.taken.iter().position(|known| *known == taken)?;
        Some((at, column))
    });
    if let Some(known) = known {
        return known;
    }
    let with_room = alike.clone().find(|(_, table)| table.taken.len() < most);
    let at = with_room.map_or(tables.len(), |(at, _)| at);
    if at == tables.len() {
        let taken = Vec::new();
        tables.push(TableOf { total, taken });
    }
    tables[at].taken.push(taken);
    (at, tables[at].taken.len() - 1)
}

fn total_of(op: AggregateOp) -> GroupTotal {
    match aggregates::accumulation(op) {
        Accumulation::Minimum => GroupTotal::Least,
        Accumulation::Maximum => GroupTotal::Greatest,
        // Plans have no other aggregates.
        Accumulation::Sum | Accumulation::SumOfSquares | Accumulation::Product => GroupTotal::Sum,
    }
}

/// The tables of some rows.
struct Tables {
    counts: Option<GroupCounts>,
    totals: Vec<GroupTotals>,
}

impl Tables {
    /// Takes in those of the rows that follow.
    fn merge(&mut self, other: &Tables) {
        if let (Some(counts), Some(other)) = (&mut self.counts, &other.counts) {
            counts.merge(other);
        }
        for (totals, other) in self.totals.iter_mut().zip(&other.totals) {
            totals.merge(other);
        }
    }
}

struct Skeleton<'a> {
    kernel: &'a Kernel,
    bound: &'a Bound<'a>,
    aggregates: Vec<Aggregate>,
    layout: TableLayout,
}

impl Skeleton<'_> {
    fn new_tables(&self, groups: usize) -> Result<Tables> {
        let cols = self.bound.cols();
        let totals = self.layout.tables.iter().map(|table| {
            let width = if cols == 1 { table.taken.len() } else { cols };
            GroupTotals::new(table.total, groups, width)
        });
        let counts = self.layout.counts_rows;
        Ok(Tables {
            counts: counts.then(|| GroupCounts::new(groups)).transpose()?,
            totals: totals.collect::<Result<_>>()?,
        })
    }

    /// Of these groups, counted from 0.
    fn tables_of(&self, rows: Range<usize>, groups: Range<usize>) -> Result<Tables> {
        let mut tables = self.new_tables(groups.len())?;
        match self.is_column_of_cells() {
            true => self.column_tiles(rows, groups, &mut tables)?,
            false => self.tiles(rows, groups, &mut tables)?,
        }
        Ok(tables)
    }

    /// Whether all that the code reads cell by cell are columns, each as a row on its side.
    fn is_column_of_cells(&self) -> bool {
        let program = &self.kernel.program;
        let is_read_by_row = |(input, binding): (usize, InputBinding)| {
            let by_row = matches!(
                binding,
                InputBinding::ColumnVector | InputBinding::RowVector
            );
            by_row && program.reads_dense[input]
        };
        self.bound.cols() == 1 && !program.operands_of_cells().any(is_read_by_row)
    }

    /// Takes in rows of one column.
    fn column_tiles(
        &self,
        rows: Range<usize>,
        groups: Range<usize>,
        tables: &mut Tables,
    ) -> Result<()> {
        let program = &self.kernel.program;
        let widest = ROWS_OF_TILE.min(rows.len());
        let mut frame = self
            .kernel
            .frame(self.bound, Widths::of_tiles(widest), &[], 1)?;
        let mut results = memory::zeros(widest * program.results)?;
        let mut numbered = Numbered::new(groups, widest)?;
        for start in rows.clone().step_by(widest.max(1)) {
            let tile = start..(start + widest).min(rows.end);
            let count = tile.len();
            frame.set_tile(1, count);
            let columns = program.operands_of_cells();
            // Nothing reads rows of one cell.
            let columns = columns.filter(|(_, binding)| *binding != InputBinding::RowVector);
            for (input, _) in columns {
                match self.bound.rows_of(input)? {
                    Rows::Dense(dense) if !dense.has_gaps() => {
                        frame.bind_dense(input, &dense.cells()[tile.clone()], count);
                    }
                    Rows::Dense(dense) => {
                        let pack = |cells: &mut [f64]| dense.pack(tile.clone(), cells);
                        frame.bind_filled(input, count, count, pack)?;
                    }
                    Rows::Csr(csr) => {
                        let fill = |cells: &mut [f64]| densify(csr, tile.clone(), 0..1, cells);
                        frame.bind_filled(input, count, count, fill)?;
                    }
                    Rows::Compressed(groups) => {
                        let fill = |cells: &mut [f64]| groups.fill(tile.clone(), 0..1, cells);
                        frame.bind_filled(input, count, count, fill)?;
                    }
                }
            }
            self.compute(&mut frame, &mut results[..count * program.results], count)?;
            let cells_of = |taken: Taken| match taken {
                Taken::Result(place) => Ok(&results[place * count..][..count]),
                Taken::Input(input) => match self.bound.rows_of(input)? {
                    Rows::Dense(dense) if !dense.has_gaps() => Ok(&dense.cells()[tile.clone()]),
                    Rows::Dense(_) | Rows::Csr(_) | Rows::Compressed(_) => {
                        Ok(&frame.gathered(input)[..count])
                    }
                },
            };
            let groups = program.taken.first().map(|groups| cells_of(*groups));
            let numbers = numbered.by(groups.transpose()?.unwrap_or_default(), count, 1);
            if let Some(counts) = &mut tables.counts {
                counts.take(numbers);
            }
            for (table, totals) in self.layout.tables.iter().zip(&mut tables.totals) {
                let mut columns: [&[f64]; MOST_COLUMNS] = [&[]; MOST_COLUMNS];
                for (column, taken) in columns.iter_mut().zip(&table.taken) {
                    *column = cells_of(*taken)?;
                }
                totals.take_columns(numbers, &columns[..table.taken.len()]);
            }
        }
        Ok(())
    }

    /// Takes in rows of any width.
    fn tiles(&self, rows: Range<usize>, groups: Range<usize>, tables: &mut Tables) -> Result<()> {
        let program = &self.kernel.program;
        let width = self.bound.cols().clamp(1, COLUMNS_OF_TILE);
        let height = (CELLS_OF_TILE / program.results.max(1) / width).max(1);
        let mut results = memory::zeros(height * width * program.results)?;
        let mut numbered = Numbered::new(groups, height)?;
        tiles_of(
            self.kernel,
            self.bound,
            rows,
            (width, height),
            |frame, tile| {
                let (height, width) = (tile.rows.len(), tile.cols.len());
                let count = height * width;
                self.compute(frame, &mut results[..count * program.results], width)?;
                let results = &results;
                let cells_of = |taken: Taken| match taken {
                    Taken::Result(place) => Ok((&results[place * count..][..count], width)),
                    Taken::Input(input) => match self.bound.rows_of(input)? {
                        // Packed, as cells for each row.
                        Rows::Dense(dense) if dense.cols == 1 && dense.has_gaps() => {
                            Ok((&frame.gathered(input)[..height], 1))
                        }
                        Rows::Dense(dense) => {
                            let left = if dense.cols == 1 { 0 } else { tile.cols.start };
                            Ok((dense.from(tile.rows.start, left), dense.stride))
                        }
                        Rows::Csr(csr) if csr.cols() == 1 => {
                            Ok((&frame.gathered(input)[..height], 1))
                        }
                        Rows::Compressed(groups) if groups.cols() == 1 => {
                            Ok((&frame.gathered(input)[..height], 1))
                        }
                        Rows::Csr(_) | Rows::Compressed(_) => {
                            Ok((&frame.gathered(input)[..count], width))
                        }
                    },
                };
                let (groups, apart) = match program.taken.first() {
                    Some(groups) => cells_of(*groups)?,
                    None => (&[][..], 1),
                };
                let numbers = numbered.by(groups, height, apart);
                if let (Some(counts), 0) = (&mut tables.counts, tile.cols.start) {
                    counts.take(numbers);
                }
                for (table, totals) in self.layout.tables.iter().zip(&mut tables.totals) {
                    for (column, taken) in table.taken.iter().enumerate() {
                        let (cells, apart) = cells_of(*taken)?;
                        let columns = (tile.cols.start + column, width);
                        totals.take_rows(numbers, columns, cells, apart);
                    }
                }
                Ok(())
            },
        )
    }

    /// Runs the code over a tile.
    fn compute(&self, frame: &mut Frame<'_>, results: &mut [f64], stride: usize) -> Result<()> {
        match self.kernel.program.results {
            0 => self.bound.interrupt.check(),
            _ => {
                let cells = results;
                self.kernel.run(frame, Target { cells, stride })
            }
        }
    }

    /// Writes a row for each group, where there are zeros.
    fn finish(&self, all: &Tables, results: &mut [f64]) {
        let cols = self.bound.cols();
        let width = self.aggregates.len() * cols;
        for (group, results) in results.chunks_exact_mut(width.max(1)).enumerate() {
            let rows = all.counts.as_ref().map(|counts| counts.of(group));
            if rows == Some(0) {
                continue;
            }
            let rows = rows.unwrap_or(0) as f64;
            let aggregates = self.aggregates.iter().zip(&self.layout.places);
            for (results, (aggregate, place)) in
                results.chunks_exact_mut(cols.max(1)).zip(aggregates)
            {
                for (col, result) in results.iter_mut().enumerate() {
                    *result = match place {
                        None => rows,
                        Some((table, column)) => {
                            let total = all.totals[*table].result(group, column + col);
                            match aggregates::is_mean(aggregate.op) {
                                true => total / rows,
                                false => total,
                            }
                        }
                    };
                }
            }
        }
    }
}

/// The numbers of the groups of a tile's rows.
struct Numbered {
    among: Range<usize>,
    /// Where they are not side by side.
    groups: Vec<f64>,
    numbers: Vec<u32>,
}

impl Numbered {
    fn new(among: Range<usize>, most: usize) -> Result<Self> {
        Ok(Numbered {
            among,
            groups: memory::zeros(most)?,
            numbers: memory::filled(most, 0)?,
        })
    }

    /// Of so many rows, whose groups are `apart` cells from each other.
    fn by(&mut self, groups: &[f64], rows: usize, apart: usize) -> &[u32] {
        let found = &mut self.numbers[..rows];
        if apart == 1 {
            numbers(groups, self.among.clone(), found);
        } else {
            let own = &mut self.groups[..rows];
            for (own, group) in own.iter_mut().zip(groups.iter().step_by(apart.max(1))) {
                *own = *group;
            }
            numbers(own, self.among.clone(), found);
        }
        found
    }
}
