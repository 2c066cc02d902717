//! What an execution did: which operators ran where, how often and how long, and what planning cost.

mod compression;
mod remote;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub use compression::CompressionReport;
use fulgurite_codegen::{CacheStatistics, PlanCache};
use fulgurite_dataflow::{Form, FusionReport, ParforReport, PlanningReport, Replan};
use fulgurite_fusion::FusionStatistics;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The account of one execution. Prints as a table, the slowest operators first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub operators: Vec<OperatorReport>,
    /// Fused operators that were compiled before, in this process.
    pub plan_cache_hits: u64,
    pub plan_cache_misses: u64,
    /// Why fused operators were interpreted, where this process can't have machine code.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interpreted: Option<String>,
    /// Plans of statement blocks that were made, for sizes that had not been seen before.
    pub block_plans: u64,
    /// Why they were made, and how often they served again.
    #[serde(default)]
    pub planning: PlanningReport,
    #[serde(default)]
    pub fusion: FusionReport,
    /// How many iterations of each `parfor` ran at a time.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub parfors: Vec<ParforReport>,
    /// Which matrices were compressed, and why others were not.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub compressions: Vec<CompressionReport>,
    pub planning_milliseconds: f64,
    pub compile_milliseconds: f64,
    pub total_seconds: f64,
}

/// All runs of one operator in one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorReport {
    /// The operator's code and where in the script it stands: `ba(+*) mlogreg.dml:42`.
    pub label: String,
    /// `local`, or the backend's name.
    pub location: String,
    pub count: u64,
    pub seconds: f64,
    /// In what form the last run was on the workers: `operand 2 sent, parts combined`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub form: Option<String>,
    /// For fused operators, the plan as text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<String>,
    /// For fused operators, the sizes that the last run was planned with: of the result, then of what it reads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sizes: Option<String>,
}

/// A fused operator that ran.
pub(crate) struct FusedRun<'a> {
    /// Label and plan.
    pub(crate) plan: &'a Arc<str>,
    pub(crate) sizes: &'a Arc<str>,
}

/// Collects a [`Report`] while operators run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder {
    operators: Operators,
    planning: Duration,
    plans: PlanningReport,
    fusion: FusionReport,
    parfors: BTreeMap<String, ParforReport>,
    compressions: BTreeMap<String, CompressionReport>,
}

/// By their labels; those that ran here, and those that ran on the workers.
#[derive(Debug, Clone, Default)]
struct Operators {
    here: FxHashMap<Arc<str>, Entry>,
    there: FxHashMap<Arc<str>, Entry>,
}

impl Operators {
    /// Changes what an operator did. As a rule it ran before: then nothing is cloned.
    fn at(&mut self, label: &Arc<str>, distributed: bool, change: impl FnOnce(&mut Entry)) {
        let entries = match distributed {
            true => &mut self.there,
            false => &mut self.here,
        };
        match entries.get_mut(label) {
            Some(entry) => change(entry),
            None => change(entries.entry(Arc::clone(label)).or_default()),
        }
    }

    /// Labels, whether the operators were distributed, and what they did.
    fn into_entries(self) -> impl Iterator<Item = (Arc<str>, bool, Entry)> {
        let with = |distributed| move |(label, entry)| (label, distributed, entry);
        let here = self.here.into_iter().map(with(false));
        here.chain(self.there.into_iter().map(with(true)))
    }
}

#[derive(Debug, Clone, Default)]
struct Entry {
    count: u64,
    time: Duration,
    form: Option<String>,
    plan: Option<Arc<str>>,
    sizes: Option<Arc<str>>,
}

/// A [`Recorder`] that others look at while operators run.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedRecorder(Arc<Mutex<Recorder>>);

impl SharedRecorder {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Recorder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it; nothing is left.
    pub(crate) fn take(&self) -> Recorder {
        std::mem::take(&mut *self.lock())
    }
}

impl Recorder {
    pub(crate) fn operator(
        &mut self,
        label: &Arc<str>,
        distributed: bool,
        time: Duration,
        fused: Option<FusedRun>,
    ) {
        self.operators.at(label, distributed, |entry| {
            entry.count += 1;
            entry.time += time;
            if let Some(FusedRun { plan, sizes }) = fused {
                keep(&mut entry.plan, plan);
                keep(&mut entry.sizes, sizes);
            }
        });
    }

    /// In what form an operator ran on the workers.
    pub(crate) fn form(&mut self, label: &Arc<str>, form: &Form) {
        if let Some(entry) = self.operators.there.get_mut(label) {
            entry.form = Some(form.to_string());
        }
    }

    /// A block was planned.
    pub(crate) fn planned(&mut self, time: Duration, why: Replan, fusion: &FusionStatistics) {
        self.planning += time;
        self.fusion.add(fusion);
        self.plans.add(why);
    }

    /// A block's plan got new sizes.
    pub(crate) fn resized(&mut self, time: Duration) {
        self.planning += time;
        self.plans.resized += 1;
    }

    /// A block's plan served as it was; this long it took to find out, where that takes a while.
    pub(crate) fn served(&mut self, time: Duration) {
        self.planning += time;
        self.plans.served += 1;
    }

    /// A `parfor` ran.
    pub(crate) fn parfor(&mut self, run: ParforReport) {
        match self.parfors.get_mut(&run.label) {
            Some(known) => known.add(run),
            None => {
                self.parfors.insert(run.label.clone(), run);
            }
        }
    }

    /// A matrix was compressed, or not: the last decision at a place counts.
    pub(crate) fn compression(&mut self, run: CompressionReport) {
        self.compressions.insert(run.label.clone(), run);
    }

    /// Adds what one of several interpreters did.
    pub(crate) fn absorb(&mut self, other: Recorder) {
        for (label, distributed, one) in other.operators.into_entries() {
            self.operators.at(&label, distributed, |entry| {
                entry.count += one.count;
                entry.time += one.time;
                entry.form = one.form.or(entry.form.take());
                if one.plan.is_some() {
                    (entry.plan, entry.sizes) = (one.plan, one.sizes);
                }
            });
        }
        self.planning += other.planning;
        self.plans.absorb(&other.plans);
        self.fusion.absorb(&other.fusion);
        for run in other.parfors.into_values() {
            self.parfor(run);
        }
        self.compressions.extend(other.compressions);
    }

    pub(crate) fn into_report(self, backend: &str) -> Report {
        let mut operators: Vec<_> = self
            .operators
            .into_entries()
            .map(|(label, distributed, entry)| OperatorReport {
                label: label.to_string(),
                location: if distributed { backend } else { "local" }.to_owned(),
                count: entry.count,
                seconds: entry.time.as_secs_f64(),
                form: entry.form,
                plan: entry.plan.map(|plan| plan.to_string()),
                sizes: entry.sizes.map(|sizes| sizes.to_string()),
            })
            .collect();
        operators.sort_by(|a, b| {
            b.seconds
                .total_cmp(&a.seconds)
                .then_with(|| a.label.cmp(&b.label))
        });
        Report {
            operators,
            block_plans: self.plans.made.values().sum(),
            planning: self.plans,
            fusion: self.fusion,
            parfors: self.parfors.into_values().collect(),
            compressions: self.compressions.into_values().collect(),
            planning_milliseconds: self.planning.as_secs_f64() * 1e3,
            ..Report::default()
        }
    }
}

impl Report {
    /// Adds what the plan cache did since it was in this state.
    pub(crate) fn compiled_since(&mut self, before: CacheStatistics, cache: &PlanCache) {
        let after = cache.statistics();
        self.interpreted = cache.why_interpreted();
        let compile_time = after.compile_time.saturating_sub(before.compile_time);
        self.plan_cache_hits = after.hits.saturating_sub(before.hits);
        self.plan_cache_misses = after.misses.saturating_sub(before.misses);
        self.compile_milliseconds = compile_time.as_secs_f64() * 1e3;
    }
}

/// Remembers a text, which as a rule is the one that is there.
fn keep(slot: &mut Option<Arc<str>>, text: &Arc<str>) {
    match slot {
        Some(known) if Arc::ptr_eq(known, text) => {}
        _ => *slot = Some(Arc::clone(text)),
    }
}

/// How far the details of fused operators stand from the left.
const DETAILS: usize = 36;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>10}  {:>8}  {:<8}  operator",
            "seconds", "count", "where"
        )?;
        for operator in &self.operators {
            writeln!(
                f,
                "{:>10.4}  {:>8}  {:<8}  {}",
                operator.seconds, operator.count, operator.location, operator.label
            )?;
            if let Some(form) = &operator.form {
                writeln!(f, "{:DETAILS$}{form}", "")?;
            }
            if let Some(sizes) = &operator.sizes {
                writeln!(f, "{:DETAILS$}{sizes}", "")?;
            }
            // The label stands first, and there already.
            let plan = operator.plan.as_deref().unwrap_or_default();
            for line in plan.lines().skip(1) {
                writeln!(f, "{:DETAILS$}{line}", "")?;
            }
        }
        writeln!(f, "{}", self.planning)?;
        writeln!(f, "{}", self.fusion)?;
        for parfor in &self.parfors {
            writeln!(f, "{parfor}")?;
        }
        for compression in &self.compressions {
            writeln!(f, "{compression}")?;
        }
        write!(
            f,
            "total {:.3} s; planned {} blocks in {:.1} ms; compiled {} fused operators in {:.1} ms, {} from the cache",
            self.total_seconds,
            self.block_plans,
            self.planning_milliseconds,
            self.plan_cache_misses,
            self.compile_milliseconds,
            self.plan_cache_hits
        )?;
        match &self.interpreted {
            Some(reason) => write!(
                f,
                "\nno machine code, so that fused operators were interpreted: {reason}"
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_operator_stands_first() {
        let mut recorder = Recorder::default();
        let (slow, fast): (Arc<str>, Arc<str>) = ("ba(+*) a.dml:1".into(), "b(+) a.dml:2".into());
        recorder.operator(&fast, false, Duration::from_millis(1), None);
        recorder.operator(&slow, true, Duration::from_millis(20), None);
        recorder.operator(&slow, true, Duration::from_millis(30), None);
        recorder.form(&slow, &Form::of_selection());
        let fused: Arc<str> = "fused(0) Cell ua(+) a.dml:3".into();
        let run = FusedRun {
            plan: &"Cell ua(+)\nCell(main)\n  %0 = in0\n  %1 = u(^2) %0\n  ua(+) %1".into(),
            sizes: &"scalar from [10 x 10, nnz 7]".into(),
        };
        recorder.operator(&fused, false, Duration::from_millis(7), Some(run));
        insta::assert_snapshot!(recorder.into_report("spark"), @r"
           seconds     count  where     operator
            0.0500         2  spark     ba(+*) a.dml:1
                                            rows sent to their places
            0.0070         1  local     fused(0) Cell ua(+) a.dml:3
                                            scalar from [10 x 10, nnz 7]
                                            Cell(main)
                                              %0 = in0
                                              %1 = u(^2) %0
                                              ua(+) %1
            0.0010         1  local     b(+) a.dml:2
        plans of blocks: 0 made, 0 resized, 0 served again
        fusion: explored in 0.0 ms, selected in 0.0 ms with 0 plans costed, constructed in 0.0 ms
        total 0.000 s; planned 0 blocks in 0.0 ms; compiled 0 fused operators in 0.0 ms, 0 from the cache
        ");
    }
}
