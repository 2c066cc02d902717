//! Runs compiled programs: the control program, basic and fused operators, and distributed dataflow.
//!
//! - [`execute`], [`explain`] and [`check`] take a [`Request`]; a [`Session`] holds what outlives it.
//! - `interpreter` runs a program's blocks: plans each for the sizes at hand, places its operators, evaluates it.
//! - `operators`: the basic operators on matrices in memory.
//! - `distributed`: operators cut by rows, as tasks over stripes; workers run a [`TaskRun`], and [`run_range`] for iterations
//!   of a `parfor`.
//! - [`dataflow`]: what a backend must do; [`backend`]: the one in this process.
//! - [`config`]: the table of configuration keys; [`calibration`]: the speeds of this machine, measured once.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod backend;
pub mod calibration;
pub mod config;
pub mod dataflow;
pub mod panics;
pub mod request;

mod distributed;
mod execution;
mod explain;
mod interpreter;
mod operators;
mod parfor_report;
mod planning_report;
mod programs;
mod report;
mod session;
mod value;
mod watch;

pub use config::Config;
pub use distributed::{Compilation, TaskMemory, TaskRun, TaskWork, asking_operator, combine};
pub use execution::{Execution, Outcome, OutputValue, check, execute, explain};
pub use explain::{ExplainFormat, ExplainLevel};
pub use interpreter::run_range;
pub use parfor_report::ParforReport;
pub use planning_report::{FusionReport, PlanningReport, Replan};
pub use programs::Programs;
pub use report::{OperatorReport, RemoteWork, Report};
pub use request::Request;
pub use session::{PrintSink, Session};
pub use value::Value;
pub use watch::Watch;
