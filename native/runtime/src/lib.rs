//! Runs compiled programs.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod backend_local;
pub mod config;
pub mod dataflow;
pub mod distributed;
pub mod explain;
pub mod operators;
pub mod program;
pub mod worker;

pub use config::Config;
pub use dataflow::{
    FusionReport, ParforReport, PlanningReport, RemoteWork, Replan, asking_operator,
};
pub use explain::explain;
pub use operators::{Value, panics};
pub use program::*;
pub use worker::{Compilation, TaskMemory, TaskRun, TaskWork, combine};
