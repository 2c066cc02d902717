//! Products of sparse matrices, a row at a time: the rows of the right matrix that a row of the left one names, each times
//! its cell, are added up (Gustavson, *Two fast algorithms for sparse matrices*, 1978).
//!
//! A row of many products adds them where a dense row has its cells, and bits say which cells were met. A row of few, or of
//! a matrix that is too wide, sorts its products. Either adds the products of a cell in the order of the left row, so
//! that the bits are the same.

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use crate::{
    CsrMatrix, Interrupt,
    memory::{reserve, zeros, zeros_of},
    parallel::{SparseRows, TASK_CELLS, csr_of_parts},
};

/// At most so many: each may have a dense row.
const MOST_TASKS: usize = 64;
/// A dense row takes 32 MB.
const WIDEST: usize = 1 << 22;
/// Sorting a product takes as long as looking through the bits of so many words.
const WORDS_PER_PRODUCT: usize = 64;

/// `left %*% right`. Zeros are left out.
///
/// # Errors
/// `memory`; `interrupted`.
pub(super) fn sparse_product(left: &CsrMatrix, right: &CsrMatrix) -> Result<CsrMatrix> {
    let products = products_of_rows(left, right)?;
    let interrupt = Interrupt::current();
    let parts = tasks(&products)
        .into_par_iter()
        .map(|rows| {
            let mut sum = RowSum::new(left, right);
            let mut out = SparseRows::for_rows(rows.len())?;
            for row in rows {
                interrupt.check()?;
                sum.append(row, products[row], &mut out)?;
            }
            Ok(out)
        })
        .collect::<Result<Vec<SparseRows>>>()?;
    csr_of_parts(left.rows(), right.cols(), &parts)
}

/// How many products of cells there are for each row.
fn products_of_rows(left: &CsrMatrix, right: &CsrMatrix) -> Result<Vec<usize>> {
    let mut products: Vec<usize> = zeros_of(left.rows())?;
    let counted = products.par_iter_mut().enumerate();
    counted.for_each(|(row, products)| {
        let rows = left.row(row).0.iter();
        *products = rows.map(|row| right.row(*row as usize).0.len()).sum();
    });
    Ok(products)
}

/// Rows cut into tasks of about as many products each.
fn tasks(products: &[usize]) -> Vec<Range<usize>> {
    // A row without products is work, too.
    let work = |row: usize| products[row] + 1;
    let total: usize = (0..products.len()).map(work).sum();
    let most = total.div_ceil(MOST_TASKS).max(TASK_CELLS);
    let (mut tasks, mut from, mut done) = (Vec::new(), 0, 0);
    for row in 0..products.len() {
        done += work(row);
        if done >= most {
            tasks.push(from..row + 1);
            (from, done) = (row + 1, 0);
        }
    }
    if from < products.len() {
        tasks.push(from..products.len());
    }
    tasks
}

/// Adds up rows.
struct RowSum<'a> {
    left: &'a CsrMatrix,
    right: &'a CsrMatrix,
    /// Once a row has needed it.
    dense: Option<DenseSum>,
    products: Vec<Product>,
}

/// A product of two cells.
struct Product {
    /// The column, and then the place among the row's products.
    key: (i32, usize),
    value: f64,
}

impl<'a> RowSum<'a> {
    fn new(left: &'a CsrMatrix, right: &'a CsrMatrix) -> Self {
        RowSum {
            left,
            right,
            dense: None,
            products: Vec::new(),
        }
    }

    /// Appends a row of so many products to the result.
    fn append(&mut self, row: usize, products: usize, out: &mut SparseRows) -> Result<()> {
        let cols = self.right.cols();
        out.reserve(products.min(cols))?;
        let is_worth_a_look = products.saturating_mul(WORDS_PER_PRODUCT) >= cols / DenseSum::WORD;
        match cols <= WIDEST && is_worth_a_look {
            true => {
                let sum = match &mut self.dense {
                    Some(sum) => sum,
                    none => none.insert(DenseSum::new(cols)?),
                };
                let (rows, cells) = self.left.row(row);
                for (row, cell) in rows.iter().zip(cells) {
                    let (cols, values) = self.right.row(*row as usize);
                    sum.add(*cell, cols, values);
                }
                sum.take(out);
            }
            false => self.append_sorted(row, products, out)?,
        }
        out.end_row();
        Ok(())
    }

    fn append_sorted(&mut self, row: usize, products: usize, out: &mut SparseRows) -> Result<()> {
        self.products.clear();
        reserve(&mut self.products, products)?;
        let (rows, cells) = self.left.row(row);
        for (row, cell) in rows.iter().zip(cells) {
            let (cols, values) = self.right.row(*row as usize);
            let place = self.products.len();
            let products = cols.iter().zip(values).enumerate();
            self.products
                .extend(products.map(|(at, (col, value))| Product {
                    key: (*col, place + at),
                    value: cell * value,
                }));
        }
        self.products.sort_unstable_by_key(|product| product.key);
        let same_column = |x: &Product, y: &Product| x.key.0 == y.key.0;
        for products in self.products.chunk_by(same_column) {
            let sum = products
                .iter()
                .fold(0.0, |sum, product| sum + product.value);
            out.push(products[0].key.0 as usize, sum);
        }
        Ok(())
    }
}

/// The sum of sparse rows, as a dense row.
struct DenseSum {
    cells: Vec<f64>,
    /// A bit for each cell: whether something was added.
    met: Vec<u64>,
}

impl DenseSum {
    const WORD: usize = u64::BITS as usize;

    fn new(cols: usize) -> Result<Self> {
        Ok(DenseSum {
            cells: zeros(cols)?,
            met: zeros_of(cols.div_ceil(Self::WORD))?,
        })
    }

    fn add(&mut self, scale: f64, cols: &[i32], values: &[f64]) {
        for (col, value) in cols.iter().zip(values) {
            let col = *col as usize;
            self.cells[col] += scale * value;
            self.met[col / Self::WORD] |= 1 << (col % Self::WORD);
        }
    }

    /// Appends the cells that were met, and is zero again.
    fn take(&mut self, out: &mut SparseRows) {
        for (number, word) in self.met.iter_mut().enumerate() {
            let mut left = std::mem::take(word);
            while left != 0 {
                let col = number * Self::WORD + left.trailing_zeros() as usize;
                out.push(col, std::mem::take(&mut self.cells[col]));
                left &= left - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fulgurite_error::ErrorKind;

    use super::*;

    /// A matrix of `per_row` cells a row, more or less, in columns that repeat across rows.
    fn matrix(rows: usize, cols: usize, per_row: usize, seed: usize) -> CsrMatrix {
        let (mut pointers, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
        for row in 0..rows {
            let count = (row * 7 + seed) % (2 * per_row + 1);
            let place = |at: usize| (at * at * 31 + row * 17 + seed) * 7919 % cols;
            let cells: BTreeMap<usize, f64> = (0..count)
                .map(|at| (place(at), ((at + row * 3 + seed) as f64 * 0.37).sin()))
                .collect();
            indices.extend(cells.keys().map(|col| *col as i32));
            values.extend(cells.values());
            pointers.push(values.len() as i64);
        }
        CsrMatrix::new(rows, cols, pointers, indices, values).expect("columns ascend")
    }

    /// Each cell's products, one after the other.
    fn expected(left: &CsrMatrix, right: &CsrMatrix) -> Vec<Vec<(i32, u64)>> {
        let row = |row: usize| {
            let mut sums: BTreeMap<i32, f64> = BTreeMap::new();
            let (rows, cells) = left.row(row);
            for (row, cell) in rows.iter().zip(cells) {
                let (cols, values) = right.row(*row as usize);
                for (col, value) in cols.iter().zip(values) {
                    *sums.entry(*col).or_default() += cell * value;
                }
            }
            let sums = sums.into_iter().filter(|(_, sum)| *sum != 0.0);
            sums.map(|(col, sum)| (col, sum.to_bits())).collect()
        };
        (0..left.rows()).map(row).collect()
    }

    #[test]
    fn products_have_the_bits_of_products_cell_by_cell() {
        let wide = WIDEST + 5;
        // Sums in dense rows, sorted ones, both, and nothing.
        for (rows, depth, cols, of_left, of_right) in [
            (40, 30, 50, 4, 6),
            (300, 200, 1000, 20, 30),
            (50, 40, 300_000, 1, 2),
            (50, 40, 300_000, 9, 12),
            (6, 40, wide, 9, 12),
            (5, 4, 3, 0, 0),
            (0, 4, 3, 1, 1),
            (4, 0, 3, 0, 1),
        ] {
            let left = matrix(rows, depth.max(1), of_left, 3);
            let right = matrix(depth.max(1), cols, of_right, 5);
            let product = sparse_product(&left, &right).expect("there is memory");
            let bits = |row: usize| {
                let (cols, values) = product.row(row);
                let cells = cols.iter().zip(values);
                cells.map(|(col, value)| (*col, value.to_bits())).collect()
            };
            let found: Vec<Vec<(i32, u64)>> = (0..rows).map(bits).collect();
            assert_eq!(found, expected(&left, &right), "{rows} x {depth} x {cols}");
        }
    }

    #[test]
    fn tasks_have_all_rows_once() {
        for products in [vec![], vec![0; 10], vec![1 << 20; 100], {
            let mut few = vec![3; 200_000];
            few[7] = 1 << 30;
            few
        }] {
            let tasks = tasks(&products);
            let rows: Vec<usize> = tasks.iter().cloned().flatten().collect();
            assert_eq!(rows, (0..products.len()).collect::<Vec<_>>());
            assert!(tasks.len() <= MOST_TASKS + 1, "{}", tasks.len());
        }
    }

    #[test]
    fn an_interrupted_product_is_an_error() {
        let interrupt = Interrupt::new();
        interrupt.set();
        let left = matrix(40, 30, 4, 1);
        let right = matrix(30, 50, 4, 2);
        let ended = interrupt.within(|| sparse_product(&left, &right));
        assert_eq!(ended.expect_err("it is set").kind(), ErrorKind::Interrupted);
    }
}
