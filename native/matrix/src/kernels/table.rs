//! Contingency tables.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::{elementwise::Operand, results::settle};
use crate::{
    CoordinateMatrix, CsrMatrix, DenseMatrix, Extent, Interrupt, MatrixBlock,
    memory::{self, zeros},
    parallel::{TASK_CELLS, cells, extent_of_cells, reduction_tasks, row_tasks, two_by_parts},
    vector_math::Cells,
};

/// Added before a double becomes an index, so that values just below 1 and 2 go up.
const INDEX_EPSILON: f64 = 1.1102230246251565e-16;

/// `table(a, b, weights)`: F with `F[a_i, b_i] += weights_i`, cell by cell of matrices of equal shape, or of
/// vectors of equal length, rows or columns. Pairs with a NaN are skipped. Without `dims` the result is as large as the largest indices; with them, pairs
/// outside are dropped. One row per row of a one-hot encoding makes a sparse result.
///
/// # Errors
/// `dimension` when the shapes differ, `runtime` for an index below 1.
pub fn table(
    a: Operand,
    b: Operand,
    weights: Operand,
    dims: Option<(usize, usize)>,
) -> Result<MatrixBlock> {
    let columns = same_shape([a, b, weights])?;
    let (pairs, shape) = TablePairs::of(&columns, dims)?;
    let TableShape {
        rows,
        cols,
        kept,
        length,
    } = shape;
    if !shape.is_gathered() {
        let values = match pairs.weights {
            Cells::Same(weight) if is_exact(weight, kept) => {
                pairs.counted(length, rows, cols, weight)?
            }
            _ => pairs.summed(length, rows, cols)?,
        };
        return MatrixBlock::dense(rows, cols, values)?.in_best_layout();
    }
    if pairs.all_count && counts(pairs.a) {
        return settle(pairs.one_a_row(length, rows, cols)?);
    }
    let mut entries = memory::room(kept)?;
    pairs.each(0..length, |row, col, weight| {
        entries.push((row, col, weight))
    })?;
    sparse(rows, cols, entries)
}

/// Whether sums of up to so many of these weights are not rounded, in whatever order.
fn is_exact(weight: f64, count: usize) -> bool {
    const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    weight.fract() == 0.0 && weight.abs() * count as f64 <= EXACT
}

/// The cells of which a table is made.
pub(super) struct TablePairs<'a> {
    a: Cells<'a>,
    b: Cells<'a>,
    weights: Cells<'a>,
    dims: Option<(usize, usize)>,
    /// No pair has to be looked at: none has NaN, and all indices are within `dims`.
    all_count: bool,
}

/// What is known of a table before it is made.
#[derive(Clone, Copy)]
pub(super) struct TableShape {
    pub rows: usize,
    pub cols: usize,
    /// The pairs that count.
    pub kept: usize,
    /// All pairs.
    pub length: usize,
}

impl TableShape {
    /// Whether the table is made of its entries: cell by cell where that is small beside them.
    pub fn is_gathered(&self) -> bool {
        let cells = cells(self.rows, self.cols);
        let is_small = cells.is_ok_and(|cells| cells <= self.kept.saturating_mul(4));
        !is_small && self.cols > 1 && i32::try_from(self.cols).is_ok()
    }
}

/// Pairs that are visited together.
const TILE: usize = 512;

/// The largest indices, from 1, and how many pairs count.
#[derive(Clone, Copy, Default)]
struct Survey {
    rows: usize,
    cols: usize,
    kept: usize,
}

impl<'a> TablePairs<'a> {
    /// The pairs of these columns, and what table they make.
    ///
    /// # Errors
    /// Of the first pair that is wrong.
    pub fn of(
        columns: &'a [TableOperand; 3],
        dims: Option<(usize, usize)>,
    ) -> Result<(Self, TableShape)> {
        let [a, b, weights] = columns.each_ref().map(TableOperand::cells);
        let mut pairs = TablePairs {
            a,
            b,
            weights,
            dims,
            all_count: false,
        };
        let length = (columns.iter()).find_map(TableOperand::length).unwrap_or(1);
        let extents = columns.each_ref().map(|column| column.extent);
        let survey = pairs.by_extents(extents, length);
        pairs.all_count = survey.is_some();
        let Survey { rows, cols, kept } = survey.map_or_else(|| pairs.survey(length), Ok)?;
        let (rows, cols) = dims.unwrap_or((rows, cols));
        let shape = TableShape {
            rows,
            cols,
            kept,
            length,
        };
        Ok((pairs, shape))
    }

    /// Visits the pairs of a range that count, with indices from 0.
    #[inline(always)]
    pub fn each(
        &self,
        range: Range<usize>,
        mut visit: impl FnMut(usize, usize, f64),
    ) -> Result<()> {
        if self.all_count {
            let (mut rows, mut cols, mut weights) = ([0; TILE], [0; TILE], [0.0; TILE]);
            for from in range.clone().step_by(TILE) {
                let tile = from..range.end.min(from + TILE);
                let length = tile.len();
                each_cell(self.a, &tile, &mut rows, |cell| floor(cell) - 1);
                each_cell(self.b, &tile, &mut cols, |cell| floor(cell) - 1);
                each_cell(self.weights, &tile, &mut weights, |cell| cell);
                let places = rows[..length].iter().zip(&cols[..length]);
                for ((row, col), weight) in places.zip(&weights[..length]) {
                    visit(*row, *col, *weight);
                }
            }
            return Ok(());
        }
        for index in range {
            let (a, b) = (self.a.at(index), self.b.at(index));
            let weight = self.weights.at(index);
            if a.is_nan() || b.is_nan() || weight.is_nan() {
                continue;
            }
            let (row, col) = (category(a)?, category(b)?);
            match self.dims {
                Some((rows, cols)) if row > rows || col > cols => {}
                _ => visit(row - 1, col - 1, weight),
            }
        }
        Ok(())
    }

    /// What [`TablePairs::survey`] finds, if the extents of the cells show that all pairs count.
    fn by_extents(&self, extents: [Extent; 3], length: usize) -> Option<Survey> {
        let [a, b, _] = extents;
        if length == 0 || extents.iter().any(|extent| extent.has_nan) {
            return None;
        }
        let most = |extent: Extent| {
            category(extent.least).ok()?;
            category(extent.greatest).ok()
        };
        let (rows, cols) = (most(a)?, most(b)?);
        let is_within = |(most_rows, most_cols)| rows <= most_rows && cols <= most_cols;
        self.dims.is_none_or(is_within).then_some(Survey {
            rows,
            cols,
            kept: length,
        })
    }

    /// # Errors
    /// Of the first pair that is wrong.
    fn survey(&self, length: usize) -> Result<Survey> {
        let interrupt = Interrupt::current();
        let parts = row_tasks(length, TASK_CELLS).into_par_iter().map(|task| {
            interrupt.check()?;
            let mut survey = Survey::default();
            self.each(task, |row, col, _| {
                survey.rows = survey.rows.max(row + 1);
                survey.cols = survey.cols.max(col + 1);
                survey.kept += 1;
            })?;
            Ok(survey)
        });
        let parts: Vec<Result<Survey>> = parts.collect();
        parts.into_iter().try_fold(Survey::default(), |all, part| {
            let part = part?;
            Ok(Survey {
                rows: all.rows.max(part.rows),
                cols: all.cols.max(part.cols),
                kept: all.kept + part.kept,
            })
        })
    }

    /// A table of a pair in each row, in their order, and of empty rows after them.
    fn one_a_row(&self, length: usize, rows: usize, cols: usize) -> Result<CsrMatrix> {
        let row_pointers = (0..rows + 1).map(|row| row.min(length) as i64);
        let row_pointers = memory::collected(row_pointers)?;
        let tasks = row_tasks(length, TASK_CELLS);
        let lengths: Vec<usize> = tasks.iter().map(Range::len).collect();
        let (indices, values) = two_by_parts(length, &lengths, |part, indices, values| {
            let task = &tasks[part];
            each_cell(self.b, task, indices, |cell| floor(cell) as i32 - 1);
            each_cell(self.weights, task, values, |cell| cell);
            Ok(())
        })?;
        CsrMatrix::new(rows, cols, row_pointers, indices, values)
    }

    /// The cells of a dense table: how many pairs each has, times a weight.
    fn counted(&self, length: usize, rows: usize, cols: usize, weight: f64) -> Result<Vec<f64>> {
        let size = cells(rows, cols)?;
        // Tables are small beside the pairs, or there is one.
        const TABLES_SHARE: usize = 4;
        let mut tasks = reduction_tasks(length, 1);
        if tasks.len().saturating_mul(size) > length / TABLES_SHARE {
            tasks = row_tasks(length, length);
        }
        let interrupt = Interrupt::current();
        let tables = tasks.into_par_iter().map(|task| {
            let mut counts = memory::zeros_of::<usize>(size)?;
            for from in task.clone().step_by(TASK_CELLS) {
                interrupt.check()?;
                let chunk = from..task.end.min(from + TASK_CELLS);
                self.each(chunk, |row, col, _| counts[row * cols + col] += 1)?;
            }
            Ok(counts)
        });
        let tables = tables.collect::<Result<Vec<Vec<usize>>>>()?;
        let mut values = zeros(size)?;
        for (place, value) in values.iter_mut().enumerate() {
            let count: usize = tables.iter().map(|counts| counts[place]).sum();
            // No pairs give 0 for a negative weight, too.
            *value = count as f64 * weight + 0.0;
        }
        Ok(values)
    }

    /// The cells of a dense table: the weights of the pairs of each, added in their order.
    fn summed(&self, length: usize, rows: usize, cols: usize) -> Result<Vec<f64>> {
        let mut values = zeros(cells(rows, cols)?)?;
        let interrupt = Interrupt::current();
        for task in row_tasks(length, TASK_CELLS) {
            interrupt.check()?;
            self.each(task, |row, col, weight| values[row * cols + col] += weight)?;
        }
        Ok(values)
    }
}

/// Whether the cells are 1, 2, and so on.
pub(super) fn counts(cells: Cells) -> bool {
    let Cells::Each(cells) = cells else {
        return false;
    };
    // Most that do not count show it at the ends.
    if cells.first() != Some(&1.0) || cells.last() != Some(&(cells.len() as f64)) {
        return false;
    }
    let parts = cells.par_chunks(TASK_CELLS).enumerate();
    parts.all(|(part, cells)| {
        let first = part * TASK_CELLS + 1;
        let numbered = cells.iter().enumerate();
        numbered.fold(true, |all, (at, cell)| all & (*cell == (first + at) as f64))
    })
}

/// A number as an index from 1.
#[inline(always)]
fn category(value: f64) -> Result<usize> {
    const MOST: f64 = isize::MAX as f64 / 16.0;
    match (1.0..=MOST).contains(&(value + INDEX_EPSILON)) {
        true => Ok(floor(value)),
        false => Err(no_category(value)),
    }
}

/// A category as an integer.
#[inline(always)]
fn floor(value: f64) -> usize {
    // Of what is at least 1, the integer is the floor. Processors have an instruction for signed integers.
    (value + INDEX_EPSILON) as i64 as usize
}

/// What is made of the cells of a range.
#[inline(always)]
fn each_cell<T>(cells: Cells, range: &Range<usize>, out: &mut [T], of: impl Fn(f64) -> T) {
    match cells {
        Cells::Each(cells) => {
            for (out, cell) in out.iter_mut().zip(&cells[range.clone()]) {
                *out = of(*cell);
            }
        }
        Cells::Same(cell) => out.iter_mut().for_each(|out| *out = of(cell)),
    }
}

#[cold]
fn no_category(value: f64) -> Error {
    match value < 1.0 {
        true => Error::runtime(format!("table needs categories from 1 on, not {value}")),
        false => Error::memory(format!(
            "a table with category {value} is larger than memory can be"
        )),
    }
}

/// Sums entries that share a cell, in their order.
fn sparse(rows: usize, cols: usize, mut entries: Vec<(usize, usize, f64)>) -> Result<MatrixBlock> {
    if !entries.is_sorted_by_key(|(row, col, _)| (*row, *col)) {
        Interrupt::unwinding(|interrupt| {
            entries.sort_by_key(interrupt.key(|(row, col, _): &(usize, usize, f64)| (*row, *col)));
        })?;
    }
    let mut row_indices = Vec::<i64>::new();
    let (mut indices, mut values) = (Vec::<i32>::new(), Vec::<f64>::new());
    for (row, col, weight) in entries {
        let place = (Some(&(row as i64)), Some(&(col as i32)));
        match values.last_mut() {
            Some(value) if (row_indices.last(), indices.last()) == place => *value += weight,
            _ => {
                row_indices.push(row as i64);
                indices.push(col as i32);
                values.push(weight);
            }
        }
    }
    CoordinateMatrix::new(rows, cols, row_indices, indices, values).and_then(settle)
}

/// An operand with all its cells.
pub(super) struct TableOperand {
    cells: OperandCells,
    extent: Extent,
}

enum OperandCells {
    Matrix(DenseMatrix),
    Same(f64),
}

impl TableOperand {
    fn length(&self) -> Option<usize> {
        match &self.cells {
            OperandCells::Matrix(matrix) => Some(matrix.values().len()),
            OperandCells::Same(_) => None,
        }
    }

    /// In row-major order.
    pub fn cells(&self) -> Cells<'_> {
        match &self.cells {
            OperandCells::Matrix(matrix) => Cells::Each(matrix.values()),
            OperandCells::Same(value) => Cells::Same(*value),
        }
    }
}

pub(super) fn same_shape(operands: [Operand; 3]) -> Result<[TableOperand; 3]> {
    let mut shape = None;
    for operand in operands {
        if let Operand::Matrix(matrix) = operand {
            let this = (matrix.rows(), matrix.cols());
            let (rows, cols) = *shape.get_or_insert(this);
            let are_vectors = (rows == 1 || cols == 1) && (this.0 == 1 || this.1 == 1);
            if (rows, cols) != this && !(are_vectors && rows * cols == this.0 * this.1) {
                return Err(Error::dimension(format!(
                    "table needs matrices of one shape, not {rows} x {cols} and {} x {}",
                    this.0, this.1
                )));
            }
        }
    }
    let [a, b, weights] = operands.map(|operand| {
        Ok(match operand {
            Operand::Matrix(matrix) => TableOperand {
                cells: OperandCells::Matrix(matrix.to_dense()?),
                extent: matrix.extent_by(extent_of_cells),
            },
            Operand::Scalar(value) => TableOperand {
                cells: OperandCells::Same(value),
                extent: Extent::of(value),
            },
        })
    });
    Ok([a?, b?, weights?])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{super::chance::Random, *};

    fn vector(cells: &[f64]) -> MatrixBlock {
        MatrixBlock::dense(cells.len(), 1, cells.to_vec()).unwrap()
    }

    /// The sums by a loop, of the pairs that count.
    fn reference(
        a: &[f64],
        b: &[f64],
        weights: &[f64],
        dims: Option<(usize, usize)>,
    ) -> BTreeMap<(usize, usize), f64> {
        let mut sums = BTreeMap::new();
        for ((a, b), weight) in a.iter().zip(b).zip(weights) {
            if a.is_nan() || b.is_nan() || weight.is_nan() {
                continue;
            }
            let (row, col) = (a.floor() as usize, b.floor() as usize);
            if dims.is_none_or(|(rows, cols)| row <= rows && col <= cols) {
                *sums.entry((row - 1, col - 1)).or_insert(0.0) += weight;
            }
        }
        sums
    }

    /// Cells of some kinds: all of them count, or some do not.
    fn columns(length: usize, with_nan: bool) -> [Vec<f64>; 3] {
        let mut random = Random(length as u64);
        [60, 4, 1000].map(|limit| {
            let mut cell = || match (with_nan, random.below(9)) {
                (true, 0) => f64::NAN,
                _ => 1.0 + random.below(limit) as f64 / 3.0,
            };
            (0..length).map(|_| cell()).collect()
        })
    }

    fn check(length: usize) {
        for with_nan in [false, true] {
            let [a, b, weights] = columns(length, with_nan);
            for (b, weights) in [
                (vec![1.0; length], vec![1.0; length]),
                (b.clone(), vec![1.0; length]),
                (b.clone(), vec![-3.0; length]),
                (b.clone(), vec![0.1; length]),
                (b.clone(), vec![f64::NAN; length]),
                (b, weights),
            ] {
                for dims in [None, Some((15, 2)), Some((2000, 3)), Some((20, 70_000))] {
                    let expected = reference(&a, &b, &weights, dims);
                    let (a, b_cells, weight_cells) = (vector(&a), vector(&b), vector(&weights));
                    let of = |cells: &[f64]| {
                        let first = cells.first().copied();
                        let same = |first: &f64| {
                            cells.iter().all(|cell| cell.to_bits() == first.to_bits())
                        };
                        first.filter(same).map(Operand::Scalar)
                    };
                    let operands = |is_scalar: bool| {
                        let either = |cells: &[f64], matrix| match is_scalar {
                            true => of(cells).unwrap_or(Operand::Matrix(matrix)),
                            false => Operand::Matrix(matrix),
                        };
                        [
                            Operand::Matrix(&a),
                            either(&b, &b_cells),
                            either(&weights, &weight_cells),
                        ]
                    };
                    for is_scalar in [false, true] {
                        let [a, b, weights] = operands(is_scalar);
                        let found = table(a, b, weights, dims).unwrap();
                        let most = |of: fn(&(usize, usize)) -> usize| {
                            expected
                                .keys()
                                .map(|place| of(place) + 1)
                                .max()
                                .unwrap_or(0)
                        };
                        let shape = dims.unwrap_or((most(|place| place.0), most(|place| place.1)));
                        assert_eq!((found.rows(), found.cols()), shape, "{length}");
                        let mut cells = BTreeMap::new();
                        found.for_each_stored(|row, col, cell| {
                            if cell != 0.0 {
                                cells.insert((row, col), cell);
                            } else {
                                assert!(cell.is_sign_positive());
                            }
                        });
                        assert!(
                            cells == expected,
                            "{length} {with_nan} {dims:?} {is_scalar}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn tables_are_those_of_a_loop_on_any_number_of_threads() {
        (0..=64).chain([127, 1021]).for_each(check);
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| check(70_001));
        }
    }

    #[test]
    fn a_pair_in_each_row_makes_the_same_table_as_any_order() {
        for length in [30, 500, 100_003] {
            let counting: Vec<f64> = (1..=length).map(|row| row as f64).collect();
            let labels = |row: usize| 1.0 + ((row * 7) % 23) as f64 + (row % 3) as f64 / 3.0;
            let forwards: Vec<f64> = (0..length).map(labels).collect();
            let weights: Vec<f64> = (0..length).map(|row| (row % 5) as f64 - 2.5).collect();
            let reversed = |cells: &[f64]| vector(&cells.iter().rev().copied().collect::<Vec<_>>());
            for dims in [None, Some((length, 24)), Some((length + 9, 40))] {
                for weighted in [true, false] {
                    let of = |a: &MatrixBlock, b: &MatrixBlock, weights: &MatrixBlock| {
                        let weights = match weighted {
                            true => Operand::Matrix(weights),
                            false => Operand::Scalar(0.5),
                        };
                        table(Operand::Matrix(a), Operand::Matrix(b), weights, dims).unwrap()
                    };
                    let found = of(&vector(&counting), &vector(&forwards), &vector(&weights));
                    let others = [&counting, &forwards, &weights].map(|cells| reversed(cells));
                    assert_eq!(found, of(&others[0], &others[1], &others[2]), "{length}");
                }
            }
        }
    }

    #[test]
    fn the_first_wrong_category_is_named() {
        let mut cells = vec![1.0; 200_000];
        cells[70_000..].fill(-1.0);
        cells[69_000] = 0.5;
        cells[3] = 0.9999999999999999;
        let refusal = |cells: &[f64], dims| {
            let one = Operand::Scalar(1.0);
            let table = table(Operand::Matrix(&vector(cells)), one, one, dims);
            table.unwrap_err().message().to_owned()
        };
        for dims in [None, Some((1, 1))] {
            let message = refusal(&cells, dims);
            assert_eq!(message, "table needs categories from 1 on, not 0.5");
        }
        let message = refusal(&[1.0, 1e30], None);
        assert!(
            message.ends_with("is larger than memory can be"),
            "{message}"
        );
    }
}
