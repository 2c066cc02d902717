//! Operators that move cells: transpose, diagonal, reshape, binding side by side.

use fulgurite_error::Result;

use super::{Call, VariableInfo};
use crate::Characteristics;

pub(super) fn transpose(call: &Call) -> VariableInfo {
    let size = call.size_of(0);
    VariableInfo::matrix(Characteristics {
        rows: size.cols,
        cols: size.rows,
        nnz: size.nnz,
    })
}

/// A column becomes a diagonal matrix, a square matrix its diagonal: the rows stay in either case.
pub(super) fn diag(call: &Call) -> Result<VariableInfo> {
    let size = call.size_of(0);
    let (cols, nnz) = match (size.rows, size.cols) {
        (rows, Some(1)) => (rows, size.nnz),
        (Some(rows), Some(cols)) if rows != cols => {
            return Err(call
                .mismatch(format!("diag of a matrix that is {}", call.shape(0)))
                .with_help("diag takes a column vector or a square matrix"));
        }
        (rows, Some(_)) => (Some(1), rows.zip(size.nnz).map(|(rows, nnz)| nnz.min(rows))),
        (_, None) => (None, None),
    };
    Ok(VariableInfo::matrix(Characteristics {
        rows: size.rows,
        cols,
        nnz,
    }))
}

pub(super) fn reshape(call: &Call) -> Result<VariableInfo> {
    let input = call.size_of(0);
    let (mut rows, mut cols) = (call.size(1)?, call.size(2)?);
    if let Some(cells) = input.cells() {
        let side = |other: Option<u64>| cells.checked_div(other.filter(|other| *other > 0)?);
        (rows, cols) = (rows.or_else(|| side(cols)), cols.or_else(|| side(rows)));
        if let (Some(rows), Some(cols)) = (rows, cols)
            && rows.checked_mul(cols) != Some(cells)
        {
            return Err(call
                .mismatch(format!(
                    "{} has {cells} cells, which do not fill {rows} x {cols}",
                    call.shape(0)
                ))
                .with_help("the new shape needs as many cells as the matrix has"));
        }
    }
    Ok(VariableInfo::matrix(Characteristics {
        rows,
        cols,
        nnz: input.nnz,
    }))
}

pub(super) fn cbind(call: &Call) -> Result<VariableInfo> {
    let sizes = || (0..call.arity()).map(|place| call.size_of(place));
    Ok(bound(
        call,
        common(call, "rows", sizes().map(|size| size.rows))?,
        sum(sizes().map(|size| size.cols)),
    ))
}

pub(super) fn rbind(call: &Call) -> Result<VariableInfo> {
    let sizes = || (0..call.arity()).map(|place| call.size_of(place));
    Ok(bound(
        call,
        sum(sizes().map(|size| size.rows)),
        common(call, "columns", sizes().map(|size| size.cols))?,
    ))
}

fn bound(call: &Call, rows: Option<u64>, cols: Option<u64>) -> VariableInfo {
    let nnz = sum((0..call.arity()).map(|place| call.size_of(place).nnz));
    VariableInfo {
        characteristics: Characteristics { rows, cols, nnz },
        constant: None,
        // Frames bind as matrices do.
        ..call.input(0).clone()
    }
}

fn sum(mut sizes: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    sizes.try_fold(0u64, |sum, size| sum.checked_add(size?))
}

/// The number that all inputs have of what is named.
fn common(
    call: &Call,
    what: &str,
    sizes: impl Iterator<Item = Option<u64>>,
) -> Result<Option<u64>> {
    let mut known = sizes.flatten();
    let first = known.next();
    if known.all(|size| Some(size) == first) {
        return Ok(first);
    }
    let shapes: Vec<String> = (0..call.arity()).map(|place| call.shape(place)).collect();
    Err(call
        .mismatch(format!("shapes do not fit: {}", shapes.join(" and ")))
        .with_help(format!("all operands need the same number of {what}")))
}
