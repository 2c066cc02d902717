//! What an execution has done so far, for others than the one who waits for it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use fulgurite_codegen::{CacheStatistics, PlanCache};

use super::report::{Report, SharedRecorder};

/// Tells of the latest execution of the sessions that have it. Clones tell of the same.
#[derive(Clone, Default)]
pub struct Watch(Arc<Mutex<Option<Account>>>);

/// What a report is made of.
#[derive(Clone)]
pub(crate) struct Account {
    started: Instant,
    backend: String,
    recorder: SharedRecorder,
    plan_cache: Arc<PlanCache>,
    cached_before: CacheStatistics,
}

impl Account {
    /// Of an execution that begins to run, and was begun to be compiled at `started`.
    pub(crate) fn new(
        started: Instant,
        backend: &str,
        plan_cache: &Arc<PlanCache>,
        recorder: &SharedRecorder,
    ) -> Self {
        Account {
            started,
            backend: backend.to_owned(),
            recorder: recorder.clone(),
            plan_cache: Arc::clone(plan_cache),
            cached_before: plan_cache.statistics(),
        }
    }

    pub(crate) fn report(&self) -> Report {
        let recorder = self.recorder.lock().clone();
        let mut report = recorder.into_report(&self.backend);
        report.compiled_since(self.cached_before, &self.plan_cache);
        report.total_seconds = self.started.elapsed().as_secs_f64();
        report
    }
}

impl Watch {
    /// What the latest execution has done until now; none before the first one runs.
    pub fn report(&self) -> Option<Report> {
        let account = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        account.map(|account| account.report())
    }

    pub(crate) fn watch(&self, account: Account) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(account);
    }
}
