//! `read` and `write` statements, when they are executed.
//!
//! A file whose matrix would not fit the local budget is read by the workers and stays with them; a
//! distributed matrix is written by them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use fulgurite_dataflow::{DistributedMatrix, Element, List, Primitive, SourceSpec, Variable};
use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{
    Characteristics, DataType, FileFormat, Literal, ReadOptions, ValueType, VariableInfo,
    WriteOptions, scalar,
};
use fulgurite_matrix::{
    MatrixBlock,
    io::{self, Access, Contents, Metadata},
    java_double, parse_double,
};

use super::{data_file::DataFile, frame_files};
use crate::session::Session;

/// The cells of a csv or libsvm file take at most about this many times their text, of which a cell has at least a
/// digit and a separator.
const BYTES_PER_TEXT_BYTE: u64 = 4;

/// `1 1 1` and a line end.
const TEXT_BYTES_OF_A_CELL: u64 = 6;

pub(super) fn read(
    options: &ReadOptions,
    inputs: &[Variable],
    session: &Session,
) -> Result<Variable> {
    let path = text(inputs, 0, "the path of a file to read")?;
    match options.data_type == Some(DataType::List) || declares_list(&path, session) {
        true => read_list(&path, session).map(Variable::List),
        false => read_file(options, path, session),
    }
}

fn read_file(options: &ReadOptions, path: String, session: &Session) -> Result<Variable> {
    let file = DataFile::at(&path, session)?;
    let call = metadata_of(options);
    let (resolved, file_bytes) = file.resolve(&call)?;
    let (budget, reading) = (session.config.memory_local, session.config.reading);
    if resolved.data_type.as_deref() == Some("scalar") {
        let declared = resolved.value_type.as_deref().and_then(value_type);
        return match file.read(&call, (&resolved, file_bytes), budget, reading)? {
            Contents::Scalar(text) => {
                let value_type = declared.unwrap_or(ValueType::Double);
                scalar_from_file(text, value_type, &path).map(Variable::Scalar)
            }
            Contents::Matrix(matrix) => Ok(Variable::matrix(matrix)),
            Contents::Frame(_) => Err(Error::internal("a scalar's file was taken for a frame")),
        };
    }
    if resolved.data_type.as_deref() == Some("frame") {
        let Contents::Frame(parts) =
            file.read(&call, (&resolved, file_bytes), budget, Access::Copied)?
        else {
            return Err(Error::internal("a frame's file was taken for a matrix"));
        };
        return frame_files::read(&path, parts, &resolved).map(Variable::Frame);
    }
    let only_workers = resolved.format == Some(io::FileFormat::Parquet);
    let is_larger = is_larger(&resolved, file_bytes, budget)
        || (file.is_elsewhere() && file_bytes.is_some_and(|bytes| bytes > budget));
    if let Some(backend) = session.backend.as_ref()
        && (only_workers || is_larger)
        && let Some(source) = source_of(&path, &resolved, session.config.reading)
    {
        let known = Characteristics::new(resolved.rows, resolved.cols, resolved.nnz);
        let matrix = DistributedMatrix::read(backend, source, known)?;
        check_promised(&path, &resolved, &matrix)?;
        return match only_workers && fits(&matrix, session) {
            true => matrix.collect().map(Variable::Matrix),
            false => Ok(Variable::Distributed(matrix)),
        };
    }
    match file.read(&call, (&resolved, file_bytes), budget, reading)? {
        Contents::Matrix(matrix) => Ok(Variable::matrix(matrix)),
        Contents::Scalar(_) | Contents::Frame(_) => {
            Err(Error::internal("another file was taken for a matrix"))
        }
    }
}

/// The file as workers read it; `None` where only one process can.
fn source_of(path: &str, metadata: &Metadata, reading: Access) -> Option<SourceSpec> {
    let path = path.to_owned();
    match metadata.format? {
        io::FileFormat::Csv => Some(SourceSpec::Csv {
            path,
            separator: metadata.separator.clone().unwrap_or_else(|| ",".into()),
            header: metadata.header.unwrap_or(false),
            fill: metadata.fill.unwrap_or(true),
            warns_of_empty: !metadata.says_what_empty_cells_are(),
            default: java_double(metadata.default.unwrap_or(0.0)),
            na_strings: metadata.na_strings.clone().unwrap_or_default(),
            columns: metadata.cols,
        }),
        io::FileFormat::Text => Some(SourceSpec::Text {
            path,
            rows: metadata.rows?,
            cols: metadata.cols?,
        }),
        io::FileFormat::MatrixMarket => Some(SourceSpec::MatrixMarket { path }),
        io::FileFormat::Libsvm => Some(SourceSpec::Libsvm {
            path,
            columns: metadata.cols,
        }),
        io::FileFormat::Parquet => Some(SourceSpec::Parquet { path }),
        // A frame.
        io::FileFormat::JsonLines => None,
        io::FileFormat::Binary => Some(SourceSpec::Binary {
            path,
            mapped: reading == Access::Mapped,
        }),
    }
}

fn check_promised(path: &str, promised: &Metadata, found: &DistributedMatrix) -> Result<()> {
    for (what, promised, found) in [
        ("rows", promised.rows, found.stripes.rows),
        ("columns", promised.cols, found.stripes.cols),
    ] {
        if let (Some(promised), Some(found)) = (promised, found)
            && promised != found
        {
            return Err(Error::data(format!(
                "{path}: the file has {found} {what}, its metadata promise {promised}"
            )));
        }
    }
    Ok(())
}

/// As `print` shows it, but for booleans: files have `true` and `false`.
fn scalar_in_file(value: &Literal) -> String {
    match value {
        Literal::Boolean(value) => value.to_string(),
        other => other.to_string(),
    }
}

fn scalar_from_file(text: String, value_type: ValueType, path: &str) -> Result<Literal> {
    if value_type != ValueType::Boolean {
        return scalar::convert(&Literal::String(text), value_type);
    }
    match text.trim() {
        "true" | "TRUE" => Ok(Literal::Boolean(true)),
        "false" | "FALSE" => Ok(Literal::Boolean(false)),
        other => Err(
            Error::data(format!("{path} holds '{other}', which is no boolean"))
                .with_help("booleans in files are true and false"),
        ),
    }
}

/// Whether the matrix of a text file would take more: by its metadata, else by its size.
fn is_larger(metadata: &Metadata, text_bytes: Option<u64>, budget: u64) -> bool {
    let mut known = Characteristics::new(metadata.rows, metadata.cols, metadata.nnz);
    if metadata.format == Some(io::FileFormat::Text) && known.nnz.is_none() {
        known.nnz = text_bytes.map(|bytes| bytes / TEXT_BYTES_OF_A_CELL);
    }
    let by_size = || Some(text_bytes?.saturating_mul(BYTES_PER_TEXT_BYTE));
    known
        .memory_bytes()
        .or_else(by_size)
        .is_some_and(|bytes| bytes > budget)
}

pub(super) fn write(
    options: &WriteOptions,
    inputs: Vec<Variable>,
    session: &Session,
) -> Result<()> {
    let path = text(&inputs, 1, "the path of a file to write")?;
    let format = match options.format_is_input {
        true => {
            let code = text(&inputs, 2, "the format of a file")?;
            io::FileFormat::from_code(&code).ok_or_else(|| {
                Error::argument(format!("there is no file format '{code}'"))
                    .with_help("the formats are csv, text, mm, libsvm, binary, parquet and jsonl")
            })?
        }
        false => file_format(options.format.unwrap_or(FileFormat::Text)),
    };
    let mut written = io::WriteOptions::new(format);
    if let Some(separator) = &options.separator {
        written.separator.clone_from(separator);
    }
    written.header = options.header.unwrap_or(false);
    written.sparse = options.sparse.unwrap_or(false);
    write_value(inputs.first(), path, written, session)
}

fn write_value(
    value: Option<&Variable>,
    path: String,
    written: io::WriteOptions,
    session: &Session,
) -> Result<()> {
    let file = DataFile::at(&path, session)?;
    let format = written.format;
    match value {
        Some(Variable::List(list)) => write_list(list, &path, &written, session),
        Some(Variable::Scalar(value)) => {
            let value_type = value_type_name(value.value_type());
            file.write(|local| io::write_scalar(&scalar_in_file(value), value_type, local))
        }
        Some(matrix) if is_written_by_workers(matrix, format, session) => {
            write_by_workers(matrix, path, written, session)
        }
        Some(Variable::Matrix(matrix)) => {
            file.write(|local| io::write(matrix.block(), local, &written))
        }
        Some(Variable::Distributed(matrix)) => {
            let collected = matrix.collect()?;
            file.write(|local| io::write(collected.block(), local, &written))
        }
        Some(Variable::Frame(frame)) => {
            file.write(|local| frame_files::write(frame, local, &written))
        }
        Some(Variable::Written(_)) => Err(Error::internal("parts are not in their places")),
        Some(Variable::Range(_)) => Err(Error::internal("a range is written as it lies")),
        None => Err(Error::internal("a write without a value")),
    }
}

/// A folder of files, as SystemDS writes it: `0_name`, `1_null` and so on, and metadata beside it.
fn write_list(
    list: &List,
    path: &str,
    options: &io::WriteOptions,
    session: &Session,
) -> Result<()> {
    let folder = DataFile::at(path, session)?.folder()?;
    let cannot = |error: std::io::Error| {
        Error::io(format!(
            "cannot write the list '{}': {error}",
            folder.display()
        ))
    };
    if folder.exists() {
        if !declares_list(path, session) {
            return Err(Error::io(format!(
                "cannot write the list '{path}': it is there, and is no list"
            ))
            .with_help("delete it, or choose another name"));
        }
        fs::remove_dir_all(&folder).map_err(cannot)?;
    }
    fs::create_dir_all(&folder).map_err(cannot)?;
    for (place, element) in list.elements().iter().enumerate() {
        let name = element.name.as_deref().unwrap_or(NO_NAME);
        if name.contains(['/', '\\']) {
            return Err(Error::argument(format!(
                "the name '{name}' of an element is no name of a file"
            )));
        }
        let element_path = folder.join(format!("{place}_{name}"));
        let element_path = element_path.to_string_lossy().into_owned();
        write_value(Some(&element.value), element_path, options.clone(), session)?;
    }
    let metadata = Metadata {
        data_type: Some(LIST.to_owned()),
        rows: u64::try_from(list.len()).ok(),
        cols: Some(1),
        format: Some(options.format),
        ..Metadata::default()
    };
    fs::write(metadata_path(&folder), metadata.to_json()).map_err(cannot)
}

/// The elements of a folder in the order of their numbers.
fn read_list(path: &str, session: &Session) -> Result<List> {
    let folder = DataFile::at(path, session)?.folder()?;
    let cannot = |error: std::io::Error| {
        let failed = Error::io(format!(
            "cannot read the list '{}': {error}",
            folder.display()
        ));
        match error.kind() {
            std::io::ErrorKind::NotFound => failed.with_code(Code::FileNotFound),
            _ => failed,
        }
    };
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&folder).map_err(cannot)? {
        let name = entry
            .map_err(cannot)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(METADATA_SUFFIX) || name.starts_with(['.', '_']) {
            continue;
        }
        let place = name.split_once('_').and_then(|(place, own)| {
            let own = (own != NO_NAME).then(|| own.to_owned());
            Some((place.parse::<usize>().ok()?, own))
        });
        let (place, own) = place.ok_or_else(|| {
            Error::data(format!(
                "'{path}' holds '{name}', which is no element of a list"
            ))
            .with_help("the files of a list are named 0_name, 1_name and so on")
        })?;
        found.insert(place, (own, folder.join(name)));
    }
    let mut elements = Vec::new();
    for (name, file) in found.into_values() {
        let path = Variable::Scalar(Literal::String(file.to_string_lossy().into_owned()));
        let value = read(&ReadOptions::default(), &[path], session)?;
        elements.push(Element { name, value });
    }
    Ok(List::new(elements))
}

/// Whether the metadata beside a path say that it is a list. Lists are on this machine.
fn declares_list(path: &str, session: &Session) -> bool {
    let folder = DataFile::at(path, session).and_then(|file| file.folder());
    let text = folder.and_then(|folder| {
        fs::read_to_string(metadata_path(&folder)).map_err(|error| Error::io(error.to_string()))
    });
    let metadata = text.and_then(|text| Metadata::parse(&text));
    metadata.is_ok_and(|metadata| metadata.data_type.as_deref() == Some(LIST))
}

fn metadata_path(folder: &Path) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(METADATA_SUFFIX);
    path.into()
}

/// What metadata call a list.
const LIST: &str = "list";

/// What SystemDS calls an element without a name.
const NO_NAME: &str = "null";

const METADATA_SUFFIX: &str = ".mtd";

/// What does not fit here, and, in a format that only they have, all.
fn is_written_by_workers(matrix: &Variable, format: io::FileFormat, session: &Session) -> bool {
    let is_too_large = |matrix: &Variable| match matrix {
        Variable::Distributed(matrix) => !fits(matrix, session),
        _ => false,
    };
    session.backend.is_some() && (format == io::FileFormat::Parquet || is_too_large(matrix))
}

fn write_by_workers(
    matrix: &Variable,
    path: String,
    options: io::WriteOptions,
    session: &Session,
) -> Result<()> {
    let workers = session.workers()?;
    let matrix = workers.distributed(matrix)?;
    let metadata = metadata_written(&options, matrix.characteristics());
    let write = Primitive::Write {
        input: matrix.dataset.id,
        path,
        format: written_format(options.format),
        separator: options.separator,
        header: options.header,
        sparse: options.sparse,
        metadata,
    };
    workers.backend.apply(&write, None).map(|_| ())
}

fn written_format(format: io::FileFormat) -> FileFormat {
    match format {
        io::FileFormat::Csv => FileFormat::Csv,
        io::FileFormat::Text => FileFormat::Text,
        io::FileFormat::MatrixMarket => FileFormat::MatrixMarket,
        io::FileFormat::Libsvm => FileFormat::Libsvm,
        io::FileFormat::Binary => FileFormat::Binary,
        io::FileFormat::Parquet => FileFormat::Parquet,
        io::FileFormat::JsonLines => FileFormat::JsonLines,
    }
}

/// MatrixMarket files say themselves what they are.
fn metadata_written(options: &io::WriteOptions, size: Characteristics) -> Option<String> {
    let (rows, cols) = (size.rows?, size.cols?);
    (options.format != io::FileFormat::MatrixMarket)
        .then(|| options.metadata(rows, cols, size.nnz).to_json())
}

fn fits(matrix: &DistributedMatrix, session: &Session) -> bool {
    let bytes = matrix.stripes.memory_bytes();
    bytes.is_some_and(|bytes| bytes <= session.config.memory_local)
}

fn text(inputs: &[Variable], place: usize, what: &str) -> Result<String> {
    match inputs.get(place).map(Variable::as_scalar) {
        Some(Ok(Literal::String(text))) => Ok(text.clone()),
        // A `$`-argument that looks like a number is one.
        Some(Ok(other)) => Ok(other.to_string()),
        Some(Err(error)) => Err(error),
        None => Err(Error::internal(format!("{what} is missing"))),
    }
}

/// What the metadata of a file say, for size propagation; `None` where they say too little. A file that is
/// missing becomes an error when it is read.
pub(crate) fn read_metadata(
    path: &str,
    options: &ReadOptions,
    session: &Session,
) -> Option<VariableInfo> {
    if declares_list(path, session) {
        return Some(VariableInfo::list());
    }
    let file = DataFile::at(path, session).ok()?;
    let (resolved, _) = file.resolve(&metadata_of(options)).ok()?;
    if resolved.data_type.as_deref() == Some("scalar") {
        let declared = resolved.value_type.as_deref().and_then(value_type);
        return Some(VariableInfo::scalar(declared.unwrap_or(ValueType::Double)));
    }
    let known = Characteristics::new(resolved.rows, resolved.cols, resolved.nnz);
    Some(match resolved.data_type.as_deref() {
        Some("frame") => VariableInfo::frame(known),
        _ => VariableInfo::matrix(known),
    })
}

/// The types that a file's metadata declare, for the compiler.
pub(crate) fn declared_type(path: &str, session: &Session) -> Option<(DataType, ValueType)> {
    let info = read_metadata(path, &ReadOptions::default(), session)?;
    Some((info.data_type, info.value_type))
}

fn metadata_of(options: &ReadOptions) -> Metadata {
    Metadata {
        data_type: options.data_type.map(|data_type| {
            match data_type {
                DataType::Matrix => "matrix",
                DataType::Scalar => "scalar",
                DataType::Frame => "frame",
                DataType::List => "list",
            }
            .to_owned()
        }),
        value_type: options
            .value_type
            .map(|value_type| value_type_name(value_type).to_owned()),
        rows: options.rows,
        cols: options.cols,
        nnz: options.nnz,
        format: options.format.map(file_format),
        header: options.header,
        separator: options.separator.clone(),
        fill: options.fill,
        default: options.default,
        na_strings: options.na_strings.clone(),
        schema: options.schema.clone(),
    }
}

fn file_format(format: FileFormat) -> io::FileFormat {
    match format {
        FileFormat::Csv => io::FileFormat::Csv,
        FileFormat::Text => io::FileFormat::Text,
        FileFormat::MatrixMarket => io::FileFormat::MatrixMarket,
        FileFormat::Binary => io::FileFormat::Binary,
        FileFormat::Libsvm => io::FileFormat::Libsvm,
        FileFormat::Parquet => io::FileFormat::Parquet,
        FileFormat::JsonLines => io::FileFormat::JsonLines,
    }
}

const VALUE_TYPES: [(ValueType, &str); 4] = [
    (ValueType::Double, "double"),
    (ValueType::Int, "int"),
    (ValueType::Boolean, "boolean"),
    (ValueType::String, "string"),
];

fn value_type(name: &str) -> Option<ValueType> {
    let found = VALUE_TYPES.iter().find(|(_, known)| *known == name);
    found.map(|(value_type, _)| *value_type)
}

fn value_type_name(value_type: ValueType) -> &'static str {
    let found = VALUE_TYPES.iter().find(|(known, _)| *known == value_type);
    found.map_or("double", |(_, name)| name)
}

/// A file, for the backend in this process.
pub fn read_source(source: &SourceSpec) -> Result<MatrixBlock> {
    let of_format = |format| Metadata {
        format: Some(format),
        ..Metadata::default()
    };
    let (path, call) = match source {
        SourceSpec::Registered { name } => {
            return Err(Error::internal(format!("the input '{name}' is no file")));
        }
        SourceSpec::Csv {
            path,
            separator,
            header,
            fill,
            default,
            warns_of_empty,
            na_strings,
            columns,
        } => {
            let call = Metadata {
                separator: Some(separator.clone()),
                header: Some(*header),
                fill: (!warns_of_empty).then_some(*fill),
                default: parse_double(default).filter(|_| !warns_of_empty),
                na_strings: Some(na_strings.clone()),
                cols: *columns,
                ..of_format(io::FileFormat::Csv)
            };
            (path, call)
        }
        SourceSpec::Text { path, rows, cols } => {
            let call = Metadata {
                rows: Some(*rows),
                cols: Some(*cols),
                ..of_format(io::FileFormat::Text)
            };
            (path, call)
        }
        SourceSpec::MatrixMarket { path } => (path, of_format(io::FileFormat::MatrixMarket)),
        SourceSpec::Libsvm { path, columns } => {
            let call = Metadata {
                cols: *columns,
                ..of_format(io::FileFormat::Libsvm)
            };
            (path, call)
        }
        SourceSpec::Binary { path, .. } => (path, of_format(io::FileFormat::Binary)),
        SourceSpec::Parquet { path } => (path, of_format(io::FileFormat::Parquet)),
    };
    let access = match source {
        SourceSpec::Binary { mapped: false, .. } => Access::Copied,
        _ => Access::Mapped,
    };
    match io::read(path, &call, access)? {
        Contents::Matrix(matrix) => Ok(matrix),
        Contents::Scalar(_) => Err(Error::data(format!("{path} holds a scalar, not a matrix"))),
        Contents::Frame(_) => Err(Error::data(format!("{path} holds a frame, not a matrix"))),
    }
}

/// As [`write()`] writes a matrix that is here.
pub fn write_file(
    path: &str,
    matrix: &MatrixBlock,
    format: FileFormat,
    separator: &str,
    header: bool,
    sparse: bool,
) -> Result<()> {
    let mut options = io::WriteOptions::new(file_format(format));
    separator.clone_into(&mut options.separator);
    (options.header, options.sparse) = (header, sparse);
    io::write(matrix, path, &options)
}
