//! Scripts against a naive evaluation.

mod algorithms;
mod examples;
mod rewrites;
