//! What executors run: tasks on the stripes of a partition, and the combination of partial results.

use std::sync::Arc;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Block, MatrixBlock};
use fulgurite_runtime::{
    Compilation, Config,
    dataflow::{Combine, RangeTask, Task},
};

use serde::de::DeserializeOwned;

use crate::{
    registry::{Blocks, registry},
    request::plan_cache,
};

/// How the JSON of a range of iterations begins.
const RANGE: &[u8] = br#"{"range":"#;

/// Runs the task on the first stripes of the inputs, on the second ones, and so on; the handle of all results. Or runs a
/// range of a loop's iterations, perhaps on a stripe.
pub(crate) fn run(task: &[u8], stripes: &[i64], broadcasts: &[i64]) -> Result<i64> {
    if task.starts_with(RANGE) {
        return run_range(&parse(task)?, stripes, broadcasts);
    }
    let task: Task = parse(task)?;
    let inputs: Vec<Blocks> = stripes
        .iter()
        .map(|handle| registry().get(*handle))
        .collect::<Result<_>>()?;
    let broadcasts = matrices(broadcasts)?;
    let count = inputs.first().map_or(0, |blocks| blocks.len());
    if inputs.iter().any(|blocks| blocks.len() != count) {
        return Err(Error::dimension(format!(
            "the inputs of the task '{}' are partitions with different numbers of stripes",
            task.label
        )));
    }
    let cache = plan_cache(|| Config::default().plan_cache_size);
    let mut results: Vec<Block> = Vec::with_capacity(count);
    let mut compilation = Compilation::default();
    for index in 0..count {
        let stripes: Vec<Block> = inputs.iter().map(|blocks| blocks[index].clone()).collect();
        let result = fulgurite_runtime::run_task(&task, &stripes, &broadcasts, cache)?;
        results.extend(result.blocks);
        compilation += result.compilation;
    }
    Ok(registry().insert_compiled(results, compilation))
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
    let (result, compilation) =
        fulgurite_runtime::run_range(&task.of, task.range, stripe, &broadcasts, cache)?;
    Ok(registry().insert_range(result, compilation))
}

fn parse<T: DeserializeOwned>(task: &[u8]) -> Result<T> {
    serde_json::from_slice(task)
        .map_err(|error| Error::plan(format!("the task is not understood: {error}")))
}

fn matrices(handles: &[i64]) -> Result<Vec<Arc<MatrixBlock>>> {
    let matrices = handles.iter();
    matrices
        .map(|handle| registry().get_matrix(*handle).map(Arc::new))
        .collect()
}

/// The handle of one partial result made of two.
pub(crate) fn combine(combine: &[u8], left: i64, right: i64) -> Result<i64> {
    let combine: Combine = serde_json::from_slice(combine).map_err(|error| {
        Error::plan(format!(
            "the way to combine partial results is not understood: {error}"
        ))
    })?;
    let (left, right) = (registry().get_matrix(left)?, registry().get_matrix(right)?);
    fulgurite_runtime::combine(&combine, &left, &right)
        .map(|matrix| registry().insert_matrix(matrix))
}
