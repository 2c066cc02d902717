//! From a row-wise operator and its inputs to a primitive: brings inputs to the stripes, broadcasts the rest,
//! and builds the task.

use fulgurite_dataflow::{
    Assemble, Combine, DistributedMatrix, Form, LargeProduct, LocalMatrix, Pieces, Variable, Whole,
};
use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CPlan, CellTemplate, Template};
use fulgurite_hop::{Characteristics, Formulas, HopOp};
use fulgurite_matrix::{MatrixBlock, kernels};
use fulgurite_worker::moments;

use super::{
    compositions::OuterRanges,
    form::form,
    large_product::{Workforce, large_product},
    operand::Operand,
    operator::{Operator, aggregate_value},
    registry::{self, ONLY_FUSED},
    row_wise::{Finish, Output, Partial, RowWise, Slot},
    task_builder::TaskBuilder,
    workers::Workers,
};

impl Workers<'_> {
    /// Runs the operator, cut as `cut` says, and tells in what form. Results by rows stay on the workers, aggregates come back.
    ///
    /// # Errors
    /// `memory`, when an input that every task needs whole is too large to send; of the backend.
    pub fn run(
        &self,
        operator: &Operator,
        cut: &RowWise,
        inputs: &[Variable],
    ) -> Result<(Variable, Form)> {
        let lead = self.lead(operator, cut, inputs)?;
        let operands = Operand::all(inputs, &lead);
        let of = &operator.hop.op;
        if let ([left_slot, _], [left, right], true) = (&cut.inputs[..], inputs, of.is_product()) {
            let is_large = *left_slot == Slot::Rows
                && operands
                    .last()
                    .is_some_and(|right| right.is_too_large_to_send(self.config));
            if (is_large || *left_slot == Slot::Columns)
                && let Some(selected) = self.selected_rows(operator, left, right)?
            {
                return Ok((selected, Form::of_selection()));
            }
        }
        let result_bytes = operator.hop.characteristics.memory_bytes();
        let result_bytes = result_bytes.filter(|_| operator.hop.is_matrix());
        let product = self.large_product_form(of, cut, &operands)?;
        let known = (&operands[..], product);
        let form = form(operator.plan, cut, known, result_bytes, self.config);
        let value = match (product, inputs) {
            (Some(product), [left, right]) => self.large_product(product, operator, left, right)?,
            _ => self.run_in_form(operator, cut, inputs, &lead, &operands)?,
        };
        Ok((value, form))
    }

    fn large_product_form(
        &self,
        op: &HopOp,
        cut: &RowWise,
        operands: &[Operand],
    ) -> Result<Option<LargeProduct>> {
        let size = |place: usize| operands.get(place).map(|operand| operand.characteristics);
        let (rows, cols) = (
            size(0).and_then(|left| left.rows),
            size(1).and_then(|right| right.cols),
        );
        let result = Characteristics::new(rows, cols, None);
        let workforce = || Workforce::of(self);
        large_product(op, cut, operands, result, self.config, workforce)
    }

    fn run_in_form(
        &self,
        operator: &Operator,
        cut: &RowWise,
        inputs: &[Variable],
        lead: &DistributedMatrix,
        operands: &[Operand],
    ) -> Result<Variable> {
        if let Some(ranges) = OuterRanges::of(self, operator, inputs, operands)? {
            return ranges.run(cut, lead);
        }
        let mut builder = TaskBuilder::new(self, lead);
        builder.left_transposed = operator.left_transposed;
        let mut operands = Vec::new();
        for (slot, input) in cut.inputs.iter().zip(inputs) {
            operands.push(builder.bind(*slot, input)?);
        }
        let mut hop = operator.hop.clone();
        hop.characteristics = match hop.is_scalar() {
            true => Characteristics::SCALAR,
            false => Characteristics::UNKNOWN,
        };
        let mut plan = operator.plan.cloned();
        let mut moments = false;
        if let Output::Aggregate { partial, .. } = &cut.output {
            match partial {
                Partial::Same => {}
                Partial::Operator(op) => hop.op = op.clone(),
                Partial::Plan(other) => plan = Some(other.clone()),
                Partial::Moments => moments = true,
            }
        }
        if plan.is_some() {
            hop.op = ONLY_FUSED;
        }
        // A product by columns is one of a transposed stripe, which is never moved.
        for (operand, slot) in operands.iter_mut().zip(&cut.inputs) {
            if *slot == Slot::Columns {
                *operand = builder.transposed(*operand);
            }
        }
        builder.is_cell_wise = is_cell_wise(&hop.op, plan.as_ref());
        let root = match (moments, operands.first()) {
            (true, Some(stripe)) => moments::of_stripe(&mut builder.dag, *stripe),
            _ => {
                hop.inputs = operands;
                builder.dag.push(hop)
            }
        };
        builder.plan = plan;

        let rows = lead.stripes.rows;
        match &cut.output {
            Output::Rows => {
                let dataset = builder.map(root, operator.label)?;
                let Characteristics { cols, nnz, .. } = operator.hop.characteristics;
                let stripes = Characteristics::new(rows, cols, nnz);
                Ok(Variable::Distributed(DistributedMatrix::new(
                    dataset, stripes,
                )))
            }
            Output::Aggregate {
                combine: combine @ Combine::Sum,
                finish: Finish::Nothing,
                ..
            } if self.is_too_large_for_driver(operator.hop) => {
                let every = self.config.blocksize;
                let pieces = Pieces::Rows {
                    every,
                    skip_zeros: true,
                };
                let targets = operator.hop.rows().unwrap_or(every).div_ceil(every);
                let assemble = Assemble::Combined(combine.clone());
                let stripes = builder.shuffle(root, pieces, targets, assemble, operator.label)?;
                Ok(Variable::Distributed(self.placed(&stripes)?))
            }
            Output::Aggregate {
                combine, finish, ..
            } => {
                let parts = builder.aggregate(root, combine, operator.label)?;
                let result = finished(parts, *finish, lead.stripes)?;
                aggregate_value(operator.hop, result)
            }
        }
    }

    /// The distributed input that gives tasks their stripes: the largest one, of several that to whose stripes most inputs
    /// are cut already. Else the largest local one that is cut, after cutting it.
    fn lead(
        &self,
        operator: &Operator,
        cut: &RowWise,
        inputs: &[Variable],
    ) -> Result<DistributedMatrix> {
        let cells = |input: &Variable| input.characteristics().cells().unwrap_or(u64::MAX);
        let cut_alike = |input: &Variable| {
            match input {
            Variable::Distributed(matrix) => inputs
                .iter()
                .filter(|other| matches!(other, Variable::Distributed(other) if other.dataset.is_cut_as(&matrix.dataset)))
                .count(),
            _ => 0,
        }
        };
        let (slot, input) = cut
            .inputs
            .iter()
            .zip(inputs)
            .filter(|(slot, _)| matches!(slot, Slot::Rows | Slot::Columns))
            .filter(|(_, input)| !input.is_scalar())
            .max_by_key(|(_, input)| (input.is_distributed(), cells(input), cut_alike(input)))
            .ok_or_else(|| Error::internal("an operator without a matrix was to be distributed"))?;
        match input.whole()? {
            Whole::Distributed(matrix) => self.lying(matrix, *slot == Slot::Columns),
            Whole::Matrix(matrix) if *slot == Slot::Columns && !operator.left_transposed => {
                let transposed = LocalMatrix::new(kernels::transpose(matrix.block())?);
                self.striped(&transposed)
            }
            Whole::Matrix(matrix) => self.striped(matrix),
            Whole::Scalar(_) => Err(Error::internal("scalars were filtered out")),
        }
    }
}

/// Whether each cell of the result is computed from one of each input.
fn is_cell_wise(op: &HopOp, plan: Option<&CPlan>) -> bool {
    match plan {
        Some(plan) => matches!(
            plan.template,
            Template::Cell(CellTemplate {
                aggregate: None,
                ..
            })
        ),
        None => registry::is_cell_wise(op),
    }
}

fn finished(parts: MatrixBlock, finish: Finish, stripes: Characteristics) -> Result<MatrixBlock> {
    let count = match finish {
        Finish::Nothing => return Ok(parts),
        Finish::Variance { direction, root } => {
            return moments::variances(&parts, direction, root);
        }
        Finish::DivideByRows => stripes.rows,
        Finish::DivideByCells => stripes.cells(),
    };
    let count = count.ok_or_else(|| Error::internal("a mean over an unknown number of cells"))?;
    kernels::unary(&parts, |sum| sum / count as f64)
}
