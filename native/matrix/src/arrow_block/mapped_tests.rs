//! What a mapped file gives is what reading it gives; what is no file of blocks is refused.

use std::{fs::File, io::Write};

use fulgurite_error::ErrorKind;

use super::{Block, ipc, mapped, messages};
use crate::{CoordinateMatrix, CsrMatrix, DenseMatrix, MatrixBlock};

fn blocks() -> Vec<Block> {
    let dense = DenseMatrix::from_fn(1000, 7, |i, j| (i * 10 + j) as f64).unwrap();
    let csr = CsrMatrix::new(3, 7, vec![0, 2, 2, 3], vec![1, 4, 0], vec![1.5, 0.5, -2.0]);
    let coordinates = CoordinateMatrix::new(
        90,
        7,
        vec![2i64, 2, 70],
        vec![1, 4, 0],
        vec![1.5, f64::INFINITY, -0.0],
    );
    let empty = DenseMatrix::filled(0, 7, 0.0).unwrap();
    vec![
        Block::new(0, 0, dense.into()),
        Block::new(1000, 0, csr.unwrap().into()),
        Block::new(1003, 0, coordinates.unwrap().into()),
        Block::new(1093, 0, empty.into()),
    ]
}

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Where the schema ends, and the first block after it.
fn ends_of_first_messages(blocks: &[Block]) -> (usize, usize) {
    let schema = ipc::to_ipc(&[]).unwrap().len() - messages::END.len();
    let with_first = ipc::to_ipc(&blocks[..1]).unwrap().len() - messages::END.len();
    (schema, with_first)
}

#[cfg(target_os = "linux")]
#[test]
fn a_mapped_file_has_the_blocks_that_reading_it_gives() {
    let blocks = blocks();
    let file = file_of(&ipc::to_ipc(&blocks).unwrap());
    let found = mapped::map_whole(&file).unwrap().expect("it is mapped");
    // The mapping outlives the open file.
    drop(file);
    assert_eq!(found, blocks);
    for (mapped, written) in found.iter().zip(&blocks) {
        let bits = |block: &Block| {
            block
                .matrix
                .values()
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(mapped), bits(written));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn values_stay_in_the_file_but_positions_do_not() {
    use std::os::unix::fs::FileExt;

    let bytes = ipc::to_ipc(&blocks()).unwrap();
    let file = file_of(&bytes);
    let found = mapped::map_whole(&file).unwrap().expect("it is mapped");
    // Each one-to-one change of a byte would break positions that were read again.
    let changed: Vec<u8> = bytes.iter().map(|byte| byte ^ 0x11).collect();
    file.write_all_at(&changed, 0).unwrap();
    let MatrixBlock::Dense(dense) = &found[0].matrix else {
        panic!("it was dense")
    };
    assert_ne!(dense.values()[1], 1.0);
    let MatrixBlock::Csr(csr) = &found[1].matrix else {
        panic!("it was CSR")
    };
    assert_eq!(csr.row(0).0, [1, 4]);
    assert_eq!(csr.row(2).0, [0]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_part_of_a_file_is_mapped_alone() {
    let blocks = blocks();
    let bytes = ipc::to_ipc(&blocks).unwrap();
    let file = file_of(&bytes);
    let (schema, first) = ends_of_first_messages(&blocks);
    let part = |from: usize, to: usize| {
        mapped::map(&file, &bytes[..schema], from as u64, (to - from) as u64)
    };
    assert_eq!(
        part(schema, first).unwrap().expect("it is mapped"),
        blocks[..1]
    );
    assert_eq!(
        part(first, bytes.len() - messages::END.len())
            .unwrap()
            .expect("it is mapped"),
        blocks[1..]
    );
}

#[test]
fn what_is_no_whole_stream_is_refused() {
    let blocks = blocks();
    let bytes = ipc::to_ipc(&blocks).unwrap();
    let (schema, first) = ends_of_first_messages(&blocks);
    let refused = |result: fulgurite_error::Result<Option<Vec<Block>>>| match result {
        // Where files are not mapped, reading refuses them.
        Ok(None) if !cfg!(target_os = "linux") => {}
        Ok(found) => panic!("{found:?}"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{error}"),
    };
    let without_end = &bytes[..bytes.len() - 8];
    let within_a_block = [&bytes[..first + 40], &messages::END].concat();
    let twice = [bytes.as_slice(), &bytes].concat();
    for broken in [
        without_end,
        &within_a_block,
        &twice,
        &bytes[8..],
        b"1,2\n3,4\n",
    ] {
        refused(mapped::map_whole(&file_of(broken)));
    }
    let file = file_of(&bytes);
    let length = bytes.len() as u64;
    for (offset, length) in [
        (schema as u64, length),
        (length + 1, 8),
        (u64::MAX, 8),
        (schema as u64 + 8, (first - schema) as u64),
    ] {
        refused(mapped::map(&file, &bytes[..schema], offset, length));
    }
    refused(mapped::map(
        &file,
        &bytes[..first],
        first as u64,
        length - 8 - first as u64,
    ));
}

#[test]
fn an_empty_file_is_left_to_reading() {
    assert!(mapped::map_whole(&file_of(b"")).unwrap().is_none());
}

/// The library panics at offsets and lengths that are wrong: none of them reaches it.
#[test]
fn no_flipped_bit_is_more_than_an_error() {
    let bytes = ipc::to_ipc(&blocks()[1..2]).unwrap();
    let mut refused = 0;
    // Signs, and of each byte another bit.
    for (at, bit) in (0..bytes.len()).flat_map(|at| [(at, at % 8), (at, 7)]) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << bit;
        if let Err(error) = ipc::from_ipc(&flipped) {
            let kinds = [ErrorKind::Data, ErrorKind::Unsupported, ErrorKind::Memory];
            assert!(kinds.contains(&error.kind()), "bit {bit} of {at}: {error}");
            refused += 1;
        }
    }
    assert!(refused > 500, "{refused} of {}", 2 * bytes.len());
}
