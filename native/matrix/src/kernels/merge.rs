//! Puts together copies of a matrix that were changed in different cells.

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::parallel::{TASK_CELLS, csr_by_rows, settle, shape};
use crate::{CsrMatrix, MatrixBlock};

/// `merged`, with the cells in which `changed` differs from `original` as they are in `changed`. A cell differs if its
/// bits do: a zero may be written, and a NaN left alone. CSR has one zero: it is the negative one too.
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
    match (merged, original, changed) {
        (MatrixBlock::Csr(merged), MatrixBlock::Csr(original), MatrixBlock::Csr(changed)) => {
            sparse(&merged, original, changed).map(settle)
        }
        (merged, original, changed) => {
            let is_sparse = |matrix: &MatrixBlock| matches!(matrix, MatrixBlock::Csr(_));
            let one_zero = is_sparse(original) || is_sparse(changed);
            let differs = |original: f64, changed: f64| {
                let zeros = one_zero && original == 0.0 && changed == 0.0;
                original.to_bits() != changed.to_bits() && !zeros
            };
            let (original, changed) = (original.to_dense(), changed.to_dense());
            let (rows, cols) = (original.rows(), original.cols());
            let mut cells = match merged {
                MatrixBlock::Dense(merged) => merged.into_vec(),
                sparse => sparse.to_dense().into_vec(),
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
            ).expect("same shapes").to_dense();
            for (merged, expected) in merged.values().iter().zip(&expected) {
                // CSR has one zero.
                let same = merged.to_bits() == expected.to_bits();
                prop_assert!(same || (*merged == 0.0 && *expected == 0.0), "{} {}", merged, expected);
            }
        }
    }
}
