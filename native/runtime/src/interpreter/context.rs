//! What evaluation needs besides variables: the session, threads, the report.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use fulgurite_codegen::ExecutionContext;
use fulgurite_error::{Error, Result};
use rayon::ThreadPool;

use crate::{Session, report::Recorder};

/// Shared by all blocks of one execution.
pub(crate) struct Context {
    pub(crate) session: Session,
    pub(crate) threads: Threads,
    pub(crate) recorder: Recorder,
}

impl Context {
    pub(crate) fn new(session: Session) -> Result<Self> {
        Ok(Context {
            threads: Threads::new(session.config.effective_threads())?,
            session,
            recorder: Recorder::default(),
        })
    }

    /// For a task on a worker: one thread, no workers of its own.
    pub(crate) fn for_task(session: Session) -> Result<Self> {
        Ok(Context {
            threads: Threads::of_task()?,
            session,
            recorder: Recorder::default(),
        })
    }
}

/// The threads that local operators run on.
pub(crate) struct Threads {
    pool: Arc<ThreadPool>,
    /// For fused operators.
    pub(crate) fused: ExecutionContext,
}

impl Threads {
    pub(crate) fn new(count: usize) -> Result<Self> {
        let pool = shared(count)?;
        Ok(Threads {
            fused: match count {
                1 => ExecutionContext::single_threaded(),
                _ => ExecutionContext::with_pool(Arc::clone(&pool)),
            },
            pool,
        })
    }

    /// One thread for each thread that runs tasks: a task must not spread over the cores of others.
    fn of_task() -> Result<Self> {
        thread_local! {
            static POOL: std::cell::OnceCell<Arc<ThreadPool>> = const { std::cell::OnceCell::new() };
        }
        let pool = POOL.with(|pool| match pool.get() {
            Some(pool) => Ok(Arc::clone(pool)),
            None => start(1).map(|started| Arc::clone(pool.get_or_init(|| started))),
        })?;
        Ok(Threads {
            pool,
            fused: ExecutionContext::single_threaded(),
        })
    }

    /// Runs a basic operator, which spreads over the pool that it runs in. Nothing else runs there: callbacks to
    /// the session's host stay on the calling thread.
    pub(crate) fn run<R: Send>(&self, operator: impl FnOnce() -> R + Send) -> R {
        self.pool.install(operator)
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

fn start(count: usize) -> Result<Arc<ThreadPool>> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .thread_name(|number| format!("fulgurite-{number}"))
        .build()
        .map(Arc::new)
        .map_err(|error| {
            Error::runtime(format!("{count} threads can't be started: {error}"))
                .with_help("lower fulgurite.threads")
        })
}
