//! Matrix blocks in Arrow: one schema, a row is a block.
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `row_offset`, `column_offset` | int64 | place of the block's first cell in the whole matrix, from 0 |
//! | `rows`, `cols` | int64 | the block's size |
//! | `nnz` | int64 | non-zeros, -1 where nobody counted |
//! | `layout` | int8 | 0 dense, 1 CSR, 2 coordinates, 3 compressed |
//! | `values` | large_list<double> | dense: `rows * cols` cells, row-major; else: the stored values |
//! | `pointers` | large_list<int64> | CSR: `rows + 1` row pointers, from 0; coordinates: a row (from 0) for each value, ascending; dense: empty |
//! | `indices` | large_list<int32> | a column (from 0) for each value, ascending in a row; dense: empty |
//!
//! Of compressed blocks, the lists hold what `compressed::WireBuffers` says; [`encode_compressed`] and [`decode_compressed`] carry
//! them, [`decode`] refuses them.
//!
//! Nothing is null. The schema's metadata carries `fulgurite.blocks` = [`VERSION`]; a producer may leave
//! the key out, but not write another version.
//!
//! Values are never copied when one block is encoded or any number is decoded: the arrays share the
//! blocks' buffers. [`ffi`] carries a batch across the C Data Interface, [`ipc`] through files and
//! shuffles; [`mapped`] leaves them in their files.

pub mod cut_off;
pub mod ffi;
pub mod ipc;
pub mod mapped;

mod column_groups;
mod decode;
mod encode;
#[cfg(test)]
mod mapped_tests;
mod messages;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
pub use column_groups::{decode_compressed, encode_compressed};
pub use decode::decode;
pub use encode::encode;
use fulgurite_error::{Error, Result};

use crate::MatrixBlock;

/// Version of the schema, under [`VERSION_KEY`] in its metadata.
pub const VERSION: &str = "1";
pub const VERSION_KEY: &str = "fulgurite.blocks";

/// Codes of the field `layout`.
pub(crate) const DENSE: i8 = 0;
pub(crate) const CSR: i8 = 1;
pub(crate) const COORDINATE: i8 = 2;
pub(crate) const COMPRESSED: i8 = 3;

/// A part of a matrix and where its first cell stands (from 0).
///
/// Distributed matrices are cut into row stripes of any height that hold all columns, so that
/// `column_offset` is 0 there.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub row_offset: u64,
    pub column_offset: u64,
    pub matrix: MatrixBlock,
}

impl Block {
    pub fn new(row_offset: u64, column_offset: u64, matrix: MatrixBlock) -> Self {
        Block {
            row_offset,
            column_offset,
            matrix,
        }
    }

    /// A whole matrix, or the first stripe of one.
    pub fn whole(matrix: MatrixBlock) -> Self {
        Block::new(0, 0, matrix)
    }
}

/// The schema of a batch of blocks.
pub fn schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let list = |item: DataType| DataType::LargeList(Arc::new(Field::new("item", item, false)));
        let fields: Vec<Field> = [
            ("row_offset", DataType::Int64),
            ("column_offset", DataType::Int64),
            ("rows", DataType::Int64),
            ("cols", DataType::Int64),
            ("nnz", DataType::Int64),
            ("layout", DataType::Int8),
            ("values", list(DataType::Float64)),
            ("pointers", list(DataType::Int64)),
            ("indices", list(DataType::Int32)),
        ]
        .into_iter()
        .map(|(name, data_type)| Field::new(name, data_type, false))
        .collect();
        let metadata = HashMap::from([(VERSION_KEY.to_owned(), VERSION.to_owned())]);
        Arc::new(Schema::new_with_metadata(fields, metadata))
    });
    Arc::clone(&SCHEMA)
}

/// Refuses a schema that is not [`schema`]. Names and types must agree; nullability and the names of
/// list items are the producer's business, the data are checked for nulls.
pub(crate) fn check_schema(actual: &Schema) -> Result<()> {
    if let Some(version) = actual.metadata().get(VERSION_KEY)
        && version != VERSION
    {
        return Err(Error::data(format!(
            "the blocks' schema has version '{version}', this build reads version {VERSION}"
        ))
        .with_help("use the same release of Fulgurite on both sides"));
    }
    let expected = schema();
    for (index, field) in expected.fields().iter().enumerate() {
        let Some(found) = actual.fields().get(index) else {
            return Err(Error::data(format!(
                "a batch of blocks lacks the field '{}'",
                field.name()
            )));
        };
        if found.name() != field.name() || !same_type(found.data_type(), field.data_type()) {
            return Err(Error::data(format!(
                "field {index} of a batch of blocks must be '{}: {}', not '{}: {}'",
                field.name(),
                field.data_type(),
                found.name(),
                found.data_type()
            )));
        }
    }
    if actual.fields().len() > expected.fields().len() {
        return Err(Error::data(format!(
            "a batch of blocks has {} fields, not {}",
            expected.fields().len(),
            actual.fields().len()
        )));
    }
    Ok(())
}

fn same_type(found: &DataType, expected: &DataType) -> bool {
    match (found, expected) {
        (DataType::LargeList(found), DataType::LargeList(expected)) => {
            found.data_type() == expected.data_type()
        }
        _ => found == expected,
    }
}
