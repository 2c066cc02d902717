//! Functions of single cells: cheaper equals, and functions that do nothing after another one.

use super::{Editor, Family, Precision, Rule, signs};
use crate::{BinaryOp, HopId, UnaryOp};

pub(super) const FAMILY: Family = Family {
    title: "Functions of cells",
    rules: &[
        Rule::local(
            "square",
            "X ^ 2, X * X -> the unary square of X",
            "on doubles; one multiplication, one operand",
            Precision::Exact,
            square,
        ),
        Rule::local(
            "twice",
            "X + X -> 2 * X",
            "on doubles",
            Precision::Exact,
            twice,
        ),
        Rule::local(
            "roots-and-reciprocals",
            "X ^ 0.5 -> sqrt(X), X ^ -1 -> 1 / X",
            "sqrt: X is known to be finite, as (-Inf) ^ 0.5 is Inf",
            Precision::Rounding,
            roots_and_reciprocals,
        ),
        Rule::local(
            "division-by-power-of-two",
            "X / 8 -> X * 0.125",
            "the divisor is a literal power of two, whose reciprocal is exact; a division takes longer than a product",
            Precision::Exact,
            division_by_power_of_two,
        ),
        Rule::local(
            "sigmoid",
            "1 / (1 + exp(-X)) -> sigmoid(X)",
            "",
            Precision::Exact,
            sigmoid,
        ),
        Rule::local(
            "sample-proportion",
            "X * (1 - X) -> sprop(X)",
            "",
            Precision::Exact,
            sample_proportion,
        ),
        Rule::local(
            "repeated-function",
            "abs(abs(X)) -> abs(X)",
            "round, floor, ceil, sign and triple negation too",
            Precision::Exact,
            repeated_function,
        ),
        Rule::local(
            "function-of-its-range",
            "abs(exp(X)) -> exp(X), floor(ceil(X)) -> ceil(X), sign(X > Y) -> X > Y",
            "the outer function leaves every value of the inner one as it is",
            Precision::Exact,
            function_of_its_range,
        ),
        Rule::local(
            "repeated-extreme",
            "max(max(X, Y), Y) -> max(X, Y), max(max(X, c), d) -> max(X, max(c, d))",
            "min too; extremes of 0.0 and -0.0 may be either",
            Precision::ZeroSign,
            repeated_extreme,
        ),
        Rule::local(
            "compared-indicator",
            "(X > Y) != 0, (X > Y) == 1 -> X > Y",
            "any comparison or logical operator on matrices",
            Precision::Exact,
            compared_indicator,
        ),
        Rule::local(
            "negated-equality",
            "!(X == Y) -> X != Y, !(X != Y) -> X == Y",
            "nobody else reads the comparison",
            Precision::Exact,
            negated_equality,
        ),
        Rule::local(
            "negated-order",
            "!(X < Y) -> X >= Y",
            "nobody else reads the comparison; X and Y are known to be finite, as a comparison with NaN is false",
            Precision::Exact,
            negated_order,
        ),
        Rule::local(
            "sign-of-indicators",
            "(X > 0) - (X < 0) -> sign(X)",
            "nobody else reads the comparisons; X is known to be finite, as sign(NaN) is NaN",
            Precision::ZeroSign,
            sign_of_indicators,
        ),
        Rule::local(
            "positive-part",
            "(X > 0) * X -> max(X, 0)",
            "nobody else reads the comparison; X is known to be finite, as 0 * -Inf is NaN; where X is negative, the product is -0.0",
            Precision::ZeroSign,
            positive_part,
        ),
    ],
};

fn square(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    let is_square = match op {
        BinaryOp::Pow => editor.number(y) == Some(2.0),
        // Ints stay ints, and overflow.
        BinaryOp::Mult => x == y && editor.is_double(x),
        _ => false,
    };
    is_square
        .then(|| editor.make_unary(UnaryOp::Pow2, x))
        .flatten()
}

fn twice(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (BinaryOp::Plus, x, y) = editor.binary(id)? else {
        return None;
    };
    if x != y || !editor.is_double(x) {
        return None;
    }
    let two = editor.make_double(2.0);
    editor.make_binary(BinaryOp::Mult, x, two)
}

fn roots_and_reciprocals(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (BinaryOp::Pow, x, exponent) = editor.binary(id)? else {
        return None;
    };
    match editor.number(exponent)? {
        0.5 if editor.is_finite(x) => editor.make_unary(UnaryOp::Sqrt, x),
        -1.0 => {
            let one = editor.make_double(1.0);
            editor.make_binary(BinaryOp::Div, one, x)
        }
        _ => None,
    }
}

fn division_by_power_of_two(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (BinaryOp::Div, x, divisor) = editor.binary(id)? else {
        return None;
    };
    let (divisor, reciprocal) = (editor.number(divisor)?, editor.number(divisor)?.recip());
    let is_power_of_two = divisor.is_normal() && divisor.to_bits().trailing_zeros() >= 52;
    if !is_power_of_two || !reciprocal.is_normal() || divisor == 1.0 {
        return None;
    }
    let reciprocal = editor.make_double(reciprocal);
    editor.make_binary(BinaryOp::Mult, x, reciprocal)
}

/// exp(-x): x.
fn exp_of_negated(editor: &Editor, id: HopId) -> Option<HopId> {
    let (UnaryOp::Exp, negative) = editor.unary(id)? else {
        return None;
    };
    signs::negated(editor, negative)
}

fn sigmoid(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (BinaryOp::Div, one, sum) = editor.binary(id)? else {
        return None;
    };
    if editor.number(one) != Some(1.0) {
        return None;
    }
    let plus_one = editor.operands(sum, BinaryOp::Plus).into_iter();
    let mut exponential = plus_one.filter(|(one, _)| editor.number(*one) == Some(1.0));
    let x = exp_of_negated(editor, exponential.next()?.1)?;
    editor.make_unary(UnaryOp::Sigmoid, x)
}

fn sample_proportion(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let is_rest_of = |x: HopId, rest: HopId| match editor.binary(rest) {
        Some((BinaryOp::Minus, one, other)) => other == x && editor.number(one) == Some(1.0),
        _ => false,
    };
    let factors = editor.operands(id, BinaryOp::Mult).into_iter();
    let (x, _) = { factors }.find(|(x, rest)| is_rest_of(*x, *rest))?;
    editor
        .is_double(x)
        .then(|| editor.make_unary(UnaryOp::Sprop, x))
        .flatten()
}

fn repeated_function(editor: &mut Editor, id: HopId) -> Option<HopId> {
    use UnaryOp::*;
    let (op, inner) = editor.unary(id)?;
    let (inner_op, x) = editor.unary(inner)?;
    let value = match (op, inner_op) {
        (Abs | Round | Floor | Ceil | Sign, _) if op == inner_op => inner,
        (Not, Not) => match editor.unary(x)? {
            (Not, _) => x,
            _ => return None,
        },
        _ => return None,
    };
    editor.standing_for(value, id)
}

/// A comparison or logical operator: gives 0 or 1, never NaN or -0.0.
fn is_indicator(editor: &Editor, id: HopId) -> bool {
    let logical = editor.binary(id).is_some_and(|(op, ..)| op.is_logical());
    logical || matches!(editor.unary(id), Some((UnaryOp::Not, _)))
}

fn function_of_its_range(editor: &mut Editor, id: HopId) -> Option<HopId> {
    use UnaryOp::*;
    let (op, x) = editor.unary(id)?;
    let of_indicator = is_indicator(editor, x) && matches!(op, Abs | Round | Floor | Ceil | Sign);
    let of_function = match editor.unary(x) {
        Some((inner, _)) => match op {
            Abs => matches!(inner, Exp | Pow2 | Sigmoid | Cosh),
            Floor | Ceil => matches!(inner, Round | Floor | Ceil | Sign),
            _ => false,
        },
        None => false,
    };
    (of_indicator || of_function)
        .then(|| editor.standing_for(x, id))
        .flatten()
}

fn repeated_extreme(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op @ (BinaryOp::Min | BinaryOp::Max), ..) = editor.binary(id)? else {
        return None;
    };
    for (inner, y) in editor.operands(id, op) {
        for (x, z) in editor.operands(inner, op) {
            if z == y {
                return editor.standing_for(inner, id);
            }
            if let (Some(c), Some(d)) = (editor.number(z), editor.number(y))
                && editor.is_matrix(x)
            {
                let extreme = editor.make_double(op.eval(c, d));
                return editor.make_binary(op, x, extreme);
            }
        }
    }
    None
}

fn compared_indicator(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    let (indicator, number) = match (editor.number(x), editor.number(y)) {
        (_, Some(number)) => (x, number),
        (Some(number), _) => (y, number),
        _ => return None,
    };
    let same = match op {
        BinaryOp::NotEqual => number == 0.0,
        BinaryOp::Equal => number == 1.0,
        _ => false,
    };
    (same && is_indicator(editor, indicator))
        .then(|| editor.standing_for(indicator, id))
        .flatten()
}

/// The comparison under a negation that has it alone.
fn negated_comparison(editor: &Editor, id: HopId) -> Option<(BinaryOp, HopId, HopId)> {
    match editor.unary(id)? {
        (UnaryOp::Not, comparison) if editor.read_once(comparison) => editor.binary(comparison),
        _ => None,
    }
}

fn negated_equality(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = negated_comparison(editor, id)?;
    let op = match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        _ => return None,
    };
    editor.make_binary(op, x, y)
}

fn negated_order(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = negated_comparison(editor, id)?;
    let op = match op {
        BinaryOp::Less => BinaryOp::GreaterEqual,
        BinaryOp::GreaterEqual => BinaryOp::Less,
        BinaryOp::Greater => BinaryOp::LessEqual,
        BinaryOp::LessEqual => BinaryOp::Greater,
        _ => return None,
    };
    (editor.is_finite(x) && editor.is_finite(y))
        .then(|| editor.make_binary(op, x, y))
        .flatten()
}

/// x, if the HOP is `x op 0`.
fn compared_to_zero(editor: &Editor, id: HopId, wanted: BinaryOp) -> Option<HopId> {
    match editor.binary(id)? {
        (op, x, zero) if op == wanted && editor.number(zero) == Some(0.0) => Some(x),
        _ => None,
    }
}

fn sign_of_indicators(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (BinaryOp::Minus, above, below) = editor.binary(id)? else {
        return None;
    };
    let x = compared_to_zero(editor, above, BinaryOp::Greater)?;
    let applies = compared_to_zero(editor, below, BinaryOp::Less)? == x
        && editor.is_finite(x)
        && editor.read_once(above)
        && editor.read_once(below);
    applies
        .then(|| editor.make_unary(UnaryOp::Sign, x))
        .flatten()
}

fn positive_part(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let factors = editor.operands(id, BinaryOp::Mult).into_iter();
    let mut fitting = factors.filter(|(above, x)| {
        compared_to_zero(editor, *above, BinaryOp::Greater) == Some(*x)
            && editor.read_once(*above)
            && editor.is_matrix(*x)
            && editor.is_finite(*x)
    });
    let (_, x) = fitting.next()?;
    let zero = editor.make_double(0.0);
    editor.make_binary(BinaryOp::Max, x, zero)
}
