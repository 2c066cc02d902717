//! `read` and `write` statements, when they are executed.
//!
//! A csv file whose matrix would not fit the local budget is read by the workers and stays with them; a
//! distributed matrix is written by them.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{
    Characteristics, DataType, FileFormat, Literal, ReadOptions, ValueType, VariableInfo,
    WriteOptions, scalar,
};
use fulgurite_matrix::{
    MatrixBlock,
    io::{self, Contents, Metadata},
};

use super::Variable;
use crate::{
    Session,
    dataflow::{Primitive, SourceSpec},
    distributed::{DistributedMatrix, Workers},
};

/// A csv file's cells take about this many times their text, which has at least a digit and a separator.
const CSV_BYTES_PER_TEXT_BYTE: u64 = 4;

pub(super) fn read(
    options: &ReadOptions,
    inputs: &[Variable],
    session: &Session,
) -> Result<Variable> {
    let path = text(inputs, 0, "the path of a file to read")?;
    let call = metadata_of(options);
    let resolved = io::resolve(&path, &call)?;
    if resolved.data_type.as_deref() == Some("scalar") {
        let declared = resolved.value_type.as_deref().and_then(value_type);
        return match io::read(&path, &call)? {
            Contents::Scalar(text) => {
                let value_type = declared.unwrap_or(ValueType::Double);
                scalar_from_file(text, value_type, &path).map(Variable::Scalar)
            }
            Contents::Matrix(matrix) => Ok(Variable::matrix(matrix)),
        };
    }
    let csv = resolved.format == Some(io::FileFormat::Csv);
    if let Some(backend) = session.backend.as_ref().filter(|_| csv)
        && csv_bytes(&path, &resolved).is_some_and(|bytes| bytes > session.config.memory_local)
    {
        let source = SourceSpec::Csv {
            path,
            separator: resolved.separator.unwrap_or_else(|| ",".into()),
            header: resolved.header.unwrap_or(false),
            columns: resolved.cols,
        };
        let known = Characteristics::new(resolved.rows, resolved.cols, resolved.nnz);
        return DistributedMatrix::read(backend, source, known).map(Variable::Distributed);
    }
    match io::read(&path, &call)? {
        Contents::Matrix(matrix) => Ok(Variable::matrix(matrix)),
        Contents::Scalar(_) => Err(Error::internal("a scalar's file was taken for a matrix")),
    }
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

/// What the matrix of a csv file would take: by its metadata, else by its size.
fn csv_bytes(path: &str, metadata: &Metadata) -> Option<u64> {
    let known = Characteristics::new(metadata.rows, metadata.cols, metadata.nnz);
    known.memory_bytes().or_else(|| {
        let file = std::fs::metadata(path).ok().filter(|file| file.is_file())?;
        Some(file.len().saturating_mul(CSV_BYTES_PER_TEXT_BYTE))
    })
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
                    .with_help("the formats are csv, text, mm and binary")
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
    match inputs.first() {
        Some(Variable::Scalar(value)) => {
            let value_type = value_type_name(value.value_type());
            io::write_scalar(&scalar_in_file(value), value_type, &path)
        }
        Some(Variable::Matrix(matrix)) => io::write(matrix.block(), &path, &written),
        Some(Variable::Distributed(matrix)) => {
            if fits(matrix, session) {
                let collected = matrix.collect()?;
                return io::write(collected.block(), &path, &written);
            }
            if format != io::FileFormat::Csv {
                return Err(Error::unsupported(
                    "a distributed matrix can only be written as csv",
                ));
            }
            let workers = Workers::of(session)?;
            let matrix = workers.lying(matrix, false)?;
            let write = Primitive::WriteCsv {
                input: matrix.dataset.id,
                path,
                separator: written.separator,
                header: written.header,
            };
            workers.backend.apply(&write, None).map(|_| ())
        }
        None => Err(Error::internal("a write without a value")),
    }
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
pub(crate) fn read_metadata(path: &str, options: &ReadOptions) -> Option<VariableInfo> {
    let resolved = io::resolve(path, &metadata_of(options)).ok()?;
    if resolved.data_type.as_deref() == Some("scalar") {
        let declared = resolved.value_type.as_deref().and_then(value_type);
        return Some(VariableInfo::scalar(declared.unwrap_or(ValueType::Double)));
    }
    let known = Characteristics::new(resolved.rows, resolved.cols, resolved.nnz);
    Some(VariableInfo::matrix(known))
}

/// The types that a file's metadata declare, for the compiler.
pub(crate) fn declared_type(path: &str) -> Option<(DataType, ValueType)> {
    let info = read_metadata(path, &ReadOptions::default())?;
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
        na_strings: None,
    }
}

fn file_format(format: FileFormat) -> io::FileFormat {
    match format {
        FileFormat::Csv => io::FileFormat::Csv,
        FileFormat::Text => io::FileFormat::Text,
        FileFormat::MatrixMarket => io::FileFormat::MatrixMarket,
        FileFormat::Binary => io::FileFormat::Binary,
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

/// A csv file, for the backend in this process.
pub(crate) fn read_csv(
    path: &str,
    separator: &str,
    header: bool,
    columns: Option<u64>,
) -> Result<MatrixBlock> {
    let call = Metadata {
        format: Some(io::FileFormat::Csv),
        separator: Some(separator.to_owned()),
        header: Some(header),
        cols: columns,
        ..Metadata::default()
    };
    match io::read(path, &call)? {
        Contents::Matrix(matrix) => Ok(matrix),
        Contents::Scalar(_) => Err(Error::data(format!("{path} holds a scalar, not a matrix"))),
    }
}

pub(crate) fn write_csv(
    path: &str,
    matrix: &MatrixBlock,
    separator: &str,
    header: bool,
) -> Result<()> {
    let mut options = io::WriteOptions::new(io::FileFormat::Csv);
    separator.clone_into(&mut options.separator);
    options.header = header;
    io::write(matrix, path, &options)
}
