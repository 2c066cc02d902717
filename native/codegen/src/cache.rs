//! Each process compiles each plan once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use fulgurite_error::Result;
use fulgurite_fusion::cplan::CPlan;
use rayon::prelude::*;

use crate::compiled::CompiledPlan;

/// Plans the cache keeps; SystemML's has the same bound.
const DEFAULT_CAPACITY: usize = 1024;

/// Compiled plans by plan. As plans are free of sizes, a plan is compiled once for all sizes.
///
/// When full, it forgets the plan that was not asked for the longest; its code is freed when the last holder
/// of the [`Arc`] is done with it.
#[derive(Debug)]
pub struct PlanCache {
    state: Mutex<State>,
    /// Of plans that were kept beside theirs, beside those of the state: nobody has to lock that for them.
    kept_hits: AtomicU64,
    capacity: usize,
}

/// What a cache gave for a plan, kept beside the plan by who uses it, so that the next request need not look at the plan: to
/// hash and compare one takes time for each of its nodes.
#[derive(Debug, Default)]
pub struct Kept {
    compiled: OnceLock<Arc<CompiledPlan>>,
    /// Compiled ahead of the first request, which is no hit.
    is_ahead: AtomicBool,
    /// How long the request that filled this took to compile the plan, where the cache did not have it.
    spent: OnceLock<Duration>,
}

impl Kept {
    /// How long requests with this took to compile the plan; `None` where the cache had it.
    pub fn compile_time(&self) -> Option<Duration> {
        self.spent.get().copied()
    }
}

impl Clone for Kept {
    fn clone(&self) -> Self {
        Kept {
            compiled: self.compiled.clone(),
            is_ahead: AtomicBool::new(self.is_ahead.load(Ordering::Relaxed)),
            spent: self.spent.clone(),
        }
    }
}

/// What the cache did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStatistics {
    pub hits: u64,
    pub misses: u64,
    /// Plans it holds now.
    pub plans: usize,
    pub compile_time: Duration,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<CPlan, Entry>,
    /// Why a plan is interpreted, if any is.
    interpreted: Option<String>,
    /// Counts requests: an entry's `used` is the number of the last one for it.
    clock: u64,
    statistics: CacheStatistics,
}

#[derive(Debug)]
struct Entry {
    plan: Arc<CompiledPlan>,
    used: u64,
}

impl Default for PlanCache {
    fn default() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }
}

impl PlanCache {
    pub fn new() -> Self {
        Self::default()
    }

    /// A cache of at most this many plans (at least one).
    pub fn with_capacity(capacity: usize) -> Self {
        PlanCache {
            state: Mutex::new(State::default()),
            kept_hits: AtomicU64::new(0),
            capacity: capacity.max(1),
        }
    }

    /// # Errors
    /// As [`CompiledPlan::compile`]; failures are not kept.
    pub fn get_or_compile(&self, plan: &CPlan) -> Result<Arc<CompiledPlan>> {
        self.find_or_compile(plan).map(|(plan, _)| plan)
    }

    /// And how long it took to compile the plan, where that was to be done.
    fn find_or_compile(&self, plan: &CPlan) -> Result<(Arc<CompiledPlan>, Option<Duration>)> {
        if let Some(known) = self.lock().find(plan) {
            return Ok((known, None));
        }
        // Compiled outside the lock: two threads may compile the same new plan, and one result is dropped.
        let compiled = Arc::new(CompiledPlan::compile(plan)?);
        let time = compiled.compile_time();
        Ok((self.lock().insert(compiled, self.capacity), Some(time)))
    }

    /// [`PlanCache::get_or_compile`] for a plan that always comes with the same `kept`.
    ///
    /// # Errors
    /// As [`CompiledPlan::compile`]; failures are not kept.
    pub fn get_or_compile_kept<'k>(
        &self,
        plan: &CPlan,
        kept: &'k Kept,
    ) -> Result<&'k CompiledPlan> {
        if let Some(known) = kept.compiled.get() {
            let is_first = kept.is_ahead.load(Ordering::Relaxed)
                && kept.is_ahead.swap(false, Ordering::Relaxed);
            if !is_first {
                self.kept_hits.fetch_add(1, Ordering::Relaxed);
            }
            return Ok(known);
        }
        let (compiled, time) = self.find_or_compile(plan)?;
        if let Some(time) = time {
            kept.spent.get_or_init(|| time);
        }
        Ok(kept.compiled.get_or_init(|| compiled))
    }

    /// Compiles those of these plans that it does not have, on rayon's threads: operators of a block need not wait
    /// for each other. What can't be compiled is left to the request for it, which says why.
    pub fn compile_ahead<'p>(&self, plans: impl Iterator<Item = (&'p CPlan, &'p Kept)>) {
        let mut missing: Vec<(&CPlan, &Kept)> = Vec::new();
        for (plan, kept) in plans {
            let is_known = kept.compiled.get().is_some()
                || missing.iter().any(|(other, _)| *other == plan)
                || self.lock().entries.contains_key(plan);
            if !is_known {
                missing.push((plan, kept));
            }
        }
        if missing.len() < 2 {
            return;
        }
        let compile = |(plan, kept)| Some((CompiledPlan::compile(plan).ok()?, kept));
        let compiled: Vec<(CompiledPlan, &Kept)> = missing
            .into_par_iter()
            .with_max_len(1)
            .filter_map(compile)
            .collect();
        for (compiled, kept) in compiled {
            let compiled = self.lock().insert(Arc::new(compiled), self.capacity);
            if kept.compiled.set(compiled).is_ok() {
                kept.is_ahead.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Forgets all plans. The code of a plan is freed at once, or when its last holder is done with it.
    pub fn clear(&self) {
        self.lock().entries.clear();
    }

    pub fn statistics(&self) -> CacheStatistics {
        let state = self.lock();
        CacheStatistics {
            hits: state.statistics.hits + self.kept_hits.load(Ordering::Relaxed),
            plans: state.entries.len(),
            ..state.statistics
        }
    }

    /// Why plans are interpreted in this process; `None` where those so far have machine code.
    pub fn why_interpreted(&self) -> Option<String> {
        self.lock().interpreted.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way through a change, so a poisoned state is still whole.
        self.state.lock().unwrap_or_else(|error| error.into_inner())
    }
}

impl State {
    fn find(&mut self, plan: &CPlan) -> Option<Arc<CompiledPlan>> {
        self.clock += 1;
        let entry = self.entries.get_mut(plan)?;
        entry.used = self.clock;
        self.statistics.hits += 1;
        Some(Arc::clone(&entry.plan))
    }

    fn insert(&mut self, compiled: Arc<CompiledPlan>, capacity: usize) -> Arc<CompiledPlan> {
        self.statistics.misses += 1;
        self.statistics.compile_time += compiled.compile_time();
        if self.interpreted.is_none() {
            self.interpreted = compiled.why_interpreted().map(Into::into);
        }
        if let Some(entry) = self.entries.get(compiled.plan()) {
            return Arc::clone(&entry.plan);
        }
        while self.entries.len() >= capacity {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(plan) = oldest.map(|(plan, _)| plan.clone()) else {
                break;
            };
            self.entries.remove(&plan);
        }
        let entry = Entry {
            plan: Arc::clone(&compiled),
            used: self.clock,
        };
        self.entries.insert(compiled.plan().clone(), entry);
        compiled
    }
}
