//! Indexing and binding.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Literal, scalar};
use fulgurite_matrix::{
    MatrixBlock,
    kernels::{self, DenseRange, IndexRange},
};

use super::super::value::Value;
use super::inputs::Inputs;

pub(super) fn right_index(inputs: &Inputs) -> Result<Value> {
    let matrix = inputs.matrix(0)?;
    if is_none(matrix)
        && let (Some(rows), Some(cols)) = (length(inputs, 1)?, length(inputs, 3)?)
    {
        return MatrixBlock::filled(rows, cols, 0.0).map(Value::Matrix);
    }
    kernels::right_index(matrix, range(inputs, 1)?, range(inputs, 3)?).map(Value::Matrix)
}

/// How many rows or columns a range has, where it is one.
fn length(inputs: &Inputs, place: usize) -> Result<Option<usize>> {
    let (first, last) = (inputs.int(place)?, inputs.int(place + 1)?);
    let length = usize::try_from(last.saturating_sub(first).saturating_add(1)).ok();
    Ok(length.filter(|length| first >= 1 && *length > 0))
}

/// Whether it is 0 x 0, with which SystemDS marks that there is no matrix: its cells are 0.
fn is_none(matrix: &MatrixBlock) -> bool {
    (matrix.rows(), matrix.cols()) == (0, 0)
}

/// A range to be read where it lies, if that is a dense matrix.
pub(super) fn range_in_place(inputs: &Inputs) -> Result<Option<DenseRange>> {
    Ok(match inputs.get(0)? {
        Value::Matrix(matrix) if is_none(matrix) => None,
        Value::Matrix(MatrixBlock::Dense(dense)) => Some(kernels::dense_range(
            dense,
            range(inputs, 1)?,
            range(inputs, 3)?,
        )?),
        Value::Range(of) => Some(kernels::part_of_range(
            of,
            range(inputs, 1)?,
            range(inputs, 3)?,
        )?),
        Value::Matrix(
            MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) | MatrixBlock::Compressed(_),
        )
        | Value::Scalar(_) => None,
    })
}

pub(super) fn left_index(mut inputs: Inputs) -> Result<Value> {
    let (rows, cols) = (range(&inputs, 2)?, range(&inputs, 4)?);
    let value = match inputs.take(1)? {
        Value::Matrix(matrix) => matrix,
        Value::Range(range) => range.to_dense()?.into(),
        Value::Scalar(value) => MatrixBlock::filled(1, 1, scalar::number(&value)?)?,
    };
    inputs.matrix(0)?;
    match inputs.take(0)? {
        Value::Matrix(matrix) => kernels::left_index(matrix, &value, rows, cols).map(Value::Matrix),
        Value::Range(_) | Value::Scalar(_) => Err(Error::internal("a matrix became a scalar")),
    }
}

fn range(inputs: &Inputs, place: usize) -> Result<IndexRange> {
    Ok(IndexRange::new(inputs.int(place)?, inputs.int(place + 1)?))
}

/// `cbind` and `rbind`; two strings are joined by a line end, as scripts build their statistics.
pub(super) fn bind(
    inputs: &Inputs,
    kernel: fn(&[&MatrixBlock]) -> Result<MatrixBlock>,
) -> Result<Value> {
    let texts: Option<Vec<String>> = inputs
        .iter()
        .map(|value| match value {
            Value::Scalar(value @ Literal::String(_)) => Some(value.to_string()),
            _ => None,
        })
        .collect();
    if let Some(texts) = texts {
        return Ok(Value::Scalar(Literal::String(texts.join("\n"))));
    }
    let matrices: Vec<&MatrixBlock> = (0..inputs.len())
        .map(|place| inputs.matrix(place))
        .collect::<Result<_>>()?;
    kernel(&matrices).map(Value::Matrix)
}
