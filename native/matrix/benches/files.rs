//! Seconds and MB/s of reading and writing files, best of some runs: `cargo bench -p fulgurite-matrix --bench files`.
//!
//! With the arguments `-- FOLDER MEGABYTES` the files stay in that folder, and the names of operations (`csv-read`, say) come
//! from the standard input, so that a script can time other readers of the same files in between.

use std::{
    fmt::Display,
    io::{self, BufRead, Write},
    path::Path,
    time::Instant,
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    CoordinateMatrix, DenseMatrix, MatrixBlock,
    io::{Access, Contents, FileFormat, Metadata, WriteOptions, read, write},
    memory,
};

const COLS: usize = 100;
const RUNS: usize = 5;
/// Bytes that a cell takes in its file, about.
const DOUBLE_BYTES: usize = 20;
const INTEGER_BYTES: usize = 7;
const ENTRY_BYTES: usize = 32;

struct File {
    name: &'static str,
    format: FileFormat,
    matrix: MatrixBlock,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Mostly of 16 and 17 digits.
    fn double(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 - 0.25
    }
}

fn files(megabytes: usize) -> Result<Vec<File>> {
    let random = &mut Random(88_172_645_463_325_252);
    let rows = |bytes: usize| megabytes * 1_000_000 / bytes / COLS + 1;
    let doubles = DenseMatrix::from_fn(rows(DOUBLE_BYTES), COLS, |_, _| random.double())?;
    let integers = DenseMatrix::from_fn(rows(INTEGER_BYTES), COLS, |_, _| {
        (random.next() % 1_000_000) as f64
    })?;
    let blocks = DenseMatrix::from_fn(rows(size_of::<f64>()), COLS, |_, _| random.double())?;
    let file = |name, format, matrix: DenseMatrix| File {
        name,
        format,
        matrix: matrix.into(),
    };
    Ok(vec![
        file("csv", FileFormat::Csv, doubles),
        file("integers", FileFormat::Csv, integers),
        File {
            name: "mm",
            format: FileFormat::MatrixMarket,
            matrix: entries(megabytes * 1_000_000 / 3 / ENTRY_BYTES, random)?,
        },
        file("binary", FileFormat::Binary, blocks),
    ])
}

/// So many non-zeros, one in a hundred cells.
fn entries(count: usize, random: &mut Random) -> Result<MatrixBlock> {
    const WIDTH: u64 = 10_000;
    let mut place = 0;
    let cells: Vec<(i64, i32, f64)> = (0..count)
        .map(|_| {
            place += 1 + random.next() % 199;
            let (row, col) = (place / WIDTH, place % WIDTH);
            (row as i64, col as i32, random.double())
        })
        .collect();
    CoordinateMatrix::new(
        (place / WIDTH + 1) as usize,
        WIDTH as usize,
        cells.iter().map(|(row, ..)| *row).collect::<Vec<_>>(),
        cells.iter().map(|(_, col, _)| *col).collect::<Vec<_>>(),
        cells.iter().map(|(.., value)| *value).collect::<Vec<_>>(),
    )
    .and_then(|matrix| MatrixBlock::from(matrix).in_best_layout())
}

impl File {
    fn path(&self, folder: &Path) -> String {
        folder.join(self.name).to_string_lossy().into_owned()
    }

    fn write(&self, folder: &Path) -> Result<f64> {
        let options = WriteOptions::new(self.format);
        let start = Instant::now();
        write(&self.matrix, &self.path(folder), &options)?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Copied: mapping a file takes no time.
    fn read(&self, folder: &Path) -> Result<f64> {
        let start = Instant::now();
        let read = read(&self.path(folder), &Metadata::default(), Access::Copied)?;
        let seconds = start.elapsed().as_secs_f64();
        match read {
            Contents::Matrix(matrix) if matrix == self.matrix => Ok(seconds),
            _ => Err(Error::internal(format!("{} is read wrongly", self.name))),
        }
    }

    fn run(&self, folder: &Path, operation: &str) -> Result<f64> {
        match operation {
            "write" => self.write(folder),
            "read" => self.read(folder),
            _ => Err(Error::argument("operations are NAME-write and NAME-read")),
        }
    }
}

fn failed(error: &dyn Display) -> Error {
    Error::io(error.to_string())
}

fn main() -> Result<()> {
    memory::keep_freed_memory();
    // Cargo adds an argument of its own.
    let arguments: Vec<String> = std::env::args().filter(|text| text != "--bench").collect();
    if let [_, folder, megabytes] = &arguments[..] {
        let megabytes = megabytes.parse().map_err(|error| failed(&error))?;
        return answer(&files(megabytes)?, Path::new(folder));
    }
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    for file in files(30)? {
        for operation in ["write", "read"] {
            let runs = (0..RUNS).map(|_| file.run(folder.path(), operation));
            let best = runs.collect::<Result<Vec<_>>>()?;
            let best = best.into_iter().fold(f64::MAX, f64::min);
            let bytes = std::fs::metadata(file.path(folder.path()));
            let bytes = bytes.map_err(|error| failed(&error))?.len();
            println!(
                "{:9} {operation:6}{best:8.4} s {:8.0} MB/s",
                file.name,
                bytes as f64 / 1e6 / best
            );
        }
    }
    Ok(())
}

/// Runs the operations that the standard input names, and prints the seconds of each.
fn answer(files: &[File], folder: &Path) -> Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| failed(&error))?;
        let (name, operation) = line.split_once('-').unwrap_or((&line, ""));
        let file = files.iter().find(|file| file.name == name);
        let file = file.ok_or_else(|| failed(&format!("there is no file '{name}'")))?;
        println!("{}", file.run(folder, operation)?);
        io::stdout().flush().map_err(|error| failed(&error))?;
    }
    Ok(())
}
