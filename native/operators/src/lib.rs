//! Operators in one process: values, basic and fused operators, and the threads that they run on.
//!
//! - `value`: what operators take and give.
//! - [`panics`]: those of libraries, which become errors.
//! - `threads`: the pools that operators run on.
//! - `basic`: one HOP, its inputs' values in, its value out.
//! - `plan`: a statement block as it is evaluated, with its fused operators.
//! - `steps`: fused operators on column groups, taken apart.
//! - `fused`: runs a fused operator by machine code.
//! - `evaluate`: runs an operator of a planned block, or a block that needs nothing but this process.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod basic;
mod evaluate;
mod fused;
pub mod panics;
mod plan;
mod steps;
mod threads;
mod value;

pub use basic::{cumulative, group_function, matrix_text, scalar_operator};
pub use evaluate::{Locally, guarded_operator, not_evaluated, undefined};
pub use plan::{BlockPlan, FusedPlan};
pub use threads::Threads;
pub use value::Value;
