//! The order of the code: which file knows which, read off the sources of the crates.
//!
//! [`modules`] parses a crate into modules with their names and the paths that they mention; [`arrows`]
//! resolves the paths to the files that define what they name; [`circles`] finds the files that know each
//! other. [`operators`] counts the files that name an operator.

#![forbid(unsafe_code)]

pub mod arrows;
pub mod circles;
pub mod modules;
pub mod operators;
mod paths;
pub mod repository;

#[cfg(test)]
mod tests;
