//! Compiled plans, run on operands.

mod support;

mod behaviour;
mod code;
mod patterns;
mod random;
mod registers;
