//! A compressed matrix as a block: what every block tells, and operators that expand it.

use fulgurite_error::ErrorKind;

use super::{KINDS, bits, cells_of, matrix};
use crate::{
    Block, DenseMatrix, Layout, MatrixBlock, arrow_block,
    compressed::{ColumnGroup, CompressedMatrix, GroupEncoding, compress},
    kernels,
};

/// All kinds of groups, with special values or without, and the same cells.
fn samples() -> Vec<(MatrixBlock, DenseMatrix)> {
    let kinds: Vec<(usize, usize, usize)> = (0..KINDS).map(|kind| (kind, 2, 5)).collect();
    let sample = |(rows, is_special)| {
        let matrix = matrix(rows, &kinds, 11 + rows, is_special);
        let cells = cells_of(&matrix);
        (matrix.into(), cells)
    };
    [(1, false), (70, true), (2100, false), (2100, true)]
        .map(sample)
        .into()
}

#[test]
fn a_block_tells_of_its_cells() {
    for (block, cells) in samples() {
        let dense = MatrixBlock::from(cells.clone());
        assert_eq!(block.layout(), Layout::Compressed);
        assert_eq!((block.rows(), block.cols()), (dense.rows(), dense.cols()));
        assert_eq!(block.nnz(), dense.nnz());
        assert_eq!(block.stored(), dense.nnz());
        let same = CompressedMatrix::of(&block).map(CompressedMatrix::memory_bytes);
        assert_eq!(Some(block.memory_bytes()), same);
        let (found, expected) = (block.extent(), dense.extent());
        assert_eq!(
            (
                found.least,
                found.greatest,
                found.least_magnitude,
                found.has_nan
            ),
            (
                expected.least,
                expected.greatest,
                expected.least_magnitude,
                expected.has_nan
            )
        );
        for row in (0..dense.rows()).step_by(97) {
            for col in 0..dense.cols() {
                assert_eq!(block.get(row, col).to_bits(), dense.get(row, col).to_bits());
            }
        }
        let mut visited = vec![0.0; dense.rows() * dense.cols()];
        let mut last = None;
        block.for_each_stored(|row, col, value| {
            assert!(last < Some((row, col)), "in order");
            last = Some((row, col));
            visited[row * dense.cols() + col] = value;
        });
        assert_eq!(bits(&visited), bits(cells.values()));
        assert_eq!(
            bits(block.to_dense().unwrap().values()),
            bits(cells.values())
        );
    }
}

#[test]
fn rows_are_groups_again() {
    for (block, cells) in samples() {
        let (from, to) = (cells.rows() / 3, cells.rows());
        let rows = block.slice_rows(from, to);
        assert_eq!(rows.layout(), Layout::Compressed);
        let expected = cells.slice_rows(from, to);
        assert_eq!(
            bits(rows.to_dense().unwrap().values()),
            bits(expected.values())
        );
        let groups = CompressedMatrix::of(&block).unwrap();
        for cols in [0..block.cols(), 3..7] {
            let mut out = vec![7.0; (to - from) * cols.len()];
            groups.fill(from..to, cols.clone(), &mut out);
            let part = |row: usize| expected.row(row)[cols.clone()].to_vec();
            let expected: Vec<f64> = (0..to - from).flat_map(part).collect();
            assert_eq!(bits(&out), bits(&expected));
        }
    }
}

#[test]
fn kernels_without_a_way_of_their_own_expand() {
    for (block, cells) in samples().into_iter().filter(|(_, cells)| cells.rows() != 1) {
        let dense = MatrixBlock::from(cells);
        let same = |found: MatrixBlock, expected: MatrixBlock| {
            let (found, expected) = (found.to_dense().unwrap(), expected.to_dense().unwrap());
            let key =
                |value: &f64| (value + 0.0).to_bits() & if value.is_nan() { 0 } else { u64::MAX };
            let keys = |cells: &DenseMatrix| cells.values().iter().map(key).collect::<Vec<_>>();
            assert_eq!(keys(&found), keys(&expected));
        };
        same(kernels::rev(&block).unwrap(), kernels::rev(&dense).unwrap());
        same(
            kernels::transpose(&block).unwrap(),
            kernels::transpose(&dense).unwrap(),
        );
        let twice = |matrix| kernels::rbind(&[matrix, matrix]).unwrap();
        same(twice(&block), twice(&dense));
        let doubled = |matrix: &MatrixBlock| kernels::unary(matrix, |value| value - 0.5).unwrap();
        same(doubled(&block), doubled(&dense));
    }
}

#[test]
fn blocks_travel_compressed() {
    for (block, _) in samples() {
        let sent = [Block::new(7, 0, block.clone())];
        let batch = arrow_block::encode(&sent).unwrap();
        let [received] = &arrow_block::decode(&batch).unwrap()[..] else {
            panic!("one block was sent");
        };
        assert_eq!(
            (received.row_offset, received.matrix.layout()),
            (7, Layout::Compressed)
        );
        let (found, expected) = (
            received.matrix.to_dense().unwrap(),
            block.to_dense().unwrap(),
        );
        assert_eq!(bits(found.values()), bits(expected.values()));
    }
}

#[test]
fn blocks_that_lie_are_refused() {
    let (block, _) = samples().remove(1);
    let batch = arrow_block::encode(&[Block::new(0, 0, block)]).unwrap();
    for (place, size) in [(2, 71), (3, 15), (3, 17), (2, i64::MAX), (3, 1 << 40)] {
        let mut columns = batch.columns().to_vec();
        columns[place] = std::sync::Arc::new(arrow::array::Int64Array::from(vec![size]));
        let lying = arrow::array::RecordBatch::try_new(batch.schema(), columns).unwrap();
        let refusal = arrow_block::decode(&lying).unwrap_err();
        let kinds = [ErrorKind::Data, ErrorKind::Memory, ErrorKind::Dimension];
        assert!(kinds.contains(&refusal.kind()), "{refusal}");
    }
}

#[test]
fn groups_hold_rows_that_are_there() {
    let sparse = DenseMatrix::from_fn(4000, 3, |row, col| f64::from(u8::from(row == 7 * col)));
    let sparse = MatrixBlock::from(sparse.unwrap());
    let coordinates = sparse.clone().in_layout(Layout::Coordinate).unwrap();
    let compressed = MatrixBlock::from(compress(&sparse).unwrap());
    for block in [coordinates, compressed] {
        let encoding = GroupEncoding::Plain(std::sync::Arc::new(block));
        let group = ColumnGroup::new(4000, vec![0, 1, 2], encoding).unwrap();
        assert_eq!(group.plain().map(MatrixBlock::layout), Some(Layout::Csr));
    }
}
