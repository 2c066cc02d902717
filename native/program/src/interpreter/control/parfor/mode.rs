//! Whether iterations run in this process or, in one job, on the workers.

use std::fmt;

use fulgurite_dataflow::Capacity;
use fulgurite_hop::{Bytes, ParforMode};

/// What starting the tasks of a job and bringing back what they give takes, whatever that is.
const JOB_SECONDS: f64 = 0.5;

/// What the place depends on.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub asked: Option<(ParforMode, By)>,
    pub capacity: Capacity,
    pub iterations: u64,
    /// What an iteration takes, if that is known.
    pub bytes: Option<u64>,
    /// What an iteration took before.
    pub seconds: Option<f64>,
    /// Iterations at a time in this process.
    pub workers: usize,
    /// Threads of this process.
    pub threads: usize,
    /// What each iteration reads of a distributed matrix, if it is nothing else.
    pub slices: Option<SlicesRead>,
    /// What it takes to send the matrices that iterations read, and to bring back the parts that they write.
    pub sending_seconds: f64,
    /// One after the other, where a job can't give all of these parts.
    pub jobs: u64,
}

/// Rows or columns of a distributed matrix that an iteration has for itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SlicesRead {
    /// `its row of 'X'`.
    pub what: String,
    /// What it takes to bring them into stripes of their own, unless stripes have them as they are.
    pub shuffle_seconds: Option<f64>,
    /// What the job takes that an iteration is here, for its slice alone.
    pub seconds_each: f64,
}

/// Who asks for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Script,
    Configuration,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// Because there is a reason, or nowhere else to run.
    Here(Option<Why>),
    OnWorkers(Why),
    /// The first iteration tells what one takes.
    Measure,
}

/// Why there.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Why {
    Asked(By),
    NoWorkers,
    Files,
    Evaluates,
    Nested,
    Distributed(String),
    NoMatrix(String),
    Slices(String),
    Shuffle(String),
    Broadcast(String),
    Results { bytes: u64, available: u64 },
    Memory { bytes: u64, available: u64 },
    SameCores,
    FewCores { here: usize, there: u64 },
    LittleWork,
    MuchWork { here: usize, there: u64 },
}

pub(super) fn decide(facts: &Facts) -> Decision {
    let asked = match facts.asked {
        Some((ParforMode::Local, by)) => return Decision::Here(Some(Why::Asked(by))),
        Some((ParforMode::Remote, by)) => Some(by),
        None => None,
    };
    let capacity = &facts.capacity;
    let there = capacity.tasks.saturating_mul(capacity.cores as u64);
    let job_seconds = JOB_SECONDS * facts.jobs as f64;
    let here = facts.threads;
    if asked.is_none() && facts.slices.is_none() {
        if capacity.is_here {
            return Decision::Here(Some(Why::SameCores));
        }
        if there <= here as u64 {
            return Decision::Here(Some(Why::FewCores { here, there }));
        }
    }
    let Some(bytes) = facts.bytes else {
        return Decision::Measure;
    };
    if let Some(available) = capacity.bytes.filter(|available| bytes > *available) {
        return Decision::Here(Some(Why::Memory { bytes, available }));
    }
    match (asked, &facts.slices, facts.seconds) {
        (Some(by), ..) => Decision::OnWorkers(Why::Asked(by)),
        // Here, each iteration would be a job for its slice.
        (None, Some(slices), _) => {
            let seconds_here = slices.seconds_each * facts.iterations as f64;
            match slices.shuffle_seconds {
                Some(shuffle) if seconds_here <= job_seconds + shuffle => {
                    Decision::Here(Some(Why::Shuffle(slices.what.clone())))
                }
                _ => Decision::OnWorkers(Why::Slices(slices.what.clone())),
            }
        }
        (None, None, None) => Decision::Measure,
        (None, None, Some(seconds)) => {
            let seconds_here = seconds * facts.iterations as f64 / facts.workers.max(1) as f64;
            let saved = seconds_here * (1.0 - here as f64 / there as f64);
            match saved > job_seconds + facts.sending_seconds {
                true => Decision::OnWorkers(Why::MuchWork { here, there }),
                false => Decision::Here(Some(Why::LittleWork)),
            }
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: &u64| Bytes(Some(*bytes));
        match self {
            Why::Asked(By::Script) => f.write_str("as mode= says"),
            Why::Asked(By::Configuration) => f.write_str("as fulgurite.parfor.mode says"),
            Why::NoWorkers => f.write_str("there are no workers"),
            Why::Evaluates => f.write_str("iterations call functions by eval"),
            Why::Files => f.write_str("iterations may read or write files"),
            Why::Nested => f.write_str("statements are nested too deeply to be sent"),
            Why::Distributed(name) => write!(f, "iterations use the distributed matrix '{name}'"),
            Why::NoMatrix(name) => write!(f, "iterations use '{name}', which is no matrix"),
            Why::Slices(what) => write!(f, "each iteration reads {what}"),
            Why::Shuffle(what) => write!(
                f,
                "a shuffle that gives each iteration {what} takes longer than a job for each"
            ),
            Why::Broadcast(name) => {
                write!(f, "'{name}' is larger than fulgurite.memory.broadcast")
            }
            Why::Results { bytes, available } => write!(
                f,
                "results may take {}, and a job may give {}",
                size(bytes),
                size(available)
            ),
            Why::Memory { bytes, available } => write!(
                f,
                "an iteration takes {}, and a task has {}",
                size(bytes),
                size(available)
            ),
            Why::SameCores => f.write_str("tasks would run on the same cores"),
            Why::FewCores { here, there } => {
                write!(f, "{there} cores there, {here} threads here")
            }
            Why::LittleWork => f.write_str("too little work for a job"),
            Why::MuchWork { here, there } => {
                write!(f, "{there} cores for {here} threads here")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts = Facts {
        asked: None,
        capacity: Capacity {
            tasks: 16,
            cores: 1,
            bytes: Some(100 << 20),
            result_bytes: None,
            is_here: false,
        },
        iterations: 100,
        bytes: Some(1 << 20),
        seconds: Some(0.1),
        workers: 4,
        threads: 4,
        slices: None,
        sending_seconds: 0.2,
        jobs: 1,
    };

    fn decided(facts: Facts) -> String {
        match decide(&facts) {
            Decision::Here(why) => format!("here: {}", why.expect("there is a choice")),
            Decision::OnWorkers(why) => format!("on the workers: {why}"),
            Decision::Measure => "measure".to_owned(),
        }
    }

    #[test]
    fn iterations_go_where_they_take_less_time_unless_somebody_asks() {
        let remote = Some((ParforMode::Remote, By::Script));
        let here = Capacity {
            is_here: true,
            ..FACTS.capacity
        };
        let few = Capacity {
            tasks: 2,
            cores: 2,
            ..FACTS.capacity
        };
        let slices = |shuffle_seconds, seconds_each| {
            Some(SlicesRead {
                what: "its column of 'X'".into(),
                shuffle_seconds,
                seconds_each,
            })
        };
        let cases = [
            FACTS,
            Facts {
                seconds: Some(0.01),
                ..FACTS
            },
            Facts {
                sending_seconds: 5.0,
                ..FACTS
            },
            Facts { jobs: 20, ..FACTS },
            Facts {
                seconds: None,
                ..FACTS
            },
            Facts {
                bytes: None,
                ..FACTS
            },
            Facts {
                bytes: Some(200 << 20),
                ..FACTS
            },
            Facts {
                capacity: here,
                ..FACTS
            },
            Facts {
                capacity: few,
                ..FACTS
            },
            Facts {
                asked: Some((ParforMode::Local, By::Configuration)),
                ..FACTS
            },
            Facts {
                slices: slices(None, 0.04),
                capacity: here,
                seconds: None,
                ..FACTS
            },
            Facts {
                slices: slices(Some(3.0), 0.04),
                capacity: here,
                ..FACTS
            },
            Facts {
                slices: slices(Some(4.0), 0.04),
                ..FACTS
            },
            Facts {
                slices: slices(Some(4.0), 0.04),
                asked: remote,
                ..FACTS
            },
            Facts {
                asked: remote,
                capacity: here,
                seconds: None,
                ..FACTS
            },
            Facts {
                asked: remote,
                bytes: None,
                ..FACTS
            },
            Facts {
                asked: remote,
                bytes: Some(200 << 20),
                ..FACTS
            },
        ];
        let texts: Vec<String> = cases.into_iter().map(decided).collect();
        insta::assert_snapshot!(texts.join("\n"), @r"
        on the workers: 16 cores for 4 threads here
        here: too little work for a job
        here: too little work for a job
        here: too little work for a job
        measure
        measure
        here: an iteration takes 200.0MB, and a task has 100.0MB
        here: tasks would run on the same cores
        here: 4 cores there, 4 threads here
        here: as fulgurite.parfor.mode says
        on the workers: each iteration reads its column of 'X'
        on the workers: each iteration reads its column of 'X'
        here: a shuffle that gives each iteration its column of 'X' takes longer than a job for each
        on the workers: as mode= says
        on the workers: as mode= says
        measure
        here: an iteration takes 200.0MB, and a task has 100.0MB
        ");
    }
}
