//! Runs compiled programs: the control program, basic and fused operators, and distributed dataflow.
//!
//! - [`execute`] and [`explain`] take a [`Request`]; a [`Session`] holds what outlives it.
//! - [`config`]: the table of configuration keys.
//! - [`operators`]: the basic operators on values.
//! - [`dataflow`]: what a backend must do.

#![forbid(unsafe_code)]

pub mod config;
pub mod dataflow;
pub mod operators;
pub mod request;

mod execution;
mod report;
mod session;
mod value;

pub use config::Config;
pub use execution::{Execution, Outcome, OutputValue, execute, explain};
pub use report::{OperatorReport, Report};
pub use request::{ExplainLevel, Request};
pub use session::{PrintSink, Session};
pub use value::Value;
