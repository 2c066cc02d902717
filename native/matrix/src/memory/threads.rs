//! Threads: each takes memory before its own code runs, and a refusal then ends the process.
//!
//! Rust maps a stack for signals, and the C library notes destructors and sets an arena aside. [`start_thread`] asks for all of it
//! before, and starts one thread at a time, so that no thread takes what was admitted for another.

use std::{
    hint::black_box,
    io,
    sync::{
        Mutex, PoisonError, RwLock, RwLockWriteGuard,
        mpsc::{Sender, channel},
    },
    thread,
};

use fulgurite_error::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{available, ballast};

/// The stack of a thread that asks for no other size.
const STACK_BYTES: usize = 2 << 20;
/// What Rust and the C library take as the thread begins, which is some pages.
const FIRST_BYTES: usize = 1 << 20;

/// What helps where the system refuses a thread.
const HELP: &str = "lower fulgurite.threads, or raise the process's limits (ulimit -v, -u)";

/// The error of a thread that the system did not start: it has no memory for its stack.
pub fn no_thread(error: &dyn std::fmt::Display) -> Error {
    Error::memory(format!("a thread can't be started: {error}"))
        .with_help("raise the process's limits (ulimit -v, -u)")
}

/// What a new thread calls first: all that it takes for itself is there from then on.
pub struct Begun(Sender<()>);

impl Begun {
    /// Lets the next thread start.
    pub fn tell(self) {
        // The C library sets memory aside at a thread's first allocation.
        drop(black_box(Box::new(0u8)));
        // The other side sees that the sender is gone.
        drop(self.0);
    }
}

/// Starts a thread on a stack of so many bytes, once there is room for all that it takes. Returns when it runs.
///
/// # Errors
/// `memory`, where there is no room, or the system refuses.
///
/// ```
/// let thread = fulgurite_matrix::memory::start_thread(None, |begun| {
///     std::thread::Builder::new().spawn(move || {
///         begun.tell();
///         7
///     })
/// })?;
/// assert_eq!(thread.join().unwrap(), 7);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn start_thread<T>(
    stack: Option<usize>,
    start: impl FnOnce(Begun) -> io::Result<T>,
) -> Result<T> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    ballast::check()?;
    available::admit(stack.unwrap_or(STACK_BYTES).saturating_add(FIRST_BYTES))?;
    let (sender, receiver) = channel();
    let started = start(Begun(sender)).map_err(|error| no_thread(&error))?;
    // An error says that it has told.
    let _ = receiver.recv();
    Ok(started)
}

/// Where threads wait for each other as they start, so that none that works takes what the next one needs.
///
/// ```
/// use fulgurite_matrix::memory::{StartingLine, start_thread};
/// let line = StartingLine::default();
/// std::thread::scope(|scope| {
///     let held = line.hold();
///     for _ in 0..2 {
///         start_thread(None, |begun| {
///             std::thread::Builder::new().spawn_scoped(scope, || {
///                 begun.tell();
///                 line.wait();
///             })
///         })?;
///     }
///     drop(held);
///     Ok::<(), fulgurite_error::Error>(())
/// })?;
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct StartingLine(RwLock<()>);

impl StartingLine {
    /// Threads wait until this is dropped.
    pub fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait(&self) {
        drop(self.0.read());
    }
}

/// The builder's pool, of `count` threads with numbered names. Each starts as [`start_thread`] has it.
///
/// # Errors
/// As of [`start_thread`].
#[expect(
    clippy::disallowed_methods,
    reason = "the handler asks for each thread's room"
)]
pub fn thread_pool(builder: ThreadPoolBuilder, count: usize, name: &str) -> Result<ThreadPool> {
    builder
        .num_threads(count)
        .spawn_handler(|worker| {
            let name = format!("{name}-{}", worker.index());
            let started = start_thread(worker.stack_size(), |begun| {
                thread::Builder::new().name(name).spawn(|| {
                    begun.tell();
                    worker.run();
                })
            });
            started.map(drop).map_err(io::Error::other)
        })
        .build()
        .map_err(|error| {
            Error::memory(format!("{count} threads can't be started: {error}")).with_help(HELP)
        })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_next_thread_starts_when_one_has_begun() {
        let numbers = [1, 2, 3].map(|number| {
            start_thread(Some(256 << 10), |begun| {
                thread::Builder::new().spawn(move || {
                    begun.tell();
                    number
                })
            })
            .expect("there is room")
        });
        assert_eq!(numbers.map(|thread| thread.join().unwrap()), [1, 2, 3]);
    }

    #[test]
    fn threads_wait_at_the_line_until_all_have_started() {
        let line = StartingLine::default();
        let (at_work, works) = channel();
        thread::scope(|scope| {
            let held = line.hold();
            for number in 0..3 {
                let (line, at_work) = (&line, at_work.clone());
                let started = start_thread(None, |begun| {
                    thread::Builder::new().spawn_scoped(scope, move || {
                        begun.tell();
                        line.wait();
                        at_work.send(number).expect("somebody listens");
                    })
                });
                started.expect("there is room");
            }
            let early = works.recv_timeout(Duration::from_millis(50));
            assert!(early.is_err(), "{early:?} works already");
            drop(held);
        });
        drop(at_work);
        assert_eq!(works.iter().sum::<i32>(), 3);
    }

    #[test]
    fn a_thread_that_is_refused_is_an_error_and_the_next_one_starts() {
        let refused = start_thread(None, |_| Err::<(), _>(io::Error::other("no room")));
        let refused = refused.expect_err("it did not start");
        assert_eq!(refused.message(), "a thread can't be started: no room");
        let without_end = start_thread(Some(usize::MAX), |_| Ok(()));
        let without_end = without_end.expect_err("no machine has it");
        assert_eq!(without_end.kind(), fulgurite_error::ErrorKind::Memory);
        let pool = thread_pool(ThreadPoolBuilder::new(), 2, "test").expect("two threads start");
        assert_eq!(pool.install(rayon::current_num_threads), 2);
    }
}
