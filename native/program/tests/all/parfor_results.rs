//! Loops whose iterations write into matrices of the workers, or add to them: they leave what is left where all fits here,
//! and do not make the matrix anew for each iteration.

use std::sync::{Arc, Mutex};

use fulgurite_backend_local::LocalBackend;
use fulgurite_dataflow::{Backend, Primitive, Reply};
use fulgurite_error::Result;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::OutputValue;

use crate::common::{Ran, Script, exact, script};
use proptest::prelude::*;

fn bits(matrix: &MatrixBlock) -> Vec<u64> {
    let dense = matrix.to_dense().unwrap();
    dense.values().iter().map(|cell| cell.to_bits()).collect()
}

/// Counts what it is asked for.
#[derive(Default)]
struct Counting {
    inner: LocalBackend,
    /// Names of primitives.
    asked: Mutex<Vec<&'static str>>,
}

impl Counting {
    fn count(&self, name: &str) -> usize {
        let asked = self.asked.lock().expect("nobody panics");
        asked.iter().filter(|asked| **asked == name).count()
    }
}

impl Backend for Counting {
    fn name(&self) -> &str {
        "dataflow"
    }

    fn apply(&self, primitive: &Primitive, payload: Option<&MatrixBlock>) -> Result<Reply> {
        let name = match primitive {
            Primitive::Concatenate { .. } => "concatenate",
            Primitive::Persist { .. } => "persist",
            Primitive::MapPartitions { .. } => "map",
            Primitive::Parallelize { .. } => "parallelize",
            Primitive::Broadcast => "broadcast",
            Primitive::Collect { .. } => "collect",
            Primitive::Align { .. } => "align",
            Primitive::RunIterations { .. } => "iterations",
            _ => "other",
        };
        self.asked.lock().expect("nobody panics").push(name);
        self.inner.apply(primitive, payload)
    }
}

/// X and Y on the workers, in stripes of their own, with a budget that they are too large for.
fn distributed(text: &str, threads: usize) -> (Script, Arc<Counting>) {
    distributed_rows(1000, "16k", text, threads)
}

fn distributed_rows(
    rows: usize,
    budget: &str,
    text: &str,
    threads: usize,
) -> (Script, Arc<Counting>) {
    let counting = Arc::new(Counting::default());
    let script = script(text)
        .dataset("X", exact(rows, 6, 3), 90)
        .dataset("Y", exact(rows, 6, 5), 130)
        .config("fulgurite.memory.local", budget)
        .config("fulgurite.threads", &threads.to_string());
    counting.inner.register("X", exact(rows, 6, 3), 90);
    counting.inner.register("Y", exact(rows, 6, 5), 130);
    (script.on(Arc::<Counting>::clone(&counting)), counting)
}

fn program(keyword: &str, iterations: usize, body: &str) -> String {
    format!(
        "f = function(matrix[double] A, double k) return (matrix[double] B) {{ B = A * k - 1 / k }}
         R = X * 2 - Y / 3
         S = Y + 1 / 3
         if (nrow(R) > 10000) {{ print('no') }}
         {keyword} (i in 1:{iterations}) {{
           a = (i - 1) * 100 + 1
           b = i * 100
           {body}
         }}
         if (nrow(R) > 10000) {{ print('no') }}
         # Cells of the workers, which came from other stripes.
         R = R + 0
         S = S + 0"
    )
}

struct Left {
    results: [Vec<u64>; 2],
    printed: String,
    ran: Ran,
}

fn left(keyword: &str, threads: usize, iterations: usize, body: &str) -> Left {
    let text = program(keyword, iterations, body);
    let (script, counting) = distributed(&text, threads);
    // Outputs come here whole.
    let ran = script.output("R").output("S").run();
    let of = |name: &str| {
        let matrix = ran.matrix_of(name, &counting.inner);
        if let OutputValue::Dataset { id, .. } = ran.outcome().outputs[name] {
            let release = Primitive::Release { dataset: id };
            counting.inner.apply(&release, None).expect("it is there");
        }
        bits(&matrix)
    };
    let results = [of("R"), of("S")];
    assert_eq!(counting.inner.counters().held, 0, "{keyword} {body}");
    let printed = ran.printed.clone();
    Left {
        results,
        printed,
        ran,
    }
}

/// The same of matrices that are here.
fn left_here(iterations: usize, body: &str) -> ([Vec<u64>; 2], String) {
    let script = script(&program("for", iterations, body)).matrix("X", exact(1000, 6, 3));
    let ran = script
        .matrix("Y", exact(1000, 6, 5))
        .output("R")
        .output("S")
        .run();
    (
        [bits(&ran.matrix("R")), bits(&ran.matrix("S"))],
        ran.printed.clone(),
    )
}

/// What loops leave on the workers, on one thread and on several, is what `for` leaves here.
fn same_as_here(iterations: usize, body: &str) {
    let (wanted, printed) = left_here(iterations, body);
    for (keyword, threads) in [("for", 3), ("parfor", 1), ("parfor", 2), ("parfor", 3)] {
        let found = left(keyword, threads, iterations, body);
        assert_eq!(found.printed, printed, "{keyword}: {body}");
        let pairs = found.results.iter().zip(&wanted);
        for (name, (found, wanted)) in ["R", "S"].iter().zip(pairs) {
            let differ = found
                .iter()
                .zip(wanted)
                .position(|(found, wanted)| found != wanted);
            assert_eq!(
                (found.len(), differ),
                (wanted.len(), None),
                "{name} of {keyword} on {threads} threads: {body}"
            );
        }
        if keyword == "for" {
            continue;
        }
        let report = &found.ran.outcome().report.parfors;
        let outer = report.iter().find(|of| of.label.starts_with("parfor i"));
        let outer = outer.expect("the loop was run");
        // A loop over rows of X alone is a job.
        let is_here = outer.location == "local";
        let is_all = outer.degree == threads || outer.reason.contains("fit into") || !is_here;
        assert!(is_all, "{outer}");
    }
}

/// Sums are of whole numbers: how others are rounded depends on stripes. Iterations 1 to 8: rows up to 800 in blocks, others one by one.
fn by_rows() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("R[i + 800, ] = X[i, ] * i / 3"),
        Just("R[i + 810, 2:4] = matrix(i / 7, 1, 3)"),
        Just("R[i + 820, 3] = 1 / i"),
        Just("R[a:b, ] = X[a:b, ] * i - Y[a:b, ] / 7"),
        Just("R[a:b, 2:3] = X[a:b, 1:2] + i / 3"),
        Just("R[(a + 5):(b - 5), 4] = matrix(1 / i, 90, 1)"),
        Just("R[i + 830, ] = Y[i, ]\nR[i + 830, 2] = sum(R[i + 830, ]) / 3"),
        Just("R[a:b, 5] = X[a:b, 1] / i\nR[i + 840, 1] = sum(R[a:b, 4:6] > 0) / 3"),
        Just(
            "Z = R[a:b, ]\nR[a:b, ] = Z / 3 + i\nR[a, ] = R[b, ]\nprint('half ' + sum(R[a, ] > 0))"
        ),
        Just("for (j in 1:6) { R[i + 850, j] = j / i }"),
        Just("parfor (j in 1:6) { R[i + 860, j] = R[i + 860, j] / 3 + j }"),
        Just("parfor (j in 1:6) { R[a:b, j] = R[a:b, j] / 7 + j * i }"),
        Just("if (i %% 2 == 0) { R[i + 870, ] = R[i + 870, ] / 3 }"),
        Just("B = f(X, i)\nR[a:b, ] = B[a:b, ]"),
        Just("W = R[a:b, ]\nW[3, ] = matrix(9, 1, 6)\nR[a:b, ] = W"),
        Just("print('iteration ' + i)"),
    ]
    .prop_map(str::to_owned)
}

/// Iterations 1 to 6.
fn by_columns() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("R[, i] = X[, i] / i"),
        Just("R[, i] = Y[, i] * R[, i] / 3"),
        Just("R[101:400, i] = matrix(1 / i, 300, 1)"),
        Just("R[7, i] = sum(R[5:9, i] > 0) / 3"),
        Just("for (k in 1:3) { R[k, i] = k / i }"),
        Just("v = R[, i]\nR[11:20, i] = v[1:10, 1] / 7"),
    ]
    .prop_map(str::to_owned)
}

fn sum() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("S += X * (i / 7)"),
        Just("S += (X - Y) / i"),
        Just("S += matrix(i / 3, nrow(X), 6)"),
        Just("if (i != 3) { S += Y / i }"),
        Just(""),
    ]
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn rows_that_iterations_write(
        body in proptest::collection::vec(by_rows(), 1..5),
        sum in sum(),
    ) {
        same_as_here(8, &format!("{}\n{sum}", body.join("\n")));
    }

    #[test]
    fn columns_that_iterations_write(
        body in proptest::collection::vec(by_columns(), 1..4),
        sum in sum(),
    ) {
        same_as_here(6, &format!("{}\n{sum}", body.join("\n")));
    }
}

/// Iterations that only write into R and S, and read nothing of the workers but a row of X.
fn only_written() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("R[i + 800, ] = K[1, ] * i / 3"),
        Just("R[i + 810, 2:4] = matrix(i / 7, 1, 3)"),
        Just("R[i + 820, ] = X[i, ] * i / 3 + nrow(X) + nrow(R)"),
        Just("R[a:b, ] = matrix(i / 7, 100, 6)\nR[(a + 3):(b - 3), 2:3] = matrix(1 / i, 94, 2)"),
        Just("R[a, 1] = 1 / i\nR[a:b, ] = matrix(i / 3, 100, 6)\nR[b, 1] = i"),
        Just("if (i %% 2 == 0) { R[i + 830, 3] = 1 / i } else { S[i + 830, ] = X[i, ] }"),
        Just("for (j in 1:6) { R[i + 840, j] = j / i }"),
        Just("S[a:b, 4] = K[2, 4] + matrix(1 / i, 100, 1)"),
        Just("T += K * i"),
        Just("L[1, i] = sum(K) / i"),
        Just("print('iteration ' + i)"),
    ]
    .prop_map(str::to_owned)
}

fn program_of_written(header: &str, body: &str) -> String {
    format!(
        "K = matrix(seq(1, 12), 2, 6)
         T = matrix(0, 2, 6)
         L = matrix(0, 1, 8)
         R = X * 2 - Y / 3
         S = Y + 1 / 3
         if (nrow(R) > 10000) {{ print('no') }}
         {header} {{
           a = (i - 1) * 100 + 1
           b = i * 100
           {body}
         }}
         R[901:902, ] = T / 3
         R[903, 1:6] = L[1, 1:6]"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_tasks_write_is_put_where_it_belongs(
        body in proptest::collection::vec(only_written(), 1..6),
    ) {
        let body = body.join("\n");
        let text = |header: &str| program_of_written(header, &body);
        let here = script(&text("for (i in 1:8)")).matrix("X", exact(1000, 6, 3));
        let here = here.matrix("Y", exact(1000, 6, 5)).output("R").output("S").run();
        let (script, counting) = distributed(&text("parfor (i in 1:8, mode=REMOTE_SPARK)"), 2);
        let there = script.output("R").output("S").run();
        prop_assert_eq!(&there.printed, &here.printed);
        for name in ["R", "S"] {
            let found = there.matrix_of(name, &counting.inner).to_dense().unwrap();
            let wanted = here.matrix(name).to_dense().unwrap();
            let mut pairs = found.values().iter().zip(wanted.values()).enumerate();
            let differ = pairs.find(|(_, (one, other))| one.to_bits() != other.to_bits());
            prop_assert_eq!(differ, None, "{} of {}", name, body);
        }
        let report = &there.outcome().report.parfors[0];
        prop_assert_eq!(&report.location, "dataflow", "{}", report);
    }
}

/// What a script asks of the backend.
fn asked(text: &str, threads: usize) -> (Ran, Arc<Counting>) {
    let (script, counting) = distributed(text, threads);
    (script.output("s").run(), counting)
}

/// What the script leaves where all fits here. Cells are such that sums are exact.
fn here(text: &str) -> f64 {
    let script = script(text).matrix("X", exact(1000, 6, 3));
    let ran = script.matrix("Y", exact(1000, 6, 5)).output("s").run();
    ran.number("s")
}

#[test]
fn rows_of_many_iterations_are_put_in_one_pass() {
    let text = |iterations: usize| {
        format!(
            "R = X * 2 - Y / 3
             if (nrow(R) > 10000) {{ print('no') }}
             parfor (i in 1:{iterations}) {{ R[i * 100 - 3, ] = matrix(i / 3, 1, 6) }}
             s = sum(R[1:4, ])"
        )
    };
    let of = |iterations: usize| {
        let (script, counting) = distributed_rows(8000, "320k", &text(iterations), 3);
        let ran = script.output("s").run();
        let report = ran.outcome().report.parfors[0].to_string();
        let counts = ["map", "persist", "concatenate", "broadcast", "parallelize"];
        (counts.map(|name| counting.count(name)), report)
    };
    // All are put after the loop: more iterations ask for nothing more.
    let ((few, _), (many, report)) = (of(10), of(60));
    assert_eq!(few, many);
    let expected = "'R': 60 parts put in 1 pass";
    assert!(
        report.contains(expected) && report.contains("3 at a time"),
        "{report}"
    );
}

#[test]
fn rows_of_a_loop_that_is_not_parallel_are_put_in_one_pass_too() {
    let text = |header: &str, last: usize| {
        format!(
            "R = X * 2 - Y / 3
             k = 0
             if (nrow(R) > 10000) {{ print('no') }}
             {header} {{
               k = k + 1
               R[k * 100, ] = R[k * 100 - 1, ] + matrix(k / 3, 1, 6)
               if (k > {last}) {{ R[k, 1] = 5 }}
             }}
             s = sum(R * seq(1, nrow(R)))"
        )
    };
    for header in ["for (i in 1:40)", "while (k < 40)"] {
        let of = |last: usize| {
            let (script, counting) = distributed_rows(8000, "320k", &text(header, last), 1);
            let s = script.output("s").run().number("s");
            (s, counting)
        };
        let (all, counting) = of(100);
        let (_, more) = of(30);
        // Before and after the loop.
        assert_eq!(counting.inner.counters().persisted, 2);
        // Whether one row or two are written makes no difference.
        for name in ["concatenate", "persist", "parallelize", "broadcast"] {
            assert_eq!(counting.count(name), more.count(name), "{header}: {name}");
        }
        let here = script(&text(header, 100)).matrix("X", exact(8000, 6, 3));
        let here = here.matrix("Y", exact(8000, 6, 5)).output("s").run();
        assert!((all / here.number("s") - 1.0).abs() < 1e-12, "{header}");
    }
}

#[test]
fn parts_are_put_before_they_take_much_memory() {
    // Each row takes a place of half a kilobyte, and an eighth of 16k may be taken.
    let text = "R = X * 2
        if (nrow(R) > 10000) { print('no') }
        parfor (i in 1:250) { R[i * 4, ] = matrix(i / 4, 1, 6) }
        s = sum(R * seq(1, 1000))";
    let (ran, counting) = asked(text, 2);
    let report = ran.outcome().report.parfors[0].to_string();
    let passes = report.split("put in ").nth(1).expect("it is told");
    let passes: usize = passes
        .split(' ')
        .next()
        .expect("a number")
        .parse()
        .expect("a number");
    assert!((10..100).contains(&passes), "{report}");
    assert!(counting.count("persist") < 100 + passes);
    assert_eq!(ran.number("s"), here(text));
}

#[test]
fn blocks_of_workers_are_put_below_each_other_at_once() {
    let text = |last: usize| {
        format!(
            "R = X * 2 - Y / 4
             if (nrow(R) > 10000) {{ print('no') }}
             parfor (i in 1:{last}) {{ R[((i - 1) * 100 + 1):(i * 100), ] = X[((i - 1) * 100 + 1):(i * 100), ] * i }}
             s = sum(R * seq(1, 1000))"
        )
    };
    let of = |last: usize| asked(&text(last), 3).1;
    // A range of X for each, and all of them once.
    let (few, many) = (of(3), of(9));
    assert_eq!(many.count("concatenate") - few.count("concatenate"), 6);
    let (parallel, _) = asked(&text(9), 3);
    assert_eq!(parallel.number("s"), here(&text(9)));
}

#[test]
fn sums_of_workers_are_added_several_at_a_time() {
    let text = "S = Y + 1 / 3
        if (nrow(S) > 10000) { print('no') }
        parfor (i in 1:20) { S += X * (i / 7) }
        s = sum(S[1:3, ])";
    let (ran, _) = asked(text, 3);
    let report = ran.outcome().report.parfors[0].to_string();
    assert!(
        report.contains("'S': 20 sums added in 3 passes"),
        "{report}"
    );
    let (with_for, _) = asked(&text.replace("parfor", "for"), 3);
    assert_eq!(ran.number("s").to_bits(), with_for.number("s").to_bits());
}

#[test]
fn a_matrix_that_is_here_goes_to_the_workers_when_it_gets_too_large() {
    let text = "R = matrix(0, 1000, 6)
        parfor (i in 1:10) { R[((i - 1) * 100 + 1):(i * 100), ] = X[((i - 1) * 100 + 1):(i * 100), ] * i }
        s = sum(R * seq(1, 1000))";
    let (ran, counting) = asked(text, 3);
    let report = ran.outcome().report.parfors[0].to_string();
    assert!(report.contains("'R': 10 parts put in"), "{report}");
    assert_eq!(ran.number("s"), here(text));
    // Sparse, it stays here.
    let sparse = "R = matrix(0, 1000, 6)
        parfor (i in 1:10) { R[i, 1:2] = X[i, 1:2] }
        s = sum(R)";
    let (stays, _) = asked(sparse, 3);
    let report = &stays.outcome().report.parfors[0];
    assert_eq!(report.merged, None, "{report}");
    assert_eq!(counting.inner.counters().held, 0);
}

#[test]
fn tasks_read_their_slice_of_a_matrix_and_write_into_it() {
    for body in [
        "R[i, ] = R[i, ] / 3 + K[1, ]",
        "x = R[i, ]\nif (i %% 2 == 0) { R[i, 2:3] = x[1, 1:2] * i }\nT += K * i",
        "x = R[i, ]\nfor (j in 1:6) { R[i, j] = as.scalar(x[1, 7 - j]) / j }",
        "R[(2 * i - 1):(2 * i), ] = R[(2 * i - 1):(2 * i), ] * i / 3\nS[i, 1] = nrow(R)",
        "if (sum(R[i, ]) > 0) { R[i, 1] = i } else { R[i, ] = R[i, ] * 0 }",
        "R[, i - 2] = R[, i - 2] / i",
    ] {
        let text = |header: &str| program_of_written(header, body);
        let here = script(&text("for (i in 3:8)")).matrix("X", exact(1000, 6, 3));
        let here = here
            .matrix("Y", exact(1000, 6, 5))
            .output("R")
            .output("S")
            .run();
        let header = "parfor (i in 3:8, mode=REMOTE_SPARK)";
        let (script, counting) = distributed_rows(1000, "40k", &text(header), 2);
        let there = script.output("R").output("S").run();
        for name in ["R", "S"] {
            let found = bits(&there.matrix_of(name, &counting.inner));
            assert!(found == bits(&here.matrix(name)), "{name} of {body}");
        }
        let report = &there.outcome().report.parfors[0];
        assert_eq!(report.location, "dataflow", "{report}");
    }
}

#[test]
fn tasks_give_parts_in_as_many_jobs_as_fit_here() {
    // 48 kB of R, of which an eighth of 16k may be here.
    let text = |iterations: usize| {
        format!(
            "R = X * 2
             if (nrow(R) > 10000) {{ print('no') }}
             parfor (i in 1:{iterations}, mode=REMOTE_SPARK, check=0) {{
               print('iteration ' + i)
               R[i * 10, ] = X[i, ] / i
               if (i == 55) {{ R[i + 100, ] = matrix(i, 1, 4) }}
             }}
             s = sum(R * seq(1, 1000))"
        )
    };
    let (ran, counting) = asked(&text(50), 2);
    let report = ran.outcome().report.parfors[0].to_string();
    assert_eq!(counting.count("iterations"), 24, "{report}");
    assert_eq!(ran.number("s"), here(&text(50)));
    let lines: String = (1..=50).map(|i| format!("iteration {i}\n")).collect();
    assert_eq!(ran.printed, lines);
    assert!(report.contains("'R': 50 parts put in"), "{report}");
    // Later jobs do not run.
    let (failed, counting) = asked(&text(80), 2);
    assert!(
        failed.text().contains("1 x 4 assigned to a range of 1 x 6"),
        "{}",
        failed.text()
    );
    assert!(failed.printed.ends_with("iteration 55\n"));
    assert!(counting.count("iterations") < 24);
    assert_eq!(counting.inner.counters().held, 0);
}

#[test]
fn tasks_do_not_get_matrices_that_are_read_and_written() {
    for (body, reason) in [
        (
            "R[i, ] = R[i, ] + 1\nR[i, 1] = sum(R[i, ])",
            "the distributed matrix 'R'",
        ),
        (
            "R[i, ] = X[i, ] + sum(Y[i + 1, ])",
            "the distributed matrix 'Y'",
        ),
        (
            "R[i, ] = X[i, ]\nprint(sum(R))",
            "the distributed matrix 'R'",
        ),
    ] {
        let text = format!(
            "R = X * 2
             S = Y
             if (nrow(R) > 10000) {{ print('no') }}
             parfor (i in 1:20, mode=REMOTE_SPARK, check=0) {{ {body} }}
             s = sum(R)"
        );
        let (ran, _) = asked(&text, 2);
        let report = ran.outcome().report.parfors[0].to_string();
        assert!(report.contains(reason), "{body}: {report}");
    }
}

#[test]
fn the_first_error_in_order_is_the_loops() {
    let text = "R = X * 2
        if (nrow(R) > 10000) { print('no') }
        parfor (i in 1:40) {
          print('iteration ' + i)
          R[i, ] = X[i, ]
          if (i > 2) { R[i + 100, ] = matrix(i, 1, i) }
        }
        s = sum(R)";
    let (one, _) = asked(&text.replace("parfor", "for"), 3);
    let expected = one.text();
    assert!(
        expected.contains("1 x 3 assigned to a range of 1 x 6"),
        "{expected}"
    );
    for threads in [1, 3] {
        let (ran, counting) = asked(text, threads);
        assert_eq!(ran.text(), expected);
        assert_eq!(counting.inner.counters().held, 0);
    }
    let beyond = text.replace("R[i + 100, ] = matrix(i, 1, i)", "R[i + 998, ] = X[1, ]");
    let (one, _) = asked(&beyond.replace("parfor", "for"), 3);
    let (ran, _) = asked(&beyond, 3);
    assert!(
        ran.text().contains("row 1001 of a matrix with 1000 rows"),
        "{}",
        ran.text()
    );
    assert_eq!(ran.text(), one.text());
}

#[test]
fn without_the_check_the_last_iteration_that_writes_a_cell_wins() {
    let text = |keyword: &str, check: &str| {
        format!(
            "R = X * 2
             if (nrow(R) > 10000) {{ print('no') }}
             {keyword} (i in 1:12{check}) {{
               a = (i - 1) * 20 + 1
               R[a:(a + 99), ] = X[1:100, ] * i
               R[(a + 50):(a + 60), 2:3] = matrix(i / 4, 11, 2)
               R[5, ] = Y[i, ]
             }}
             s = sum(R * seq(1, 1000))"
        )
    };
    let expected = here(&text("for", ""));
    for threads in [1, 3] {
        let (ran, _) = asked(&text("parfor", ", check=0"), threads);
        assert_eq!(ran.number("s"), expected, "on {threads} threads");
    }
    // What it reads is what was there before the loop, however many run at a time.
    let reads = "R = X * 2
        if (nrow(R) > 10000) { print('no') }
        parfor (i in 1:20, check=0) { R[i + 1, ] = R[i, ] + 1 }
        s = sum(R[2:21, ] == X[1:20, ] * 2 + 1)
        parfor (i in 1:3, check=0) { R = R * 0 + i }
        s = s + sum(R == 3)";
    for threads in [1, 3] {
        let (ran, _) = asked(reads, threads);
        assert_eq!(ran.number("s"), 6120.0, "on {threads} threads");
    }
}
