//! What a task reads and computes, gathered while an operator is launched.

use std::{collections::BTreeMap, sync::Arc};

use fulgurite_dataflow::{
    Assemble, Broadcast, BroadcastBinding, BroadcastId, Combine, Dataset, DatasetId,
    DistributedMatrix, Lineage, LocalMatrix, OverBinding, Partitioning, Parts, Pieces, Primitive,
    Task, Variable, Whole, incomplete,
};
use fulgurite_error::Result;
use fulgurite_fusion::cplan::CPlan;
use fulgurite_hop::{Dag, Formulas, HopId, Literal, ValueType, json::to_json};
use fulgurite_matrix::{MatrixBlock, kernels};
use fulgurite_worker::{Packed, compensated};

use super::{row_wise::Slot, workers::Workers};

/// Gathers what a task reads, and launches it.
pub(super) struct TaskBuilder<'a> {
    workers: &'a Workers<'a>,
    lead: &'a DistributedMatrix,
    pub(super) left_transposed: bool,
    /// The result has a cell for each cell of the stripe, computed from that one alone.
    pub(super) is_cell_wise: bool,
    /// The plan of the fused operator in the DAG, if there is one.
    pub(super) plan: Option<CPlan>,
    /// Whether sums carry what is rounded away: not those of whole numbers.
    pub(super) carries_errors: bool,
    pub(super) dag: Dag,
    row_offset: Option<HopId>,
    over: Option<Over>,
    /// What is put into the result: places, cells and rows, as [`Packed`] has them.
    parts: Option<[Option<HopId>; 3]>,
    stripes: Vec<(Arc<Dataset>, HopId)>,
    broadcasts: Vec<(Arc<Broadcast>, bool, HopId)>,
    scalars: BTreeMap<String, Literal>,
    /// Local matrices that were transposed for this task.
    transposed: Vec<(LocalMatrix, LocalMatrix)>,
}

impl<'a> TaskBuilder<'a> {
    pub(super) fn new(workers: &'a Workers<'a>, lead: &'a DistributedMatrix) -> Self {
        let mut builder = TaskBuilder {
            workers,
            lead,
            left_transposed: false,
            is_cell_wise: false,
            plan: None,
            carries_errors: true,
            dag: Dag::new(),
            row_offset: None,
            over: None,
            parts: None,
            stripes: Vec::new(),
            broadcasts: Vec::new(),
            scalars: BTreeMap::new(),
            transposed: Vec::new(),
        };
        builder.stripe(&lead.dataset);
        builder
    }

    /// The HOP by which the task reads an input.
    pub(super) fn bind(&mut self, slot: Slot, input: &Variable) -> Result<HopId> {
        match (slot, input.whole()?) {
            (Slot::FirstRow, _) => Ok(self.int(1)),
            (Slot::LastRow, _) => {
                let stripe = self.lead();
                Ok(self.rows_in(stripe))
            }
            (_, Whole::Scalar(value)) => Ok(self.scalar(value)),
            (Slot::Rows | Slot::Columns, Whole::Distributed(matrix)) => {
                let lying = self.workers.lying(matrix, slot == Slot::Columns)?;
                let aligned = lying.dataset.align_to(&self.lead.dataset)?;
                Ok(self.stripe(&aligned))
            }
            (Slot::Rows, Whole::Matrix(matrix)) => self.rows_of(matrix),
            (Slot::Columns, Whole::Matrix(matrix)) if self.left_transposed => self.rows_of(matrix),
            (Slot::Columns, Whole::Matrix(matrix)) => {
                let transposed = self.transposed(matrix)?;
                self.rows_of(&transposed)
            }
            (Slot::Whole, Whole::Matrix(matrix)) => {
                let broadcast = self.workers.broadcast(matrix)?;
                Ok(self.broadcast(broadcast, false))
            }
            (Slot::Whole, Whole::Distributed(matrix)) => self.whole(matrix),
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
        let collected = self.workers.collected(matrix)?;
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
        self.read_scalar(name, value.value_type())
    }

    /// Puts the parts into what tasks compute.
    pub(super) fn put(&mut self, parts: Packed) -> Result<()> {
        let Packed {
            places,
            cells,
            rows,
        } = parts;
        let mut bound = [None; 3];
        for (bound, matrix) in bound.iter_mut().zip([Some(places), cells, rows]) {
            if let Some(matrix) = matrix {
                let broadcast = self.workers.broadcast(&LocalMatrix::new(matrix))?;
                *bound = Some(self.broadcast(broadcast, false));
            }
        }
        self.parts = Some(bound);
        Ok(())
    }

    /// The lead's stripe.
    pub(super) fn lead(&mut self) -> HopId {
        self.stripe(&self.lead.dataset)
    }

    /// How many rows of the matrix stand above the stripe.
    pub(super) fn row_offset(&mut self) -> HopId {
        if let Some(id) = self.row_offset {
            return id;
        }
        let id = self.read_scalar("row_offset", ValueType::Int);
        self.row_offset = Some(id);
        id
    }

    /// What the task reads of a stripe of the dataset that it goes over: the stripe, and the numbers (from 1) of its first and
    /// last row in that matrix.
    pub(super) fn over(&mut self) -> (HopId, HopId, HopId) {
        let row_offset = self.read_scalar("over_offset", ValueType::Int);
        let stripe = self.read("over");
        self.over = Some(Over { stripe, row_offset });
        let (height, one) = (self.rows_in(stripe), self.int(1));
        let first = self.int_plus(row_offset, one);
        let last = self.int_plus(row_offset, height);
        (stripe, first, last)
    }

    /// The numbers (from 1) of the stripe's first and last row in the matrix.
    pub(super) fn first_and_last_row(&mut self) -> (HopId, HopId) {
        let stripe = self.lead();
        let (offset, height, one) = (self.row_offset(), self.rows_in(stripe), self.int(1));
        let first = self.int_plus(offset, one);
        (first, self.int_plus(offset, height))
    }

    /// Runs the task on each stripe; the result has the lead's stripes.
    pub(super) fn map(self, root: HopId, label: &str) -> Result<Arc<Dataset>> {
        let (backend, lead) = (self.workers.backend, Arc::clone(&self.lead.dataset));
        let reads_lead_alone = self.stripes.len() == 1 && self.broadcasts.is_empty();
        let is_cell_wise = self.is_cell_wise && reads_lead_alone;
        let bound = self.finish(root, None, label);
        let task = is_cell_wise.then(|| bound.task.clone());
        let map = Primitive::MapPartitions {
            inputs: bound.stripes,
            broadcasts: bound.broadcasts,
            task: bound.task,
        };
        let dataset = Dataset::computed(&map, lead.partitioning, backend, bound.lineage)?;
        if let Some(task) = task {
            dataset.computed_cell_wise(&lead, task);
        }
        Ok(dataset)
    }

    /// Runs the task on each stripe and each one of `over`, and combines what it gives for the same stripe; the result has the
    /// lead's stripes.
    pub(super) fn map_over(
        self,
        root: HopId,
        over: &DistributedMatrix,
        combine: Combine,
        (bytes, row_bytes): (u64, u64),
        label: &str,
    ) -> Result<Arc<Dataset>> {
        let (backend, partitioning) = (self.workers.backend, self.lead.dataset.partitioning);
        let mut bound = self.finish(root, None, label);
        let map = Primitive::MapOver {
            inputs: bound.stripes,
            over: over.dataset.id,
            broadcasts: bound.broadcasts,
            task: bound.task,
            combine,
            bytes,
            row_bytes,
        };
        let over = Lineage::Dataset(Arc::clone(&over.dataset));
        bound.lineage.push(over);
        Dataset::computed(&map, partitioning, backend, bound.lineage)
    }

    /// Runs the task on each stripe and combines the results of each partition.
    pub(super) fn combine_partitions(
        self,
        root: HopId,
        combine: Combine,
        label: &str,
    ) -> Result<Arc<Dataset>> {
        let backend = self.workers.backend;
        let bound = self.finish(root, None, label);
        let map = Primitive::CombinePartitions {
            inputs: bound.stripes,
            broadcasts: bound.broadcasts,
            task: bound.task,
            combine,
        };
        Dataset::computed(&map, Partitioning::fresh(), backend, bound.lineage)
    }

    /// Runs the task on each stripe and combines its results.
    pub(super) fn aggregate(
        mut self,
        root: HopId,
        combine: &Combine,
        label: &str,
    ) -> Result<MatrixBlock> {
        if self.carries_errors
            && let Some(rows) = compensated::ways(&self.dag, root, self.plan.as_ref(), combine)
        {
            let root = compensated::of_stripe(&mut self.dag, root);
            let parts = self.aggregated(root, &Combine::Compensated(rows), label)?;
            return compensated::finished(&parts);
        }
        self.aggregated(root, combine, label)
    }

    fn aggregated(self, root: HopId, combine: &Combine, label: &str) -> Result<MatrixBlock> {
        let backend = self.workers.backend;
        let bound = self.finish(root, None, label);
        let aggregate = Primitive::MapAggregate {
            inputs: bound.stripes,
            broadcasts: bound.broadcasts,
            task: bound.task,
            combine: combine.clone(),
        };
        let reply = backend.apply(&aggregate, None)?;
        reply.payload.ok_or_else(|| incomplete("mapAggregate"))
    }

    /// Runs the task on each stripe and brings the pieces of its results to their targets. The stripes of the
    /// result are to be placed.
    pub(super) fn shuffle(
        self,
        root: HopId,
        pieces: Pieces,
        targets: u64,
        assemble: Assemble,
        label: &str,
    ) -> Result<Arc<Dataset>> {
        let backend = self.workers.backend;
        let bound = self.finish(root, Some(pieces), label);
        let shuffle = Primitive::Shuffle {
            inputs: bound.stripes,
            broadcasts: bound.broadcasts,
            task: bound.task,
            targets,
            assemble,
        };
        Dataset::computed(&shuffle, Partitioning::fresh(), backend, bound.lineage)
    }

    fn finish(mut self, root: HopId, pieces: Option<Pieces>, label: &str) -> Bound {
        self.dag.roots = vec![root];
        let variable = |id: HopId| {
            let op = &self.dag.hop(id).op;
            op.variable_read().map_or_else(|| op.code(), str::to_owned)
        };
        let task = Task {
            dag: to_json(&self.dag),
            plans: self.plan.into_iter().collect(),
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
            row_offset: self.row_offset.map(variable),
            over: self.over.as_ref().map(|over| OverBinding {
                variable: variable(over.stripe),
                row_offset: variable(over.row_offset),
            }),
            rand_stream: self.workers.config.rand_stream,
            pieces,
            parts: self.parts.and_then(|[places, cells, rows]| {
                Some(Parts {
                    places: places.map(variable)?,
                    cells: cells.map(variable),
                    rows: rows.map(variable),
                })
            }),
            label: label.to_owned(),
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
        Bound {
            task,
            stripes: datasets,
            broadcasts,
            lineage,
        }
    }
}

impl Formulas for TaskBuilder<'_> {
    fn dag(&mut self) -> &mut Dag {
        &mut self.dag
    }
}

/// A stripe of the dataset that the task goes over, and how many rows stand above it.
struct Over {
    stripe: HopId,
    row_offset: HopId,
}

/// A task and what it reads.
struct Bound {
    task: Task,
    stripes: Vec<DatasetId>,
    broadcasts: Vec<BroadcastId>,
    lineage: Vec<Lineage>,
}
