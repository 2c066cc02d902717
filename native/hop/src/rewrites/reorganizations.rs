//! Operators that move cells: reversing, reshaping, binding, diagonals; and casts, which move none.

use super::{Editor, Family, Precision, Rule};
use crate::{
    AggregateOp, BinaryOp, CastOp, CumulativeOp, DataType, Direction, HopId, HopOp, Literal,
    ParameterizedOp, ValueType,
};

pub(super) const FAMILY: Family = Family {
    title: "Reorganizations and casts",
    rules: &[
        Rule::local(
            "double-reverse",
            "rev(rev(X)) -> X",
            "",
            Precision::Exact,
            double_reverse,
        ),
        Rule::local(
            "reverse-of-row",
            "rev(X) -> X",
            "X is known to have one row",
            Precision::Exact,
            reverse_of_row,
        ),
        Rule::local(
            "same-shape",
            "matrix(X, nrow(X), ncol(X)) -> X",
            "both sizes are known",
            Precision::Exact,
            same_shape,
        ),
        Rule::local(
            "double-reshape",
            "matrix(matrix(X, a, b), c, d) -> matrix(X, c, d)",
            "both by row, or both by column; the sizes of X and of the inner one are known to fit",
            Precision::Exact,
            double_reshape,
        ),
        Rule::local(
            "nested-bind",
            "cbind(cbind(X, Y), Z) -> cbind(X, Y, Z)",
            "rbind too; nobody else reads the inner one",
            Precision::Exact,
            nested_bind,
        ),
        Rule::local(
            "empty-bind",
            "cbind(X, Y) -> X",
            "Y is known to have no columns (for rbind: rows), and as many rows as the result",
            Precision::Exact,
            empty_bind,
        ),
        Rule::local(
            "diagonal-of-diagonal",
            "diag(diag(v)) -> v",
            "v is known to be a column",
            Precision::ZeroSign,
            diagonal_of_diagonal,
        ),
        Rule::local(
            "scaled-diagonal",
            "diag(v) * s -> diag(v * s)",
            "v is known to be a column, s to be finite, as 0 * Inf is NaN; nobody else reads diag(v)",
            Precision::ZeroSign,
            scaled_diagonal,
        ),
        Rule::local(
            "cumulative-of-row",
            "cumsum(X) -> X",
            "all cumulative aggregates; X is known to have one row",
            Precision::ZeroSign,
            cumulative_of_row,
        ),
        Rule::local(
            "repeated-cumulative-extreme",
            "cummax(cummax(X)) -> cummax(X), colMaxs(cummax(X)) -> colMaxs(X)",
            "the same with minima, and with max() and min()",
            Precision::Exact,
            repeated_cumulative_extreme,
        ),
        Rule::local(
            "sum-of-kept",
            "sum(removeEmpty(target=X, margin=m)) -> sum(X)",
            "what is removed is zero, unless select= says what is",
            Precision::Rounding,
            sum_of_kept,
        ),
        Rule::local(
            "double-cast",
            "as.scalar(as.matrix(s)) -> s, as.matrix(as.scalar(X)) -> X",
            "s is a double, X is known to be 1 x 1",
            Precision::Exact,
            double_cast,
        ),
        Rule::local(
            "cast-to-own-type",
            "as.double(s) -> s, as.matrix(X) -> X",
            "as.integer and as.logical too",
            Precision::Exact,
            cast_to_own_type,
        ),
    ],
};

fn double_reverse(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let inner = editor.input(id, 0)?;
    if *editor.op(id) != HopOp::Rev || *editor.op(inner) != HopOp::Rev {
        return None;
    }
    editor.standing_for(editor.input(inner, 0)?, id)
}

fn reverse_of_row(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let x = editor.input(id, 0)?;
    let applies = *editor.op(id) == HopOp::Rev && editor.hop(x).rows() == Some(1);
    applies.then(|| editor.standing_for(x, id)).flatten()
}

fn same_shape(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let x = editor.input(id, 0)?;
    let is_reshape = matches!(editor.op(id), HopOp::Reshape { .. });
    (is_reshape && editor.same_shape(x, id)).then_some(x)
}

fn double_reshape(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (inner, rows, cols) = (
        editor.input(id, 0)?,
        editor.input(id, 1)?,
        editor.input(id, 2)?,
    );
    let op = editor.op(id).clone();
    if !matches!(op, HopOp::Reshape { .. }) || *editor.op(inner) != op {
        return None;
    }
    let x = editor.input(inner, 0)?;
    if !fits(editor, inner) {
        return None;
    }
    editor.make(op, &[x, rows, cols])
}

/// Whether a matrix is known to have as many cells as what it is a reshape of.
pub(super) fn fits(editor: &Editor, reshape: HopId) -> bool {
    let cells = |id: Option<HopId>| id.and_then(|id| editor.cells(id));
    let own = editor.cells(reshape);
    own.is_some() && own == cells(editor.input(reshape, 0))
}

fn nested_bind(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let op = editor.op(id).clone();
    if !matches!(op, HopOp::CBind | HopOp::RBind) {
        return None;
    }
    let flat = |input: HopId| match *editor.op(input) == op && editor.read_once(input) {
        true => editor.hop(input).inputs.clone(),
        false => vec![input],
    };
    let inputs = &editor.hop(id).inputs;
    let parts: Vec<HopId> = inputs.iter().flat_map(|input| flat(*input)).collect();
    if parts.len() == inputs.len() {
        return None;
    }
    editor.make(op, &parts)
}

fn empty_bind(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let op = editor.op(id).clone();
    let known = |size: Option<u64>, whole: Option<u64>| size.is_some() && size == whole;
    let is_empty = |input: &HopId| {
        let (part, whole) = (editor.hop(*input), editor.hop(id));
        match op {
            HopOp::CBind => part.cols() == Some(0) && known(part.rows(), whole.rows()),
            HopOp::RBind => part.rows() == Some(0) && known(part.cols(), whole.cols()),
            _ => false,
        }
    };
    let inputs = &editor.hop(id).inputs;
    let parts: Vec<HopId> = inputs
        .iter()
        .copied()
        .filter(|input| !is_empty(input))
        .collect();
    match parts.as_slice() {
        parts if parts.len() == inputs.len() => None,
        // All are; one of them is the result.
        [] => editor.standing_for(editor.input(id, 0)?, id),
        [part] => editor.standing_for(*part, id),
        parts => editor.make(op, parts),
    }
}

/// v, if the HOP is diag(v) of a column that makes a matrix.
pub(super) fn diagonal(editor: &Editor, id: HopId) -> Option<HopId> {
    let v = editor.input(id, 0)?;
    let applies = *editor.op(id) == HopOp::Diag && editor.is_column(v) && !editor.is_row(v);
    applies.then_some(v)
}

fn diagonal_of_diagonal(editor: &mut Editor, id: HopId) -> Option<HopId> {
    if *editor.op(id) != HopOp::Diag {
        return None;
    }
    let v = diagonal(editor, editor.input(id, 0)?)?;
    editor.standing_for(v, id)
}

fn scaled_diagonal(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (matrix, s) = editor.matrix_and_scalar(id, BinaryOp::Mult)?;
    let v = diagonal(editor, matrix)?;
    if !editor.read_once(matrix) || !editor.is_finite(s) {
        return None;
    }
    let scaled = editor.make_binary(BinaryOp::Mult, v, s)?;
    editor.make(HopOp::Diag, &[scaled])
}

fn cumulative_of_row(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let x = editor.input(id, 0)?;
    let is_cumulative = matches!(editor.op(id), HopOp::Cumulative(_));
    let applies = is_cumulative && editor.hop(x).rows() == Some(1);
    applies.then(|| editor.standing_for(x, id)).flatten()
}

fn repeated_cumulative_extreme(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let inner = editor.input(id, 0)?;
    let HopOp::Cumulative(inner_op @ (CumulativeOp::Max | CumulativeOp::Min)) = *editor.op(inner)
    else {
        return None;
    };
    let of = match inner_op {
        CumulativeOp::Max => AggregateOp::Max,
        _ => AggregateOp::Min,
    };
    match *editor.op(id) {
        HopOp::Cumulative(op) if op == inner_op => editor.standing_for(inner, id),
        HopOp::Aggregate(op, direction) if op == of && direction != Direction::Row => {
            let x = editor.input(inner, 0)?;
            editor.make_aggregate(op, direction, x)
        }
        _ => None,
    }
}

fn sum_of_kept(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (AggregateOp::Sum, Direction::Full, kept) = editor.aggregate(id)? else {
        return None;
    };
    let HopOp::Parameterized(ParameterizedOp::RemoveEmpty, places) = editor.op(kept) else {
        return None;
    };
    let margin = editor.input(kept, *places.get("margin")?)?;
    let is_margin = |value: &Literal| matches!(value, Literal::String(text) if text == "rows" || text == "cols");
    if places.contains_key("select") || !editor.literal(margin).is_some_and(is_margin) {
        return None;
    }
    let target = editor.input(kept, *places.get("target")?)?;
    editor.make_aggregate(AggregateOp::Sum, Direction::Full, target)
}

fn double_cast(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (HopOp::Cast(outer), inner) = (editor.op(id), editor.input(id, 0)?) else {
        return None;
    };
    let HopOp::Cast(inner_op) = editor.op(inner) else {
        return None;
    };
    let value = editor.input(inner, 0)?;
    match (outer, inner_op) {
        (CastOp::AsScalar, CastOp::AsMatrix) => editor.standing_for(value, id),
        (CastOp::AsMatrix, CastOp::AsScalar) if editor.is_single_cell(value) => {
            editor.standing_for(value, id)
        }
        _ => None,
    }
}

fn cast_to_own_type(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (HopOp::Cast(op), x) = (editor.op(id), editor.input(id, 0)?) else {
        return None;
    };
    let own = match op {
        CastOp::AsDouble => (DataType::Scalar, ValueType::Double),
        CastOp::AsInteger => (DataType::Scalar, ValueType::Int),
        CastOp::AsLogical => (DataType::Scalar, ValueType::Boolean),
        CastOp::AsMatrix => (DataType::Matrix, ValueType::Double),
        CastOp::AsScalar | CastOp::AsFrame => return None,
    };
    let hop = editor.hop(x);
    // Literals of a type are of that type; a variable's type is what validation found.
    ((hop.data_type, hop.value_type) == own)
        .then(|| editor.standing_for(x, id))
        .flatten()
}
