//! What the evaluations of this process share: configuration, programs by their structure, compiled plans.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use fulgurite_codegen::PlanCache;
use fulgurite_config::{Calibration, Config};
use fulgurite_error::{Error, Result};
use fulgurite_hop::Literal;
use fulgurite_program::{Prepared, Programs, Room, Session};
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::{failure::raised, structure::Structure};

/// Structures whose programs are kept.
const STRUCTURES: usize = 1024;
/// Programs of a structure that differ in literals. One more, and literals that change become variables: then rewrites
/// do not know them, and the program serves all of them.
const VALUES_AS_LITERALS: usize = 4;

/// What happened in this process so far.
pub static COUNTS: Counts = Counts {
    evaluations: AtomicU64::new(0),
    programs: AtomicU64::new(0),
    nanoseconds: AtomicU64::new(0),
};

/// Compiled operators. The configuration of the first engine says how many are kept.
static PLAN_CACHE: OnceLock<Arc<PlanCache>> = OnceLock::new();

/// This process was forked from one that had used the engine: its threads are not there.
static FORKED: AtomicBool = AtomicBool::new(false);

/// What happened so far.
#[derive(Debug)]
pub struct Counts {
    pub evaluations: AtomicU64,
    pub programs: AtomicU64,
    pub nanoseconds: AtomicU64,
}

/// Evaluates under one configuration.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Engine(pub Arc<Evaluator>);

/// What the evaluations of an engine share.
pub struct Evaluator {
    session: Session,
    programs: Mutex<ProgramCache>,
}

#[derive(Default)]
struct ProgramCache {
    by_structure: FxHashMap<Vec<u32>, Known>,
    /// Grows with each use.
    clock: u64,
}

struct Known {
    used: u64,
    variants: Vec<Arc<Variant>>,
}

/// A program of a structure, for these literals, or for all that differ in none but those that vary.
pub struct Variant {
    literals: Vec<Literal>,
    pub varies: Vec<bool>,
    pub program: Prepared,
}

impl Variant {
    fn serves(&self, literals: &[Literal]) -> bool {
        let mut known = self.literals.iter().zip(literals).zip(&self.varies);
        known.all(|((known, now), varies)| *varies || same(known, now))
    }
}

/// NaN is the same as NaN, and 0 another than -0.
fn same(left: &Literal, right: &Literal) -> bool {
    match (left, right) {
        (Literal::Double(left), Literal::Double(right)) => left.to_bits() == right.to_bits(),
        (left, right) => left == right,
    }
}

#[pymethods]
impl Engine {
    /// With these entries of the configuration, and defaults for the others. Results and intermediates of an evaluation may
    /// take `memory` bytes.
    #[new]
    #[pyo3(signature = (entries, memory=None))]
    fn new(
        py: Python<'_>,
        entries: BTreeMap<String, String>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let config = Config::default().with(&entries);
        let config = config.map_err(|error| raised(py, &error, None))?;
        let compiled =
            PLAN_CACHE.get_or_init(|| Arc::new(PlanCache::with_capacity(config.plan_cache_size)));
        let mut session = Session::new(config)
            .with_plan_cache(Arc::clone(compiled))
            .with_programs(Arc::<Programs>::default())
            .with_calibration(Calibration::of_this_machine());
        if let Some(bytes) = memory {
            session = session.with_room(Room {
                bytes,
                setting: "config(memory=...)",
            });
        }
        Ok(Engine(Arc::new(Evaluator {
            session,
            programs: Mutex::default(),
        })))
    }
}

impl Evaluator {
    /// # Errors
    /// `runtime`, in a process that was forked.
    pub fn session(&self) -> Result<&Session> {
        refuse_after_fork()?;
        Ok(&self.session)
    }

    fn programs(&self) -> MutexGuard<'_, ProgramCache> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program of a structure: one that is known, or a new one.
    ///
    /// # Errors
    /// `plan`, for a DAG that is inconsistent.
    pub fn program(&self, structure: &Structure) -> Result<Arc<Variant>> {
        let mut programs = self.programs();
        programs.clock += 1;
        let clock = programs.clock;
        let mut varies = vec![false; structure.literals.len()];
        if let Some(known) = programs.by_structure.get_mut(&structure.words) {
            known.used = clock;
            let place = known
                .variants
                .iter()
                .position(|variant| variant.serves(&structure.literals));
            if let Some(place) = place {
                return Ok(Arc::clone(&known.variants[place]));
            }
            if known.variants.len() >= VALUES_AS_LITERALS {
                for variant in &known.variants {
                    let literals = variant.literals.iter().zip(&structure.literals);
                    for (varies, (known, now)) in varies.iter_mut().zip(literals) {
                        *varies |= !same(known, now);
                    }
                }
            }
        }
        let variant = Arc::new(Variant {
            literals: structure.literals.clone(),
            program: Prepared::new(structure.dag(&varies))?,
            varies,
        });
        COUNTS.programs.fetch_add(1, Ordering::Relaxed);
        programs.make_room();
        let known = programs
            .by_structure
            .entry(structure.words.clone())
            .or_insert(Known {
                used: clock,
                variants: Vec::new(),
            });
        if known.variants.len() >= VALUES_AS_LITERALS {
            // This one serves more.
            known.variants.pop();
        }
        known.variants.insert(0, Arc::clone(&variant));
        Ok(variant)
    }
}

impl ProgramCache {
    /// Lets go of the half that was not used for longest, where there are too many.
    fn make_room(&mut self) {
        if self.by_structure.len() < STRUCTURES {
            return;
        }
        let mut uses: Vec<u64> = self.by_structure.values().map(|known| known.used).collect();
        uses.sort_unstable();
        let middle = uses[uses.len() / 2];
        self.by_structure.retain(|_, known| known.used > middle);
    }
}

/// # Errors
/// `runtime`, in a process that was forked.
pub fn refuse_after_fork() -> Result<()> {
    match FORKED.load(Ordering::Relaxed) {
        false => Ok(()),
        true => Err(Error::runtime(
            "this process was forked from one that had used fulgurite, whose threads are not here",
        )
        .with_help("start processes with multiprocessing.set_start_method('spawn'), or fork before the first evaluation")),
    }
}

/// To be called in a child process after a fork.
#[pyfunction]
pub fn forked() {
    let used = COUNTS.evaluations.load(Ordering::Relaxed) > 0;
    FORKED.fetch_or(used, Ordering::Relaxed);
}

/// What happened in this process so far, by name.
#[pyfunction]
pub fn statistics() -> BTreeMap<&'static str, f64> {
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
    let compiled = PLAN_CACHE.get().map(|cache| cache.statistics());
    let compiled = compiled.unwrap_or_default();
    BTreeMap::from([
        ("evaluations", count(&COUNTS.evaluations)),
        ("programs", count(&COUNTS.programs)),
        ("seconds", count(&COUNTS.nanoseconds) / 1e9),
        ("operators_compiled", compiled.misses as f64),
        ("operators_reused", compiled.hits as f64),
        ("compile_seconds", compiled.compile_time.as_secs_f64()),
    ])
}
