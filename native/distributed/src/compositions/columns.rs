//! Column vectors of equal length, of which tasks compute something that combines to a small result.

use std::collections::BTreeMap;

use fulgurite_dataflow::{Combine, DistributedMatrix, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Dag, Formulas, HopId};
use fulgurite_matrix::MatrixBlock;

use crate::{operator::Operator, row_wise::Slot, task_builder::TaskBuilder, workers::Workers};

/// The named inputs of an operator that are column vectors.
pub(super) struct Columns<'a> {
    workers: &'a Workers<'a>,
    label: &'a str,
    lead: DistributedMatrix,
    inputs: BTreeMap<&'static str, &'a Variable>,
}

impl<'a> Columns<'a> {
    /// Those of `names` that the operator has.
    ///
    /// # Errors
    /// `dimension`, for anything but column vectors of one length.
    pub(super) fn new(
        workers: &'a Workers<'a>,
        operator: &Operator<'a>,
        inputs: &'a [Variable],
        names: &[&'static str],
    ) -> Result<Self> {
        let columns = Self::of_any_width(workers, operator, inputs, names)?;
        for column in columns.inputs.values() {
            let known = column.characteristics();
            if known.cols != Some(1) {
                return Err(Error::dimension(format!(
                    "a column vector is needed, not a {known} matrix"
                )));
            }
        }
        Ok(columns)
    }

    /// Those of `names` that the operator has, of any widths.
    ///
    /// # Errors
    /// `dimension`, for matrices with different numbers of rows.
    pub(super) fn of_any_width(
        workers: &'a Workers<'a>,
        operator: &Operator<'a>,
        inputs: &'a [Variable],
        names: &[&'static str],
    ) -> Result<Self> {
        let places = super::places(operator);
        let inputs: BTreeMap<&'static str, &Variable> = names
            .iter()
            .filter_map(|name| Some((*name, inputs.get(*places.get(*name)?)?)))
            .collect();
        let lead = inputs
            .values()
            .max_by_key(|input| (input.is_distributed(), input.characteristics().cells()))
            .ok_or_else(|| Error::internal("an operator lacks its column vectors"))?;
        let lead = workers.distributed(lead)?;
        for (name, input) in &inputs {
            let rows = input.characteristics().rows;
            if input.is_scalar() || rows != lead.stripes.rows {
                return Err(Error::dimension(format!(
                    "{name} is a {} matrix where one with {} rows is needed",
                    input.characteristics(),
                    super::size(lead.stripes.rows)?
                )));
            }
        }
        Ok(Columns {
            workers,
            label: operator.label,
            lead,
            inputs,
        })
    }

    /// What tasks compute, combined.
    pub(super) fn combined(
        &self,
        combine: &Combine,
        compute: impl FnOnce(&mut ColumnTask) -> Result<HopId>,
    ) -> Result<MatrixBlock> {
        let mut task = self.task()?;
        let root = compute(&mut task)?;
        task.builder.aggregate(root, combine, self.label)
    }

    /// What tasks compute from their rows and a matrix that all of them get.
    pub(super) fn combined_with(
        &self,
        combine: &Combine,
        whole: &Variable,
        compute: impl FnOnce(&mut ColumnTask, HopId) -> Result<HopId>,
    ) -> Result<MatrixBlock> {
        let mut task = self.task()?;
        let whole = task.builder.bind(Slot::Whole, whole)?;
        let root = compute(&mut task, whole)?;
        task.builder.aggregate(root, combine, self.label)
    }

    /// The sums of column vectors that tasks compute.
    pub(super) fn sums(
        &self,
        compute: impl FnOnce(&mut ColumnTask) -> Result<Vec<HopId>>,
    ) -> Result<Vec<f64>> {
        let sums = self.combined(&Combine::Sum, |task| {
            let columns = compute(task)?;
            let columns = task.side_by_side(columns);
            Ok(task.sums_of_columns(columns))
        })?;
        sums.to_dense()?.into_vec()
    }

    fn task(&self) -> Result<ColumnTask<'_>> {
        let mut builder = TaskBuilder::new(self.workers, &self.lead);
        let columns = self
            .inputs
            .iter()
            .map(|(name, input)| Ok((*name, builder.bind(Slot::Rows, input)?)))
            .collect::<Result<_>>()?;
        Ok(ColumnTask { builder, columns })
    }
}

/// A task that reads its stripe of the columns.
pub(super) struct ColumnTask<'a> {
    pub(super) builder: TaskBuilder<'a>,
    columns: BTreeMap<&'static str, HopId>,
}

impl ColumnTask<'_> {
    /// An input that the operator must have.
    pub(super) fn column(&self, name: &str) -> Result<HopId> {
        let column = self.columns.get(name).copied();
        column.ok_or_else(|| Error::argument(format!("the parameter '{name}' is missing")))
    }

    pub(super) fn given_weights(&self) -> Option<HopId> {
        self.columns.get("weights").copied()
    }

    /// The weights, or as many ones.
    pub(super) fn weights(&mut self) -> HopId {
        if let Some(weights) = self.given_weights() {
            return weights;
        }
        let stripe = self.builder.lead();
        let one = self.number(1.0);
        let (rows, cols) = (self.rows_in(stripe), self.int(1));
        self.filled(one, rows, cols)
    }

    /// An input times the weights, if there are any.
    pub(super) fn weighted(&mut self, name: &str) -> Result<HopId> {
        let column = self.column(name)?;
        Ok(self.times_weights(column))
    }

    /// A column times the weights, if there are any.
    pub(super) fn times_weights(&mut self, column: HopId) -> HopId {
        match self.given_weights() {
            Some(weights) => self.times(column, weights),
            None => column,
        }
    }

    /// An input less a number.
    pub(super) fn deviations(&mut self, name: &str, from: f64) -> Result<HopId> {
        let column = self.column(name)?;
        let from = self.number(from);
        Ok(self.minus(column, from))
    }

    /// `aggregate` of the stripe's rows.
    pub(super) fn of_groups(
        &mut self,
        target: HopId,
        weights: Option<HopId>,
        function: &str,
        count: u64,
    ) -> Result<HopId> {
        let groups = self.column("groups")?;
        Ok(self.by_group((target, groups), weights, function, count))
    }
}

impl Formulas for ColumnTask<'_> {
    fn dag(&mut self) -> &mut Dag {
        &mut self.builder.dag
    }
}
