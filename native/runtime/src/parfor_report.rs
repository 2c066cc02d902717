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
}

impl ParforReport {
    /// `2 at a time with 1 thread each (…)`.
    pub(crate) fn degree(&self) -> String {
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

    /// Adds later runs.
    pub(crate) fn add(&mut self, later: ParforReport) {
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
            "{}: {} in {}, {}",
            self.label,
            counted(self.iterations, "iteration"),
            counted(self.runs, "run"),
            self.degree()
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
        };
        let mut report = run(2, None);
        insta::assert_snapshot!(report, @"parfor i a.dml:3: 10 iterations in 1 run, 2 at a time with 1 thread each (as many as threads)");
        report.add(run(4, Some(3 << 20)));
        insta::assert_snapshot!(report, @"parfor i a.dml:3: 20 iterations in 2 runs, 4 at a time with 1 thread each (as many as threads; an iteration takes 3.0MB)");
    }
}
