//! What reads bytes from outside, one [`Target`] a boundary: any bytes give a result or a typed error, never a panic.
//!
//! `ci/fuzz` lets libFuzzer invent the bytes; `tests/corpus.rs` replays those that are committed.

#![forbid(unsafe_code)]

use std::{fs, path::Path};

use fulgurite_config::Config;
use fulgurite_error::{Error, ErrorKind, Result};
use fulgurite_explain::explain;
use fulgurite_hop::json;
use fulgurite_matrix::{
    Block,
    arrow_block::{decode, encode, ipc},
    io::{self, Access, FileFormat, Metadata, Symmetry, TextFormat},
};
use fulgurite_program::{ExplainLevel, Request, Session, check};

/// A boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The text of a script, up to the plan.
    Dml,
    /// A DAG of HOPs, up to the plan.
    HopJson,
    /// Files: a line of metadata as an `.mtd` file has it, then the file.
    Csv,
    Text,
    MatrixMarket,
    Libsvm,
    /// A file of blocks: read, and mapped.
    Binary,
    /// Metadata alone.
    Metadata,
    /// Blocks on the wire.
    Arrow,
}

impl Target {
    pub const ALL: [Target; 9] = [
        Target::Dml,
        Target::HopJson,
        Target::Csv,
        Target::Text,
        Target::MatrixMarket,
        Target::Libsvm,
        Target::Binary,
        Target::Metadata,
        Target::Arrow,
    ];

    /// The name of its folder in the corpus, too.
    pub fn name(self) -> &'static str {
        match self {
            Target::Dml => "dml",
            Target::HopJson => "hop_json",
            Target::Csv => "csv",
            Target::Text => "text",
            Target::MatrixMarket => "mm",
            Target::Libsvm => "libsvm",
            Target::Binary => "binary",
            Target::Metadata => "mtd",
            Target::Arrow => "arrow",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Hands the bytes to all that reads them. `folder` is for files that have to lie on a disk.
    ///
    /// # Panics
    /// Where an error is `internal`: that is a bug, whatever the bytes are.
    pub fn run(self, bytes: &[u8], folder: &Path) {
        let results = match self {
            Target::Dml => script(bytes),
            Target::HopJson => vec![dag(bytes)],
            Target::Csv => file(bytes, folder, FileFormat::Csv),
            Target::Text => file(bytes, folder, FileFormat::Text),
            Target::MatrixMarket => file(bytes, folder, FileFormat::MatrixMarket),
            Target::Libsvm => file(bytes, folder, FileFormat::Libsvm),
            Target::Binary => binary(bytes, folder),
            Target::Metadata => vec![metadata(bytes)],
            Target::Arrow => vec![arrow(bytes)],
        };
        for error in results.into_iter().filter_map(Result::err) {
            assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
        }
    }
}

fn session() -> Session {
    Session::new(Config {
        threads: 1,
        ..Config::default()
    })
}

fn explained(mut request: Request) -> Result<()> {
    let session = session();
    check(&request, &session)?;
    request.level = ExplainLevel::Plan;
    explain(&request, &session).map(drop)
}

fn script(bytes: &[u8]) -> Vec<Result<()>> {
    // Scripts are text; the command says so of others before they come here.
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Vec::new();
    };
    vec![explained(Request::script("fuzz.dml", text))]
}

fn dag(bytes: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(bytes);
    let dag = json::from_json(&text)?;
    // What was read can be written, and is the same when it is read again.
    let written = json::to_json(&dag);
    let again = json::from_json(&written.to_string())?;
    assert_eq!(json::to_json(&again), written);
    explained(Request {
        dag: Some(written),
        ..Request::default()
    })
}

/// Reads the file whole, as a local run does, and as a worker does its lines.
fn file(bytes: &[u8], folder: &Path, format: FileFormat) -> Vec<Result<()>> {
    let (head, rest) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    let call = match Metadata::parse(&String::from_utf8_lossy(head)) {
        Ok(call) => Metadata {
            format: Some(format),
            data_type: None,
            ..call
        },
        Err(error) => return vec![Err(error)],
    };
    let path = folder.join("data");
    fs::write(&path, rest).expect("a folder that can be written");
    let whole = io::read(&path.display().to_string(), &call, Access::Copied).map(drop);
    let size = |known: Option<u64>| known.and_then(|size| usize::try_from(size).ok());
    let (rows, columns) = (size(call.rows), size(call.cols));
    let formats = match format {
        FileFormat::Csv => vec![TextFormat::Csv {
            separator: call.separator.clone().unwrap_or_else(|| ",".into()),
            fill: call.fill.unwrap_or(true),
            default: call.default.unwrap_or(0.0).to_string(),
            na_strings: call.na_strings.clone().unwrap_or_default(),
            columns,
            most_rows: 3,
        }],
        FileFormat::Libsvm => vec![TextFormat::Libsvm {
            columns,
            most_rows: 3,
            most_bytes: 1 << 10,
        }],
        FileFormat::Text | FileFormat::MatrixMarket => {
            let cells = |pattern, symmetry| TextFormat::Cells {
                rows,
                cols: columns,
                pattern,
                symmetry,
            };
            vec![
                TextFormat::Header,
                TextFormat::Values,
                cells(false, Symmetry::General),
                cells(true, Symmetry::Symmetric),
            ]
        }
        FileFormat::Binary | FileFormat::Parquet | FileFormat::JsonLines => Vec::new(),
    };
    let lines = formats.iter();
    let lines = lines.map(|format| io::parse_text(rest, format).map(drop));
    std::iter::once(whole).chain(lines).collect()
}

fn binary(bytes: &[u8], folder: &Path) -> Vec<Result<()>> {
    let path = folder.join("data");
    fs::write(&path, bytes).expect("a folder that can be written");
    let call = Metadata {
        format: Some(FileFormat::Binary),
        ..Metadata::default()
    };
    let read = |access| io::read(&path.display().to_string(), &call, access);
    let (copied, mapped) = (read(Access::Copied), read(Access::Mapped));
    assert_eq!(copied.is_ok(), mapped.is_ok(), "{copied:?} {mapped:?}");
    vec![copied.map(drop), mapped.map(drop)]
}

fn metadata(bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|error| Error::data(error.to_string()))?;
    let parsed = Metadata::parse(text)?;
    let again = Metadata::parse(&parsed.to_json())?;
    assert_eq!(again.to_json(), parsed.to_json());
    let head = |_| Ok(b"%%MatrixMarket matrix array real general\n2 2\n".to_vec());
    io::resolve_found(&"X", Some(text), &head, &Metadata::default()).map(drop)
}

fn arrow(bytes: &[u8]) -> Result<()> {
    let blocks = ipc::from_ipc(bytes)?;
    // What was read can be sent on.
    let again = decode(&encode(&blocks)?)?;
    let places = |blocks: &[Block]| -> Vec<(u64, u64, usize, usize)> {
        let place = |block: &Block| {
            let (rows, cols) = (block.matrix.rows(), block.matrix.cols());
            (block.row_offset, block.column_offset, rows, cols)
        };
        blocks.iter().map(place).collect()
    };
    assert_eq!(places(&again), places(&blocks));
    Ok(())
}
