//! Compressed matrices as blocks: the same schema, a layout of their own.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch},
    datatypes::DataType,
};
use fulgurite_error::{Error, Result};

use super::{
    COMPRESSED, check_schema,
    decode::Columns,
    encode::{failed, list},
    schema,
};
use crate::compressed::{CompressedMatrix, WireBuffers};

/// A batch of one row: a compressed matrix whose first row stands at `row_offset` of a whole one.
///
/// # Errors
/// `data` when the offset does not fit an `int64`; `memory` when there is none for the buffers, which are copies.
///
/// ```
/// use fulgurite_matrix::{DenseMatrix, arrow_block, compressed::compress};
/// let matrix = DenseMatrix::from_fn(500, 2, |row, column| (row % (column + 2)) as f64)?;
/// let compressed = compress(&matrix.into())?;
/// let batch = arrow_block::encode_compressed(7, &compressed)?;
/// assert_eq!(arrow_block::decode_compressed(&batch)?, [(7, compressed)]);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn encode_compressed(row_offset: u64, matrix: &CompressedMatrix) -> Result<RecordBatch> {
    let row_offset = i64::try_from(row_offset).map_err(|_| {
        Error::data(format!(
            "a block's row_offset {row_offset} does not fit an int64"
        ))
    })?;
    let number = |number: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![number])) };
    let WireBuffers {
        values,
        pointers,
        indices,
    } = matrix.to_wire()?;
    let values = Arc::new(Float64Array::new(values, None));
    let pointers = Arc::new(Int64Array::new(pointers, None));
    let indices = Arc::new(Int32Array::new(indices, None));
    let columns: Vec<ArrayRef> = vec![
        number(row_offset),
        number(0),
        number(matrix.rows() as i64),
        number(matrix.cols() as i64),
        number(matrix.nnz() as i64),
        Arc::new(Int8Array::from(vec![COMPRESSED])),
        list(vec![values], DataType::Float64)?,
        list(vec![pointers], DataType::Int64)?,
        list(vec![indices], DataType::Int32)?,
    ];
    RecordBatch::try_new(schema(), columns).map_err(failed)
}

/// The compressed matrices of a batch, and the places of their first rows. Nothing in the batch is trusted.
///
/// # Errors
/// `data` where a block is not compressed, and as [`CompressedMatrix::from_wire`].
pub fn decode_compressed(batch: &RecordBatch) -> Result<Vec<(u64, CompressedMatrix)>> {
    check_schema(&batch.schema())?;
    let columns = Columns::of(batch)?;
    let block = |row: usize| {
        let (offset, (rows, cols), layout, (values, pointers, indices)) =
            columns.compressed(row)?;
        if layout != COMPRESSED {
            return Err(Error::data(format!(
                "field 'layout' is {layout}, not {COMPRESSED} (compressed)"
            )));
        }
        let buffers = WireBuffers {
            values,
            pointers,
            indices,
        };
        Ok((offset, CompressedMatrix::from_wire(rows, cols, &buffers)?))
    };
    (0..batch.num_rows()).map(block).collect()
}
