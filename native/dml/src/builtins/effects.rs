//! Functions called for their effect or at their time, and `toString`, which prints into a string.

use fulgurite_error::Result;
use fulgurite_hop::{Hop, HopId, HopOp, ParameterizedOp, ValueType};

use super::{
    BoundCall, Builtin, Constant, Kind, Parameter, Presence, Rule, build::with_names, builtin,
    default, required,
};

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin {
        rest: Some(Kind::Scalar),
        ..builtin("print", PRINT, Rule::Effect(print))
    },
    builtin("stop", STOP, Rule::Effect(|call| effect(call, HopOp::Stop))),
    builtin(
        "assert",
        ASSERT,
        Rule::Effect(|call| effect(call, HopOp::Assert)),
    ),
    builtin("time", &[], Rule::Function(time)),
    builtin("toString", TO_STRING, Rule::Function(to_string)),
];

const PRINT: &[Parameter] = &[required("value", Kind::Any)];
const STOP: &[Parameter] = &[required("message", Kind::Scalar)];
const ASSERT: &[Parameter] = &[required("condition", Kind::Boolean)];
const TO_STRING: &[Parameter] = &[
    required("target", Kind::Any),
    default("rows", Kind::Number, Constant::Int(100)),
    default("cols", Kind::Number, Constant::Int(100)),
    default("decimal", Kind::Number, Constant::Int(3)),
    default("sparse", Kind::Boolean, Constant::Boolean(false)),
    default("sep", Kind::String, Constant::String(" ")),
    default("linesep", Kind::String, Constant::String("\n")),
];

/// Prints a scalar, or what it gives for a format; matrices print as `toString` shows them.
fn print(call: &mut BoundCall<'_>) -> Result<HopId> {
    let mut value = call.argument(0)?;
    if !call.block.hop(value).is_scalar() {
        if !call.rest.is_empty() {
            return Err(call.wrong_type(0, "a format"));
        }
        let mut named = vec![("target".to_owned(), value)];
        for parameter in TO_STRING {
            if let Presence::Default(constant) = parameter.presence {
                let default = call.block.literal(constant.into(), call.position);
                named.push((parameter.name.to_owned(), default));
            }
        }
        let (op, inputs) = with_names(ParameterizedOp::ToString, named);
        value = call.scalar(op, inputs, ValueType::String);
    }
    let rest = call.rest.iter().map(|argument| argument.id);
    let inputs = std::iter::once(value).chain(rest).collect();
    Ok(root(call, HopOp::Print, inputs))
}

fn effect(call: &mut BoundCall<'_>, op: HopOp) -> Result<HopId> {
    let inputs = vec![call.argument(0)?];
    Ok(root(call, op, inputs))
}

fn root(call: &mut BoundCall<'_>, op: HopOp, inputs: Vec<HopId>) -> HopId {
    let value_type = inputs
        .first()
        .map_or(ValueType::String, |input| call.block.hop(*input).value_type);
    call.block
        .push_root(Hop::scalar(op, inputs, value_type).at(call.position))
}

fn time(call: &mut BoundCall<'_>) -> Result<HopId> {
    let (op, inputs) = with_names(ParameterizedOp::Time, Vec::new());
    Ok(call.scalar(op, inputs, ValueType::Int))
}

fn to_string(call: &mut BoundCall<'_>) -> Result<HopId> {
    let (op, inputs) = call.named(ParameterizedOp::ToString);
    Ok(call.scalar(op, inputs, ValueType::String))
}
