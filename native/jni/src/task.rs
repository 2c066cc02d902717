//! What executors run: tasks on the stripes of a partition, and the combination of partial results.

use std::sync::Arc;

use fulgurite_config::Config;
use fulgurite_dataflow::{Combine, RangeTask, Task};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Block, Interrupt, MatrixBlock, kernels};
use fulgurite_worker::TaskWork;

use crate::{
    ready::{parse, with_task},
    registry::{Blocks, registry},
    request::plan_cache,
};

/// How the JSON of a range of iterations begins.
const RANGE: &[u8] = br#"{"range":"#;

/// Runs the task on the first stripes of its inputs, on the second ones, and so on; a handle for the result of each. Or runs
/// a range of a loop's iterations, perhaps on a stripe.
pub(crate) fn run(task: &[u8], stripes: &[i64], broadcasts: &[i64]) -> Result<Vec<i64>> {
    if task.starts_with(RANGE) {
        return Ok(vec![run_range(&parse(task)?, stripes, broadcasts)?]);
    }
    let mut results: Vec<Blocks> = Vec::new();
    let work = each(task, stripes, broadcasts, |blocks| {
        results.push(blocks.into());
        Ok(())
    })?;
    // What was done is told once.
    let mut work = Some(work);
    let inserted = results
        .into_iter()
        .map(|blocks| registry().insert_result(blocks, work.take().unwrap_or_default()));
    Ok(inserted.collect())
}

/// Runs the task as [`run`] does, and combines the results in order: the handle of one, which begins with `before` unless
/// that is 0.
pub(crate) fn run_combined(
    task: &[u8],
    how: &[u8],
    before: i64,
    stripes: &[i64],
    broadcasts: &[i64],
) -> Result<i64> {
    let how = parse_combine(how)?;
    let mut combined = match before {
        0 => None,
        handle => Some(registry().get_matrix(handle)?),
    };
    let work = each(task, stripes, broadcasts, |blocks| {
        for block in blocks {
            let both = match combined.take() {
                Some(left) => fulgurite_worker::combine(&how, &left, &block.matrix)?,
                None => block.matrix,
            };
            combined = Some(both);
        }
        Ok(())
    })?;
    let combined = combined.ok_or_else(|| Error::plan("a task runs on no stripe"))?;
    Ok(registry().insert_result([Block::whole(combined)], work))
}

/// What the task takes at most on the stripes of these runs, one after the other, beside them; 0 where nobody knows. Results stay, or
/// are combined.
pub(crate) fn memory(
    task: &[u8],
    combining: bool,
    stripes: &[i64],
    broadcasts: &[i64],
) -> Result<i64> {
    if task.starts_with(RANGE) {
        return Ok(0);
    }
    with_task(task, |run| {
        let inputs = Inputs::of(run.task(), stripes, broadcasts)?;
        let (mut results, mut beside) = (0u64, 0u64);
        for stripes in &inputs.runs {
            let over = inputs.over.as_ref();
            let Some(taken) = run.memory(stripes, &inputs.broadcasts, over) else {
                return Ok(0);
            };
            results = match combining {
                // The next one, and what they are combined to, beside what the first ones were.
                true => results.max(taken.result.saturating_mul(3)),
                false => results.saturating_add(taken.result),
            };
            beside = beside.max(taken.peak - taken.result.min(taken.peak));
        }
        Ok(i64::try_from(results.saturating_add(beside)).unwrap_or(i64::MAX))
    })
}

/// Runs the task on the stripes of each run in turn, which stand one run after the other. If it goes over another dataset, a
/// stripe of that is the last of the broadcasts.
fn each(
    task: &[u8],
    stripes: &[i64],
    broadcasts: &[i64],
    mut take: impl FnMut(Vec<Block>) -> Result<()>,
) -> Result<TaskWork> {
    with_task(task, |run| {
        let inputs = Inputs::of(run.task(), stripes, broadcasts)?;
        let interrupt = Interrupt::current();
        for stripes in &inputs.runs {
            interrupt.check()?;
            take(run.on(stripes, &inputs.broadcasts, inputs.over.as_ref())?)?;
        }
        Ok(run.take_work())
    })
}

/// What handles stand for.
struct Inputs {
    runs: Vec<Vec<Block>>,
    broadcasts: Vec<Arc<MatrixBlock>>,
    over: Option<Block>,
}

impl Inputs {
    fn of(task: &Task, stripes: &[i64], broadcasts: &[i64]) -> Result<Self> {
        let (over, broadcasts) = match (&task.over, broadcasts) {
            (None, all) => (None, all),
            (Some(_), [others @ .., over]) => (Some(registry().get_block(*over)?), others),
            (Some(_), []) => {
                return Err(Error::plan(format!(
                    "the task '{}' runs without the stripe that it goes over",
                    task.label
                )));
            }
        };
        let inputs = task.stripes.len();
        if !stripes.len().is_multiple_of(inputs) {
            return Err(Error::dimension(format!(
                "{} stripes are not those of {inputs} inputs of the task '{}'",
                stripes.len(),
                task.label
            )));
        }
        let block = |handle: &i64| registry().get_block(*handle);
        let runs = stripes.chunks_exact(inputs);
        Ok(Inputs {
            runs: runs
                .map(|handles| handles.iter().map(block).collect())
                .collect::<Result<_>>()?,
            broadcasts: matrices(broadcasts)?,
            over,
        })
    }
}

fn run_range(task: &RangeTask, stripes: &[i64], broadcasts: &[i64]) -> Result<i64> {
    let stripes = stripes
        .iter()
        .map(|handle| registry().get(*handle))
        .collect::<Result<Vec<_>>>()?;
    let stripe = match &stripes[..] {
        [] => None,
        [blocks] if blocks.len() == 1 => blocks.first(),
        _ => {
            return Err(Error::plan(format!(
                "iterations of '{}' run on one stripe at a time",
                task.of.label
            )));
        }
    };
    let broadcasts = matrices(broadcasts)?;
    let cache = plan_cache(|| Config::default().plan_cache_size);
    let (result, work) =
        fulgurite_program::run_range(&task.of, task.range, stripe, &broadcasts, cache)?;
    Ok(registry().insert_range(result, work))
}

fn parse_combine(combine: &[u8]) -> Result<Combine> {
    serde_json::from_slice(combine).map_err(|error| {
        Error::plan(format!(
            "the way to combine partial results is not understood: {error}"
        ))
    })
}

fn matrices(handles: &[i64]) -> Result<Vec<Arc<MatrixBlock>>> {
    let matrices = handles.iter();
    matrices
        .map(|handle| registry().get_matrix(*handle).map(Arc::new))
        .collect()
}

/// The handle of one block made of several, below each other.
pub(crate) fn join(handles: &[i64]) -> Result<i64> {
    let blocks = handles.iter().map(|handle| registry().get_block(*handle));
    joined(&blocks.collect::<Result<Vec<_>>>()?)
}

/// The handle of one block made of blocks with these numbers, one of each handle, below each other.
pub(crate) fn join_blocks(handles: &[i64], numbers: &[i64]) -> Result<i64> {
    if handles.len() != numbers.len() {
        return Err(Error::argument(format!(
            "{} handles have {} numbers of blocks",
            handles.len(),
            numbers.len()
        )));
    }
    let blocks = handles.iter().zip(numbers).map(|(handle, number)| {
        let blocks = registry().get(*handle)?;
        let block = usize::try_from(*number).ok().and_then(|at| blocks.get(at));
        block
            .cloned()
            .ok_or_else(|| no_such_block(*number, &blocks))
    });
    joined(&blocks.collect::<Result<Vec<_>>>()?)
}

fn joined(blocks: &[Block]) -> Result<i64> {
    let matrices: Vec<&MatrixBlock> = blocks.iter().map(|block| &block.matrix).collect();
    let joined = kernels::rbind(&matrices)?;
    let row_offset = blocks.first().map_or(0, |block| block.row_offset);
    Ok(registry().insert([Block::new(row_offset, 0, joined)]))
}

/// The handle of the blocks `from until until` of a handle.
pub(crate) fn part(handle: i64, from: i64, until: i64) -> Result<i64> {
    let blocks = registry().get(handle)?;
    let number = |number: i64| usize::try_from(number).map_err(|_| no_such_block(number, &blocks));
    let part = blocks.get(number(from)?..number(until)?);
    let part = part.ok_or_else(|| no_such_block(until, &blocks))?;
    Ok(registry().insert(part.to_vec()))
}

fn no_such_block(number: i64, blocks: &[Block]) -> Error {
    Error::argument(format!(
        "there is no block {number} of {} blocks",
        blocks.len()
    ))
}

/// The handle of one partial result made of two.
pub(crate) fn combine(combine: &[u8], left: i64, right: i64) -> Result<i64> {
    let combine = parse_combine(combine)?;
    let (left, right) = (registry().get_matrix(left)?, registry().get_matrix(right)?);
    fulgurite_worker::combine(&combine, &left, &right)
        .map(|matrix| registry().insert_matrix(matrix))
}
