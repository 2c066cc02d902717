//! What an executor runs on stripes: tasks, what they take, and how partial results become one.
//!
//! - `combine`: how two partial results become one.
//! - `pieces`: how a task's result is cut for a shuffle.
//! - `parts`: what is put over cells of a task's result.
//! - `task_memory`: what a task takes, from the sizes of its stripes.
//! - `task`: a task on stripes.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod combine;
mod parts;
mod pieces;
mod task;
mod task_memory;

pub use combine::{combine, compensated, moments};
pub use parts::{Packed, pack};
pub use task::{Compilation, TaskRun, TaskWork};
pub use task_memory::TaskMemory;
