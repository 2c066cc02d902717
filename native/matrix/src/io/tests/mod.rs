//! Files of all formats: what they hold, and how they are read and written.

mod files;
mod formats;

use std::{fs, path::Path};

use fulgurite_error::{Error, ErrorKind, Result};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{
    Access, Contents, CsvOptions, FileFormat, Metadata, WriteOptions, csv, files::read_bytes,
    is_local, resolve, write, write_scalar,
};
use crate::{Block, DenseMatrix, Interrupt, MatrixBlock, arrow_block::ipc};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn put(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        if let Some(parent) = Path::new(&path).parent() {
            fs::create_dir_all(parent).unwrap();
        }
        fs::write(&path, text).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// What a file holds, which does not depend on whether it is mapped.
fn read(path: &str, call: &Metadata) -> Result<Contents> {
    let [mapped, copied] =
        [Access::Mapped, Access::Copied].map(|access| super::read(path, call, access));
    match (&mapped, &copied) {
        (Err(one), Err(other)) => assert_eq!(one.kind(), other.kind()),
        _ => assert_eq!(format!("{mapped:?}"), format!("{copied:?}")),
    }
    copied
}

fn of_format(format: FileFormat) -> Metadata {
    Metadata {
        format: Some(format),
        ..Metadata::default()
    }
}

fn read_matrix(path: &str, call: &Metadata) -> MatrixBlock {
    match read(path, call).unwrap() {
        Contents::Matrix(matrix) => matrix,
        other => panic!("no matrix: {other:?}"),
    }
}

fn rows(matrix: &MatrixBlock) -> Vec<Vec<f64>> {
    let dense = matrix.to_dense().unwrap();
    (0..dense.rows())
        .map(|row| dense.row(row).to_vec())
        .collect()
}

/// Parses csv text with options that `change` sets.
fn parse(text: &str, change: impl Fn(&mut CsvOptions)) -> Result<Vec<Vec<f64>>, Error> {
    let mut options = CsvOptions::default();
    change(&mut options);
    csv::parse_lines(text.as_bytes(), &options, 0).map(|read| rows(&read.matrix))
}
