//! The factors U and V of an Outer plan, and their products at the cells of a tile.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::DenseMatrix;

use crate::bind::Bound;
use crate::frame::Frame;
use crate::primitives::gemm::{self, View, Write};
use crate::primitives::stored::{self, Rows};
use crate::program::Program;

/// Factors as dense rows, by the input of the program that stands for their product. None in Cell and MAgg plans.
#[derive(Debug, Default)]
pub(in super::super) struct Factors(Vec<Pair>);

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
                left: bound.matrix(product.left)?.to_dense(),
                right: bound.matrix(product.right)?.to_dense(),
            })
        };
        let pairs = program.factor_products.iter().map(pair);
        Ok(Factors(pairs.collect::<Result<_>>()?))
    }

    /// Multiplications per cell.
    pub fn rank(&self) -> usize {
        self.0.iter().map(|pair| pair.left.cols()).sum()
    }

    /// Binds the products at stored cells: for each row, the columns and where its cells stand among the tile's.
    pub fn bind_stored<'c>(
        &self,
        frame: &mut Frame<'_>,
        cells: usize,
        segments: impl Iterator<Item = (usize, &'c [i32])> + Clone,
    ) -> Result<()> {
        for pair in &self.0 {
            let mut rest = frame.cells_of(pair.input, cells);
            let right = Rows {
                cells: pair.right.values(),
                cols: pair.right.cols(),
            };
            for (row, columns) in segments.clone() {
                let (part, after) = rest.split_at_mut(columns.len());
                stored::dots(pair.left.row(row), right, columns, part)?;
                rest = after;
            }
            frame.bind_gathered(pair.input, 0, cells);
        }
        Ok(())
    }

    /// Computes the products at all cells of a tile, row by row.
    pub fn multiply(
        &self,
        frame: &mut Frame<'_>,
        rows: &Range<usize>,
        cols: &Range<usize>,
    ) -> Result<()> {
        for pair in &self.0 {
            let out = frame.cells_of(pair.input, rows.len() * cols.len());
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

/// Some rows of a matrix.
pub(super) fn row_range<'m>(matrix: &'m DenseMatrix, rows: &Range<usize>) -> View<'m> {
    let cols = matrix.cols();
    let from = (rows.start * cols).min(matrix.values().len());
    View::of_rows(&matrix.values()[from..], rows.len(), cols, cols)
}

pub(super) fn multiply(
    left: View<'_>,
    right: View<'_>,
    out: &mut [f64],
    stride: usize,
    write: Write,
) -> Result<()> {
    match gemm::multiply(left, right, out, stride, write) {
        true => Ok(()),
        false => Err(Error::internal("factors of a tile don't fit")),
    }
}
