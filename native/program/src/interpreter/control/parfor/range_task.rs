//! Iterations on a worker: a range of them, one after the other.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use fulgurite_codegen::PlanCache;
use fulgurite_dataflow::{
    IterationRange, LocalMatrix, PartValue, RangeAccount, RangePart, RangeResult, RemoteLoop,
    Slices, Variable,
};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Literal, Parallel};
use fulgurite_matrix::{
    MatrixBlock,
    arrow_block::Block,
    kernels::{self, IndexRange},
};
use fulgurite_worker::TaskWork;

use super::{ParallelLoop, gathered::Start, slices, writes};
use crate::{
    interpreter::{context::Context, control::Interpreter},
    symbols::SymbolTable,
};

/// Runs the iterations of a range on the task's threads, on what was sent to every worker; with a stripe, those whose
/// slices it has. What goes wrong in one of them is in the account.
///
/// # Errors
/// `plan`, for broadcasts or a stripe that are not the loop's; `argument`, for a configuration of another build.
pub fn run_range(
    remote: &RemoteLoop,
    range: IterationRange,
    stripe: Option<&Block>,
    broadcasts: &[Arc<MatrixBlock>],
    cache: &Arc<PlanCache>,
) -> Result<(RangeResult, TaskWork)> {
    if remote.matrices.len() != broadcasts.len() {
        return Err(Error::plan(format!(
            "the loop '{}' reads {} matrices, not {}",
            remote.label,
            remote.matrices.len(),
            broadcasts.len()
        )));
    }
    let mut context = Context::for_remote_iterations(remote, cache)?;
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&lines);
    context.session = context.session.with_print(Arc::new(move |line| {
        let mut lines = sink.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.to_owned());
        Ok(())
    }));
    let mut symbols = variables(remote, broadcasts);
    let mut tasks = Iterations {
        remote,
        range,
        stripe: None,
    };
    match (&remote.slices, stripe) {
        (None, None) => {}
        (Some(slices), Some(stripe)) => {
            let rows = stripe.matrix.rows() as u64;
            tasks.range = slices.of_stripe(range, stripe.row_offset, rows);
            tasks.stripe = Some((slices, stripe.row_offset, rows));
            // A job of several may have no iterations for this stripe.
            let matrix = match slices.are_columns && tasks.range.count > 0 {
                true => kernels::transpose(&stripe.matrix)?,
                false => stripe.matrix.clone(),
            };
            symbols.set(slices::STRIPE, Variable::matrix(matrix));
        }
        _ => {
            return Err(Error::plan(format!(
                "the loop '{}' runs either on stripes or without",
                remote.label
            )));
        }
    }
    let (pool, interrupt) = (context.threads.pool(), context.threads.interrupt());
    pool.install(|| interrupt.within(|| tasks.run(context, symbols, &lines)))
}

fn variables(remote: &RemoteLoop, broadcasts: &[Arc<MatrixBlock>]) -> SymbolTable {
    let mut symbols = SymbolTable::default();
    for (name, matrix) in remote.matrices.iter().zip(broadcasts) {
        symbols.set(name, Variable::matrix(MatrixBlock::clone(matrix)));
    }
    for (name, value) in &remote.scalars {
        symbols.set(name, Variable::Scalar(value.clone()));
    }
    symbols
}

/// The iterations of a task.
struct Iterations<'a> {
    remote: &'a RemoteLoop,
    range: IterationRange,
    /// If they run on a stripe, what they read of it, the rows above it, and its own.
    stripe: Option<(&'a Slices, u64, u64)>,
}

impl Iterations<'_> {
    fn run(
        self,
        context: Context,
        mut symbols: SymbolTable,
        lines: &Mutex<Vec<String>>,
    ) -> Result<(RangeResult, TaskWork)> {
        let Iterations {
            remote,
            range,
            stripe,
        } = self;
        let parallel_loop = ParallelLoop {
            variable: &remote.variable,
            body: &remote.program.body,
            parallel: &Parallel::default(),
            position: None,
        };
        let started = Instant::now();
        let originals = symbols.clone();
        let start = Start::of_task(&remote.sums, &remote.written)?;
        let mut interpreter = Interpreter::new(&remote.program, context);
        let loops = &mut interpreter.planner.loops;
        loops.enter(parallel_loop.body, Some(parallel_loop.variable));

        let mut account = RangeAccount::default();
        let mut blocks = Vec::new();
        for (iteration, value) in range.iterations() {
            if let Some((slices, above, rows)) = stripe {
                let read = slices.in_stripe(value, above, rows);
                let (first, last) = read.ok_or_else(|| {
                    Error::plan(format!(
                        "the iteration {value} of '{}' reads rows that are not in one stripe",
                        remote.label
                    ))
                })?;
                symbols.set(slices::FIRST, Variable::Scalar(Literal::Int(first)));
                symbols.set(slices::LAST, Variable::Scalar(Literal::Int(last)));
            }
            let ran = interpreter.own_iteration(&parallel_loop, value, &start, &mut symbols);
            let printed =
                std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
            let printed = printed.into_iter().map(|line| (iteration, line));
            account.lines.extend(printed);
            match ran {
                Ok(own) => {
                    let (sums, changes) = own.into_sums_and_changes();
                    for (variable, sum) in sums {
                        let Variable::Matrix(sum) = sum else {
                            return Err(no_workers());
                        };
                        account.parts.push(RangePart::Sum {
                            variable,
                            iteration,
                        });
                        blocks.push(Block::whole(sum.into_block()));
                    }
                    for (variable, change) in changes {
                        let writes::Change::Parts(parts) = change else {
                            return Err(Error::internal(format!(
                                "'{variable}' is assigned whole where it is only written into"
                            )));
                        };
                        for part in parts {
                            account.parts.push(RangePart::Written {
                                variable: variable.clone(),
                                iteration,
                            });
                            let PartValue::Here(value) = part.value else {
                                return Err(no_workers());
                            };
                            let (rows, cols) = (part.rows.start, part.cols.start);
                            blocks.push(Block::new(rows, cols, value.into_block()));
                        }
                    }
                }
                Err(error) => {
                    account.failed = Some((iteration, error));
                    break;
                }
            }
        }
        if account.failed.is_none() {
            for name in &remote.results {
                if let (Some(Variable::Matrix(original)), Ok(Variable::Matrix(result))) =
                    (originals.find(name), symbols.take(name))
                    && let Some((part, block)) = change(name, original, &result)?
                {
                    account.parts.push(part);
                    blocks.push(block);
                }
            }
        }
        let work = TaskWork {
            compilation: interpreter.planner.compilation(),
            operator_time: started.elapsed(),
        };
        account.work = interpreter.context.recorder.take().into_work();
        Ok((RangeResult { account, blocks }, work))
    }
}

fn no_workers() -> Error {
    Error::internal("a task has no workers of its own")
}

/// What iterations changed of a result.
fn change(
    name: &str,
    original: &LocalMatrix,
    result: &LocalMatrix,
) -> Result<Option<(RangePart, Block)>> {
    if result.is(original) {
        return Ok(None);
    }
    let variable = name.to_owned();
    let (original, result) = (original.block(), result.block());
    if (original.rows(), original.cols()) != (result.rows(), result.cols()) {
        let replaced = RangePart::Replaced { variable };
        return Ok(Some((replaced, Block::whole(result.clone()))));
    }
    let Some((rows, cols)) = kernels::changed_part(original, result)? else {
        return Ok(None);
    };
    let part = kernels::right_index(
        result,
        IndexRange::new(rows.start as i64 + 1, rows.end as i64),
        IndexRange::new(cols.start as i64 + 1, cols.end as i64),
    )?;
    let block = Block::new(rows.start as u64, cols.start as u64, part);
    Ok(Some((RangePart::Changed { variable }, block)))
}
