//! Cell-by-cell functions of which few cells are not zero: those that a sparse operand stores, and whole rows where the function of
//! zeros is not zero, as in `X / rowSums(X)` where a row is empty. Of two matrices, of which that is zero, the stored cells are
//! brought in line first.

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use super::broadcast::{Side, spread};
use crate::{
    CsrMatrix, SPARSE_THRESHOLD, memory,
    parallel::{SparseRows, csr_by_rows, csr_by_rows_within, rows_per_task},
    vector_math::Cells,
};

/// f of the operands' cells; `None` where no operand is sparse, or too many cells would be stored.
pub(super) fn over_union<const N: usize>(
    sides: [&Side; N],
    (rows, cols): (usize, usize),
    f: impl Fn([f64; N]) -> f64 + Sync,
) -> Result<Option<CsrMatrix>> {
    let most = SPARSE_THRESHOLD * rows as f64 * cols as f64;
    let stored: usize = sides.iter().map(|side| side.stored()).sum();
    let is_sparse = |side: &&Side| matches!(side, Side::Csr(_) | Side::Coordinate(_));
    let few = cols > 1 && i32::try_from(cols).is_ok() && (stored as f64) < most;
    if !few || !sides.iter().any(is_sparse) {
        return Ok(None);
    }
    let full = full_rows(sides, (rows, cols), &f)?;
    let full_rows = full.iter().filter(|is_full| **is_full).count();
    if stored as f64 + full_rows as f64 * cols as f64 >= most {
        return Ok(None);
    }
    // Rows of coordinates would be searched for.
    let expand = |side: &&Side| match side {
        Side::Coordinate(coordinates) => coordinates.to_csr().map(Some),
        _ => Ok(None),
    };
    let expanded = sides.iter().map(expand).collect::<Result<Vec<_>>>()?;
    let mut places = expanded.iter();
    let sides = sides.map(|side| match (side, places.next()) {
        (_, Some(Some(csr))) => Operand::Sparse(csr),
        (Side::Csr(csr), _) => Operand::Sparse(csr),
        (other, _) => Operand::Other(other),
    });
    let spread_cols = if full_rows > 0 { cols } else { 0 };
    memory::admit(memory::bytes_of::<[f64; N]>(spread_cols)?)?;
    csr_by_rows(rows, cols, stored / rows.max(1) + 1, |task, out| {
        let mut scratch = sides.each_ref().map(|_| vec![0.0; spread_cols]);
        for row in task {
            match full[row] {
                true => all_cells(&sides, row, cols, &mut scratch, &f, out),
                false => stored_cells(&sides, row, &f, out),
            }
            out.end_row();
        }
    })
    .map(Some)
}

/// A function, given over stretches, of the cells stored on either side; of zeros it is zero.
pub(super) fn merge(
    left: &CsrMatrix,
    right: &CsrMatrix,
    over: impl Fn(Cells, Cells, &mut [f64]) + Sync,
) -> Result<CsrMatrix> {
    /// As many as the first-level cache holds, with both sides' values.
    const STRETCH: usize = 1 << 10;
    let (rows, cols) = (left.rows(), left.cols());
    let stored = |rows: Range<usize>| {
        let of = |csr: &CsrMatrix| (csr.pointers()[rows.end] - csr.pointers()[rows.start]) as usize;
        of(left) + of(right)
    };
    csr_by_rows_within(
        rows,
        cols,
        stored(0..rows) / rows.max(1) + 1,
        stored,
        |task, out| {
            let mut union = Union::default();
            for row in task {
                let more = stored(row..row + 1);
                if union.len + more > STRETCH {
                    union.flush(&over, out);
                }
                union.add(left.row(row), right.row(row));
            }
            union.flush(&over, out);
        },
    )
}

/// Cells that either side stores, of some rows, before the function is applied.
#[derive(Default)]
struct Union {
    ends: Vec<usize>,
    len: usize,
    cols: Vec<i32>,
    left: Vec<f64>,
    right: Vec<f64>,
    values: Vec<f64>,
}

impl Union {
    /// Which side a column comes from is anyone's guess, so that there are no branches on it.
    fn add(&mut self, (left_cols, left): (&[i32], &[f64]), (right_cols, right): (&[i32], &[f64])) {
        let most = self.len + left.len() + right.len();
        if most > self.cols.len() {
            self.cols.resize(most, 0);
            for values in [&mut self.left, &mut self.right, &mut self.values] {
                values.resize(most, 0.0);
            }
        }
        let cols = &mut self.cols[self.len..most];
        let (xs, ys) = (
            &mut self.left[self.len..most],
            &mut self.right[self.len..most],
        );
        let (mut i, mut j, mut next) = (0, 0, 0);
        while i < left_cols.len() && j < right_cols.len() {
            let (l, r, x, y) = (left_cols[i], right_cols[j], left[i], right[j]);
            cols[next] = l.min(r);
            xs[next] = or_zero(l <= r, x);
            ys[next] = or_zero(r <= l, y);
            i += usize::from(l <= r);
            j += usize::from(r <= l);
            next += 1;
        }
        let end = next + left.len() - i;
        cols[next..end].copy_from_slice(&left_cols[i..]);
        xs[next..end].copy_from_slice(&left[i..]);
        ys[next..end].fill(0.0);
        let next = end;
        let end = next + right.len() - j;
        cols[next..end].copy_from_slice(&right_cols[j..]);
        xs[next..end].fill(0.0);
        ys[next..end].copy_from_slice(&right[j..]);
        self.len += end;
        self.ends.push(self.len);
    }

    fn flush(&mut self, over: impl Fn(Cells, Cells, &mut [f64]), out: &mut SparseRows) {
        let (xs, ys) = (&self.left[..self.len], &self.right[..self.len]);
        let values = &mut self.values[..self.len];
        over(Cells::Each(xs), Cells::Each(ys), values);
        out.append(&self.ends, &self.cols[..self.len], values);
        self.ends.clear();
        self.len = 0;
    }
}

/// Without a branch, which compilers make of a choice between doubles.
#[inline(always)]
fn or_zero(is_kept: bool, value: f64) -> f64 {
    f64::from_bits(value.to_bits() & u64::from(is_kept).wrapping_neg())
}

enum Operand<'a> {
    Sparse(&'a CsrMatrix),
    Other(&'a Side<'a>),
}

/// For each row, whether f is not zero somewhere that no sparse operand stores a cell.
fn full_rows<const N: usize>(
    sides: [&Side; N],
    (rows, cols): (usize, usize),
    f: &(impl Fn([f64; N]) -> f64 + Sync),
) -> Result<Vec<bool>> {
    let differs_by_row = |side: &&Side| matches!(side, Side::Dense(_) | Side::ColumnVector(_));
    let differs_by_col = |side: &&Side| matches!(side, Side::Dense(_) | Side::RowVector(_));
    let compared = match sides.iter().any(differs_by_col) {
        true => cols,
        false => 1,
    };
    let is_full = |row: usize| {
        let cells = sides.map(|side| match side {
            Side::Csr(_) | Side::Coordinate(_) => Cells::Same(0.0),
            other => other.row(row, &mut []),
        });
        // Not zero, or NaN.
        (0..compared).any(|col| f(cells.map(|cells| cells.at(col))) != 0.0)
    };
    if rows == 0 || !sides.iter().any(differs_by_row) {
        return memory::filled(rows, rows > 0 && is_full(0));
    }
    let mut full = memory::filled(rows, false)?;
    let chunk = rows_per_task(compared);
    let chunks = full.par_chunks_mut(chunk).enumerate();
    chunks.for_each(|(number, chunk_rows)| {
        for (at, is_row_full) in chunk_rows.iter_mut().enumerate() {
            *is_row_full = is_full(number * chunk + at);
        }
    });
    Ok(full)
}

/// All cells of a row that are not zero.
fn all_cells<const N: usize>(
    sides: &[Operand; N],
    row: usize,
    cols: usize,
    scratch: &mut [Vec<f64>; N],
    f: &impl Fn([f64; N]) -> f64,
    out: &mut SparseRows,
) {
    let mut scratch = scratch.iter_mut();
    let cells = sides.each_ref().map(|side| match (side, scratch.next()) {
        (Operand::Sparse(csr), Some(scratch)) => Cells::Each(spread(csr.row(row), scratch)),
        (Operand::Other(side), _) => side.row(row, &mut []),
        (Operand::Sparse(_), None) => Cells::Same(0.0),
    });
    for col in 0..cols {
        out.push(col, f(cells.map(|cells| cells.at(col))));
    }
}

/// The cells of a row that some sparse operand stores.
fn stored_cells<const N: usize>(
    sides: &[Operand; N],
    row: usize,
    f: &impl Fn([f64; N]) -> f64,
    out: &mut SparseRows,
) {
    const END: i32 = i32::MAX;
    // What is left of each sparse row, and the cells of the others.
    let mut sides = sides.each_ref().map(|side| match side {
        Operand::Sparse(csr) => (csr.row(row), Cells::Same(0.0)),
        Operand::Other(side) => ((&[][..], &[][..]), side.row(row, &mut [])),
    });
    loop {
        let firsts = sides.iter().filter_map(|((cols, _), _)| cols.first());
        let col = firsts.copied().min().unwrap_or(END);
        if col == END {
            return;
        }
        let values = sides.each_mut().map(|((cols, values), cells)| {
            match (cols.split_first(), values.split_first()) {
                (Some((first, later_cols)), Some((value, later))) if *first == col => {
                    (*cols, *values) = (later_cols, later);
                    *value
                }
                (Some(_), _) => 0.0,
                _ => cells.at(col as usize),
            }
        });
        out.push(col as usize, f(values));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{all_layouts, assert_close, cells};
    use super::super::{binary, ternary};
    use crate::{DenseMatrix, Layout, MatrixBlock};

    /// What is zero except in one of `every` rows.
    fn in_some_rows(rows: usize, every: usize) -> MatrixBlock {
        DenseMatrix::from_fn(rows, 1, |i, _| f64::from(u8::from(i % every == 0)))
            .unwrap()
            .into()
    }

    fn naive(rows: usize, cols: usize, cell: impl FnMut(usize, usize) -> f64) -> MatrixBlock {
        DenseMatrix::from_fn(rows, cols, cell).unwrap().into()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn rows_that_are_not_zero(
            rows in 1usize..70, cols in 2usize..70, seed: u64, zeros in 6u64..=10, every in 1usize..40,
        ) {
            let [x, y] = [seed, !seed].map(|seed| cells(rows, cols, seed, zeros));
            let column = in_some_rows(rows, every);
            let row = cells(1, cols, seed, 9);
            let by_column = |i: usize, j: usize| x.get(i, j) / (1.0 - column.get(i, 0));
            let divided = naive(rows, cols, by_column);
            let shifted = naive(rows, cols, |i, j| x.get(i, j) - column.get(i, 0));
            let chosen = naive(rows, cols, |i, j| if x.get(i, j) > 1.0 { y.get(i, j) } else { column.get(i, 0) });
            let scaled = naive(rows, cols, |i, j| x.get(i, j) + y.get(i, j) * row.get(0, j));
            let kept = naive(rows, cols, |i, j| x.get(i, j) + column.get(i, 0) * row.get(0, j));
            let complement = naive(rows, 1, |i, _| 1.0 - column.get(i, 0));
            for x in all_layouts(&x) {
                let result = binary((&x).into(), (&complement).into(), |x, y| x / y).unwrap();
                assert_close(&result, &divided, 0.0, "/ by a column with zeros");
                let result = binary((&column).into(), (&x).into(), |x, y| y - x).unwrap();
                assert_close(&result, &shifted, 0.0, "- a column");
                for y in all_layouts(&y) {
                    let if_greater = |x: f64, y: f64, z: f64| if x > 1.0 { y } else { z };
                    let result = ternary((&x).into(), (&y).into(), (&column).into(), if_greater).unwrap();
                    assert_close(&result, &chosen, 0.0, "ifelse with a column");
                    let result = ternary((&x).into(), (&y).into(), (&row).into(), |x, y, z| x + y * z).unwrap();
                    assert_close(&result, &scaled, 0.0, "+* with a row");
                }
                let result = ternary((&x).into(), (&column).into(), (&row).into(), |x, y, z| x + y * z).unwrap();
                assert_close(&result, &kept, 0.0, "+* with a column and a row");
            }
        }
    }

    #[test]
    fn few_cells_are_stored() {
        let (rows, cols) = (200, 50);
        let x = naive(rows, cols, |i, j| f64::from(u8::from((i + j) % 20 == 3)));
        let zero_once = naive(rows, 1, |i, _| f64::from(u8::from(i != 7)));
        for layout in [Layout::Csr, Layout::Coordinate] {
            let x = x.clone().in_layout(layout).unwrap();
            let quotient = binary((&x).into(), (&zero_once).into(), |x, y| x / y).unwrap();
            assert!(!matches!(quotient, MatrixBlock::Dense(_)));
            assert_eq!(quotient.nnz(), x.nnz() + cols - nonzeros_of_row(&x, 7));
            assert!(quotient.get(7, 0).is_nan());
            let chosen = ternary((&x).into(), 2.0.into(), (&x).into(), |x, y, z| {
                if x > 0.5 { y } else { z }
            });
            assert!(!matches!(chosen.unwrap(), MatrixBlock::Dense(_)));
            let shifted = binary((&x).into(), (&zero_once).into(), |x, y| x - y).unwrap();
            assert!(matches!(shifted, MatrixBlock::Dense(_)));
        }
    }

    fn nonzeros_of_row(matrix: &MatrixBlock, row: usize) -> usize {
        let cells = (0..matrix.cols()).map(|col| matrix.get(row, col));
        cells.filter(|cell| *cell != 0.0).count()
    }
}
