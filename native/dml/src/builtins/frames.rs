//! Functions of frames.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{DataType, FrameOp, HopId, ValueType};

use super::{
    BoundCall, Builtin, Constant, Kind, Parameter, Rule, builtin, default, optional, required,
};

pub(super) const BUILTINS: &[Builtin] = &[
    builtin("transformencode", ENCODE, Rule::Several(&[2], encode)),
    builtin("transformapply", APPLY, Rule::Function(apply)),
    builtin("transformdecode", DECODE, Rule::Function(decode)),
    builtin("transformcolmap", COLUMN_MAP, Rule::Function(column_map)),
    builtin("transformmeta", META, Rule::Function(stored_metadata)),
    Builtin {
        named_only: true,
        ..builtin("transform", TRANSFORM, Rule::Function(transform))
    },
    builtin("typeof", FRAME, Rule::Function(type_of)),
    builtin("detectSchema", FRAME, Rule::Function(detect_schema)),
    builtin("applySchema", SCHEMA, Rule::Function(apply_schema)),
    builtin("dropInvalidType", SCHEMA, Rule::Function(drop_type)),
    builtin("dropInvalidLength", LENGTHS, Rule::Function(drop_length)),
    builtin("valueSwap", SCHEMA, Rule::Function(value_swap)),
    builtin("colnames", FRAME, Rule::Function(names)),
    builtin("map", MAP, Rule::Function(map)),
    builtin("tokenize", TOKENIZE, Rule::Function(tokenize)),
    builtin("frame", FILL, Rule::Function(fill)),
];

const FRAME: &[Parameter] = &[required("target", Kind::Frame)];
const ENCODE: &[Parameter] = &[
    required("target", Kind::Frame),
    required("spec", Kind::String),
];
const APPLY: &[Parameter] = &[
    required("target", Kind::Frame),
    required("spec", Kind::String),
    required("meta", Kind::Frame),
    optional("embedding", Kind::Matrix),
];
const DECODE: &[Parameter] = &[
    required("target", Kind::Matrix),
    required("spec", Kind::String),
    required("meta", Kind::Frame),
];
const COLUMN_MAP: &[Parameter] = &[
    required("target", Kind::Frame),
    required("spec", Kind::String),
];
const META: &[Parameter] = &[
    required("spec", Kind::String),
    required("transformPath", Kind::String),
];
const TRANSFORM: &[Parameter] = &[
    required("target", Kind::Table),
    required("transformPath", Kind::String),
    optional("spec", Kind::String),
    optional("applyTransformPath", Kind::String),
    optional("outputNames", Kind::String),
];
const SCHEMA: &[Parameter] = &[
    required("target", Kind::Frame),
    required("schema", Kind::Frame),
];
const LENGTHS: &[Parameter] = &[
    required("target", Kind::Frame),
    required("lengths", Kind::Matrix),
];
const FILL: &[Parameter] = &[
    required("data", Kind::ScalarOrList),
    required("rows", Kind::Number),
    required("cols", Kind::Number),
    optional("schema", Kind::ScalarOrList),
];
const MAP: &[Parameter] = &[
    required("target", Kind::Table),
    required("function", Kind::String),
    default("margin", Kind::Number, Constant::Int(0)),
];

const TOKENIZE: &[Parameter] = &[
    required("target", Kind::Frame),
    required("spec", Kind::String),
    required("max_tokens", Kind::Number),
];

/// Every cell is a scalar, or all cells are those of a list.
fn fill(call: &mut BoundCall<'_>) -> Result<HopId> {
    let (data, rows, cols) = (call.argument(0)?, call.argument(1)?, call.argument(2)?);
    let mut inputs = vec![data, rows, cols];
    inputs.extend(call.optional(3));
    Ok(operator(call, FrameOp::Fill, inputs))
}

/// The matrix, and the metadata that it was made by.
fn encode(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let (target, spec) = (call.argument(0)?, call.argument(1)?);
    let metadata = operator(call, FrameOp::Metadata, vec![target, spec]);
    let matrix = operator(call, FrameOp::Encode, vec![target, spec, metadata]);
    Ok(vec![matrix, metadata])
}

fn apply(call: &mut BoundCall<'_>) -> Result<HopId> {
    let op = match call.optional(3) {
        Some(_) => FrameOp::Embed,
        None => FrameOp::Encode,
    };
    of_arguments(call, op)
}

fn stored_metadata(call: &mut BoundCall<'_>) -> Result<HopId> {
    let inputs = vec![call.argument(1)?, call.argument(0)?];
    Ok(operator(call, FrameOp::StoredMetadata, inputs))
}

/// SystemML's: encodes by a specification or by the metadata of an earlier call, and stores the metadata. `outputNames` would name columns
/// of a matrix, which have none.
fn transform(call: &mut BoundCall<'_>) -> Result<HopId> {
    const SPEC: usize = 2;
    const APPLIED: usize = 3;
    let (target, folder) = (table(call)?, call.argument(1)?);
    let (spec, metadata) = match (call.optional(SPEC), call.optional(APPLIED)) {
        (Some(spec), None) => {
            let metadata = operator(call, FrameOp::Metadata, vec![target, spec]);
            (spec, metadata)
        }
        (spec, Some(applied)) => {
            let spec = match spec {
                Some(spec) => spec,
                None => {
                    let cell = operator(call, FrameOp::StoredSpecification, vec![applied]);
                    call.block.as_scalar(cell, ValueType::String, call.position)
                }
            };
            let inputs = vec![applied, spec];
            (spec, operator(call, FrameOp::StoredMetadata, inputs))
        }
        (None, None) => {
            return Err(
                Error::validation("'transform' needs 'spec' or 'applyTransformPath'")
                    .with_code(Code::MissingArgument)
                    .at(call.position)
                    .with_help(
                        "spec= encodes anew, applyTransformPath= by metadata that are there",
                    ),
            );
        }
    };
    let inputs = vec![target, spec, metadata, folder];
    Ok(operator(call, FrameOp::EncodeStoring, inputs))
}

fn decode(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::Decode)
}

fn column_map(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::ColumnMap)
}

fn type_of(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::TypeOf)
}

fn detect_schema(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::DetectSchema)
}

fn apply_schema(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::ApplySchema)
}

fn drop_type(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::DropInvalidType)
}

fn drop_length(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::DropInvalidLength)
}

fn value_swap(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::ValueSwap)
}

fn names(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::Names)
}

fn tokenize(call: &mut BoundCall<'_>) -> Result<HopId> {
    of_arguments(call, FrameOp::Tokenize)
}

/// The first argument as a frame.
fn table(call: &mut BoundCall<'_>) -> Result<HopId> {
    let target = call.argument(0)?;
    let hop = call.block.hop(target);
    let value_type = hop.value_type;
    Ok(match hop.data_type {
        DataType::Frame => target,
        _ => call.block.as_frame(target, value_type, call.position),
    })
}

/// Of a matrix, the frame that it is.
fn map(call: &mut BoundCall<'_>) -> Result<HopId> {
    let (target, function, margin) = (table(call)?, call.argument(1)?, call.argument(2)?);
    Ok(operator(call, FrameOp::Map, vec![target, function, margin]))
}

/// Whether the first argument is a frame, of functions that take matrices as well.
pub(super) fn is_first(call: &BoundCall<'_>) -> Result<bool> {
    Ok(call.block.hop(call.argument(0)?).data_type == DataType::Frame)
}

/// The operator with all arguments that are given, in the order of the parameters.
pub(super) fn of_arguments(call: &mut BoundCall<'_>, op: FrameOp) -> Result<HopId> {
    let given = call.given().into_iter().map(|(_, argument)| argument);
    let inputs = given.collect();
    Ok(operator(call, op, inputs))
}

pub(super) fn operator(call: &mut BoundCall<'_>, op: FrameOp, inputs: Vec<HopId>) -> HopId {
    call.block.frame(op, inputs, call.position)
}

/// `order(target=F, by=…)`: the sorted frame, or the numbers of its rows in order.
pub(super) fn order(call: &mut BoundCall<'_>) -> Result<HopId> {
    const INDEX_RETURN: usize = 3;
    let by_index = call.constant_boolean(INDEX_RETURN)?.unwrap_or(false);
    let inputs = vec![call.argument(0)?, call.argument(1)?, call.argument(2)?];
    let op = match by_index {
        true => FrameOp::Order,
        false => FrameOp::Sort,
    };
    Ok(operator(call, op, inputs))
}

/// `removeEmpty(target=F, margin=…)`.
pub(super) fn remove_empty(call: &mut BoundCall<'_>) -> Result<HopId> {
    const EMPTY_RETURN: usize = 3;
    let mut inputs = vec![
        call.argument(0)?,
        call.argument(1)?,
        call.argument(EMPTY_RETURN)?,
    ];
    inputs.extend(call.optional(2));
    Ok(operator(call, FrameOp::RemoveEmpty, inputs))
}
