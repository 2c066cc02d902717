//! What an error of sizes says of the operands: how large they are, and where they come from.

use std::collections::BTreeMap;

use fulgurite_error::{Error, ErrorKind, Position};

use crate::{Dag, DataType, HopId, ops::Call, sizes::HopCall};

/// Where variables were assigned last.
pub(super) type Assigned = BTreeMap<String, Position>;

/// The error with a note for each operand that has a size.
pub(super) fn with_operands(error: Error, dag: &Dag, call: &HopCall, assigned: &Assigned) -> Error {
    if error.kind() != ErrorKind::Dimension {
        return error;
    }
    let inputs = &call.hop().inputs;
    let is_sized = |place: &usize| {
        let info = call.input(*place);
        let size = info.characteristics;
        info.data_type != DataType::Scalar && (size.rows.is_some() || size.cols.is_some())
    };
    let sized: Vec<usize> = (0..inputs.len()).filter(is_sized).collect();
    let call: &dyn Call = call;
    sized.iter().fold(error, |error, place| {
        let input = inputs[*place];
        let shape = call.shape(*place);
        let operand = match (sized.len(), place) {
            (1, _) => "it".to_owned(),
            (2, 0) if inputs.len() == 2 => "the left operand".to_owned(),
            (2, 1) if inputs.len() == 2 => "the right operand".to_owned(),
            _ => format!("operand {}", place + 1),
        };
        let hop = dag.hop(input);
        if let Some(name) = hop.op.variable_read() {
            let operand = match sized.len() {
                1 => format!("'{name}'"),
                _ => format!("{operand} '{name}'"),
            };
            return match assigned.get(name) {
                Some(position) => {
                    error.with_note(format!("{operand} is {shape}, assigned"), Some(position))
                }
                None => error.with_note(format!("{operand} is {shape}"), None),
            };
        }
        match written_to(dag, input, error.position()) {
            Some((name, position)) => error.with_note(
                format!("{operand} is {shape}, assigned to '{name}'"),
                Some(position),
            ),
            None => match &hop.position {
                Some(position) => {
                    error.with_note(format!("{operand} is {shape}, computed"), Some(position))
                }
                None => error.with_note(format!("{operand} is {shape}"), None),
            },
        }
    })
}

/// The variable that had this value last where the error is.
fn written_to<'a>(
    dag: &'a Dag,
    value: HopId,
    error: Option<&Position>,
) -> Option<(&'a str, &'a Position)> {
    let place = |position: &Position| (position.line, position.column);
    let before = error.map(place)?;
    let writes = dag.iter().filter_map(|(_, hop)| {
        let name = hop.op.variable_written()?;
        let position = hop.position.as_ref()?;
        (hop.inputs == [value] && place(position) < before).then_some((name, position))
    });
    writes.max_by_key(|(_, position)| place(position))
}
