//! The stack of recursions as deep as a plan.

use fulgurite_error::Result;
use fulgurite_matrix::memory::on_stack_with;

/// What the deepest plan takes, see [`MOST_NESTED`](crate::MOST_NESTED).
const DEEPEST: usize = 32 << 20;

/// Runs with room for a recursion over the deepest plan.
pub fn on_deep_stack<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    on_stack_with(DEEPEST, DEEPEST + (1 << 20), run)
}
