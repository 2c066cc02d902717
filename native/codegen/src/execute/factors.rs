//! The factors U and V of an Outer plan, and their products at the cells of a tile.

use std::ops::Range;

use fulgurite_error::Result;
use fulgurite_matrix::DenseMatrix;
use fulgurite_matrix::kernels::dense_product::{View, Write, multiply};

use super::driver::Driver;
use crate::bind::Bound;
use crate::frame::Frame;
use crate::primitives::stored::{self, Rows};
use crate::program::Program;

/// Cells of the right factor that stay in the second-level cache.
const BLOCK_CELLS: usize = 80 << 10;
/// Rows of factors that do not stay in a cache are asked for so many cells before they are read.
const FETCH_AHEAD: usize = 8;
/// Fewer cells of a row than these don't pay for reading the row's left factor once more.
const MIN_CELLS_PER_BLOCK: f64 = 2.0;

/// Factors as dense rows, by the input of the program that stands for their product. None in Cell and MAgg plans.
#[derive(Debug, Default)]
pub(super) struct Factors(Vec<Pair>);

#[derive(Debug)]
struct Pair {
    input: usize,
    left: DenseMatrix,
    right: DenseMatrix,
}

impl Factors {
    pub fn bind(program: &Program, bound: &Bound<'_>) -> Result<Self> {
        let pair = |product: &crate::program::FactorProduct| {
            Ok(Pair {
                input: product.input,
                left: bound.matrix(product.left)?.to_dense()?,
                right: bound.matrix(product.right)?.to_dense()?,
            })
        };
        let pairs = program.factor_products.iter().map(pair);
        Ok(Factors(pairs.collect::<Result<_>>()?))
    }

    /// Multiplications per cell.
    pub fn rank(&self) -> usize {
        self.0.iter().map(|pair| pair.left.cols()).sum()
    }

    /// Computes the products at stored cells of a driver, which lie in some rows (the first and last perhaps in part).
    pub fn multiply_stored(
        &self,
        frame: &mut Frame<'_>,
        driver: &Driver<'_>,
        rows: Range<usize>,
        cells: Range<usize>,
    ) -> Result<()> {
        for pair in &self.0 {
            let out = frame.cells_of(pair.input, cells.len())?;
            pair.multiply_stored(driver, rows.clone(), cells.clone(), out)?;
        }
        Ok(())
    }

    /// Binds the products that [`Factors::multiply_stored`] computed, from one on.
    pub fn bind_stored(&self, frame: &mut Frame<'_>, from: usize, length: usize) {
        for pair in &self.0 {
            frame.bind_gathered(pair.input, from, length);
        }
    }

    /// Computes the products at all cells of a tile, row by row.
    pub fn multiply(
        &self,
        frame: &mut Frame<'_>,
        rows: &Range<usize>,
        cols: &Range<usize>,
    ) -> Result<()> {
        for pair in &self.0 {
            let out = frame.cells_of(pair.input, rows.len() * cols.len())?;
            let left = row_range(&pair.left, rows);
            let right = row_range(&pair.right, cols).transposed();
            multiply(left, right, out, cols.len(), Write::Replace)?;
        }
        Ok(())
    }

    /// Binds the products that [`Factors::multiply`] computed, from a row of the tile on.
    pub fn bind_tile(&self, frame: &mut Frame<'_>, row: usize, width: usize) {
        for pair in &self.0 {
            frame.bind_gathered(pair.input, row * width, width);
        }
    }
}

impl Pair {
    fn multiply_stored(
        &self,
        driver: &Driver<'_>,
        rows: Range<usize>,
        cells: Range<usize>,
        out: &mut [f64],
    ) -> Result<()> {
        let right = Rows {
            cells: self.right.values(),
            cols: self.right.cols(),
        };
        let (csr, pointers) = (&driver.csr, driver.csr.pointers());
        let mut next: Vec<usize> = rows
            .clone()
            .map(|row| (pointers[row] as usize).max(cells.start))
            .collect();
        let cols = csr.cols();
        let width = self.block_width(cells.len() / rows.len().max(1), cols);
        // In order of storage only if the rows are not cut.
        let ahead = |stored: &Range<usize>| match width < cols {
            true => 0..0,
            false => {
                let from = (stored.start + FETCH_AHEAD).min(cells.end);
                from..(stored.end + FETCH_AHEAD).min(cells.end)
            }
        };
        let rows_ahead = (FETCH_AHEAD * rows.len()).div_ceil(cells.len().max(1));
        let fetch_left = |row: usize| {
            let row = row + rows_ahead;
            if row < rows.end && pointers[row] < pointers[row + 1] {
                stored::fetch(self.left.row(driver.number(row)));
            }
        };
        let mut end = 0;
        while end < cols {
            end = (end + width).min(cols);
            for (row, from) in rows.clone().zip(&mut next) {
                if width == cols {
                    fetch_left(row);
                }
                let stored = *from..(pointers[row + 1] as usize).min(cells.end);
                let later = &csr.indices()[ahead(&stored)];
                let columns = &csr.indices()[stored];
                let count = match end == cols {
                    true => columns.len(),
                    false => columns
                        .iter()
                        .take_while(|col| (**col as usize) < end)
                        .count(),
                };
                if count > 0 {
                    let at = *from - cells.start;
                    let out = &mut out[at..at + count];
                    let left = self.left.row(driver.number(row));
                    stored::dots(left, right, &columns[..count], later, out)?;
                    *from += count;
                }
            }
        }
        Ok(())
    }

    /// How many rows of the right factor are worked on at a time: those that stay in the cache while all rows of the
    /// driver pass, unless each row would meet too few of them.
    fn block_width(&self, cells_per_row: usize, cols: usize) -> usize {
        let width = (BLOCK_CELLS / self.right.cols().max(1)).max(1);
        let met = cells_per_row as f64 * width as f64 / cols.max(1) as f64;
        if met < MIN_CELLS_PER_BLOCK {
            cols.max(1)
        } else {
            width
        }
    }
}

/// Some rows of a matrix.
pub(super) fn row_range<'m>(matrix: &'m DenseMatrix, rows: &Range<usize>) -> View<'m> {
    let cols = matrix.cols();
    let from = (rows.start * cols).min(matrix.values().len());
    View::of_rows(&matrix.values()[from..], rows.len(), cols, cols)
}
