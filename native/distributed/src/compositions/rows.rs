//! Ranges of rows: right and left indexing, and matrices one below the other. Stripes are taken as they are and only
//! cut where a range begins or ends within one.

use std::ops::Range;

use fulgurite_dataflow::{DistributedMatrix, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Formulas, scalar};
use fulgurite_matrix::{MatrixBlock, kernels::IndexRange};

use super::{input, size};
use crate::{
    operator::Operator,
    row_wise::Slot,
    task_builder::TaskBuilder,
    workers::{Rows, Workers},
};

/// `X[rows, cols]`.
pub(super) fn right_index(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let matrix = input(inputs, 0)?;
    let known = matrix.characteristics();
    let rows = indexed(inputs, 1, known.rows, "row")?;
    let cols = indexed(inputs, 3, known.cols, "column")?;
    let dims = Characteristics::dims(rows.end - rows.start, cols.end - cols.start);
    let matrix = match matrix {
        Variable::Distributed(matrix) => matrix.clone(),
        other => workers.distributed(other)?,
    };
    let mut result = range_of(workers, operator.label, &matrix, rows, cols)?;
    result.stripes.nnz = estimated_non_zeros(operator, dims);
    Ok(Variable::Distributed(result))
}

/// A range of rows and columns, which lies as the matrix does: the rows of a transpose are columns of what is there.
pub(super) fn range_of(
    workers: &Workers,
    label: &str,
    matrix: &DistributedMatrix,
    rows: Range<u64>,
    cols: Range<u64>,
) -> Result<DistributedMatrix> {
    match matrix.transposed {
        true => Ok(part(workers, label, matrix, cols, rows)?.transpose()),
        false => part(workers, label, matrix, rows, cols),
    }
}

/// A range of rows and columns of a matrix's stripes.
fn part(
    workers: &Workers,
    label: &str,
    matrix: &DistributedMatrix,
    rows: Range<u64>,
    cols: Range<u64>,
) -> Result<DistributedMatrix> {
    let part = workers.concatenate(&[Rows {
        of: matrix,
        from: rows.start,
        until: rows.end,
    }])?;
    let stripes = Characteristics::dims(rows.end - rows.start, cols.end - cols.start);
    if Some(cols.end - cols.start) == matrix.stripes.cols {
        return Ok(DistributedMatrix::new(part.dataset, stripes));
    }
    let mut builder = TaskBuilder::new(workers, &part);
    let stripe = builder.lead();
    let (first, last) = (builder.int(cols.start + 1), builder.int(cols.end));
    let root = builder.columns(stripe, first, last);
    let dataset = builder.map(root, label)?;
    Ok(DistributedMatrix::new(dataset, stripes))
}

/// What was estimated of the result when it was planned, if it was planned with these dimensions.
fn estimated_non_zeros(operator: &Operator, dims: Characteristics) -> Option<u64> {
    let planned = operator.hop.characteristics;
    let same =
        [(dims.rows, dims.cols), (dims.cols, dims.rows)].contains(&(planned.rows, planned.cols));
    planned.nnz.filter(|_| same)
}

/// `X[rows, cols] = Y`: the rows above, the rows in which cells change, the rows below.
pub(super) fn left_index(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let matrix = workers.distributed(input(inputs, 0)?)?;
    let known = matrix.stripes;
    let IndexedPart { rows, cols, value } = IndexedPart::written(inputs, known)?;
    let (height, width) = (rows.end - rows.start, cols.end - cols.start);
    let whole = |of, from, until| Rows { of, from, until };
    let changed = if Some(width) == known.cols {
        workers.distributed(&value)?
    } else {
        let before = workers.concatenate(&[whole(&matrix, rows.start, rows.end)])?;
        let mut builder = TaskBuilder::new(workers, &before);
        let stripe = builder.lead();
        let value = builder.bind(Slot::Rows, &value)?;
        let root = builder.with_columns(stripe, value, cols.start + 1, cols.end);
        let dataset = builder.map(root, operator.label)?;
        let stripes = Characteristics::new(Some(height), known.cols, None);
        DistributedMatrix::new(dataset, stripes)
    };
    let mut result = workers.concatenate(&[
        whole(&matrix, 0, rows.start),
        whole(&changed, 0, height),
        whole(&matrix, rows.end, size(known.rows)?),
    ])?;
    result.stripes.nnz = operator.hop.characteristics.nnz;
    Ok(Variable::Distributed(result))
}

/// What `X[rows, cols] = Y` writes, from the operator's inputs. Counted from 0.
pub struct IndexedPart {
    pub rows: Range<u64>,
    pub cols: Range<u64>,
    /// A matrix.
    pub value: Variable,
}

impl IndexedPart {
    /// # Errors
    /// `dimension` for a range that is not in the matrix, of which this is known, or a value of another shape.
    pub fn written(inputs: &[Variable], known: Characteristics) -> Result<Self> {
        let rows = indexed(inputs, 2, known.rows, "row")?;
        let cols = indexed(inputs, 4, known.cols, "column")?;
        let (height, width) = (rows.end - rows.start, cols.end - cols.start);
        let value = match input(inputs, 1)? {
            Variable::Scalar(value) => {
                Variable::matrix(MatrixBlock::filled(1, 1, scalar::number(value)?)?)
            }
            matrix => matrix.clone(),
        };
        let shape = value.characteristics();
        if (shape.rows, shape.cols) != (Some(height), Some(width)) {
            let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
            return Err(Error::dimension(format!(
                "a {} x {} matrix cannot be assigned to a {height} x {width} range",
                number(shape.rows),
                number(shape.cols)
            )));
        }
        Ok(IndexedPart { rows, cols, value })
    }
}

/// `rbind(...)`.
pub(super) fn rbind(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let matrices = inputs
        .iter()
        .map(|matrix| workers.distributed(matrix))
        .collect::<Result<Vec<_>>>()?;
    let cols = matrices.first().and_then(|matrix| matrix.stripes.cols);
    if let Some(other) = matrices.iter().find(|matrix| matrix.stripes.cols != cols) {
        return Err(Error::dimension(format!(
            "rbind needs matrices with equally many columns, not {} and {}",
            size(cols)?,
            size(other.stripes.cols)?
        )));
    }
    let parts = matrices
        .iter()
        .map(|matrix| {
            Ok(Rows {
                of: matrix,
                from: 0,
                until: size(matrix.stripes.rows)?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let mut result = workers.concatenate(&parts)?;
    result.stripes.nnz = operator.hop.characteristics.nnz;
    Ok(Variable::Distributed(result))
}

/// The range, from 0, of rows or columns whose bounds are the inputs from `first` on.
pub fn indexed(
    inputs: &[Variable],
    first: usize,
    of: Option<u64>,
    what: &str,
) -> Result<Range<u64>> {
    let bound = |place| {
        let bound = input(inputs, place)?.as_scalar()?;
        scalar::number(bound).map(scalar::double_to_int)
    };
    let of = usize::try_from(size(of)?).unwrap_or(usize::MAX);
    let range = IndexRange::new(bound(first)?, bound(first + 1)?).within(of, what)?;
    Ok(range.start as u64..range.end as u64)
}
