//! Matrices known to have no non-zeros: nothing need be computed with them.
//!
//! Non-zeros are estimates in general, but an estimate of none is certain. A zero that meets NaN or an infinity is NaN:
//! the other operand has to be known to be finite. `X * 0` is left as it is: of X nothing is known.

use super::{Editor, Family, Precision, Rule};
use crate::{AggregateOp, BinaryOp, Direction, HopId, HopOp};

pub(super) const FAMILY: Family = Family {
    title: "Empty matrices",
    rules: &[
        Rule::local(
            "empty-product",
            "X %*% Y -> matrix(0, nrow(X), ncol(Y))",
            "X or Y is known to be empty, the other one to be finite and not to fail; sizes are known",
            Precision::ZeroSign,
            empty_product,
        ),
        Rule::local(
            "empty-factor",
            "X * Y -> matrix(0, nrow(X), ncol(X))",
            "X or Y is known to be empty, the other one to be finite and not to fail; sizes are known; & of any cells too",
            Precision::ZeroSign,
            empty_factor,
        ),
        Rule::local(
            "empty-summand",
            "X + Y, X - Y -> X",
            "Y is known to be empty, X to have the result's shape",
            Precision::ZeroSign,
            empty_summand,
        ),
        Rule::local(
            "empty-operand",
            "abs(X), rev(X), cumsum(X) -> X",
            "X is known to be empty; any function that keeps zeros",
            Precision::ZeroSign,
            empty_operand,
        ),
        Rule::local(
            "empty-reorganization",
            "t(X), X[a:b, c:d], matrix(X, n, m), diag(v) -> matrix(0, n, m)",
            "X is known to be empty, the result's size is known",
            Precision::ZeroSign,
            empty_reorganization,
        ),
        Rule::local(
            "empty-aggregate",
            "sum(X) -> 0, rowMaxs(X) -> matrix(0, nrow(X), 1)",
            "sum, sumsq, min, max, mean, trace; X is known to be empty but to have cells",
            Precision::ZeroSign,
            empty_aggregate,
        ),
    ],
};

fn is_empty(editor: &Editor, id: HopId) -> bool {
    editor.is_matrix(id) && editor.hop(id).characteristics.nnz == Some(0)
}

/// Whether both operands can be left out.
fn may_go(editor: &Editor, empty: HopId, other: HopId) -> bool {
    editor.cannot_fail(empty) && editor.cannot_fail(other)
}

fn empty_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (left, right) = editor.product(id)?;
    let applies = |empty: HopId, other: HopId| {
        is_empty(editor, empty) && editor.is_finite(other) && may_go(editor, empty, other)
    };
    (applies(left, right) || applies(right, left))
        .then(|| editor.make_zeros_like(id))
        .flatten()
}

fn empty_factor(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op @ (BinaryOp::Mult | BinaryOp::And), x, y) = editor.binary(id)? else {
        return None;
    };
    let applies = |empty: HopId, other: HopId| {
        is_empty(editor, empty)
            && (op == BinaryOp::And || editor.is_finite(other))
            && may_go(editor, empty, other)
    };
    (applies(x, y) || applies(y, x))
        .then(|| editor.make_zeros_like(id))
        .flatten()
}

fn empty_summand(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let value = match editor.binary(id)? {
        (BinaryOp::Plus | BinaryOp::Minus, x, y)
            if is_empty(editor, y) && editor.same_shape(x, id) && editor.cannot_fail(y) =>
        {
            x
        }
        (BinaryOp::Plus, x, y)
            if is_empty(editor, x) && editor.same_shape(y, id) && editor.cannot_fail(x) =>
        {
            y
        }
        _ => return None,
    };
    editor.standing_for(value, id)
}

fn empty_operand(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let x = editor.input(id, 0)?;
    let keeps_zero = match editor.op(id) {
        HopOp::Unary(op) => op.keeps_zero(),
        HopOp::Rev | HopOp::Cumulative(_) => true,
        _ => false,
    };
    (keeps_zero && is_empty(editor, x))
        .then(|| editor.standing_for(x, id))
        .flatten()
}

fn empty_reorganization(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let moves_cells = match editor.op(id) {
        HopOp::Transpose | HopOp::Diag | HopOp::Reshape { .. } => true,
        // Other bounds are to be checked when they are known.
        HopOp::RightIndex => {
            let mut bounds = editor.hop(id).inputs.iter().skip(1);
            bounds.all(|bound| editor.number(*bound).is_some())
        }
        _ => false,
    };
    let x = editor.input(id, 0)?;
    (moves_cells && is_empty(editor, x) && editor.cannot_fail(id))
        .then(|| editor.make_zeros_like(id))
        .flatten()
}

fn empty_aggregate(editor: &mut Editor, id: HopId) -> Option<HopId> {
    use AggregateOp::*;
    let (Sum | SumSq | Min | Max | Mean | Trace, direction, x) = editor.aggregate(id)? else {
        return None;
    };
    if !is_empty(editor, x) || editor.cells(x)? == 0 || !editor.cannot_fail(x) {
        return None;
    }
    match direction {
        Direction::Full => Some(editor.make_double(0.0)),
        Direction::Row | Direction::Col => editor.make_zeros_like(id),
    }
}
