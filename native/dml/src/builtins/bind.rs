//! Binds the arguments of a call to the parameters of a built-in function.

use std::borrow::Cow;

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::{DataType, Hop, Literal, ValueType};

use super::{
    Builtin, Kind, Parameter, Presence,
    build::{BoundCall, Evaluated},
};
use crate::{
    lower::{BlockBuilder, describe},
    options::SourceResolver,
    suggest,
};

pub(crate) fn bind<'a>(
    builtin: &'static Builtin,
    name: &'a str,
    evaluated: Vec<Evaluated>,
    block: &'a mut BlockBuilder,
    resolver: &'a dyn SourceResolver,
    position: &'a Position,
) -> Result<BoundCall<'a>> {
    let mut arguments: Vec<Option<Evaluated>> = builtin.parameters.iter().map(|_| None).collect();
    let mut rest = Vec::new();
    // The elements of a list have names of their own, and stay in their order.
    let is_list = builtin.name == "list";
    let (named, positional): (Vec<_>, Vec<_>) = evaluated
        .into_iter()
        .partition(|argument| is_list || argument.name.is_some() && !builtin.ignores_names);
    if let (true, Some(first)) = (builtin.named_only, positional.first()) {
        return Err(
            Error::validation(format!("the arguments of '{name}' must be named"))
                .with_code(Code::ArgumentOrder)
                .at(&first.position)
                .with_help(format!("usage: {name}({})", signature(builtin))),
        );
    }
    for argument in named {
        let wanted = argument.name.as_deref().unwrap_or_default();
        let place = builtin
            .parameters
            .iter()
            .position(|parameter| parameter.name == wanted);
        match place.and_then(|place| arguments.get_mut(place)) {
            Some(slot @ None) => *slot = Some(argument),
            Some(Some(_)) => {
                return Err(
                    Error::validation(format!("'{name}' is given '{wanted}' twice"))
                        .with_code(Code::ArgumentTwice)
                        .at(&argument.start),
                );
            }
            None if is_list => rest.push(argument),
            None => return Err(unknown_parameter(builtin, name, wanted, &argument.start)),
        }
    }
    bind_positional(
        builtin,
        name,
        positional,
        &mut arguments,
        &mut rest,
        position,
    )?;
    for (parameter, slot) in builtin.parameters.iter().zip(&mut arguments) {
        match (slot, parameter.presence) {
            (Some(argument), _) => {
                check_kind(name, parameter.name, parameter.kind, argument, block)?
            }
            (None, Presence::Required) => {
                return Err(Error::validation(format!(
                    "'{name}' needs an argument '{}'",
                    parameter.name
                ))
                .with_code(Code::MissingArgument)
                .at(position)
                .with_help(format!("usage: {name}({})", signature(builtin))));
            }
            (slot @ None, Presence::Default(value)) => {
                *slot = Some(Evaluated {
                    name: None,
                    id: block.literal(Literal::from(value), position),
                    position: position.clone(),
                    start: position.clone(),
                });
            }
            (None, Presence::Optional) => {}
        }
    }
    if let Some(kind) = builtin.rest {
        for argument in &rest {
            check_kind(name, "argument", kind, argument, block)?;
        }
    }
    Ok(BoundCall {
        builtin,
        name,
        block,
        resolver,
        position,
        arguments,
        rest,
    })
}

/// Positional arguments go to the parameters in order; where they are too few for all, those that may be
/// left out are (`moment(v, k)` next to `moment(v, weights, k)`).
fn bind_positional(
    builtin: &Builtin,
    name: &str,
    positional: Vec<Evaluated>,
    arguments: &mut [Option<Evaluated>],
    rest: &mut Vec<Evaluated>,
    position: &Position,
) -> Result<()> {
    let given = positional.len();
    let is_required = |parameter: &Parameter| parameter.presence == Presence::Required;
    let open = builtin.parameters.iter().zip(arguments.iter());
    let required = open
        .filter(|(parameter, slot)| slot.is_none() && is_required(parameter))
        .count();
    let mut spare = given.saturating_sub(required);
    let mut positional = positional.into_iter();
    for (parameter, slot) in builtin.parameters.iter().zip(arguments) {
        if slot.is_some() {
            continue;
        }
        if !is_required(parameter) {
            if spare == 0 {
                continue;
            }
            spare -= 1;
        }
        *slot = positional.next();
    }
    if builtin.rest.is_some() {
        rest.extend(positional);
        return Ok(());
    }
    match positional.next() {
        None => Ok(()),
        Some(_) => {
            let most = builtin.parameters.len();
            let plural = if most == 1 { "" } else { "s" };
            Err(Error::validation(format!(
                "'{name}' takes at most {most} argument{plural}, not {given}"
            ))
            .with_code(Code::WrongArgumentCount)
            .at(position)
            .with_help(format!("usage: {name}({})", signature(builtin))))
        }
    }
}

fn unknown_parameter(builtin: &Builtin, name: &str, wanted: &str, position: &Position) -> Error {
    let names = builtin.parameters.iter().map(|parameter| parameter.name);
    let help = suggest::did_you_mean(wanted, names)
        .unwrap_or_else(|| format!("usage: {name}({})", signature(builtin)));
    Error::validation(format!("'{name}' has no parameter '{wanted}'"))
        .with_code(Code::UnknownParameter)
        .at(position)
        .with_help(help)
}

/// `target, rows=..., ...`, as help texts show it.
fn signature(builtin: &Builtin) -> String {
    let parameters = builtin
        .parameters
        .iter()
        .map(|parameter| match parameter.presence {
            Presence::Required if !builtin.named_only => parameter.name.to_owned(),
            Presence::Default(value) => {
                format!(
                    "{}={}",
                    parameter.name,
                    crate::syntax::dml_literal(&value.into())
                )
            }
            _ => format!("{}=...", parameter.name),
        });
    let rest = builtin.rest.map(|_| "...".to_owned());
    parameters.chain(rest).collect::<Vec<_>>().join(", ")
}

fn check_kind(
    name: &str,
    parameter: &str,
    kind: Kind,
    argument: &Evaluated,
    block: &BlockBuilder,
) -> Result<()> {
    let hop = block.hop(argument.id);
    if kind.allows(hop) {
        return Ok(());
    }
    let error = Error::validation(format!(
        "'{name}' takes {} as '{parameter}', not {}",
        kind.describe(),
        describe(hop)
    ))
    .with_code(Code::ArgumentType)
    .at(&argument.position);
    Err(match (kind, hop.data_type) {
        (Kind::Number | Kind::Scalar | Kind::Boolean, DataType::Matrix) => {
            error.with_help("as.scalar() makes a scalar of a 1 x 1 matrix")
        }
        (Kind::Matrix | Kind::Table | Kind::Sized, DataType::Scalar)
            if hop.value_type != ValueType::String =>
        {
            error.with_help("as.matrix() makes a 1 x 1 matrix of a scalar")
        }
        _ => error,
    })
}

impl Kind {
    fn allows(self, hop: &Hop) -> bool {
        let is_text = hop.is_scalar() && hop.value_type == ValueType::String;
        let is_number = hop.is_scalar() && !is_text;
        match self {
            Kind::Matrix => hop.is_matrix(),
            Kind::Table => matches!(hop.data_type, DataType::Matrix | DataType::Frame),
            Kind::List => hop.data_type == DataType::List,
            Kind::Frame => hop.data_type == DataType::Frame,
            Kind::Sized => !hop.is_scalar(),
            Kind::Cells => hop.is_matrix() || is_number,
            Kind::AnyCells => !matches!(hop.data_type, DataType::List) && !is_text,
            Kind::By => hop.is_matrix() || hop.is_scalar(),
            Kind::Number | Kind::Boolean => is_number,
            Kind::String => is_text,
            Kind::Scalar => hop.is_scalar(),
            Kind::ScalarOrList => hop.is_scalar() || hop.data_type == DataType::List,
            Kind::Sizes(_) => hop.data_type == DataType::List,
            Kind::Any => true,
        }
    }

    pub(super) fn describe(self) -> Cow<'static, str> {
        let text = match self {
            Kind::Matrix => "a matrix",
            Kind::Table => "a matrix or a frame",
            Kind::List => "a list",
            Kind::Frame => "a frame",
            Kind::Sized => "a matrix, a frame or a list",
            Kind::Cells => "a matrix or a number",
            Kind::AnyCells => "a matrix, a frame or a number",
            Kind::By => "a number, a name or a matrix",
            Kind::Number => "a number",
            Kind::Boolean => "a boolean",
            Kind::String => "a string",
            Kind::Scalar => "a scalar",
            Kind::ScalarOrList => "a scalar or a list",
            Kind::Sizes(count) => return format!("a list of {count} numbers").into(),
            Kind::Any => "anything",
        };
        text.into()
    }
}
