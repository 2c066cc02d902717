//! Ranges of a loop's iterations. They need a control program, which a worker has only if its process brings one.

use std::sync::Arc;

use fulgurite_codegen::PlanCache;
use fulgurite_dataflow::{IterationRange, RangeResult, RemoteLoop};
use fulgurite_error::Result;
use fulgurite_matrix::{MatrixBlock, arrow_block::Block};

use super::task::TaskWork;

/// Runs a range of a loop's iterations, with a stripe those whose slices it has, on what was sent to every worker. What
/// goes wrong in one of them is in the account.
///
/// # Errors
/// `plan`, for broadcasts or a stripe that are not the loop's; `argument`, for a configuration of another build.
pub type RunRange = fn(
    remote: &RemoteLoop,
    range: IterationRange,
    stripe: Option<&Block>,
    broadcasts: &[Arc<MatrixBlock>],
    cache: &Arc<PlanCache>,
) -> Result<(RangeResult, TaskWork)>;
