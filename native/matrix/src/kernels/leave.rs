//! Computations of libraries that never look whether the run is to stop.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use fulgurite_error::{Error, Result};
use rayon::ThreadPoolBuilder;

use crate::{Interrupt, memory};

/// How often [`leaving`] looks for the flag.
const LOOK: Duration = Duration::from_millis(10);

/// Runs a computation of a library which never looks for the flag, on threads of its own. The run that is to stop leaves
/// it to itself: it ends later, and nobody gets its result. Until then it keeps its threads and its memory.
///
/// # Errors
/// `interrupted`, before it began or while it still ran; `memory`, where the system refuses a thread.
pub(super) fn leaving<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    let interrupt = Interrupt::current();
    if !interrupt.can_be_set() {
        return Ok(work());
    }
    interrupt.check()?;
    // As many as it had got here, so that it gives the same bits.
    let count = rayon::current_num_threads();
    let threads = memory::thread_pool(ThreadPoolBuilder::new(), count, "fulgurite-left")?;
    let (sender, receiver) = mpsc::sync_channel(1);
    threads.spawn(move || {
        let result = panic::catch_unwind(AssertUnwindSafe(work));
        // Nobody may be left to take it.
        let _ = sender.send(result);
    });
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(payload)) => panic::resume_unwind(payload),
            Err(RecvTimeoutError::Timeout) => interrupt.check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::internal("a computation ended without a result"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_error::ErrorKind;

    use super::*;

    #[test]
    fn what_never_looks_is_left() {
        let (interrupt, (end, ended)) = (Interrupt::new(), mpsc::channel::<()>());
        let result = interrupt.within(|| leaving(|| 7));
        assert_eq!(result.ok(), Some(7));
        let flag = interrupt.clone();
        let left = interrupt.within(|| {
            leaving(move || {
                flag.set();
                ended.recv().is_ok()
            })
        });
        assert_eq!(
            left.map_err(|error| error.kind()),
            Err(ErrorKind::Interrupted)
        );
        drop(end);
        let other = Interrupt::new()
            .within(|| panic::catch_unwind(|| leaving(|| panic::resume_unwind(Box::new(7)))));
        let payload = other.map(|_: Result<()>| ()).expect_err("it panics");
        assert_eq!(payload.downcast().ok(), Some(Box::new(7)));
    }
}
