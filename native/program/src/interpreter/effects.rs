//! Statements that are run for their effect: `print`, `stop`, `assert`.

use fulgurite_dataflow::Variable;
use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{Literal, scalar};

use super::{frames, lists, printf::format};

/// What `print` prints: a scalar, or a format and its values.
pub(crate) fn line(inputs: &[Variable]) -> Result<String> {
    if let [Variable::List(list)] = inputs {
        return lists::text(list);
    }
    if let [Variable::Frame(frame)] = inputs {
        return frames::text(frame);
    }
    let literals = inputs
        .iter()
        .map(printable)
        .collect::<Result<Vec<&Literal>>>()?;
    text(&literals)
}

/// As [`line`], of scalars.
pub(crate) fn text(literals: &[&Literal]) -> Result<String> {
    match literals {
        [] => Ok(String::new()),
        [value] => Ok(value.to_string()),
        [pattern, values @ ..] => format(&pattern.to_string(), values),
    }
}

fn printable(input: &Variable) -> Result<&Literal> {
    input.as_scalar().map_err(|_| {
        Error::validation("print takes scalars, this is a matrix")
            .with_help("wrap it in toString()")
    })
}

pub(crate) fn stop(inputs: &[Variable]) -> Error {
    match line(inputs) {
        Ok(message) => Error::stopped(message),
        Err(error) => error,
    }
}

pub(crate) fn assert(inputs: &[Variable]) -> Result<()> {
    match inputs {
        [condition, message] => match scalar::truth(condition.as_scalar()?)? {
            true => Ok(()),
            false => {
                let message = message.as_scalar()?.to_string();
                Err(Error::dimension(message).with_code(Code::ShapesDiffer))
            }
        },
        [condition, ..] => asserted(scalar::truth(condition.as_scalar()?)?),
        [] => Err(Error::internal("assert without a condition")),
    }
}

/// As [`assert`], of a condition that is known.
pub(crate) fn asserted(holds: bool) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error::stopped("assertion failed")),
    }
}
