//! Aggregates over all cells, rows or columns, and cumulative aggregates.

use fulgurite_error::Result;

use super::{Call, VariableInfo};
use crate::{AggregateOp, Characteristics, Direction, ValueType};

pub(super) fn aggregate(
    call: &Call,
    op: AggregateOp,
    direction: Direction,
) -> Result<VariableInfo> {
    let size = call.size_of(0);
    let index = matches!(op, AggregateOp::IndexMax | AggregateOp::IndexMin);
    if op.is_defined(&size) == Some(false) {
        let shape = call.shape(0);
        return Err(call.mismatch(match index {
            true => format!(
                "the rows of a matrix that is {shape} have no cell that could be the largest or smallest"
            ),
            false => format!("trace of a matrix that is not square: {shape}"),
        }));
    }
    let results = |results: Option<u64>| match size.nnz {
        // A row of zeros has the sum, product, extremes and moments 0, but an index even so.
        Some(nnz) if !index && size.cells() != Some(0) => results.map(|results| results.min(nnz)),
        _ => results,
    };
    Ok(match direction {
        Direction::Full => VariableInfo::scalar(ValueType::Double),
        Direction::Row => VariableInfo::matrix(Characteristics {
            rows: size.rows,
            cols: Some(1),
            nnz: results(size.rows),
        }),
        Direction::Col => VariableInfo::matrix(Characteristics {
            rows: Some(1),
            cols: size.cols,
            nnz: results(size.cols),
        }),
    })
}

/// One non-zero can fill the column below it.
pub(super) fn cumulative(call: &Call) -> VariableInfo {
    let size = call.size_of(0);
    let nnz = match size.nnz {
        Some(0) => Some(0),
        _ => size.cells(),
    };
    VariableInfo::matrix(Characteristics { nnz, ..size })
}
