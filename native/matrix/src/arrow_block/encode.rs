//! Blocks to a record batch.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, Float64Array, Int8Array, Int32Array, Int64Array, LargeListArray,
        RecordBatch,
    },
    buffer::{OffsetBuffer, ScalarBuffer},
    compute::concat,
    datatypes::{DataType, Field},
    error::ArrowError,
};
use fulgurite_error::{Error, Result};

use super::{Block, COMPRESSED, COORDINATE, CSR, DENSE, schema};
use crate::{
    MatrixBlock,
    compressed::{CompressedMatrix, WireBuffers},
};

/// A batch with a row for each block. A single block's buffers are shared, several blocks' are
/// concatenated: encode one at a time where copies matter.
///
/// # Errors
/// `data` when an offset does not fit an `int64`.
pub fn encode(blocks: &[Block]) -> Result<RecordBatch> {
    let offsets = |offset: fn(&Block) -> u64, name: &str| -> Result<Int64Array> {
        blocks
            .iter()
            .map(|block| {
                i64::try_from(offset(block)).map_err(|_| {
                    Error::data(format!(
                        "a block's {name} {} does not fit an int64",
                        offset(block)
                    ))
                })
            })
            .collect::<Result<Vec<i64>>>()
            .map(Int64Array::from)
    };
    let numbers = |number: fn(&MatrixBlock) -> i64| -> Int64Array {
        blocks.iter().map(|block| number(&block.matrix)).collect()
    };
    let layouts: Int8Array = blocks
        .iter()
        .map(|block| match block.matrix {
            MatrixBlock::Dense(_) => DENSE,
            MatrixBlock::Csr(_) => CSR,
            MatrixBlock::Coordinate(_) => COORDINATE,
            MatrixBlock::Compressed(_) => COMPRESSED,
        })
        .collect();
    let (mut values, mut pointers, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        let (value, pointer, index): (_, Int64Array, Int32Array) = match &block.matrix {
            MatrixBlock::Dense(dense) => (
                dense.buffer().clone(),
                Vec::<i64>::new().into(),
                Vec::<i32>::new().into(),
            ),
            MatrixBlock::Csr(csr) => sparse(csr.clone().into_buffers()),
            MatrixBlock::Coordinate(coordinates) => sparse(coordinates.clone().into_buffers()),
            MatrixBlock::Compressed(_) => compressed(&block.matrix)?,
        };
        values.push(Arc::new(Float64Array::new(value, None)) as ArrayRef);
        pointers.push(Arc::new(pointer) as ArrayRef);
        indices.push(Arc::new(index) as ArrayRef);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(offsets(|block| block.row_offset, "row_offset")?),
        Arc::new(offsets(|block| block.column_offset, "column_offset")?),
        Arc::new(numbers(|matrix| matrix.rows() as i64)),
        Arc::new(numbers(|matrix| matrix.cols() as i64)),
        // Counting a dense block would read all of it once more.
        Arc::new(numbers(|matrix| match matrix {
            MatrixBlock::Dense(_) => -1,
            sparse => sparse.stored() as i64,
        })),
        Arc::new(layouts),
        list(values, DataType::Float64)?,
        list(pointers, DataType::Int64)?,
        list(indices, DataType::Int32)?,
    ];
    RecordBatch::try_new(schema(), columns).map_err(failed)
}

fn sparse(
    (pointers, indices, values): (ScalarBuffer<i64>, ScalarBuffer<i32>, ScalarBuffer<f64>),
) -> (ScalarBuffer<f64>, Int64Array, Int32Array) {
    let (pointers, indices) = (
        Int64Array::new(pointers, None),
        Int32Array::new(indices, None),
    );
    (values, pointers, indices)
}

fn compressed(matrix: &MatrixBlock) -> Result<(ScalarBuffer<f64>, Int64Array, Int32Array)> {
    let groups = CompressedMatrix::of(matrix);
    let groups = groups.ok_or_else(|| Error::internal("a compressed block without groups"))?;
    let WireBuffers {
        values,
        pointers,
        indices,
    } = groups.to_wire()?;
    Ok((
        values,
        Int64Array::new(pointers, None),
        Int32Array::new(indices, None),
    ))
}

pub(super) fn list(items: Vec<ArrayRef>, item_type: DataType) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::<i64>::from_lengths(items.iter().map(|item| item.len()));
    let child = match items.as_slice() {
        [] => arrow::array::new_empty_array(&item_type),
        [only] => Arc::clone(only),
        several => {
            let several: Vec<&dyn Array> = several.iter().map(AsRef::as_ref).collect();
            concat(&several).map_err(failed)?
        }
    };
    let field = Arc::new(Field::new("item", item_type, false));
    LargeListArray::try_new(field, offsets, child, None)
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(failed)
}

pub(super) fn failed(error: ArrowError) -> Error {
    Error::internal(format!("blocks could not be encoded: {error}"))
}
