//! Putting many parts into a matrix, in one pass over it.

use std::ops::Range;

use fulgurite_error::{Error, Result};

use super::{
    index::{IndexRange, rbind},
    left_index::left_index,
    results::shape,
};
use crate::MatrixBlock;

/// Rows and columns, from 0, and the cells that they get.
#[derive(Debug, Clone)]
pub struct PlacedPart {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
    pub value: MatrixBlock,
}

/// The matrix with each part in its place; where parts overlap, the cells of the last one. In place where `matrix` is
/// dense and nobody else holds its cells.
///
/// # Errors
/// `dimension` for a part that is empty, has another shape than its value, or does not lie within the matrix.
pub fn put_parts(matrix: MatrixBlock, parts: &[PlacedPart]) -> Result<MatrixBlock> {
    if parts.is_empty() {
        return Ok(matrix);
    }
    if let MatrixBlock::Dense(_) = matrix {
        return parts.iter().try_fold(matrix, |matrix, part| {
            put(matrix, part, part.rows.start..part.rows.end)
        });
    }
    // Each left indexing of sparse cells lays them out anew: only rows that parts share are gone over again for each.
    let outside = parts.iter().find(|part| part.rows.end > matrix.rows());
    if let Some(part) = outside {
        return Err(Error::dimension(format!(
            "rows {}:{} of a {} matrix",
            part.rows.start + 1,
            part.rows.end,
            shape(&matrix)
        )));
    }
    let mut pieces = Vec::new();
    let mut above = 0;
    for group in sharing_rows(parts) {
        if above < group.rows.start {
            pieces.push(matrix.slice_rows(above, group.rows.start));
        }
        above = group.rows.end;
        let before = matrix.slice_rows(group.rows.start, group.rows.end);
        let changed = group.parts.iter().try_fold(before, |before, number| {
            let part = &parts[*number];
            let from = part.rows.start - group.rows.start;
            put(before, part, from..from + part.rows.len())
        });
        pieces.push(changed?);
    }
    if above < matrix.rows() {
        pieces.push(matrix.slice_rows(above, matrix.rows()));
    }
    rbind(&pieces.iter().collect::<Vec<_>>())
}

fn put(matrix: MatrixBlock, part: &PlacedPart, rows: Range<usize>) -> Result<MatrixBlock> {
    let range = |range: Range<usize>| IndexRange::new(range.start as i64 + 1, range.end as i64);
    left_index(matrix, &part.value, range(rows), range(part.cols.clone()))
}

/// Parts of which each shares rows with another one of the group, by number and in their order.
struct Group {
    rows: Range<usize>,
    parts: Vec<usize>,
}

/// From the first rows to the last.
fn sharing_rows(parts: &[PlacedPart]) -> Vec<Group> {
    let mut by_rows: Vec<usize> = (0..parts.len()).collect();
    by_rows.sort_by_key(|number| parts[*number].rows.start);
    let mut groups: Vec<Group> = Vec::new();
    for number in by_rows {
        let rows = parts[number].rows.clone();
        match groups.last_mut() {
            Some(group) if rows.start < group.rows.end => {
                group.rows.end = group.rows.end.max(rows.end);
                group.parts.push(number);
            }
            _ => groups.push(Group {
                rows,
                parts: vec![number],
            }),
        }
    }
    for group in &mut groups {
        group.parts.sort_unstable();
    }
    groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Layout;

    fn matrix(rows: usize, cols: usize, seed: usize) -> MatrixBlock {
        let cell = |index: usize| match (index * 7 + seed * 13) % 5 {
            0 => (index + seed) as f64 / 3.0,
            _ => 0.0,
        };
        MatrixBlock::dense(rows, cols, (0..rows * cols).map(cell).collect()).expect("sized for it")
    }

    /// Row, column, height, width.
    fn part() -> impl Strategy<Value = (usize, usize, usize, usize)> {
        (0..9usize, 0..6usize)
            .prop_flat_map(|(row, col)| (Just(row), Just(col), 1..=(9 - row), 1..=(6 - col)))
    }

    proptest! {
        #[test]
        fn parts_are_put_one_after_the_other(
            parts in proptest::collection::vec((part(), any::<bool>()), 0..12)
        ) {
            let parts: Vec<PlacedPart> = parts
                .into_iter()
                .enumerate()
                .map(|(number, ((row, col, height, width), sparse))| PlacedPart {
                    rows: row..row + height,
                    cols: col..col + width,
                    value: matrix(height, width, number + 1)
                        .in_layout(if sparse { Layout::Csr } else { Layout::Dense })
                        .unwrap(),
                })
                .collect();
            let mut expected = matrix(9, 6, 0).to_dense().unwrap().into_vec().unwrap();
            for part in &parts {
                for row in part.rows.clone() {
                    for col in part.cols.clone() {
                        let cell = part.value.get(row - part.rows.start, col - part.cols.start);
                        expected[row * 6 + col] = cell;
                    }
                }
            }
            for layout in [Layout::Dense, Layout::Csr, Layout::Coordinate] {
                let put = put_parts(matrix(9, 6, 0).in_layout(layout).unwrap(), &parts).expect("they fit");
                let put = put.to_dense().unwrap();
                prop_assert_eq!(put.values(), &expected[..], "{:?}", layout);
            }
        }
    }

    #[test]
    fn parts_lie_within_the_matrix() {
        for layout in [Layout::Dense, Layout::Csr] {
            let beyond = PlacedPart {
                rows: 8..10,
                cols: 0..1,
                value: matrix(2, 1, 1),
            };
            let error = put_parts(matrix(9, 6, 0).in_layout(layout).unwrap(), &[beyond]);
            let error = error.expect_err("there is no tenth row").to_string();
            assert!(error.contains("rows 9:10"), "{error}");
        }
    }
}
