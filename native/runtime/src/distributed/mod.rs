//! Operators on the workers, as compositions of dataflow primitives.
//!
//! - [`row_wise`]: which operators can be cut by rows, and how.
//! - [`launch`]: an operator that can, as a task over stripes, broadcasts and scalars.
//! - [`moments`]: variances, which need more than one sum.
//! - [`task`]: what a worker runs.
//! - [`handles`]: owners of datasets and broadcasts.

mod handles;
mod launch;
mod moments;
mod row_wise;
mod task;

pub(crate) use handles::{Broadcast, Dataset, DistributedMatrix, Partitioning};
pub(crate) use launch::{Operator, Workers};
pub(crate) use row_wise::{InputFacts, Place, RowWise, row_wise};
pub use task::{combine, run_task};
