//! Operations that leave their operand as it is.

use super::{Editor, Family, Precision, Rule};
use crate::{BinaryOp, HopId, HopOp, Literal, ValueType};

pub(super) const FAMILY: Family = Family {
    title: "Neutral operands",
    rules: &[
        Rule::local(
            "neutral-factor",
            "X * 1, X / 1, X ^ 1 -> X",
            "",
            Precision::Exact,
            neutral_factor,
        ),
        Rule::local(
            "neutral-summand",
            "X - 0, X + -0.0 -> X",
            "also x + 0 of ints",
            Precision::Exact,
            neutral_summand,
        ),
        Rule::local(
            "zero-summand",
            "X + 0 -> X",
            "apart from the rule before, as -0.0 + 0 is 0.0",
            Precision::ZeroSign,
            zero_summand,
        ),
        Rule::local(
            "zeroth-power",
            "X ^ 0 -> matrix(1, nrow(X), ncol(X))",
            "the size of X is known, and that computing it cannot fail",
            Precision::Exact,
            zeroth_power,
        ),
        Rule::local(
            "neutral-logic",
            "b & TRUE, b | FALSE -> b",
            "b is a boolean scalar",
            Precision::Exact,
            neutral_logic,
        ),
        Rule::local(
            "filled-operand",
            "X + matrix(s, nrow(X), ncol(X)) -> X + s",
            "any operator that works cell by cell, if X is known to have the result's shape: spares a matrix",
            Precision::Exact,
            filled_operand,
        ),
        Rule::local(
            "combined-ones",
            "outer(v, matrix(1, 1, n), \"*\") - w -> outer(v, w, \"-\")",
            "w is a row of n cells; also w before an operator that can be turned round, and columns of ones with a column w: spares an operation a cell",
            Precision::Exact,
            combined_ones,
        ),
        Rule::local(
            "filled-result",
            "matrix(c, n, m) * 2 -> matrix(c * 2, n, m)",
            "any operator that works cell by cell on one filled matrix and literals; t() too",
            Precision::Exact,
            filled_result,
        ),
    ],
};

fn neutral_factor(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    let is_one = |id| editor.number(id) == Some(1.0);
    let value = match op {
        BinaryOp::Mult | BinaryOp::Div | BinaryOp::Pow if is_one(y) => x,
        BinaryOp::Mult if is_one(x) => y,
        _ => return None,
    };
    editor.standing_for(value, id)
}

/// The operand that a zero of this sign is added to or taken from.
fn beside_zero(editor: &Editor, id: HopId, subtracted: bool, negative: bool) -> Option<HopId> {
    let hop = editor.hop(id);
    if hop.value_type == ValueType::String {
        // A text, with a zero joined to it.
        return None;
    }
    let is_int = hop.is_scalar() && hop.value_type == ValueType::Int;
    let is_zero = |id, negative: bool| {
        let number = editor.number(id);
        number.is_some_and(|zero| zero == 0.0 && (is_int || zero.is_sign_negative() == negative))
    };
    let value = match editor.binary(id)? {
        (BinaryOp::Minus, x, y) if is_zero(y, subtracted) => x,
        (BinaryOp::Plus, x, y) if is_zero(y, negative) => x,
        (BinaryOp::Plus, x, y) if is_zero(x, negative) => y,
        _ => return None,
    };
    editor.standing_for(value, id)
}

fn neutral_summand(editor: &mut Editor, id: HopId) -> Option<HopId> {
    beside_zero(editor, id, false, true)
}

fn zero_summand(editor: &mut Editor, id: HopId) -> Option<HopId> {
    beside_zero(editor, id, true, false)
}

fn zeroth_power(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (BinaryOp::Pow, x, exponent) = editor.binary(id)? else {
        return None;
    };
    if editor.number(exponent) != Some(0.0) || !editor.is_matrix(x) || !editor.cannot_fail(x) {
        return None;
    }
    let shape = editor.shape(x)?;
    let one = editor.make_double(1.0);
    editor.make_fill(one, shape)
}

fn neutral_logic(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    let neutral = Literal::Boolean(match op {
        BinaryOp::And => true,
        BinaryOp::Or => false,
        _ => return None,
    });
    let value = match (editor.literal(x), editor.literal(y)) {
        (_, Some(literal)) if *literal == neutral => x,
        (Some(literal), _) if *literal == neutral => y,
        _ => return None,
    };
    // Cells of a matrix, and numbers, become 0 or 1.
    let is_boolean = editor.is_scalar(value) && editor.hop(value).value_type == ValueType::Boolean;
    is_boolean.then(|| editor.standing_for(value, id)).flatten()
}

fn filled_operand(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    if let Some(value) = editor.filled_with(y)
        && editor.same_shape(x, id)
    {
        return editor.make_binary(op, x, value);
    }
    if let Some(value) = editor.filled_with(x)
        && editor.same_shape(y, id)
    {
        return editor.make_binary(op, value, y);
    }
    None
}

/// A column or a row that was laid out as a matrix meets a vector that lies the other way.
fn combined_ones(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    let laid_out = |id| {
        let combination = editor.dag().combination(id)?;
        let (column, row) = (
            editor.input(id, combination.column)?,
            editor.input(id, combination.row)?,
        );
        let is_one = |id| editor.filled_with_number(id) == Some(1.0);
        match combination.op {
            BinaryOp::Mult if is_one(row) => Some((column, true)),
            BinaryOp::Mult if is_one(column) => Some((row, false)),
            _ => None,
        }
    };
    let (matrix, vector, other, is_first) = match (laid_out(x), laid_out(y)) {
        (Some(vector), None) => (x, vector, y, true),
        (None, Some(vector)) => (y, vector, x, false),
        _ => return None,
    };
    let (vector, is_column) = vector;
    let (rows, cols) = editor.shape(matrix)?;
    let facing = if is_column { (1, cols) } else { (rows, 1) };
    if !editor.is_matrix(other)
        || editor.shape(other) != Some(facing)
        || editor.same_shape(other, matrix)
    {
        return None;
    }
    let op = if is_first == is_column {
        op
    } else {
        op.turned_round()?
    };
    let (column, row) = if is_column {
        (vector, other)
    } else {
        (other, vector)
    };
    editor.make_combination(matrix, op, column, row)
}

fn filled_result(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let inputs = editor.hop(id).inputs.clone();
    let mut filled = inputs.iter().filter(|input| editor.is_matrix(**input));
    let (filled, None) = (*filled.next()?, filled.next()) else {
        return None;
    };
    editor.filled_with_number(filled)?;
    let shape = editor.shape(id)?;
    let number = |place: usize| {
        let input = *inputs.get(place)?;
        match input == filled {
            true => editor.filled_with_number(input),
            false => editor.number(input),
        }
    };
    let value = match *editor.op(id) {
        HopOp::Unary(op) => op.eval(number(0)?),
        HopOp::Binary(op) => op.eval(number(0)?, number(1)?),
        HopOp::Ternary(op) => op.eval(number(0)?, number(1)?, number(2)?),
        HopOp::Transpose | HopOp::Rev => number(0)?,
        _ => return None,
    };
    let value = editor.make_double(value);
    editor.make_fill(value, shape)
}
