//! The workers, as the control program sees them: bringing matrices to them, and the primitives that move rows.

use std::sync::Arc;

use fulgurite_config::{Config, Speeds};
use fulgurite_dataflow::{
    Backend, Broadcast, Dataset, DistributedMatrix, Lineage, LocalMatrix, Partitioning, Primitive,
    RowRange, Variable, Whole,
};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Hop};
use fulgurite_matrix::MatrixBlock;

use super::sizes::{dense_bytes, through_driver};

/// What runs physical operators, and the limits and speeds by which these are chosen.
pub struct Workers<'a> {
    pub backend: &'a Arc<dyn Backend>,
    pub config: &'a Config,
    pub speeds: &'a Speeds,
}

/// The rows `from..until` of a matrix on the workers, from 0.
pub(super) struct Rows<'a> {
    pub(super) of: &'a DistributedMatrix,
    pub(super) from: u64,
    pub(super) until: u64,
}

impl<'a> Workers<'a> {
    /// The matrix on the workers, in stripes of its rows.
    ///
    /// # Errors
    /// `memory`, where a transpose would have rows that are too wide; of the backend.
    pub fn distributed(&self, value: &Variable) -> Result<DistributedMatrix> {
        match value.whole()? {
            Whole::Distributed(matrix) => self.lying(matrix, false),
            Whole::Matrix(matrix) => self.striped(matrix),
            Whole::Scalar(_) => Err(Error::internal("a scalar stands where a matrix is cut")),
        }
    }

    /// The matrix on the driver, if it may be there.
    ///
    /// # Errors
    /// `memory`, where it is too large.
    pub(super) fn collected(&self, matrix: &DistributedMatrix) -> Result<LocalMatrix> {
        let limit = self.through_driver();
        let bytes = matrix.stripes.memory_bytes();
        if bytes.is_none_or(|bytes| bytes > limit) {
            return Err(Error::memory(format!(
                "every task needs the whole of a distributed matrix {}, which may be sent up to {limit} bytes",
                matrix.characteristics()
            ))
            .with_help("raise fulgurite.memory.broadcast and fulgurite.memory.local"));
        }
        matrix.collect()
    }

    /// A local matrix, cut into stripes.
    pub(super) fn striped(&self, matrix: &LocalMatrix) -> Result<DistributedMatrix> {
        let dataset = matrix.striped(|block| {
            let parallelize = Primitive::Parallelize {
                stripe_rows: self.config.blocksize,
            };
            let reply = self.backend.apply(&parallelize, Some(block))?;
            Dataset::new(&reply, Partitioning::fresh(), self.backend)
        })?;
        Ok(DistributedMatrix::new(dataset, matrix.characteristics()))
    }

    /// # Errors
    /// `memory`, when the matrix is larger than what may be broadcast.
    pub fn broadcast(&self, matrix: &LocalMatrix) -> Result<Arc<Broadcast>> {
        let block = matrix.block();
        let (stored, dense) = (block.memory_bytes() as u64, dense_bytes(block));
        let bytes = stored.min(dense);
        if bytes > self.config.memory_broadcast {
            return Err(Error::memory(format!(
                "every task needs a whole {} x {} matrix of {bytes} bytes, and broadcasts may have {}",
                block.rows(),
                block.cols(),
                self.config.memory_broadcast
            ))
            .with_help("raise fulgurite.memory.broadcast"));
        }
        matrix.broadcast(|block| match dense < stored {
            // Few cells with the structure that finds them.
            true => Broadcast::send(self.backend, &MatrixBlock::Dense(block.to_dense()?)),
            false => Broadcast::send(self.backend, block),
        })
    }

    /// Bytes that may come to the driver to be sent to every worker.
    pub(super) fn through_driver(&self) -> u64 {
        through_driver(self.config)
    }

    /// Sums of matrices of this size stay with the workers.
    pub(super) fn is_too_large_for_driver(&self, result: &Hop) -> bool {
        let bytes = result.characteristics.memory_bytes();
        result.is_matrix() && bytes.is_some_and(|bytes| bytes > self.config.memory_local)
    }

    /// Ranges of rows, one below the other. A single whole matrix stays as it is.
    pub(super) fn concatenate(&self, parts: &[Rows]) -> Result<DistributedMatrix> {
        let parts: Vec<&Rows> = parts.iter().filter(|part| part.from < part.until).collect();
        if let [only] = &parts[..]
            && only.from == 0
            && Some(only.until) == only.of.stripes.rows
        {
            return Ok(only.of.clone());
        }
        let concatenate = Primitive::Concatenate {
            parts: parts
                .iter()
                .map(|part| RowRange {
                    dataset: part.of.dataset.id,
                    from: part.from,
                    until: part.until,
                })
                .collect(),
        };
        let lineage = parts
            .iter()
            .map(|part| Lineage::Dataset(Arc::clone(&part.of.dataset)))
            .collect();
        let dataset =
            Dataset::computed(&concatenate, Partitioning::fresh(), self.backend, lineage)?;
        let rows = parts.iter().map(|part| part.until - part.from).sum();
        let cols = parts.first().and_then(|part| part.of.stripes.cols);
        let stripes = Characteristics::new(Some(rows), cols, None);
        Ok(DistributedMatrix::new(dataset, stripes))
    }

    /// The matrix in stripes that tell their rows, after a task or a shuffle has changed these.
    pub(super) fn placed(&self, dataset: &Arc<Dataset>) -> Result<DistributedMatrix> {
        DistributedMatrix::placed(self.backend, dataset)
    }
}

/// The error of an operator for workers where there are none.
pub fn no_backend() -> Error {
    Error::internal("there is no backend")
}
