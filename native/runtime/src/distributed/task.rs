//! What a worker runs: a task on stripes, and the combination of two partial results.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use fulgurite_codegen::{Kept, PlanCache};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{BinaryOp, Literal, json::from_json};
use fulgurite_matrix::{
    MatrixBlock,
    arrow_block::Block,
    kernels::{self, Operand},
};

use super::{
    parts::{self, Packed},
    task_memory::{self, RunSizes, TaskMemory},
};
use crate::{
    Session,
    dataflow::{Combine, Parts, Task},
    interpreter::{BlockPlan, Context, FusedPlan, SymbolTable, Variable, evaluate},
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
    context: Context,
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
            context: Context::for_task(Session::for_tasks(cache, task.rand_stream))?,
            task,
            compiled: Compilation::default(),
            operator_time: Duration::ZERO,
            memory: None,
        })
    }

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
            Some(pieces) => super::pieces::cut(pieces, &result)?,
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
        let mut symbols = SymbolTable::default();
        for (name, stripe) in task.stripes.iter().zip(stripes) {
            if stripe.matrix.rows() != first.matrix.rows() || stripe.row_offset != first.row_offset
            {
                return Err(Error::dimension(format!(
                    "the stripes of the task '{}' have different rows",
                    task.label
                )));
            }
            symbols.set(name, Variable::matrix(stripe.matrix.clone()));
        }
        for (binding, broadcast) in task.broadcasts.iter().zip(broadcasts) {
            let block = match binding.rows_of_stripe {
                true => rows_of_stripe(broadcast, first)?,
                false => MatrixBlock::clone(broadcast),
            };
            symbols.set(&binding.variable, Variable::matrix(block));
        }
        for (name, value) in &task.scalars {
            symbols.set(name, Variable::Scalar(value.clone()));
        }
        if let Some(name) = &task.row_offset {
            symbols.set(name, row_offset(first)?);
        }
        match (&task.over, over) {
            (None, None) => {}
            (Some(binding), Some(over)) => {
                symbols.set(&binding.row_offset, row_offset(over)?);
                symbols.set(&binding.variable, Variable::matrix(over.matrix.clone()));
            }
            _ => {
                return Err(Error::plan(format!(
                    "the task '{}' and what it goes over do not belong together",
                    task.label
                )));
            }
        }
        let result = match evaluate(&self.plan, &mut symbols, &mut self.context)? {
            Some(Variable::Matrix(matrix)) => matrix.into_block(),
            Some(Variable::Scalar(value)) => {
                let number = value.as_f64().ok_or_else(|| {
                    Error::plan(format!("the task '{}' gives a text", task.label))
                })?;
                MatrixBlock::filled(1, 1, number)?
            }
            Some(Variable::Distributed(_) | Variable::Written(_)) | None => {
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
fn row_offset(stripe: &Block) -> Result<Variable> {
    let offset = i64::try_from(stripe.row_offset)
        .map_err(|_| Error::dimension("a stripe stands beyond the last row there can be"))?;
    Ok(Variable::Scalar(Literal::Int(offset)))
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

/// Two partial results as one.
///
/// # Errors
/// `dimension`, when their shapes differ, or there are not as many rows as ways to combine them.
pub fn combine(combine: &Combine, left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    if (left.rows(), left.cols()) != (right.rows(), right.cols()) {
        return Err(Error::dimension(format!(
            "partial results of {} x {} and {} x {} can't be combined",
            left.rows(),
            left.cols(),
            right.rows(),
            right.cols()
        )));
    }
    let op = match combine {
        Combine::Sum => {
            return kernels::binary(Operand::Matrix(left), Operand::Matrix(right), |x, y| x + y);
        }
        Combine::Product => BinaryOp::Mult,
        Combine::Min => BinaryOp::Min,
        Combine::Max => BinaryOp::Max,
        Combine::Moments => return super::moments::combine(left, right),
        Combine::ByRow(rows) => return combine_rows(rows, left, right),
    };
    kernels::binary(Operand::Matrix(left), Operand::Matrix(right), |x, y| {
        op.eval(x, y)
    })
}

fn combine_rows(rows: &[Combine], left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    if rows.len() != left.rows() {
        return Err(Error::dimension(format!(
            "partial results of {} rows can't be combined in {} ways",
            left.rows(),
            rows.len()
        )));
    }
    let combined = rows
        .iter()
        .enumerate()
        .map(|(row, how)| {
            combine(
                how,
                &left.slice_rows(row, row + 1),
                &right.slice_rows(row, row + 1),
            )
        })
        .collect::<Result<Vec<_>>>()?;
    kernels::rbind(&combined.iter().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_results_combine_cell_by_cell() {
        let left = MatrixBlock::dense(1, 3, vec![1.0, 5.0, f64::NAN]).expect("3 cells");
        let right = MatrixBlock::dense(1, 3, vec![2.0, 3.0, 4.0]).expect("3 cells");
        let cells = |how| {
            let block = combine(&how, &left, &right).expect("equal shapes");
            format!("{:?}", block.to_dense().unwrap().values())
        };
        assert_eq!(cells(Combine::Sum), "[3.0, 8.0, NaN]");
        assert_eq!(cells(Combine::Product), "[2.0, 15.0, NaN]");
        assert_eq!(cells(Combine::Min), "[1.0, 3.0, NaN]");
        assert_eq!(cells(Combine::Max), "[2.0, 5.0, NaN]");
        let error = combine(
            &Combine::Sum,
            &left,
            &MatrixBlock::filled(1, 1, 0.0).unwrap(),
        );
        assert!(error.is_err());
    }

    #[test]
    fn rows_combine_each_in_its_way() {
        let column = |values| MatrixBlock::dense(3, 1, values).expect("3 cells");
        let (left, right) = (column(vec![1.0, 5.0, 4.0]), column(vec![2.0, 3.0, 6.0]));
        let rows = vec![Combine::Sum, Combine::Min, Combine::Max];
        let both = combine(&Combine::ByRow(rows.clone()), &left, &right).expect("equal shapes");
        assert_eq!(both.to_dense().unwrap().values(), [3.0, 3.0, 6.0]);
        assert!(combine(&Combine::ByRow(rows[1..].to_vec()), &left, &right).is_err());
    }
}
