//! Cells in any order on their way to stripes: cut by ranges of rows where they were read, and put together where they arrive.
//!
//! Cells are rows of row and column, from 1, and value, as [`super::parse_text`] gives them.

use std::ops::Range;

use fulgurite_error::{Error, Result};

use super::Symmetry;
use crate::{CoordinateMatrix, Interrupt, Layout, MatrixBlock, memory};

/// The cells for each range of rows, in their order; `None` where there are none.
///
/// `starts` are the first rows of the ranges, from 0, in ascending order. With a symmetry each cell that is not on the
/// diagonal stands for the one across it, too.
///
/// # Errors
/// `argument` for what are no cells, or rows before the first range; `memory` when there is none for the ranges.
pub fn spread_cells(
    cells: &MatrixBlock,
    starts: &[u64],
    symmetry: Symmetry,
) -> Result<Vec<Option<MatrixBlock>>> {
    let cells = cells_of(cells)?;
    let across = match symmetry {
        Symmetry::General => None,
        Symmetry::Symmetric => Some(1.0),
        Symmetry::Skew => Some(-1.0),
    };
    let expected = cells.len() / starts.len().max(1);
    let rooms = starts.iter().map(|_| memory::room(3 * expected));
    let mut ranges: Vec<Vec<f64>> = rooms.collect::<Result<_>>()?;
    let mut put = |row: f64, col: f64, value: f64| -> Result<()> {
        let at = starts.partition_point(|start| (*start as f64) < row);
        let range = at.checked_sub(1).and_then(|at| ranges.get_mut(at));
        let range = range
            .ok_or_else(|| Error::argument(format!("no range has the row {row} of a cell")))?;
        range.extend([row, col, value]);
        Ok(())
    };
    for [row, col, value] in cells {
        put(*row, *col, *value)?;
        if let Some(sign) = across
            && row != col
        {
            put(*col, *row, sign * *value)?;
        }
    }
    let matrices = ranges.into_iter().map(|range| {
        (!range.is_empty())
            .then(|| MatrixBlock::dense(range.len() / 3, 3, range))
            .transpose()
    });
    matrices.collect()
}

/// What cells become.
#[derive(Debug, Clone, PartialEq)]
pub enum Gathered {
    /// Stripes, from the first row of the range to the last.
    Stripes(Vec<MatrixBlock>),
    /// Row and column, from 1, of a cell that stands twice.
    Twice(u64, u64),
}

/// Stripes of `height` rows, of the cells of a range of rows (from 0). What has no cell is 0. Without `may_be_dense`
/// none is dense.
///
/// # Errors
/// `argument` for what are no cells, and for cells of other rows or columns; `memory` when there is none for them.
pub fn gather_cells(
    parts: &[MatrixBlock],
    rows: Range<u64>,
    cols: usize,
    height: usize,
    may_be_dense: bool,
) -> Result<Gathered> {
    let parts = parts.iter().map(cells_of).collect::<Result<Vec<_>>>()?;
    let mut cells = memory::room(parts.iter().map(|part| part.len()).sum())?;
    for [row, col, value] in parts.into_iter().flatten() {
        let (row, col) = (*row as u64, *col as usize);
        if !rows.contains(&row.wrapping_sub(1)) || !(1..=cols).contains(&col) {
            return Err(Error::argument(format!(
                "cell ({row}, {col}) is not in rows {} to {} of {cols} columns",
                rows.start + 1,
                rows.end
            )));
        }
        cells.push((row - 1, (col - 1) as i32, *value));
    }
    // Sources are often in order, in pieces at least: this sort takes what is.
    Interrupt::unwinding(|interrupt| {
        cells.sort_by_key(interrupt.key(|(row, col, _): &(u64, i32, f64)| (*row, *col)));
    })?;
    let twice = cells
        .windows(2)
        .find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1));
    if let Some([(row, col, _), ..]) = twice {
        return Ok(Gathered::Twice(row + 1, *col as u64 + 1));
    }
    let (mut stripes, mut rest) = (Vec::new(), &cells[..]);
    for first in rows.clone().step_by(height.max(1)) {
        let end = (first + height.max(1) as u64).min(rows.end);
        let (of_stripe, after) = rest.split_at(rest.partition_point(|(row, ..)| *row < end));
        rest = after;
        let stored = || of_stripe.iter().filter(|(.., value)| *value != 0.0);
        let coordinates = CoordinateMatrix::new(
            (end - first) as usize,
            cols,
            stored()
                .map(|(row, ..)| (row - first) as i64)
                .collect::<Vec<_>>(),
            stored().map(|(_, col, _)| *col).collect::<Vec<_>>(),
            stored().map(|(.., value)| *value).collect::<Vec<_>>(),
        )?;
        let matrix = MatrixBlock::from(coordinates);
        let layout = Layout::best(matrix.rows(), cols, matrix.nnz());
        stripes.push(match layout {
            Layout::Dense if !may_be_dense => matrix.in_layout(Layout::Csr)?,
            best => matrix.in_layout(best)?,
        });
    }
    Ok(Gathered::Stripes(stripes))
}

/// # Errors
/// `argument` for other than three columns.
fn cells_of(cells: &MatrixBlock) -> Result<&[[f64; 3]]> {
    match cells {
        MatrixBlock::Dense(dense) if dense.cols() == 3 => Ok(dense.values().as_chunks().0),
        other => Err(Error::argument(format!(
            "cells are rows of row, column and value, not a matrix of {} columns",
            other.cols()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::kernels;

    const ROWS: u64 = 40;
    const COLS: usize = 7;

    fn block(cells: &[(u64, u64, f64)]) -> MatrixBlock {
        let numbers = cells
            .iter()
            .flat_map(|(row, col, value)| [(row + 1) as f64, (col + 1) as f64, *value]);
        MatrixBlock::dense(cells.len(), 3, numbers.collect()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever way cells go, they arrive where they belong.
        #[test]
        fn spread_and_gathered_cells_are_the_matrix(
            cells in prop::collection::btree_map((0..ROWS, 0..COLS as u64), prop_oneof![Just(0.0), any::<f64>()], 1..150)
                .prop_map(|cells| cells.into_iter().collect::<Vec<_>>()).prop_shuffle(),
            mut starts in prop::collection::btree_set(1..ROWS, 0..5).prop_map(|some| some.into_iter().collect::<Vec<_>>()),
            pieces in 1usize..4,
            height in 1usize..50,
            may_be_dense in any::<bool>(),
        ) {
            starts.insert(0, 0);
            let cells: Vec<_> = cells.into_iter().map(|((row, col), value)| (row, col, value)).collect();
            let mut ranges = vec![Vec::new(); starts.len()];
            for piece in cells.chunks(cells.len().div_ceil(pieces)) {
                let spread = spread_cells(&block(piece), &starts, Symmetry::General).unwrap();
                for (range, part) in ranges.iter_mut().zip(spread) {
                    range.extend(part);
                }
            }
            let mut stripes = Vec::new();
            for (at, parts) in ranges.iter().enumerate() {
                let until = starts.get(at + 1).copied().unwrap_or(ROWS);
                match gather_cells(parts, starts[at]..until, COLS, height, may_be_dense).unwrap() {
                    Gathered::Stripes(some) => stripes.extend(some),
                    twice => panic!("{twice:?}"),
                }
            }
            prop_assert!(stripes.iter().all(|stripe| stripe.rows() <= height));
            prop_assert!(may_be_dense || !stripes.iter().any(|stripe| matches!(stripe, MatrixBlock::Dense(_))));
            let all: Vec<&MatrixBlock> = stripes.iter().collect();
            let found = kernels::rbind(&all).unwrap().to_dense().unwrap();
            let expected: BTreeMap<(u64, u64), f64> = cells.iter().map(|(row, col, value)| ((*row, *col), *value)).collect();
            prop_assert_eq!(found.rows() as u64, ROWS);
            for row in 0..ROWS {
                for col in 0..COLS as u64 {
                    let cell = expected.get(&(row, col)).copied().filter(|value| *value != 0.0).unwrap_or(0.0);
                    prop_assert_eq!(found.row(row as usize)[col as usize].to_bits(), cell.to_bits());
                }
            }
        }
    }

    #[test]
    fn symmetric_cells_stand_for_two_and_cells_that_stand_twice_are_told() {
        let cells = block(&[(0, 0, 1.0), (2, 1, 3.0)]);
        let spread = |symmetry| spread_cells(&cells, &[0, 2], symmetry).unwrap();
        assert_eq!(
            spread(Symmetry::Symmetric),
            [
                Some(block(&[(0, 0, 1.0), (1, 2, 3.0)])),
                Some(block(&[(2, 1, 3.0)]))
            ]
        );
        assert_eq!(
            spread(Symmetry::Skew)[0],
            Some(block(&[(0, 0, 1.0), (1, 2, -3.0)]))
        );
        let none = spread_cells(&block(&[(0, 0, 1.0)]), &[0, 2], Symmetry::General).unwrap();
        assert_eq!(none[1], None);
        let parts = [block(&[(1, 2, 0.0)]), block(&[(0, 0, 1.0), (1, 2, 5.0)])];
        assert_eq!(
            gather_cells(&parts, 0..3, 3, 10, false).unwrap(),
            Gathered::Twice(2, 3)
        );
        let refused = [
            gather_cells(&parts, 1..3, 3, 10, false).unwrap_err(),
            gather_cells(&parts, 0..3, 2, 10, false).unwrap_err(),
            gather_cells(
                &[MatrixBlock::filled(2, 2, 1.0).unwrap()],
                0..3,
                3,
                10,
                false,
            )
            .unwrap_err(),
            spread_cells(&cells, &[1], Symmetry::General).unwrap_err(),
        ];
        insta::assert_snapshot!(refused.map(|error| error.message().to_owned()).join("\n"), @r"
        cell (1, 1) is not in rows 2 to 3 of 3 columns
        cell (2, 3) is not in rows 1 to 3 of 2 columns
        cells are rows of row, column and value, not a matrix of 2 columns
        no range has the row 1 of a cell
        ");
    }
}
