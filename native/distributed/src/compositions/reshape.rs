//! `matrix(X, rows, cols)`: the cells of a distributed matrix in another shape.
//!
//! - Read by row, a stripe is a run of cells, and so are its rows of the result: it keeps them all but its *head*, what
//!   comes before the first row of the result that begins in it. The stripe in which that row begins gets the head,
//!   through the driver.
//! - Read by column, the same is done with the transpose, and the result is seen transposed.
//! - Where heads are too large for the driver, or a row of a transpose would be too wide, each cell that is not zero
//!   travels with its new place.

use fulgurite_dataflow::{Assemble, DistributedMatrix, LocalMatrix, Pieces, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Formulas, HopId, scalar};
use fulgurite_matrix::{MatrixBlock, kernels, memory};

use super::{input, size};
use crate::{operator::Operator, row_wise::Slot, task_builder::TaskBuilder, workers::Workers};

/// A stripe of the result may take this share of `fulgurite.memory.local`.
const SHARE_OF_LOCAL: u64 = 4;

pub(super) fn reshape(
    workers: &Workers,
    operator: &Operator,
    by_row: bool,
    inputs: &[Variable],
) -> Result<Variable> {
    let matrix = input(inputs, 0)?;
    let known = matrix.characteristics();
    let (from_rows, from_cols) = (size(known.rows)?, size(known.cols)?);
    let (rows, cols) = (given_size(inputs, 1)?, given_size(inputs, 2)?);
    let count = u128::from(from_rows) * u128::from(from_cols);
    if count != u128::from(rows) * u128::from(cols) {
        return Err(Error::dimension(format!(
            "a {from_rows}x{from_cols} matrix has {count} cells, not {} for {rows} x {cols}",
            u128::from(rows) * u128::from(cols)
        )));
    }
    if count == 0 {
        let side = |size| usize::try_from(size).unwrap_or(usize::MAX);
        return Ok(Variable::matrix(kernels::fill(
            0.0,
            side(rows),
            side(cols),
        )?));
    }
    let reshaping = Reshaping {
        workers,
        operator,
        rows,
        cols,
    };
    let reshaped = match by_row {
        true => reshaping.by_row(&workers.distributed(matrix)?)?,
        false => reshaping.by_column(matrix, from_rows)?,
    };
    Ok(Variable::Distributed(reshaped))
}

fn given_size(inputs: &[Variable], place: usize) -> Result<u64> {
    let given = scalar::double_to_int(scalar::number(input(inputs, place)?.as_scalar()?)?);
    u64::try_from(given)
        .map_err(|_| Error::dimension(format!("a matrix cannot have the size {given}")))
}

struct Reshaping<'a> {
    workers: &'a Workers<'a>,
    operator: &'a Operator<'a>,
    /// Of the result.
    rows: u64,
    cols: u64,
}

impl Reshaping<'_> {
    fn by_row(&self, matrix: &DistributedMatrix) -> Result<DistributedMatrix> {
        self.check_width()?;
        match self.with_heads(matrix, self.cols)? {
            Some(reshaped) => Ok(reshaped),
            None => self.cell_by_cell(matrix, true),
        }
    }

    fn by_column(&self, matrix: &Variable, from_rows: u64) -> Result<DistributedMatrix> {
        let fits = |cells: u64| cells.saturating_mul(8) <= self.workers.config.memory_local;
        if fits(from_rows) && fits(self.rows) {
            let transpose = match matrix {
                Variable::Distributed(matrix) => self.workers.lying(matrix, true)?,
                other => self
                    .workers
                    .lying(&self.workers.distributed(other)?, true)?,
            };
            let transpose = DistributedMatrix::new(transpose.dataset, transpose.stripes);
            if let Some(reshaped) = self.with_heads(&transpose, self.rows)? {
                return Ok(reshaped.transpose());
            }
        }
        self.check_width()?;
        self.cell_by_cell(&self.workers.distributed(matrix)?, false)
    }

    fn check_width(&self) -> Result<()> {
        let (row_bytes, limit) = (
            self.cols.saturating_mul(8),
            self.workers.config.memory_local,
        );
        if row_bytes <= limit {
            return Ok(());
        }
        Err(Error::memory(format!(
            "a row of a distributed {} x {} matrix has {row_bytes} bytes, and fulgurite.memory.local is {limit}",
            self.rows, self.cols
        ))
        .with_help("raise fulgurite.memory.local, or give the matrix fewer columns"))
    }

    /// Rows of `width` cells, read by row; `None` where the heads of stripes are too large for the driver.
    fn with_heads(
        &self,
        matrix: &DistributedMatrix,
        width: u64,
    ) -> Result<Option<DistributedMatrix>> {
        let mut matrix = matrix.clone();
        // Read up to three times.
        matrix.persist()?;
        let cols = size(matrix.stripes.cols)?;
        let runs = Runs::of(self.bounds(&matrix)?.block(), cols, width);
        if !runs.fit(self.workers.through_driver()) {
            return Ok(None);
        }
        let mut builder = TaskBuilder::new(self.workers, &matrix);
        let (stripe, run, height) = cells_in_a_row(&mut builder, cols);
        let width_of_rows = builder.int(width);
        let root = if runs.heads == 0 {
            // Rows of the result end where stripes end.
            let cells = cells_of(&mut builder, height, cols);
            let rows = builder.int_quotient(cells, width_of_rows);
            builder.reshaped(stripe, rows, width_of_rows)
        } else {
            let heads = self.heads(&matrix, &runs)?;
            let heads = builder.bind(Slot::Whole, &Variable::Matrix(heads))?;
            let own = OwnRun::new(&mut builder, &runs)?;
            let (from, until) = (own.cell(&mut builder, FROM), own.cell(&mut builder, UNTIL));
            let next = builder.columns(heads, from, until);
            let run = builder.side_by_side(vec![run, next]);
            let (first, last) = (own.cell(&mut builder, FIRST), own.cell(&mut builder, LAST));
            let run = builder.columns(run, first, last);
            let made = own.cell(&mut builder, MADE);
            let rows = builder.reshaped(run, made, width_of_rows);
            match runs.all_own_rows() {
                true => rows,
                false => {
                    let owned = own.cell(&mut builder, OWNED);
                    first_rows(&mut builder, rows, made, owned)
                }
            }
        };
        let dataset = builder.map(root, self.operator.label)?;
        self.workers.placed(&dataset).map(Some)
    }

    /// On the driver, how many rows stand above each stripe, and how many it has.
    fn bounds(&self, matrix: &DistributedMatrix) -> Result<LocalMatrix> {
        let mut builder = TaskBuilder::new(self.workers, matrix);
        let stripe = builder.lead();
        let (offset, height, one) = (
            builder.row_offset(),
            builder.rows_in(stripe),
            builder.int(1),
        );
        let mut cell = |value| builder.filled(value, one, one);
        let both = vec![cell(offset), cell(height)];
        let root = builder.side_by_side(both);
        builder.map(root, self.operator.label)?.collect(None)
    }

    /// The heads of all stripes in a row, and after them as many zeros as any stripe may read beyond.
    fn heads(&self, matrix: &DistributedMatrix, runs: &Runs) -> Result<LocalMatrix> {
        let cols = size(matrix.stripes.cols)?;
        let mut builder = TaskBuilder::new(self.workers, matrix);
        let (_, run, _) = cells_in_a_row(&mut builder, cols);
        let own = OwnRun::new(&mut builder, runs)?;
        let (one, taken) = (builder.int(1), own.cell(&mut builder, TAKEN));
        let taken_cells = builder.columns(run, one, taken);
        let column = builder.transposed(taken_cells);
        let head = own.cell(&mut builder, HEAD);
        let root = first_rows(&mut builder, column, taken, head);
        let heads = builder
            .map(root, self.operator.label)?
            .collect(Some(runs.heads.saturating_mul(8)))?;
        let width = usize::try_from(runs.width).unwrap_or(usize::MAX);
        let beyond = kernels::fill(0.0, 1, width)?;
        let row = kernels::transpose(heads.block())?;
        kernels::cbind(&[&row, &beyond]).map(LocalMatrix::new)
    }

    /// Each cell that is not zero goes to its place by itself.
    fn cell_by_cell(&self, matrix: &DistributedMatrix, by_row: bool) -> Result<DistributedMatrix> {
        let (from_rows, from_cols) = (size(matrix.stripes.rows)?, size(matrix.stripes.cols)?);
        let (rows, cols) = (self.rows, self.cols);
        let (limit, blocksize) = (
            self.workers.config.memory_local,
            self.workers.config.blocksize,
        );
        // As many cells as stripes of the matrix have, or of the result.
        let cells_alike = blocksize.saturating_mul(from_cols) / cols.max(1);
        let most = limit / SHARE_OF_LOCAL / cols.saturating_mul(8).max(1);
        let every = blocksize.max(cells_alike).min(most).max(1);
        let mut builder = TaskBuilder::new(self.workers, matrix);
        let stripe = builder.lead();
        let pieces = Pieces::Cells {
            from_rows,
            rows,
            cols,
            by_row,
            every,
        };
        let targets = rows.div_ceil(every);
        let label = self.operator.label;
        let cells = builder.shuffle(stripe, pieces, targets, Assemble::Below, label)?;
        let cells = DistributedMatrix::new(cells, Characteristics::new(None, Some(3), None));
        let mut builder = TaskBuilder::new(self.workers, &cells);
        let root = stripe_of_cells(&mut builder);
        self.workers.placed(&builder.map(root, label)?)
    }
}

/// A matrix of rows, columns and values, of which the lowest row and the last column are among them. NaN is no value
/// for `table`: where it stands, 1 is counted in a table of its own.
fn stripe_of_cells(builder: &mut TaskBuilder) -> HopId {
    let stripe = builder.lead();
    let mut column = |number| {
        let number = builder.int(number);
        builder.columns(stripe, number, number)
    };
    let (rows, cols, values) = (column(1), column(2), column(3));
    let nan = builder.number(f64::NAN);
    let (zero, one) = (builder.number(0.0), builder.number(1.0));
    let numbers = builder.replaced(values, nan, zero);
    let numbers = builder.table(vec![rows, cols, numbers]);
    let is_nan = builder.is_nan(values);
    let marked = builder.table(vec![rows, cols, is_nan]);
    let nans = builder.replaced(marked, one, nan);
    builder.plus(numbers, nans)
}

/// The stripe, its cells in a row, and its height.
fn cells_in_a_row(builder: &mut TaskBuilder, cols: u64) -> (HopId, HopId, HopId) {
    let stripe = builder.lead();
    let (height, one) = (builder.rows_in(stripe), builder.int(1));
    let cells = cells_of(builder, height, cols);
    let run = builder.reshaped(stripe, one, cells);
    (stripe, run, height)
}

fn cells_of(builder: &mut TaskBuilder, height: HopId, cols: u64) -> HopId {
    let cols = builder.int(cols);
    builder.int_times(height, cols)
}

/// The first `count` of so many rows, perhaps none.
fn first_rows(builder: &mut TaskBuilder, matrix: HopId, rows: HopId, count: HopId) -> HopId {
    let one = builder.int(1);
    let numbers = builder.sequence(one, rows, one);
    let select = builder.less_equal(numbers, count);
    builder.kept_rows(matrix, Some(select), true)
}

/// Columns of [`Runs::table`], from 1.
const HEAD: u64 = 2;
const TAKEN: u64 = 3;
const FIRST: u64 = 4;
const LAST: u64 = 5;
const FROM: u64 = 6;
const UNTIL: u64 = 7;
const MADE: u64 = 8;
const OWNED: u64 = 9;
const COLUMNS: usize = 9;

/// The row of [`Runs::table`] that is the stripe's.
struct OwnRun(HopId);

impl OwnRun {
    fn new(builder: &mut TaskBuilder, runs: &Runs) -> Result<Self> {
        let table = Variable::Matrix(LocalMatrix::new(runs.table()?));
        let table = builder.bind(Slot::Whole, &table)?;
        let (offset, one) = (builder.row_offset(), builder.int(1));
        let offsets = builder.columns(table, one, one);
        let is_own = builder.equal(offsets, offset);
        Ok(OwnRun(builder.kept_rows(table, Some(is_own), false)))
    }

    fn cell(&self, builder: &mut TaskBuilder, column: u64) -> HopId {
        let column = builder.int(column);
        let cell = builder.columns(self.0, column, column);
        builder.only_cell(cell)
    }
}

/// What of each stripe's run of cells belongs to which rows of the result.
#[derive(Debug, PartialEq)]
struct Runs {
    of_stripes: Vec<Run>,
    /// Cells in a row of the result.
    width: u64,
    /// Cells in all heads.
    heads: u64,
}

#[derive(Debug, PartialEq)]
struct Run {
    row_offset: u64,
    cells: u64,
    /// Cells of a row that begins in a stripe above.
    head: u64,
    /// Rows of the result that begin here.
    owned: u64,
    /// Cells in the heads up to this one; the next ones end the last row that begins here.
    heads_before: u64,
}

impl Runs {
    /// From the row offsets and heights of stripes, in their order.
    fn of(bounds: &MatrixBlock, cols: u64, width: u64) -> Self {
        let mut heads = 0;
        let of_stripes = (0..bounds.rows())
            .map(|stripe| {
                let bound = |column| bounds.get(stripe, column) as u64;
                let (row_offset, cells) = (bound(0), bound(1) * cols);
                let from = row_offset * cols;
                let until = from + cells;
                let first = from.div_ceil(width);
                let head = (first * width).min(until) - from;
                heads += head;
                Run {
                    row_offset,
                    cells,
                    head,
                    owned: until.div_ceil(width).saturating_sub(first),
                    heads_before: heads,
                }
            })
            .collect();
        Runs {
            of_stripes,
            width,
            heads,
        }
    }

    /// Whether heads may go through the driver. A stripe that is put in a row must be able to be sparse.
    fn fit(&self, through_driver: u64) -> bool {
        let bytes = self.heads.saturating_add(self.width).saturating_mul(8);
        let most = self.of_stripes.iter().map(|run| run.cells).max();
        let in_a_row = most.unwrap_or(0).saturating_add(self.width);
        let table = self.of_stripes.len().saturating_mul(COLUMNS * 8) as u64;
        self.heads == 0 || (bytes.max(table) <= through_driver && i32::try_from(in_a_row).is_ok())
    }

    fn all_own_rows(&self) -> bool {
        self.of_stripes.iter().all(|run| run.owned > 0)
    }

    /// A row for each stripe: its row offset, and the ranges of cells that its task takes.
    fn table(&self) -> Result<MatrixBlock> {
        let mut cells = memory::room(self.of_stripes.len() * COLUMNS)?;
        for run in &self.of_stripes {
            // A stripe in which no row begins makes one all the same, to drop it: ranges are not empty.
            let made = run.owned.max(1);
            let row: [u64; COLUMNS] = [
                run.row_offset,
                run.head,
                (run.head + 1).min(run.cells),
                run.head + 1,
                run.head + made * self.width,
                run.heads_before + 1,
                run.heads_before + self.width,
                made,
                run.owned,
            ];
            cells.extend(row.map(|cell| cell as f64));
        }
        MatrixBlock::dense(self.of_stripes.len(), COLUMNS, cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(heights: &[u64], cols: u64, width: u64) -> Runs {
        let mut above = 0;
        let mut cells = Vec::new();
        for height in heights {
            cells.extend([above as f64, *height as f64]);
            above += height;
        }
        let bounds = MatrixBlock::dense(heights.len(), 2, cells).expect("two for each");
        Runs::of(&bounds, cols, width)
    }

    fn parts(runs: &Runs) -> Vec<(u64, u64, u64)> {
        let parts = runs.of_stripes.iter();
        parts
            .map(|run| (run.head, run.owned, run.heads_before))
            .collect()
    }

    #[test]
    fn a_row_belongs_to_the_stripe_in_which_it_begins() {
        // Cells 0..6, 6..8, 8..12 in rows of 4: the second row begins in the first stripe.
        let split = runs(&[3, 1, 2], 2, 4);
        assert_eq!(parts(&split), [(0, 2, 0), (2, 0, 2), (0, 1, 2)]);
        assert_eq!(split.heads, 2);
        assert!(!split.all_own_rows());
        // One row of all cells.
        let one = runs(&[2, 2, 2], 2, 12);
        assert_eq!(parts(&one), [(0, 1, 0), (4, 0, 4), (4, 0, 8)]);
        let aligned = runs(&[2, 2, 2], 2, 4);
        assert_eq!(parts(&aligned), [(0, 1, 0), (0, 1, 0), (0, 1, 0)]);
    }

    #[test]
    fn heads_beyond_the_budget_do_not_fit() {
        let one = runs(&[2, 2, 2], 2, 12);
        assert!(one.fit((8 + 12) * 8 + 3 * 9 * 8));
        assert!(!one.fit((8 + 12) * 8 - 1));
        assert!(runs(&[2, 2, 2], 2, 4).fit(0));
        // In one row, a stripe of more cells could not be sparse.
        assert!(!runs(&[1 << 20, 1 << 20], 1 << 12, 3).fit(u64::MAX));
    }
}
