//! What goes wrong when functions are called, in words.

use fulgurite_error::Error;
use fulgurite_hop::Literal;

/// How deeply calls of functions may nest: beyond, a script recurses without end.
pub(super) const MAX_CALLS: usize = 5_000;

pub(super) fn too_deep(function: &str) -> Error {
    Error::runtime(format!(
        "more than {MAX_CALLS} calls inside one another, which is the limit; the last is of '{function}'"
    ))
    .with_help("does the recursion end? A loop has no such limit")
}

pub(super) fn without_result(function: &str, result: &str) -> Error {
    Error::runtime(format!(
        "function '{function}' did not assign its result '{result}'"
    ))
}

/// A result is declared as an int, and its value is a double.
pub(super) fn double_for_int(function: &str, result: &str, value: f64) -> Error {
    Error::validation(format!(
        "result '{result}' of '{function}' is an int, the function gives the double {}",
        Literal::Double(value)
    ))
    .with_help("convert it with as.integer()")
}
