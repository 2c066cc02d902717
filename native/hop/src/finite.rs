//! What is certain of a value before anything runs: that all its cells are finite, and that computing it cannot fail.
//!
//! Rewrites ask before they change what NaN or an infinity would give, and before they leave an operator out. Both
//! answers are `false` where nothing is known, as of a variable's cells.

use crate::{
    Dag, Hop, HopId, ValueType,
    ops::{Certain, Finite, Known},
};

/// Operators that are looked through. What lies deeper counts as unknown.
const DEEPEST: usize = 12;

/// Whether no cell is NaN or infinite. Ints and booleans never are.
///
/// Sums and products of finite cells may overflow, so they are not certain.
pub(crate) fn is_finite(dag: &Dag, id: HopId) -> bool {
    finite(dag, id, DEEPEST)
}

fn finite(dag: &Dag, id: HopId, depth: usize) -> bool {
    let hop = dag.hop(id);
    if hop.is_scalar() && matches!(hop.value_type, ValueType::Int | ValueType::Boolean) {
        return true;
    }
    if hop.is_matrix() && hop.characteristics.nnz == Some(0) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let input = |place: usize| {
        let input = hop.inputs.get(place);
        input.is_some_and(|input| finite(dag, *input, depth))
    };
    match hop.op.facts(|facts| facts.finite) {
        Finite::Always => true,
        Finite::Kept => (0..hop.inputs.len()).all(input),
        Finite::Of(places) => places.iter().all(|place| input(*place)),
        Finite::Unknown => false,
    }
}

/// Whether running the operator, and what it reads, certainly gives a value.
///
/// An operator whose sizes are all known has been checked; one with an unknown size may meet what does not fit.
pub(crate) fn cannot_fail(dag: &Dag, id: HopId) -> bool {
    succeeds(dag, id, DEEPEST)
}

fn succeeds(dag: &Dag, id: HopId, depth: usize) -> bool {
    let hop = dag.hop(id);
    let certain = hop.op.facts(|facts| facts.certain);
    if matches!(certain, Certain::Always) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let has_size = |hop: &Hop| !hop.is_matrix() || hop.characteristics.dims_known();
    has_size(hop)
        && hop.inputs.iter().all(|input| has_size(dag.hop(*input)))
        && holds(certain, dag, hop)
        && hop.inputs.iter().all(|input| succeeds(dag, *input, depth))
}

/// Whether an operator with known sizes certainly gives a value, if its inputs are there.
pub(crate) fn holds(certain: Certain, dag: &Dag, hop: &Hop) -> bool {
    match certain {
        Certain::Always | Certain::Sizes => true,
        Certain::If(condition) => {
            let inputs = hop.inputs.iter().map(|input| known(dag.hop(*input)));
            let inputs: Vec<Known> = inputs.collect();
            condition(&known(hop), &inputs)
        }
        Certain::No => false,
    }
}

fn known(hop: &Hop) -> Known<'_> {
    Known {
        data_type: hop.data_type,
        value_type: hop.value_type,
        size: hop.characteristics,
        literal: hop.op.constant(),
    }
}
