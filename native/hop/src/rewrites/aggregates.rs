//! Aggregates: scalars drawn out, aggregates of aggregates and of products.
//!
//! `sum(X ^ 2)` stays a sum of squares and does not become the aggregate sumsq: fused, it is the same single
//! pass, and sums of the same matrix can share one scan as a multi-aggregate.

use super::{Editor, Family, Precision, Rule, reorganizations};
use crate::{
    AggregateOp::{self, *},
    BinaryOp, CastOp, Direction, HopId, HopOp, UnaryOp,
};

pub(super) const FAMILY: Family = Family {
    title: "Aggregates",
    rules: &[
        Rule::local(
            "aggregate-of-aggregates",
            "sum(rowSums(X)) -> sum(X), max(colMaxs(X)) -> max(X)",
            "sum, min, max, prod; mean of equally many cells each; nobody else reads the inner aggregates",
            Precision::Rounding,
            aggregate_of_aggregates,
        ),
        Rule::local(
            "aggregate-of-reversed",
            "sum(rev(X)) -> sum(X), colSums(rev(X)) -> colSums(X), sum(matrix(X, a, b)) -> sum(X)",
            "aggregates that don't depend on an order; the sizes of X and of its reshape are known to fit",
            Precision::Rounding,
            aggregate_of_reversed,
        ),
        Rule::local(
            "scalar-out-of-sum",
            "sum(X * s) -> sum(X) * s, colSums(X / s) -> colSums(X) / s",
            "sum and mean in any direction; nobody else reads X * s",
            Precision::Rounding,
            scalar_out_of_sum,
        ),
        Rule::local(
            "shift-out-of-sum",
            "sum(X + s) -> sum(X) + s * length(X)",
            "with + and -, sum over all cells; the size is known, nobody else reads X + s; zeros of X stay zeros",
            Precision::Rounding,
            shift_out_of_sum,
        ),
        Rule::local(
            "sum-of-sum-with-product",
            "sum(X + Y %*% Z) -> sum(X) + sum(Y %*% Z)",
            "with + and -; sizes are known and equal, nobody else reads sum and product, Y and Z are no vectors",
            Precision::Rounding,
            sum_of_sum_with_product,
        ),
        Rule::local(
            "sum-of-product",
            "sum(X %*% Y) -> sum(t(colSums(X)) * rowSums(Y))",
            "sizes are known, the product has several rows and columns, nobody else reads it",
            Precision::Rounding,
            sum_of_product,
        ),
        Rule::local(
            "row-sums-of-product",
            "rowSums(X %*% Y) -> X %*% rowSums(Y), colSums(X %*% Y) -> colSums(X) %*% Y",
            "the operand that is summed up has several columns (rows), nobody else reads the product",
            Precision::Rounding,
            row_sums_of_product,
        ),
        Rule::local(
            "trace-of-product",
            "trace(X %*% Y) -> sum(X * t(Y))",
            "sizes are known, nobody else reads the product",
            Precision::Rounding,
            trace_of_product,
        ),
        Rule::local(
            "diagonal-of-product",
            "diag(X %*% Y) -> rowSums(X * t(Y))",
            "sizes are known, the product is square and no vector, nobody else reads it",
            Precision::Rounding,
            diagonal_of_product,
        ),
        Rule::local(
            "sum-of-diagonal",
            "sum(diag(X)) -> trace(X), sum(diag(v)) -> sum(v), trace(diag(v)) -> sum(v)",
            "the size is known: v a column, X square",
            Precision::Rounding,
            sum_of_diagonal,
        ),
        Rule::local(
            "aggregate-of-vector",
            "rowSums(v) -> v, colMaxs(r) -> r",
            "sum, min, max, mean, prod of one cell each: v is known to be a column, r a row",
            Precision::ZeroSign,
            aggregate_of_vector,
        ),
        Rule::local(
            "aggregate-of-single-cell",
            "sum(X) -> as.scalar(X)",
            "sum, min, max, mean, prod; X is known to be 1 x 1",
            Precision::ZeroSign,
            aggregate_of_single_cell,
        ),
        Rule::local(
            "aggregate-of-filled",
            "sum(matrix(c, n, m)) -> c * n * m, rowMaxs(matrix(c, n, m)) -> matrix(c, n, 1)",
            "sum, min, max, mean; the size is known and there are cells",
            Precision::Rounding,
            aggregate_of_filled,
        ),
        Rule::local(
            "mean-as-sum",
            "mean(X) -> sum(X) / length(X), colMeans(X) -> colSums(X) / nrow(X)",
            "X comes from an operator that can be fused with a sum and has no other reader; the size is known",
            Precision::Exact,
            mean_as_sum,
        ),
        Rule::local(
            "scalar-of-operator",
            "as.scalar(X * s) -> as.scalar(X) * s, as.scalar(exp(X)) -> exp(as.scalar(X))",
            "any operator that works cell by cell on matrices known to be 1 x 1 and double scalars",
            Precision::Exact,
            scalar_of_operator,
        ),
    ],
};

fn aggregate_of_aggregates(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, Direction::Full, inner) = editor.aggregate(id)? else {
        return None;
    };
    let (inner_op, _, x) = editor.aggregate(inner)?;
    let applies =
        op == inner_op && matches!(op, Sum | Min | Max | Prod | Mean) && editor.read_once(inner);
    applies
        .then(|| editor.make_aggregate(op, Direction::Full, x))
        .flatten()
}

fn aggregate_of_reversed(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, direction, inner) = editor.aggregate(id)?;
    let unordered = matches!(op, Sum | SumSq | Min | Max | Mean | Prod | Var | Sd);
    let keeps_cells = match editor.op(inner) {
        HopOp::Rev => direction != Direction::Row,
        HopOp::Reshape { .. } => {
            direction == Direction::Full && reorganizations::fits(editor, inner)
        }
        _ => false,
    };
    let x = editor.input(inner, 0)?;
    (unordered && keeps_cells)
        .then(|| editor.make_aggregate(op, direction, x))
        .flatten()
}

fn scalar_out_of_sum(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op @ (Sum | Mean), direction, scaled) = editor.aggregate(id)? else {
        return None;
    };
    if !editor.read_once(scaled) {
        return None;
    }
    let (outer, (x, s)) = [BinaryOp::Mult, BinaryOp::Div]
        .into_iter()
        .find_map(|outer| Some((outer, editor.matrix_and_scalar(scaled, outer)?)))?;
    let aggregate = editor.make_aggregate(op, direction, x)?;
    editor.make_binary(outer, aggregate, s)
}

fn shift_out_of_sum(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (Sum, Direction::Full, shifted) = editor.aggregate(id)? else {
        return None;
    };
    let (op, x, y) = editor.binary(shifted)?;
    if !matches!(op, BinaryOp::Plus | BinaryOp::Minus) || !editor.read_once(shifted) {
        return None;
    }
    if !editor.is_scalar(x) && !editor.is_scalar(y) {
        return None;
    }
    let cells = editor.cells(shifted)? as f64;
    let mut sum = |operand: HopId| match editor.is_scalar(operand) {
        true => {
            let cells = editor.make_double(cells);
            editor.make_binary(BinaryOp::Mult, operand, cells)
        }
        false => editor.make_aggregate(Sum, Direction::Full, operand),
    };
    let (left, right) = (sum(x)?, sum(y)?);
    editor.make_binary(op, left, right)
}

/// The operands of a product that has several rows and columns and no other reader.
fn wide_product(editor: &Editor, id: HopId) -> Option<(HopId, HopId)> {
    let (rows, cols) = editor.shape(id)?;
    let (left, right) = editor.product(id)?;
    editor.shape(left).zip(editor.shape(right))?;
    (rows > 1 && cols > 1 && editor.read_once(id)).then_some((left, right))
}

fn sum_of_sum_with_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (Sum, Direction::Full, sum) = editor.aggregate(id)? else {
        return None;
    };
    let (op @ (BinaryOp::Plus | BinaryOp::Minus), x, y) = editor.binary(sum)? else {
        return None;
    };
    let has_inner =
        |id: HopId| wide_product(editor, id).is_some_and(|(left, _)| !editor.is_column(left));
    let applies = editor.read_once(sum)
        && editor.same_shape(x, sum)
        && editor.same_shape(y, sum)
        && (has_inner(x) || has_inner(y));
    if !applies {
        return None;
    }
    let left = editor.make_aggregate(Sum, Direction::Full, x)?;
    let right = editor.make_aggregate(Sum, Direction::Full, y)?;
    editor.make_binary(op, left, right)
}

fn sum_of_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (Sum, Direction::Full, product) = editor.aggregate(id)? else {
        return None;
    };
    let (left, right) = wide_product(editor, product)?;
    let columns = editor.make_aggregate(Sum, Direction::Col, left)?;
    let columns = editor.make_transpose(columns)?;
    let rows = editor.make_aggregate(Sum, Direction::Row, right)?;
    let products = editor.make_binary(BinaryOp::Mult, columns, rows)?;
    editor.make_aggregate(Sum, Direction::Full, products)
}

fn row_sums_of_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (Sum, direction, product) = editor.aggregate(id)? else {
        return None;
    };
    let (left, right) = editor.product(product)?;
    if !editor.read_once(product) {
        return None;
    }
    let several = |size: Option<u64>| size.is_some_and(|size| size > 1);
    match direction {
        Direction::Row if several(editor.hop(right).cols()) => {
            let sums = editor.make_aggregate(Sum, Direction::Row, right)?;
            editor.make_product(left, sums)
        }
        Direction::Col if several(editor.hop(left).rows()) => {
            let sums = editor.make_aggregate(Sum, Direction::Col, left)?;
            editor.make_product(sums, right)
        }
        _ => None,
    }
}

/// `X * t(Y)` for a square product `X %*% Y` that has no other reader.
fn facing_cells(editor: &mut Editor, product: HopId) -> Option<HopId> {
    let (left, right) = editor.product(product)?;
    let ((m, k), (l, n)) = (editor.shape(left)?, editor.shape(right)?);
    if m != n || k != l || !editor.read_once(product) {
        return None;
    }
    let right = editor.make_transpose(right)?;
    editor.make_binary(BinaryOp::Mult, left, right)
}

fn trace_of_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (Trace, Direction::Full, product) = editor.aggregate(id)? else {
        return None;
    };
    let cells = facing_cells(editor, product)?;
    editor.make_aggregate(Sum, Direction::Full, cells)
}

fn diagonal_of_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let product = editor.input(id, 0)?;
    if *editor.op(id) != HopOp::Diag || editor.is_column(product) {
        return None;
    }
    let cells = facing_cells(editor, product)?;
    editor.make_aggregate(Sum, Direction::Row, cells)
}

fn sum_of_diagonal(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, Direction::Full, diagonal) = editor.aggregate(id)? else {
        return None;
    };
    let x = editor.input(diagonal, 0)?;
    if *editor.op(diagonal) != HopOp::Diag {
        return None;
    }
    let is_vector = reorganizations::diagonal(editor, diagonal).is_some();
    let is_square = editor.shape(x).is_some_and(|(rows, cols)| rows == cols);
    match op {
        Sum | Trace if is_vector => editor.make_aggregate(Sum, Direction::Full, x),
        Sum if is_square => editor.make_aggregate(Trace, Direction::Full, x),
        _ => None,
    }
}

fn aggregate_of_vector(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (Sum | Min | Max | Mean | Prod, direction, v) = editor.aggregate(id)? else {
        return None;
    };
    let one_each = match direction {
        Direction::Full => false,
        Direction::Row => editor.hop(v).cols() == Some(1),
        Direction::Col => editor.hop(v).rows() == Some(1),
    };
    one_each.then(|| editor.standing_for(v, id)).flatten()
}

fn aggregate_of_single_cell(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (Sum | Min | Max | Mean | Prod, Direction::Full, x) = editor.aggregate(id)? else {
        return None;
    };
    editor
        .is_single_cell(x)
        .then(|| editor.make_cast(CastOp::AsScalar, x))
        .flatten()
}

fn aggregate_of_filled(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, direction, filled) = editor.aggregate(id)?;
    let (value, (rows, cols)) = (editor.filled_with_number(filled)?, editor.shape(filled)?);
    let (each, shape) = match direction {
        Direction::Full => (rows.checked_mul(cols)?, (1, 1)),
        Direction::Row => (cols, (rows, 1)),
        Direction::Col => (rows, (1, cols)),
    };
    if each == 0 {
        return None;
    }
    let value = match op {
        Sum => value * each as f64,
        Min | Max | Mean => value,
        _ => return None,
    };
    let value = editor.make_double(value);
    match direction {
        Direction::Full => Some(value),
        _ => editor.make_fill(value, shape),
    }
}

fn mean_as_sum(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (Mean, direction, x) = editor.aggregate(id)? else {
        return None;
    };
    let (rows, cols) = editor.shape(x)?;
    if !editor.is_cellwise(x) || !editor.read_once(x) {
        return None;
    }
    let count = match direction {
        Direction::Full => rows as f64 * cols as f64,
        Direction::Row => cols as f64,
        Direction::Col => rows as f64,
    };
    let sum = editor.make_aggregate(AggregateOp::Sum, direction, x)?;
    let count = editor.make_double(count);
    editor.make_binary(BinaryOp::Div, sum, count)
}

fn scalar_of_operator(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let x = editor.input(id, 0)?;
    if *editor.op(id) != HopOp::Cast(CastOp::AsScalar) || !editor.is_cellwise(x) {
        return None;
    }
    let op = editor.op(x).clone();
    let inputs = editor.hop(x).inputs.clone();
    // A condition's branches keep their types; comparisons of scalars give booleans.
    let gives_double = match op {
        HopOp::Unary(op) => op != UnaryOp::Not,
        HopOp::Binary(op) => !op.is_logical(),
        _ => false,
    };
    let fits = |input: &HopId| {
        editor.is_double(*input) && (editor.is_scalar(*input) || editor.is_single_cell(*input))
    };
    if !gives_double || !inputs.iter().all(fits) {
        return None;
    }
    let mut scalars = Vec::with_capacity(inputs.len());
    for input in inputs {
        scalars.push(match editor.is_scalar(input) {
            true => input,
            false => editor.make_cast(CastOp::AsScalar, input)?,
        });
    }
    editor.make(op, &scalars)
}
