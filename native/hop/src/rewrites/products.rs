//! Matrix products that something cheaper equals, or that can share work.

use super::{Editor, Family, Precision, Rule, reorganizations};
use crate::{AggregateOp, BinaryOp, Direction, HopId};

pub(super) const FAMILY: Family = Family {
    title: "Matrix products",
    rules: &[
        Rule::local(
            "product-with-single-cell",
            "v %*% x -> v * x",
            "x is known to be 1 x 1, on either side",
            Precision::ZeroSign,
            product_with_single_cell,
        ),
        Rule::local(
            "product-with-diagonal",
            "diag(v) %*% X -> v * X, X %*% diag(v) -> X * t(v)",
            "v is known to be a column, X to be finite, as 0 * Inf is NaN; nobody else reads diag(v)",
            Precision::ZeroSign,
            product_with_diagonal,
        ),
        Rule::local(
            "product-with-ones",
            "X %*% matrix(1, k, 1) -> rowSums(X), matrix(1, 1, k) %*% X -> colSums(X)",
            "X is no vector",
            Precision::Rounding,
            product_with_ones,
        ),
        Rule::local(
            "repeated-vector",
            "X * (v %*% matrix(1, 1, m)) -> X * v, X + matrix(1, n, 1) %*% r -> X + r",
            "any operator that works cell by cell and spreads vectors; X is known to have the result's shape",
            Precision::ZeroSign,
            repeated_vector,
        ),
        Rule::local(
            "scalar-out-of-product",
            "(X * s) %*% Y -> (X %*% Y) * s, t(X * s) %*% Y -> (t(X) %*% Y) * s",
            "sizes are known, the result has fewer cells than X; nobody else reads X * s",
            Precision::Rounding,
            scalar_out_of_product,
        ),
        Rule::local(
            "common-factor-of-products",
            "X %*% Y + X %*% Z -> X %*% (Y + Z)",
            "with + and -, on either side; sizes are known, nobody else reads the products",
            Precision::Rounding,
            common_factor_of_products,
        ),
        Rule::local(
            "weighted-product-left",
            "((v %*% r) * (X %*% Y)) %*% Z -> (X * v) %*% ((Y * r) %*% Z)",
            "v is a column, r a row, X and Y have fewer cells than X %*% Y together; nobody else reads what is taken apart (associativity as in the customised ALS)",
            Precision::Rounding,
            weighted_product_left,
        ),
        Rule::local(
            "weighted-product-right",
            "Z %*% ((v %*% r) * (X %*% Y)) -> (Z %*% (X * v)) %*% (Y * r)",
            "as the rule before",
            Precision::Rounding,
            weighted_product_right,
        ),
    ],
};

fn product_with_single_cell(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (left, right) = editor.product(id)?;
    editor.shape(left).zip(editor.shape(right))?;
    let applies = editor.is_single_cell(right) && editor.is_column(left)
        || editor.is_single_cell(left) && editor.is_row(right);
    applies
        .then(|| editor.make_binary(BinaryOp::Mult, left, right))
        .flatten()
}

fn product_with_diagonal(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (left, right) = editor.product(id)?;
    let (rows, cols) = editor.shape(id)?;
    if let Some(v) = reorganizations::diagonal(editor, left)
        && editor.read_once(left)
        && editor.is_finite(right)
        && editor.hop(v).rows() == Some(rows)
        && editor.same_shape(right, id)
    {
        return editor.make_binary(BinaryOp::Mult, v, right);
    }
    let v = reorganizations::diagonal(editor, right)?;
    let applies = editor.read_once(right)
        && editor.is_finite(left)
        && editor.hop(v).rows() == Some(cols)
        && editor.same_shape(left, id);
    if !applies {
        return None;
    }
    let v = editor.make_transpose(v)?;
    editor.make_binary(BinaryOp::Mult, left, v)
}

fn is_ones(editor: &Editor, id: HopId) -> bool {
    editor.filled_with_number(id) == Some(1.0)
}

fn product_with_ones(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (left, right) = editor.product(id)?;
    let ((m, k), (l, n)) = (editor.shape(left)?, editor.shape(right)?);
    if k != l || k < 2 {
        return None;
    }
    if is_ones(editor, right) && n == 1 && m > 1 {
        return editor.make_aggregate(AggregateOp::Sum, Direction::Row, left);
    }
    if is_ones(editor, left) && m == 1 && n > 1 {
        return editor.make_aggregate(AggregateOp::Sum, Direction::Col, right);
    }
    None
}

/// v of `v %*% matrix(1, 1, m)`, or r of `matrix(1, n, 1) %*% r`: the vector that is repeated.
fn repeated(editor: &Editor, id: HopId) -> Option<HopId> {
    let (left, right) = editor.product(id)?;
    let one_by = |id: HopId| editor.is_row(id) && is_ones(editor, id);
    let by_one = |id: HopId| editor.is_column(id) && is_ones(editor, id);
    if editor.is_column(left) && one_by(right) {
        return Some(left);
    }
    (editor.is_row(right) && by_one(left)).then_some(right)
}

fn repeated_vector(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, x, y) = editor.binary(id)?;
    let (x, y) = match (repeated(editor, x), repeated(editor, y)) {
        (_, Some(vector)) if editor.same_shape(x, id) => (x, vector),
        (Some(vector), _) if editor.same_shape(y, id) => (vector, y),
        _ => return None,
    };
    editor.make_binary(op, x, y)
}

fn scalar_out_of_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (left, right) = editor.product(id)?;
    let cells = editor.cells(id)?;
    let scaled = |operand: HopId| {
        let is_transposed = editor.transposed(operand).is_some();
        let scaled = editor.transposed(operand).unwrap_or(operand);
        let (x, s) = editor.matrix_and_scalar(scaled, BinaryOp::Mult)?;
        let applies =
            editor.read_once(operand) && editor.read_once(scaled) && cells < editor.cells(x)?;
        applies.then_some((is_transposed, x, s))
    };
    let (on_left, (is_transposed, x, s)) = match (scaled(left), scaled(right)) {
        (Some(scaled), _) => (true, scaled),
        (_, Some(scaled)) => (false, scaled),
        _ => return None,
    };
    let x = match is_transposed {
        true => editor.make_transpose(x)?,
        false => x,
    };
    let (left, right) = if on_left { (x, right) } else { (left, x) };
    let product = editor.make_product(left, right)?;
    editor.make_binary(BinaryOp::Mult, product, s)
}

fn common_factor_of_products(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op @ (BinaryOp::Plus | BinaryOp::Minus), x, y) = editor.binary(id)? else {
        return None;
    };
    let ((left, right), (other_left, other_right)) = (editor.product(x)?, editor.product(y)?);
    if x == y || !editor.read_once(x) || !editor.read_once(y) {
        return None;
    }
    if left == other_left && editor.same_shape(right, other_right) {
        let sum = editor.make_binary(op, right, other_right)?;
        return editor.make_product(left, sum);
    }
    if right == other_right && editor.same_shape(left, other_left) {
        let sum = editor.make_binary(op, left, other_left)?;
        return editor.make_product(sum, right);
    }
    None
}

/// `(v %*% r) * (X %*% Y)` as X * v and Y * r, where that is smaller.
fn taken_apart(editor: &mut Editor, id: HopId) -> Option<(HopId, HopId)> {
    let factors = editor.operands(id, BinaryOp::Mult).into_iter();
    let mut fitting = factors.filter_map(|(weights, product)| {
        let ((v, r), (x, y)) = (editor.product(weights)?, editor.product(product)?);
        let parts = editor.cells(x)?.checked_add(editor.cells(y)?)?;
        let applies = editor.same_shape(weights, product)
            && editor.is_column(v)
            && editor.is_row(r)
            && parts < editor.cells(product)?
            && [id, weights, product]
                .iter()
                .all(|id| editor.read_once(*id));
        applies.then_some((v, r, x, y))
    });
    let (v, r, x, y) = fitting.next()?;
    drop(fitting);
    let x = editor.make_binary(BinaryOp::Mult, x, v)?;
    let y = editor.make_binary(BinaryOp::Mult, y, r)?;
    Some((x, y))
}

fn weighted_product_left(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (weighted, z) = editor.product(id)?;
    let (x, y) = taken_apart(editor, weighted)?;
    let inner = editor.make_product(y, z)?;
    editor.make_product(x, inner)
}

fn weighted_product_right(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (z, weighted) = editor.product(id)?;
    let (x, y) = taken_apart(editor, weighted)?;
    let inner = editor.make_product(z, x)?;
    editor.make_product(inner, y)
}
