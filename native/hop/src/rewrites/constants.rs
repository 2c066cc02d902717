//! What is known before anything runs.

use super::{Editor, Family, Precision, Rule};
use crate::{Hop, HopId, HopOp, Literal, SizeOp, TernaryOp, scalar};

pub(super) const FAMILY: Family = Family {
    title: "Constants",
    rules: &[
        Rule::local(
            "constant-folding",
            "2 * 3 -> 6",
            "all operands are literals; what fails, as an int that overflows, is left to fail when it is reached",
            Precision::Exact,
            constant_folding,
        ),
        Rule::local(
            "constant-condition",
            "ifelse(c, X, Y) -> X or Y",
            "the one chosen is known to have the result's shape, or is a scalar to fill it with; computing the other one cannot fail",
            Precision::Exact,
            constant_condition,
        ),
        Rule::local(
            "known-size",
            "nrow(X), ncol(X), length(X) -> c",
            "the size of X is known",
            Precision::Exact,
            known_size,
        ),
        Rule::local(
            "size-of-operator",
            "nrow(t(X)) -> ncol(X), nrow(f(X)) -> nrow(X)",
            "f works cell by cell on one matrix; X is not computed for its size alone",
            Precision::Exact,
            size_of_operator,
        ),
    ],
};

fn constant_folding(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let hop = editor.hop(id);
    if !hop.is_scalar() {
        return None;
    }
    let inputs = hop.inputs.iter().map(|input| editor.literal(*input));
    let inputs: Vec<&Literal> = inputs.collect::<Option<_>>()?;
    let value = scalar::eval_scalar(&hop.op, &inputs)?.ok()?;
    if !scalar::is_constant_size(&value) {
        return None;
    }
    Some(editor.make_literal(value))
}

fn constant_condition(editor: &mut Editor, id: HopId) -> Option<HopId> {
    if *editor.op(id) != HopOp::Ternary(TernaryOp::IfElse) {
        return None;
    }
    let condition = editor.literal(editor.input(id, 0)?)?;
    let (chosen, other) = match scalar::truth(condition).ok()? {
        true => (editor.input(id, 1)?, editor.input(id, 2)?),
        false => (editor.input(id, 2)?, editor.input(id, 1)?),
    };
    if !editor.cannot_fail(other) {
        return None;
    }
    match (editor.is_matrix(id), editor.is_matrix(chosen)) {
        (true, true) if editor.same_shape(chosen, id) => Some(chosen),
        (true, false) => {
            let shape = editor.shape(id)?;
            editor.make_fill(chosen, shape)
        }
        (false, false) => editor.standing_for(chosen, id),
        _ => None,
    }
}

fn known_size(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let HopOp::Size(op) = *editor.op(id) else {
        return None;
    };
    let Hop {
        data_type: crate::DataType::Matrix | crate::DataType::Frame,
        characteristics: known,
        ..
    } = editor.hop(editor.input(id, 0)?)
    else {
        return None;
    };
    editor.make_size(op.of(known)?)
}

fn size_of_operator(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let HopOp::Size(op) = *editor.op(id) else {
        return None;
    };
    let x = editor.input(id, 0)?;
    let matrices = editor.hop(x).inputs.iter().copied();
    let matrices: Vec<HopId> = matrices.filter(|input| editor.is_matrix(*input)).collect();
    let (
        HopOp::Transpose | HopOp::Rev | HopOp::Cumulative(_) | HopOp::Unary(_) | HopOp::Binary(_),
        [matrix],
    ) = (editor.op(x), matrices.as_slice())
    else {
        return None;
    };
    let matrix = *matrix;
    let op = match (editor.op(x), op) {
        (HopOp::Transpose, SizeOp::NRow) => SizeOp::NCol,
        (HopOp::Transpose, SizeOp::NCol) => SizeOp::NRow,
        (_, op) => op,
    };
    editor.make(HopOp::Size(op), &[matrix])
}
