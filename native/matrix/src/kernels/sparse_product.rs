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
    lanes::{CACHE_LINE, prefetch},
    memory::{reserve, room, zeros, zeros_of},
    parallel::{TASK_CELLS, two_by_parts},
};

/// At most so many: each may have a dense row.
const MOST_TASKS: usize = 64;
/// A dense row takes 32 MB.
const WIDEST: usize = 1 << 22;
/// Sorting a product takes as long as looking through the bits of so many words.
const WORDS_PER_PRODUCT: usize = 64;

/// `left %*% right`. Rows are counted first, and then written where they stay. Zeros are left out.
///
/// # Errors
/// `memory`; `interrupted`.
pub(super) fn sparse_product(left: &CsrMatrix, right: &CsrMatrix) -> Result<CsrMatrix> {
    let products = products_of_rows(left, right)?;
    let tasks = tasks(&products);
    let interrupt = Interrupt::current();
    let counts = tasks.par_iter().map(|rows| {
        let mut sum = RowSum::new(left, right);
        let mut counts = room(rows.len())?;
        for row in rows.clone() {
            interrupt.check()?;
            counts.push(sum.count(row, products[row])?);
        }
        Ok(counts)
    });
    let counts = counts.collect::<Result<Vec<Vec<usize>>>>()?;
    let lengths: Vec<usize> = counts.iter().map(|counts| counts.iter().sum()).collect();
    let mut pointers = room(left.rows().saturating_add(1))?;
    pointers.push(0i64);
    let mut stored = 0;
    pointers.extend(counts.iter().flatten().map(|count| {
        stored += count;
        stored as i64
    }));

    let (indices, values) = two_by_parts(stored, &lengths, |task, mut indices, mut values| {
        let mut sum = RowSum::new(left, right);
        for (row, count) in tasks[task].clone().zip(&counts[task]) {
            interrupt.check()?;
            let (row_indices, later_indices) = indices.split_at_mut(*count);
            let (row_values, later_values) = values.split_at_mut(*count);
            sum.write(row, products[row], row_indices, row_values)?;
            (indices, values) = (later_indices, later_values);
        }
        Ok(())
    })?;
    let has_zeros = values
        .par_chunks(TASK_CELLS)
        .any(|cells| cells.contains(&0.0));
    let product = CsrMatrix::new(left.rows(), right.cols(), pointers, indices, values)?;
    match has_zeros {
        true => product.without_zeros(),
        false => Ok(product),
    }
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

    /// How many cells a row of so many products has, zeros that they add up to included.
    fn count(&mut self, row: usize, products: usize) -> Result<usize> {
        if self.is_few(products) {
            self.sort(row, products)?;
            return Ok(self.products.chunk_by(Product::is_of_same_cell).count());
        }
        let terms = Terms::new(self.left, self.right, row, Fetched::Columns);
        let sum = self.dense()?;
        terms.for_each(|(_, cols, _)| sum.meet(cols));
        Ok(sum.take_count())
    }

    /// Writes a row of so many products into as many cells as it has.
    fn write(
        &mut self,
        row: usize,
        products: usize,
        indices: &mut [i32],
        values: &mut [f64],
    ) -> Result<()> {
        let out = indices.iter_mut().zip(values);
        if self.is_few(products) {
            self.sort(row, products)?;
            let cells = self.products.chunk_by(Product::is_of_same_cell);
            for ((index, value), products) in out.zip(cells) {
                *index = products[0].key.0;
                *value = products
                    .iter()
                    .fold(0.0, |sum, product| sum + product.value);
            }
            return Ok(());
        }
        let terms = Terms::new(self.left, self.right, row, Fetched::All);
        let sum = self.dense()?;
        terms.for_each(|(scale, cols, values)| sum.add(scale, cols, values));
        sum.take(out);
        Ok(())
    }

    fn is_few(&self, products: usize) -> bool {
        let cols = self.right.cols();
        cols > WIDEST || products.saturating_mul(WORDS_PER_PRODUCT) < cols / DenseSum::WORD
    }

    fn dense(&mut self) -> Result<&mut DenseSum> {
        Ok(match &mut self.dense {
            Some(sum) => sum,
            none => none.insert(DenseSum::new(self.right.cols())?),
        })
    }

    /// The products of a row, by columns.
    fn sort(&mut self, row: usize, products: usize) -> Result<()> {
        self.products.clear();
        reserve(&mut self.products, products)?;
        for (scale, cols, values) in Terms::new(self.left, self.right, row, Fetched::All) {
            let place = self.products.len();
            let products = cols.iter().zip(values).enumerate();
            let products = products.map(|(at, (col, value))| Product {
                key: (*col, place + at),
                value: scale * value,
            });
            self.products.extend(products);
        }
        self.products.sort_unstable_by_key(|product| product.key);
        Ok(())
    }
}

impl Product {
    fn is_of_same_cell(&self, other: &Product) -> bool {
        self.key.0 == other.key.0
    }
}

/// What is added up to a row: cells of the left row, and rows of the right matrix.
struct Terms<'a> {
    rows: std::slice::Iter<'a, i32>,
    cells: std::slice::Iter<'a, f64>,
    right: &'a CsrMatrix,
    fetched: Fetched,
}

/// What is asked for of rows that come soon.
#[derive(Clone, Copy, PartialEq)]
enum Fetched {
    Columns,
    All,
}

impl<'a> Terms<'a> {
    /// Rows of the right matrix that are asked for ahead: nobody else knows which come next. Waiting for them took a
    /// fifth of the time of rows of 20 cells.
    const AHEAD: usize = 8;
    /// Cells that are asked for of a row. The processor foresees what follows.
    const FETCHED_CELLS: usize = 64;

    fn new(left: &'a CsrMatrix, right: &'a CsrMatrix, row: usize, fetched: Fetched) -> Self {
        let (rows, cells) = left.row(row);
        let terms = Terms {
            rows: rows.iter(),
            cells: cells.iter(),
            right,
            fetched,
        };
        let first = rows.iter().take(Self::AHEAD);
        first.for_each(|row| terms.fetch(*row));
        terms
    }

    fn fetch(&self, row: i32) {
        let (cols, values) = self.right.row(row as usize);
        let cells = cols.len().min(Self::FETCHED_CELLS);
        for line in cols[..cells].chunks(2 * CACHE_LINE) {
            prefetch(line.as_ptr().cast());
        }
        if self.fetched == Fetched::All {
            for line in values[..cells].chunks(CACHE_LINE) {
                prefetch(line.as_ptr());
            }
        }
    }
}

impl<'a> Iterator for Terms<'a> {
    type Item = (f64, &'a [i32], &'a [f64]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (row, cell) = (self.rows.next()?, self.cells.next()?);
        if let Some(later) = self.rows.as_slice().get(Self::AHEAD - 1) {
            self.fetch(*later);
        }
        let (cols, values) = self.right.row(*row as usize);
        Some((*cell, cols, values))
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

    /// Notes the columns, and adds nothing.
    fn meet(&mut self, cols: &[i32]) {
        for col in cols {
            let col = *col as usize;
            self.met[col / Self::WORD] |= 1 << (col % Self::WORD);
        }
    }

    fn add(&mut self, scale: f64, cols: &[i32], values: &[f64]) {
        for (col, value) in cols.iter().zip(values) {
            let col = *col as usize;
            self.met[col / Self::WORD] |= 1 << (col % Self::WORD);
            self.cells[col] += scale * value;
        }
    }

    /// How many columns were noted. Forgets them.
    fn take_count(&mut self) -> usize {
        let words = self.met.iter_mut();
        words
            .map(|word| std::mem::take(word).count_ones() as usize)
            .sum()
    }

    /// Writes the columns that were noted and their sums, and is zero again.
    fn take<'o>(&mut self, mut out: impl Iterator<Item = (&'o mut i32, &'o mut f64)>) {
        for (number, word) in self.met.iter_mut().enumerate() {
            let mut left = std::mem::take(word);
            while left != 0 {
                let col = number * Self::WORD + left.trailing_zeros() as usize;
                let sum = std::mem::take(&mut self.cells[col]);
                if let Some((index, value)) = out.next() {
                    (*index, *value) = (col as i32, sum);
                }
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
    fn sums_that_are_zero_are_left_out() {
        let row = |values: Vec<f64>| {
            let indices: Vec<i32> = (0..values.len() as i32).collect();
            let pointers = vec![0, values.len() as i64];
            CsrMatrix::new(1, values.len(), pointers, indices, values).expect("a row")
        };
        let left = row(vec![1.0, 1.0]);
        let right = CsrMatrix::new(
            2,
            3,
            vec![0i64, 2, 4],
            vec![0, 1, 1, 2],
            vec![1.0, 2.0, -2.0, 3.0],
        );
        let product = sparse_product(&left, &right.expect("two rows")).expect("there is memory");
        assert_eq!(product.row(0), (&[0, 2][..], &[1.0, 3.0][..]));
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
