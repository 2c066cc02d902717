//! Operators that move rows, or need more than one pass: compositions of several dataflow primitives.
//!
//! [`Workers::compose`] runs them; the registry says which operators have one. A result that is still distributed
//! stays so: whether it comes to the driver is decided where its size is known.

mod columns;
mod cumulative;
mod diagonal;
mod generate;
mod order;
mod order_statistics;
mod outer_ranges;
mod parts;
mod product;
mod range_sort;
mod remove_empty;
mod reshape;
mod routes;
mod rows;
mod selection;
mod slices;
mod statistics;
mod table;
mod transposed;

use std::collections::BTreeMap;

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};

use super::{
    operator::Operator,
    registry::{Composition, Statistic},
    workers::Workers,
};
pub(super) use outer_ranges::{OuterRanges, column_ranges};
pub use rows::{IndexedPart, indexed};

impl Workers<'_> {
    /// Runs the operator as a composition of primitives.
    ///
    /// # Errors
    /// Of the operator, as it has them locally; `memory`, where something that has to come to the driver or to be
    /// sent to all workers is too large; of the backend.
    pub fn compose(
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
            Composition::Triangle(op) => diagonal::triangle(self, operator, op, inputs),
            Composition::Statistic(statistic) => statistic.run(self, operator, inputs),
            Composition::Table => table::table(self, operator, inputs),
            Composition::Fill => generate::fill(self, operator, inputs),
            Composition::Generate { seed } => generate::generate(self, operator, seed, inputs),
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
    let named = operator.hop.op.with_named_inputs();
    named.map_or(&NONE, |(_, places)| places)
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
