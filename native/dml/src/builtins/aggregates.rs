//! Aggregates over all cells, rows or columns; cumulative ones; sizes.

use fulgurite_error::Result;
use fulgurite_hop::{
    AggregateOp::{self, *},
    BinaryOp, CumulativeOp,
    Direction::{self, *},
    HopId, SizeOp,
};

use super::{
    BoundCall, Builtin, Kind, Parameter, Rule, TARGET_MATRIX, builtin, optional, required,
};

pub(super) const BUILTINS: &[Builtin] = &[
    aggregate("sum", Sum, Full),
    Builtin {
        aliases: &["avg"],
        ..builtin("mean", WEIGHTED, Rule::Function(mean))
    },
    aggregate("prod", Prod, Full),
    aggregate("var", Var, Full),
    aggregate("sd", Sd, Full),
    aggregate("trace", Trace, Full),
    aggregate("rowSums", Sum, Row),
    aggregate("rowMeans", Mean, Row),
    aggregate("rowProds", Prod, Row),
    aggregate("rowVars", Var, Row),
    aggregate("rowSds", Sd, Row),
    aggregate("rowMins", Min, Row),
    aggregate("rowMaxs", Max, Row),
    aggregate("rowIndexMax", IndexMax, Row),
    aggregate("rowIndexMin", IndexMin, Row),
    aggregate("colSums", Sum, Col),
    aggregate("colMeans", Mean, Col),
    aggregate("colProds", Prod, Col),
    aggregate("colVars", Var, Col),
    aggregate("colSds", Sd, Col),
    aggregate("colMins", Min, Col),
    aggregate("colMaxs", Max, Col),
    cumulative("cumsum", CumulativeOp::Sum),
    cumulative("cumprod", CumulativeOp::Prod),
    cumulative("cummin", CumulativeOp::Min),
    cumulative("cummax", CumulativeOp::Max),
    builtin("nrow", TABLE, Rule::Size(SizeOp::NRow)),
    builtin("ncol", TABLE, Rule::Size(SizeOp::NCol)),
    builtin("length", SIZED, Rule::Size(SizeOp::Length)),
];

const TABLE: &[Parameter] = &[required("target", Kind::Table)];
const SIZED: &[Parameter] = &[required("target", Kind::Sized)];

const WEIGHTED: &[Parameter] = &[
    required("target", Kind::Matrix),
    optional("weights", Kind::Matrix),
];

/// Of all cells; with weights, `sum(target * weights) / sum(weights)`.
fn mean(call: &mut BoundCall<'_>) -> Result<HopId> {
    let target = call.argument(0)?;
    let Some(weights) = call.optional(1) else {
        return Ok(call.aggregate(Mean, Full, target));
    };
    let position = call.position;
    let weighted = call.block.times(target, weights, position)?;
    let sum = call.aggregate(Sum, Full, weighted);
    let weight = call.aggregate(Sum, Full, weights);
    call.block.binary(BinaryOp::Div, sum, weight, position)
}

const fn aggregate(name: &'static str, op: AggregateOp, direction: Direction) -> Builtin {
    builtin(name, TARGET_MATRIX, Rule::Aggregate(op, direction))
}

const fn cumulative(name: &'static str, op: CumulativeOp) -> Builtin {
    builtin(name, TARGET_MATRIX, Rule::Cumulative(op))
}

/// Sums of all cells, rows or columns.
pub(super) fn sums(call: &mut BoundCall<'_>, direction: Direction, matrix: HopId) -> HopId {
    call.aggregate(Sum, direction, matrix)
}
