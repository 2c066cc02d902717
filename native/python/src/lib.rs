//! The extension `fulgurite._native`, which the Python sources beside this crate call: conversions, and expressions that
//! become programs of high-level operators. It computes nothing.
//!
//! - `failure`: errors as Python's exceptions.
//! - `arrays`: memory of NumPy and SciPy as blocks, and back.
//! - `engine`: what evaluations share: configuration, compiled plans.
//! - `waiting`: runs that Ctrl-C may end.
//! - `evaluation`: computes expressions.
//! - `script`: runs and explains scripts and expressions.
//! - `frames`: tables, of Arrow's streams and back.
//! - `node`: expressions as Python has them.
//! - `tables`: tables of relational plans, of Arrow's streams, lists and files, and back.
//! - `relation`: relational plans, resolved, explained and run.
//! - `traced`: functions whose calls are one program.
//!
//! Invariants:
//! - No panic leaves this library, and every error becomes an exception of the package.
//! - The interpreter's lock is released while the engine works.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod arrays;
mod engine;
mod evaluation;
mod failure;
mod frames;
mod node;
mod relation;
mod script;
mod tables;
mod traced;
mod waiting;

#[global_allocator]
static ALLOCATOR: fulgurite_matrix::memory::Allocator = fulgurite_matrix::memory::Allocator;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::{
        engine::{Engine, forked, statistics},
        evaluation::evaluate,
        frames::PyFrame,
        node::{Node, Operator},
        relation::{
            PyPlan, relation_collect, relation_explain, relation_matrix, relation_observed,
            relation_planned, relation_schema,
        },
        script::{explain_dag, explain_script, run_script},
        tables::{PyReads, PyTable},
        traced::Traced,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        fulgurite_operators::panics::install_hook();
        fulgurite_matrix::memory::keep_freed_blocks();
        Ok(())
    }
}
