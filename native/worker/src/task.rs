//! A task on stripes.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use fulgurite_codegen::{Kept, PlanCache};
use fulgurite_dataflow::{Parts, Task};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Literal, json::from_json};
use fulgurite_matrix::{MatrixBlock, arrow_block::Block};
use fulgurite_operators::{BlockPlan, FusedPlan, Locally, Threads, Value};

use super::{
    parts::{self, Packed},
    pieces,
    task_memory::{self, RunSizes, TaskMemory},
};

/// Plans that tasks compiled, since their process had not yet met them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compilation {
    pub plans: u64,
    pub time: Duration,
}

impl std::ops::AddAssign for Compilation {
    fn add_assign(&mut self, other: Self) {
        self.plans += other.plans;
        self.time += other.time;
    }
}

/// What a task did for its results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskWork {
    pub compilation: Compilation,
    /// What its operators took, compiling included; all else is the price of handing blocks over.
    pub operator_time: Duration,
}

/// A task on one thread, the calling one, for the stripes of a partition one after the other: what does not depend on the
/// stripe is made once.
pub struct TaskRun<'a> {
    task: Cow<'a, Task>,
    plan: BlockPlan,
    cache: Arc<PlanCache>,
    threads: Threads,
    /// Told already.
    compiled: Compilation,
    operator_time: Duration,
    /// Of the latest run that was asked for: most stripes are like the one before.
    memory: Option<(RunSizes, Option<TaskMemory>)>,
}

impl<'a> TaskRun<'a> {
    /// # Errors
    /// `plan`, for a task that is not understood.
    pub fn new(task: Cow<'a, Task>, cache: &Arc<PlanCache>) -> Result<Self> {
        if task.stripes.is_empty() {
            return Err(Error::plan("a task needs a stripe"));
        }
        let plans = task.plans.iter().map(|plan| FusedPlan {
            compiled: Kept::default(),
            plan: plan.clone(),
            text: task.label.as_str().into(),
        });
        Ok(TaskRun {
            plan: BlockPlan::new(from_json(&task.dag.to_string())?, plans.collect()),
            cache: Arc::clone(cache),
            threads: Threads::of_task()?,
            task,
            compiled: Compilation::default(),
            operator_time: Duration::ZERO,
            memory: None,
        })
    }

    /// The task that runs.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Runs the task on the stripes of its inputs, which have the same rows, and on what was sent to every worker. Gives one block with the row offset of the
    /// stripes, or the pieces that the task cuts it into. `over` is the stripe of another dataset, if the task goes over one.
    ///
    /// # Errors
    /// Of the task's operators, with their code and position; `plan` and `dimension` for a task that does not fit its
    /// inputs.
    pub fn on(
        &mut self,
        stripes: &[Block],
        broadcasts: &[Arc<MatrixBlock>],
        over: Option<&Block>,
    ) -> Result<Vec<Block>> {
        let started = Instant::now();
        let result = self.whole(stripes, broadcasts, over)?;
        let blocks = match &self.task.pieces {
            Some(pieces) => pieces::cut(pieces, &result)?,
            None => vec![result],
        };
        self.operator_time += started.elapsed();
        Ok(blocks)
    }

    /// What [`TaskRun::on`] takes for these, beside them: at most, but for products of sparse matrices, whose non-zeros are estimates.
    /// `None` where sizes depend on values.
    pub fn memory(
        &mut self,
        stripes: &[Block],
        broadcasts: &[Arc<MatrixBlock>],
        over: Option<&Block>,
    ) -> Option<TaskMemory> {
        let sizes = RunSizes::of(stripes, broadcasts, over);
        match &self.memory {
            Some((known, memory)) if *known == sizes => *memory,
            _ => {
                let memory = task_memory::of(&self.task, &self.plan.dag, &sizes);
                self.memory = Some((sizes, memory));
                memory
            }
        }
    }

    /// What was done since somebody asked last.
    pub fn take_work(&mut self) -> TaskWork {
        let compiled = self.compilation();
        let told = std::mem::replace(&mut self.compiled, compiled);
        TaskWork {
            compilation: Compilation {
                plans: compiled.plans - told.plans,
                time: compiled.time.saturating_sub(told.time),
            },
            operator_time: std::mem::take(&mut self.operator_time),
        }
    }

    fn compilation(&self) -> Compilation {
        let fused = self.plan.fused.iter();
        let mut compilation = Compilation::default();
        for time in fused.filter_map(|fused| fused.compiled.compile_time()) {
            compilation += Compilation { plans: 1, time };
        }
        compilation
    }

    fn whole(
        &mut self,
        stripes: &[Block],
        broadcasts: &[Arc<MatrixBlock>],
        over: Option<&Block>,
    ) -> Result<Block> {
        let task = &*self.task;
        let (Some(first), true) = (stripes.first(), stripes.len() == task.stripes.len()) else {
            return Err(Error::plan(format!(
                "the task '{}' is for {} stripes, not {}",
                task.label,
                task.stripes.len(),
                stripes.len()
            )));
        };
        if task.broadcasts.len() != broadcasts.len() {
            return Err(Error::plan(format!(
                "the task '{}' is for {} broadcasts, not {}",
                task.label,
                task.broadcasts.len(),
                broadcasts.len()
            )));
        }
        let mut variables: HashMap<&str, Value> = HashMap::new();
        for (name, stripe) in task.stripes.iter().zip(stripes) {
            if stripe.matrix.rows() != first.matrix.rows() || stripe.row_offset != first.row_offset
            {
                return Err(Error::dimension(format!(
                    "the stripes of the task '{}' have different rows",
                    task.label
                )));
            }
            variables.insert(name, Value::Matrix(stripe.matrix.clone()));
        }
        for (binding, broadcast) in task.broadcasts.iter().zip(broadcasts) {
            let block = match binding.rows_of_stripe {
                true => rows_of_stripe(broadcast, first)?,
                false => MatrixBlock::clone(broadcast),
            };
            variables.insert(&binding.variable, Value::Matrix(block));
        }
        for (name, value) in &task.scalars {
            variables.insert(name, Value::Scalar(value.clone()));
        }
        if let Some(name) = &task.row_offset {
            variables.insert(name, row_offset(first)?);
        }
        match (&task.over, over) {
            (None, None) => {}
            (Some(binding), Some(over)) => {
                variables.insert(&binding.row_offset, row_offset(over)?);
                variables.insert(&binding.variable, Value::Matrix(over.matrix.clone()));
            }
            _ => {
                return Err(Error::plan(format!(
                    "the task '{}' and what it goes over do not belong together",
                    task.label
                )));
            }
        }
        let locally = Locally {
            cache: &self.cache,
            threads: &self.threads,
            stream: task.rand_stream,
            // How many tasks run at a time decides what they may take.
            budget: None,
        };
        let result = match locally.evaluate(&self.plan, &variables)? {
            Some(Value::Matrix(matrix)) => matrix,
            Some(Value::Range(range)) => range.to_dense()?.into(),
            Some(Value::Scalar(value)) => {
                let number = value.as_f64().ok_or_else(|| {
                    Error::plan(format!("the task '{}' gives a text", task.label))
                })?;
                MatrixBlock::filled(1, 1, number)?
            }
            None => {
                return Err(Error::plan(format!(
                    "the task '{}' gives no value",
                    task.label
                )));
            }
        };
        let result = Block::new(first.row_offset, 0, result);
        match &task.parts {
            Some(parts) => parts::put(&packed(task, parts, broadcasts)?, result),
            None => Ok(result),
        }
    }
}

/// What the task puts into its result.
fn packed(task: &Task, parts: &Parts, broadcasts: &[Arc<MatrixBlock>]) -> Result<Packed> {
    let bound = |variable: &String| {
        let mut bindings = task.broadcasts.iter().zip(broadcasts);
        let found = bindings.find(|(binding, _)| binding.variable == *variable);
        let (_, broadcast) = found.ok_or_else(|| {
            Error::plan(format!(
                "the task '{}' has no '{variable}' to put into its result",
                task.label
            ))
        })?;
        Ok(MatrixBlock::clone(broadcast))
    };
    Ok(Packed {
        places: bound(&parts.places)?,
        cells: parts.cells.as_ref().map(bound).transpose()?,
        rows: parts.rows.as_ref().map(bound).transpose()?,
    })
}

/// How many rows stand above a stripe.
fn row_offset(stripe: &Block) -> Result<Value> {
    let offset = i64::try_from(stripe.row_offset)
        .map_err(|_| Error::dimension("a stripe stands beyond the last row there can be"))?;
    Ok(Value::Scalar(Literal::Int(offset)))
}

fn rows_of_stripe(broadcast: &MatrixBlock, stripe: &Block) -> Result<MatrixBlock> {
    let rows = stripe.matrix.rows();
    let from = usize::try_from(stripe.row_offset).ok();
    let to = from.and_then(|from| from.checked_add(rows));
    match (from, to) {
        (Some(from), Some(to)) if to <= broadcast.rows() => Ok(broadcast.slice_rows(from, to)),
        _ => Err(Error::dimension(format!(
            "a matrix of {} rows has no rows for a stripe of {rows} rows from row {} on",
            broadcast.rows(),
            stripe.row_offset
        ))),
    }
}
