//! What functions compute: from arrays (or single values) to an array, after the types of Polars have been agreed on.
//!
//! A kernel gets arguments that already have the types its declaration asks for. A result of single values only is a single value.

pub mod arithmetic;
pub mod casts;
pub mod choice;
pub mod compare;
pub mod dates;
pub mod logic;
pub mod math;
pub mod text;
pub mod value;

pub use value::{Invocation, Kernel, Value};
