//! Aggregates over all cells, rows or columns; cumulative ones; sizes.

use fulgurite_hop::{
    AggregateOp::{self, *},
    CumulativeOp,
    Direction::{self, *},
    SizeOp,
};

use super::{Builtin, Kind, Parameter, Rule, TARGET_MATRIX, builtin, required};

pub(super) const BUILTINS: &[Builtin] = &[
    aggregate("sum", Sum, Full),
    Builtin {
        aliases: &["avg"],
        ..aggregate("mean", Mean, Full)
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

const fn aggregate(name: &'static str, op: AggregateOp, direction: Direction) -> Builtin {
    builtin(name, TARGET_MATRIX, Rule::Aggregate(op, direction))
}

const fn cumulative(name: &'static str, op: CumulativeOp) -> Builtin {
    builtin(name, TARGET_MATRIX, Rule::Cumulative(op))
}
