//! What outlives an execution: configuration, programs and compiled plans, the backend, and where prints go.

use std::{io::Write, sync::Arc};

use fulgurite_codegen::PlanCache;
use fulgurite_config::{Calibration, Config, Speeds};
use fulgurite_dataflow::Backend;
use fulgurite_distributed::{Workers, no_backend};
use fulgurite_dml::{CompiledCall, EvaluatedCall};
use fulgurite_error::{Error, Result};
use fulgurite_fusion::CostConstants;
use fulgurite_matrix::{Interrupt, memory::Budget};

use super::{plans::Conditions, programs::Programs, room::Room, watch::Watch};

/// Takes the lines that scripts print.
pub type PrintSink = Arc<dyn Fn(&str) -> Result<()> + Send + Sync>;

/// Compiles a call as the script of a request would make it.
pub(crate) type Evaluator = Arc<dyn Fn(&EvaluatedCall<'_>) -> Result<CompiledCall> + Send + Sync>;

/// What executions share. Cheap to clone.
#[derive(Clone)]
pub struct Session {
    pub config: Config,
    pub backend: Option<Arc<dyn Backend>>,
    pub plan_cache: Arc<PlanCache>,
    pub(crate) programs: Arc<Programs>,
    /// Default ones, without a calibration.
    pub(crate) speeds: Speeds,
    print: PrintSink,
    /// Ends executions.
    pub(crate) interrupt: Interrupt,
    pub(crate) watch: Option<Watch>,
    pub(crate) room: Option<Room>,
    /// Whether paths without a scheme name files that the backend knows.
    pub(crate) paths_elsewhere: bool,
    /// Compiles what the script calls by `eval`.
    pub(crate) evaluator: Option<Evaluator>,
    /// For a task, whose operators run where it does, whatever they take.
    pub(crate) in_task: bool,
    /// For whoever has one core: operators run on the thread that asks.
    pub(crate) on_calling_thread: bool,
}

impl Session {
    /// A session without a distributed backend; prints go to the standard output.
    pub fn new(config: Config) -> Self {
        let plan_cache = Arc::new(PlanCache::with_capacity(config.plan_cache_size));
        Session::of(config, plan_cache)
    }

    fn of(config: Config, plan_cache: Arc<PlanCache>) -> Self {
        Session {
            config,
            backend: None,
            plan_cache,
            programs: Arc::default(),
            speeds: Speeds::default(),
            print: Arc::new(|line| {
                writeln!(std::io::stdout(), "{line}").map_err(|error| {
                    Error::io(format!("cannot write to the standard output: {error}"))
                })
            }),
            interrupt: Interrupt::default(),
            watch: None,
            room: None,
            paths_elsewhere: false,
            evaluator: None,
            in_task: false,
            on_calling_thread: false,
        }
    }

    /// For iterations of a loop that run on a worker, planned as in the control program's process: there is a backend,
    /// which they may not call.
    pub(crate) fn for_iterations(
        config: Config,
        backend: Arc<dyn Backend>,
        plan_cache: &Arc<PlanCache>,
    ) -> Self {
        Session {
            backend: Some(backend),
            print: Arc::new(|_| Ok(())),
            in_task: true,
            ..Session::of(config, Arc::clone(plan_cache))
        }
    }

    /// With workers, which this backend runs.
    pub fn with_backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Shares compiled plans with other sessions of the process.
    pub fn with_plan_cache(mut self, plan_cache: Arc<PlanCache>) -> Self {
        self.plan_cache = plan_cache;
        self
    }

    /// Shares the programs of requests with other sessions of the process, so that one that comes again is not compiled
    /// and planned again.
    pub fn with_programs(mut self, programs: Arc<Programs>) -> Self {
        self.programs = programs;
        self
    }

    /// Plans with the speeds of this machine, unless the configuration says otherwise.
    pub fn with_calibration(mut self, calibration: Arc<Calibration>) -> Self {
        self.speeds = Speeds::of(calibration);
        self
    }

    /// Operators run on the thread that asks for them, as a task of others may not spread over their cores.
    pub fn on_calling_thread(mut self) -> Self {
        self.config.threads = 1;
        self.on_calling_thread = true;
        self
    }

    /// Hands lines that scripts print to this sink.
    pub fn with_print(mut self, print: PrintSink) -> Self {
        self.print = print;
        self
    }

    /// Executions end with an error of kind `interrupted` once this is set.
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// What one allocation may take that no operator of a program makes.
    pub fn budget(&self) -> Budget {
        match &self.room {
            Some(room) => Budget {
                bytes: room.bytes,
                setting: room.setting,
            },
            None => Budget {
                bytes: self.config.memory_local,
                setting: "fulgurite.memory.local",
            },
        }
    }

    /// Executions end with an error of kind `memory` before variables, results and intermediates, as far as their sizes are
    /// known, take more than this.
    pub fn with_room(mut self, room: Room) -> Self {
        self.room = Some(room);
        self
    }

    /// Tells of the latest execution, also while it runs.
    pub fn with_watch(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// # Errors
    /// That of who takes lines; `interrupted`: nothing is printed any more.
    pub(crate) fn print(&self, line: &str) -> Result<()> {
        self.interrupt.check()?;
        (self.print)(line)
    }

    /// The speeds of this machine, as far as they are known without measuring.
    pub fn known_speeds(&self) -> CostConstants {
        self.speeds.known(&self.config)
    }

    /// As [`Conditions::cost_constants`].
    pub(crate) fn cost_constants(&self, bytes: u64) -> Result<CostConstants> {
        self.conditions().cost_constants(bytes)
    }

    /// What plans depend on here.
    pub fn conditions(&self) -> Conditions<'_> {
        Conditions {
            config: &self.config,
            speeds: &self.speeds,
            has_workers: self.backend.is_some(),
        }
    }

    /// The workers, if there are any.
    pub(crate) fn workers_if_any(&self) -> Option<Workers<'_>> {
        self.backend.as_ref().map(|backend| Workers {
            backend,
            config: &self.config,
            speeds: &self.speeds,
        })
    }

    /// # Errors
    /// `internal`, where there are no workers.
    pub(crate) fn workers(&self) -> Result<Workers<'_>> {
        self.workers_if_any().ok_or_else(no_backend)
    }

    /// What the report calls the place of distributed operators.
    pub(crate) fn backend_name(&self) -> &str {
        self.backend
            .as_ref()
            .map_or("local", |backend| backend.name())
    }
}
