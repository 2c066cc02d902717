//! How many iterations of each `parfor` ran at a time, and why not more.

use std::fmt;

use fulgurite_hop::Bytes;
use serde::{Deserialize, Serialize};

/// All runs of one loop; what can differ is of the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParforReport {
    /// The loop and where it stands: `parfor i kmeans.dml:42`.
    pub label: String,
    pub runs: u64,
    /// In all runs together.
    pub iterations: u64,
    /// Iterations at a time.
    pub degree: usize,
    /// Threads of the operators in each.
    pub threads_each: usize,
    /// What an iteration takes: estimated from sizes, or else what the first one took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iteration_bytes: Option<u64>,
    /// What limits the degree.
    pub reason: String,
    /// `local`, or the backend whose tasks ran the iterations.
    pub location: String,
    /// Why there, where there is a choice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub location_reason: Option<String>,
    /// How results were put together on the workers, where that was done there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub merged: Option<String>,
    /// Ranges of iterations that were tasks of one job; 0 where they ran in this process.
    pub tasks: u64,
}

impl ParforReport {
    /// `on spark in 24 tasks (as mode= says), ` or nothing, where nobody asked.
    fn place(&self) -> String {
        let place = match self.tasks {
            0 => "here".to_owned(),
            tasks => format!("on {} in {}", self.location, counted(tasks, "task")),
        };
        match &self.location_reason {
            Some(reason) => format!("{place} ({reason}), "),
            None if self.tasks > 0 => format!("{place}, "),
            None => String::new(),
        }
    }

    /// `2 at a time with 1 thread each (…)`.
    pub fn degree(&self) -> String {
        let bytes = match self.iteration_bytes {
            Some(bytes) => format!("; an iteration takes {}", Bytes(Some(bytes))),
            None => String::new(),
        };
        format!(
            "{} at a time with {} each ({}{bytes})",
            self.degree,
            counted(self.threads_each as u64, "thread"),
            self.reason
        )
    }

    /// `; 'R': 200 parts put in 1 pass`, or nothing.
    fn results(&self) -> String {
        let merged = self.merged.as_ref();
        merged.map_or_else(String::new, |merged| format!("; {merged}"))
    }

    /// Adds later runs.
    pub fn add(&mut self, later: ParforReport) {
        *self = ParforReport {
            runs: self.runs + later.runs,
            iterations: self.iterations.saturating_add(later.iterations),
            ..later
        };
    }
}

impl fmt::Display for ParforReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} in {}, {}{}{}",
            self.label,
            counted(self.iterations, "iteration"),
            counted(self.runs, "run"),
            self.place(),
            self.degree(),
            self.results()
        )
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up() {
        let run = |degree, iteration_bytes| ParforReport {
            label: "parfor i a.dml:3".into(),
            runs: 1,
            iterations: 10,
            degree,
            threads_each: 1,
            iteration_bytes,
            reason: "as many as threads".into(),
            location: "local".into(),
            location_reason: None,
            merged: None,
            tasks: 0,
        };
        let mut report = run(2, None);
        insta::assert_snapshot!(report, @"parfor i a.dml:3: 10 iterations in 1 run, 2 at a time with 1 thread each (as many as threads)");
        report.add(run(4, Some(3 << 20)));
        insta::assert_snapshot!(report, @"parfor i a.dml:3: 20 iterations in 2 runs, 4 at a time with 1 thread each (as many as threads; an iteration takes 3.0MB)");
        report.add(ParforReport {
            location_reason: Some("too little work for a job".into()),
            ..run(4, None)
        });
        insta::assert_snapshot!(report, @"parfor i a.dml:3: 30 iterations in 3 runs, here (too little work for a job), 4 at a time with 1 thread each (as many as threads)");
        report.add(ParforReport {
            reason: "as many as tasks of the workers".into(),
            location: "spark".into(),
            location_reason: Some("as mode= says".into()),
            tasks: 24,
            ..run(8, None)
        });
        insta::assert_snapshot!(report, @"parfor i a.dml:3: 40 iterations in 4 runs, on spark in 24 tasks (as mode= says), 8 at a time with 1 thread each (as many as tasks of the workers)");
    }
}
