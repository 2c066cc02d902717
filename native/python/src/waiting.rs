//! Runs that Ctrl-C may end.
//!
//! Python's signal handlers run on its main thread alone. A run that may take long is on another thread, then, and the main
//! thread looks for signals meanwhile.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::Interrupt;
use fulgurite_operators::panics;
use pyo3::prelude::*;

/// How long the main thread does not look for signals.
const PATIENCE: Duration = Duration::from_millis(20);

/// Runs something on a thread of its own, and looks for signals; `meanwhile` is called between.
///
/// # Errors
/// The exception of a signal's handler, such as `KeyboardInterrupt`; then the run has ended, too.
pub fn with_signals<T: Send>(
    py: Python<'_>,
    interrupt: &Interrupt,
    run: impl FnOnce() -> Result<T> + Send,
    mut meanwhile: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<Result<T>> {
    thread::scope(|scope| {
        let (sender, mut receiver) = mpsc::sync_channel(1);
        let runner = thread::Builder::new()
            .name("fulgurite".to_owned())
            .spawn_scoped(scope, move || {
                // Nobody may wait any more.
                drop(sender.send(panics::caught(run)));
            });
        if let Err(error) = runner {
            return Ok(Err(Error::memory(format!(
                "the system refuses a thread: {error}"
            ))));
        }
        loop {
            let unique = &mut receiver;
            let waited = py.detach(move || unique.recv_timeout(PATIENCE));
            match waited {
                Ok(outcome) => return Ok(outcome),
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Err(Error::internal("a run ended without a result")));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let asked = py.check_signals().and_then(|()| meanwhile(py));
                    if let Err(raised) = asked {
                        interrupt.set();
                        // It ends soon, and what it reads belongs to the caller.
                        let unique = &mut receiver;
                        py.detach(move || unique.recv()).ok();
                        return Err(raised);
                    }
                }
            }
        }
    })
}
