//! Functions that work cell by cell, and casts of scalars.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{
    AggregateOp, BinaryOp, CastOp, Dialect, Direction, FrameOp, HopId, Literal, ParameterizedOp,
    UnaryOp, ValueType,
};

use super::{
    BoundCall, Builtin, Kind, Parameter, Rule, TARGET_ANY_CELLS, TARGET_CELLS, builtin, cast,
    frames, optional, required,
};
use crate::syntax::ast::BinaryOperator;

pub(super) const BUILTINS: &[Builtin] = &[
    unary("exp", UnaryOp::Exp),
    builtin("log", LOG, Rule::Function(log)),
    unary("sqrt", UnaryOp::Sqrt),
    unary("abs", UnaryOp::Abs),
    unary("round", UnaryOp::Round),
    unary("floor", UnaryOp::Floor),
    Builtin {
        aliases: &["ceiling"],
        ..unary("ceil", UnaryOp::Ceil)
    },
    unary("sign", UnaryOp::Sign),
    unary("sin", UnaryOp::Sin),
    unary("cos", UnaryOp::Cos),
    unary("tan", UnaryOp::Tan),
    unary("asin", UnaryOp::Asin),
    unary("acos", UnaryOp::Acos),
    unary("atan", UnaryOp::Atan),
    unary("sinh", UnaryOp::Sinh),
    unary("cosh", UnaryOp::Cosh),
    unary("tanh", UnaryOp::Tanh),
    unary("sigmoid", UnaryOp::Sigmoid),
    Builtin {
        aliases: &["isNA", "is.nan", "isNaN"],
        ..builtin("is.na", TARGET_ANY_CELLS, Rule::Function(is_nan))
    },
    Builtin {
        aliases: &["isInf"],
        ..builtin("is.infinite", TARGET_CELLS, Rule::Function(is_infinite))
    },
    bitwise("bitwAnd", |call| bits(call, ParameterizedOp::BitwAnd)),
    bitwise("bitwOr", |call| bits(call, ParameterizedOp::BitwOr)),
    bitwise("bitwXor", |call| bits(call, ParameterizedOp::BitwXor)),
    bitwise("bitwShiftL", |call| bits(call, ParameterizedOp::BitwShiftL)),
    bitwise("bitwShiftR", |call| bits(call, ParameterizedOp::BitwShiftR)),
    builtin("xor", LEFT_RIGHT, Rule::Binary(BinaryOp::Xor)),
    Builtin {
        aliases: &["pmin"],
        rest: Some(Kind::Cells),
        ..builtin("min", TARGET_CELLS, Rule::Function(min))
    },
    Builtin {
        aliases: &["pmax"],
        rest: Some(Kind::Cells),
        ..builtin("max", TARGET_CELLS, Rule::Function(max))
    },
    Builtin {
        ignores_names: true,
        ..builtin("ifelse", IF_ELSE, Rule::Function(if_else))
    },
    builtin("ppred", PPRED, Rule::Function(ppred)),
    cast("as.double", &[], |call| scalar_cast(call, CastOp::AsDouble)),
    cast("as.integer", &[], |call| {
        scalar_cast(call, CastOp::AsInteger)
    }),
    cast("as.logical", &["as.boolean"], |call| {
        scalar_cast(call, CastOp::AsLogical)
    }),
];

const LOG: &[Parameter] = &[
    required("target", Kind::Cells),
    optional("base", Kind::Number),
];
const LEFT_RIGHT: &[Parameter] = &[
    required("left", Kind::Cells),
    required("right", Kind::Cells),
];
const IF_ELSE: &[Parameter] = &[
    required("test", Kind::Cells),
    required("yes", Kind::Any),
    required("no", Kind::Any),
];
const PPRED: &[Parameter] = &[
    required("left", Kind::Cells),
    required("right", Kind::Cells),
    required("op", Kind::String),
];
/// A scalar as another type of scalar; of a 1 x 1 matrix and a list of one scalar, that scalar. SystemML rounds doubles down to
/// integers, SystemDS drops the fraction.
fn scalar_cast(call: &mut BoundCall<'_>, op: CastOp) -> Result<HopId> {
    let mut value = call.argument(0)?;
    if !call.block.hop(value).is_scalar() {
        let position = call.position;
        value = call.block.as_scalar(value, ValueType::Double, position);
    }
    let is_double = call.block.hop(value).value_type == ValueType::Double;
    if op == CastOp::AsInteger && is_double && call.block.dialect() == Dialect::SystemMl {
        value = call.block.unary(UnaryOp::Floor, value, call.position)?;
    }
    call.block.scalar_cast(op, value, call.position)
}

const fn unary(name: &'static str, op: UnaryOp) -> Builtin {
    builtin(name, TARGET_CELLS, Rule::Unary(op))
}

fn log(call: &mut BoundCall<'_>) -> Result<HopId> {
    let target = call.argument(0)?;
    match call.optional(1) {
        Some(base) => call
            .block
            .binary(BinaryOp::LogBase, target, base, call.position),
        None => call.block.unary(UnaryOp::Log, target, call.position),
    }
}

const fn bitwise(name: &'static str, build: fn(&mut BoundCall<'_>) -> Result<HopId>) -> Builtin {
    builtin(name, LEFT_RIGHT, Rule::Function(build))
}

/// An int of two ints, a double of other scalars, else a matrix.
fn bits(call: &mut BoundCall<'_>, op: ParameterizedOp) -> Result<HopId> {
    let (left, right) = (call.argument(0)?, call.argument(1)?);
    let (op, inputs) = call.named(op);
    let operands = [left, right].map(|operand| call.block.hop(operand));
    if operands.iter().any(|operand| operand.is_matrix()) {
        return Ok(call.matrix(op, inputs));
    }
    let is_int = operands.map(|operand| operand.value_type) == [ValueType::Int; 2];
    let value_type = match is_int {
        true => ValueType::Int,
        false => ValueType::Double,
    };
    Ok(call.scalar(op, inputs, value_type))
}

/// NaN is the only number that differs from itself.
fn is_nan(call: &mut BoundCall<'_>) -> Result<HopId> {
    let target = call.argument(0)?;
    if frames::is_first(call)? {
        return frames::of_arguments(call, FrameOp::IsMissing);
    }
    let differs = call
        .block
        .binary(BinaryOp::NotEqual, target, target, call.position)?;
    as_number(call, target, differs)
}

fn is_infinite(call: &mut BoundCall<'_>) -> Result<HopId> {
    let target = call.argument(0)?;
    let size = call.block.unary(UnaryOp::Abs, target, call.position)?;
    let infinity = call
        .block
        .literal(Literal::Double(f64::INFINITY), call.position);
    let is_infinite = call.block.equal(size, infinity, call.position)?;
    as_number(call, target, is_infinite)
}

/// Of scalars, 0 and 1 in the type of the target.
fn as_number(call: &mut BoundCall<'_>, target: HopId, truth: HopId) -> Result<HopId> {
    let hop = call.block.hop(target);
    let cast = match hop.value_type {
        _ if hop.is_matrix() => return Ok(truth),
        ValueType::Int => CastOp::AsInteger,
        _ => CastOp::AsDouble,
    };
    call.block.scalar_cast(cast, truth, call.position)
}

fn min(call: &mut BoundCall<'_>) -> Result<HopId> {
    extreme(call, AggregateOp::Min, BinaryOp::Min)
}

fn max(call: &mut BoundCall<'_>) -> Result<HopId> {
    extreme(call, AggregateOp::Max, BinaryOp::Max)
}

/// Over the cells of one matrix, or cell by cell over several operands.
fn extreme(call: &mut BoundCall<'_>, aggregate: AggregateOp, binary: BinaryOp) -> Result<HopId> {
    let first = call.argument(0)?;
    if call.rest.is_empty() {
        if !call.block.hop(first).is_matrix() {
            return Err(call
                .wrong_type(0, "a matrix")
                .with_help("compare two scalars by giving both"));
        }
        return Ok(call.aggregate(aggregate, Direction::Full, first));
    }
    let rest: Vec<HopId> = call.rest.iter().map(|argument| argument.id).collect();
    let mut result = first;
    for operand in &rest {
        result = call.block.binary(binary, result, *operand, call.position)?;
    }
    // Of two ints the result is an int, of more it is a double.
    if rest.len() > 1 && call.block.hop(result).is_scalar() {
        result = call
            .block
            .scalar_cast(CastOp::AsDouble, result, call.position)?;
    }
    Ok(result)
}

fn if_else(call: &mut BoundCall<'_>) -> Result<HopId> {
    let (test, yes, no) = (call.argument(0)?, call.argument(1)?, call.argument(2)?);
    call.block.if_else(test, yes, no, call.position)
}

/// The old spelling of comparisons: `ppred(A, B, "<")`.
fn ppred(call: &mut BoundCall<'_>) -> Result<HopId> {
    let symbol = call.constant_string(2)?.unwrap_or_default();
    match BinaryOperator::from_symbol(&symbol) {
        Some(BinaryOperator::Cell(op)) if op.is_logical() => {
            let (left, right) = (call.argument(0)?, call.argument(1)?);
            call.block.binary(op, left, right, call.position)
        }
        _ => Err(Error::validation(format!("'{symbol}' is not a comparison"))
            .with_code(Code::UnknownChoice)
            .at(call.position_of(2))
            .with_help("the comparisons are <, <=, >, >=, == and !=")),
    }
}
