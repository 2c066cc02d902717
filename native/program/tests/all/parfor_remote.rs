//! `parfor` as one job on the workers: which loops can be, what crosses, and what comes back.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_dataflow::ParforReport;
use fulgurite_matrix::MatrixBlock;

use crate::common::{Script, exact, script};

fn remote(text: &str) -> Script {
    script(text)
        .backend(Arc::default())
        .config("fulgurite.parfor.mode", "remote")
        .config("fulgurite.threads", "2")
}

fn bits(matrix: &MatrixBlock) -> Vec<u64> {
    let dense = matrix.to_dense().unwrap();
    dense.values().iter().map(|cell| cell.to_bits()).collect()
}

fn loops(script: Script) -> Vec<ParforReport> {
    script.run().outcome().report.parfors.clone()
}

/// Where the only loop ran, and why there.
fn place(script: Script) -> String {
    let loops = loops(script);
    let reason = loops[0].location_reason.as_deref();
    format!("{}: {}", loops[0].location, reason.unwrap_or("-"))
}

#[test]
fn what_tasks_cannot_run_runs_here_and_says_why() {
    let text = "R = matrix(0, 4, 1)\nparfor (i in 1:4) { R[i, 1] = sum(X ^ i) }\nprint(sum(R))";
    let with = |header: &str| text.replace("i in 1:4", header);
    let x = || exact(100, 4, 3);
    let unconfigured = |text: &str| script(text).config("fulgurite.threads", "2");
    let in_process = |text: &str| unconfigured(text).backend(Arc::default());
    let asked = "i in 1:4, mode=REMOTE_SPARK";
    let writes = text.replace("{ R", "{ if (i > 9) { write(X, 'no.csv') }\nR");
    let calls = format!(
        "f = function(matrix[double] A) return (double s) {{ s = sum(A)\nwrite(A, 'no.csv') }}\n{}",
        text.replace("sum(X ^ i)", "i")
            .replace("{ R", "{ if (i > 9) { s = f(X) }\nR")
    );
    let nested = |levels: usize| {
        let ifs = format!("{{ {}", "if (i > 0) { ".repeat(levels));
        text.replacen("{ ", &ifs, 1)
            .replace(" }", &" }".repeat(levels + 1))
    };
    let places = [
        place(remote(&nested(31)).matrix("X", x())),
        place(remote(&nested(40)).matrix("X", x())),
        place(remote(text).matrix("X", x())),
        place(unconfigured(text).matrix("X", x())),
        place(unconfigured(&with(asked)).matrix("X", x())),
        place(in_process(&with(asked)).matrix("X", x())),
        place(in_process(&with("i in 1:4, mode=remote_mr")).matrix("X", x())),
        place(in_process(text).matrix("X", x())),
        place(remote(&with("i in 1:4, mode=LOCAL")).matrix("X", x())),
        place(remote(&writes).matrix("X", x())),
        place(remote(&calls).matrix("X", x())),
        place(
            remote(text)
                .matrix("X", x())
                .config("fulgurite.memory.broadcast", "1k"),
        ),
        place(
            script(text)
                .dataset("X", x(), 10)
                .config("fulgurite.parfor.mode", "remote"),
        ),
    ];
    insta::assert_snapshot!(places.join("\n"), @r"
    dataflow: as fulgurite.parfor.mode says
    local: statements are nested too deeply to be sent
    dataflow: as fulgurite.parfor.mode says
    local: -
    local: there are no workers
    dataflow: as mode= says
    dataflow: as mode= says
    local: tasks would run on the same cores
    local: as mode= says
    local: iterations may read or write files
    local: iterations may read or write files
    local: 'X' is larger than fulgurite.memory.broadcast
    local: iterations use the distributed matrix 'X'
    ");
}

#[test]
fn a_loop_is_one_job_whose_tasks_are_ranges_and_nothing_stays_behind() {
    let backend = Arc::new(LocalBackend::default());
    let text = "
        R = matrix(0, 100, 2)
        unused = matrix(1, 50, 50)
        k = 3
        parfor (i in 1:100) { R[i, ] = sqrt(abs(X[1, 1:2])) * k + i }
        print(sum(R) + sum(unused))";
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .config("fulgurite.parfor.mode", "remote")
        .matrix("X", exact(20, 3, 5))
        .run();
    let parfor = &ran.outcome().report.parfors[0];
    assert_eq!((parfor.iterations, parfor.runs), (100, 1));
    let tasks = parfor.tasks;
    assert!((2..100).contains(&tasks), "{parfor}");
    let counters = backend.counters();
    assert_eq!((counters.tasks, counters.held), (tasks, 0));
    // The two matrices that iterations use.
    assert_eq!(counters.broadcasts, 2);
    let report = &ran.outcome().report;
    let there: Vec<_> = report
        .operators
        .iter()
        .filter(|operator| operator.location == "dataflow")
        .collect();
    let ran_once = there.iter().find(|operator| operator.label == parfor.label);
    assert_eq!(ran_once.map(|operator| operator.count), Some(1));
    assert!(
        there.iter().any(|operator| operator.count == 100),
        "{report}"
    );
    assert!(report.planning.served > 0);
    let capped = text.replace("1:100", "1:100, par=1");
    let capped = loops(remote(&capped).matrix("X", exact(20, 3, 5)));
    let parfor = &capped[0];
    assert_eq!(
        (parfor.tasks, parfor.degree, parfor.reason.as_str()),
        (1, 1, "as par= says")
    );
}

/// As `for` has it.
fn same_as_here(text: &str) {
    let outputs = |script: Script| {
        let ran = script
            .matrix("X", exact(40, 6, 7))
            .output("R")
            .output("S")
            .run();
        let location = ran.outcome().report.parfors[0].location.clone();
        let results = [bits(&ran.matrix("R")), bits(&ran.matrix("S"))];
        (location, results, ran.printed)
    };
    let (there, results, lines) = outputs(remote(text));
    assert_eq!(there, "dataflow", "{text}");
    let (_, results_here, lines_here) = outputs(script(text).config("fulgurite.threads", "2"));
    assert_eq!((results, lines), (results_here, lines_here), "{text}");
}

#[test]
fn results_lie_anywhere_in_a_matrix() {
    for (start, body) in [
        ("matrix(7, 40, 6)", "R[i, ] = X[i, ] * i"),
        ("matrix(7, 6, 40)", "R[, i] = t(X[i, ]) * i"),
        ("matrix(7, 40, 40)", "R[i, i] = 0"),
        ("matrix(7, 40, 40)", "R[41 - i, i] = i"),
        ("matrix(0, 40, 40)", "R[i, 41 - i] = i"),
        ("diag(matrix(3, 40, 1))", "R[i, i] = 0\nR[i, 41 - i] = 1"),
        ("X", "if (i == 3 | i == 39) { R[i, 2] = -0.0 }"),
        ("X", "if (i > 99) { R[i, 2] = 1 }"),
        ("matrix(7, 80, 1)", "R[2 * i, 1] = i\nR[2 * i - 1, 1] = -i"),
        ("X", "for (j in 1:6) { R[i, j] = R[i, j] / j }"),
    ] {
        same_as_here(&format!(
            "S = matrix(0, 1, 1)\nR = {start}\nparfor (i in 1:40) {{ {body} }}"
        ));
    }
}

#[test]
fn sums_are_added_in_the_order_of_iterations() {
    for body in [
        "S += X / i",
        "S += X / i\nS += X * 0.1",
        "if (i %% 3 == 0) { S += X / i }",
        "R += t(X) %*% X / i\nS += X ^ 3 / i",
    ] {
        same_as_here(&format!(
            "S = X * 0\nR = matrix(1/3, 6, 6)\nparfor (i in 1:40) {{ {body} }}"
        ));
    }
}

#[test]
fn a_matrix_of_other_sizes_is_the_only_one() {
    let text = "
        S = matrix(0, 1, 1)
        R = matrix(0, 3, 3)
        parfor (i in 1:40, check=0) { if (i == 17) { R = X * i } }";
    same_as_here(text);
    let text = text.replace("if (i == 17)", "if (i == 1 | i == 40)");
    let error = remote(&text).matrix("X", exact(4, 2, 3)).output("R").run();
    let error = error.text();
    assert!(
        error.contains("iterations of the parfor left 'R' with other sizes"),
        "{error}"
    );
}

#[test]
fn iterations_see_functions_constants_and_the_values_that_variables_have() {
    same_as_here(
        "
        scale = function(matrix[double] A, double by) return (matrix[double] B) {
          B = inner(A) * by
        }
        inner = function(matrix[double] A) return (matrix[double] B) { B = sqrt(abs(A)) }
        S = matrix(0, 2, 1)
        name = 'it is \"' + nrow(X) + '\"'
        nan = 0/0
        flag = nrow(X) > 3
        R = matrix(0, 40, 6)
        for (round in 1:3) {
          parfor (i in seq(40, 1, -1)) {
            if (flag) { R[i, ] = scale(X[i, ], i / round) }
            if (i %% 20 == 0) { print(name + ' ' + round + ' ' + i + ' ' + nan) }
            parfor (j in 1:6) { R[i, j] = R[i, j] + j }
            k = 0
            while (k < 3) { k = k + 1 }
            R[i, 1] = R[i, 1] + k
          }
        }",
    );
}

#[test]
fn where_sizes_are_not_known_the_first_iteration_runs_here() {
    let text = "
        R = matrix(0, 40, 1)
        S = matrix(0, 1, 1)
        k = sum(X == X) / 6
        parfor (i in 1:40) { R[i, 1] = sum(X[1:k, ] ^ i) }
        print(sum(R))";
    same_as_here(text);
    let ran = remote(text).matrix("X", exact(40, 6, 7)).run();
    let report = &ran.outcome().report;
    assert_eq!(report.parfors[0].iterations, 40);
    assert!(report.parfors[0].iteration_bytes.is_some());
    let here = report.operators.iter();
    let here = here.filter(|operator| operator.location == "local" && operator.count == 1);
    assert!(here.count() > 0, "{report}");
    assert_eq!(report.parfors[0].location, "dataflow");
}

#[test]
fn the_first_error_in_order_is_the_loops() {
    let text = "
        R = matrix(0, 40, 1)
        parfor (i in 1:40) {
          print('iteration ' + i)
          if (i %% 13 == 0) { R[i, 1] = as.scalar(X[i, i]) }
        }
        print(sum(R))";
    let outcome = |script: Script| script.matrix("X", exact(40, 6, 7)).run().text();
    let there = outcome(remote(text));
    assert_eq!(there, outcome(script(text)));
    insta::assert_snapshot!(there.lines().skip(12).collect::<Vec<_>>().join("\n"), @r"
    iteration 13
    dimension error[E0402]: column 13 of a matrix with 6 columns (in rix)
      --> test.dml:5:52
       |
     5 |           if (i %% 13 == 0) { R[i, 1] = as.scalar(X[i, i]) }
       |                                                    ^
    ");
}

#[test]
fn explain_says_where_iterations_would_run() {
    let text = "R = matrix(0, 4, 1)\nparfor (i in 1:4, mode=REMOTE_SPARK) { R[i, 1] = sum(X * i) }\nprint(sum(R))";
    let mut request = fulgurite_program::Request::script("a.dml", text);
    request.inputs.push(fulgurite_program::request::Input {
        name: "X".into(),
        binding: fulgurite_program::request::Binding::Dataset {
            rows: 10,
            cols: 10,
            nnz: -1,
        },
    });
    let threads = ("fulgurite.threads".to_owned(), "2".to_owned());
    request.config.extend([threads]);
    let session = fulgurite_program::Session::new(fulgurite_config::Config::default())
        .with_backend(Arc::new(LocalBackend::default()));
    let explained = fulgurite_explain::explain(&request, &session).expect("the script is right");
    let line = explained.lines().find(|line| line.starts_with("parfor"));
    insta::assert_snapshot!(line.unwrap_or_default().trim(), @"parfor i: on dataflow where tasks can run them (as mode= says), else 2 at a time with 1 thread each (as many as threads; an iteration takes 64B)");
}

/// A script that reads X, which is distributed, row by row; and the lines and results that it leaves where X is here.
fn by_rows(range: &str) -> (String, Vec<Vec<u64>>, String) {
    let text = format!(
        "R = matrix(0, nrow(X), 3)
         S = matrix(0, 1, ncol(X))
         parfor (i in {range}) {{
           x = X[i, ]
           R[i, 1] = sum(x ^ 2) / nrow(X) + ncol(X) + length(X)
           R[i, 2:3] = X[i, 2:3] * i
           S += x / i
           if (i %% 40 == 0) {{ print('row ' + i) }}
         }}"
    );
    let ran = script(&text)
        .matrix("X", exact(100, 4, 3))
        .output("R")
        .output("S")
        .run();
    let results = vec![bits(&ran.matrix("R")), bits(&ran.matrix("S"))];
    (text, results, ran.printed)
}

#[test]
fn iterations_run_where_the_rows_are_that_they_read() {
    for (range, rows) in [
        ("1:nrow(X)", 100),
        ("seq(nrow(X), 1, -1)", 100),
        ("seq(3, 99, 4)", 25),
        ("20:22", 3),
    ] {
        let (text, results, lines) = by_rows(range);
        let backend = Arc::new(LocalBackend::default());
        let ran = script(&text)
            .backend(Arc::clone(&backend))
            .dataset("X", exact(100, 4, 3), 7)
            .config("fulgurite.memory.local", "3k")
            .output("R")
            .output("S")
            .run();
        let parfor = &ran.outcome().report.parfors[0];
        assert_eq!(parfor.location, "dataflow", "{parfor}");
        assert_eq!(
            parfor.location_reason.as_deref(),
            Some("each iteration reads its row of 'X'")
        );
        // A task for each stripe, however many of its rows are read.
        assert_eq!((parfor.iterations, parfor.tasks), (rows, 15), "{range}");
        assert_eq!(backend.counters().source_scans, 1);
        let there = vec![bits(&ran.matrix("R")), bits(&ran.matrix("S"))];
        assert_eq!((there, &ran.printed), (results, &lines), "{range}");
    }
}

#[test]
fn other_reads_of_a_distributed_matrix_keep_the_loop_here() {
    let (text, ..) = by_rows("1:nrow(X)");
    let place = |text: &str| {
        let ran = script(text)
            .dataset("X", exact(100, 4, 3), 7)
            .config("fulgurite.memory.local", "3k")
            .config("fulgurite.parfor.mode", "remote")
            .output("R")
            .run();
        match &ran.result {
            Ok(outcome) => outcome.report.parfors[0].to_string(),
            Err(error) => error.to_string(),
        }
    };
    for other in [
        text.replace("x = X[i, ]", "x = X[1:i, ]"),
        text.replace("x = X[i, ]", "x = X[i, ] + sum(X ^ i)"),
        text.replace("1:nrow(X)", "1:nrow(X), par=2"),
    ] {
        let place = place(&other);
        let expected = "here (iterations use the distributed matrix 'X'), ";
        assert!(place.contains(expected), "{place}");
    }
    let beyond = place(&text.replace("1:nrow(X)", "1:101"));
    assert!(beyond.contains("row 101"), "{beyond}");
}
