//! Compiled plans, run on operands.

mod support;

mod behaviour;
mod code;
mod groups;
mod lanes;
mod patterns;
mod random;
mod registers;
mod several;
