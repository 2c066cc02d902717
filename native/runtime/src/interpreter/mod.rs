//! The control program: runs a compiled program's blocks, in this process and on the workers.
//!
//! - [`control`] goes through the blocks; [`calls`] through functions; [`parfor`] through iterations on threads.
//! - [`planner`] plans a straight-line block for the sizes that its inputs have now; [`plan`] is the result.
//! - [`evaluate`] runs a planned block; [`placement`] says where each operator goes, [`transfers`] what stays
//!   with the workers, [`spread`] what is sent there to take less time.
//! - [`files`] reads and writes; [`data_file`] is where a file is.
//! - [`context`] is what evaluation needs besides variables, [`threads`] what operators run on.
//! - [`variables`]: what blocks read and write; [`written`]: matrices with parts that are not in their places yet;
//!   [`loop_writes`]: those of `for` and `while`.

mod calls;
mod context;
mod control;
mod data_file;
mod effects;
mod evaluate;
mod files;
mod fused;
mod loop_writes;
mod loops;
mod parfor;
mod placement;
mod plan;
mod planner;
mod printf;
mod range;
mod spread;
mod threads;
mod transfers;
mod variables;
mod written;

pub(crate) use context::Context;
pub(crate) use control::Interpreter;
pub(crate) use evaluate::evaluate;
pub(crate) use files::{declared_type, read_metadata, read_source, write_file};
pub(crate) use loop_writes::expected_writes;
pub(crate) use loops::Loops;
pub(crate) use parfor::expected_degree;
pub use parfor::run_range;
pub(crate) use placement::comes_back;
pub(crate) use plan::{BlockPlan, FusedPlan};
pub(crate) use planner::{Plans, plan_explained, plan_of};
pub(crate) use spread::expected_spread;
pub(crate) use threads::Threads;
pub(crate) use transfers::{Reason, Site, Transfers};
pub(crate) use variables::{LocalMatrix, SymbolTable, Variable};
pub(crate) use written::{Part, PartValue, Waiting, WrittenMatrix, dense_bytes};
