//! How many iterations run at a time.

use std::fmt;

use fulgurite_dataflow::ParforReport;
use fulgurite_hop::Bytes;

/// Threads are not woken for less work than this.
const WORTH_THREADS_SECONDS: f64 = 5e-4;

/// What the degree depends on.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// Threads that there are for this loop.
    pub threads: usize,
    pub iterations: u64,
    /// `par=` of the script.
    pub cap: Option<u64>,
    /// Iterations may make jobs.
    pub asks_backend: bool,
    /// What an iteration takes, if that is known.
    pub bytes: Option<u64>,
    /// Memory that is left for iterations.
    pub available: u64,
    /// What an iteration took before.
    pub seconds: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// The first iteration tells what one takes.
    Measure,
    Run(Degree),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Degree {
    /// Iterations at a time.
    pub workers: usize,
    /// Threads of the operators in each.
    pub threads_each: usize,
    /// Iterations may make jobs.
    pub asks_backend: bool,
    reason: Reason,
    bytes: Option<u64>,
}

/// Why not more.
#[derive(Debug, Clone, PartialEq)]
enum Reason {
    Threads,
    Iterations,
    Cap,
    Memory { available: u64 },
    LittleWork,
}

pub(super) fn decide(facts: &Facts) -> Plan {
    match (alone(facts), facts.bytes) {
        (None, None) => Plan::Measure,
        (None, Some(bytes)) => Plan::Run(within_memory(facts, bytes)),
        (Some(reason), _) => Plan::Run(degree(facts, 1, reason)),
    }
}

/// Where an iteration takes this much.
pub(super) fn known(facts: &Facts, bytes: u64) -> Degree {
    match alone(facts) {
        None => within_memory(facts, bytes),
        Some(reason) => degree(facts, 1, reason),
    }
}

/// Why iterations run one after the other, whatever they take.
fn alone(facts: &Facts) -> Option<Reason> {
    let (most, reason) = most(facts);
    if most <= 1 {
        return Some(reason);
    }
    let seconds = facts.seconds?;
    let is_little = seconds * (facts.iterations as f64) < WORTH_THREADS_SECONDS;
    is_little.then_some(Reason::LittleWork)
}

/// As many as fit beside each other, where an iteration takes this much.
fn within_memory(facts: &Facts, bytes: u64) -> Degree {
    let (most, reason) = most(facts);
    let fit = facts.available / bytes.max(1);
    match fit < most {
        true => {
            let available = facts.available;
            degree(facts, fit, Reason::Memory { available })
        }
        false => degree(facts, most, reason),
    }
}

/// Whatever the memory.
fn most(facts: &Facts) -> (u64, Reason) {
    let threads = facts.threads as u64;
    let mut most = (threads, Reason::Threads);
    for (limit, reason) in [
        (Some(facts.iterations), Reason::Iterations),
        (facts.cap, Reason::Cap),
    ] {
        if let Some(limit) = limit.filter(|limit| *limit < most.0) {
            most = (limit, reason);
        }
    }
    most
}

fn degree(facts: &Facts, workers: u64, reason: Reason) -> Degree {
    let workers = usize::try_from(workers).unwrap_or(usize::MAX).max(1);
    Degree {
        workers,
        threads_each: (facts.threads / workers).max(1),
        asks_backend: facts.asks_backend,
        reason,
        bytes: facts.bytes,
    }
}

impl Degree {
    /// What the report says of a run of the loop.
    pub fn report(&self, label: String, iterations: u64) -> ParforReport {
        ParforReport {
            label,
            runs: 1,
            iterations,
            degree: self.workers,
            threads_each: self.threads_each,
            iteration_bytes: self.bytes,
            reason: self.reason.to_string(),
            location: "local".to_owned(),
            tasks: 0,
            location_reason: None,
            merged: None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Threads => f.write_str("as many as threads"),
            Reason::Iterations => f.write_str("as many as iterations"),
            Reason::Cap => f.write_str("as par= says"),
            Reason::Memory { available } => write!(
                f,
                "as many as fit into {} of fulgurite.memory.local",
                Bytes(Some(*available))
            ),
            Reason::LittleWork => f.write_str("too little work for threads"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts = Facts {
        threads: 8,
        iterations: 100,
        cap: None,
        asks_backend: false,
        bytes: Some(1 << 20),
        available: 1 << 30,
        seconds: None,
    };

    fn decided(facts: Facts) -> String {
        match decide(&facts) {
            Plan::Measure => "measure".to_owned(),
            Plan::Run(degree) => degree.report("parfor".into(), facts.iterations).to_string(),
        }
    }

    #[test]
    fn the_strictest_limit_decides() {
        let cases = [
            FACTS,
            Facts {
                iterations: 3,
                ..FACTS
            },
            Facts {
                iterations: 0,
                ..FACTS
            },
            Facts {
                cap: Some(2),
                ..FACTS
            },
            Facts {
                bytes: Some(300 << 20),
                ..FACTS
            },
            Facts {
                bytes: Some(2 << 30),
                ..FACTS
            },
            Facts {
                bytes: None,
                ..FACTS
            },
            Facts {
                bytes: None,
                threads: 1,
                ..FACTS
            },
            Facts {
                seconds: Some(1e-6),
                ..FACTS
            },
        ];
        let texts: Vec<String> = cases.into_iter().map(decided).collect();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
