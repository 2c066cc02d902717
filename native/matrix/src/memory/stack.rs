//! The stack of recursions whose depth follows from a script.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use fulgurite_error::{Error, Result};

use super::budget::admit_to_process;

/// Runs on a stack that has `least` bytes: another one of `grown` bytes, where less is left of this one.
///
/// # Errors
/// Its own; `memory`, where the system has no room for another stack.
///
/// ```
/// let depth = fulgurite_matrix::memory::on_stack_with(64 << 10, 1 << 20, || Ok(3))?;
/// assert_eq!(depth, 3);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn on_stack_with<T>(least: usize, grown: usize, run: impl FnOnce() -> Result<T>) -> Result<T> {
    if stacker::remaining_stack().is_some_and(|left| left >= least) {
        return run();
    }
    admit_to_process(grown)?;
    // `grow` panics where the system refuses, which other threads may bring about after it was asked.
    let has_begun = Cell::new(false);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        stacker::grow(grown, || {
            has_begun.set(true);
            run()
        })
    }));
    ran.unwrap_or_else(|panic| match has_begun.get() {
        true => resume_unwind(panic),
        false => Err(
            Error::memory(format!("there is no room for a stack of {grown} bytes"))
                .with_help("raise the process's limits (ulimit -v)"),
        ),
    })
}

#[cfg(test)]
mod tests {
    use fulgurite_error::ErrorKind;

    use super::*;

    fn depth(levels: usize) -> Result<usize> {
        // What a level takes.
        let taken = std::hint::black_box([0u8; 4096]);
        on_stack_with(64 << 10, 1 << 20, || match levels {
            0 => Ok(usize::from(taken[0])),
            _ => Ok(1 + depth(levels - 1)?),
        })
    }

    #[test]
    fn the_stack_grows_with_the_depth() {
        assert_eq!(depth(5000), Ok(5000));
    }

    #[test]
    fn a_stack_without_room_is_a_memory_error_and_panics_stay_panics() {
        let refused = on_stack_with(usize::MAX, 1 << 60, || Ok(())).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Memory);
        let panicked = catch_unwind(|| on_stack_with::<()>(usize::MAX, 1 << 20, || panic!("own")));
        assert!(panicked.is_err());
    }
}
