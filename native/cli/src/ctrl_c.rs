//! Ctrl-C: a run ends soon, wherever it is, and says what it has done so far.
//!
//! The handler asks the run to stop. Loops, operators and readers do so at once. A pipe that nobody writes into is waited
//! for, so the handler's thread ends the process if the run is still there after [`GRACE`].

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

/// What a shell reports for a process that SIGINT ended: 128 and the signal's number.
pub const INTERRUPTED: u8 = 130;
/// How long a run may take to stop by itself.
const GRACE: Duration = Duration::from_millis(40);

/// Who tells of the end of the run: its own thread or the handler's, but not both.
#[derive(Clone, Default)]
pub struct Ending(Arc<Mutex<bool>>);

impl Ending {
    /// The run has ended. Does not return if the handler is ending the process.
    pub fn reached(&self) {
        if !self.is_first() {
            loop {
                thread::park();
            }
        }
    }

    fn is_first(&self) -> bool {
        let mut reached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut *reached, true)
    }
}

/// Has Ctrl-C stop the run. If it does not stop by itself, `tell` is called before the process ends.
///
/// Where signals are not POSIX's, the system ends the process.
///
/// # Errors
/// `memory`, where the system refuses the thread; `runtime`, where it refuses the handler.
pub fn stops(
    interrupt: &Interrupt,
    ending: &Ending,
    tell: impl Fn() + Send + 'static,
) -> Result<()> {
    let (interrupt, ending) = (interrupt.clone(), ending.clone());
    on_interrupts(move || {
        interrupt.set();
        thread::sleep(GRACE);
        if ending.is_first() {
            tell();
            std::process::exit(i32::from(INTERRUPTED));
        }
    })
}

#[cfg(unix)]
fn on_interrupts(handle: impl Fn() + Send + 'static) -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])
        .map_err(|error| Error::runtime(format!("Ctrl-C can't be handled: {error}")))?;
    let waiting = thread::Builder::new().name("ctrl-c".into());
    memory::start_thread(None, |begun| {
        waiting.spawn(move || {
            begun.tell();
            signals.forever().for_each(|_| handle());
        })
    })
    .map(drop)
}

#[cfg(not(unix))]
fn on_interrupts(_: impl Fn()) -> Result<()> {
    Ok(())
}
