//! What is certain of a value before anything runs: that all its cells are finite, and that computing it cannot fail.
//!
//! Rewrites ask before they change what NaN or an infinity would give, and before they leave an operator out. Both
//! answers are `false` where nothing is known, as of a variable's cells.

use crate::{
    CastOp, CumulativeOp, Dag, DataGenOp, Hop, HopId, HopOp, Literal, TernaryOp, ValueType,
    ops::Finite, scalar,
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
    let cells = |finite: Finite| match finite {
        Finite::Always => true,
        Finite::Kept => (0..hop.inputs.len()).all(input),
        Finite::Unknown => false,
    };
    match &hop.op {
        HopOp::Literal(value) => value.as_f64().is_some_and(f64::is_finite),
        HopOp::Unary(op) => cells(op.finite()),
        HopOp::Binary(op) => cells(op.finite()),
        HopOp::Ternary(op) => match op {
            TernaryOp::IfElse => input(1) && input(2),
            TernaryOp::PlusMult | TernaryOp::MinusMult => false,
        },
        HopOp::Transpose | HopOp::Diag | HopOp::Rev | HopOp::Reshape { .. } => input(0),
        HopOp::RightIndex => input(0),
        HopOp::LeftIndex => input(0) && input(1),
        HopOp::CBind | HopOp::RBind => (0..hop.inputs.len()).all(input),
        HopOp::Cumulative(op) => match op {
            CumulativeOp::Min | CumulativeOp::Max => input(0),
            CumulativeOp::Sum | CumulativeOp::Prod => false,
        },
        HopOp::DataGen(DataGenOp::Seq | DataGenOp::Sample) => true,
        HopOp::DataGen(DataGenOp::Rand) => false,
        HopOp::DataGen(DataGenOp::Fill) => {
            let value = hop.inputs.first().map(|value| dag.hop(*value));
            value.is_some_and(|value| value.value_type != ValueType::String) && input(0)
        }
        HopOp::Cast(op) => match op {
            CastOp::AsScalar | CastOp::AsMatrix | CastOp::AsDouble => input(0),
            CastOp::AsInteger | CastOp::AsLogical | CastOp::AsFrame => false,
        },
        HopOp::TransientRead(_)
        | HopOp::TransientWrite(_)
        | HopOp::PersistentRead(_)
        | HopOp::PersistentWrite(_)
        | HopOp::Aggregate(..)
        | HopOp::MatMult
        | HopOp::Table
        | HopOp::Size(_)
        | HopOp::Parameterized(..)
        | HopOp::Print
        | HopOp::Stop
        | HopOp::Assert
        | HopOp::Fused(_) => false,
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
    if matches!(hop.op, HopOp::Literal(_) | HopOp::TransientRead(_)) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let has_size = |hop: &Hop| !hop.is_matrix() || hop.characteristics.dims_known();
    let inputs = || hop.inputs.iter().map(|input| dag.hop(*input));
    let is_checked = has_size(hop)
        && inputs().all(has_size)
        && match &hop.op {
            // Ints overflow, and texts have few operators.
            HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => {
                let is_double = |hop: &Hop| hop.value_type == ValueType::Double;
                hop.is_matrix() && inputs().all(|input| input.value_type != ValueType::String)
                    || is_double(hop) && inputs().any(is_double)
            }
            HopOp::Aggregate(op, _) => {
                inputs().all(|input| op.is_defined(&input.characteristics) == Some(true))
            }
            HopOp::RightIndex => has_literal_ranges(dag, hop),
            HopOp::Cumulative(_)
            | HopOp::MatMult
            | HopOp::Transpose
            | HopOp::Diag
            | HopOp::Rev
            | HopOp::Reshape { .. }
            | HopOp::CBind
            | HopOp::RBind
            | HopOp::Size(_)
            | HopOp::Cast(CastOp::AsMatrix) => true,
            HopOp::Cast(CastOp::AsScalar) => inputs().all(|input| {
                input.is_matrix() && (input.rows(), input.cols()) == (Some(1), Some(1))
            }),
            HopOp::DataGen(DataGenOp::Fill | DataGenOp::Seq) => inputs().all(|input| {
                matches!(&input.op, HopOp::Literal(value) if !matches!(value, Literal::String(_)))
            }),
            HopOp::DataGen(DataGenOp::Rand | DataGenOp::Sample) => false,
            HopOp::Cast(
                CastOp::AsDouble | CastOp::AsInteger | CastOp::AsLogical | CastOp::AsFrame,
            ) => false,
            HopOp::Literal(_)
            | HopOp::TransientRead(_)
            | HopOp::TransientWrite(_)
            | HopOp::PersistentRead(_)
            | HopOp::PersistentWrite(_)
            | HopOp::LeftIndex
            | HopOp::Table
            | HopOp::Parameterized(..)
            | HopOp::Print
            | HopOp::Stop
            | HopOp::Assert
            | HopOp::Fused(_) => false,
        };
    is_checked && hop.inputs.iter().all(|input| succeeds(dag, *input, depth))
}

/// Whether all bounds of a `rix` are literals within the known size of its matrix.
pub(crate) fn has_literal_ranges(dag: &Dag, hop: &Hop) -> bool {
    let bound = |place: usize| match &dag.hop(*hop.inputs.get(place)?).op {
        HopOp::Literal(value) => u64::try_from(scalar::double_to_int(value.as_f64()?)).ok(),
        _ => None,
    };
    let fits = |first: usize, size: Option<u64>| {
        let range = bound(first).zip(bound(first + 1)).zip(size);
        range.is_some_and(|((from, to), size)| 1 <= from && from <= to && to <= size)
    };
    let matrix = hop.inputs.first().map(|matrix| dag.hop(*matrix));
    matrix.is_some_and(|matrix| fits(1, matrix.rows()) && fits(3, matrix.cols()))
}
