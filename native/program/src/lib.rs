//! The control program: from a request to its results.
//!
//! - `level`: what can be asked of a plan.
//! - [`request`]: what callers ask for.
//! - `symbols`: the variables of a program.
//! - `loops`: which of them stay the same while a loop runs.
//! - `workload`: how often a loop reads a matrix, and how.
//! - `plans`: plans of statement blocks for the sizes that their inputs have.
//! - `evaluated`: programs of calls whose functions the run names.
//! - `programs`: those of requests that came before.
//! - `report`: what an execution did; `watch`: the same for others, while it runs.
//! - `session`: what outlives an execution.
//! - `interpreter`: runs a program's blocks.
//! - `compile`: from a request to a program with sizes.
//! - `execution`: runs a request.
//! - `prepared`: a program that a front end built, without a request.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod compile;
mod evaluated;
mod execution;
mod interpreter;
mod level;
mod loops;
mod plans;
mod prepared;
mod programs;
mod report;
pub mod request;
mod room;
mod session;
mod symbols;
mod watch;
mod workload;

pub use compile::{FrontEnd, TracedProgram, check, compile_traced, on_deep_stack, warnings};
pub use execution::{Execution, Outcome, OutputValue, execute};
pub use interpreter::{
    Reason, Site, Transfers, expected_compression, expected_degree, expected_scalar_code,
    expected_spread, expected_writes, read_source, run_range, write_file,
};
pub use level::{ExplainFormat, ExplainLevel};
pub use loops::Loops;
pub use plans::{Conditions, ExplainedPlan, plan_explained, plan_of};
pub use prepared::Prepared;
pub use programs::Programs;
pub use report::{CompressionReport, OperatorReport, Report};
pub use request::Request;
pub use room::Room;
pub use session::{PrintSink, Session};
pub use watch::Watch;
