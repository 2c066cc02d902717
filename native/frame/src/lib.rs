//! Frames: tables whose columns have types and names.
//!
//! A [`Frame`] is immutable and cheap to clone. Its columns are Arrow arrays; text is dictionary-encoded where that is smaller.
//! Rows and columns are counted from 0 here, and ranges exclude their end. Messages count from 1, as scripts do.
//!
//! - make one: [`Frame::new`], [`Frame::from_matrix`], [`csv::read`], [`parquet::read`], [`ipc::read`], [`json_lines::read`],
//!   [`Frame::from_record_batches`]; columns: [`Column`], [`TextBuilder`];
//! - look at it: [`Frame::rows`], [`Frame::cols`], [`Frame::names`], [`Frame::schema`], [`Frame::cell`], [`Frame::column`];
//! - take parts: [`Frame::slice`], [`Frame::select`], [`Frame::cbind`], [`Frame::rbind`], [`Frame::assign`];
//! - types: [`Frame::detect_schema`], [`Frame::apply_schema`], [`Frame::drop_invalid_type`], [`Frame::drop_invalid_length`];
//! - ask and clean: [`Frame::compare`], [`Frame::is_missing`], [`Frame::replace`], [`Frame::remove_empty`], [`Frame::order`],
//!   [`Frame::unique_rows`];
//! - leave: [`Frame::to_matrix`], [`Frame::to_text`], [`csv::write`], [`parquet::write`], [`ipc::write`], [`json_lines::write`], [`Frame::to_record_batch`];
//! - functions of cells and of whole frames: [`map::Function`];
//! - categories as numbers: [`transform::encode`], [`transform::apply`], [`transform::apply_embedding`], [`transform::decode`], [`transform::column_map`];
//! - texts as tokens: [`tokenize::tokenize`].
//!
//! Data whose size follows from input is admitted by [`fulgurite_matrix::memory`]; loops over rows ask the interrupt flag.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod csv;
pub mod ipc;
pub mod json_lines;
pub mod map;
pub mod parquet;
pub mod tokenize;
pub mod transform;

mod batches;
mod clean;
mod column;
mod compare;
mod frame;
mod guard;
mod json;
mod order;
mod parts;
mod schema;
mod text;
mod types;

pub use column::{Cell, Column, TextBuilder};
pub use compare::Comparison;
pub use frame::{ColumnMeta, Frame};
pub use schema::ColumnType;
