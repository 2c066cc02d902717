//! The shape of cell-wise results.

use fulgurite_error::{Code, Error, Result};

use crate::ops::call::Call;

/// The shape that the matrices among these inputs have together.
pub(in crate::ops) fn broadcast(
    call: &dyn Call,
    places: &[usize],
) -> Result<(Option<u64>, Option<u64>)> {
    let matrices = || {
        places
            .iter()
            .copied()
            .filter(|place| call.is_matrix(*place))
    };
    let mut shape: Option<(Option<u64>, Option<u64>)> = None;
    for place in matrices() {
        let size = call.size_of(place);
        let next = (size.rows, size.cols);
        let fitted = match shape {
            None => Some(next),
            Some(sofar) => fit(sofar.0, next.0).zip(fit(sofar.1, next.1)),
        };
        let Some(fitted) = fitted else {
            return Err(shapes_differ(call, matrices()));
        };
        shape = Some(fitted);
    }
    let shape = shape.unwrap_or_default();
    // A column with a row would give their outer combination, which DML writes outer().
    let has_shape = |place| {
        let size = call.size_of(place);
        let may_be = |size: Option<u64>, whole: Option<u64>| {
            size.is_none() || whole.is_none() || size == whole
        };
        may_be(size.rows, shape.0) && may_be(size.cols, shape.1)
    };
    if matrices().any(has_shape) {
        Ok(shape)
    } else {
        Err(shapes_differ(call, matrices()).with_help(
            "a column vector and a row vector are combined by outer(column, row, \"operator\")",
        ))
    }
}

/// One dimension of two operands together; `None` where they can't fit.
fn fit(left: Option<u64>, right: Option<u64>) -> Option<Option<u64>> {
    match (left, right) {
        (Some(left), Some(right)) if left == right => Some(Some(left)),
        (Some(1), Some(other)) | (Some(other), Some(1)) => Some(Some(other)),
        (Some(_), Some(_)) => None,
        // Whatever the other is, it must be stretched to this one. A 1 could itself be stretched.
        (Some(known), None) | (None, Some(known)) if known != 1 => Some(Some(known)),
        _ => Some(None),
    }
}

fn shapes_differ(call: &dyn Call, places: impl Iterator<Item = usize>) -> Error {
    let shapes: Vec<String> = places.map(|place| call.shape(place)).collect();
    call.mismatch(format!("shapes do not fit: {}", shapes.join(" and ")))
        .with_code(Code::ShapesDiffer)
        .with_help("operands need equal shapes, or one is a vector as long as the other's side")
}
