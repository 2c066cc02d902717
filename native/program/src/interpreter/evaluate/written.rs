//! Operators on a matrix with parts that are not in their places: left indexing adds a part, right indexing sees those of
//! its range, all others see the whole matrix.

use fulgurite_dataflow::{Form, Part, PartValue, Variable, WrittenMatrix};
use fulgurite_distributed::{Composition, IndexedPart, PartsInRange, indexed, parts_in, put_here};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Hop, HopId};
use fulgurite_operators::Value;

use super::{Evaluation, bytes};
use crate::interpreter::written;

impl Evaluation<'_> {
    /// The value of left or right indexing of such a matrix. Any other operator, which gets `None`, finds whole matrices
    /// in its inputs.
    pub(super) fn on_written(
        &mut self,
        id: HopId,
        hop: &Hop,
        inputs: &mut Vec<Variable>,
    ) -> Result<Option<Variable>> {
        let is_written = |input: &Variable| matches!(input, Variable::Written(_));
        if !inputs.iter().any(is_written) {
            return Ok(None);
        }
        let op = &hop.op;
        let moves_value = op.variable_written().is_some() || op.size_asked().is_some();
        let is_indexed = op.writes_part() || op.is_part();
        let keeps_parts = |place: usize| moves_value || (is_indexed && place == 0);
        for (place, input) in inputs.iter_mut().enumerate() {
            if let Variable::Written(written) = input
                && !keeps_parts(place)
            {
                *input = written::whole(written, &self.context.session)?;
            }
        }
        let written = match inputs.first() {
            Some(Variable::Written(written)) if is_indexed => written.clone(),
            _ => return Ok(None),
        };
        let inputs = std::mem::take(inputs);
        let value = match op.writes_part() {
            true => self.write(id, written, inputs)?,
            false => self.read_range(id, hop, &written, inputs)?,
        };
        Ok(Some(value))
    }

    fn write(
        &mut self,
        id: HopId,
        mut into: WrittenMatrix,
        inputs: Vec<Variable>,
    ) -> Result<Variable> {
        let started = self.started();
        let IndexedPart { rows, cols, value } =
            IndexedPart::written(&inputs, into.characteristics())?;
        // The last owner writes in place.
        drop(inputs);
        let value = match value {
            Variable::Matrix(matrix) => {
                let held = Value::Matrix(matrix.block().clone());
                self.context.meter.note(|| bytes(&held));
                PartValue::Here(matrix)
            }
            distributed => {
                // Computed by the iteration, beside others, whose error it is if it fails.
                let mut matrix = self.workers()?.distributed(&distributed)?;
                matrix.persist()?;
                PartValue::There(matrix)
            }
        };
        let is_there = matches!(value, PartValue::There(_));
        into.write(Part { rows, cols, value })?;
        self.record(id, is_there, started);
        Ok(Variable::Written(into))
    }

    fn read_range(
        &mut self,
        id: HopId,
        hop: &Hop,
        of: &WrittenMatrix,
        mut inputs: Vec<Variable>,
    ) -> Result<Variable> {
        let started = self.started();
        let known = of.characteristics();
        let rows = indexed(&inputs, 1, known.rows, "row")?;
        let cols = indexed(&inputs, 3, known.cols, "column")?;
        let session = &self.context.session;
        let PartsInRange {
            mut parts,
            hides_base,
        } = parts_in(of, &rows, &cols, session.workers_if_any().as_ref())?;
        let before = match hides_base {
            true => match parts.remove(0).value {
                PartValue::Here(matrix) => Variable::Matrix(matrix),
                PartValue::There(matrix) => Variable::Distributed(matrix),
            },
            false => {
                let base = inputs.first_mut();
                let base = base.ok_or_else(|| Error::internal("an operator without inputs"))?;
                *base = of.base().clone();
                let value = self.on_matrices(id, hop, &mut inputs)?;
                if parts.is_empty() {
                    return Ok(value);
                }
                match value {
                    Variable::Range(range) => Variable::matrix(range.to_dense()?.into()),
                    other => other,
                }
            }
        };
        let session = &self.context.session;
        let value = match &before {
            Variable::Matrix(matrix) => put_here(matrix.block(), &parts)?,
            other => written::put(other, parts, session)?,
        };
        let form = Form::of_composition(Composition::RowRange.form());
        match value {
            Variable::Distributed(_) => self.settled(id, value, &form, started),
            here => {
                self.record(id, false, started);
                Ok(here)
            }
        }
    }
}
