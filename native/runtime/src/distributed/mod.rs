//! Operators on the workers, as compositions of dataflow primitives.
//!
//! - [`row_wise`]: which operators can be cut by rows, and how; [`launch`] runs them, a task over stripes, broadcasts
//!   and scalars.
//! - [`compositions`]: operators that move rows or need several passes.
//! - [`large_product`]: how matrices are multiplied that may not be sent whole.
//! - [`form`]: what becomes of operands and results, as explanations and reports say it.
//! - [`workers`]: bringing matrices to the workers, and the primitives that move rows; [`task_builder`]: what a task
//!   reads and computes.
//! - [`moments`]: variances, which need more than one sum.
//! - [`task`]: what a worker runs; [`task_memory`]: what that takes; [`pieces`]: how its result is cut for a shuffle; [`parts`]: what is put into its result.
//! - [`handles`]: owners of datasets and broadcasts.
//! - [`on_behalf`]: which operator of the script asks for a primitive.

mod compensated;
mod compositions;
mod form;
mod handles;
mod large_product;
mod launch;
mod moments;
mod on_behalf;
mod parts;
mod pieces;
mod row_wise;
mod task;
mod task_builder;
mod task_memory;
mod workers;

pub(crate) use compositions::{Composition, Cut, IndexedPart, composition, indexed};
pub(crate) use form::{Form, Operand, OperandPlace};
pub(crate) use handles::{Broadcast, Dataset, DistributedMatrix, Partitioning, incomplete};
pub(crate) use large_product::{LargeProduct, Workforce};
pub(crate) use launch::Operator;
pub(crate) use on_behalf::OnBehalf;
pub use on_behalf::asking_operator;
pub(crate) use row_wise::{InputFacts, Output, Place, RowWise, Slot, row_wise};
pub use task::{Compilation, TaskRun, TaskWork, combine};
pub use task_memory::TaskMemory;
pub(crate) use workers::Workers;
