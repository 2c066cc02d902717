//! Transposes: removed, or moved to where they cost nothing.
//!
//! A product reads the operand of a transpose on its left as it is, so `t(X) %*% Y` costs no transpose; every
//! other transpose of a matrix is a pass over it. Transposes therefore move outwards, through operators
//! that work cell by cell, until they meet another transpose, an aggregate, or a product.
//! `t(X) %*% y` is left as it is: it is the form that the runtime and the Row template know.

use super::{Editor, Family, Precision, Rule};
use crate::{Direction, HopId, HopOp};

pub(super) const FAMILY: Family = Family {
    title: "Transposes",
    rules: &[
        Rule::local(
            "double-transpose",
            "t(t(X)) -> X",
            "",
            Precision::Exact,
            double_transpose,
        ),
        Rule::local(
            "transpose-of-single-cell",
            "t(X) -> X",
            "X is known to be 1 x 1",
            Precision::Exact,
            transpose_of_single_cell,
        ),
        Rule::local(
            "transposed-operands",
            "t(X) + t(Y) -> t(X + Y), t(X) * s -> t(X * s), exp(t(X)) -> t(exp(X))",
            "any operator that works cell by cell; nobody else reads the transposes",
            Precision::Exact,
            transposed_operands,
        ),
        Rule::local(
            "transposed-beside-vector",
            "t(X) * v -> t(X * t(v))",
            "X is not a vector, nobody else reads t(X); transposing v is cheap",
            Precision::Exact,
            transposed_beside_vector,
        ),
        Rule::local(
            "transposed-bind",
            "t(cbind(t(X), t(Y))) -> rbind(X, Y)",
            "and the other way round; nobody else reads the bound matrix",
            Precision::Exact,
            transposed_bind,
        ),
        Rule::local(
            "transposed-product",
            "t(X %*% t(Y)) -> Y %*% t(X), t(t(X) %*% Y) -> t(Y) %*% X",
            "nobody else reads the product, and fewer cells are transposed; a transpose on the left is free",
            Precision::Rounding,
            transposed_product,
        ),
        Rule::local(
            "product-orientation",
            "v %*% t(X) -> t(X %*% t(v)), t(X) %*% t(Y) -> t(Y %*% X)",
            "sizes are known, and fewer cells are transposed: not where the result is as large as X",
            Precision::Rounding,
            product_orientation,
        ),
        Rule::local(
            "aggregate-of-transpose",
            "sum(t(X)) -> sum(X), rowSums(t(X)) -> t(colSums(X))",
            "all aggregates but rowIndexMax and rowIndexMin; for rows and columns nobody else reads t(X); not where X is cumsum(t(Y)), which fuses along rows",
            Precision::Rounding,
            aggregate_of_transpose,
        ),
    ],
};

fn double_transpose(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let value = editor.transposed(editor.transposed(id)?)?;
    editor.standing_for(value, id)
}

fn transpose_of_single_cell(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let x = editor.transposed(id)?;
    editor.is_single_cell(x).then_some(x)
}

fn transposed_operands(editor: &mut Editor, id: HopId) -> Option<HopId> {
    if !editor.is_cellwise(id) {
        return None;
    }
    let inputs = editor.hop(id).inputs.clone();
    let operand = |input: &HopId| match editor.is_matrix(*input) {
        true if editor.read_once(*input) => editor.transposed(*input),
        true => None,
        false => Some(*input),
    };
    let operands: Vec<HopId> = inputs.iter().map(operand).collect::<Option<_>>()?;
    let op = editor.op(id).clone();
    let value = editor.make(op, &operands)?;
    editor.make_transpose(value)
}

fn transposed_beside_vector(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    let wide = |id: HopId| {
        let transposed = editor.transposed(id)?;
        let (rows, cols) = editor.shape(transposed)?;
        (editor.read_once(id) && rows > 1 && cols > 1).then_some(transposed)
    };
    let is_vector = |id: HopId| editor.is_column(id) || editor.is_row(id);
    let (x, y) = match (wide(x), wide(y)) {
        (Some(x), None) if is_vector(y) => (x, editor.make_transpose(y)?),
        (None, Some(y)) if is_vector(x) => (editor.make_transpose(x)?, y),
        _ => return None,
    };
    let value = editor.make_binary(op, x, y)?;
    editor.make_transpose(value)
}

fn transposed_bind(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let bound = editor.transposed(id)?;
    let op = match editor.op(bound) {
        HopOp::CBind => HopOp::RBind,
        HopOp::RBind => HopOp::CBind,
        _ => return None,
    };
    let parts = editor.hop(bound).inputs.iter();
    let parts: Vec<HopId> = parts
        .map(|part| editor.transposed(*part))
        .collect::<Option<_>>()?;
    editor
        .read_once(bound)
        .then(|| editor.make(op, &parts))
        .flatten()
}

/// Cells that are moved by transposing: those of a right operand, if it is a transpose.
fn moved_by_product(editor: &Editor, right: HopId) -> Option<u64> {
    match editor.transposed(right) {
        Some(operand) => editor.cells(operand),
        None => Some(0),
    }
}

/// Cells that are moved by transposing in `t(x)` as a right operand.
fn moved_by_transposing(editor: &Editor, x: HopId) -> Option<u64> {
    match editor.transposed(x) {
        Some(_) => Some(0),
        None => editor.cells(x),
    }
}

/// `t(L %*% R)` as `t(R) %*% t(L)`.
fn transposed_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let product = editor.transposed(id)?;
    let (left, right) = editor.product(product)?;
    if !editor.read_once(product) {
        return None;
    }
    let both = editor.transposed(left).is_some() && editor.transposed(right).is_some();
    let pays = both || {
        // The result's transpose goes, the left operand's comes.
        let before = moved_by_product(editor, right)?.checked_add(editor.cells(product)?)?;
        (editor.transposed(left).is_some() || editor.transposed(right).is_some())
            && moved_by_transposing(editor, left)? < before
    };
    if !pays {
        return None;
    }
    let (left, right) = (editor.make_transpose(right)?, editor.make_transpose(left)?);
    editor.make_product(left, right)
}

/// `L %*% t(R)` as `t(R %*% t(L))`.
fn product_orientation(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (left, right) = editor.product(id)?;
    let operand = editor.transposed(right)?;
    let before = moved_by_product(editor, right)?;
    let after = moved_by_transposing(editor, left)?.checked_add(editor.cells(id)?)?;
    if !editor.read_once(right) || after >= before {
        return None;
    }
    let left = editor.make_transpose(left)?;
    let product = editor.make_product(operand, left)?;
    editor.make_transpose(product)
}

/// Whether the transpose of `x` is t(cumsum(t(Y))).
fn runs_along_rows(editor: &Editor, x: HopId) -> bool {
    let hop = editor.hop(x);
    let of_transpose = |input: &HopId| editor.transposed(*input).is_some();
    matches!(hop.op, HopOp::Cumulative(_)) && hop.inputs.iter().any(of_transpose)
}

fn aggregate_of_transpose(editor: &mut Editor, id: HopId) -> Option<HopId> {
    use crate::AggregateOp::{IndexMax, IndexMin};
    let (op, direction, transpose) = editor.aggregate(id)?;
    let x = editor.transposed(transpose)?;
    if matches!(op, IndexMax | IndexMin) || runs_along_rows(editor, x) {
        return None;
    }
    let across = match direction {
        Direction::Full => return editor.make_aggregate(op, direction, x),
        _ if !editor.read_once(transpose) => return None,
        Direction::Row => Direction::Col,
        Direction::Col => Direction::Row,
    };
    let aggregate = editor.make_aggregate(op, across, x)?;
    editor.make_transpose(aggregate)
}
