//! What a handle names, as JSON.

use std::time::Duration;

use fulgurite_dataflow::RangeAccount;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Layout, MatrixBlock};
use fulgurite_worker::TaskWork;
use serde::Serialize;

use crate::registry::Entry;

#[derive(Serialize)]
struct Description<'a> {
    rows: u64,
    cols: u64,
    nnz: u64,
    bytes: u64,
    blocks: Vec<BlockDescription>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compiled: Option<CompilationDescription>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a RangeAccount>,
}

#[derive(Serialize)]
struct CompilationDescription {
    plans: u64,
    nanoseconds: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlockDescription {
    row_offset: u64,
    column_offset: u64,
    rows: u64,
    cols: u64,
    nnz: u64,
    bytes: u64,
    layout: &'static str,
}

/// `rows` and `cols` are the extent of all blocks together, from the first one's offset to the end of the last;
/// `compiled` is there for results of a task that had to compile plans, `account` for those of a range of iterations.
pub(crate) fn describe(entry: &Entry) -> Result<Vec<u8>> {
    let Entry {
        blocks,
        work: TaskWork { compilation, .. },
        account,
    } = entry;
    let described: Vec<BlockDescription> = blocks
        .iter()
        .map(|block| BlockDescription {
            row_offset: block.row_offset,
            column_offset: block.column_offset,
            rows: block.matrix.rows() as u64,
            cols: block.matrix.cols() as u64,
            nnz: block.matrix.nnz() as u64,
            bytes: block.matrix.memory_bytes() as u64,
            layout: match block.matrix.layout() {
                Layout::Dense => "dense",
                Layout::Csr => "csr",
                Layout::Coordinate => "coordinate",
                Layout::Compressed => "compressed",
            },
        })
        .collect();
    let extent = |stretch: fn(&BlockDescription) -> (u64, u64)| {
        let start = described
            .iter()
            .map(|block| stretch(block).0)
            .min()
            .unwrap_or(0);
        let end = described
            .iter()
            .map(|block| {
                let (offset, length) = stretch(block);
                offset.saturating_add(length)
            })
            .max()
            .unwrap_or(0);
        end - start
    };
    let description = Description {
        rows: extent(|block| (block.row_offset, block.rows)),
        cols: extent(|block| (block.column_offset, block.cols)),
        nnz: described.iter().map(|block| block.nnz).sum(),
        bytes: described.iter().map(|block| block.bytes).sum(),
        blocks: described,
        compiled: (compilation.plans > 0).then(|| CompilationDescription {
            plans: compilation.plans,
            nanoseconds: u64::try_from(compilation.time.as_nanos()).unwrap_or(u64::MAX),
        }),
        account: account.as_deref(),
    };
    serde_json::to_vec(&description).map_err(|error| Error::internal(error.to_string()))
}

/// What [`describe`] says but the account and non-zeros, which take a pass over the values to count, and where buffers lie, as
/// `Native.look` has it: three numbers, and nine for each block.
pub(crate) fn look(entry: &Entry) -> Vec<i64> {
    let Entry {
        blocks,
        work,
        account: _,
    } = entry;
    let nanoseconds = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    let mut found = vec![
        work.compilation.plans as i64,
        nanoseconds(work.compilation.time),
        nanoseconds(work.operator_time),
    ];
    for block in blocks.iter() {
        let matrix = &block.matrix;
        let (layout, values, pointers, indices) = match matrix {
            MatrixBlock::Dense(dense) => (0, dense.values(), &[][..], &[][..]),
            MatrixBlock::Csr(csr) => (1, csr.values(), csr.pointers(), csr.indices()),
            MatrixBlock::Coordinate(cells) => {
                (2, cells.values(), cells.row_indices(), cells.indices())
            }
            // Blocks that the JVM reads are expanded when they are handed over.
            MatrixBlock::Compressed(_) => (3, &[][..], &[][..], &[][..]),
        };
        let sizes = [
            block.row_offset as i64,
            matrix.rows() as i64,
            matrix.cols() as i64,
            matrix.memory_bytes() as i64,
        ];
        found.extend(sizes);
        let (values_at, pointers_at) = (values.as_ptr() as i64, pointers.as_ptr() as i64);
        let stored = values.len() as i64;
        found.extend([
            layout,
            values_at,
            stored,
            pointers_at,
            indices.as_ptr() as i64,
        ]);
    }
    found
}

#[cfg(test)]
mod tests {
    use fulgurite_matrix::{Block, MatrixBlock};
    use fulgurite_worker::Compilation;

    use super::*;

    fn work() -> TaskWork {
        TaskWork {
            compilation: Compilation {
                plans: 2,
                time: Duration::from_micros(7),
            },
            operator_time: Duration::from_micros(9),
        }
    }

    fn entry(blocks: &[Block], work: TaskWork) -> Entry {
        Entry {
            blocks: blocks.to_vec().into(),
            work,
            account: None,
        }
    }

    fn text(blocks: &[Block]) -> String {
        let described = describe(&entry(blocks, TaskWork::default())).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&described).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    }

    #[test]
    fn what_a_task_compiled_is_said_with_its_results() {
        let described = describe(&entry(&[], work())).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&described).unwrap();
        let expected = serde_json::json!({"plans": 2, "nanoseconds": 7000});
        assert_eq!(value["compiled"], expected);
    }

    #[test]
    fn stripes_span_their_rows() {
        let dense = MatrixBlock::dense(2, 2, vec![1.0, 0.0, f64::NAN, 3.0]).unwrap();
        let sparse = MatrixBlock::Csr(MatrixBlock::filled(1, 2, 0.0).unwrap().to_csr().unwrap());
        insta::assert_snapshot!(text(&[Block::new(10, 0, dense), Block::new(12, 0, sparse)]));
    }

    #[test]
    fn a_look_finds_sizes_and_places() {
        let dense = MatrixBlock::dense(1, 2, vec![0.0, 3.0]).unwrap();
        let sparse = MatrixBlock::Csr(MatrixBlock::filled(1, 2, 5.0).unwrap().to_csr().unwrap());
        let blocks = [Block::new(10, 0, dense), Block::new(11, 0, sparse)];
        let found = look(&entry(&blocks, work()));
        let (MatrixBlock::Dense(dense), MatrixBlock::Csr(sparse)) =
            (&blocks[0].matrix, &blocks[1].matrix)
        else {
            panic!("a dense block and one in CSR were made");
        };
        assert_eq!(found.len(), 21);
        assert_eq!(found[..8], [2, 7000, 9000, 10, 1, 2, 16, 0]);
        assert_eq!(found[8..10], [dense.values().as_ptr() as i64, 2]);
        assert_eq!(found[12..15], [11, 1, 2]);
        let buffers = [
            sparse.values().as_ptr() as i64,
            2,
            sparse.pointers().as_ptr() as i64,
            sparse.indices().as_ptr() as i64,
        ];
        assert_eq!(found[16], 1);
        assert_eq!(found[17..], buffers);
    }

    #[test]
    fn nothing_is_described_as_nothing() {
        insta::assert_snapshot!(text(&[]));
    }
}
