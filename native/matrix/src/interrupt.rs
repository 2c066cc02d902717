//! Asking a run to stop.
//!
//! One flag belongs to a run. The interpreter asks it before each operator, fused operators before each tile, and parallel
//! kernels before each chunk. A kernel that is interrupted skips its remaining chunks, so its result is worthless;
//! whoever called [`Interrupt::within`] must ask [`Interrupt::check`] before using it.
//!
//! Kernels take no flag as an argument. They find that of the run in a thread-local variable, and hand it on to the tasks
//! that they start: a thread of a shared pool may take a task of another run while it waits.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use fulgurite_error::{Error, Result};

/// Whether a run is to stop. Clones are the same flag; the default one can't be set.
///
/// ```
/// # use fulgurite_matrix::Interrupt;
/// let interrupt = Interrupt::new();
/// let same = interrupt.clone();
/// assert!(interrupt.check().is_ok());
/// same.set();
/// assert!(interrupt.check().is_err());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Option<Arc<AtomicBool>>);

thread_local! {
    static CURRENT: RefCell<Interrupt> = const { RefCell::new(Interrupt(None)) };
}

impl Interrupt {
    pub fn new() -> Self {
        Interrupt(Some(Arc::default()))
    }

    /// Asks the run to stop. It can't be taken back.
    pub fn set(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }

    pub fn is_set(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// # Errors
    /// `interrupted`, once the flag is set.
    pub fn check(&self) -> Result<()> {
        match self.is_set() {
            true => Err(Error::interrupted("the run was interrupted")),
            false => Ok(()),
        }
    }

    /// That of the run which the calling thread works for.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// This one, or that of the run which the calling thread works for if this one can't be set.
    pub fn or_current(&self) -> Self {
        match &self.0 {
            Some(_) => self.clone(),
            None => Self::current(),
        }
    }

    /// Runs something that looks for the flag with [`Interrupt::current`].
    pub fn within<R>(&self, work: impl FnOnce() -> R) -> R {
        let _before = Before(CURRENT.replace(self.clone()));
        work()
    }

    /// Runs a chunk of a parallel kernel, unless the flag is set.
    pub(crate) fn chunk<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        match &self.0 {
            None => Some(work()),
            Some(flag) if flag.load(Ordering::Relaxed) => None,
            Some(_) => Some(self.within(work)),
        }
    }
}

/// Puts the flag back that was there before.
struct Before(Interrupt);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::by_chunks;

    #[test]
    fn the_flag_of_a_thread_is_that_of_the_innermost_run() {
        let (outer, inner) = (Interrupt::new(), Interrupt::new());
        outer.within(|| {
            inner.within(|| Interrupt::current().set());
            assert!(inner.is_set() && !Interrupt::current().is_set());
        });
        outer.set();
        assert!(!Interrupt::current().is_set());
    }

    #[test]
    fn chunks_are_skipped_once_the_flag_is_set() {
        let interrupt = Interrupt::new();
        let filled = interrupt
            .within(|| {
                by_chunks(100, 10, |chunk, cells| {
                    assert!(!Interrupt::current().is_set());
                    cells.fill(1.0);
                    if chunk == 0 {
                        Interrupt::current().set();
                    }
                })
            })
            .unwrap();
        assert!(filled[..10] == [1.0; 10] && filled.len() == 100);
        // Not even the first one.
        let none = interrupt.within(|| by_chunks(100, 10, |_, cells| cells.fill(1.0)));
        assert_eq!(none.unwrap(), [0.0; 100]);
        // Nobody has asked this thread's next run to stop.
        assert_eq!(
            by_chunks(2, 1, |_, cells| cells.fill(1.0)).unwrap(),
            [1.0; 2]
        );
    }
}
