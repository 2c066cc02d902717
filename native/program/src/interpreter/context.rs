//! What evaluation needs besides variables: the session, threads, the report.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use fulgurite_codegen::PlanCache;
use fulgurite_config::Config;
use fulgurite_dataflow::{Backend, Primitive, RemoteLoop, Reply, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::HopId;
use fulgurite_matrix::{Interrupt, MatrixBlock};
use fulgurite_operators::Threads;

use crate::{report::SharedRecorder, room::Limit, session::Session, symbols::SymbolTable};

/// Shared by all blocks of one execution.
pub(crate) struct Context {
    pub(crate) session: Session,
    pub(crate) threads: Threads,
    pub(crate) recorder: SharedRecorder,
    pub(crate) meter: Meter,
    pub(crate) scratch: Scratch,
    pub(crate) limit: Option<Limit>,
    /// Set when nobody wants the results any more: an iteration before this one has failed.
    abandoned: Vec<Arc<AtomicBool>>,
}

impl Context {
    pub(crate) fn new(session: Session) -> Result<Self> {
        let threads = match session.on_calling_thread {
            true => Threads::of_task()?,
            false => Threads::new(session.config.effective_threads())?,
        };
        Ok(Context {
            threads: threads.interrupted_by(&session.interrupt),
            session,
            recorder: SharedRecorder::default(),
            meter: Meter::default(),
            scratch: Scratch::default(),
            limit: None,
            abandoned: Vec::new(),
        })
    }

    /// From now on the session's room, if it has one, limits what there is besides these inputs.
    pub(crate) fn limit_beside(&mut self, inputs: &SymbolTable) {
        let Some(room) = self.session.room else {
            return;
        };
        // An operator counts what it reads, too.
        let given = inputs.bytes_besides(&SymbolTable::default());
        self.session.config.memory_local = room.bytes.saturating_add(given);
        self.limit = Some(Limit::new(room, inputs));
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
            recorder: SharedRecorder::default(),
            meter: Meter::default(),
            scratch: Scratch::default(),
            limit: self.limit.clone(),
            abandoned: before.chain([abandoned]).cloned().collect(),
        }
    }

    /// # Errors
    /// `interrupted`, if the run is; `runtime`, where iterations need not go on; another error is the loop's.
    pub(crate) fn still_wanted(&self) -> Result<()> {
        self.session.interrupt.check()?;
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
        let interrupt = Interrupt::current();
        Ok(Context {
            threads: Threads::leased(remote.threads, remote.cut_for)?.interrupted_by(&interrupt),
            session: Session::for_iterations(config, backend, plan_cache).with_interrupt(interrupt),
            recorder: SharedRecorder::default(),
            meter: Meter::default(),
            scratch: Scratch::default(),
            limit: None,
            abandoned: Vec::new(),
        })
    }
}

/// Room that blocks use one after the other: loops ask for none in each iteration. Nothing is in it between blocks.
#[derive(Default)]
pub(crate) struct Scratch {
    /// By operator.
    pub(crate) values: Vec<Option<Variable>>,
    /// Readers of each value that are still to come.
    pub(crate) reads_left: Vec<u32>,
    /// What one operator reads.
    pub(crate) inputs: Vec<Variable>,
    /// What operators assign to their variables when the block is through.
    pub(crate) assigned: Vec<(HopId, Variable)>,
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
