//! The order of the code in this repository.

mod crates;
mod modules;
mod operators;
