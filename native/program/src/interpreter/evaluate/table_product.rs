//! Products with a table of a sequence and categories: a product that runs here reads the operands of the table, which is made
//! only if that does not do.

use fulgurite_dataflow::Variable;
use fulgurite_error::Result;
use fulgurite_hop::{Hop, HopId};
use fulgurite_operators::{Value, guarded_operator};

use super::{Evaluation, bytes, local};

impl Evaluation<'_> {
    /// Whether an operator is a table that its product may do without.
    pub(super) fn leaves_table_unmade(&self, id: HopId, inputs: &[Variable]) -> bool {
        self.plan.is_table_of_product(id)
            && inputs
                .iter()
                .all(|input| matches!(input, Variable::Matrix(_) | Variable::Scalar(_)))
    }

    /// The value of a product whose table was left unmade.
    pub(super) fn product_of_unmade_table(
        &mut self,
        id: HopId,
        hop: &Hop,
    ) -> Result<Option<Variable>> {
        let Some(table) = self.plan.table_left[id.index()] else {
            return Ok(None);
        };
        let place = self.unmade_tables.iter().position(|(of, _)| *of == table);
        let Some(place) = place else {
            return Ok(None);
        };
        let (_, mut operands) = self.unmade_tables.swap_remove(place);
        let right = self.take(self.plan.inputs[id.index()][1])?;
        if let Some(value) = self.without_table(id, &operands, &right)? {
            return Ok(Some(value));
        }
        let table_hop = self.plan.dag.hop(table);
        let made = || self.on_matrices(table, table_hop, &mut operands);
        let made = guarded_operator(table_hop, made)?;
        let mut inputs = vec![made, right];
        match self.on_written(id, hop, &mut inputs)? {
            None => self.on_matrices(id, hop, &mut inputs).map(Some),
            value => Ok(value),
        }
    }

    /// The product, where all is here, it fits, and the table is not needed.
    fn without_table(
        &mut self,
        id: HopId,
        operands: &[Variable],
        right: &Variable,
    ) -> Result<Option<Variable>> {
        let started = self.started();
        if !matches!(right, Variable::Matrix(_)) {
            return Ok(None);
        }
        let mut values: Vec<Value> = Vec::new();
        for operand in operands.iter().chain([right]) {
            values.push(local(operand.clone())?);
        }
        let held: u64 = values.iter().map(bytes).sum();
        let config = &self.context.session.config;
        let needed = held.saturating_add(self.plan.own_bytes(id).unwrap_or(0));
        if needed > config.memory_local && !self.context.session.in_task {
            return Ok(None);
        }
        let Some(right) = values.pop() else {
            return Ok(None);
        };
        let locally = self.here();
        let Some(value) = locally.table_product(self.plan, id, &values, &right)? else {
            return Ok(None);
        };
        let meter = &mut self.context.meter;
        meter.note(|| held.saturating_add(bytes(&value)));
        self.record(id, false, started);
        Ok(Some(value.into()))
    }
}
