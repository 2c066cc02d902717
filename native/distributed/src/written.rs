//! Puts parts that were written into matrices in their places, here or on the workers. Without workers all is here.

use std::ops::Range;

use fulgurite_dataflow::{LocalMatrix, Part, PartValue, Variable, WrittenMatrix};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    MatrixBlock,
    kernels::{self, IndexRange, PlacedPart},
};

use super::{
    sizes::dense_bytes,
    workers::{Workers, no_backend},
};

/// What a range has from parts.
pub struct PartsInRange {
    pub parts: Vec<Part>,
    /// Nothing of the matrix without the parts is seen.
    pub hides_base: bool,
}

/// What a range of the matrix has from the parts, in places of the range, in their order. The first covers it if
/// nothing of the base is seen.
///
/// # Errors
/// Of the backend.
pub fn parts_in(
    written: &WrittenMatrix,
    rows: &Range<u64>,
    cols: &Range<u64>,
    workers: Option<&Workers>,
) -> Result<PartsInRange> {
    let mut found = Vec::new();
    let mut hides_base = false;
    for part in written.parts().iter().rev() {
        if part.overlaps(rows, cols) {
            found.push(within(part, rows, cols, workers)?);
            hides_base = part.covers(rows, cols);
            if hides_base {
                break;
            }
        }
    }
    found.reverse();
    Ok(PartsInRange {
        parts: found,
        hides_base,
    })
}

/// What of it is in the range, in which it then has its place.
fn within(
    part: &Part,
    rows: &Range<u64>,
    cols: &Range<u64>,
    workers: Option<&Workers>,
) -> Result<Part> {
    let cut =
        |own: &Range<u64>, range: &Range<u64>| own.start.max(range.start)..own.end.min(range.end);
    let moved = |range: &Range<u64>, by: u64| range.start - by..range.end - by;
    let (own_rows, own_cols) = (cut(&part.rows, rows), cut(&part.cols, cols));
    let of_value = (
        moved(&own_rows, part.rows.start),
        moved(&own_cols, part.cols.start),
    );
    Ok(Part {
        rows: moved(&own_rows, rows.start),
        cols: moved(&own_cols, cols.start),
        value: match &part.value {
            PartValue::Here(matrix) => {
                let block = matrix.block();
                let (rows, cols) = (
                    IndexRange::from_zero(&of_value.0),
                    IndexRange::from_zero(&of_value.1),
                );
                let cut = kernels::right_index(block, rows, cols)?;
                PartValue::Here(LocalMatrix::new(cut))
            }
            PartValue::There(matrix) => {
                let workers = workers.ok_or_else(no_backend)?;
                PartValue::There(workers.range_of(matrix, of_value.0, of_value.1)?)
            }
        },
    })
}

/// As kernels take it, for a matrix that is here.
fn placed(part: &Part) -> Result<PlacedPart> {
    let value = match &part.value {
        PartValue::Here(matrix) => matrix.clone(),
        PartValue::There(matrix) => matrix.collect()?,
    };
    Ok(PlacedPart {
        rows: part.rows.start as usize..part.rows.end as usize,
        cols: part.cols.start as usize..part.cols.end as usize,
        value: value.into_block(),
    })
}

/// The matrix with all parts in their places. What is lazy is not kept.
///
/// # Errors
/// Of the backend.
pub fn whole(written: &WrittenMatrix, workers: Option<&Workers>) -> Result<Variable> {
    put(written.base(), written.parts().to_vec(), workers)
}

/// The matrix with the parts in it: here, if it is here and all of it fits, else on the workers.
///
/// # Errors
/// Of the backend.
pub fn put(matrix: &Variable, parts: Vec<Part>, workers: Option<&Workers>) -> Result<Variable> {
    if parts.is_empty() {
        return Ok(matrix.clone());
    }
    match matrix {
        Variable::Matrix(base) if fits_here(base.block(), &parts, workers) => {
            put_here(base.block(), &parts)
        }
        Variable::Scalar(_) | Variable::List(_) | Variable::Frame(_) | Variable::Range(_) => {
            Err(Error::internal("parts are written into what is no matrix"))
        }
        Variable::Written(written) => {
            let mut written = written.clone();
            written.extend(parts);
            whole(&written, workers)
        }
        Variable::Matrix(_) | Variable::Distributed(_) => {
            let workers = workers.ok_or_else(no_backend)?;
            let whole = workers.put(&workers.distributed(matrix)?, parts)?;
            Ok(Variable::Distributed(whole))
        }
    }
}

/// A matrix that is here with the parts in it, wherever these are.
///
/// # Errors
/// Of the backend; `memory`, where there is none for the result.
pub fn put_here(matrix: &MatrixBlock, parts: &[Part]) -> Result<Variable> {
    let placed = parts.iter().map(placed).collect::<Result<Vec<_>>>()?;
    kernels::put_parts(matrix.clone(), &placed).map(Variable::matrix)
}

fn fits_here(matrix: &MatrixBlock, parts: &[Part], workers: Option<&Workers>) -> bool {
    let of_part = |part: &Part| match &part.value {
        PartValue::Here(matrix) => Some(matrix.block().memory_bytes() as u64),
        PartValue::There(_) => None,
    };
    let Some(bytes) = parts.iter().map(of_part).sum::<Option<u64>>() else {
        return false;
    };
    let before = matrix.memory_bytes() as u64;
    let after = dense_bytes(matrix).min(before.saturating_add(bytes));
    workers.is_none_or(|workers| before.saturating_add(after) <= workers.config.memory_local)
}
