//! Results from copies of a matrix that threads or tasks wrote into, each in cells of its own.

use fulgurite_dataflow::{List, LocalMatrix, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_frame::Frame;
use fulgurite_matrix::{
    MatrixBlock,
    arrow_block::Block,
    kernels::{self, IndexRange},
};

/// What a task on a worker did to a result.
pub(super) enum Change {
    /// Nothing has changed outside of this part.
    Part(Block),
    /// It has other sizes now.
    Replaced(MatrixBlock),
}

/// A result from what tasks did to it, each in cells of its own.
///
/// # Errors
/// As [`merged`].
pub(super) fn with_changes(
    name: &str,
    original: &LocalMatrix,
    changes: Vec<Change>,
) -> Result<LocalMatrix> {
    let is_part = |change: &Change| matches!(change, Change::Part(_));
    if !changes.iter().all(is_part) {
        let copies = changes.into_iter().map(|change| match change {
            Change::Part(part) => put(original.block().clone(), &part),
            Change::Replaced(matrix) => Ok(matrix),
        });
        let copies = copies.map(|copy| copy.map(LocalMatrix::new));
        return merged(name, original, copies.collect::<Result<_>>()?);
    }
    let parts = changes.into_iter().filter_map(|change| match change {
        Change::Part(part) => Some(part),
        Change::Replaced(_) => None,
    });
    let parts: Vec<Block> = parts.collect();
    let apart = parts
        .iter()
        .enumerate()
        .all(|(index, part)| parts[..index].iter().all(|other| !overlap(part, other)));
    if parts.is_empty() {
        return Ok(original.clone());
    }
    let mut result = original.block().clone();
    for part in &parts {
        result = match apart {
            true => put(result, part)?,
            // Cells that this task left alone are another one's.
            false => {
                let changed = put(original.block().clone(), part)?;
                kernels::merge_changes(result, original.block(), &changed)?
            }
        };
    }
    Ok(LocalMatrix::new(result))
}

/// The matrix with the cells of the part in its place.
fn put(matrix: MatrixBlock, part: &Block) -> Result<MatrixBlock> {
    let range = |offset: u64, length: usize| {
        let first = offset as i64 + 1;
        IndexRange::new(first, first + length as i64 - 1)
    };
    let rows = range(part.row_offset, part.matrix.rows());
    let cols = range(part.column_offset, part.matrix.cols());
    kernels::left_index(matrix, &part.matrix, rows, cols)
}

fn overlap(one: &Block, other: &Block) -> bool {
    let meet = |from: u64, length: usize, other_from: u64, other_length: usize| {
        from < other_from + other_length as u64 && other_from < from + length as u64
    };
    let (a, b) = (&one.matrix, &other.matrix);
    meet(one.row_offset, a.rows(), other.row_offset, b.rows())
        && meet(one.column_offset, a.cols(), other.column_offset, b.cols())
}

/// A result from the copies that threads wrote into, each in cells of its own.
///
/// # Errors
/// `runtime`, when several assigned it whole and with other sizes.
pub(super) fn merged(
    name: &str,
    original: &LocalMatrix,
    copies: Vec<LocalMatrix>,
) -> Result<LocalMatrix> {
    let mut changed = copies.into_iter().filter(|copy| !copy.is(original));
    let Some(first) = changed.next() else {
        return Ok(original.clone());
    };
    let others: Vec<LocalMatrix> = changed.collect();
    if others.is_empty() {
        return Ok(first);
    }
    let mut merged = first.into_block();
    for other in others {
        merged =
            kernels::merge_changes(merged, original.block(), other.block()).map_err(|error| {
                Error::runtime(format!(
                    "iterations of the parfor left '{name}' with other sizes: {}",
                    error.message()
                ))
                .with_help("write into parts of it, or write `for`")
            })?;
    }
    Ok(LocalMatrix::new(merged))
}

/// A list from the copies that threads wrote into, each in elements of its own.
///
/// # Errors
/// `runtime`, when one left it with another length.
pub(super) fn merged_list(name: &str, original: &List, copies: &[Variable]) -> Result<List> {
    let mut merged = original.clone();
    for copy in copies {
        let Variable::List(copy) = copy else {
            continue;
        };
        if copy.len() != original.len() {
            return Err(Error::runtime(format!(
                "iterations of the parfor left the list '{name}' with another length"
            ))
            .with_help("write into elements that are there, or write `for`"));
        }
        let pairs = original.elements().iter().zip(copy.elements());
        for (place, (before, after)) in pairs.enumerate() {
            if !after.value.is(&before.value) {
                let new = Variable::List(List::new(vec![after.clone()]));
                merged = merged.with(place..place + 1, &new)?;
            }
        }
    }
    Ok(merged)
}

/// A frame from the copies that threads wrote into, each in cells of its own.
///
/// # Errors
/// `runtime`, when one left it with other sizes.
pub(super) fn merged_frame(name: &str, original: &Frame, copies: &[Variable]) -> Result<Frame> {
    let mut merged = original.clone();
    for copy in copies {
        let Variable::Frame(copy) = copy else {
            continue;
        };
        if !copy.is(original) {
            merged = merged.with_changes(original, copy).map_err(|error| {
                Error::runtime(format!(
                    "iterations of the parfor left '{name}' with other sizes: {}",
                    error.message()
                ))
                .with_help("write into parts of it, or write `for`")
            })?;
        }
    }
    Ok(merged)
}
