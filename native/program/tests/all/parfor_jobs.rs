//! `parfor` whose iterations make jobs: they run beside each other, and leave what one after the other leaves.

use std::{
    any::Any,
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use fulgurite_backend_local::LocalBackend;
use fulgurite_config::Config;
use fulgurite_dataflow::{Backend, Callers, Combine, Primitive, Reply};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    Execution, Outcome, OutputValue, Request, Session, execute,
    request::{Binding, Input},
};

use crate::common::{Script, exact, script};

fn bits(matrix: &MatrixBlock) -> Vec<u64> {
    let dense = matrix.to_dense().unwrap();
    dense.values().iter().map(|cell| cell.to_bits()).collect()
}

/// X and Y on the workers, in stripes of their own, with a budget that they are too large for.
fn distributed(text: &str, threads: usize) -> Script {
    script(text)
        .dataset("X", exact(2000, 6, 3), 300)
        .dataset("Y", exact(2000, 6, 5), 450)
        .config("fulgurite.memory.local", "40k")
        .config("fulgurite.threads", &threads.to_string())
}

#[test]
fn iterations_that_make_jobs_leave_what_for_leaves() {
    for body in [
        "R[i, 1] = sum(sqrt(abs(X - i)))",
        "R[i, ] = colMeans(X * i - Y)\nS += t(X) %*% (Y / i)",
        "Z = X * i + Y\nR[i, 1:2] = Z[3, 1:2]\nR[i, 3] = sum(Z * Z)",
        "v = X[, i] * 2\nR[i, 1] = sum(v)\nif (i %% 2 == 0) { print('column ' + i) }",
        "for (j in 1:3) { R[i, j] = min(abs(X * j + i)) }",
        "parfor (j in 1:3) { R[i, j] = max(abs(X * j + i)) }",
        "w = t(X) %*% Y\nR[i, ] = w[i, ]",
    ] {
        let run = |keyword: &str, threads: usize| {
            let text = format!(
                "R = matrix(0, 6, 6)\nS = matrix(1/3, 6, 6)\n{keyword} (i in 1:6) {{ {body} }}"
            );
            let ran = distributed(&text, threads).output("R").output("S").run();
            let results = [bits(&ran.matrix("R")), bits(&ran.matrix("S"))];
            let report = ran.outcome().report.clone();
            (results, ran.printed, report)
        };
        let (expected, lines, _) = run("for", 4);
        for threads in [1, 4] {
            let (results, printed, report) = run("parfor", threads);
            assert_eq!((&results, &printed), (&expected, &lines), "{body}");
            let outer = report
                .parfors
                .iter()
                .find(|parfor| parfor.label.starts_with("parfor i"));
            let outer = outer.expect("the loop was run");
            assert_eq!(outer.location, "local", "{outer}");
            // A column and what is computed from it are as large as there is room for.
            let degree = if body.starts_with("v") { 1 } else { threads };
            assert_eq!(outer.degree, degree, "{body}: {outer}");
        }
    }
}

#[test]
fn the_memory_of_iterations_that_make_jobs_is_half_of_what_is_there() {
    // What the workers give an iteration stays here: 2000 cells.
    let text = "R = matrix(0, 6, 1)\nparfor (i in 1:6) { v = rowSums(abs(X - i))\nif (i > 99) { print('no') }\nR[i, 1] = sum(v ^ 2) }";
    let degree = |budget: &str| {
        let ran = distributed(text, 4)
            .config("fulgurite.memory.local", budget)
            .output("R")
            .run();
        ran.outcome().report.parfors[0].to_string()
    };
    let few = degree("80k");
    assert!(
        few.contains("1 at a time") && few.contains("as many as fit into"),
        "{few}"
    );
}

#[test]
fn what_iterations_share_is_read_and_aligned_once() {
    let backend = Arc::new(LocalBackend::default());
    let text =
        "R = matrix(0, 12, 1)\nparfor (i in 1:12) { R[i, 1] = sum(abs(X * i - Y)) }\ns = sum(R)";
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .dataset("X", exact(2000, 6, 3), 300)
        .dataset("Y", exact(2000, 6, 5), 450)
        .config("fulgurite.memory.local", "40k")
        .config("fulgurite.threads", "4")
        .output("s")
        .run();
    assert_eq!(ran.outcome().report.parfors[0].degree, 4);
    let counters = backend.counters();
    assert_eq!((counters.source_scans, counters.held), (2, 0));
}

thread_local! {
    /// The caller that this thread is.
    static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// What threads that call have done so far.
#[derive(Default)]
struct Seen {
    /// Threads that wait for a sum, with how many did so at a time at most.
    waiting: BTreeSet<usize>,
    most: usize,
    cancelled: BTreeSet<usize>,
    failed: Vec<usize>,
    /// Matrices that were brought to the stripes of another one.
    aligned: usize,
    /// Whose aggregate failed.
    failing: Option<usize>,
}

/// The backend in this process, where aggregates wait for each other.
struct Watched {
    inner: LocalBackend,
    /// So many sums run at a time.
    together: usize,
    /// A minimum fails then.
    fails: bool,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

struct WatchedCallers(Arc<(Mutex<Seen>, Condvar)>);

struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        NUMBER.set(None);
    }
}

impl Callers for WatchedCallers {
    fn enter(&self, number: usize) -> Box<dyn Any> {
        NUMBER.set(Some(number));
        Box::new(Leave)
    }

    fn cancel(&self, number: usize) {
        self.0
            .0
            .lock()
            .expect("nobody panics")
            .cancelled
            .insert(number);
        self.0.1.notify_all();
    }

    fn failed(&self, number: usize) {
        self.0.0.lock().expect("nobody panics").failed.push(number);
    }
}

impl Watched {
    fn new(together: usize, fails: bool) -> Arc<Self> {
        let inner = LocalBackend::default();
        inner.register("X", exact(2000, 6, 3), 300);
        inner.register("Y", exact(2000, 1, 5), 450);
        Arc::new(Watched {
            inner,
            together,
            fails,
            seen: Arc::default(),
        })
    }

    /// Waits, but not forever: then the test fails for what it has not seen.
    fn wait_until(&self, what: impl Fn(&Seen) -> bool) {
        let (seen, changed) = &*self.seen;
        let seen = seen.lock().expect("nobody panics");
        let not_yet = |seen: &mut Seen| !what(seen);
        let waited = changed.wait_timeout_while(seen, Duration::from_secs(20), not_yet);
        drop(waited.expect("nobody panics"));
    }

    /// A sum waits until there are as many as there are to be, or, if one fails, until it may go on.
    fn aggregate(&self, number: usize, combine: &Combine) -> Result<()> {
        let (seen, changed) = &*self.seen;
        if *combine == Combine::Min {
            self.wait_until(|seen| seen.waiting.len() == self.together);
            seen.lock().expect("nobody panics").failing = Some(number);
            changed.notify_all();
            return Err(Error::backend("no more"));
        }
        {
            let mut seen = seen.lock().expect("nobody panics");
            seen.waiting.insert(number);
            seen.most = seen.most.max(seen.waiting.len());
        }
        changed.notify_all();
        self.wait_until(|seen| {
            seen.most >= self.together && (!self.fails || seen.cancelled.len() + 1 == self.together)
        });
        let mut seen = seen.lock().expect("nobody panics");
        seen.waiting.remove(&number);
        match seen.cancelled.contains(&number) {
            true => Err(Error::backend("cancelled")),
            false => Ok(()),
        }
    }

    fn run(self: &Arc<Self>, text: &str) -> Result<Outcome> {
        let mut request = Request::script("test.dml", text);
        for (name, cols) in [("X", 6), ("Y", 1)] {
            request.inputs.push(Input {
                name: name.into(),
                binding: Binding::Dataset {
                    rows: 2000,
                    cols,
                    nnz: -1,
                },
            });
        }
        request.outputs.push("R".into());
        let config = [
            ("fulgurite.memory.local", "14k"),
            ("fulgurite.threads", "4"),
        ];
        let config = config.map(|(key, value)| (key.to_owned(), value.to_owned()));
        request.config.extend(config);
        let backend: Arc<dyn Backend> = Arc::<Watched>::clone(self);
        let session = Session::new(Config::default()).with_backend(backend);
        let execution = Execution::new(request, BTreeMap::new());
        execute(execution, &session)
    }
}

impl Backend for Watched {
    fn name(&self) -> &str {
        "dataflow"
    }

    fn callers(&self, _: usize) -> Result<Box<dyn Callers>> {
        Ok(Box::new(WatchedCallers(Arc::clone(&self.seen))))
    }

    fn apply(&self, primitive: &Primitive, payload: Option<&MatrixBlock>) -> Result<Reply> {
        if let (Primitive::MapAggregate { combine, .. }, Some(number)) = (primitive, NUMBER.get()) {
            self.aggregate(number, combine)?;
        }
        if let Primitive::Align { .. } = primitive {
            self.seen.0.lock().expect("nobody panics").aligned += 1;
        }
        self.inner.apply(primitive, payload)
    }
}

#[test]
fn jobs_of_iterations_run_beside_each_other() {
    let watched = Watched::new(4, false);
    // The first iteration runs alone, to show what one takes.
    let text = "R = matrix(0, 5, 1)\nparfor (i in 1:5) { R[i, 1] = sum(abs(X - i)) }";
    let outcome = watched.run(text).expect("nothing is wrong");
    assert_eq!(outcome.report.parfors[0].degree, 4);
    let seen = watched.seen.0.lock().expect("nobody panics");
    assert_eq!((seen.most, seen.cancelled.len()), (4, 0));
}

#[test]
fn what_iterations_compute_cell_by_cell_is_not_shuffled_for_each() {
    let run = |keyword: &str| {
        let watched = Watched::new(1, false);
        let text = format!(
            "R = matrix(0, 9, 6)
             {keyword} (c in 1:9) {{
               L = 2 * (Y > c / 2) - 1
               if (c > 100) {{ print('no') }}
               M = 1 - L
               if (c > 100) {{ print('no') }}
               R[c, ] = t(t(X) %*% M + t(X) %*% L) / 3
             }}"
        );
        let outcome = watched.run(&text).expect("nothing is wrong");
        let OutputValue::Matrix(result) = &outcome.outputs["R"] else {
            panic!("R is a matrix here");
        };
        let aligned = watched.seen.0.lock().expect("nobody panics").aligned;
        (bits(result), aligned, outcome.report.parfors)
    };
    let ((expected, ..), (result, aligned, parfors)) = (run("for"), run("parfor"));
    assert_eq!(result, expected);
    assert_eq!((parfors[0].degree, aligned), (4, 1), "{}", parfors[0]);
}

#[test]
fn an_iteration_that_fails_ends_the_jobs_of_those_after_it_alone() {
    let watched = Watched::new(3, true);
    let text = "R = matrix(0, 40, 1)
        parfor (i in 1:40) {
          if (i == 3) { R[i, 1] = min(abs(X - i)) } else { R[i, 1] = sum(abs(X - i)) }
        }";
    let error = watched.run(text).expect_err("the third fails").to_string();
    assert!(
        error.contains("no more") && error.contains("test.dml:3"),
        "{error}"
    );
    let seen = watched.seen.0.lock().expect("nobody panics");
    // Iterations 4 and 5; the second was on its way to an error that would come first.
    assert_eq!(seen.cancelled.len(), 2);
    assert_eq!(
        Some(seen.failed.clone()),
        seen.failing.map(|number| vec![number])
    );
}
