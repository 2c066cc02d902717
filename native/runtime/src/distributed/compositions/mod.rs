//! Operators that move rows, or need more than one pass: compositions of several dataflow primitives.
//!
//! [`composition`] says which operators have one; [`Workers::compose`] runs it. A result that is still distributed
//! stays so: whether it comes to the driver is decided where its size is known.

mod columns;
mod cumulative;
mod diagonal;
mod generate;
mod order;
mod order_statistics;
mod product;
mod range_sort;
mod remove_empty;
mod reshape;
mod rows;
mod slices;
mod statistics;
mod table;
mod transposed;

use std::collections::BTreeMap;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{AggregateOp, CumulativeOp, DataGenOp, HopOp, Literal, ParameterizedOp};

pub(crate) use self::slices::Cut;
use super::{Operator, Workers, row_wise::InputFacts};
use crate::interpreter::Variable;

/// An operator that runs on the workers as a composition of primitives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Composition {
    RowRange,
    LeftIndex,
    RBind,
    Cumulative(CumulativeOp),
    RemoveEmpty,
    Rev,
    Order,
    Diag,
    Reshape { by_row: bool },
    Trace,
    Triangle,
    Statistic(Statistic),
    Table,
    Generate(DataGenOp),
}

/// A statistic of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistic {
    CentralMoment,
    Covariance,
    Median,
    Quantile,
    InterQuartileMean,
    GroupedAggregate,
}

/// The composition of an operator that can't be cut by rows; `None` where there is none.
pub(crate) fn composition(op: &HopOp, inputs: &[InputFacts]) -> Option<Composition> {
    let matrix = |place: usize| inputs.get(place).is_some_and(|input| !input.is_scalar());
    match op {
        HopOp::RightIndex if matrix(0) => Some(Composition::RowRange),
        HopOp::LeftIndex if matrix(0) => Some(Composition::LeftIndex),
        HopOp::RBind if (0..inputs.len()).all(matrix) => Some(Composition::RBind),
        HopOp::Cumulative(op) => Some(Composition::Cumulative(*op)),
        HopOp::Rev => Some(Composition::Rev),
        HopOp::Diag => Some(Composition::Diag),
        HopOp::Reshape { by_row } => Some(Composition::Reshape { by_row: *by_row }),
        HopOp::Table if (0..3).any(matrix) => Some(Composition::Table),
        HopOp::Parameterized(ParameterizedOp::RemoveEmpty, _) => Some(Composition::RemoveEmpty),
        HopOp::Parameterized(ParameterizedOp::Order, _) => Some(Composition::Order),
        HopOp::Parameterized(ParameterizedOp::LowerTri | ParameterizedOp::UpperTri, _) => {
            Some(Composition::Triangle)
        }
        HopOp::Parameterized(op, _) => statistic(*op).map(Composition::Statistic),
        HopOp::Aggregate(AggregateOp::Trace, _) => Some(Composition::Trace),
        HopOp::DataGen(DataGenOp::Fill) if is_text(inputs.first()) => None,
        HopOp::DataGen(op @ (DataGenOp::Fill | DataGenOp::Seq | DataGenOp::Rand)) => {
            Some(Composition::Generate(*op))
        }
        _ => None,
    }
}

fn statistic(op: ParameterizedOp) -> Option<Statistic> {
    Some(match op {
        ParameterizedOp::Moment => Statistic::CentralMoment,
        ParameterizedOp::Cov => Statistic::Covariance,
        ParameterizedOp::Median => Statistic::Median,
        ParameterizedOp::Quantile => Statistic::Quantile,
        ParameterizedOp::InterQuartileMean => Statistic::InterQuartileMean,
        ParameterizedOp::GroupedAggregate => Statistic::GroupedAggregate,
        _ => return None,
    })
}

/// The cells of a matrix as a text.
fn is_text(input: Option<&InputFacts>) -> bool {
    input.is_some_and(|input| matches!(input.scalar, Some(Literal::String(_))))
}

impl Workers<'_> {
    /// Runs the operator as a composition of primitives.
    ///
    /// # Errors
    /// Of the operator, as it has them locally; `memory`, where something that has to come to the driver or to be
    /// sent to all workers is too large; of the backend.
    pub(crate) fn compose(
        &self,
        composition: Composition,
        operator: &Operator,
        inputs: &[Variable],
    ) -> Result<Variable> {
        match composition {
            Composition::RowRange => rows::right_index(self, operator, inputs),
            Composition::LeftIndex => rows::left_index(self, operator, inputs),
            Composition::RBind => rows::rbind(self, operator, inputs),
            Composition::Cumulative(op) => cumulative::cumulative(self, operator, op, inputs),
            Composition::RemoveEmpty => {
                remove_empty::remove_empty(self, operator, places(operator), inputs)
            }
            Composition::Rev => order::rev(self, operator, inputs),
            Composition::Order => order::order(self, operator, places(operator), inputs),
            Composition::Diag => diagonal::diag(self, operator, inputs),
            Composition::Reshape { by_row } => reshape::reshape(self, operator, by_row, inputs),
            Composition::Trace => diagonal::trace(self, operator, inputs),
            Composition::Triangle => diagonal::triangle(self, operator, inputs),
            Composition::Statistic(statistic) => statistic.run(self, operator, inputs),
            Composition::Table => table::table(self, operator, inputs),
            Composition::Generate(op) => generate::generate(self, operator, op, inputs),
        }
    }
}

impl Statistic {
    fn run(self, workers: &Workers, operator: &Operator, inputs: &[Variable]) -> Result<Variable> {
        match self {
            Statistic::CentralMoment => statistics::central_moment(workers, operator, inputs),
            Statistic::Covariance => statistics::covariance(workers, operator, inputs),
            Statistic::Median => order_statistics::median(workers, operator, inputs),
            Statistic::Quantile => order_statistics::quantile(workers, operator, inputs),
            Statistic::InterQuartileMean => {
                order_statistics::interquartile_mean(workers, operator, inputs)
            }
            Statistic::GroupedAggregate => statistics::grouped_aggregate(workers, operator, inputs),
        }
    }
}

/// Where an operator with named inputs has them.
fn places<'a>(operator: &Operator<'a>) -> &'a BTreeMap<String, usize> {
    static NONE: BTreeMap<String, usize> = BTreeMap::new();
    match &operator.hop.op {
        HopOp::Parameterized(_, places) => places,
        _ => &NONE,
    }
}

fn named<'a>(operator: &Operator, inputs: &'a [Variable], name: &str) -> Result<&'a Variable> {
    let place = places(operator).get(name);
    place
        .and_then(|place| inputs.get(*place))
        .ok_or_else(|| Error::argument(format!("the parameter '{name}' is missing")))
}

fn input(inputs: &[Variable], place: usize) -> Result<&Variable> {
    inputs
        .get(place)
        .ok_or_else(|| Error::internal(format!("input {} is missing", place + 1)))
}

/// Sizes that are known of every matrix on the workers once it is there.
fn size(size: Option<u64>) -> Result<u64> {
    size.ok_or_else(|| Error::internal("a distributed matrix without a size"))
}
