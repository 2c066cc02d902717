//! Runs compiled programs: the control program, basic and fused operators, and distributed dataflow.
//!
//! Start with [`dataflow`] for what a backend must do.

#![forbid(unsafe_code)]

pub mod dataflow;
mod value;

pub use value::Value;
