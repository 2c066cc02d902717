//! Threads that operators run on: pools, which are kept from one execution to the next.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use fulgurite_codegen::ExecutionContext;
use fulgurite_error::Result;
use fulgurite_matrix::{Interrupt, memory};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The threads that local operators run on.
pub struct Threads {
    pool: Arc<ThreadPool>,
    /// For fused operators.
    pub(super) fused: ExecutionContext,
    count: usize,
    /// Of the run that operators belong to.
    interrupt: Interrupt,
    /// Gives the pool back to the next loop's threads.
    #[expect(dead_code, reason = "held, not read")]
    lease: Option<Lease>,
}

impl Threads {
    /// The pool of so many threads that executions share.
    ///
    /// # Errors
    /// `memory`, where the system refuses a thread.
    pub fn new(count: usize) -> Result<Self> {
        let pool = match OwnPool::of_this_thread(count)? {
            Some(own) => own,
            None => shared(count)?,
        };
        Ok(Threads {
            fused: match count {
                1 => ExecutionContext::single_threaded(),
                _ => ExecutionContext::with_pool(Arc::clone(&pool)),
            },
            pool,
            count,
            interrupt: Interrupt::default(),
            lease: None,
        })
    }

    /// Threads beside others, for one of the interpreters that run iterations. Operators cut their work as for `all`
    /// threads, which decides the bits of sums.
    pub fn for_iterations(count: usize, all: &Threads) -> Result<Self> {
        let threads = Self::leased(count, all.fused.threads())?;
        Ok(threads.interrupted_by(&all.interrupt))
    }

    /// Threads of their own, which cut work as for `cut_for` threads.
    pub fn leased(count: usize, cut_for: usize) -> Result<Self> {
        let count = count.max(1);
        let lease = Lease::take(count)?;
        let pool = Arc::clone(&lease.pool);
        let fused = match count {
            1 => ExecutionContext::single_threaded(),
            _ => ExecutionContext::with_pool(Arc::clone(&pool)),
        };
        Ok(Threads {
            fused: fused.cut_for(cut_for),
            pool,
            count,
            interrupt: Interrupt::default(),
            lease: Some(lease),
        })
    }

    /// Operators end once this is set.
    pub fn interrupted_by(self, interrupt: &Interrupt) -> Self {
        Threads {
            fused: self.fused.interrupted_by(interrupt.clone()),
            interrupt: interrupt.clone(),
            ..self
        }
    }

    /// As how many threads operators cut their work for.
    pub fn cut_for(&self) -> usize {
        self.fused.threads()
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The pool itself, for work that is no operator.
    pub fn pool(&self) -> Arc<ThreadPool> {
        Arc::clone(&self.pool)
    }

    /// The flag of the run, which work in the pool has to find: `pool.install(|| interrupt.within(work))`.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.or_current()
    }

    /// The calling thread alone: a task must not spread over the cores of others.
    pub fn of_task() -> Result<Self> {
        thread_local! {
            static POOL: OnceCell<Arc<ThreadPool>> = const { OnceCell::new() };
        }
        let pool = POOL.with(|pool| match pool.get() {
            Some(pool) => Ok(Arc::clone(pool)),
            None => this_thread().map(|made| Arc::clone(pool.get_or_init(|| made))),
        })?;
        Ok(Threads {
            pool,
            fused: ExecutionContext::single_threaded(),
            count: 1,
            interrupt: Interrupt::default(),
            lease: None,
        })
    }

    /// Runs a basic operator, which spreads over the pool that it runs in. Nothing else runs there: callbacks to
    /// the session's host stay on the calling thread.
    ///
    /// # Errors
    /// The operator's; `interrupted`, in place of whatever came of it: it may have left out cells.
    pub fn run<R: Send>(&self, operator: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        let interrupt = self.interrupt();
        let result = self.pool.install(|| interrupt.within(operator));
        interrupt.check()?;
        result
    }
}

/// How long an operator takes at least after which threads linger: waking one takes some 10 us.
const WORTH_LINGERING: Duration = Duration::from_micros(100);
/// How long they look for work before they sleep.
const LINGERS: Duration = Duration::from_micros(300);
/// How often they look before they let others have the core.
const LOOKS: usize = 64;

/// Threads that linger. Only those of one pool do at a time.
static LINGERING: AtomicUsize = AtomicUsize::new(0);

impl Threads {
    /// The pool's other threads look for work for a moment after an operator that took so long: the next one often comes at
    /// once, and a thread that sleeps misses the beginning of it.
    pub fn linger_after(&self, elapsed: Duration) {
        if elapsed < WORTH_LINGERING || self.count == 1 {
            return;
        }
        let own = self.pool.current_thread_index();
        let others = self.count - usize::from(own.is_some());
        let relaxed = Ordering::Relaxed;
        let begun = LINGERING.compare_exchange(0, others, relaxed, relaxed);
        if begun.is_ok() {
            self.pool.spawn_broadcast(move |thread| {
                if Some(thread.index()) != own {
                    linger();
                    LINGERING.fetch_sub(1, Ordering::Relaxed);
                }
            });
        }
    }
}

/// Does what work there is, until there was none for a while.
fn linger() {
    let mut last = Instant::now();
    loop {
        for _ in 0..LOOKS {
            match rayon::yield_now() {
                Some(rayon::Yield::Executed) => last = Instant::now(),
                _ => std::hint::spin_loop(),
            }
        }
        if last.elapsed() > LINGERS {
            return;
        }
        std::thread::yield_now();
    }
}

/// The pool of the first thread that runs scripts, which is one of the pool's threads: an operator begins there at once,
/// and wakes others as it goes. Handed over, it begins when another thread has woken up, which takes 10 us and more; and
/// operators of a millisecond took up to twice as long then, as if both threads had begun on the same core. There is but
/// one at a time, since a thread stays in its pool, and the pool's other threads stay with it.
struct OwnPool {
    pool: Arc<ThreadPool>,
    threads: usize,
}

static IS_OWNED: AtomicBool = AtomicBool::new(false);

impl OwnPool {
    fn of_this_thread(threads: usize) -> Result<Option<Arc<ThreadPool>>> {
        thread_local! {
            static OWN: OnceCell<OwnPool> = const { OnceCell::new() };
        }
        OWN.with(|own| {
            if own.get().is_none()
                && rayon::current_thread_index().is_none()
                && !IS_OWNED.swap(true, Ordering::Relaxed)
            {
                let pool = built(ThreadPoolBuilder::new().use_current_thread(), threads);
                let pool = pool.inspect_err(|_| IS_OWNED.store(false, Ordering::Relaxed))?;
                let _ = own.set(OwnPool { pool, threads });
            }
            let own = own.get().filter(|own| own.threads == threads);
            Ok(own.map(|own| Arc::clone(&own.pool)))
        })
    }
}

impl Drop for OwnPool {
    fn drop(&mut self) {
        IS_OWNED.store(false, Ordering::Relaxed);
    }
}

/// Pools are kept: executions come by the thousand.
fn shared(count: usize) -> Result<Arc<ThreadPool>> {
    static POOLS: Mutex<BTreeMap<usize, Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&count) {
        return Ok(Arc::clone(pool));
    }
    let pool = start(count)?;
    pools.insert(count, Arc::clone(&pool));
    Ok(pool)
}

/// A pool for one user at a time, which keeps its threads for the next.
struct Lease {
    pool: Arc<ThreadPool>,
    threads: usize,
}

static FREE: Mutex<BTreeMap<usize, Vec<Arc<ThreadPool>>>> = Mutex::new(BTreeMap::new());

impl Lease {
    fn take(threads: usize) -> Result<Self> {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = free.get_mut(&threads).and_then(Vec::pop);
        drop(free);
        let pool = match kept {
            Some(pool) => pool,
            None => start(threads)?,
        };
        Ok(Lease { pool, threads })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let pools = free.entry(self.threads).or_default();
        pools.push(Arc::clone(&self.pool));
    }
}

fn start(count: usize) -> Result<Arc<ThreadPool>> {
    built(ThreadPoolBuilder::new(), count)
}

/// A pool of the calling thread: handing an operator over to another one takes longer than a small one runs. A thread that
/// is a pool's already gets another one beside it.
fn this_thread() -> Result<Arc<ThreadPool>> {
    match rayon::current_thread_index() {
        None => built(ThreadPoolBuilder::new().use_current_thread(), 1),
        Some(_) => start(1),
    }
}

fn built(pool: ThreadPoolBuilder, count: usize) -> Result<Arc<ThreadPool>> {
    memory::thread_pool(pool, count, "fulgurite").map(Arc::new)
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn threads_that_linger_do_what_comes_and_sleep_then() {
        let threads = Threads::leased(3, 3).unwrap();
        let sum = || threads.run(|| Ok((0..1000_u64).into_par_iter().sum::<u64>()));
        threads.linger_after(Duration::from_micros(1));
        assert_eq!(LINGERING.load(Ordering::Relaxed), 0);
        let mut lingered = false;
        for _ in 0..50 {
            assert_eq!(sum().unwrap(), 499_500);
            threads.linger_after(WORTH_LINGERING);
            lingered |= LINGERING.load(Ordering::Relaxed) > 0;
        }
        assert!(lingered);
        let begun = Instant::now();
        while LINGERING.load(Ordering::Relaxed) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
        assert_eq!(sum().unwrap(), 499_500);
    }
}
