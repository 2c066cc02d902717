//! A record batch to blocks, trusting nothing in it.

use arrow::{
    array::{Array, ArrayRef, AsArray, LargeListArray, PrimitiveArray, RecordBatch},
    buffer::ScalarBuffer,
    datatypes::{ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type},
};
use fulgurite_error::{Error, Result};

use super::{Block, COMPRESSED, COORDINATE, CSR, DENSE, check_schema};
use crate::{
    CoordinateMatrix, CsrMatrix, DenseMatrix, MatrixBlock,
    compressed::{CompressedMatrix, WireBuffers},
};

/// The blocks of a batch; they share its buffers.
///
/// # Errors
/// `data`, naming the field, when the schema or its version is another one, something is null, a size is
/// negative, a buffer is shorter or longer than the sizes say, or pointers and indices describe no CSR matrix.
pub fn decode(batch: &RecordBatch) -> Result<Vec<Block>> {
    check_schema(&batch.schema())?;
    let columns = Columns::of(batch)?;
    (0..batch.num_rows())
        .map(|row| {
            columns.block(row).map_err(|error| {
                Error::new(error.kind(), format!("block {row}: {}", error.message()))
            })
        })
        .collect()
}

pub(super) struct Columns<'a> {
    row_offset: &'a PrimitiveArray<Int64Type>,
    column_offset: &'a PrimitiveArray<Int64Type>,
    rows: &'a PrimitiveArray<Int64Type>,
    cols: &'a PrimitiveArray<Int64Type>,
    nnz: &'a PrimitiveArray<Int64Type>,
    layout: &'a PrimitiveArray<Int8Type>,
    values: List<'a, Float64Type>,
    pointers: List<'a, Int64Type>,
    indices: List<'a, Int32Type>,
}

impl<'a> Columns<'a> {
    /// Place of the first row, size, layout, and the three buffers of a block.
    #[expect(clippy::type_complexity, reason = "taken apart at once")]
    pub(super) fn compressed(
        &self,
        row: usize,
    ) -> Result<(
        u64,
        (usize, usize),
        i8,
        (ScalarBuffer<f64>, ScalarBuffer<i64>, ScalarBuffer<i32>),
    )> {
        let buffers = (
            self.values.at(row),
            self.pointers.at(row),
            self.indices.at(row),
        );
        let shape = (
            size(self.rows.value(row), "rows")?,
            size(self.cols.value(row), "cols")?,
        );
        let offset = size(self.row_offset.value(row), "row_offset")? as u64;
        Ok((offset, shape, self.layout.value(row), buffers))
    }

    pub(super) fn of(batch: &'a RecordBatch) -> Result<Self> {
        let column = |name: &str| -> Result<&'a ArrayRef> {
            let column = batch.column_by_name(name).ok_or_else(|| missing(name))?;
            no_nulls(column, name)?;
            Ok(column)
        };
        let int64 = |name: &str| {
            column(name)?
                .as_primitive_opt::<Int64Type>()
                .ok_or_else(|| missing(name))
        };
        Ok(Columns {
            row_offset: int64("row_offset")?,
            column_offset: int64("column_offset")?,
            rows: int64("rows")?,
            cols: int64("cols")?,
            nnz: int64("nnz")?,
            layout: column("layout")?
                .as_primitive_opt()
                .ok_or_else(|| missing("layout"))?,
            values: List::of(column("values")?, "values")?,
            pointers: List::of(column("pointers")?, "pointers")?,
            indices: List::of(column("indices")?, "indices")?,
        })
    }

    fn block(&self, row: usize) -> Result<Block> {
        let rows = size(self.rows.value(row), "rows")?;
        let cols = size(self.cols.value(row), "cols")?;
        let nnz = self.nnz.value(row);
        let cells = rows as u128 * cols as u128;
        if nnz < -1 || (nnz > 0 && nnz as u128 > cells) {
            return Err(Error::data(format!(
                "field 'nnz' is {nnz} for a {rows} x {cols} matrix"
            )));
        }
        let values = self.values.at(row);
        let pointers = self.pointers.at(row);
        let indices = self.indices.at(row);
        let matrix = match self.layout.value(row) {
            DENSE => {
                expect_length("values", values.len(), cells, "rows * cols")?;
                expect_length("pointers", pointers.len(), 0, "nothing, for a dense block")?;
                expect_length("indices", indices.len(), 0, "nothing, for a dense block")?;
                MatrixBlock::Dense(DenseMatrix::new(rows, cols, values)?)
            }
            CSR => {
                expect_length("pointers", pointers.len(), rows as u128 + 1, "rows + 1")?;
                expect_length(
                    "indices",
                    indices.len(),
                    values.len() as u128,
                    "one for each value",
                )?;
                if indices
                    .iter()
                    .any(|index| usize::try_from(*index).map_or(true, |index| index >= cols))
                {
                    return Err(Error::data(format!(
                        "field 'indices' holds a column outside 0 to {cols} (exclusive)"
                    )));
                }
                let ascending = pointers.first() == Some(&0)
                    && pointers.windows(2).all(|pair| pair[0] <= pair[1])
                    && pointers.last() == Some(&(values.len() as i64));
                if !ascending {
                    return Err(Error::data(format!(
                        "field 'pointers' must ascend from 0 to the number of values, {}",
                        values.len()
                    )));
                }
                MatrixBlock::Csr(CsrMatrix::new(rows, cols, pointers, indices, values)?)
            }
            COORDINATE => {
                let each = "one for each value";
                expect_length("pointers", pointers.len(), values.len() as u128, each)?;
                expect_length("indices", indices.len(), values.len() as u128, each)?;
                let matrix = CoordinateMatrix::new(rows, cols, pointers, indices, values)?;
                MatrixBlock::Coordinate(matrix)
            }
            COMPRESSED => {
                let buffers = WireBuffers {
                    values,
                    pointers,
                    indices,
                };
                CompressedMatrix::from_wire(rows, cols, &buffers)?.into()
            }
            other => {
                return Err(Error::data(format!(
                    "field 'layout' is {other}, not {DENSE} (dense), {CSR} (CSR), {COORDINATE} (coordinates) or {COMPRESSED} (compressed)"
                )));
            }
        };
        Ok(Block {
            row_offset: size(self.row_offset.value(row), "row_offset")? as u64,
            column_offset: size(self.column_offset.value(row), "column_offset")? as u64,
            matrix,
        })
    }
}

/// A list column and its items.
struct List<'a, T: ArrowPrimitiveType> {
    array: &'a LargeListArray,
    items: &'a PrimitiveArray<T>,
}

impl<'a, T: ArrowPrimitiveType> List<'a, T> {
    fn of(column: &'a ArrayRef, name: &str) -> Result<Self> {
        let array = column.as_list_opt::<i64>().ok_or_else(|| missing(name))?;
        let items = array
            .values()
            .as_primitive_opt::<T>()
            .ok_or_else(|| missing(name))?;
        // Items outside the list's rows may be null as they please.
        let offsets = array.value_offsets();
        if let (Some(first), Some(last)) = (offsets.first(), offsets.last())
            && items.null_count() > 0
        {
            no_nulls(&items.slice(*first as usize, (last - first) as usize), name)?;
        }
        Ok(List { array, items })
    }

    fn at(&self, row: usize) -> ScalarBuffer<T::Native> {
        let offsets = self.array.value_offsets();
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        self.items.values().slice(from, to - from)
    }
}

fn missing(name: &str) -> Error {
    Error::data(format!("a batch of blocks lacks the field '{name}'"))
}

fn no_nulls(array: &dyn Array, name: &str) -> Result<()> {
    if array.null_count() > 0 {
        return Err(Error::data(format!(
            "field '{name}' of a batch of blocks holds {} nulls",
            array.null_count()
        )));
    }
    Ok(())
}

fn size(value: i64, name: &str) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::data(format!("field '{name}' is negative: {value}")))
}

fn expect_length(name: &str, found: usize, expected: u128, what: &str) -> Result<()> {
    if found as u128 == expected {
        return Ok(());
    }
    Err(Error::data(format!(
        "field '{name}' holds {found} items, not {expected} ({what})"
    )))
}
