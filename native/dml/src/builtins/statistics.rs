//! Statistics, distributions and bitwise functions.

use fulgurite_error::Result;
use fulgurite_hop::{
    AggregateOp, BinaryOp, Dialect, Direction, HopId, Literal, ParameterizedOp, UnaryOp, ValueType,
};

use super::{
    BoundCall, Builtin, Constant, Kind, Parameter, Rule, build::with_names, builtin, construction,
    default, optional, required,
};

pub(super) const BUILTINS: &[Builtin] = &[
    builtin("moment", MOMENT, Rule::NamedDouble(ParameterizedOp::Moment)),
    builtin("cov", COV, Rule::NamedDouble(ParameterizedOp::Cov)),
    builtin("quantile", QUANTILE, Rule::Function(quantile)),
    builtin(
        "median",
        WEIGHTED,
        Rule::NamedDouble(ParameterizedOp::Median),
    ),
    builtin(
        "interQuartileMean",
        WEIGHTED,
        Rule::NamedDouble(ParameterizedOp::InterQuartileMean),
    ),
    Builtin {
        aliases: &["groupedAggregate"],
        ..builtin(
            "aggregate",
            AGGREGATE,
            Rule::NamedMatrix(ParameterizedOp::GroupedAggregate),
        )
    },
    builtin("cdf", DISTRIBUTION, Rule::NamedDouble(ParameterizedOp::Cdf)),
    builtin(
        "icdf",
        DISTRIBUTION,
        Rule::NamedDouble(ParameterizedOp::InverseCdf),
    ),
    builtin(
        "pnorm",
        NORMAL,
        Rule::Function(|call| of(call, ParameterizedOp::Cdf, "normal")),
    ),
    builtin(
        "pexp",
        EXPONENTIAL,
        Rule::Function(|call| of(call, ParameterizedOp::Cdf, "exp")),
    ),
    builtin(
        "pchisq",
        DEGREES,
        Rule::Function(|call| of(call, ParameterizedOp::Cdf, "chisq")),
    ),
    builtin(
        "pt",
        DEGREES,
        Rule::Function(|call| of(call, ParameterizedOp::Cdf, "t")),
    ),
    builtin(
        "pf",
        TWO_DEGREES,
        Rule::Function(|call| of(call, ParameterizedOp::Cdf, "f")),
    ),
    builtin(
        "qnorm",
        NORMAL,
        Rule::Function(|call| of(call, ParameterizedOp::InverseCdf, "normal")),
    ),
    builtin(
        "qexp",
        EXPONENTIAL,
        Rule::Function(|call| of(call, ParameterizedOp::InverseCdf, "exp")),
    ),
    builtin(
        "qchisq",
        DEGREES,
        Rule::Function(|call| of(call, ParameterizedOp::InverseCdf, "chisq")),
    ),
    builtin(
        "qt",
        DEGREES,
        Rule::Function(|call| of(call, ParameterizedOp::InverseCdf, "t")),
    ),
    builtin(
        "qf",
        TWO_DEGREES,
        Rule::Function(|call| of(call, ParameterizedOp::InverseCdf, "f")),
    ),
];

const MOMENT: &[Parameter] = &[
    required("target", Kind::Matrix),
    optional("weights", Kind::Matrix),
    required("order", Kind::Number),
];
const COV: &[Parameter] = &[
    required("left", Kind::Matrix),
    required("right", Kind::Matrix),
    optional("weights", Kind::Matrix),
];
const QUANTILE: &[Parameter] = &[
    required("target", Kind::Matrix),
    optional("weights", Kind::Matrix),
    required("probabilities", Kind::Cells),
];
const WEIGHTED: &[Parameter] = &[
    required("target", Kind::Matrix),
    optional("weights", Kind::Matrix),
];
const AGGREGATE: &[Parameter] = &[
    required("target", Kind::Matrix),
    required("groups", Kind::Matrix),
    required("fn", Kind::String),
    optional("order", Kind::Scalar),
    optional("weights", Kind::Matrix),
    optional("ngroups", Kind::Number),
];
const DISTRIBUTION: &[Parameter] = &[
    required("target", Kind::Number),
    required("dist", Kind::String),
    optional("mean", Kind::Number),
    optional("sd", Kind::Number),
    optional("rate", Kind::Number),
    optional("df", Kind::Number),
    optional("df1", Kind::Number),
    optional("df2", Kind::Number),
    default("lower.tail", Kind::Boolean, Constant::Boolean(true)),
];
const NORMAL: &[Parameter] = &[
    required("target", Kind::Number),
    default("mean", Kind::Number, Constant::Double(0.0)),
    default("sd", Kind::Number, Constant::Double(1.0)),
    default("lower.tail", Kind::Boolean, Constant::Boolean(true)),
];
const EXPONENTIAL: &[Parameter] = &[
    required("target", Kind::Number),
    default("rate", Kind::Number, Constant::Double(1.0)),
    default("lower.tail", Kind::Boolean, Constant::Boolean(true)),
];
const DEGREES: &[Parameter] = &[
    required("target", Kind::Number),
    required("df", Kind::Number),
    default("lower.tail", Kind::Boolean, Constant::Boolean(true)),
];
const TWO_DEGREES: &[Parameter] = &[
    required("target", Kind::Number),
    required("df1", Kind::Number),
    required("df2", Kind::Number),
    default("lower.tail", Kind::Boolean, Constant::Boolean(true)),
];

/// A double for one probability, a column vector for a column of them.
fn quantile(call: &mut BoundCall<'_>) -> Result<HopId> {
    const PROBABILITIES: usize = 2;
    let many = call.block.hop(call.argument(PROBABILITIES)?).is_matrix();
    let (op, inputs) = call.named(ParameterizedOp::Quantile);
    if !many && call.block.dialect() == Dialect::SystemDs && call.optional(1).is_none() {
        return middle_quantile(call);
    }
    Ok(if many {
        call.matrix(op, inputs)
    } else {
        call.scalar(op, inputs, ValueType::Double)
    })
}

/// SystemDS's quantile for one probability: of an even number of values, the mean of the value at rank k = ceil(p n) and the
/// next one.
fn middle_quantile(call: &mut BoundCall<'_>) -> Result<HopId> {
    let position = call.position;
    let (target, probability) = (call.argument(0)?, call.argument(2)?);
    let block = &mut *call.block;
    let count = block.rows(target, position);
    let rank = block.times(probability, count, position)?;
    let rank = block.unary(UnaryOp::Ceil, rank, position)?;
    // Half a rank more comes to the next one, whatever rounding does to the probability.
    let half = block.literal(Literal::Double(0.5), position);
    let next = block.plus(rank, half, position)?;
    let next = block.smaller(next, count, position)?;
    let next = block.binary(BinaryOp::Div, next, count, position)?;
    let both = construction::column(call, vec![probability, next])?;
    let named = [("target", target), ("probabilities", both)];
    let named = named.map(|(name, id)| (name.to_owned(), id));
    let (op, inputs) = with_names(ParameterizedOp::Quantile, named.to_vec());
    let values = call.matrix(op, inputs);
    let mean = call.aggregate(AggregateOp::Mean, Direction::Full, values);
    let block = &mut *call.block;
    let one = block.int(1, position);
    let first = block.part(values, [one; 4], position);
    let first = block.as_scalar(first, ValueType::Double, position);
    let two = block.int(2, position);
    let odd = block.binary(BinaryOp::Modulus, count, two, position)?;
    block.if_else(odd, first, mean, position)
}

/// A distribution function with a name of its own: `pnorm(target=x)` is `cdf(target=x, dist="normal")`.
fn of(call: &mut BoundCall<'_>, op: ParameterizedOp, distribution: &str) -> Result<HopId> {
    let distribution = Literal::String(distribution.to_owned());
    let distribution = call.block.literal(distribution, call.position);
    let mut named = call.given();
    named.push(("dist".to_owned(), distribution));
    let (op, inputs) = with_names(op, named);
    Ok(call.scalar(op, inputs, ValueType::Double))
}
