//! Runs that Ctrl-C may end.
//!
//! Python's signal handlers run on its main thread alone. A run that may take long is on another thread, then, and the main
//! thread looks for signals meanwhile. That thread stays: one that begins shares a processor with the threads of operators at
//! first.

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::Interrupt;
use fulgurite_operators::panics;
use pyo3::prelude::*;

/// How long the main thread does not look for signals.
const PATIENCE: Duration = Duration::from_millis(20);

type Job = Box<dyn FnOnce() + Send>;

/// Where the thread takes its next run from.
static RUNNER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Has the thread run something.
///
/// # Errors
/// `memory`, where the system refuses a thread.
fn hand_over(job: Job) -> Result<()> {
    let mut runner = RUNNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*runner {
        sender
            .send(job)
            .map_err(|_| Error::internal("the thread that runs programs has ended"))?;
        return Ok(());
    }
    let (sender, receiver) = mpsc::channel::<Job>();
    let thread = thread::Builder::new().name("fulgurite".to_owned());
    let begun = thread.spawn(move || receiver.into_iter().for_each(|job| job()));
    begun.map_err(|error| Error::memory(format!("the system refuses a thread: {error}")))?;
    let sent = sender.send(job);
    *runner = Some(sender);
    sent.map_err(|_| Error::internal("the thread that runs programs has ended"))
}

/// Runs something on the other thread, and looks for signals; `meanwhile` is called between.
///
/// # Errors
/// The exception of a signal's handler, such as `KeyboardInterrupt`; then the run has ended, too.
pub fn with_signals<T: Send + 'static>(
    py: Python<'_>,
    interrupt: &Interrupt,
    run: impl FnOnce() -> Result<T> + Send + 'static,
    mut meanwhile: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<Result<T>> {
    let (sender, mut receiver) = mpsc::sync_channel(1);
    let job = Box::new(move || {
        // Nobody may wait any more.
        drop(sender.send(panics::caught(run)));
    });
    if let Err(error) = hand_over(job) {
        return Ok(Err(error));
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
}
