//! Moments, covariances and aggregates by group: sums over stripes in two passes, the second of deviations from the
//! means that the first has found. (Sums of powers, in one pass, would cancel.)

use fulgurite_dataflow::{Combine, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Formulas, Literal, scalar};
use fulgurite_matrix::{MatrixBlock, kernels::groups::GroupFunction};

use super::{columns::Columns, named};
use crate::{operator::Operator, workers::Workers};

/// `moment(target, weights, order)`.
pub(super) fn central_moment(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let power = power(scalar::double_to_int(number(operator, inputs, "order")?))?;
    let columns = Columns::new(workers, operator, inputs, &["target", "weights"])?;
    let sums = columns.sums(|task| Ok(vec![task.weights(), task.weighted("target")?]))?;
    let mean = quotient(&sums, 1, 0)?;
    let powers = columns.sums(|task| {
        let deviations = task.deviations("target", mean)?;
        let power = task.number(power);
        let powers = task.power(deviations, power);
        Ok(vec![task.weights(), task.times_weights(powers)])
    })?;
    Ok(double(quotient(&powers, 1, 0)?))
}

/// `cov(left, right, weights)`.
pub(super) fn covariance(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let columns = Columns::new(workers, operator, inputs, &["left", "right", "weights"])?;
    let sums = columns.sums(|task| {
        let (left, right) = (task.weighted("left")?, task.weighted("right")?);
        Ok(vec![task.weights(), left, right])
    })?;
    let (left_mean, right_mean) = (quotient(&sums, 1, 0)?, quotient(&sums, 2, 0)?);
    let products = columns.sums(|task| {
        let left = task.deviations("left", left_mean)?;
        let right = task.deviations("right", right_mean)?;
        let products = task.times(left, right);
        Ok(vec![task.weights(), task.times_weights(products)])
    })?;
    match products[..] {
        [weight, products] => Ok(double(products / (weight - 1.0))),
        _ => Err(Error::internal("a covariance of other than two sums")),
    }
}

/// `aggregate(target, groups, fn, weights, ngroups)`. What there is of all groups has to fit the driver.
pub(super) fn grouped_aggregate(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let function = match named(operator, inputs, "fn")?.as_scalar()? {
        Literal::String(name) => {
            fulgurite_operators::group_function(name, || number(operator, inputs, "order"))?
        }
        other => fulgurite_operators::group_function(&other.to_string(), || Ok(f64::NAN))?,
    };
    let width = named(operator, inputs, "target")?.characteristics().cols;
    let width = super::size(width)?;
    let given = |name| named(operator, inputs, name).is_ok();
    if width > 1 && (function != GroupFunction::Sum || given("weights") || !given("ngroups")) {
        return Err(Error::unsupported(
            "several columns are aggregated with fn=\"sum\", ngroups and no weights",
        ));
    }
    let names = ["target", "groups", "weights"];
    let columns = match width {
        1 => Columns::new(workers, operator, inputs, &names)?,
        _ => Columns::of_any_width(workers, operator, inputs, &names)?,
    };
    let count = match given("ngroups") {
        true => u64::try_from(scalar::double_to_int(number(operator, inputs, "ngroups")?))
            .map_err(|_| Error::argument("aggregate cannot have a negative number of groups"))?,
        false => largest_group(&columns)?,
    };
    check_groups_fit(workers, count, width)?;
    if width > 1 {
        let sums = columns.combined(&Combine::Sum, |task| {
            let target = task.column("target")?;
            task.of_groups(target, None, "sum", count)
        })?;
        return Ok(Variable::matrix(sums));
    }
    let groups = groups(&columns, count)?;
    let values: Vec<f64> = match function {
        GroupFunction::Sum => groups.iter().map(|group| group.sum).collect(),
        GroupFunction::Count => groups.iter().map(|group| group.weight).collect(),
        GroupFunction::Mean => groups.iter().map(Group::mean).collect(),
        GroupFunction::Min => extremes(&columns, &groups, "min", count)?,
        GroupFunction::Max => extremes(&columns, &groups, "max", count)?,
        GroupFunction::Variance => deviations(&columns, &groups, 2.0, |power, weight| {
            power / (weight - 1.0)
        })?,
        GroupFunction::CentralMoment(order) => {
            deviations(&columns, &groups, power(order)?, |power, weight| {
                power / weight
            })?
        }
    };
    MatrixBlock::dense(values.len(), 1, values).map(Variable::matrix)
}

/// What the first pass finds of a group.
struct Group {
    members: f64,
    weight: f64,
    sum: f64,
}

impl Group {
    /// 0 where nobody is in it.
    fn mean(&self) -> f64 {
        match self.members == 0.0 {
            true => 0.0,
            false => self.sum / self.weight,
        }
    }
}

fn groups(columns: &Columns, count: u64) -> Result<Vec<Group>> {
    let found = columns.combined(&Combine::Sum, |task| {
        let (target, weights) = (task.column("target")?, task.given_weights());
        let of_groups = vec![
            task.of_groups(target, None, "count", count)?,
            task.of_groups(target, weights, "count", count)?,
            task.of_groups(target, weights, "sum", count)?,
        ];
        Ok(task.side_by_side(of_groups))
    })?;
    let group = |row| Group {
        members: found.get(row, 0),
        weight: found.get(row, 1),
        sum: found.get(row, 2),
    };
    Ok((0..found.rows()).map(group).collect())
}

/// The smallest or largest value of each group; 0 where nobody is in it.
fn extremes(columns: &Columns, groups: &[Group], function: &str, count: u64) -> Result<Vec<f64>> {
    let (combine, neutral) = match function {
        "min" => (Combine::Min, f64::INFINITY),
        _ => (Combine::Max, f64::NEG_INFINITY),
    };
    let found = columns.combined(&combine, |task| {
        let (target, weights) = (task.column("target")?, task.given_weights());
        let members = task.of_groups(target, None, "count", count)?;
        let extreme = task.of_groups(target, weights, function, count)?;
        let neutral = task.number(neutral);
        Ok(task.if_else(members, extreme, neutral))
    })?;
    let extreme = |(row, group): (usize, &Group)| match group.members == 0.0 {
        true => 0.0,
        false => found.get(row, 0),
    };
    Ok(groups.iter().enumerate().map(extreme).collect())
}

/// A function of the weighted sum of powers of deviations from the group's mean and of its weight; 0 of groups with
/// less than two members.
fn deviations(
    columns: &Columns,
    groups: &[Group],
    power: f64,
    function: impl Fn(f64, f64) -> f64,
) -> Result<Vec<f64>> {
    let groups_count = groups.len() as u64;
    // Each row meets the means of all groups, all but its own with a factor of 0: one that is not finite must not spoil others.
    let finite = |mean: f64| if mean.is_finite() { mean } else { 0.0 };
    let means = groups.iter().map(|group| finite(group.mean()));
    let means: Vec<f64> = means.collect();
    let means = Variable::matrix(MatrixBlock::dense(groups.len(), 1, means)?);
    let sums = columns.combined_with(&Combine::Sum, &means, |task, means| {
        let (target, groups) = (task.column("target")?, task.column("groups")?);
        // Rows of no group are in one behind the last, which the table drops.
        let (first, behind) = (task.number(1.0), task.number(groups_count as f64 + 1.0));
        let from_first = task.greater_equal(groups, first);
        let to_last = task.less(groups, behind);
        let is_group = task.times(from_first, to_last);
        let groups = task.if_else(is_group, groups, behind);
        let groups = task.floor(groups);
        // A row of the table has a 1 in the place of its group: the product is the mean of each row's group.
        let (one, rows) = (task.int(1), task.rows_in(target));
        let count = task.int(groups_count);
        let numbers = task.sequence(one, rows, one);
        let table = task.table(vec![numbers, groups, one, rows, count]);
        let means = task.product(table, means);
        let deviations = task.minus(target, means);
        let power = task.number(power);
        let powers = task.power(deviations, power);
        let weights = task.given_weights();
        task.of_groups(powers, weights, "sum", groups_count)
    })?;
    let value = |(row, group): (usize, &Group)| match group.members <= 1.0 {
        true => 0.0,
        false if !group.mean().is_finite() => f64::NAN,
        false => function(sums.get(row, 0), group.weight),
    };
    Ok(groups.iter().enumerate().map(value).collect())
}

/// # Errors
/// `runtime`, for a group below 1.
fn largest_group(columns: &Columns) -> Result<u64> {
    let combine = Combine::ByRow(vec![Combine::Max, Combine::Sum]);
    let found = columns.combined(&combine, |task| {
        let groups = task.column("groups")?;
        let one = task.number(1.0);
        let is_group = task.greater_equal(groups, one);
        let is_none = task.minus(one, is_group);
        let rows = vec![
            task.maxima_of_columns(groups),
            task.sums_of_columns(is_none),
        ];
        Ok(task.stacked(rows))
    })?;
    let (largest, none) = (found.get(0, 0), found.get(1, 0));
    match none == 0.0 && largest < isize::MAX as f64 / 16.0 {
        true => Ok(largest.floor() as u64),
        false => Err(Error::runtime(format!(
            "aggregate needs groups from 1 on, and {none} rows have none of them (the largest is {largest})"
        ))),
    }
}

/// # Errors
/// `memory`, where tasks could not send what there is of all groups.
fn check_groups_fit(workers: &Workers, count: u64, width: u64) -> Result<()> {
    let bytes = count.saturating_mul(width.max(3)).saturating_mul(8);
    let limit = workers.through_driver();
    match bytes > limit {
        true => Err(Error::memory(format!(
            "aggregates of {count} groups take {bytes} bytes, and what every task sends and gets may have {limit}"
        ))
        .with_help("raise fulgurite.memory.local and fulgurite.memory.broadcast")),
        false => Ok(()),
    }
}

/// # Errors
/// `argument`, for moments that there are none of.
fn power(order: i64) -> Result<f64> {
    match order {
        2..=4 => Ok(order as f64),
        _ => Err(Error::argument(format!(
            "moments are of order 2, 3 or 4, not {order}"
        ))),
    }
}

fn number(operator: &Operator, inputs: &[Variable], name: &str) -> Result<f64> {
    scalar::number(named(operator, inputs, name)?.as_scalar()?)
}

fn quotient(sums: &[f64], dividend: usize, divisor: usize) -> Result<f64> {
    match (sums.get(dividend), sums.get(divisor)) {
        (Some(dividend), Some(divisor)) => Ok(dividend / divisor),
        _ => Err(Error::internal("a statistic lacks one of its sums")),
    }
}

fn double(value: f64) -> Variable {
    Variable::Scalar(Literal::Double(value))
}
