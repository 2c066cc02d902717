//! Cases as text: files that say what they test, a DAG or a CPlan, and what is expected.
//!
//! [`file`] reads and writes case files, [`check()`] compares a case with what it expects. What a case gives is
//! said by `sizes`, `rewrite`, `fusion` and `run`, one for each stage.

#![forbid(unsafe_code)]

pub mod file;
pub mod rewrite;

mod check;
mod fusion;
mod run;
mod sizes;
mod statements;

pub use check::check;
pub use file::{Case, Kind, cases};
