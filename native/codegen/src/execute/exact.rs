//! Whether zeros may be skipped: where that gives what visiting all cells would give.
//!
//! A plan that is sparse-safe is zero wherever its main input is, as long as the other operands play along: zero times
//! infinity is NaN, and so is zero by zero. That is decided here, when the operands are there: the body is evaluated over
//! the extents of its operands' cells, with zero for the main input, and has to be zero. A dense or CSR operand is scanned once.

use std::ops::Range;

use fulgurite_fusion::cplan::{CNode, NodeId};
use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, TernaryOp, UnaryOp};
use fulgurite_matrix::Extent;

use super::{ExecutionContext, tasks};
use crate::aggregates::{self, Accumulation, AggregateForm};
use crate::bind::{Bound, Operand};
use crate::compiled::CompiledPlan;

/// Cells that are scanned in one go.
const CHUNK: usize = 1 << 16;

/// Whether all these values are zero where the main input is.
pub(super) fn are_zero_at_zeros(
    plan: &CompiledPlan,
    bound: &Bound<'_>,
    values: &[NodeId],
    context: &ExecutionContext,
) -> bool {
    all_at_zeros(plan, bound, values, context, Extent::is_zero)
}

/// Whether all these values are finite where the main input is zero.
pub(super) fn are_finite_at_zeros(
    plan: &CompiledPlan,
    bound: &Bound<'_>,
    values: &[NodeId],
    context: &ExecutionContext,
) -> bool {
    all_at_zeros(plan, bound, values, context, Extent::is_finite)
}

fn all_at_zeros(
    plan: &CompiledPlan,
    bound: &Bound<'_>,
    values: &[NodeId],
    context: &ExecutionContext,
    holds: fn(&Extent) -> bool,
) -> bool {
    let extents = at_zeros(plan, bound, context);
    let extent = |id: &NodeId| extents.get(id.index());
    values.iter().all(|id| extent(id).is_some_and(holds))
}

/// Whether an operand has neither NaN nor infinities.
pub(super) fn is_finite(operand: Operand<'_>, context: &ExecutionContext) -> bool {
    extent(operand, context).is_finite()
}

fn extent(operand: Operand<'_>, context: &ExecutionContext) -> Extent {
    match operand {
        Operand::Scalar(value) => Extent::of(value),
        Operand::Matrix(matrix) => matrix.extent_by(|cells| {
            let ranges = tasks::even(cells.len(), CHUNK, cells.len(), context);
            of_parts(ranges, context, |range| Extent::of_cells(&cells[range]))
        }),
        Operand::Range(matrix) => {
            let cells = matrix.rows() * matrix.cols();
            let ranges = tasks::even(matrix.rows(), CHUNK / matrix.cols(), cells, context);
            of_parts(ranges, context, |rows| {
                let rows = rows.map(|row| Extent::of_cells(matrix.row(row)));
                rows.fold(Extent::EMPTY, Extent::and)
            })
        }
    }
}

fn of_parts(
    ranges: Vec<Range<usize>>,
    context: &ExecutionContext,
    scan: impl Fn(Range<usize>) -> Extent + Sync,
) -> Extent {
    let parts = tasks::run(context, ranges, |range| Ok(scan(range)));
    parts.map_or(Extent::UNKNOWN, |parts| {
        parts.into_iter().fold(Extent::EMPTY, Extent::and)
    })
}

/// The extent of each node's values at the zeros of the main input.
fn at_zeros(plan: &CompiledPlan, bound: &Bound<'_>, context: &ExecutionContext) -> Vec<Extent> {
    let body = &plan.plan().body;
    let mut extents: Vec<Extent> = Vec::new();
    let mut inputs: Vec<Option<Extent>> = vec![None; bound.operands.len()];
    for node in body {
        let of = |id: &NodeId| extents.get(id.index()).copied().unwrap_or(Extent::UNKNOWN);
        let extent = match node {
            CNode::Input(0) => Extent::of(0.0),
            CNode::Input(input) => match (inputs.get_mut(*input), bound.operands.get(*input)) {
                (Some(known), Some(operand)) => {
                    *known.get_or_insert_with(|| self::extent(*operand, context))
                }
                _ => Extent::UNKNOWN,
            },
            CNode::Literal(value) => Extent::of(*value),
            CNode::Unary(op, x) => unary(*op, of(x)),
            CNode::Binary(op, x, y) => binary(*op, of(x), of(y)),
            CNode::Ternary(op, x, y, z) => ternary(*op, of(x), of(y), of(z)),
            CNode::Reduce(op, x) => reduced(*op, of(x)),
            CNode::ColumnRange { vector: x, .. }
            | CNode::Cumulative(CumulativeOp::Min | CumulativeOp::Max, x) => of(x),
            CNode::Cumulative(CumulativeOp::Sum | CumulativeOp::Prod, _) => Extent::UNKNOWN,
            CNode::VectorMatrix { vector, input, .. } => match bound.matrix(*input) {
                Ok(matrix) => {
                    let products = binary(
                        BinaryOp::Mult,
                        of(vector),
                        self::extent(Operand::Matrix(matrix), context),
                    );
                    summed(products, matrix.rows() as f64)
                }
                Err(_) => Extent::UNKNOWN,
            },
            CNode::Concatenate(parts) => parts.iter().map(of).fold(Extent::EMPTY, Extent::and),
            CNode::FactorProduct { .. } => Extent::UNKNOWN,
        };
        extents.push(extent);
    }
    extents
}

/// As many columns as indices can count.
const MOST_COLUMNS: f64 = (1u64 << 31) as f64;

/// The sum of up to so many values.
fn summed(x: Extent, most: f64) -> Extent {
    if is_empty(&x) || x.is_zero() {
        return Extent::of(0.0);
    }
    let largest = x.least.abs().max(x.greatest.abs()) * most;
    or_nan(between(-largest, largest), !x.is_finite())
}

/// The aggregate of a row.
fn reduced(op: AggregateOp, x: Extent) -> Extent {
    match aggregates::form(op) {
        // A mean lies between the cells.
        AggregateForm::Incremental(Accumulation::Sum) if aggregates::is_mean(op) => x,
        AggregateForm::Incremental(Accumulation::Sum) => summed(x, MOST_COLUMNS),
        AggregateForm::Incremental(Accumulation::Minimum | Accumulation::Maximum) => x,
        AggregateForm::Incremental(Accumulation::SumOfSquares | Accumulation::Product)
        | AggregateForm::OfRow(_)
        | AggregateForm::Unsupported => Extent::UNKNOWN,
    }
}

/// The number that all cells are.
fn point(x: &Extent) -> Option<f64> {
    match x.has_nan {
        true if x.least > x.greatest => Some(f64::NAN),
        false if x.least == x.greatest => Some(x.least),
        _ => None,
    }
}

fn is_empty(x: &Extent) -> bool {
    !x.has_nan && x.least > x.greatest
}

fn between(least: f64, greatest: f64) -> Extent {
    if least.is_nan() || greatest.is_nan() {
        return Extent::UNKNOWN;
    }
    let least_magnitude = match least <= 0.0 && greatest >= 0.0 {
        true => 0.0,
        false => least.abs().min(greatest.abs()),
    };
    Extent {
        least,
        greatest,
        least_magnitude,
        has_nan: false,
    }
}

fn or_nan(extent: Extent, has_nan: bool) -> Extent {
    Extent {
        has_nan: extent.has_nan || has_nan,
        ..extent
    }
}

fn unary(op: UnaryOp, x: Extent) -> Extent {
    use UnaryOp::*;
    if let Some(x) = point(&x) {
        return Extent::of(op.eval(x));
    }
    if is_empty(&x) {
        return x;
    }
    let (least, greatest) = (x.least, x.greatest);
    let ascending = || between(op.eval(least), op.eval(greatest));
    let result = match op {
        Exp | ExpLess1 | RoundHalfEven | Floor | Ceil | Sign | Atan | Sinh | Tanh | Sigmoid => {
            ascending()
        }
        Log | Log2 | Log10 | Sqrt if least >= 0.0 => ascending(),
        LogOf1Plus if least >= -1.0 => ascending(),
        Asin if least >= -1.0 && greatest <= 1.0 => ascending(),
        Acos if least >= -1.0 && greatest <= 1.0 => between(op.eval(greatest), op.eval(least)),
        Abs => Extent {
            least: x.least_magnitude,
            greatest: least.abs().max(greatest.abs()),
            ..x
        },
        Pow2 | Cosh => {
            let largest = least.abs().max(greatest.abs());
            between(op.eval(x.least_magnitude), op.eval(largest))
        }
        Sin | Cos if x.is_finite() => between(-1.0, 1.0),
        Not => return between(0.0, 1.0),
        Sprop => {
            let rest = binary(BinaryOp::Minus, Extent::of(1.0), x);
            return binary(BinaryOp::Mult, x, rest);
        }
        // Beyond their domains, and where nothing was worked out.
        Log | LogOf1Plus | Log2 | Log10 | Sqrt | Asin | Acos | Sin | Cos | Tan | Round => {
            Extent::UNKNOWN
        }
    };
    or_nan(result, x.has_nan)
}

fn binary(op: BinaryOp, x: Extent, y: Extent) -> Extent {
    use BinaryOp::*;
    if is_empty(&x) || is_empty(&y) {
        return Extent::EMPTY;
    }
    // Zeros of either sign are one here, but not below a fraction.
    let is_fraction = matches!(op, Div | IntDiv | Modulus);
    if is_fraction && y.least_magnitude == 0.0 || op == Pow && x.is_zero() && y.least < 0.0 {
        return Extent::UNKNOWN;
    }
    if let (Some(x), Some(y)) = (point(&x), point(&y)) {
        return Extent::of(op.eval(x, y));
    }
    let corners = || {
        let values = [
            op.eval(x.least, y.least),
            op.eval(x.least, y.greatest),
            op.eval(x.greatest, y.least),
            op.eval(x.greatest, y.greatest),
        ];
        match values.iter().any(|value| value.is_nan()) {
            true => Extent::UNKNOWN,
            false => {
                let values = values.into_iter().map(Extent::of);
                let all = values.fold(Extent::EMPTY, Extent::and);
                between(all.least, all.greatest)
            }
        }
    };
    let has_nan = x.has_nan || y.has_nan;
    let is_infinite = |x: &Extent| x.least == f64::NEG_INFINITY || x.greatest == f64::INFINITY;
    let result = match op {
        Plus | Minus | Min | Max => corners(),
        Mult => {
            let meet =
                |zero: &Extent, other: &Extent| zero.least_magnitude == 0.0 && is_infinite(other);
            match meet(&x, &y) || meet(&y, &x) {
                true => Extent::UNKNOWN,
                false => Extent {
                    least_magnitude: x.least_magnitude * y.least_magnitude,
                    ..corners()
                },
            }
        }
        Div | IntDiv | Modulus if x.is_zero() => Extent::of(0.0),
        Div | IntDiv if !(is_infinite(&x) && is_infinite(&y)) => {
            let largest = x.least.abs().max(x.greatest.abs()) / y.least_magnitude;
            let limit = if op == IntDiv { largest + 1.0 } else { largest };
            between(-limit, limit)
        }
        Pow if x.is_zero() && y.least > 0.0 => Extent::of(0.0),
        And if x.is_zero() || y.is_zero() => return Extent::of(0.0),
        Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual | And | Or | Xor => {
            return between(0.0, 1.0);
        }
        Div | IntDiv | Modulus | Pow | LogBase => Extent::UNKNOWN,
    };
    or_nan(result, has_nan)
}

fn ternary(op: TernaryOp, x: Extent, y: Extent, z: Extent) -> Extent {
    match op {
        TernaryOp::IfElse if x.is_zero() => z,
        // NaN counts as true.
        TernaryOp::IfElse if x.least_magnitude > 0.0 => y,
        TernaryOp::IfElse => y.and(z),
        TernaryOp::PlusMult => binary(BinaryOp::Plus, x, binary(BinaryOp::Mult, y, z)),
        TernaryOp::MinusMult => binary(BinaryOp::Minus, x, binary(BinaryOp::Mult, y, z)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of every kind, and extents of pairs of them.
    const VALUES: [f64; 9] = [
        f64::NEG_INFINITY,
        -2.5,
        -1.0,
        -0.0,
        0.0,
        0.25,
        1.0,
        3.0,
        f64::INFINITY,
    ];

    fn extents() -> Vec<(Extent, Vec<f64>)> {
        let mut cells: Vec<Vec<f64>> = VALUES.iter().map(|value| vec![*value]).collect();
        cells.push(vec![f64::NAN]);
        for (at, x) in VALUES.iter().enumerate() {
            cells.extend(VALUES[at + 1..].iter().map(|y| vec![*x, *y]));
            cells.push(vec![*x, f64::NAN]);
        }
        let extent = |cells: Vec<f64>| (Extent::of_cells(&cells), cells);
        cells.into_iter().map(extent).collect()
    }

    fn holds(extent: &Extent, value: f64, what: &str) {
        let fits = match value.is_nan() {
            true => extent.has_nan,
            false => {
                extent.least <= value
                    && value <= extent.greatest
                    && extent.least_magnitude <= value.abs()
            }
        };
        assert!(fits, "{what} = {value} is not in {extent:?}");
    }

    #[test]
    fn extents_hold_what_operators_give() {
        let all = extents();
        for op in UnaryOp::ALL {
            for (extent, cells) in &all {
                let result = unary(*op, *extent);
                for x in cells {
                    holds(&result, op.eval(*x), &format!("{op:?}({x})"));
                }
            }
        }
        for op in BinaryOp::ALL {
            for (x_extent, xs) in &all {
                for (y_extent, ys) in &all {
                    let result = binary(*op, *x_extent, *y_extent);
                    for (x, y) in xs.iter().flat_map(|x| ys.iter().map(move |y| (x, y))) {
                        holds(&result, op.eval(*x, *y), &format!("{op:?}({x}, {y})"));
                    }
                }
            }
        }
        for op in TernaryOp::ALL {
            for (x_extent, xs) in &all {
                for (y_extent, ys) in all.iter().step_by(3) {
                    for (z_extent, zs) in all.iter().step_by(5) {
                        let result = ternary(*op, *x_extent, *y_extent, *z_extent);
                        for ((x, y), z) in xs.iter().zip(ys).zip(zs) {
                            let what = format!("{op:?}({x}, {y}, {z})");
                            holds(&result, op.eval(*x, *y, *z), &what);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn zeros_are_known_where_operands_play_along() {
        let (zero, positive) = (Extent::of(0.0), Extent::of_cells(&[0.5, 3.0]));
        let mixed = Extent::of_cells(&[-2.0, 1.0]);
        let log = unary(UnaryOp::Log, positive);
        assert!(binary(BinaryOp::Mult, zero, log).is_zero());
        assert!(binary(BinaryOp::Div, zero, mixed).is_zero());
        assert!(!binary(BinaryOp::Div, zero, Extent::of_cells(&[0.0, 1.0])).is_zero());
        let infinite = Extent::of_cells(&[1.0, f64::INFINITY]);
        assert!(!binary(BinaryOp::Mult, zero, infinite).is_zero());
        assert!(binary(BinaryOp::Div, zero, infinite).is_zero());
        assert!(!binary(BinaryOp::Mult, zero, unary(UnaryOp::Log, mixed)).is_zero());
    }
}
