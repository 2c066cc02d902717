//! What evaluation needs besides variables: the session, threads, the report.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use fulgurite_codegen::{ExecutionContext, PlanCache};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use rayon::ThreadPool;

use crate::{
    Config, Session,
    dataflow::{Backend, Primitive, RemoteLoop, Reply},
    report::Recorder,
};

/// Shared by all blocks of one execution.
pub(crate) struct Context {
    pub(crate) session: Session,
    pub(crate) threads: Threads,
    pub(crate) recorder: Recorder,
    pub(crate) meter: Meter,
    /// Set when nobody wants the results any more: an iteration before this one has failed.
    abandoned: Vec<Arc<AtomicBool>>,
}

impl Context {
    pub(crate) fn new(session: Session) -> Result<Self> {
        Ok(Context {
            threads: Threads::new(session.config.effective_threads())?,
            session,
            recorder: Recorder::default(),
            meter: Meter::default(),
            abandoned: Vec::new(),
        })
    }

    /// For iterations of a `parfor`, on threads of their own, until they are `abandoned`. Unless they are `in_reach` of the
    /// backend, that there are workers only decides how blocks are planned.
    pub(crate) fn for_iterations(
        &self,
        threads: Threads,
        in_reach: bool,
        abandoned: &Arc<AtomicBool>,
    ) -> Self {
        let mut session = self.session.clone();
        if let Some(backend) = session.backend.as_ref().filter(|_| !in_reach) {
            session.backend = Some(OutOfReach::instead_of(backend.as_ref()));
        }
        let before = self.abandoned.iter();
        Context {
            threads,
            session,
            recorder: Recorder::default(),
            meter: Meter::default(),
            abandoned: before.chain([abandoned]).cloned().collect(),
        }
    }

    /// # Errors
    /// `runtime`, where iterations need not go on; another error is the loop's.
    pub(crate) fn still_wanted(&self) -> Result<()> {
        let is_set = |abandoned: &Arc<AtomicBool>| abandoned.load(Ordering::Relaxed);
        match self.abandoned.iter().any(is_set) {
            true => Err(Error::runtime("an iteration before this one has failed")),
            false => Ok(()),
        }
    }

    /// For iterations of a `parfor` on a worker.
    pub(crate) fn for_remote_iterations(
        remote: &RemoteLoop,
        plan_cache: &Arc<PlanCache>,
    ) -> Result<Self> {
        let config = Config::default().with(&remote.config)?;
        let backend = Arc::new(OutOfReach(remote.backend.clone()));
        Ok(Context {
            threads: Threads::leased(remote.threads, remote.cut_for)?,
            session: Session::for_iterations(config, backend, plan_cache),
            recorder: Recorder::default(),
            meter: Meter::default(),
            abandoned: Vec::new(),
        })
    }

    /// For a task on a worker: one thread, no workers of its own.
    pub(crate) fn for_task(session: Session) -> Result<Self> {
        Ok(Context {
            threads: Threads::of_task()?,
            session,
            recorder: Recorder::default(),
            meter: Meter::default(),
            abandoned: Vec::new(),
        })
    }
}

/// Stands for a backend where it may not be called.
struct OutOfReach(String);

impl OutOfReach {
    fn instead_of(backend: &dyn Backend) -> Arc<dyn Backend> {
        Arc::new(OutOfReach(backend.name().to_owned()))
    }
}

impl Backend for OutOfReach {
    fn name(&self) -> &str {
        &self.0
    }

    fn is_in_reach(&self) -> bool {
        false
    }

    fn apply(&self, _: &Primitive, _: Option<&MatrixBlock>) -> Result<Reply> {
        Err(
            Error::internal("an iteration of a parfor needs the workers, which was not foreseen")
                .with_help("write `for` in place of `parfor`"),
        )
    }
}

/// The most memory that operators took while somebody measured.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    measures: bool,
    operators: u64,
}

impl Meter {
    pub(crate) fn measures(&self) -> bool {
        self.measures
    }

    /// Begins to measure; gives what an outer measurement needs to go on.
    pub(crate) fn start(&mut self) -> Meter {
        let inner = Meter {
            measures: true,
            operators: 0,
        };
        std::mem::replace(self, inner)
    }

    /// The most since [`Meter::start`], which gave `outer`.
    pub(crate) fn finish(&mut self, outer: Meter) -> u64 {
        let most = self.operators;
        *self = outer;
        self.note(|| most);
        most
    }

    /// Something takes this much at a time.
    pub(crate) fn note(&mut self, bytes: impl FnOnce() -> u64) {
        if self.measures {
            self.operators = self.operators.max(bytes());
        }
    }
}

/// The threads that local operators run on.
pub(crate) struct Threads {
    pool: Arc<ThreadPool>,
    /// For fused operators.
    pub(crate) fused: ExecutionContext,
    count: usize,
    /// Gives the pool back to the next loop's threads.
    #[expect(dead_code, reason = "held, not read")]
    lease: Option<Lease>,
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
            count,
            lease: None,
        })
    }

    /// Threads beside others, for one of the interpreters that run iterations. Operators cut their work as for `all`
    /// threads, which decides the bits of sums.
    pub(crate) fn for_iterations(count: usize, all: &Threads) -> Result<Self> {
        Self::leased(count, all.fused.threads())
    }

    /// Threads of their own, which cut work as for `cut_for` threads.
    fn leased(count: usize, cut_for: usize) -> Result<Self> {
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
            lease: Some(lease),
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn pool(&self) -> Arc<ThreadPool> {
        Arc::clone(&self.pool)
    }

    /// The calling thread alone: a task must not spread over the cores of others.
    fn of_task() -> Result<Self> {
        thread_local! {
            static POOL: std::cell::OnceCell<Arc<ThreadPool>> = const { std::cell::OnceCell::new() };
        }
        let pool = POOL.with(|pool| match pool.get() {
            Some(pool) => Ok(Arc::clone(pool)),
            None => this_thread().map(|made| Arc::clone(pool.get_or_init(|| made))),
        })?;
        Ok(Threads {
            pool,
            fused: ExecutionContext::single_threaded(),
            count: 1,
            lease: None,
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
    built(rayon::ThreadPoolBuilder::new(), count)
}

/// A pool of the calling thread: handing an operator over to another one takes longer than a small one runs. A thread that
/// is a pool's already gets another one beside it.
fn this_thread() -> Result<Arc<ThreadPool>> {
    match rayon::current_thread_index() {
        None => built(rayon::ThreadPoolBuilder::new().use_current_thread(), 1),
        Some(_) => start(1),
    }
}

fn built(pool: rayon::ThreadPoolBuilder, count: usize) -> Result<Arc<ThreadPool>> {
    pool.num_threads(count)
        .thread_name(|number| format!("fulgurite-{number}"))
        .build()
        .map(Arc::new)
        .map_err(|error| {
            Error::runtime(format!("{count} threads can't be started: {error}"))
                .with_help("lower fulgurite.threads")
        })
}
