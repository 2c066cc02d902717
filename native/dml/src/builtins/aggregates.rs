//! Aggregates over all cells, rows or columns; cumulative ones; sizes.

use fulgurite_error::Result;
use fulgurite_hop::{
    AggregateOp::{self, *},
    BinaryOp, CumulativeOp,
    Direction::{self, *},
    FrameOp, HopId, HopOp, Literal, ParameterizedOp, SizeOp, ValueType,
};

use super::{
    BoundCall, Builtin, Constant, Kind, Parameter, Rule, TARGET_MATRIX, build::with_names, builtin,
    default, frames, optional, required,
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
    builtin("rowcumsum", TARGET_MATRIX, Rule::Function(row_cumsum)),
    builtin(
        "cumsumprod",
        TARGET_MATRIX,
        Rule::NamedMatrix(ParameterizedOp::CumSumProd),
    ),
    builtin("countDistinct", DISTINCT, Rule::Function(count_distinct)),
    builtin(
        "countDistinctApprox",
        DISTINCT_APPROX,
        Rule::Function(count_distinct),
    ),
    distinct("rowCountDistinct", |call| count_distinct_by(call, "r")),
    distinct("colCountDistinct", |call| count_distinct_by(call, "c")),
    distinct("rowCountDistinctApprox", |call| {
        count_distinct_by(call, "r")
    }),
    distinct("colCountDistinctApprox", |call| {
        count_distinct_by(call, "c")
    }),
    builtin("contains", CONTAINS, Rule::Function(contains)),
    builtin("nrow", TABLE, Rule::Size(SizeOp::NRow)),
    builtin("ncol", TABLE, Rule::Size(SizeOp::NCol)),
    builtin("length", SIZED, Rule::Size(SizeOp::Length)),
];

const CONTAINS: &[Parameter] = &[
    required("target", Kind::Table),
    required("pattern", Kind::Scalar),
];
const TABLE: &[Parameter] = &[required("target", Kind::Table)];
const SIZED: &[Parameter] = &[required("target", Kind::Sized)];

const WEIGHTED: &[Parameter] = &[
    required("target", Kind::Matrix),
    optional("weights", Kind::Matrix),
];

const DISTINCT: &[Parameter] = &[
    required("target", Kind::Table),
    default("dir", Kind::String, Constant::String("rc")),
];
const DISTINCT_APPROX: &[Parameter] = &[
    required("target", Kind::Matrix),
    default("dir", Kind::String, Constant::String("rc")),
    optional("type", Kind::String),
];

const fn distinct(name: &'static str, build: fn(&mut BoundCall<'_>) -> Result<HopId>) -> Builtin {
    builtin(name, TARGET_MATRIX, Rule::Function(build))
}

/// The names of approximations are taken and the numbers are exact.
fn count_distinct(call: &mut BoundCall<'_>) -> Result<HopId> {
    let direction = direction(call, 1)?;
    if frames::is_first(call)? {
        return match direction {
            "rc" => {
                let target = call.argument(0)?;
                Ok(frames::operator(call, FrameOp::CountDistinct, vec![target]))
            }
            _ => Err(call.wrong_type(0, "a matrix, or a frame for all its cells")),
        };
    }
    count_distinct_by(call, direction)
}

fn count_distinct_by(call: &mut BoundCall<'_>, direction: &'static str) -> Result<HopId> {
    let target = call.argument(0)?;
    let text = Literal::String(direction.to_owned());
    let text = call.block.literal(text, call.position);
    let named = vec![("target".to_owned(), target), ("dir".to_owned(), text)];
    let (op, inputs) = with_names(ParameterizedOp::CountDistinct, named);
    Ok(match direction {
        "rc" => call.scalar(op, inputs, ValueType::Int),
        _ => call.matrix(op, inputs),
    })
}

/// Over what the function runs: all cells, each row or each column.
///
/// # Errors
/// Validation, if the argument is something else or no constant.
pub(super) fn direction(call: &BoundCall<'_>, place: usize) -> Result<&'static str> {
    match call.constant_string(place)?.as_deref() {
        None | Some("rc" | "cr") => Ok("rc"),
        Some("r") => Ok("r"),
        Some("c") => Ok("c"),
        Some(_) => Err(call
            .wrong_type(place, "a direction")
            .with_help("\"rc\" is over all cells, \"r\" over each row, \"c\" over each column")),
    }
}

pub(super) fn transposed(call: &mut BoundCall<'_>, matrix: HopId) -> HopId {
    call.matrix(HopOp::Transpose, vec![matrix])
}

/// Along each row: `t(cumsum(t(target)))`.
fn row_cumsum(call: &mut BoundCall<'_>) -> Result<HopId> {
    let target = call.argument(0)?;
    let turned = transposed(call, target);
    let sums = call.matrix(HopOp::Cumulative(CumulativeOp::Sum), vec![turned]);
    Ok(transposed(call, sums))
}

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

/// Whether a cell is the pattern: how many are, of which NaN are those that differ from themselves.
fn contains(call: &mut BoundCall<'_>) -> Result<HopId> {
    let position = call.position;
    let (target, pattern) = (call.argument(0)?, call.argument(1)?);
    let block = &mut call.block;
    let value = block.constant(pattern).and_then(Literal::as_f64);
    let equal = block.equal(target, pattern, position)?;
    let found = match value {
        Some(value) if !value.is_nan() => equal,
        _ => {
            let odd = block.binary(BinaryOp::NotEqual, target, target, position)?;
            let is_odd = block.binary(BinaryOp::NotEqual, pattern, pattern, position)?;
            let both = block.binary(BinaryOp::And, odd, is_odd, position)?;
            block.binary(BinaryOp::Or, equal, both, position)?
        }
    };
    let count = call.aggregate(AggregateOp::Sum, Direction::Full, found);
    let zero = call.block.literal(Literal::Double(0.0), position);
    call.block.binary(BinaryOp::Greater, count, zero, position)
}
