//! Runs a compiled program's blocks, in this process and on the workers.
//!
//! - `context`: what evaluation needs besides variables.
//! - `range`: the values of a loop's variable.
//! - `call_errors`: what goes wrong when functions are called.
//! - `printf`, `effects`: what statements print, and how they stop.
//! - `data_file`: where a file is; `files`: reads and writes it.
//! - `frame_files`: files of frames.
//! - `frames`: operators on frames.
//! - `lists`: operators on lists.
//! - `spread`: products that take less time on the workers; `transfers`: what stays with them; `placement`: where each
//!   operator goes.
//! - `written`, `loop_writes`: matrices that loops keep parts of.
//! - `evaluate`: runs a planned block.
//! - `scalar_code`: loops and functions of scalars, compiled as a whole.
//! - `compression`: compresses what loops read.
//! - `planner`: plans a block for the sizes that its inputs have now.
//! - `control`: goes through blocks, functions and iterations.

mod call_errors;
mod compression;
mod context;
mod control;
mod data_file;
mod effects;
mod evaluate;
mod files;
mod frame_files;
mod frames;
mod lists;
mod loop_writes;
mod placement;
mod planner;
mod printf;
mod range;
mod scalar_code;
mod spread;
mod transfers;
mod written;

pub use compression::expected_compression;
pub use control::{expected_degree, run_range};
pub use files::{read_source, write_file};
pub use loop_writes::expected_writes;
pub use scalar_code::expected_scalar_code;
pub use transfers::{Reason, Site, Transfers, expected_spread};

pub(super) use context::Context;
pub(super) use control::Interpreter;
pub(super) use files::{declared_type, read_metadata};
pub(super) use written::whole;
