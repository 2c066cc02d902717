//! Minus signs, which compile to multiplications by -1.

use super::{Editor, Family, Precision, Rule};
use crate::{BinaryOp, HopId, UnaryOp};

pub(super) const FAMILY: Family = Family {
    title: "Signs",
    rules: &[
        Rule::local(
            "double-negation",
            "-(-X) -> X",
            "",
            Precision::Exact,
            double_negation,
        ),
        Rule::local(
            "negated-summand",
            "X + -Y -> X - Y, X - -Y -> X + Y",
            "on doubles",
            Precision::Exact,
            negated_summand,
        ),
        Rule::local(
            "negated-factors",
            "-X * -Y -> X * Y, -X / -Y -> X / Y",
            "on doubles",
            Precision::Exact,
            negated_factors,
        ),
        Rule::local(
            "even-function",
            "abs(-X) -> abs(X), (-X) ^ 2 -> X ^ 2, cos(-X) -> cos(X), cosh(-X) -> cosh(X)",
            "on doubles",
            Precision::Exact,
            even_function,
        ),
        Rule::local(
            "negated-difference",
            "-(X - Y) -> Y - X",
            "nobody else reads the difference; -(X - X) is -0.0",
            Precision::ZeroSign,
            negated_difference,
        ),
    ],
};

/// `x`, if the HOP is `-1 * x` or `x * -1`.
pub(super) fn negated(editor: &Editor, id: HopId) -> Option<HopId> {
    let (BinaryOp::Mult, x, y) = editor.binary(id)? else {
        return None;
    };
    let is_minus_one = |id: HopId| editor.number(id) == Some(-1.0);
    let value = match (is_minus_one(x), is_minus_one(y)) {
        (true, _) => y,
        (_, true) => x,
        _ => return None,
    };
    editor.standing_for(value, id)
}

fn double_negation(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let value = negated(editor, negated(editor, id)?)?;
    editor.standing_for(value, id)
}

fn negated_summand(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    let (op, x, y) = match op {
        BinaryOp::Plus => match (negated(editor, x), negated(editor, y)) {
            (_, Some(y)) => (BinaryOp::Minus, x, y),
            (Some(x), None) => (BinaryOp::Minus, y, x),
            (None, None) => return None,
        },
        BinaryOp::Minus => (BinaryOp::Plus, x, negated(editor, y)?),
        _ => return None,
    };
    // Ints could overflow elsewhere, and strings join.
    let doubles = [id, x, y].iter().all(|id| editor.is_double(*id));
    doubles.then(|| editor.make_binary(op, x, y)).flatten()
}

fn negated_factors(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op @ (BinaryOp::Mult | BinaryOp::Div), x, y) = editor.binary(id)? else {
        return None;
    };
    let (x, y) = (negated(editor, x)?, negated(editor, y)?);
    let doubles = [id, x, y].iter().all(|id| editor.is_double(*id));
    doubles.then(|| editor.make_binary(op, x, y)).flatten()
}

fn even_function(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op @ (UnaryOp::Abs | UnaryOp::Pow2 | UnaryOp::Cos | UnaryOp::Cosh), x) =
        editor.unary(id)?
    else {
        return None;
    };
    let x = negated(editor, x)?;
    editor
        .is_double(x)
        .then(|| editor.make_unary(op, x))
        .flatten()
}

fn negated_difference(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let difference = negated(editor, id)?;
    let (BinaryOp::Minus, x, y) = editor.binary(difference)? else {
        return None;
    };
    let applies = editor.read_once(difference) && [id, x, y].iter().all(|id| editor.is_double(*id));
    applies
        .then(|| editor.make_binary(BinaryOp::Minus, y, x))
        .flatten()
}
