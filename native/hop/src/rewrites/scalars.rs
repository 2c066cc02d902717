//! Scalars gathered, and common factors taken out of sums.
//!
//! A common factor that is a matrix becomes the one driver of a fused operator: of `X * Y + X * Z` and
//! `X - X * (U %*% t(V))` only the cells where X is not zero matter.

use super::{Editor, Family, Precision, Rule};
use crate::{BinaryOp, CastOp, HopId};

pub(super) const FAMILY: Family = Family {
    title: "Scalars and common factors",
    rules: &[
        Rule::local(
            "gathered-scalars",
            "(X * s) * r -> X * (s * r), (X + s) - r -> X + (s - r), (X / s) / r -> X / (s * r)",
            "X is a matrix, nobody else reads the inner result; ints become doubles, booleans beside ints stay",
            Precision::Rounding,
            gathered_scalars,
        ),
        Rule::local(
            "common-factor",
            "X * Y + X * Z -> X * (Y + Z), s * X + s * Y -> s * (X + Y), X - X * Y -> X * (1 - Y)",
            "with + and -; nobody else reads the products; Y and Z are scalars or of X's known shape",
            Precision::Rounding,
            common_factor,
        ),
        Rule::local(
            "common-divisor",
            "X / s + Y / s -> (X + Y) / s",
            "with + and -; s is a literal, finite and not 0, as 1 / 0 - 2 / 0 is NaN; nobody else reads the quotients",
            Precision::Rounding,
            common_divisor,
        ),
    ],
};

/// How `(x op1 s) op2 r` becomes `x outer (s inner r)`.
fn gathered(inner: BinaryOp, outer: BinaryOp) -> Option<(BinaryOp, BinaryOp)> {
    use BinaryOp::*;
    Some(match (inner, outer) {
        (Mult, Mult) => (Mult, Mult),
        (Mult, Div) => (Mult, Div),
        (Div, Mult) => (Mult, Div),
        (Div, Div) => (Div, Mult),
        (Plus, Plus) => (Plus, Plus),
        (Plus, Minus) => (Plus, Minus),
        (Minus, Plus) => (Plus, Minus),
        (Minus, Minus) => (Minus, Plus),
        _ => return None,
    })
}

/// Operator, matrix and scalar of `X op s`, where `s op X` is the same or `X - s`.
fn with_scalar(editor: &Editor, id: HopId) -> Option<(BinaryOp, HopId, HopId)> {
    let (op, ..) = editor.binary(id)?;
    let (x, s) = editor.matrix_and_scalar(id, op)?;
    Some((op, x, s))
}

fn gathered_scalars(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (outer_op, inner, r) = with_scalar(editor, id)?;
    let (inner_op, x, s) = with_scalar(editor, inner)?;
    let (outer, between) = gathered(inner_op, outer_op)?;
    if !editor.read_once(inner) {
        return None;
    }
    // Ints overflow. Literals are ints like others, since a plan may have either in the place of a variable: it must not round
    // differently for that.
    let (s, r) = match editor.is_double(s) || editor.is_double(r) {
        true => (s, r),
        false => (of_int(editor, s)?, of_int(editor, r)?),
    };
    // (x / s) * r is x * (r / s).
    let (first, second) = match (inner_op, outer_op) {
        (BinaryOp::Div, BinaryOp::Mult) | (BinaryOp::Minus, BinaryOp::Plus) => (r, s),
        _ => (s, r),
    };
    // Two small factors that make 0 together, or large ones that make infinity, are not gathered.
    if let (Some(first), Some(second)) = (editor.number(first), editor.number(second)) {
        let is_usual = |value: f64| value == 0.0 || value.is_normal();
        if is_usual(first) && is_usual(second) {
            let gathered = between.eval(first, second);
            let vanishes = gathered == 0.0 && first != 0.0 && second != 0.0;
            let from_sum = matches!(between, BinaryOp::Plus | BinaryOp::Minus);
            if !is_usual(gathered) || vanishes && !from_sum {
                return None;
            }
        }
    }
    let scalar = editor.make_binary(between, first, second)?;
    editor.make_binary(outer, x, scalar)
}

/// An int as double; `None` for booleans.
fn of_int(editor: &mut Editor, id: HopId) -> Option<HopId> {
    match editor.number(id) {
        Some(value) => Some(editor.make_double(value)),
        None if editor.is_int(id) => editor.make_cast(CastOp::AsDouble, id),
        None => None,
    }
}

/// A summand as common factor and rest; no rest for the factor itself.
type Parts = (HopId, Option<HopId>);

fn parts(editor: &Editor, id: HopId) -> Vec<Parts> {
    let mut parts: Vec<Parts> = Vec::new();
    if editor.read_once(id) {
        let factors = editor.operands(id, BinaryOp::Mult).into_iter();
        parts.extend(factors.map(|(factor, rest)| (factor, Some(rest))));
    }
    if editor.is_matrix(id) {
        parts.push((id, None));
    }
    parts
}

fn common_factor(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op @ (BinaryOp::Plus | BinaryOp::Minus), x, y) = editor.binary(id)? else {
        return None;
    };
    if !editor.is_matrix(id) || x == y {
        return None;
    }
    // An expression that multiplies by one on both sides is no gain.
    let both = parts(editor, x);
    let (factor, left, right) = both.into_iter().find_map(|(factor, left)| {
        let mut others = parts(editor, y).into_iter();
        let (_, right) = others.find(|(other, _)| *other == factor)?;
        fits(editor, id, factor, left, right).then_some((factor, left, right))
    })?;
    let mut rest = |rest: Option<HopId>| rest.unwrap_or_else(|| editor.make_double(1.0));
    let (left, right) = (rest(left), rest(right));
    let sum = editor.make_binary(op, left, right)?;
    editor.make_binary(BinaryOp::Mult, factor, sum)
}

/// The rests can be added before the factor comes to them, and give the result's shape with it.
fn fits(
    editor: &Editor,
    id: HopId,
    factor: HopId,
    left: Option<HopId>,
    right: Option<HopId>,
) -> bool {
    let is_scalar = |rest: Option<HopId>| rest.is_none_or(|rest| editor.is_scalar(rest));
    let doubles = [left, right].into_iter().flatten();
    let doubles = { doubles }.all(|rest| editor.is_double(rest));
    let whole = |rest: HopId| editor.same_shape(rest, id);
    doubles
        && match (left, right) {
            // X + X is twice X.
            (None, None) => false,
            _ if is_scalar(left) && is_scalar(right) => editor.is_matrix(factor),
            // Vectors of both kinds would not add; scalars as factors are spread over anything.
            (Some(left), Some(right)) if editor.is_scalar(factor) => whole(left) && whole(right),
            _ => {
                let whole_or_scalar =
                    |rest: Option<HopId>| is_scalar(rest) || rest.is_some_and(whole);
                whole(factor) && whole_or_scalar(left) && whole_or_scalar(right)
            }
        }
}

fn common_divisor(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op @ (BinaryOp::Plus | BinaryOp::Minus), left, right) = editor.binary(id)? else {
        return None;
    };
    let (BinaryOp::Div, x, divisor) = editor.binary(left)? else {
        return None;
    };
    let (BinaryOp::Div, y, other) = editor.binary(right)? else {
        return None;
    };
    let applies = divisor == other
        && left != right
        && (editor.number(divisor)).is_some_and(|divisor| divisor.is_finite() && divisor != 0.0)
        && editor.same_shape(x, y)
        && editor.read_once(left)
        && editor.read_once(right);
    if !applies {
        return None;
    }
    let sum = editor.make_binary(op, x, y)?;
    editor.make_binary(BinaryOp::Div, sum, divisor)
}
