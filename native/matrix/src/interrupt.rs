//! Asking a run to stop.
//!
//! One flag belongs to a run. The interpreter asks it before each operator, fused operators before each tile, and parallel
//! kernels before each chunk. A kernel that is interrupted skips its remaining chunks, so its result is worthless;
//! whoever called [`Interrupt::within`] must ask [`Interrupt::check`] before using it.
//!
//! Kernels take no flag as an argument. They find that of the run in a thread-local variable, and hand it on to the tasks
//! that they start: a thread of a shared pool may take a task of another run while it waits. Libraries look for no flag:
//! a sort of theirs is unwound from its comparisons, a factorization is left to itself.

use std::{
    cell::RefCell,
    cmp::Ordering,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc,
        atomic::{self, AtomicBool},
    },
};

use fulgurite_error::{Error, Result};

use crate::{Parts, Progress};

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
pub struct Interrupt(Option<Arc<Run>>);

#[derive(Debug, Default)]
struct Run {
    is_to_stop: AtomicBool,
    progress: Progress,
}

thread_local! {
    static CURRENT: RefCell<Interrupt> = const { RefCell::new(Interrupt(None)) };
}

impl Interrupt {
    pub fn new() -> Self {
        Interrupt(Some(Arc::default()))
    }

    /// Asks the run to stop. It can't be taken back.
    pub fn set(&self) {
        if let Some(run) = &self.0 {
            run.is_to_stop.store(true, atomic::Ordering::Relaxed);
        }
    }

    pub fn is_set(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|run| run.is_to_stop.load(atomic::Ordering::Relaxed))
    }

    /// # Errors
    /// `interrupted`, once the flag is set.
    pub fn check(&self) -> Result<()> {
        match self.is_set() {
            true => Err(stopped()),
            false => Ok(()),
        }
    }

    /// An order for a sort in [`Interrupt::unwinding`], which it ends once the flag is set.
    pub(crate) fn order<T>(
        &self,
        order: impl Fn(&T, &T) -> Ordering,
    ) -> impl Fn(&T, &T) -> Ordering {
        move |left, right| {
            self.unwind_if_set();
            order(left, right)
        }
    }

    /// The same for a sort by keys.
    pub(crate) fn key<T, K>(&self, key: impl Fn(&T) -> K) -> impl Fn(&T) -> K {
        move |value| {
            self.unwind_if_set();
            key(value)
        }
    }

    #[inline]
    fn unwind_if_set(&self) {
        if self.is_set() {
            panic::resume_unwind(Box::new(Unwound));
        }
    }

    /// Runs a sort of a library, whose [`order`](Self::order) or [`key`](Self::key) looks for the flag.
    ///
    /// # Errors
    /// `interrupted`, where the flag ended it.
    pub(crate) fn unwinding<R>(work: impl FnOnce(&Self) -> R) -> Result<R> {
        let interrupt = Self::current();
        // What was being sorted is dropped by whoever gets the error.
        let result = panic::catch_unwind(AssertUnwindSafe(|| work(&interrupt)));
        result.or_else(|payload| match payload.is::<Unwound>() {
            true => Err(stopped()),
            false => panic::resume_unwind(payload),
        })
    }

    /// How far the run has come, if somebody may ask.
    pub fn progress(&self) -> Option<&Progress> {
        self.0.as_ref().map(|run| &run.progress)
    }

    /// Work in so many parts begins, each of which tells when it is through.
    pub fn parts(&self, parts: usize) -> Parts<'_> {
        Parts::of(self.progress(), parts)
    }

    /// Whether somebody may ask the run to stop.
    pub(crate) fn can_be_set(&self) -> bool {
        self.0.is_some()
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
            Some(run) if run.is_to_stop.load(atomic::Ordering::Relaxed) => None,
            Some(_) => Some(self.within(work)),
        }
    }
}

fn stopped() -> Error {
    Error::interrupted("the run was interrupted")
}

/// What [`Interrupt::unwind_if_set`] throws.
struct Unwound;

/// Puts the flag back that was there before.
struct Before(Interrupt);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use fulgurite_error::ErrorKind;
    use rayon::{ThreadPoolBuilder, slice::ParallelSliceMut};

    use super::*;
    use crate::memory::{by_chunks, thread_pool};

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
    fn sorts_are_unwound_and_other_panics_pass() {
        // How many cells are compared until the flag is set.
        let sorted = |until: usize| {
            let mut cells: Vec<u64> = (0..50_000).map(|cell| cell * 7919 % 50_000).collect();
            let (interrupt, compared) = (Interrupt::new(), AtomicUsize::new(0));
            let result = interrupt.within(|| {
                Interrupt::unwinding(|interrupt| {
                    cells.par_sort_unstable_by(interrupt.order(|left: &u64, right: &u64| {
                        if compared.fetch_add(1, atomic::Ordering::Relaxed) == until {
                            interrupt.set();
                        }
                        left.cmp(right)
                    }));
                })
            });
            (result.map(|()| cells), compared.into_inner())
        };
        let (cells, all) = sorted(usize::MAX);
        assert!(cells.expect("nothing ends it").is_sorted());
        let (stopped, some) = sorted(1000);
        let error = stopped.expect_err("it is to stop");
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        assert!(some < all / 2, "{some} of {all}");
        let other =
            panic::catch_unwind(|| Interrupt::unwinding(|_| panic::resume_unwind(Box::new(7))));
        assert_eq!(
            other.err().and_then(|payload| payload.downcast().ok()),
            Some(Box::new(7))
        );
    }

    #[test]
    fn chunks_are_skipped_once_the_flag_is_set() {
        let interrupt = Interrupt::new();
        let fill = || {
            by_chunks(100, 10, |chunk, cells| {
                assert!(!Interrupt::current().is_set());
                cells.fill(1.0);
                if chunk == 0 {
                    Interrupt::current().set();
                }
            })
        };
        // On one thread, no chunk has begun when the first one sets it.
        let thread = thread_pool(ThreadPoolBuilder::new(), 1, "test").unwrap();
        let filled = thread.install(|| interrupt.within(fill)).unwrap();
        assert!(filled[..10] == [1.0; 10] && filled[10..] == [0.0; 90]);
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
