//! What the evaluations of this process share: configuration, programs by their structure, compiled plans.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use fulgurite_codegen::PlanCache;
use fulgurite_config::{Calibration, Config};
use fulgurite_lazy::{COUNTS, Evaluator};
use fulgurite_program::{Programs, Room, Session};
use pyo3::prelude::*;

use crate::failure::raised;

/// Compiled operators. The configuration of the first engine says how many are kept.
static PLAN_CACHE: OnceLock<Arc<PlanCache>> = OnceLock::new();

/// Evaluates under one configuration.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Engine(pub Arc<Evaluator>);

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
        Ok(Engine(Arc::new(Evaluator::new(session))))
    }
}

/// To be called in a child process after a fork.
#[pyfunction]
pub fn forked() {
    fulgurite_lazy::forked();
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
