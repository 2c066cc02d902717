//! From a row-wise operator and its inputs to a primitive: brings inputs to the stripes, broadcasts the rest,
//! and builds the task.

use std::{collections::BTreeMap, sync::Arc};

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::CPlan;
use fulgurite_hop::{
    Characteristics, Dag, Hop, HopId, HopOp, Literal, SizeOp, ValueType, json::to_json,
};
use fulgurite_matrix::{MatrixBlock, kernels};

use super::{
    Broadcast, Dataset, DistributedMatrix, Partitioning, RowWise,
    handles::{Lineage, incomplete},
    row_wise::{Finish, Output, Partial, Slot},
};
use crate::{
    Config,
    dataflow::{Backend, BroadcastBinding, BroadcastId, Primitive, Task},
    interpreter::{LocalMatrix, Variable},
};

/// An operator to run on the workers.
pub(crate) struct Operator<'a> {
    pub(crate) hop: &'a Hop,
    pub(crate) plan: Option<&'a CPlan>,
    pub(crate) label: &'a str,
    /// A product's left operand is given as its transpose.
    pub(crate) left_transposed: bool,
}

/// The workers, as the control program sees them.
pub(crate) struct Workers<'a> {
    pub(crate) backend: &'a Arc<dyn Backend>,
    pub(crate) config: &'a Config,
}

impl Workers<'_> {
    /// Runs the operator, cut as `cut` says. Results by rows stay on the workers, aggregates come back.
    ///
    /// # Errors
    /// `memory`, when an input that every task needs whole is too large to send; of the backend.
    pub(crate) fn run(
        &self,
        operator: &Operator,
        cut: &RowWise,
        inputs: &[Variable],
    ) -> Result<Variable> {
        let lead = self.lead(operator, cut, inputs)?;
        let mut builder = TaskBuilder::new(self, &lead, operator.left_transposed);
        let mut operands = Vec::with_capacity(inputs.len());
        for (slot, input) in cut.inputs.iter().zip(inputs) {
            operands.push(builder.bind(*slot, input)?);
        }
        let position = operator.hop.position.as_ref();
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
            hop.op = HopOp::Fused(0);
        }
        // A product by columns is one of a transposed stripe, which is never moved.
        for (operand, slot) in operands.iter_mut().zip(&cut.inputs) {
            if *slot == Slot::Columns {
                let transpose = Hop::matrix(HopOp::Transpose, vec![*operand]);
                *operand = builder.dag.push(transpose);
            }
        }
        let root = match (moments, operands.first()) {
            (true, Some(stripe)) => super::moments::of_stripe(&mut builder.dag, *stripe),
            _ => {
                hop.inputs = operands;
                builder.dag.push(hop)
            }
        };
        builder.dag.roots = vec![root];

        let rows = lead.stripes.rows;
        let (task, stripes, broadcasts, lineage) = builder.finish(plan, operator.label.to_owned());
        match &cut.output {
            Output::Rows => {
                let map = Primitive::MapPartitions {
                    inputs: stripes,
                    broadcasts,
                    task,
                };
                let reply = self.backend.apply(&map, None)?;
                let Characteristics { cols, nnz, .. } = operator.hop.characteristics;
                Ok(Variable::Distributed(DistributedMatrix {
                    dataset: Dataset::new(
                        &reply,
                        lead.dataset.partitioning,
                        self.backend,
                        lineage,
                    )?,
                    stripes: Characteristics::new(rows, cols, nnz),
                    transposed: false,
                }))
            }
            Output::Aggregate {
                combine, finish, ..
            } => {
                let aggregate = Primitive::MapAggregate {
                    inputs: stripes,
                    broadcasts,
                    task,
                    combine: combine.clone(),
                };
                let reply = self.backend.apply(&aggregate, None)?;
                let parts = reply.payload.ok_or_else(|| incomplete("mapAggregate"))?;
                let result = finished(parts, *finish, lead.stripes)?;
                if !operator.hop.is_scalar() {
                    return Ok(Variable::matrix(result));
                }
                if (result.rows(), result.cols()) != (1, 1) {
                    let error = Error::internal("a full aggregate gave more than one cell");
                    return Err(error.at_option(position));
                }
                Ok(Variable::Scalar(Literal::Double(result.get(0, 0))))
            }
        }
    }

    /// The distributed input that gives tasks their stripes: the largest one, else the largest local one
    /// that is cut, after cutting it.
    fn lead(
        &self,
        operator: &Operator,
        cut: &RowWise,
        inputs: &[Variable],
    ) -> Result<DistributedMatrix> {
        let cells = |input: &Variable| input.characteristics().cells().unwrap_or(u64::MAX);
        let (slot, input) = cut
            .inputs
            .iter()
            .zip(inputs)
            .filter(|(slot, _)| matches!(slot, Slot::Rows | Slot::Columns))
            .filter(|(_, input)| !input.is_scalar())
            .max_by_key(|(_, input)| (input.is_distributed(), cells(input)))
            .ok_or_else(|| Error::internal("an operator without a matrix was to be distributed"))?;
        match input {
            Variable::Distributed(matrix) => Ok(matrix.clone()),
            Variable::Matrix(matrix) if *slot == Slot::Columns && !operator.left_transposed => {
                let transposed = LocalMatrix::new(kernels::transpose(matrix.block())?);
                self.striped(&transposed)
            }
            Variable::Matrix(matrix) => self.striped(matrix),
            Variable::Scalar(_) => Err(Error::internal("scalars were filtered out")),
        }
    }

    fn striped(&self, matrix: &LocalMatrix) -> Result<DistributedMatrix> {
        let dataset = matrix.striped(|block| {
            let parallelize = Primitive::Parallelize {
                stripe_rows: self.config.blocksize,
            };
            let reply = self.backend.apply(&parallelize, Some(block))?;
            Dataset::new(&reply, Partitioning::fresh(), self.backend, Vec::new())
        })?;
        Ok(DistributedMatrix {
            dataset,
            stripes: matrix.characteristics(),
            transposed: false,
        })
    }

    /// # Errors
    /// `memory`, when the matrix is larger than what may be broadcast.
    fn broadcast(&self, matrix: &LocalMatrix) -> Result<Arc<Broadcast>> {
        let bytes = matrix.block().memory_bytes() as u64;
        if bytes > self.config.memory_broadcast {
            return Err(Error::memory(format!(
                "every task needs a whole {} x {} matrix of {bytes} bytes, and broadcasts may have {}",
                matrix.block().rows(),
                matrix.block().cols(),
                self.config.memory_broadcast
            ))
            .with_help("raise fulgurite.memory.broadcast"));
        }
        matrix.broadcast(|block| Broadcast::send(self.backend, block))
    }
}

fn finished(parts: MatrixBlock, finish: Finish, stripes: Characteristics) -> Result<MatrixBlock> {
    let count = match finish {
        Finish::Nothing => return Ok(parts),
        Finish::Variance { direction, root } => {
            return super::moments::variances(&parts, direction, root);
        }
        Finish::DivideByRows => stripes.rows,
        Finish::DivideByCells => stripes.cells(),
    };
    let count = count.ok_or_else(|| Error::internal("a mean over an unknown number of cells"))?;
    kernels::unary(&parts, |sum| sum / count as f64)
}

/// Gathers what a task reads.
struct TaskBuilder<'a> {
    workers: &'a Workers<'a>,
    lead: &'a DistributedMatrix,
    left_transposed: bool,
    dag: Dag,
    stripes: Vec<(Arc<Dataset>, HopId)>,
    broadcasts: Vec<(Arc<Broadcast>, bool, HopId)>,
    scalars: BTreeMap<String, Literal>,
    /// Local matrices that were transposed for this task.
    transposed: Vec<(LocalMatrix, LocalMatrix)>,
}

impl<'a> TaskBuilder<'a> {
    fn new(workers: &'a Workers<'a>, lead: &'a DistributedMatrix, left_transposed: bool) -> Self {
        let mut builder = TaskBuilder {
            workers,
            lead,
            left_transposed,
            dag: Dag::new(),
            stripes: Vec::new(),
            broadcasts: Vec::new(),
            scalars: BTreeMap::new(),
            transposed: Vec::new(),
        };
        builder.stripe(&lead.dataset);
        builder
    }

    /// The HOP by which the task reads an input.
    fn bind(&mut self, slot: Slot, input: &Variable) -> Result<HopId> {
        match (slot, input) {
            (Slot::FirstRow, _) => Ok(self.dag.push(Hop::literal(Literal::Int(1)))),
            (Slot::LastRow, _) => {
                let stripe = self.stripe(&self.lead.dataset);
                let rows = Hop::scalar(HopOp::Size(SizeOp::NRow), vec![stripe], ValueType::Int);
                Ok(self.dag.push(rows))
            }
            (_, Variable::Scalar(value)) => Ok(self.scalar(value)),
            (Slot::Rows | Slot::Columns, Variable::Distributed(matrix)) => {
                let aligned = matrix.dataset.align_to(&self.lead.dataset)?;
                Ok(self.stripe(&aligned))
            }
            (Slot::Rows, Variable::Matrix(matrix)) => self.rows_of(matrix),
            (Slot::Columns, Variable::Matrix(matrix)) if self.left_transposed => {
                self.rows_of(matrix)
            }
            (Slot::Columns, Variable::Matrix(matrix)) => {
                let transposed = self.transposed(matrix)?;
                self.rows_of(&transposed)
            }
            (Slot::Whole, Variable::Matrix(matrix)) => {
                let broadcast = self.workers.broadcast(matrix)?;
                Ok(self.broadcast(broadcast, false))
            }
            (Slot::Whole, Variable::Distributed(matrix)) => self.whole(matrix),
            (Slot::Scalar, _) => self.bind(Slot::Whole, input),
        }
    }

    /// A local matrix of which each task sees its stripe's rows.
    fn rows_of(&mut self, matrix: &LocalMatrix) -> Result<HopId> {
        let bytes = matrix.block().memory_bytes() as u64;
        if matrix.block().rows() as u64 > 1 && bytes > self.workers.config.memory_broadcast {
            let striped = self.workers.striped(matrix)?;
            let aligned = striped.dataset.align_to(&self.lead.dataset)?;
            return Ok(self.stripe(&aligned));
        }
        let broadcast = self.workers.broadcast(matrix)?;
        Ok(self.broadcast(broadcast, true))
    }

    /// A distributed matrix that every task needs whole travels through the driver, if it fits there.
    fn whole(&mut self, matrix: &DistributedMatrix) -> Result<HopId> {
        let config = self.workers.config;
        let limit = config.memory_broadcast.min(config.memory_local);
        let bytes = matrix.stripes.memory_bytes();
        if bytes.is_none_or(|bytes| bytes > limit) {
            return Err(Error::memory(format!(
                "every task needs the whole of a distributed matrix {}, which may be sent up to {limit} bytes",
                matrix.characteristics()
            ))
            .with_help("raise fulgurite.memory.broadcast and fulgurite.memory.local"));
        }
        let collected = matrix.collect()?;
        let broadcast = self.workers.broadcast(&collected)?;
        Ok(self.broadcast(broadcast, false))
    }

    fn transposed(&mut self, matrix: &LocalMatrix) -> Result<LocalMatrix> {
        if let Some((_, transposed)) = self.transposed.iter().find(|(from, _)| from.is(matrix)) {
            return Ok(transposed.clone());
        }
        let transposed = LocalMatrix::new(kernels::transpose(matrix.block())?);
        self.transposed.push((matrix.clone(), transposed.clone()));
        Ok(transposed)
    }

    fn stripe(&mut self, dataset: &Arc<Dataset>) -> HopId {
        if let Some((_, id)) = self
            .stripes
            .iter()
            .find(|(known, _)| known.id == dataset.id)
        {
            return *id;
        }
        let id = self.read(format!("stripe{}", self.stripes.len()));
        self.stripes.push((Arc::clone(dataset), id));
        id
    }

    fn broadcast(&mut self, broadcast: Arc<Broadcast>, rows_of_stripe: bool) -> HopId {
        let known = self
            .broadcasts
            .iter()
            .find(|(known, rows, _)| known.id == broadcast.id && *rows == rows_of_stripe);
        if let Some((_, _, id)) = known {
            return *id;
        }
        let id = self.read(format!("broadcast{}", self.broadcasts.len()));
        self.broadcasts.push((broadcast, rows_of_stripe, id));
        id
    }

    fn scalar(&mut self, value: &Literal) -> HopId {
        let name = format!("scalar{}", self.scalars.len());
        self.scalars.insert(name.clone(), value.clone());
        let op = HopOp::TransientRead(name);
        self.dag
            .push(Hop::scalar(op, Vec::new(), value.value_type()))
    }

    fn read(&mut self, name: String) -> HopId {
        self.dag
            .push(Hop::matrix(HopOp::TransientRead(name), Vec::new()))
    }

    fn finish(
        self,
        plan: Option<CPlan>,
        label: String,
    ) -> (
        Task,
        Vec<crate::dataflow::DatasetId>,
        Vec<BroadcastId>,
        Vec<Lineage>,
    ) {
        let variable = |id: HopId| match &self.dag.hop(id).op {
            HopOp::TransientRead(name) => name.clone(),
            other => other.code(),
        };
        let task = Task {
            dag: to_json(&self.dag),
            plans: plan.into_iter().collect(),
            stripes: self.stripes.iter().map(|(_, id)| variable(*id)).collect(),
            broadcasts: self
                .broadcasts
                .iter()
                .map(|(_, rows_of_stripe, id)| BroadcastBinding {
                    variable: variable(*id),
                    rows_of_stripe: *rows_of_stripe,
                })
                .collect(),
            scalars: self.scalars,
            label,
        };
        let datasets = self.stripes.iter().map(|(dataset, _)| dataset.id).collect();
        let broadcasts = self
            .broadcasts
            .iter()
            .map(|(broadcast, ..)| broadcast.id)
            .collect();
        let lineage = self
            .stripes
            .into_iter()
            .map(|(dataset, _)| Lineage::Dataset(dataset))
            .chain(
                self.broadcasts
                    .into_iter()
                    .map(|(broadcast, ..)| Lineage::Broadcast(broadcast)),
            )
            .collect();
        (task, datasets, broadcasts, lineage)
    }
}
