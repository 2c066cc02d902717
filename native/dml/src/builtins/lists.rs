//! Functions of lists.

use std::collections::BTreeSet;

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{HopId, HopOp, ListOp, ParameterizedOp};

use super::{
    BoundCall, Builtin, Kind, Parameter, Rule, build::with_names, builtin, cast, required,
};

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin {
        rest: Some(Kind::Any),
        ..builtin("list", &[], Rule::Function(list))
    },
    cast("as.list", &[], as_list),
    builtin("remove", REMOVE, Rule::Several(&[2], remove)),
];

const REMOVE: &[Parameter] = &[
    required("list", Kind::List),
    required("place", Kind::Scalar),
];

/// A list; elements without a name go by their number, from 1.
fn list(call: &mut BoundCall<'_>) -> Result<HopId> {
    let mut names = BTreeSet::new();
    let mut named = Vec::new();
    for (index, element) in call.rest.iter().enumerate() {
        let name = element
            .name
            .clone()
            .unwrap_or_else(|| (index + 1).to_string());
        if !names.insert(name.clone()) {
            return Err(
                Error::validation(format!("the list has two elements '{name}'"))
                    .with_code(Code::ArgumentTwice)
                    .at(&element.position),
            );
        }
        named.push((name, element.id));
    }
    let (op, inputs) = with_names(ParameterizedOp::List, named);
    Ok(call.block.list(op, inputs, call.position))
}

fn as_list(call: &mut BoundCall<'_>) -> Result<HopId> {
    let value = call.argument(0)?;
    Ok(operator(call, ListOp::AsList, vec![value]))
}

/// The list without an element, and the element as a list of its own.
fn remove(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let (list, place) = (call.argument(0)?, call.argument(1)?);
    let inputs = vec![list, place, place];
    Ok(vec![
        operator(call, ListOp::Without, inputs.clone()),
        operator(call, ListOp::Part, inputs),
    ])
}

/// `append(l, x)`: a list with more elements.
pub(super) fn append(call: &mut BoundCall<'_>) -> HopId {
    let inputs = call.rest.iter().map(|argument| argument.id).collect();
    operator(call, ListOp::Append, inputs)
}

/// `rbind(l)` and `cbind(l)`: the matrices of a list, bound.
pub(super) fn bound(call: &mut BoundCall<'_>, op: ListOp, list: HopId) -> HopId {
    call.matrix(HopOp::List(op), vec![list])
}

fn operator(call: &mut BoundCall<'_>, op: ListOp, inputs: Vec<HopId>) -> HopId {
    call.block.list(HopOp::List(op), inputs, call.position)
}
