//! The language: from a script's text to a program of HOP DAGs.
//!
//! 1. [`parse`]: text to tokens to the syntax tree ([`ast`]), for the whole language.
//! 2. [`compile`]: the tree to a [`Program`](fulgurite_hop::Program): names and types checked, scalar
//!    constants and `$`-arguments propagated, branches they decide dropped, calls of user functions taken
//!    out of expressions, one DAG for each statement block, only live variables written at its end.
//!
//! Built-in functions are declared in `builtins`, a table for each kind. What the language has but nothing
//! can run yet is an [`Unsupported`](fulgurite_error::ErrorKind::Unsupported) error at its place.
#![forbid(unsafe_code)]

mod builtins;
mod library;
mod lower;
mod options;
mod parfor;
mod suggest;
mod syntax;
mod warnings;

pub use builtins::{ArgumentDeclaration, ArgumentPresence, FunctionDeclaration, functions};
pub use library::Library;
pub use lower::{CompiledCall, EvaluatedArgument, EvaluatedCall, compile, compile_call};
pub use options::{
    CompileOptions, FileSystem, InputVariable, NoFiles, SourceResolver, parse_argument,
};
pub use syntax::{ast, parse};
pub use warnings::warnings;
