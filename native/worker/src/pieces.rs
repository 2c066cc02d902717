//! Pieces of a task's result, for shuffles: see [`Pieces`].

use std::collections::BTreeMap;

use fulgurite_dataflow::Pieces;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    MatrixBlock,
    arrow_block::Block,
    kernels::{self, IndexRange},
};

/// Cuts the result of a stripe. A piece's row offset is the number of its target.
///
/// # Errors
/// `dimension`, for a result that has no column to name targets in.
pub(super) fn cut(pieces: &Pieces, result: &Block) -> Result<Vec<Block>> {
    let matrix = &result.matrix;
    if matrix.rows() == 0 {
        return Ok(Vec::new());
    }
    match *pieces {
        Pieces::Rows { every, skip_zeros } => {
            let ranges = ranges(matrix.rows(), every);
            let cut = ranges.map(|(target, from, to)| (target, matrix.slice_rows(from, to)));
            let keep_all = !skip_zeros || result.row_offset == 0;
            Ok(cut
                .filter(|(_, piece)| keep_all || piece.nnz() > 0)
                .map(|(target, piece)| Block::new(target, 0, piece))
                .collect())
        }
        Pieces::Columns { every } => ranges(matrix.cols(), every)
            .map(|(target, from, to)| {
                let cols = IndexRange::new(from as i64 + 1, to as i64);
                let rows = IndexRange::new(1, matrix.rows() as i64);
                let piece = kernels::right_index(matrix, rows, cols)?;
                Ok(Block::new(target, 0, piece))
            })
            .collect(),
        Pieces::Named { targets } => named(matrix, targets),
        Pieces::Cells {
            from_rows,
            rows,
            cols,
            by_row,
            every,
        } => {
            let place = |row: u64, col: u64| match by_row {
                true => {
                    let index = row * matrix.cols() as u64 + col;
                    (index / cols, index % cols)
                }
                false => {
                    let index = col * from_rows + row;
                    (index % rows, index / rows)
                }
            };
            placed_cells(result, (rows, cols), every.max(1), place)
        }
    }
}

/// `0..size` in ranges of `every`, numbered.
fn ranges(size: usize, every: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let every = usize::try_from(every).unwrap_or(usize::MAX).max(1);
    (0..size)
        .step_by(every)
        .zip(0..)
        .map(move |(from, target)| (target, from, from.saturating_add(every).min(size)))
}

fn named(matrix: &MatrixBlock, targets: u64) -> Result<Vec<Block>> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let Some(last) = cols.checked_sub(1).filter(|last| *last > 0) else {
        return Err(Error::dimension(
            "rows to be shuffled have at least one cell and their target",
        ));
    };
    let mut by_target: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for row in 0..rows {
        let target = matrix.get(row, last);
        // NaN is no target, and neither is what is below 0.
        if target >= 0.0 && target < targets as f64 {
            by_target.entry(target as u64).or_default().push(row);
        }
    }
    let all_rows = IndexRange::new(1, rows as i64);
    let cells = kernels::right_index(matrix, all_rows, IndexRange::new(1, last as i64))?;
    by_target
        .into_iter()
        .map(|(target, rows)| {
            let piece = kernels::take_rows(&cells, rows.len(), |row| rows[row])?;
            Ok(Block::new(target, 0, piece))
        })
        .collect()
}

/// Cells that are not zero with their places in a matrix of `rows` x `cols`.
fn placed_cells(
    stripe: &Block,
    (rows, cols): (u64, u64),
    every: u64,
    place: impl Fn(u64, u64) -> (u64, u64),
) -> Result<Vec<Block>> {
    let mut by_target: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    if stripe.row_offset == 0 {
        for target in 0..rows.div_ceil(every) {
            let height = every.min(rows - target * every);
            by_target.insert(target, vec![height as f64, cols as f64, 0.0]);
        }
    }
    stripe.matrix.for_each_stored(|row, col, value| {
        if value != 0.0 {
            let (row, col) = place(stripe.row_offset + row as u64, col as u64);
            let cells = by_target.entry(row / every).or_default();
            cells.extend([(row % every + 1) as f64, (col + 1) as f64, value]);
        }
    });
    by_target
        .into_iter()
        .map(|(target, cells)| {
            let piece = MatrixBlock::dense(cells.len() / 3, 3, cells)?;
            Ok(Block::new(target, 0, piece))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(rows: usize, cols: usize) -> MatrixBlock {
        let cells = (0..rows * cols).map(|cell| cell as f64).collect();
        MatrixBlock::dense(rows, cols, cells).expect("sized for it")
    }

    fn shown(pieces: &Pieces, result: &Block) -> Vec<(u64, Vec<f64>)> {
        let pieces = cut(pieces, result).expect("it can be cut");
        pieces
            .iter()
            .map(|piece| {
                (
                    piece.row_offset,
                    piece.matrix.to_dense().unwrap().values().to_vec(),
                )
            })
            .collect()
    }

    #[test]
    fn rows_and_columns_are_cut_at_multiples() {
        let result = Block::whole(numbered(3, 2));
        let rows = Pieces::Rows {
            every: 2,
            skip_zeros: false,
        };
        assert_eq!(
            shown(&rows, &result),
            [(0, vec![0.0, 1.0, 2.0, 3.0]), (1, vec![4.0, 5.0])]
        );
        assert_eq!(
            shown(&Pieces::Columns { every: 1 }, &result),
            [(0, vec![0.0, 2.0, 4.0]), (1, vec![1.0, 3.0, 5.0])]
        );
    }

    #[test]
    fn only_the_first_stripe_gives_pieces_of_zeros() {
        let rows = Pieces::Rows {
            every: 1,
            skip_zeros: true,
        };
        let cells = MatrixBlock::dense(2, 1, vec![0.0, 1.0]).expect("2 cells");
        assert_eq!(shown(&rows, &Block::new(0, 0, cells.clone())).len(), 2);
        assert_eq!(shown(&rows, &Block::new(7, 0, cells)), [(1, vec![1.0])]);
    }

    #[test]
    fn cells_go_where_another_shape_has_them() {
        // The second stripe of a 4 x 2 matrix, for stripes of one row of a 2 x 4 matrix.
        let cells = MatrixBlock::dense(2, 2, vec![4.0, f64::NAN, 0.0, 7.0]).expect("4 cells");
        let by = |by_row| Pieces::Cells {
            from_rows: 4,
            rows: 2,
            cols: 4,
            by_row,
            every: 1,
        };
        let below = Block::new(2, 0, cells.clone());
        let found = cut(&by(true), &below).expect("it can be cut");
        assert_eq!(found.len(), 1);
        let piece = found[0].matrix.to_dense().unwrap();
        assert_eq!(
            (found[0].row_offset, &piece.values()[..5]),
            (1, &[1.0, 1.0, 4.0, 1.0, 2.0][..])
        );
        assert!(piece.values()[5].is_nan());
        assert_eq!(piece.values()[6..], [1.0, 4.0, 7.0]);
        let targets = |block: &Block| -> Vec<u64> {
            let pieces = cut(&by(false), block).expect("it can be cut");
            pieces.iter().map(|piece| piece.row_offset).collect()
        };
        assert_eq!(targets(&below), [0, 1]);
        // The first stripe tells each target its size.
        let none = Block::new(0, 0, MatrixBlock::filled(1, 2, 0.0).unwrap());
        assert_eq!(
            shown(&by(true), &none),
            [(0, vec![1.0, 4.0, 0.0]), (1, vec![1.0, 4.0, 0.0])]
        );
    }

    #[test]
    fn rows_go_where_their_last_cell_says() {
        let cells = vec![1.0, 1.0, 2.0, 0.0, 3.0, 1.0, 4.0, f64::NAN, 5.0, 2.0];
        let result = Block::whole(MatrixBlock::dense(5, 2, cells).expect("10 cells"));
        assert_eq!(
            shown(&Pieces::Named { targets: 2 }, &result),
            [(0, vec![2.0]), (1, vec![1.0, 3.0])]
        );
        assert!(cut(&Pieces::Named { targets: 2 }, &Block::whole(numbered(2, 1))).is_err());
    }
}
