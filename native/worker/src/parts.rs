//! Parts that tasks put over cells of their results: see [`Parts`](fulgurite_dataflow::Parts).
//!
//! However many parts there are, tasks get them as three matrices at most.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    MatrixBlock,
    arrow_block::Block,
    kernels::{self, IndexRange, PlacedPart},
    memory,
};

/// Columns of the places.
const WIDTH: usize = 6;

/// What tasks get.
#[derive(Debug)]
pub struct Packed {
    pub places: MatrixBlock,
    pub cells: Option<MatrixBlock>,
    pub rows: Option<MatrixBlock>,
}

/// The parts of a matrix with so many columns, in the order in which they are put.
///
/// # Errors
/// `memory`, where dense parts together have more cells than a matrix can have.
pub fn pack(parts: &[PlacedPart], cols: usize) -> Result<Packed> {
    let mut places = memory::room(parts.len() * WIDTH)?;
    let mut cells = Vec::new();
    let mut rows = Vec::new();
    let mut sparse_rows = 0;
    for part in parts {
        let start = match &part.value {
            MatrixBlock::Dense(dense) => {
                let start = cells.len();
                cells.extend_from_slice(dense.values());
                start
            }
            sparse => {
                rows.push(in_columns(sparse, &part.cols, cols)?);
                sparse_rows += sparse.rows();
                sparse_rows - sparse.rows()
            }
        };
        let is_sparse = !matches!(part.value, MatrixBlock::Dense(_));
        let numbers = [
            usize::from(is_sparse),
            start,
            part.rows.start,
            part.rows.end,
            part.cols.start,
            part.cols.end,
        ];
        places.extend(numbers.map(|number| number as f64));
    }
    let sparse: Vec<&MatrixBlock> = rows.iter().collect();
    Ok(Packed {
        places: MatrixBlock::dense(parts.len(), WIDTH, places)?,
        cells: match cells.len() {
            0 => None,
            count => Some(MatrixBlock::dense(count, 1, cells)?),
        },
        rows: match sparse.is_empty() {
            true => None,
            false => Some(kernels::rbind(&sparse)?),
        },
    })
}

/// Sparse cells in a matrix of all columns.
fn in_columns(value: &MatrixBlock, place: &Range<usize>, cols: usize) -> Result<MatrixBlock> {
    if place.len() == cols {
        return Ok(value.clone());
    }
    let zeros = |width: usize| match width {
        0 => Ok(None),
        _ => kernels::fill(0.0, value.rows(), width).map(Some),
    };
    let (left, right) = (zeros(place.start)?, zeros(cols - place.end)?);
    let beside: Vec<&MatrixBlock> = left.iter().chain([value]).chain(&right).collect();
    kernels::cbind(&beside)
}

/// The stripe with the cells of the parts in it.
///
/// # Errors
/// `plan`, for parts that are not what [`pack`] makes; as [`kernels::put_parts`].
pub(super) fn put(packed: &Packed, stripe: Block) -> Result<Block> {
    let first = usize::try_from(stripe.row_offset)
        .map_err(|_| Error::dimension("a stripe stands beyond the last row there can be"))?;
    let last = first.saturating_add(stripe.matrix.rows());
    let places = packed.places.to_dense()?;
    let mut own = Vec::new();
    for place in (0..places.rows()).map(|row| places.row(row)) {
        let [is_sparse, start, top, bottom, left, right] = whole_numbers(place)?;
        let rows = top.max(first)..bottom.min(last);
        if rows.is_empty() {
            continue;
        }
        let (above, cols) = (rows.start - top, left..right);
        let value = match (is_sparse, &packed.cells, &packed.rows) {
            (0, Some(MatrixBlock::Dense(cells)), _) => {
                let from = start + above * cols.len();
                let cells = cells.values().get(from..from + rows.len() * cols.len());
                let cells = cells.ok_or_else(not_understood)?.to_vec();
                MatrixBlock::dense(rows.len(), cols.len(), cells)?
            }
            (1, _, Some(sparse)) => {
                let from = (start + above) as i64;
                let lines = IndexRange::new(from + 1, from + rows.len() as i64);
                let columns = IndexRange::new(left as i64 + 1, right as i64);
                kernels::right_index(sparse, lines, columns)?
            }
            _ => return Err(not_understood()),
        };
        own.push(PlacedPart {
            rows: rows.start - first..rows.end - first,
            cols,
            value,
        });
    }
    let matrix = kernels::put_parts(stripe.matrix, &own)?;
    Ok(Block::new(stripe.row_offset, stripe.column_offset, matrix))
}

fn whole_numbers(place: &[f64]) -> Result<[usize; WIDTH]> {
    let mut numbers = [0; WIDTH];
    if place.len() != WIDTH {
        return Err(not_understood());
    }
    for (number, cell) in numbers.iter_mut().zip(place) {
        *number = *cell as usize;
    }
    Ok(numbers)
}

fn not_understood() -> Error {
    Error::plan("the parts that a task puts into its result are not understood")
}

#[cfg(test)]
mod tests {
    use fulgurite_matrix::Layout;
    use proptest::prelude::*;

    use super::*;

    fn value(rows: usize, cols: usize, number: usize, layout: Layout) -> MatrixBlock {
        // Negative zeros and NaN are cells like others.
        let cell = |index: usize| match (index + number) % 4 {
            0 if layout == Layout::Dense => -0.0,
            1 => f64::NAN,
            2 => 0.0,
            _ => index as f64 / 7.0 + number as f64,
        };
        let cells = (0..rows * cols).map(cell).collect();
        MatrixBlock::dense(rows, cols, cells)
            .expect("sized for it")
            .in_layout(layout)
            .unwrap()
    }

    fn bits(matrix: &MatrixBlock) -> Vec<u64> {
        let dense = matrix.to_dense().unwrap();
        dense.values().iter().map(|cell| cell.to_bits()).collect()
    }

    proptest! {
        #[test]
        fn stripes_get_what_the_whole_matrix_gets(
            places in proptest::collection::vec(
                (0..11usize, 1..6usize, 0..4usize, 1..4usize, any::<bool>()),
                1..10,
            ),
            height in 1..12usize,
        ) {
            let parts: Vec<PlacedPart> = places
                .into_iter()
                .enumerate()
                .map(|(number, (row, rows, col, cols, is_sparse))| {
                    let (rows, cols) = (row..(row + rows).min(11), col..(col + cols).min(4));
                    let layout = if is_sparse { Layout::Csr } else { Layout::Dense };
                    let value = value(rows.len(), cols.len(), number, layout);
                    PlacedPart { rows, cols, value }
                })
                .collect();
            let matrix = value(11, 4, 99, Layout::Dense);
            let expected = kernels::put_parts(matrix.clone(), &parts).expect("they fit");
            let packed = pack(&parts, 4).expect("they fit");
            for from in (0..11).step_by(height) {
                let until = (from + height).min(11);
                let stripe = Block::new(from as u64, 0, matrix.slice_rows(from, until));
                let put = put(&packed, stripe).expect("they fit");
                prop_assert_eq!(put.row_offset, from as u64);
                prop_assert_eq!(bits(&put.matrix), bits(&expected.slice_rows(from, until)));
            }
        }
    }
}
