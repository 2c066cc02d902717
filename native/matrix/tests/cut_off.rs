//! A file that is cut off while a matrix is in it. A process of its own: such a file is every reader's problem until its matrix is gone.

#![cfg(target_os = "linux")]

use std::io::Write;

use fulgurite_error::ErrorKind;
use fulgurite_matrix::{
    Block, DenseMatrix, MatrixBlock,
    arrow_block::{cut_off, ipc, mapped},
};

#[test]
fn a_file_that_is_cut_off_while_a_matrix_is_in_it_is_an_error() {
    let dense = DenseMatrix::from_fn(1000, 100, |i, j| (i + j) as f64 + 1.0).unwrap();
    let mut file = tempfile::tempfile().expect("a file");
    let bytes = ipc::to_ipc(&[Block::whole(dense.into())]).expect("a stream");
    file.write_all(&bytes).expect("written");
    let found = mapped::map_whole(&file)
        .expect("it is a stream")
        .expect("it is mapped");
    assert_eq!(cut_off::check(), Ok(()));
    file.set_len(8192).expect("shorter");
    let MatrixBlock::Dense(dense) = &found[0].matrix else {
        panic!("it was dense")
    };
    assert_eq!(dense.values()[0], 1.0);
    assert_eq!(dense.values()[99_999], 0.0);
    let error = cut_off::check().expect_err("it was cut off");
    assert_eq!(error.kind(), ErrorKind::Data);
    assert!(
        error
            .help()
            .is_some_and(|help| help.contains("fulgurite.read.map"))
    );
    // Once the matrix is gone, others go on.
    drop(found);
    assert_eq!(cut_off::check(), Ok(()));
}
