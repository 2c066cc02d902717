//! Tasks on the results of tasks, stripe by stripe: what a dataset is computed from lazily is never there as a whole.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use fulgurite_codegen::PlanCache;
use fulgurite_dataflow::Task;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{MatrixBlock, arrow_block::Block};
use fulgurite_worker::TaskRun;

/// An input of a task.
pub(super) enum Input<'a> {
    Stripes(Vec<Block>),
    Mapped(Mapped<'a>),
}

/// A task and what it runs on.
pub(super) struct Mapped<'a> {
    pub(super) inputs: Vec<Input<'a>>,
    pub(super) broadcasts: &'a [Arc<MatrixBlock>],
    pub(super) task: &'a Task,
}

impl Mapped<'_> {
    /// How many stripes it has.
    ///
    /// # Errors
    /// `backend`, where its inputs differ in that.
    pub(super) fn count(&self) -> Result<usize> {
        let counts = self.inputs.iter().map(|input| match input {
            Input::Stripes(stripes) => Ok(stripes.len()),
            Input::Mapped(mapped) => mapped.count(),
        });
        let counts = counts.collect::<Result<Vec<usize>>>()?;
        let first = counts.first().copied().unwrap_or(0);
        match counts.iter().all(|count| *count == first) {
            true => Ok(first),
            false => Err(Error::backend(format!(
                "the inputs of the task '{}' are not co-partitioned",
                self.task.label
            ))),
        }
    }

    /// Runs the task and those before it, on one thread.
    pub(super) fn run<'a>(
        &'a self,
        cache: &Arc<PlanCache>,
        counted: &'a AtomicU64,
    ) -> Result<Run<'a>> {
        let inputs = self.inputs.iter().map(|input| match input {
            Input::Stripes(stripes) => Ok(Source::Stripes(stripes)),
            Input::Mapped(mapped) => {
                let run = mapped.run(cache, counted)?;
                Ok(Source::Run(Box::new(run)))
            }
        });
        Ok(Run {
            inputs: inputs.collect::<Result<_>>()?,
            task: TaskRun::new(Cow::Borrowed(self.task), cache)?,
            broadcasts: self.broadcasts,
            counted,
        })
    }
}

/// A task on one thread, with those that give its inputs.
pub(super) struct Run<'a> {
    inputs: Vec<Source<'a>>,
    task: TaskRun<'a>,
    broadcasts: &'a [Arc<MatrixBlock>],
    /// The tasks of the backend that ran.
    counted: &'a AtomicU64,
}

enum Source<'a> {
    Stripes(&'a [Block]),
    Run(Box<Run<'a>>),
}

impl Run<'_> {
    /// The task's result for a stripe, or the pieces that it cuts it into.
    pub(super) fn on(&mut self, stripe: usize) -> Result<Vec<Block>> {
        let inputs = self.inputs.iter_mut().map(|input| match input {
            Source::Stripes(stripes) => Ok(stripes[stripe].clone()),
            Source::Run(run) => {
                let result = run.on(stripe)?.into_iter().next();
                result.ok_or_else(|| Error::backend("a task gave no result for a stripe"))
            }
        });
        let inputs = inputs.collect::<Result<Vec<Block>>>()?;
        self.counted.fetch_add(1, Ordering::Relaxed);
        self.task.on(&inputs, self.broadcasts, None)
    }
}
