//! Products with a table that is never made: its pairs say which rows of the other operand go where.
//!
//! The table is that of a sequence 1, 2, ... and categories, a one-hot encoding. Its product is a sum of rows by category,
//! or a choice of rows. Cells are added in the order of [`super::matmult`], so that results are the same bits.

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{
    elementwise::Operand,
    matmult::{is_finite, reduce_rows},
    table::{TablePairs, TableShape, counts, same_shape},
};
use crate::{
    DenseMatrix, Interrupt, Layout, MatrixBlock,
    memory::zeros,
    parallel::{TASK_CELLS, cells, dense_by_rows, row_tasks},
};

/// A table as the left operand of a product: as [`super::table()`] takes it.
pub struct TableFactor<'a> {
    pub a: Operand<'a>,
    pub b: Operand<'a>,
    pub weights: Operand<'a>,
    pub dims: Option<(usize, usize)>,
    /// Whether the product is with the transpose of the table.
    pub is_transposed: bool,
}

/// The product of a table and a matrix; `None` where it takes the table itself: neither A nor B counts 1, 2, ..., the table
/// is wrong, dense or ultra-sparse, or the matrix is sparse, not finite or of another size.
///
/// # Errors
/// `memory`; `interrupted`.
pub fn table_product(table: &TableFactor, right: &MatrixBlock) -> Result<Option<MatrixBlock>> {
    // Zeros that are skipped must not meet NaN or an infinity.
    if right.layout() != Layout::Dense || !is_finite(right) {
        return Ok(None);
    }
    // Who makes the table finds what is wrong with it.
    let Ok(columns) = same_shape([table.a, table.b, table.weights]) else {
        return Ok(None);
    };
    let [a, b] = [&columns[0], &columns[1]].map(|column| column.cells());
    let is_by_row = counts(a);
    if !is_by_row && !counts(b) {
        return Ok(None);
    }
    let Ok((pairs, shape)) = TablePairs::of(&columns, table.dims) else {
        return Ok(None);
    };
    let layout = Layout::best(shape.rows, shape.cols, shape.kept);
    let depth = match table.is_transposed {
        true => shape.rows,
        false => shape.cols,
    };
    if !shape.is_gathered() || layout != Layout::Csr || depth != right.rows() {
        return Ok(None);
    }
    let product = PairProduct {
        right: &right.to_dense()?,
        pairs,
        shape,
        is_transposed: table.is_transposed,
    };
    match (is_by_row, table.is_transposed) {
        (true, true) => product.reduced(),
        (false, false) => product.summed(),
        _ => product.chosen(),
    }
    .map(Some)
}

struct PairProduct<'a> {
    pairs: TablePairs<'a>,
    shape: TableShape,
    right: &'a DenseMatrix,
    is_transposed: bool,
}

impl PairProduct<'_> {
    /// Each row of the right matrix goes to the row of its category, in partial results.
    fn reduced(&self) -> Result<MatrixBlock> {
        let (rows, width) = (self.shape.rows, self.right.cols());
        let per_row = self.shape.kept / rows.max(1) * width + 1;
        reduce_rows(rows, self.shape.cols, width, per_row, |task, out| {
            self.add(self.pairs_of(task), 0, out)
        })
    }

    /// Likewise, but in one sum: threads have rows of the result.
    fn summed(&self) -> Result<MatrixBlock> {
        let (rows, width) = (self.shape.rows, self.right.cols());
        let mut values = zeros(cells(rows, width)?)?;
        let own_rows = rows.div_ceil(rayon::current_num_threads()).max(1);
        let interrupt = Interrupt::current();
        let parts = values.par_chunks_mut(own_rows * width.max(1)).enumerate();
        parts.try_for_each(|(part, out)| {
            out.fill(self.start());
            for task in row_tasks(self.shape.length, TASK_CELLS) {
                interrupt.check()?;
                self.add(task, part * own_rows, out)?;
            }
            Ok(())
        })?;
        MatrixBlock::dense(rows, width, values)
    }

    /// Each row is that of a category, times a weight.
    fn chosen(&self) -> Result<MatrixBlock> {
        let (width, start) = (self.right.cols(), self.start());
        let rows = match self.is_transposed {
            true => self.shape.cols,
            false => self.shape.rows,
        };
        // Rows are found anywhere.
        const AWAY: usize = 16;
        let chosen = dense_by_rows(rows, width, width + AWAY, |task, out| {
            out.fill(start);
            let first = task.start;
            // It can't fail: all pairs were looked at.
            let _ = self.add(self.pairs_of(task), first, out);
        })?;
        Ok(MatrixBlock::Dense(chosen))
    }

    /// Where the sum of a cell starts, as in [`super::matmult`]: those of a vector are summed by the library.
    fn start(&self) -> f64 {
        match (self.is_transposed, self.right.cols()) {
            (false, 1) => std::iter::empty::<f64>().sum(),
            _ => 0.0,
        }
    }

    /// Of some rows or columns of the table, which has others after the last pair.
    fn pairs_of(&self, task: Range<usize>) -> Range<usize> {
        let length = self.shape.length;
        task.start.min(length)..task.end.min(length)
    }

    /// Adds what pairs give to these rows of the result, of which `first` is the first. Others are passed over.
    fn add(&self, pairs: Range<usize>, first: usize, out: &mut [f64]) -> Result<()> {
        match self.right.cols() {
            0 => Ok(()),
            1 => self.add_rows::<1>(pairs, first, out),
            2 => self.add_rows::<2>(pairs, first, out),
            3 => self.add_rows::<3>(pairs, first, out),
            4 => self.add_rows::<4>(pairs, first, out),
            8 => self.add_rows::<8>(pairs, first, out),
            _ => self.add_rows::<0>(pairs, first, out),
        }
    }

    /// With a `WIDTH` of 0, the width is what it is.
    fn add_rows<const WIDTH: usize>(
        &self,
        pairs: Range<usize>,
        first: usize,
        out: &mut [f64],
    ) -> Result<()> {
        let width = match WIDTH {
            0 => self.right.cols(),
            known => known,
        };
        let cells = self.right.values();
        self.pairs.each(pairs, |row, col, weight| {
            let (row, depth) = match self.is_transposed {
                true => (col, row),
                false => (row, col),
            };
            let at = row.wrapping_sub(first).wrapping_mul(width);
            let to = out.get_mut(at..at.wrapping_add(width));
            let from = cells.get(depth * width..(depth + 1) * width);
            if let (Some(to), Some(from)) = (to, from) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to += weight * from;
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{chance::Random, matmult, table, transposed_matmult},
        *,
    };

    fn matrix(rows: usize, cols: usize, cell: impl FnMut() -> f64) -> MatrixBlock {
        let cells = std::iter::repeat_with(cell).take(rows * cols).collect();
        MatrixBlock::dense(rows, cols, cells).unwrap()
    }

    fn bits(matrix: &MatrixBlock) -> Vec<u64> {
        let dense = matrix.to_dense().unwrap();
        dense.values().iter().map(|cell| cell.to_bits()).collect()
    }

    /// Whether no table was made.
    fn check(table_factor: &TableFactor, right: &MatrixBlock) -> bool {
        let TableFactor {
            a,
            b,
            weights,
            dims,
            is_transposed,
        } = *table_factor;
        let found = table_product(table_factor, right).unwrap();
        let made = table(a, b, weights, dims).and_then(|table| match is_transposed {
            true => transposed_matmult(&table, right),
            false => matmult(&table, right),
        });
        if let Some(found) = &found {
            let made = made.unwrap();
            assert_eq!((found.rows(), found.cols()), (made.rows(), made.cols()));
            assert_eq!(found.layout(), made.layout());
            assert!(bits(found) == bits(&made));
        }
        found.is_some()
    }

    /// How many of the products were made without a table.
    fn check_all(
        length: usize,
        groups: usize,
        width: usize,
        label: impl Fn(&mut Random) -> f64,
    ) -> usize {
        let mut random = Random((length * 31 + groups * 7 + width) as u64);
        let counting = MatrixBlock::dense(length, 1, (1..=length).map(|at| at as f64).collect());
        let counting = counting.unwrap();
        let labels = matrix(length, 1, || label(&mut random));
        let weights = matrix(length, 1, || random.below(1000) as f64 / 7.0 - 50.0);
        let mut without = 0;
        for (dims, most) in [
            (None, groups),
            (Some(groups), groups),
            (Some(groups / 2 + 2), groups / 2 + 2),
        ] {
            for weights in [
                Operand::Scalar(1.0),
                Operand::Scalar(-0.1),
                Operand::Matrix(&weights),
            ] {
                for (more, is_by_row, is_transposed) in [
                    (0, true, true),
                    (0, true, false),
                    (0, false, true),
                    (0, false, false),
                    (7, true, true),
                    (7, false, false),
                ] {
                    let rows = length + if dims.is_some() { more } else { 0 };
                    let (a, b) = match is_by_row {
                        true => (&counting, &labels),
                        false => (&labels, &counting),
                    };
                    let dims = dims.map(|_| match is_by_row {
                        true => (rows, most),
                        false => (most, rows),
                    });
                    let depth = match is_by_row == is_transposed {
                        true => rows,
                        false => most,
                    };
                    let right = matrix(depth, width, || match random.below(5) {
                        0 => -0.0,
                        _ => random.below(1000) as f64 / 3.0 - 100.0,
                    });
                    let factor = TableFactor {
                        a: Operand::Matrix(a),
                        b: Operand::Matrix(b),
                        weights,
                        dims,
                        is_transposed,
                    };
                    without += usize::from(check(&factor, &right));
                }
            }
        }
        without
    }

    #[test]
    fn products_are_those_with_the_table_on_any_number_of_threads() {
        let mut without = 0;
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let mut check = |length: usize, groups: usize, width: usize| {
                    let last = length.min(groups) as f64;
                    let label = |random: &mut Random| match random.below(40) {
                        0 => last,
                        _ => 1.0 + random.below(groups as u64 * 3) as f64 / 3.0,
                    };
                    without += check_all(length, groups, width, label);
                    let some_are_nan = |random: &mut Random| match random.below(3) {
                        0 => f64::NAN,
                        _ => label(random),
                    };
                    without += check_all(length, groups, width, some_are_nan);
                };
                for length in [0, 1, 2, 63, 127, 1021] {
                    for width in [0, 1, 2, 3, 4, 5, 8, 19] {
                        for groups in [1, 5, 40] {
                            check(length, groups, width);
                        }
                    }
                }
                // More than a task.
                check(20_011, 40, 4);
                check(20_011, 40, 19);
                check(70_001, 40, 1);
            });
        }
        assert!(without > 2000, "{without}");
    }

    #[test]
    fn the_table_is_asked_for_where_zeros_or_labels_matter() {
        let length = 500;
        let counting = |from: usize| {
            let cells = (from..from + length).map(|at| at as f64).collect();
            MatrixBlock::dense(length, 1, cells).unwrap()
        };
        let labels = |first: f64| {
            let mut at = 0;
            matrix(length, 1, || {
                at += 1;
                if at == 1 {
                    first
                } else {
                    1.0 + (at % 20) as f64
                }
            })
        };
        let right = |first: f64| {
            let mut at = 0;
            matrix(length, 3, || {
                at += 1;
                if at == 1 { first } else { at as f64 }
            })
        };
        let is_without = |a: &MatrixBlock, b: &MatrixBlock, right: &MatrixBlock| {
            check(
                &TableFactor {
                    a: Operand::Matrix(a),
                    b: Operand::Matrix(b),
                    weights: Operand::Scalar(1.0),
                    dims: None,
                    is_transposed: true,
                },
                right,
            )
        };
        let (from_one, good) = (counting(1), labels(3.0));
        assert!(is_without(&from_one, &good, &right(1.0)));
        assert!(!is_without(&from_one, &good, &right(f64::NAN)));
        assert!(!is_without(&from_one, &good, &right(f64::INFINITY)));
        assert!(!is_without(&from_one, &labels(0.5), &right(1.0)));
        assert!(!is_without(&from_one, &labels(1e30), &right(1.0)));
        assert!(!is_without(&counting(2), &good, &right(1.0)));
        let sparse = matrix(length, 3, || 0.0).in_layout(Layout::Csr).unwrap();
        assert!(!is_without(&from_one, &good, &sparse));
        let shorter = right(1.0).in_layout(Layout::Dense).unwrap();
        let shorter = super::super::take_rows(&shorter, length - 1, |row| row).unwrap();
        assert!(!is_without(&from_one, &good, &shorter));
    }
}
