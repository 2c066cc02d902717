//! Readers of other libraries, which may panic over damaged files.

use std::panic::{self, AssertUnwindSafe};

use fulgurite_error::{Error, Result};

/// What the reader returns; a panic of it is a `data` error.
///
/// What it worked on is dropped with it, so that nothing half-done is seen.
pub(crate) fn reading<R>(kind: &str, read: impl FnOnce() -> Result<R>) -> Result<R> {
    match panic::catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result,
        Err(_) => Err(Error::data(format!("the {kind} file is damaged"))),
    }
}
