//! What interpreters on the workers did, on its way to the report.

use std::{collections::BTreeMap, sync::Arc};

use fulgurite_dataflow::{OperatorWork, RemoteWork};

use super::{Entry, Operators, Recorder};

impl Recorder {
    /// In a form that travels.
    pub(crate) fn into_work(self) -> RemoteWork {
        let operators = self.operators.into_entries();
        let mut operators: Vec<_> = operators
            .map(|(label, _, entry)| OperatorWork {
                label: label.to_string(),
                count: entry.count,
                time: entry.time,
                plan: entry.plan.map(|plan| plan.to_string()),
                sizes: entry.sizes.map(|sizes| sizes.to_string()),
            })
            .collect();
        operators.sort_by(|a, b| a.label.cmp(&b.label));
        RemoteWork {
            operators,
            planning: self.planning,
            plans: self.plans,
            fusion: self.fusion,
            parfors: self.parfors.into_values().collect(),
        }
    }

    /// Adds what was done on a worker.
    pub(crate) fn absorb_work(&mut self, work: RemoteWork) {
        let operators = work.operators.into_iter().map(|operator| {
            let entry = Entry {
                count: operator.count,
                time: operator.time,
                // A task runs all its operators itself.
                form: None,
                plan: operator.plan.map(Arc::from),
                sizes: operator.sizes.map(Arc::from),
            };
            (Arc::from(operator.label), entry)
        });
        let parfors = work.parfors.into_iter();
        self.absorb(Recorder {
            operators: Operators {
                there: operators.collect(),
                ..Operators::default()
            },
            planning: work.planning,
            plans: work.plans,
            fusion: work.fusion,
            compressions: BTreeMap::new(),
            parfors: parfors.map(|run| (run.label.clone(), run)).collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::FusedRun, *};

    #[test]
    fn what_ran_on_a_worker_is_counted_there() {
        let mut there = Recorder::default();
        let label: Arc<str> = "fused(0) Cell ua(+) a.dml:3".into();
        let run = FusedRun {
            plan: &"Cell ua(+)\nCell(main)".into(),
            sizes: &"scalar from [10 x 10, nnz 7]".into(),
        };
        there.operator(&label, false, Duration::from_millis(7), Some(run));
        let text = serde_json::to_string(&there.into_work()).expect("it has a JSON form");
        let work: RemoteWork = serde_json::from_str(&text).expect("it was written so");
        let mut here = Recorder::default();
        here.operator(&label, false, Duration::from_millis(1), None);
        for _ in 0..2 {
            here.absorb_work(work.clone());
        }
        let report = here.into_report("spark");
        let places: Vec<_> = report
            .operators
            .iter()
            .map(|operator| (operator.location.as_str(), operator.count, operator.seconds))
            .collect();
        assert_eq!(places, [("spark", 2, 0.014), ("local", 1, 0.001)]);
        assert!(report.operators[0].plan.is_some());
    }
}
