//! Matrices in files that Python reads and writes, too: little-endian numbers behind each other, named by shape and kind.
//!
//! | file | numbers |
//! |---|---|
//! | `NAME.ROWSxCOLS.f64` | the cells, row by row |
//! | `NAME.ROWSxCOLS.i64` | the same of whole numbers, where peers compute on integers |
//! | `NAME.ROWSxCOLS.csr` | ROWS + 1 row pointers (i64), then the non-zeros (f64), then their columns (i32) |
//!
//! `ci/bench_work_data.py` is the other side.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, BufWriter, Read, Write},
    path::Path,
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{CsrMatrix, DenseMatrix, MatrixBlock, memory};

/// All matrices that lie in the folder, by name. Other files are skipped.
///
/// # Errors
/// `io`, naming the file; `data` where a file is shorter or longer than its name says; `memory`.
pub fn load(folder: &Path) -> Result<BTreeMap<String, MatrixBlock>> {
    let mut matrices = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let path = entry.map_err(|error| failed(folder, &error))?.path();
        if let Some((name, rows, cols, kind)) = parts(&path) {
            let matrix = read(&path, rows, cols, kind)?;
            matrices.insert(name.to_owned(), matrix);
        }
    }
    Ok(matrices)
}

/// Name, rows, columns and kind of a file of a matrix.
fn parts(path: &Path) -> Option<(&str, usize, usize, Kind)> {
    let mut words = path.file_name()?.to_str()?.split('.');
    let (name, shape, kind) = (words.next()?, words.next()?, words.next()?);
    let (rows, cols) = shape.split_once('x')?;
    let kind = match kind {
        "f64" => Kind::Doubles,
        "i64" => Kind::Integers,
        "csr" => Kind::Csr,
        _ => return None,
    };
    let parts = (name, rows.parse().ok()?, cols.parse().ok()?, kind);
    words.next().is_none().then_some(parts)
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Doubles,
    Integers,
    Csr,
}

fn read(path: &Path, rows: usize, cols: usize, kind: Kind) -> Result<MatrixBlock> {
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    let mut numbers = Numbers {
        path,
        file: BufReader::new(file),
    };
    let matrix = match kind {
        Kind::Doubles => {
            let values = numbers.take(memory::cells(rows, cols)?, f64::from_le_bytes)?;
            DenseMatrix::new(rows, cols, values)?.into()
        }
        Kind::Integers => {
            let double = |bytes| i64::from_le_bytes(bytes) as f64;
            let values = numbers.take(memory::cells(rows, cols)?, double)?;
            DenseMatrix::new(rows, cols, values)?.into()
        }
        Kind::Csr => {
            let pointers = numbers.take(rows.saturating_add(1), i64::from_le_bytes)?;
            let stored = pointers.last().map(|end| usize::try_from(*end));
            let Some(Ok(stored)) = stored else {
                return Err(Error::data(format!(
                    "{}: the last row pointer is negative",
                    path.display()
                )));
            };
            let values = numbers.take(stored, f64::from_le_bytes)?;
            let indices = numbers.take(stored, i32::from_le_bytes)?;
            CsrMatrix::new(rows, cols, pointers, indices, values)?.into()
        }
    };
    numbers.end()?;
    Ok(matrix)
}

struct Numbers<'a> {
    path: &'a Path,
    file: BufReader<File>,
}

impl Numbers<'_> {
    fn take<T, const BYTES: usize>(
        &mut self,
        count: usize,
        number: impl Fn([u8; BYTES]) -> T,
    ) -> Result<Vec<T>> {
        let mut numbers = memory::room(count)?;
        let mut bytes = [0; BYTES];
        for _ in 0..count {
            (self.file.read_exact(&mut bytes)).map_err(|error| failed(self.path, &error))?;
            numbers.push(number(bytes));
        }
        Ok(numbers)
    }

    fn end(&mut self) -> Result<()> {
        match self.file.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(Error::data(format!(
                "{}: longer than its name says",
                self.path.display()
            ))),
            Err(error) => Err(failed(self.path, &error)),
        }
    }
}

/// Writes a matrix: as CSR where it is sparse, else its cells.
///
/// # Errors
/// `io`, naming the folder; `memory`.
pub fn dump(folder: &Path, name: &str, matrix: &MatrixBlock) -> Result<()> {
    match matrix {
        MatrixBlock::Dense(_) => dump_cells(folder, name, matrix),
        _ => dump_csr(folder, name, &matrix.to_csr()?),
    }
}

fn dump_csr(folder: &Path, name: &str, matrix: &CsrMatrix) -> Result<()> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let cells = (0..rows).map(|row| matrix.row(row));
    let mut end = 0;
    let pointers = std::iter::once(0i64).chain(cells.clone().map(|(columns, _)| {
        end += columns.len() as i64;
        end
    }));
    create(folder, &format!("{name}.{rows}x{cols}.csr"), |file| {
        for pointer in pointers {
            file.write_all(&pointer.to_le_bytes())?;
        }
        for value in cells.clone().flat_map(|(_, values)| values) {
            file.write_all(&value.to_le_bytes())?;
        }
        for column in cells.flat_map(|(columns, _)| columns) {
            file.write_all(&column.to_le_bytes())?;
        }
        Ok(())
    })
}

/// Writes the cells of a matrix of any layout.
///
/// # Errors
/// `io`, naming the folder; `memory`.
pub fn dump_cells(folder: &Path, name: &str, matrix: &MatrixBlock) -> Result<()> {
    let cells = matrix.to_dense()?;
    let file = format!("{name}.{}x{}.f64", matrix.rows(), matrix.cols());
    create(folder, &file, |file| {
        for value in cells.values() {
            file.write_all(&value.to_le_bytes())?;
        }
        Ok(())
    })
}

fn create(
    folder: &Path,
    file: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let written = fs::create_dir_all(folder)
        .and_then(|()| File::create(folder.join(file)))
        .and_then(|file| {
            let mut file = BufWriter::new(file);
            write(&mut file)?;
            file.flush()
        });
    written.map_err(|error| failed(folder, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use fulgurite_error::ErrorKind;

    use super::*;

    fn dense() -> MatrixBlock {
        MatrixBlock::dense(2, 3, vec![0.0, -0.0, 1.5, f64::INFINITY, 1e-310, 6.0])
            .expect("six cells")
    }

    fn sparse() -> MatrixBlock {
        let matrix = CsrMatrix::new(
            3,
            5,
            vec![0i64, 2, 2, 3],
            vec![0i32, 4, 1],
            vec![1.0, 2.0, 3.5],
        );
        matrix.expect("a sound matrix").into()
    }

    #[test]
    fn matrices_come_back_as_they_were() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        dump(folder.path(), "X", &dense())?;
        dump(folder.path(), "S", &sparse())?;
        fs::write(folder.path().join("script.dml"), "R = X").expect("a file");
        let whole: Vec<u8> = [7i64, -2].into_iter().flat_map(i64::to_le_bytes).collect();
        fs::write(folder.path().join("G.2x1.i64"), whole).expect("a file");

        let found = load(folder.path())?;
        assert_eq!(found.keys().collect::<Vec<_>>(), ["G", "S", "X"]);
        assert_eq!(found["X"], dense());
        assert_eq!(found["S"], sparse());
        assert_eq!(found["G"].to_dense()?.values(), [7.0, -2.0]);
        Ok(())
    }

    #[test]
    fn the_cells_of_a_sparse_matrix_are_written() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        dump_cells(folder.path(), "S", &sparse())?;
        let found = load(folder.path())?;
        assert_eq!(found["S"].to_dense()?, sparse().to_dense()?);
        assert!(matches!(found["S"], MatrixBlock::Dense(_)));
        Ok(())
    }

    #[test]
    fn files_that_are_not_what_their_name_says_are_errors() {
        let kind_of = |file: &str, bytes: &[u8]| {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join(file), bytes).expect("a file");
            load(folder.path()).expect_err(file).kind()
        };
        let short = kind_of("X.2x1.f64", &1.0f64.to_le_bytes());
        assert_eq!(short, ErrorKind::Io);
        assert_eq!(kind_of("X.1x0.f64", &[1]), ErrorKind::Data);
        assert_eq!(kind_of("X.0x1.csr", &[255; 8]), ErrorKind::Data);
        let endless = format!("X.{}x{}.f64", usize::MAX, usize::MAX);
        assert_eq!(kind_of(&endless, &[]), ErrorKind::Memory);
    }
}
