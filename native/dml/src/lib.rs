//! The language: from a script's text to a program of HOP DAGs.
//!
//! 1. [`parse`]: text to tokens to the syntax tree ([`ast`]), for the whole language.
#![forbid(unsafe_code)]

mod suggest;
mod syntax;

pub use syntax::{ast, parse};
