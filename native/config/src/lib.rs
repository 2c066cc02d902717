//! Configuration: the table of keys, and the speeds of this machine.
//!
//! - `memory`: how much of it this machine has.
//! - `cost`: the constants of the cost model as a configuration has them.
//! - `table`: the keys, each declared once; a [`Config`] holds their values.
//! - `calibration`: the speeds of this machine, measured once.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod calibration;
mod cost;
mod memory;
mod table;

pub use calibration::{Calibration, Speeds};
pub use cost::{CostSettings, Measured};
pub use table::{
    BackendChoice, CompressionMode, Config, Key, ProductForm, keys, to_markdown, to_text,
};
