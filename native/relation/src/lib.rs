//! Plans over tables: filter, select, group, join, sort and their kin, with the semantics of Polars 2.1.
//!
//! A front end sends a plan as JSON ([`Relation::from_json`]). The names and types of a plan are looked up before anything runs
//! ([`Relation::schema`], [`resolve::resolve`]); all errors of names and types come from there. [`Relation::optimized`] moves
//! selections down and leaves out columns that nobody reads. [`Relation::reads`] says what is left to read of files. [`collect`] runs
//! one operator after the other.
//!
//! In the order of reading: [`types`], [`literal`], [`table`], [`kernels`], [`expression`], [`plan`], [`resolve`], [`optimize`],
//! [`engine`].
//!
//! Where the crate differs from Polars, on purpose:
//!
//! - a signed and an unsigned integer of 64 bits have no common type (Polars takes 128 bits), but are compared exactly;
//! - a number and a date, or a text and anything else, have no common type and are not compared;
//! - dates are not subtracted, as tables have no durations;
//! - remainders are those of IEEE quotients: Polars multiplies by the inverse of a literal divisor, which rounds once more;
//! - rows of an inner join keep the order of the left table.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod engine;
pub mod expression;
pub mod kernels;
pub mod literal;
pub mod plan;
pub mod resolve;
pub mod table;
pub mod types;

mod column_cache;
mod deep;
mod fused;
mod kept;
mod numbers;
mod optimize;
mod parallel;
mod reads;
mod text_codes;

pub use engine::collect;
pub use fused::{BesideColumn, Fusion, Observer, PlannedMatrix, WORTH_A_PLAN};
pub use plan::{MOST_NESTED, Relation};
pub use reads::Reads;
pub use table::{Columns, MOST_ROWS, Table};
