//! Pieces of a task's result, for shuffles: see [`Pieces`].

use std::collections::BTreeMap;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    MatrixBlock,
    arrow_block::Block,
    kernels::{self, IndexRange},
};

use crate::dataflow::Pieces;

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
            .map(|piece| (piece.row_offset, piece.matrix.to_dense().values().to_vec()))
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
