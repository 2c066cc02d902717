//! How the backend in this process computes a dataset from others.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use fulgurite_codegen::PlanCache;
use fulgurite_dataflow::{Assemble, Combine, Task};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Layout, MatrixBlock, arrow_block::Block};
use fulgurite_worker::TaskRun;
use rayon::prelude::*;

use super::{
    pipeline::{Input, Mapped},
    stripes::{self, align, cut, joined},
};

/// So many stripes are combined as those of a partition would be.
const PARTITION_STRIPES: usize = 4;

/// A dataset: how it is computed, and its stripes once it is persisted and was used.
pub(super) struct Node {
    compute: Compute,
    pub(super) persisted: OnceLock<()>,
    /// Held while a persisted one is computed, so that this happens once.
    computing: Mutex<()>,
    stripes: OnceLock<Vec<Block>>,
}

pub(super) enum Compute {
    Source(MatrixBlock, usize),
    Stripes(Vec<Block>),
    Map {
        inputs: Vec<Arc<Node>>,
        broadcasts: Vec<Arc<MatrixBlock>>,
        task: Task,
    },
    Over {
        inputs: Vec<Arc<Node>>,
        over: Arc<Node>,
        broadcasts: Vec<Arc<MatrixBlock>>,
        task: Task,
        combine: Combine,
    },
    CombinePartitions {
        inputs: Vec<Arc<Node>>,
        broadcasts: Vec<Arc<MatrixBlock>>,
        task: Task,
        combine: Combine,
    },
    Align {
        left: Arc<Node>,
        right: Arc<Node>,
    },
    Concatenate(Vec<(Arc<Node>, u64, u64)>),
    Place(Arc<Node>),
    Shuffle {
        inputs: Vec<Arc<Node>>,
        broadcasts: Vec<Arc<MatrixBlock>>,
        task: Task,
        assemble: Assemble,
    },
}

impl Node {
    /// `persisted` from the beginning, as sources are.
    pub(super) fn new(compute: Compute, persisted: bool) -> Self {
        Node {
            compute,
            persisted: match persisted {
                true => OnceLock::from(()),
                false => OnceLock::new(),
            },
            computing: Mutex::default(),
            stripes: OnceLock::new(),
        }
    }
}

/// Computes datasets, and counts what that takes.
pub(super) struct Computing {
    pub(super) plan_cache: Arc<PlanCache>,
    pub(super) source_scans: Arc<AtomicU64>,
    pub(super) tasks: Arc<AtomicU64>,
    pub(super) largest_dense: AtomicU64,
}

impl Computing {
    /// The stripes of a dataset, which are computed if nobody keeps them.
    pub(super) fn stripes(&self, node: &Node) -> Result<Vec<Block>> {
        let _computing = node.persisted.get().map(|()| {
            let computing = node.computing.lock();
            computing.unwrap_or_else(PoisonError::into_inner)
        });
        if let Some(stripes) = node.stripes.get() {
            return Ok(stripes.clone());
        }
        let stripes = match &node.compute {
            Compute::Source(matrix, stripe_rows) => {
                self.source_scans.fetch_add(1, Ordering::Relaxed);
                cut(matrix, *stripe_rows)
            }
            Compute::Stripes(stripes) => stripes.clone(),
            Compute::Map {
                inputs,
                broadcasts,
                task,
            } => self.map(inputs, broadcasts, task)?.concat(),
            Compute::Over {
                inputs,
                over,
                broadcasts,
                task,
                combine,
            } => self.map_over(inputs, &self.stripes(over)?, (broadcasts, task), combine)?,
            Compute::CombinePartitions {
                inputs,
                broadcasts,
                task,
                combine,
            } => {
                let parts = self.map(inputs, broadcasts, task)?.concat();
                let partitions = parts.chunks(PARTITION_STRIPES);
                let combined = partitions.map(|part| stripes::combined(part.to_vec(), combine));
                combined.collect::<Result<_>>()?
            }
            Compute::Align { left, right } => {
                let left = self.stripes(left)?;
                let right = joined(&self.stripes(right)?)?;
                align(&left, &right)?
            }
            Compute::Concatenate(parts) => {
                let mut below = 0;
                let mut stripes = Vec::new();
                // A matrix stands on both sides of rows that were written into it, one that many were written into as often.
                let mut computed: HashMap<*const Node, Vec<Block>> = HashMap::new();
                for (node, from, until) in parts {
                    let of = match computed.entry(Arc::as_ptr(node)) {
                        Entry::Occupied(entry) => entry.into_mut(),
                        Entry::Vacant(entry) => entry.insert(self.stripes(node)?),
                    };
                    stripes.extend(stripes::range(of, *from, *until, below));
                    below += until.saturating_sub(*from);
                }
                stripes
            }
            Compute::Place(input) => stripes::placed(self.stripes(input)?),
            Compute::Shuffle {
                inputs,
                broadcasts,
                task,
                assemble,
            } => stripes::assembled(self.map(inputs, broadcasts, task)?, assemble)?,
        };
        let dense = stripes
            .iter()
            .filter(|stripe| stripe.matrix.layout() == Layout::Dense)
            .map(|stripe| stripe.matrix.rows() as u64 * stripe.matrix.cols() as u64)
            .sum();
        self.largest_dense.fetch_max(dense, Ordering::Relaxed);
        if node.persisted.get().is_some() {
            let _ = node.stripes.set(stripes.clone());
        }
        Ok(stripes)
    }

    pub(super) fn map(
        &self,
        inputs: &[Arc<Node>],
        broadcasts: &[Arc<MatrixBlock>],
        task: &Task,
    ) -> Result<Vec<Vec<Block>>> {
        let inputs = inputs.iter().map(|input| self.lazily(input));
        let mapped = Mapped {
            inputs: inputs.collect::<Result<_>>()?,
            broadcasts,
            task,
        };
        let count = mapped.count()?;
        let stripes: Vec<usize> = (0..count).collect();
        // No more parts than threads: a thread that waits for a task of its own takes up another part meanwhile, on
        // the same stack.
        let part = count.div_ceil(rayon::current_num_threads()).max(1);
        let parts = stripes
            .par_chunks(part)
            .map(|part| {
                let mut run = mapped.run(&self.plan_cache, &self.tasks)?;
                let results = part.iter().map(|stripe| run.on(*stripe));
                results.collect::<Result<Vec<_>>>()
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(parts.concat())
    }

    /// Runs a task on each stripe of the inputs with each one of `over`.
    fn map_over(
        &self,
        inputs: &[Arc<Node>],
        over: &[Block],
        (broadcasts, task): (&[Arc<MatrixBlock>], &Task),
        how: &Combine,
    ) -> Result<Vec<Block>> {
        let inputs = inputs.iter().map(|input| self.stripes(input));
        let inputs = inputs.collect::<Result<Vec<Vec<Block>>>>()?;
        let count = inputs.iter().map(Vec::len).min().unwrap_or(0);
        let results = (0..count).into_par_iter().map(|stripe| {
            let mut run = TaskRun::new(Cow::Borrowed(task), &self.plan_cache)?;
            let own: Vec<Block> = inputs.iter().map(|input| input[stripe].clone()).collect();
            let mut result: Option<Block> = None;
            for other in over {
                self.tasks.fetch_add(1, Ordering::Relaxed);
                let parts = result
                    .into_iter()
                    .chain(run.on(&own, broadcasts, Some(other))?);
                result = Some(stripes::combined(parts.collect(), how)?);
            }
            result.ok_or_else(|| Error::backend("a task goes over a dataset without stripes"))
        });
        results.collect()
    }

    /// A dataset for tasks to run on: stripe by stripe, where nobody keeps it.
    fn lazily<'a>(&self, node: &'a Node) -> Result<Input<'a>> {
        match &node.compute {
            Compute::Map {
                inputs,
                broadcasts,
                task,
            } if node.persisted.get().is_none() => {
                let inputs = inputs.iter().map(|input| self.lazily(input));
                Ok(Input::Mapped(Mapped {
                    inputs: inputs.collect::<Result<_>>()?,
                    broadcasts,
                    task,
                }))
            }
            _ => self.stripes(node).map(Input::Stripes),
        }
    }
}
