//! `read` and `write`.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{
    Characteristics, DataType, FileFormat, Hop, HopId, HopOp, Literal, ReadOptions, ValueType,
    WriteOptions, scalar,
};

use super::{
    BoundCall, Builtin, Constant, Kind, Parameter, Rule, builtin, default, optional, required,
};
use crate::suggest;

pub(super) const BUILTINS: &[Builtin] = &[
    builtin("read", READ, Rule::Function(read)),
    builtin("write", WRITE, Rule::Effect(write)),
];

const READ: &[Parameter] = &[
    required("file", Kind::String),
    optional("rows", Kind::Number),
    optional("cols", Kind::Number),
    optional("nnz", Kind::Number),
    optional("format", Kind::String),
    optional("data_type", Kind::String),
    optional("value_type", Kind::String),
    optional("sep", Kind::String),
    optional("header", Kind::Boolean),
    optional("fill", Kind::Boolean),
    optional("default", Kind::Number),
    optional("na.strings", Kind::String),
    optional("schema", Kind::String),
    optional("rows_in_block", Kind::Number),
    optional("cols_in_block", Kind::Number),
];

const WRITE: &[Parameter] = &[
    required("data", Kind::Any),
    required("file", Kind::String),
    default("format", Kind::String, Constant::String("text")),
    optional("sep", Kind::String),
    optional("header", Kind::Boolean),
    optional("sparse", Kind::Boolean),
    optional("description", Kind::String),
    optional("rows_in_block", Kind::Number),
    optional("cols_in_block", Kind::Number),
];

fn read(call: &mut BoundCall<'_>) -> Result<HopId> {
    let options = ReadOptions {
        rows: size(call, 1)?,
        cols: size(call, 2)?,
        nnz: size(call, 3)?,
        format: format(call, 4)?,
        data_type: word(call, 5, &DATA_TYPES)?,
        value_type: word(call, 6, &VALUE_TYPES)?,
        separator: call.constant_string(7)?,
        header: call.constant_boolean(8)?,
        fill: call.constant_boolean(9)?,
        default: call.constant(10)?.and_then(Literal::as_f64),
        na_strings: call.constant_string(11)?.map(|texts| na_strings(&texts)),
        schema: call.constant_string(12)?,
    };
    let path = call.argument(0)?;
    let declared = match call.block.constant(path) {
        Some(Literal::String(path)) => call.resolver.declared_type(path),
        _ => None,
    };
    let data_type = options
        .data_type
        .or(declared.map(|(data_type, _)| data_type))
        .unwrap_or(DataType::Matrix);
    let declared = declared.map(|(_, value_type)| value_type);
    let value_type = match data_type {
        // All types of columns can be text.
        DataType::Frame => options.value_type.unwrap_or(ValueType::String),
        _ => options.value_type.or(declared).unwrap_or(ValueType::Double),
    };
    let (data_type, value_type, characteristics) = match data_type {
        // The cells of a matrix are doubles, whatever the file's type.
        DataType::Matrix => {
            let characteristics = Characteristics::new(options.rows, options.cols, options.nnz);
            (data_type, ValueType::Double, characteristics)
        }
        DataType::Scalar => (data_type, value_type, Characteristics::SCALAR),
        DataType::Frame => {
            let characteristics = Characteristics::new(options.rows, options.cols, None);
            (data_type, value_type, characteristics)
        }
        DataType::List => (data_type, value_type, Characteristics::UNKNOWN),
    };
    let hop = Hop {
        op: HopOp::PersistentRead(options),
        inputs: vec![path],
        data_type,
        value_type,
        characteristics,
        position: Some(call.position.clone()),
    };
    Ok(call.block.push(hop))
}

fn write(call: &mut BoundCall<'_>) -> Result<HopId> {
    const FORMAT: usize = 2;
    let mut inputs = vec![call.argument(0)?, call.argument(1)?];
    let format_id = call.argument(FORMAT)?;
    let format_is_input = call.block.constant(format_id).is_none();
    if format_is_input {
        inputs.push(format_id);
    }
    let options = WriteOptions {
        format: if format_is_input {
            None
        } else {
            format(call, FORMAT)?
        },
        format_is_input,
        separator: call.constant_string(3)?,
        header: call.constant_boolean(4)?,
        sparse: call.constant_boolean(5)?,
    };
    let data = call.block.hop(call.argument(0)?);
    let hop = Hop {
        op: HopOp::PersistentWrite(options),
        inputs,
        data_type: data.data_type,
        value_type: data.value_type,
        characteristics: data.characteristics,
        position: Some(call.position.clone()),
    };
    Ok(call.block.push_root(hop))
}

const FORMATS: [(&str, FileFormat); 8] = [
    ("csv", FileFormat::Csv),
    ("text", FileFormat::Text),
    ("mm", FileFormat::MatrixMarket),
    ("matrixmarket", FileFormat::MatrixMarket),
    ("binary", FileFormat::Binary),
    ("libsvm", FileFormat::Libsvm),
    ("parquet", FileFormat::Parquet),
    ("jsonl", FileFormat::JsonLines),
];

const DATA_TYPES: [(&str, DataType); 4] = [
    ("matrix", DataType::Matrix),
    ("scalar", DataType::Scalar),
    ("frame", DataType::Frame),
    ("list", DataType::List),
];

const VALUE_TYPES: [(&str, ValueType); 4] = [
    ("double", ValueType::Double),
    ("int", ValueType::Int),
    ("boolean", ValueType::Boolean),
    ("string", ValueType::String),
];

fn format(call: &BoundCall<'_>, place: usize) -> Result<Option<FileFormat>> {
    word(call, place, &FORMATS)
}

/// One of several words, in any case.
fn word<T: Copy>(call: &BoundCall<'_>, place: usize, words: &[(&str, T)]) -> Result<Option<T>> {
    let Some(written) = call.constant_string(place)? else {
        return Ok(None);
    };
    let found = words
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(&written));
    match found {
        Some((_, value)) => Ok(Some(*value)),
        None => {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let parameter = call.builtin.parameters.get(place).map_or("", |p| p.name);
            let help = suggest::did_you_mean(&written, known.iter().copied())
                .unwrap_or_else(|| format!("known are {}", known.join(", ")));
            Err(
                Error::validation(format!("unknown {parameter} '{written}'"))
                    .with_code(Code::UnknownChoice)
                    .at(call.position_of(place))
                    .with_help(help),
            )
        }
    }
}

/// What SystemDS writes between texts for missing values.
const NA_SEPARATOR: &str = "\u{b7}";

fn na_strings(texts: &str) -> Vec<String> {
    texts.split(NA_SEPARATOR).map(str::to_owned).collect()
}

/// A size; -1 says that it is unknown.
fn size(call: &BoundCall<'_>, place: usize) -> Result<Option<u64>> {
    Ok(call
        .constant(place)?
        .and_then(Literal::as_f64)
        .and_then(|value| u64::try_from(scalar::double_to_int(value)).ok()))
}
