//! Reading files, and finding out what they are.

use std::{
    borrow::Cow,
    fmt::Display,
    fs::File,
    path::{Path, PathBuf},
};

use fulgurite_error::{Error, Result};

use super::{
    CsvOptions, FileFormat, Metadata, cells,
    chunks::{split_first_line, without_mark},
    csv,
    files::{
        cannot, is_packed, is_stream, local_path, parts, read_bytes, read_head, read_text,
        unpacked, unpacked_head, with_suffix,
    },
    libsvm,
    matrix_market::MatrixMarket,
    pending::followed,
};
use crate::{
    Block, Layout, MatrixBlock,
    arrow_block::{ipc, mapped},
    kernels, memory,
};

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    Matrix(MatrixBlock),
    /// A scalar's text, to be read as the metadata's value type.
    Scalar(String),
    /// The bytes of the parts of a frame's file, uncompressed.
    Frame(Vec<Vec<u8>>),
}

/// All that is known of a file without reading its cells: the call's parameters, completed by
/// `<path>.mtd`, and by the file's own header where it is a MatrixMarket file.
///
/// # Errors
/// `io` when the file is not there, `argument` when call and metadata contradict each other or say too
/// little, `data` when the metadata cannot be understood.
pub fn resolve(path: &str, call: &Metadata) -> Result<Metadata> {
    let local = local_path(path)?;
    let parts = parts(&local)?;
    if is_stream(&local) {
        // Only reading it says more, which can be done once.
        return described(&local, call);
    }
    let metadata = metadata_text(&local)?;
    let head = |most| {
        let first = parts.first();
        first.map_or(Ok(Vec::new()), |first| read_head(first, most))
    };
    resolve_found(&local.display(), metadata.as_deref(), &head, call)
}

/// What the call and the metadata beside a file say.
fn described(local: &Path, call: &Metadata) -> Result<Metadata> {
    let metadata = metadata_text(local)?;
    completed(&local.display(), metadata.as_deref(), call)
}

/// The text of the `.mtd` file beside a path, or beside the file that a link there leads to.
fn metadata_text(local: &Path) -> Result<Option<String>> {
    let beside = with_suffix(local, ".mtd");
    if beside.is_file() {
        return read_metadata(&beside).map(Some);
    }
    let target = followed(local).map_err(|error| cannot("read", local, &error))?;
    let beside = with_suffix(&target, ".mtd");
    beside.is_file().then(|| read_metadata(&beside)).transpose()
}

fn read_metadata(path: &Path) -> Result<String> {
    const MOST_BYTES: u64 = 1 << 20;
    let bytes = read_head(path, MOST_BYTES + 1)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::data(format!(
            "{}: metadata have at most {MOST_BYTES} bytes",
            path.display()
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::data(format!("{} is not UTF-8 text", path.display())))
}

fn completed(path: &dyn Display, metadata: Option<&str>, call: &Metadata) -> Result<Metadata> {
    let Some(text) = metadata else {
        return Ok(call.clone());
    };
    Metadata::parse(text)
        .and_then(|of_file| call.clone().or(of_file))
        .map_err(|error| in_file(&format!("{path}.mtd"), error))
}

/// As [`resolve`], of a file that somebody else has found: with the text of its `.mtd` file, and the first bytes of the
/// file, at most as many as asked for.
///
/// # Errors
/// As [`resolve`], and those of `head`.
pub fn resolve_found(
    path: &dyn Display,
    metadata: Option<&str>,
    head: &dyn Fn(u64) -> Result<Vec<u8>>,
    call: &Metadata,
) -> Result<Metadata> {
    let mut resolved = completed(path, metadata, call)?;
    let head = |most: u64| {
        let found = head(most)?;
        if !is_packed(&found) {
            return Ok(found);
        }
        head(most.max(HEADER_BYTES)).map(|packed| unpacked_head(&packed, most))
    };
    if resolved.data_type.as_deref() == Some("scalar") {
        return Ok(resolved);
    }
    let is_frame = resolved.data_type.as_deref() == Some("frame");
    if let Some(other) = resolved
        .data_type
        .as_deref()
        .filter(|data_type| *data_type != "matrix" && !is_frame)
    {
        return Err(Error::unsupported(format!(
            "{path}: a file of data type '{other}' cannot be read yet"
        )));
    }
    if resolved.format.is_none() {
        resolved.format = match &head(MAGIC_BYTES)?[..] {
            [b'%', b'%', ..] => Some(FileFormat::MatrixMarket),
            b"PAR1" => Some(FileFormat::Parquet),
            _ if is_named_csv(&path.to_string()) => Some(FileFormat::Csv),
            _ if is_frame && is_named_json(&path.to_string()) => Some(FileFormat::JsonLines),
            _ => {
                return Err(Error::argument(format!(
                    "{path}: nothing says what format the file has: there is no {path}.mtd"
                ))
                .with_help("write an .mtd file, or pass format= to read()"));
            }
        };
    }
    if is_frame {
        return Ok(resolved);
    }
    if resolved.format == Some(FileFormat::MatrixMarket) {
        let head = head(HEADER_BYTES)?;
        let header = MatrixMarket::parse_header(&head).map_err(|error| in_file(path, error))?;
        let most_non_zeros = header.most_non_zeros().map(|most| most as u64);
        let of_header = Metadata {
            rows: Some(header.rows as u64),
            cols: Some(header.cols as u64),
            ..Metadata::default()
        };
        resolved = resolved
            .or(of_header)
            .map_err(|error| in_file(path, error))?;
        resolved.nnz = resolved.nnz.or(most_non_zeros);
    }
    if let (Some(rows), Some(cols), Some(nnz)) = (resolved.rows, resolved.cols, resolved.nnz)
        && u128::from(nnz) > u128::from(rows) * u128::from(cols)
    {
        return Err(Error::data(format!(
            "{path}: {nnz} non-zeros are more than a {rows} x {cols} matrix has cells"
        ))
        .with_help("correct nnz in the .mtd file or in read()"));
    }
    if resolved.format == Some(FileFormat::Text)
        && (resolved.rows.is_none() || resolved.cols.is_none())
    {
        return Err(
            Error::argument(format!("{path}: the size of a text file must be known"))
                .with_help("give rows and cols in the .mtd file or in read()"),
        );
    }
    Ok(resolved)
}

/// `.csv` and `.csv.gz`, in any case.
fn is_named_csv(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.ends_with(".csv") || path.ends_with(".csv.gz")
}

/// `.jsonl` and `.jsonl.gz`, in any case.
fn is_named_json(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.ends_with(".jsonl") || path.ends_with(".jsonl.gz")
}

/// Bytes that tell MatrixMarket and Parquet files.
const MAGIC_BYTES: u64 = 4;

/// Bytes that a MatrixMarket file's header and comments may have.
const HEADER_BYTES: u64 = 1 << 20;

/// How binary files become matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Access {
    /// Values stay in a file that lies on a local disk: see [`mapped`].
    #[default]
    Mapped,
    /// What is read is copied.
    Copied,
}

/// Reads a file, or a directory of part files.
///
/// # Errors
/// As [`resolve`], and `data`, naming the file and the place in it, for what cannot be understood.
pub fn read(path: &str, call: &Metadata, access: Access) -> Result<Contents> {
    let local = local_path(path)?;
    let parts = parts(&local)?;
    if is_stream(&local) {
        return read_stream(&local, call);
    }
    let resolved = resolve(path, call)?;
    read_parts(&parts, &local.display(), &resolved, access)
}

/// Reads what can be read once.
fn read_stream(local: &Path, call: &Metadata) -> Result<Contents> {
    let name = local.display();
    let metadata = metadata_text(local)?;
    read_bytes_as(read_bytes(local)?, &name, metadata.as_deref(), call)
}

/// What the bytes of a file are, with the text of its `.mtd` file: as [`read`] does of files that it finds. Errors call it `name`.
///
/// # Errors
/// As [`read`].
pub fn read_bytes_as(
    bytes: Vec<u8>,
    name: &dyn Display,
    metadata: Option<&str>,
    call: &Metadata,
) -> Result<Contents> {
    let head = |most: u64| {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(bytes[..bytes.len().min(most)].to_vec())
    };
    let resolved = resolve_found(name, metadata, &head, call)?;
    read_contents(vec![bytes], name, &resolved)
}

/// Reads a file whose parts were copied into a folder of this machine. Errors call it `name`.
///
/// # Errors
/// As [`read`].
pub fn read_copy(folder: &Path, name: &str, resolved: &Metadata) -> Result<Contents> {
    read_parts(&parts(folder)?, &name, resolved, Access::Copied)
}

fn read_parts(
    parts: &[PathBuf],
    name: &dyn Display,
    resolved: &Metadata,
    access: Access,
) -> Result<Contents> {
    if resolved.data_type.as_deref() == Some("scalar") {
        let texts: Vec<String> = parts
            .iter()
            .map(|part| read_text(part))
            .collect::<Result<_>>()?;
        return Ok(Contents::Scalar(texts.concat()));
    }
    if resolved.data_type.as_deref() == Some("frame") {
        let bytes = parts.iter().map(|part| read_bytes(part));
        return read_contents(bytes.collect::<Result<_>>()?, name, resolved);
    }
    if resolved.format == Some(FileFormat::Binary) {
        return read_binary(parts, access)
            .and_then(|matrix| fit(matrix, resolved))
            .map(Contents::Matrix)
            .map_err(|error| in_file(name, error));
    }
    let bytes = match resolved.format {
        // Not even read.
        Some(FileFormat::Parquet) => Vec::new(),
        _ => parts
            .iter()
            .map(|part| read_bytes(part))
            .collect::<Result<_>>()?,
    };
    read_contents(bytes, name, resolved)
}

/// What the bytes of parts are.
fn read_contents(parts: Vec<Vec<u8>>, name: &dyn Display, resolved: &Metadata) -> Result<Contents> {
    if resolved.data_type.as_deref() == Some("scalar") {
        return String::from_utf8(parts.concat())
            .map(Contents::Scalar)
            .map_err(|_| Error::data(format!("{name} is not UTF-8 text")));
    }
    if resolved.data_type.as_deref() == Some("frame") {
        let parts = parts.into_iter().map(unpacked);
        return parts
            .collect::<Result<_>>()
            .map(Contents::Frame)
            .map_err(|error| in_file(name, error));
    }
    if resolved.format == Some(FileFormat::Parquet) {
        return Err(in_file(
            name,
            Error::unsupported("only Spark reads Parquet files")
                .with_help("run the script on Spark, or convert the file to csv"),
        ));
    }
    let parsed = parse(parts, name, resolved);
    parsed
        .and_then(|matrix| fit(matrix, resolved))
        .map(Contents::Matrix)
        .map_err(|error| in_file(name, error))
}

fn parse(parts: Vec<Vec<u8>>, name: &dyn Display, resolved: &Metadata) -> Result<MatrixBlock> {
    if resolved.format == Some(FileFormat::Binary) {
        let blocks = parts
            .iter()
            .map(|part| ipc::from_ipc(part))
            .collect::<Result<Vec<_>>>()?;
        return stacked(blocks.concat());
    }
    let texts = parts
        .into_iter()
        .map(unpacked)
        .collect::<Result<Vec<_>>>()?;
    let texts: Vec<&[u8]> = texts.iter().map(|text| without_mark(text)).collect();
    match resolved.format {
        Some(FileFormat::Csv) => read_csv(texts, name, resolved),
        Some(FileFormat::Text) => {
            let (rows, cols) = (size(resolved.rows)?, size(resolved.cols)?);
            cells::parse_text(&join(&texts)?, rows, cols)
        }
        Some(FileFormat::MatrixMarket) => MatrixMarket::parse_header(&join(&texts)?)?.parse(),
        Some(FileFormat::Libsvm) => {
            let cols = resolved.cols.and_then(|cols| usize::try_from(cols).ok());
            let (matrix, query_ids) = libsvm::parse(&join(&texts)?, cols)?;
            if query_ids > 0 {
                tracing::warn!("{name}: {query_ids} 'qid:' entries are left out");
            }
            Ok(matrix)
        }
        Some(FileFormat::JsonLines) => Err(Error::unsupported("a matrix has no JSON lines")
            .with_help("read it as a frame: read(file, data_type=\"frame\"), then as.matrix()")),
        Some(FileFormat::Binary | FileFormat::Parquet) | None => {
            Err(Error::internal("a file's format was not resolved"))
        }
    }
}

/// Names the file in an error about its contents.
fn in_file(name: &dyn Display, error: Error) -> Error {
    let named = format!("{name}: {}", error.message());
    error.with_message(named)
}

fn size(known: Option<u64>) -> Result<usize> {
    known
        .and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| Error::argument("the file's size is not known"))
}

/// Parts as one text; each begins on a line of its own.
fn join<'a>(parts: &[&'a [u8]]) -> Result<Cow<'a, [u8]>> {
    if let [only] = parts {
        return Ok(Cow::Borrowed(only));
    }
    let mut joined = memory::room(parts.iter().map(|part| part.len() + 1).sum())?;
    for part in parts {
        if joined.last().is_some_and(|byte| *byte != b'\n') {
            joined.push(b'\n');
        }
        joined.extend_from_slice(part);
    }
    Ok(Cow::Owned(joined))
}

fn read_csv(parts: Vec<&[u8]>, name: &dyn Display, metadata: &Metadata) -> Result<MatrixBlock> {
    let defaults = CsvOptions::default();
    let options = CsvOptions {
        separator: metadata.separator.clone().unwrap_or(defaults.separator),
        header: metadata.header.unwrap_or(defaults.header),
        fill: metadata.fill.unwrap_or(defaults.fill),
        default: metadata.default.unwrap_or(defaults.default),
        na_strings: metadata.na_strings.clone().unwrap_or_default(),
        cols: metadata.cols.and_then(|cols| usize::try_from(cols).ok()),
    };
    let parts = if options.header {
        without_headers(parts)
    } else {
        parts
    };
    let rows = csv::parse_lines(&join(&parts)?, &options, 0)?;
    if rows.empty_cells > 0 && !metadata.says_what_empty_cells_are() {
        tracing::warn!("{name}: {}", csv::of_empty_cells(rows.empty_cells));
    }
    let layout = Layout::best(rows.matrix.rows(), rows.matrix.cols(), rows.nnz);
    rows.matrix.in_layout(layout)
}

/// Takes the header line off the first part that has lines, and off others that repeat it.
fn without_headers(mut parts: Vec<&[u8]>) -> Vec<&[u8]> {
    let header = parts.iter().find(|part| !part.is_empty());
    let header = header.map_or(&[][..], |first| split_first_line(first).0);
    for part in &mut parts {
        let (line, rest) = split_first_line(part);
        if line == header {
            *part = rest;
        }
    }
    parts
}

fn read_binary(parts: &[PathBuf], access: Access) -> Result<MatrixBlock> {
    let mut blocks = Vec::new();
    for part in parts {
        let file = File::open(part).map_err(|error| cannot("read", part, &error))?;
        let mapped = match access {
            Access::Mapped => mapped::map_whole(&file)?,
            Access::Copied => None,
        };
        blocks.extend(mapped.map_or_else(|| ipc::read_whole(file), Ok)?);
    }
    stacked(blocks)
}

/// The matrix of stripes in any order.
fn stacked(mut blocks: Vec<Block>) -> Result<MatrixBlock> {
    blocks.sort_by_key(|block| block.row_offset);
    let mut expected = 0;
    for block in &blocks {
        if block.column_offset != 0 || block.row_offset != expected {
            return Err(Error::data(format!(
                "a stripe of rows begins at row {}, not {}",
                block.row_offset + 1,
                expected + 1
            )));
        }
        // More rows than any index has do not fit, wherever they are.
        expected = (block.matrix.rows() as u64)
            .checked_add(expected)
            .filter(|rows| i64::try_from(*rows).is_ok())
            .ok_or_else(|| Error::data("the stripes have more rows than a matrix can have"))?;
    }
    match blocks.as_slice() {
        [only] => Ok(only.matrix.clone()),
        several => {
            let matrices: Vec<&MatrixBlock> = several.iter().map(|block| &block.matrix).collect();
            kernels::rbind(&matrices)
        }
    }
}

/// Holds a matrix to the promised size.
fn fit(matrix: MatrixBlock, metadata: &Metadata) -> Result<MatrixBlock> {
    let rows = metadata.rows.unwrap_or(matrix.rows() as u64);
    let cols = metadata.cols.unwrap_or(matrix.cols() as u64);
    if cols != matrix.cols() as u64 && matrix.rows() > 0 {
        return Err(Error::data(format!(
            "the file has {} columns, its metadata promise {cols}",
            matrix.cols()
        )));
    }
    if rows != matrix.rows() as u64 {
        return Err(Error::data(format!(
            "the file has {} rows, its metadata promise {rows}",
            matrix.rows()
        )));
    }
    if matrix.rows() == 0 {
        return MatrixBlock::dense(0, size(Some(cols))?, Vec::new());
    }
    Ok(matrix)
}
