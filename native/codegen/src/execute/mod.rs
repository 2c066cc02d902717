//! Skeletons: how compiled code is run over whole operands.
//!
//! A skeleton cuts the main input into tasks (ranges of rows or cells, in order) and each task into blocks that
//! fit into the innermost caches; compiled code handles a block. Partial results are combined in the order of
//! tasks, so that results don't depend on timing.

mod cell;
mod row;
mod sparse_cell;
mod tasks;
mod totals;
mod wholes;

use std::sync::Arc;

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::Template;
use fulgurite_hop::Direction;
use fulgurite_matrix::MatrixBlock;

use crate::bind::{Bound, Operand, bind};
use crate::compiled::CompiledPlan;

/// Which threads an operator runs on.
#[derive(Debug, Clone, Default)]
pub struct ExecutionContext {
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl ExecutionContext {
    /// The calling thread alone, as in Spark's tasks.
    pub fn single_threaded() -> Self {
        ExecutionContext { pool: None }
    }

    /// A pool of this many threads, shared by all clones of the context.
    ///
    /// # Errors
    /// `runtime` when the threads can't be started.
    pub fn with_threads(threads: usize) -> Result<Self> {
        if threads <= 1 {
            return Ok(Self::single_threaded());
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("fulgurite-{number}"))
            .build()
            .map_err(|error| Error::runtime(format!("can't start {threads} threads: {error}")))?;
        Ok(ExecutionContext {
            pool: Some(Arc::new(pool)),
        })
    }

    /// Threads of a pool that exists.
    pub fn with_pool(pool: Arc<rayon::ThreadPool>) -> Self {
        ExecutionContext { pool: Some(pool) }
    }

    pub fn threads(&self) -> usize {
        let pool = self.pool.as_ref();
        pool.map_or(1, |pool| pool.current_num_threads())
    }
}

/// What a fused operator gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    Matrix(MatrixBlock),
    Scalar(f64),
}

/// Runs a compiled plan over operands, which stand in the order of the plan's inputs.
///
/// # Errors
/// `dimension` when shapes don't fit; nothing has run then.
pub fn execute(
    plan: &CompiledPlan,
    inputs: &[Operand<'_>],
    context: &ExecutionContext,
) -> Result<Output> {
    let bound: Bound<'_> = bind(plan, inputs)?;
    match &plan.plan().template {
        Template::Cell(template) => match bound.main {
            MatrixBlock::Csr(csr) if template.sparse_safe => {
                sparse_cell::run(plan, &bound, *template, csr, context)
            }
            _ => cell::run(plan, &bound, *template, context),
        },
        Template::Row(template) => row::run(plan, &bound, template.output, context),
        Template::Outer(_) | Template::MultiAggregate(_) => Err(Error::unsupported(
            "a fused operator of the Outer or MAgg template",
        )),
    }
}

/// The result of a Cell plan's aggregate from its totals: one, one per row or one per column.
fn aggregated(direction: Direction, totals: Vec<f64>) -> Result<Output> {
    let length = totals.len();
    match direction {
        Direction::Full => totals
            .first()
            .map(|total| Output::Scalar(*total))
            .ok_or_else(|| Error::internal("a full aggregate without a total")),
        Direction::Row => MatrixBlock::dense(length, 1, totals).map(Output::Matrix),
        Direction::Col => MatrixBlock::dense(1, length, totals).map(Output::Matrix),
    }
}
