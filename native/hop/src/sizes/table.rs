//! Contingency tables.

use fulgurite_error::Result;

use super::{Call, VariableInfo};
use crate::{Characteristics, DataGenOp, HopOp};

/// Without output sizes the data decide: rows are known only for `table(seq(1, n), v)`, which has a row
/// for each row of `v` by definition, and columns only for a scalar B.
pub(super) fn table(call: &Call) -> Result<VariableInfo> {
    same_shapes(call)?;
    let (rows, cols) = if call.arity() == 5 {
        (call.size(3)?, call.size(4)?)
    } else {
        let rows = counts_rows(call)
            .then(|| call.size_of(0).rows.or(rows_of_column(call)))
            .flatten();
        let cols = match call.is_scalar(1) {
            true => call.size(1)?,
            false => None,
        };
        (rows, cols)
    };
    let size = Characteristics::new(rows, cols, None);
    let pairs = call.size_of(0).cells();
    let nnz = match (pairs, size.cells()) {
        (Some(pairs), Some(cells)) => Some(pairs.min(cells)),
        (pairs, _) => pairs,
    };
    Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
}

/// Whether the first input is `seq(1, n)`.
fn counts_rows(call: &Call) -> bool {
    let number = |place| call.source_constant(0, place)?.as_f64();
    let ascending = |increment: f64| increment == 1.0 || increment.is_nan();
    call.source(0).op == HopOp::DataGen(DataGenOp::Seq)
        && number(0) == Some(1.0)
        && number(2).is_some_and(ascending)
}

/// Of the second input, which may be a row that pairs up with the sequence.
fn rows_of_column(call: &Call) -> Option<u64> {
    let categories = call.size_of(1);
    categories.rows.filter(|_| categories.cols == Some(1))
}

/// Vectors pair up in their order, rows with columns too.
fn same_shapes(call: &Call) -> Result<()> {
    let first = call.size_of(0);
    for place in [1, 2] {
        if !call.is_matrix(place) {
            continue;
        }
        let other = call.size_of(place);
        let differ = |left: Option<u64>, right: Option<u64>| {
            left.zip(right).is_some_and(|(left, right)| left != right)
        };
        let is_vector = |size: Characteristics| size.rows == Some(1) || size.cols == Some(1);
        let differ = match is_vector(first) && is_vector(other) {
            true => differ(first.cells(), other.cells()),
            false => differ(first.rows, other.rows) || differ(first.cols, other.cols),
        };
        if differ {
            return Err(call
                .mismatch(format!(
                    "shapes do not fit: {} and {}",
                    call.shape(0),
                    call.shape(place)
                ))
                .with_help("the matrices of a table pair up cell by cell"));
        }
    }
    Ok(())
}
