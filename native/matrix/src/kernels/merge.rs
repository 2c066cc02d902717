//! Puts together copies of a matrix that were changed in different cells.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::results::{settle, shape};
use crate::{
    ByRows, CsrMatrix, MatrixBlock,
    parallel::{TASK_CELLS, csr_by_rows},
};

/// `merged`, with the cells in which `changed` differs from `original` as they are in `changed`. A cell differs if its
/// bits do: a zero may be written, and a NaN left alone. Sparse layouts have one zero: it is the negative one too.
///
/// # Errors
/// `dimension` when the shapes differ.
pub fn merge_changes(
    merged: MatrixBlock,
    original: &MatrixBlock,
    changed: &MatrixBlock,
) -> Result<MatrixBlock> {
    for other in [&merged, changed] {
        if (other.rows(), other.cols()) != (original.rows(), original.cols()) {
            return Err(Error::dimension(format!(
                "changes of a {} matrix cannot be merged into a {} matrix",
                shape(original),
                shape(other)
            )));
        }
    }
    match (merged.by_rows()?, original.by_rows()?, changed.by_rows()?) {
        (ByRows::Csr(merged), ByRows::Csr(original), ByRows::Csr(changed)) => {
            sparse(&merged, &original, &changed).and_then(settle)
        }
        _ => {
            let differs = differs(original, changed);
            let (original, changed) = (original.to_dense()?, changed.to_dense()?);
            let (rows, cols) = (original.rows(), original.cols());
            let mut cells = match merged {
                MatrixBlock::Dense(merged) => merged.into_vec()?,
                sparse => sparse.to_dense()?.into_vec()?,
            };
            cells
                .par_chunks_mut(TASK_CELLS)
                .zip(original.values().par_chunks(TASK_CELLS))
                .zip(changed.values().par_chunks(TASK_CELLS))
                .for_each(|((out, original), changed)| {
                    for ((out, original), changed) in out.iter_mut().zip(original).zip(changed) {
                        if differs(*original, *changed) {
                            *out = *changed;
                        }
                    }
                });
            MatrixBlock::dense(rows, cols, cells)
        }
    }
}

/// The rows and columns outside of which `changed` is as `original`, told apart as [`merge_changes`] does; `None` where
/// nothing has changed.
///
/// # Errors
/// `dimension` when the shapes differ.
pub fn changed_part(
    original: &MatrixBlock,
    changed: &MatrixBlock,
) -> Result<Option<(Range<usize>, Range<usize>)>> {
    if (original.rows(), original.cols()) != (changed.rows(), changed.cols()) {
        return Err(Error::dimension(format!(
            "a {} matrix has become a {} matrix",
            shape(original),
            shape(changed)
        )));
    }
    let mut part = None;
    match (original.by_rows()?, changed.by_rows()?) {
        (ByRows::Csr(original), ByRows::Csr(changed)) => {
            for row in 0..original.rows() {
                let mut cells = [original.row(row), changed.row(row)];
                while let Some(col) = cells
                    .iter()
                    .filter_map(|(cols, _)| cols.first())
                    .min()
                    .copied()
                {
                    let [original, changed] = cells.each_mut().map(|row| take(row, col));
                    if original.to_bits() != changed.to_bits() {
                        widen(&mut part, row, col as usize);
                    }
                }
            }
        }
        _ => {
            let differs = differs(original, changed);
            let (original, changed) = (original.to_dense()?, changed.to_dense()?);
            for row in 0..original.rows() {
                let cells = || original.row(row).iter().zip(changed.row(row));
                let is_change = |(original, changed): (&f64, &f64)| differs(*original, *changed);
                if let Some(first) = cells().position(is_change) {
                    widen(&mut part, row, first);
                    let last = cells().rposition(is_change).unwrap_or(first);
                    widen(&mut part, row, last);
                }
            }
        }
    }
    Ok(part)
}

/// The part, with a cell more.
fn widen(part: &mut Option<(Range<usize>, Range<usize>)>, row: usize, col: usize) {
    let (rows, cols) = part.get_or_insert_with(|| (row..row + 1, col..col + 1));
    *rows = rows.start.min(row)..rows.end.max(row + 1);
    *cols = cols.start.min(col)..cols.end.max(col + 1);
}

/// How cells of the two are told apart, unless both are sparse.
fn differs(
    original: &MatrixBlock,
    changed: &MatrixBlock,
) -> impl Fn(f64, f64) -> bool + Sync + use<> {
    let is_sparse = |matrix: &MatrixBlock| !matches!(matrix, MatrixBlock::Dense(_));
    let one_zero = is_sparse(original) || is_sparse(changed);
    move |original: f64, changed: f64| {
        let zeros = one_zero && original == 0.0 && changed == 0.0;
        original.to_bits() != changed.to_bits() && !zeros
    }
}

fn sparse(merged: &CsrMatrix, original: &CsrMatrix, changed: &CsrMatrix) -> Result<CsrMatrix> {
    let stored = merged.stored().max(original.stored()).max(changed.stored());
    let per_row = 3 * (stored / original.rows().max(1) + 1);
    csr_by_rows(original.rows(), original.cols(), per_row, |task, out| {
        for row in task {
            let mut rows = [merged.row(row), original.row(row), changed.row(row)];
            while let Some(col) = rows
                .iter()
                .filter_map(|(cols, _)| cols.first())
                .min()
                .copied()
            {
                let [merged, original, changed] = rows.each_mut().map(|row| take(row, col));
                out.push(
                    col as usize,
                    match original.to_bits() == changed.to_bits() {
                        true => merged,
                        false => changed,
                    },
                );
            }
            out.end_row();
        }
    })
}

/// The value of a row's next cell, if it is in this column.
fn take((cols, values): &mut (&[i32], &[f64]), col: i32) -> f64 {
    match (cols.split_first(), values.split_first()) {
        (Some((first, later_cols)), Some((value, later_values))) if *first == col => {
            (*cols, *values) = (later_cols, later_values);
            *value
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cells() -> impl Strategy<Value = Vec<f64>> {
        let cell = prop_oneof![3 => Just(0.0), 1 => Just(-0.0), 1 => Just(f64::NAN), 3 => 1.0..5.0];
        proptest::collection::vec(cell, 12)
    }

    #[test]
    fn a_negative_zero_that_became_sparse_is_no_change() {
        let dense = |cell| MatrixBlock::dense(1, 1, vec![cell]).expect("one cell");
        let sparse = MatrixBlock::Csr(dense(-0.0).to_csr().expect("one column"));
        let merged = merge_changes(dense(7.0), &dense(-0.0), &sparse).expect("same shapes");
        assert_eq!(merged.get(0, 0), 7.0);
        let merged = merge_changes(dense(7.0), &dense(-0.0), &dense(0.0)).expect("same shapes");
        assert_eq!(merged.get(0, 0), 0.0);
    }

    proptest! {
        #[test]
        fn the_changed_part_is_as_small_as_can_be(
            original in cells(),
            new in cells(),
            kept in proptest::collection::vec(proptest::bool::weighted(0.8), 12),
            layouts in proptest::array::uniform2(any::<bool>()),
        ) {
            let block = |cells: Vec<f64>, is_sparse: bool| {
                let dense = MatrixBlock::dense(3, 4, cells).expect("12 cells");
                match is_sparse {
                    true => MatrixBlock::Csr(dense.to_csr().expect("a few columns")),
                    false => dense,
                }
            };
            let changed: Vec<f64> = (0..12).map(|at| if kept[at] { original[at] } else { new[at] }).collect();
            let one_zero = layouts[0] || layouts[1];
            let differing = (0..12).filter(|at| {
                let (was, is) = (original[*at], changed[*at]);
                was.to_bits() != is.to_bits() && !(one_zero && was == 0.0 && is == 0.0)
            });
            let differing: Vec<(usize, usize)> = differing.map(|at| (at / 4, at % 4)).collect();
            let expected = differing.first().map(|_| {
                let span = |of: fn(&(usize, usize)) -> usize| {
                    let places = || differing.iter().map(of);
                    places().min().unwrap_or(0)..places().max().unwrap_or(0) + 1
                };
                (span(|cell| cell.0), span(|cell| cell.1))
            });
            let found = changed_part(&block(original, layouts[0]), &block(changed, layouts[1]));
            prop_assert_eq!(found, Ok(expected));
        }

        #[test]
        fn changed_cells_are_taken_in_any_layout(
            original in cells(),
            one in cells(),
            other in cells(),
            owner in proptest::collection::vec(0..3, 12),
            layouts in proptest::array::uniform3(any::<bool>()),
        ) {
            let pick = |mine: i32, new: &[f64]| -> Vec<f64> {
                let places = 0..12;
                places.map(|at| if owner[at] == mine { new[at] } else { original[at] }).collect()
            };
            let expected: Vec<f64> = (0..12).map(|at| [&original, &one, &other][owner[at] as usize][at]).collect();
            let block = |cells: Vec<f64>, is_sparse: bool| {
                let dense = MatrixBlock::dense(3, 4, cells).expect("12 cells");
                match is_sparse {
                    true => MatrixBlock::Csr(dense.to_csr().expect("a few columns")),
                    false => dense,
                }
            };
            let merged = merge_changes(
                block(pick(1, &one), layouts[0]),
                &block(original.clone(), layouts[1]),
                &block(pick(2, &other), layouts[2]),
            ).expect("same shapes").to_dense().unwrap();
            for (merged, expected) in merged.values().iter().zip(&expected) {
                // CSR has one zero.
                let same = merged.to_bits() == expected.to_bits();
                prop_assert!(same || (*merged == 0.0 && *expected == 0.0), "{} {}", merged, expected);
            }
        }
    }
}
