//! Operators on lists. They are the control program's own: what a list holds stays where it is.

use std::collections::BTreeMap;

use fulgurite_dataflow::{Element, List, LocalMatrix, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{CastOp, DataType, Hop, HopOp, ListOp, Literal, ParameterizedOp, scalar};
use fulgurite_matrix::{MatrixBlock, kernels};
use fulgurite_operators::matrix_text;

use super::{frames, written};
use crate::session::Session;

/// Whether an operator is about a list.
pub(super) fn concerns(hop: &Hop, inputs: &[Variable]) -> bool {
    let has_list = || {
        let mut inputs = inputs.iter();
        inputs.any(|input| matches!(input, Variable::List(_)))
    };
    match hop.op {
        HopOp::List(_) => true,
        HopOp::Frame(_) => false,
        _ => hop.data_type == DataType::List || has_list(),
    }
}

/// # Errors
/// Dimension, for places that a list does not have; validation, for elements of another type than the script says.
pub(super) fn execute(hop: &Hop, inputs: Vec<Variable>, session: &Session) -> Result<Variable> {
    let mut values = Vec::new();
    for input in inputs {
        values.push(written::in_one_piece(input, session)?);
    }
    if let HopOp::List(op) = hop.op {
        return operate(op, hop, values);
    }
    if let Some(op) = hop.op.cast() {
        return cast(op, &values, hop);
    }
    match hop.op.with_named_inputs() {
        Some((ParameterizedOp::List, places)) => Ok(Variable::List(made(values, places))),
        Some((ParameterizedOp::ToString, _)) => {
            let list = list(values.first())?;
            Ok(Variable::Scalar(Literal::String(text(list)?)))
        }
        _ => Err(no_list(hop)),
    }
}

/// A list of these values. Elements without a name go by their numbers.
fn made(values: Vec<Variable>, places: &BTreeMap<String, usize>) -> List {
    let name_of = |place: usize| {
        let named = places.iter().find(|(_, at)| **at == place);
        let name = named.map(|(name, _)| name.clone());
        name.filter(|name| name.starts_with(|c: char| !c.is_ascii_digit()))
    };
    let elements = values
        .into_iter()
        .enumerate()
        .map(|(place, value)| Element {
            name: name_of(place),
            value,
        });
    List::new(elements.collect())
}

fn no_list(hop: &Hop) -> Error {
    Error::validation(format!("'{}' takes no list", hop.op.code()))
        .with_help("as.matrix(l[i]) and as.scalar(l[i]) give an element of a list")
}

fn operate(op: ListOp, hop: &Hop, values: Vec<Variable>) -> Result<Variable> {
    let index = |place: usize| {
        let value = values.get(place);
        value.ok_or_else(|| missing(op))?.as_scalar()
    };
    let first = || list(values.first());
    Ok(Variable::List(match op {
        ListOp::Element => {
            let list = first()?;
            let element = list.part(list.range(index(1)?, index(1)?)?);
            return of_type(hop, &element);
        }
        ListOp::Rows => return bound(first()?, kernels::rbind),
        ListOp::Columns => return bound(first()?, kernels::cbind),
        ListOp::Part => {
            let list = first()?;
            list.part(list.range(index(1)?, index(2)?)?)
        }
        ListOp::Without => {
            let list = first()?;
            list.without(list.range(index(1)?, index(2)?)?)
        }
        ListOp::With => {
            let range = first()?.range(index(2)?, index(3)?)?;
            let mut values = values.into_iter();
            let list = owned(values.next())?;
            let value = values.next().ok_or_else(|| missing(op))?;
            list.with(range, &value)?
        }
        ListOp::Append => {
            let mut values = values.into_iter();
            let list = owned(values.next())?;
            values.fold(list, List::append)
        }
        ListOp::AsList => match values.into_iter().next() {
            Some(Variable::List(list)) => match list.only() {
                Some(Element {
                    value: Variable::List(inner),
                    ..
                }) => inner.clone(),
                _ => list,
            },
            Some(value) => List::default().append(value),
            None => return Err(missing(op)),
        },
    }))
}

fn cast(op: CastOp, values: &[Variable], hop: &Hop) -> Result<Variable> {
    let list = list(values.first())?;
    match op {
        CastOp::AsMatrix => as_matrix(list),
        _ => of_type(hop, list),
    }
}

/// The only matrix of a list, or its numbers as a column.
fn as_matrix(list: &List) -> Result<Variable> {
    if let Some(only) = list.only()
        && !only.value.is_scalar()
    {
        return match &only.value {
            Variable::List(inner) => as_matrix(inner),
            other => Ok(other.clone()),
        };
    }
    let mut cells = Vec::new();
    for element in list.elements() {
        let Variable::Scalar(value) = &element.value else {
            return Err(
                Error::validation("as.matrix of a list takes numbers, or one matrix")
                    .with_help("rbind(l) puts the matrices of a list one below the other"),
            );
        };
        cells.push(scalar::number(value)?);
    }
    MatrixBlock::dense(cells.len(), 1, cells).map(Variable::matrix)
}

/// The only element of a list, which must have the type that the operator says.
fn of_type(hop: &Hop, list: &List) -> Result<Variable> {
    let Some(element) = list.only() else {
        return Err(Error::validation(format!(
            "one element is taken out of a list of {}",
            list.len()
        ))
        .with_help("index it first: l[i]"));
    };
    match (hop.data_type, &element.value) {
        (DataType::Scalar, Variable::Scalar(_))
        | (DataType::Matrix, Variable::Matrix(_) | Variable::Distributed(_))
        | (DataType::List, Variable::List(_))
        | (DataType::Frame, Variable::Frame(_)) => Ok(element.value.clone()),
        (DataType::Scalar, Variable::Matrix(matrix))
            if (matrix.block().rows(), matrix.block().cols()) == (1, 1) =>
        {
            let cell = matrix.block().get(0, 0);
            Ok(Variable::Scalar(Literal::Double(cell)))
        }
        (wanted, found) => Err(Error::validation(format!(
            "an element of a list is {}, not {}",
            found.kind(),
            match wanted {
                DataType::Scalar => "a scalar",
                DataType::Matrix => "a matrix",
                DataType::List => "a list",
                DataType::Frame => "a frame",
            }
        ))
        .with_help("as.matrix(l[i]), as.scalar(l[i]) and as.list(l[i]) say what the element is")),
    }
}

fn bound(list: &List, bind: fn(&[&MatrixBlock]) -> Result<MatrixBlock>) -> Result<Variable> {
    let mut here = Vec::new();
    for element in list.elements() {
        here.push(match &element.value {
            Variable::Matrix(matrix) => matrix.clone(),
            Variable::Distributed(matrix) => matrix.collect()?,
            Variable::Scalar(value) => {
                let cell = scalar::number(value)?;
                LocalMatrix::new(MatrixBlock::dense(1, 1, vec![cell])?)
            }
            other => {
                return Err(Error::validation(format!(
                    "the matrices of a list are bound, one element is {}",
                    other.kind()
                )));
            }
        });
    }
    if here.is_empty() {
        return Err(Error::validation(
            "there is nothing to bind in an empty list",
        ));
    }
    let blocks: Vec<&MatrixBlock> = here.iter().map(|matrix| matrix.block()).collect();
    bind(&blocks).map(Variable::matrix)
}

fn list(value: Option<&Variable>) -> Result<&List> {
    match value {
        Some(Variable::List(list)) => Ok(list),
        Some(other) => Err(
            Error::validation(format!("a list is needed, not {}", other.kind()))
                .with_help("list(x) makes a list of one element"),
        ),
        None => Err(Error::internal("an operator on lists without one")),
    }
}

/// The list itself, which nobody else may hold: then it is changed where it is.
fn owned(value: Option<Variable>) -> Result<List> {
    match value {
        Some(Variable::List(list)) => Ok(list),
        other => list(other.as_ref()).cloned(),
    }
}

fn missing(op: ListOp) -> Error {
    Error::internal(format!("'{}' lacks an input", op.code()))
}

/// As SystemDS writes it, with names besides.
pub(super) fn text(list: &List) -> Result<String> {
    let mut text = scalar::LimitedString::default();
    text.push("List containing:\n[")?;
    for (place, element) in list.elements().iter().enumerate() {
        if place > 0 {
            text.push(", ")?;
        }
        if let Some(name) = &element.name {
            text.push(name)?;
            text.push("=")?;
        }
        match &element.value {
            Variable::Scalar(value) => text.push(&value.to_string())?,
            Variable::List(inner) => text.push(&self::text(inner)?)?,
            Variable::Matrix(matrix) => {
                text.push("\nMatrix:\n")?;
                text.push(&matrix_text(matrix.block())?)?;
            }
            Variable::Frame(frame) => {
                text.push("\nFrame:\n")?;
                text.push(&frames::text(frame)?)?;
            }
            other => text.push(&format!("\nMatrix of {}\n", other.characteristics()))?,
        }
    }
    text.push("]")?;
    Ok(text.into_string())
}
