//! DAGs and programs: sizes, rewrites, JSON.

mod common;

mod any_size;
mod documents;
mod json;
mod program;
mod program_rewrites;
mod propagation;
mod rewrites;
mod text;
