//! Differential tests: what a script gives must not depend on how it is run.
//!
//! [`script`] runs a script in one [`Mode`] or in all of them and compares; [`data`] makes its inputs, [`naive`] computes what
//! to expect by loops that share no code with the kernels.

#![forbid(unsafe_code)]

pub mod data;
mod mode;
pub mod naive;
pub mod script;

pub use mode::Mode;
pub use script::{Run, Script};
