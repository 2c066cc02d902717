//! Threads that call a backend at the same time: iterations of a `parfor` that make jobs.

use std::any::Any;

/// Threads that may call a backend beside the one that may anyway, as long as this lives. They are counted from 0.
pub trait Callers: Sync {
    /// The calling thread is this one of them until what this gives is dropped.
    fn enter(&self, number: usize) -> Box<dyn Any>;

    /// Ends what runs for this thread with an error that nobody will see.
    fn cancel(&self, number: usize);

    /// An error of this thread is the loop's, those of the others are not: the backend may know more of it.
    fn failed(&self, number: usize);
}

/// Of a backend that any thread may call at any time.
pub(super) struct AnyThread;

impl Callers for AnyThread {
    fn enter(&self, _: usize) -> Box<dyn Any> {
        Box::new(())
    }

    fn cancel(&self, _: usize) {}

    fn failed(&self, _: usize) {}
}
