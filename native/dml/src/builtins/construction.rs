//! Functions that make matrices and frames of something else.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{
    BinaryOp, DataGenOp, DataType, Dialect, HopId, HopOp, Literal, ParameterizedOp, UnaryOp,
    ValueType,
};

use super::{
    BoundCall, Builtin, Constant, Kind, Parameter, Rule, VALUE, builtin, cast, default, optional,
    required,
};

pub(super) const BUILTINS: &[Builtin] = &[
    builtin("matrix", MATRIX, Rule::Function(matrix)),
    builtin("seq", SEQ, Rule::Function(seq)),
    Builtin {
        aliases: &["Rand"],
        named_only: true,
        ..builtin("rand", RAND, Rule::Function(rand))
    },
    builtin("sample", SAMPLE, Rule::Function(sample)),
    cast("as.scalar", &[], as_scalar),
    cast("as.matrix", &[], as_matrix),
    cast("as.frame", &[], as_frame),
    // Needs to know the variables, so lower::expression makes it.
    builtin("exists", VALUE, Rule::Exists),
];

const MATRIX: &[Parameter] = &[
    required("data", Kind::Any),
    required("rows", Kind::Number),
    required("cols", Kind::Number),
    default("byrow", Kind::Boolean, Constant::Boolean(true)),
    optional("dimnames", Kind::Any),
];
const SEQ: &[Parameter] = &[
    required("from", Kind::Number),
    required("to", Kind::Number),
    default("incr", Kind::Number, Constant::Double(f64::NAN)),
];
const RAND: &[Parameter] = &[
    default("rows", Kind::Number, Constant::Int(1)),
    default("cols", Kind::Number, Constant::Int(1)),
    default("min", Kind::Number, Constant::Double(0.0)),
    default("max", Kind::Number, Constant::Double(1.0)),
    default("sparsity", Kind::Number, Constant::Double(1.0)),
    default("seed", Kind::Number, Constant::Int(-1)),
    default("pdf", Kind::String, Constant::String("uniform")),
    default("lambda", Kind::Number, Constant::Double(1.0)),
];
const SAMPLE: &[Parameter] = &[
    required("range", Kind::Number),
    required("size", Kind::Number),
    default("replace", Kind::Boolean, Constant::Boolean(false)),
    default("seed", Kind::Number, Constant::Int(-1)),
];

/// Fills a matrix from a scalar, or reshapes one.
fn matrix(call: &mut BoundCall<'_>) -> Result<HopId> {
    let mut inputs = vec![call.argument(0)?, call.argument(1)?, call.argument(2)?];
    let data = call.block.hop(inputs[0]);
    match (data.data_type, data.value_type) {
        (DataType::Matrix, _) => {
            let by_row = call.constant_boolean(3)?.unwrap_or(true);
            Ok(call.matrix(HopOp::Reshape { by_row }, inputs))
        }
        (DataType::Scalar, ValueType::Boolean) => Err(call
            .wrong_type(0, "a number, a string of numbers or a matrix")
            .with_help("write 0 or 1")),
        (DataType::Scalar, _) => Ok(call.matrix(HopOp::DataGen(DataGenOp::Fill), inputs)),
        (DataType::List, _) => {
            let by_row = call.constant_boolean(3)?.unwrap_or(true);
            let cells = call.block.as_matrix(inputs[0], call.position);
            inputs[0] = cells;
            Ok(call.matrix(HopOp::Reshape { by_row }, inputs))
        }
        (DataType::Frame, _) => Err(call
            .wrong_type(0, "a number, a string of numbers, a list or a matrix")
            .with_help("convert it with as.matrix() first")),
    }
}

fn seq(call: &mut BoundCall<'_>) -> Result<HopId> {
    const INCREMENT: usize = 2;
    if call.block.dialect() == Dialect::SystemDs && call.optional(INCREMENT).is_some() {
        return seq_that_reaches_its_end(call);
    }
    generate(call, DataGenOp::Seq, 3)
}

/// SystemDS's sequence: one number more than `floor(to / incr - from / incr)` says, where rounding made that one too few.
fn seq_that_reaches_its_end(call: &mut BoundCall<'_>) -> Result<HopId> {
    let position = call.position;
    let (from, to, increment) = (call.argument(0)?, call.argument(1)?, call.argument(2)?);
    let block = &mut *call.block;
    let last = block.binary(BinaryOp::Div, to, increment, position)?;
    let first = block.binary(BinaryOp::Div, from, increment, position)?;
    let steps = block.binary(BinaryOp::Minus, last, first, position)?;
    let steps = block.unary(UnaryOp::Floor, steps, position)?;
    let one = block.int(1, position);
    let steps = block.plus(steps, one, position)?;
    let next = block.times(steps, increment, position)?;
    let next = block.plus(from, next, position)?;
    let left = block.binary(BinaryOp::Minus, to, next, position)?;
    let left = block.times(left, increment, position)?;
    let zero = block.int(0, position);
    let one_more = block.binary(BinaryOp::GreaterEqual, left, zero, position)?;
    let half = block.literal(Literal::Double(0.5), position);
    let half = block.times(increment, half, position)?;
    let beyond = block.plus(to, half, position)?;
    let to = block.if_else(one_more, beyond, to, position)?;
    Ok(call.matrix(HopOp::DataGen(DataGenOp::Seq), vec![from, to, increment]))
}

fn sample(call: &mut BoundCall<'_>) -> Result<HopId> {
    generate(call, DataGenOp::Sample, 4)
}

fn rand(call: &mut BoundCall<'_>) -> Result<HopId> {
    const PDF: usize = 6;
    if let Some(Literal::String(pdf)) = call.block.constant(call.argument(PDF)?)
        && !["uniform", "normal", "poisson"].contains(&pdf.as_str())
    {
        return Err(Error::validation(format!("unknown distribution '{pdf}'"))
            .with_code(Code::UnknownChoice)
            .at(call.position_of(PDF))
            .with_help("rand knows uniform, normal and poisson"));
    }
    generate(call, DataGenOp::Rand, 8)
}

fn generate(call: &mut BoundCall<'_>, op: DataGenOp, inputs: usize) -> Result<HopId> {
    let inputs = (0..inputs)
        .map(|place| call.argument(place))
        .collect::<Result<_>>()?;
    Ok(call.matrix(HopOp::DataGen(op), inputs))
}

fn as_scalar(call: &mut BoundCall<'_>) -> Result<HopId> {
    let value = call.argument(0)?;
    let hop = call.block.hop(value);
    if hop.is_scalar() {
        return Err(call
            .wrong_type(0, "a matrix, a frame or a list")
            .with_help("it is a scalar already: leave the cast out"));
    }
    let value_type = match hop.data_type {
        DataType::Frame => hop.value_type,
        _ => ValueType::Double,
    };
    Ok(call.block.as_scalar(value, value_type, call.position))
}

fn as_matrix(call: &mut BoundCall<'_>) -> Result<HopId> {
    let value = call.argument(0)?;
    let hop = call.block.hop(value);
    if hop.is_matrix() {
        return Ok(value);
    }
    if let Some((ParameterizedOp::List, _)) = hop.op.with_named_inputs() {
        let elements = hop.inputs.clone();
        return column(call, elements);
    }
    Ok(call.block.as_matrix(value, call.position))
}

/// The elements of a list that is written out, one below the other; its only one, if that is a matrix.
pub(super) fn column(call: &mut BoundCall<'_>, elements: Vec<HopId>) -> Result<HopId> {
    if let [only] = elements[..]
        && call.block.hop(only).is_matrix()
    {
        return Ok(only);
    }
    let is_number = |id: &HopId| {
        let hop = call.block.hop(*id);
        hop.is_scalar() && hop.value_type != ValueType::String
    };
    if elements.is_empty() || !elements.iter().all(is_number) {
        return Err(call
            .wrong_type(0, "a list of numbers, or of one matrix")
            .with_help("rbind() puts matrices one below the other"));
    }
    let cells: Vec<HopId> = elements
        .into_iter()
        .map(|element| call.block.as_matrix(element, call.position))
        .collect();
    Ok(match cells[..] {
        [only] => only,
        _ => call.matrix(HopOp::RBind, cells),
    })
}

fn as_frame(call: &mut BoundCall<'_>) -> Result<HopId> {
    let value = call.argument(0)?;
    let hop = call.block.hop(value);
    let value_type = match hop.data_type {
        DataType::Frame => return Ok(value),
        DataType::List => ValueType::String,
        DataType::Matrix | DataType::Scalar => hop.value_type,
    };
    Ok(call.block.as_frame(value, value_type, call.position))
}
