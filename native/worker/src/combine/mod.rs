//! How partial results become one, as the driver and workers combine them.
//!
//! - [`compensated`]: sums that carry what was rounded away.
//! - [`moments`]: variances, which need more than one sum.

pub mod compensated;
pub mod moments;

use fulgurite_dataflow::Combine;
use fulgurite_error::{Error, Result};
use fulgurite_hop::scalar::{maximum, minimum};
use fulgurite_matrix::{
    MatrixBlock,
    kernels::{self, Operand},
};

/// Two partial results as one.
///
/// # Errors
/// `dimension`, when their shapes differ, or there are not as many rows as ways to combine them.
pub fn combine(combine: &Combine, left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    if (left.rows(), left.cols()) != (right.rows(), right.cols()) {
        return Err(Error::dimension(format!(
            "partial results of {} x {} and {} x {} can't be combined",
            left.rows(),
            left.cols(),
            right.rows(),
            right.cols()
        )));
    }
    match combine {
        Combine::Sum => cells(left, right, |x, y| x + y),
        Combine::Product => cells(left, right, |x, y| x * y),
        Combine::Min => cells(left, right, minimum),
        Combine::Max => cells(left, right, maximum),
        Combine::Moments => moments::combine(left, right),
        Combine::Compensated(rows) => compensated::combine(rows, left, right),
        Combine::ByRow(rows) => combine_rows(rows, left, right),
    }
}

fn cells(
    left: &MatrixBlock,
    right: &MatrixBlock,
    function: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<MatrixBlock> {
    kernels::binary(Operand::Matrix(left), Operand::Matrix(right), function)
}

fn combine_rows(rows: &[Combine], left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    if rows.len() != left.rows() {
        return Err(Error::dimension(format!(
            "partial results of {} rows can't be combined in {} ways",
            left.rows(),
            rows.len()
        )));
    }
    let combined = rows
        .iter()
        .enumerate()
        .map(|(row, how)| {
            combine(
                how,
                &left.slice_rows(row, row + 1),
                &right.slice_rows(row, row + 1),
            )
        })
        .collect::<Result<Vec<_>>>()?;
    kernels::rbind(&combined.iter().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_results_combine_cell_by_cell() {
        let left = MatrixBlock::dense(1, 3, vec![1.0, 5.0, f64::NAN]).expect("3 cells");
        let right = MatrixBlock::dense(1, 3, vec![2.0, 3.0, 4.0]).expect("3 cells");
        let cells = |how| {
            let block = combine(&how, &left, &right).expect("equal shapes");
            format!("{:?}", block.to_dense().unwrap().values())
        };
        assert_eq!(cells(Combine::Sum), "[3.0, 8.0, NaN]");
        assert_eq!(cells(Combine::Product), "[2.0, 15.0, NaN]");
        assert_eq!(cells(Combine::Min), "[1.0, 3.0, NaN]");
        assert_eq!(cells(Combine::Max), "[2.0, 5.0, NaN]");
        let error = combine(
            &Combine::Sum,
            &left,
            &MatrixBlock::filled(1, 1, 0.0).unwrap(),
        );
        assert!(error.is_err());
    }

    #[test]
    fn rows_combine_each_in_its_way() {
        let column = |values| MatrixBlock::dense(3, 1, values).expect("3 cells");
        let (left, right) = (column(vec![1.0, 5.0, 4.0]), column(vec![2.0, 3.0, 6.0]));
        let rows = vec![Combine::Sum, Combine::Min, Combine::Max];
        let both = combine(&Combine::ByRow(rows.clone()), &left, &right).expect("equal shapes");
        assert_eq!(both.to_dense().unwrap().values(), [3.0, 3.0, 6.0]);
        assert!(combine(&Combine::ByRow(rows[1..].to_vec()), &left, &right).is_err());
    }
}
