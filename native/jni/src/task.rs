//! What executors run: tasks on the stripes of a partition, and the combination of partial results.

use std::sync::Arc;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::Block;
use fulgurite_runtime::{
    Compilation, Config,
    dataflow::{Combine, Task},
};

use crate::{
    registry::{Blocks, registry},
    request::plan_cache,
};

/// Runs the task on the first stripes of the inputs, on the second ones, and so on; the handle of all results.
pub(crate) fn run(task: &[u8], stripes: &[i64], broadcasts: &[i64]) -> Result<i64> {
    let task: Task = serde_json::from_slice(task)
        .map_err(|error| Error::plan(format!("the task is not understood: {error}")))?;
    let inputs: Vec<Blocks> = stripes
        .iter()
        .map(|handle| registry().get(*handle))
        .collect::<Result<_>>()?;
    let broadcasts = broadcasts
        .iter()
        .map(|handle| registry().get_matrix(*handle).map(Arc::new))
        .collect::<Result<Vec<_>>>()?;
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
