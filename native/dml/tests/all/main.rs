//! The language: what it accepts, refuses and becomes.

mod support;

mod diagnostics;
mod modules;
mod parfor;
mod parsing;
mod programs;
mod systemml_scripts;
mod validation;
