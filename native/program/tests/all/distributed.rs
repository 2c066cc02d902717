//! Distributed execution on the backend in this process: same answers as local ones, sources read once, nothing
//! large comes to the driver.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_error::ErrorKind;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::OutputValue;
use fulgurite_test_numbers::is_close;

use crate::common::{Ran, exact, script};
use proptest::prelude::*;

const ROWS: usize = 500;
const COLS: usize = 8;
/// Less than X (32 kB), more than a few of its columns.
const BUDGET: &str = "16k";

fn x() -> MatrixBlock {
    exact(ROWS, COLS, 7)
}

/// The script over a distributed X under the small budget, on stripes of uneven height.
fn distributed(text: &str, output: &str, policy: &str) -> (Ran, Arc<LocalBackend>) {
    let backend = Arc::new(LocalBackend::default());
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .dataset("X", x(), 37)
        .config("fulgurite.memory.local", BUDGET)
        .config("fulgurite.fusion.policy", policy)
        .output(output)
        .run();
    (ran, backend)
}

fn local(text: &str, output: &str) -> Ran {
    script(text)
        .matrix("X", x())
        .config("fulgurite.fusion.policy", "none")
        .output(output)
        .run()
}

fn cells(ran: &Ran, name: &str) -> Vec<f64> {
    match &ran.outcome().outputs[name] {
        OutputValue::Matrix(matrix) => matrix.to_dense().unwrap().values().to_vec(),
        OutputValue::Scalar(value) => vec![value.as_f64().expect("a number")],
        OutputValue::Frame(_) | OutputValue::List(_) | OutputValue::Dataset { .. } => {
            panic!("{name} stayed on the workers")
        }
    }
}

fn assert_same(text: &str, output: &str) {
    let expected = cells(&local(text, output), output);
    for policy in ["none", "cost", "fuse-all"] {
        let (ran, backend) = distributed(text, output, policy);
        let found = cells(&ran, output);
        assert_eq!(found.len(), expected.len(), "{text}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                is_close(*found, *expected, 1e-9),
                "{policy}: {text}: {found} for {expected}"
            );
        }
        assert_eq!(backend.counters().source_scans, 1, "{policy}: {text}");
        let largest = backend.counters().largest_collected;
        assert!(
            largest * 8 <= 16 << 10,
            "{policy}: {text}: {largest} cells came to the driver"
        );
    }
}

#[test]
fn products_aggregates_and_cell_wise_operators() {
    for text in [
        "R = sum(X)",
        "R = sum(X ^ 2 + 1)",
        "R = mean(X)",
        "R = colSums(X)",
        "R = colMeans(X * 2)",
        "R = rowSums(X)",
        "R = min(X) + max(X)",
        "R = colMaxs(X)",
        "R = t(X) %*% X",
        "R = t(X) %*% (X %*% matrix(1, ncol(X), 1))",
        "R = X %*% matrix(1, ncol(X), 1)",
        "R = rowIndexMax(X)",
        "R = t(rowSums(X)) %*% X",
        "R = colSums(X[, 2:4])",
        "R = colSums(cbind(X, matrix(1, nrow(X), 1)))",
        "R = sum((X - colMeans(X)) ^ 2)",
        "y = rowSums(X > 0)\nR = t(X) %*% (y * 2)",
        "R = nrow(X) * ncol(X)",
        "R = colVars(X)",
        "R = colSds(X * 2 + 1)",
        "R = var(X)",
        "R = sd(X - rowSums(X))",
        "R = mean(rowSums(X) * 2)",
        "R = mean(rowMaxs(X) - rowMins(X))",
        "R = t(X[, 1:2])",
        "Y = t(X)\nR = Y %*% X",
        "Z = X * 2\nR = colSums(Z) + colSums(Z + 1)",
    ] {
        assert_same(text, "R");
    }
}

#[test]
fn an_iterative_script_scans_x_once_and_broadcasts_what_stays_once() {
    let text = "
        y = rowSums(X) / 3
        w = matrix(0, ncol(X), 1)
        for (i in 1:10) {
          g = t(X) %*% (X %*% w - y)
          w = w - 0.00001 * g
        }";
    assert_same(text, "w");
    let (ran, backend) = distributed(text, "w", "cost");
    let report = &ran.outcome().report;
    assert!(
        report
            .operators
            .iter()
            .any(|operator| operator.location == "dataflow"),
        "{report}"
    );
    // y once; w in each iteration, and in the unfused case X %*% w - y too.
    let broadcasts = backend.counters().broadcasts;
    assert!(broadcasts <= 1 + 10, "{broadcasts} broadcasts");
}

#[test]
fn what_a_loop_does_not_change_is_sent_once_and_read_in_place() {
    // P stays: to index it in each iteration would make a new matrix each time, and send that.
    let text = "
        P = cbind(rowSums(X), rowMaxs(X), rowMins(X)) / 20
        S = matrix(0.01, ncol(X), 2)
        for (i in 1:6) {
          Q = P[, 1:2] * (X %*% S)
          S = S + 0.0001 * (t(X) %*% (Q - P[, 1:2] * rowSums(Q)))
        }";
    assert_same(text, "S");
    let (ran, backend) = distributed(text, "S", "cost");
    let report = &ran.outcome().report;
    let indexed = report
        .operators
        .iter()
        .filter(|operator| operator.label.starts_with("rix"));
    let times: u64 = indexed.map(|operator| operator.count).sum();
    // Before the loop, if at all.
    assert!(times <= 1, "{report}");
    // P once, S in each iteration.
    let broadcasts = backend.counters().broadcasts;
    assert!(broadcasts <= 1 + 6, "{broadcasts} broadcasts\n{report}");
}

#[test]
fn everything_is_released_in_the_end() {
    let text = "Z = X * 2\nR = sum(Z %*% matrix(1, ncol(X), 3)) + sum(Z)";
    let (ran, backend) = distributed(text, "R", "none");
    ran.outcome();
    assert_eq!(backend.counters().held, 0);
    let (ran, backend) = distributed("Z = X * 2\nR = Z + 1", "R", "none");
    let OutputValue::Dataset {
        characteristics, ..
    } = ran.outcome().outputs["R"]
    else {
        panic!("R is larger than the budget");
    };
    assert_eq!(
        (characteristics.rows, characteristics.cols),
        (Some(ROWS as u64), Some(COLS as u64))
    );
    // What is handed over is the caller's.
    assert_eq!(backend.counters().held, 1);
}

#[test]
fn what_has_no_distributed_form_is_an_error_that_names_operator_line_and_budget() {
    for text in [
        "a = 1\nR = toString(X)",
        "a = 1\nR = toString(X * 2, rows=3)",
    ] {
        let (ran, backend) = distributed(text, "R", "cost");
        let error = ran.result.expect_err("it can't run");
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        let shown = error.to_string();
        assert!(shown.contains("fulgurite.memory.local is 16384"), "{shown}");
        assert!(error.operator().is_some(), "{shown}");
        assert_eq!(
            error.position().map(|position| position.line),
            Some(2),
            "{shown}"
        );
        assert_eq!(backend.counters().largest_collected, 0, "{text}");
    }
}

#[test]
fn without_workers_the_budget_is_an_error() {
    let ran = script("R = X * 2")
        .matrix("X", x())
        .config("fulgurite.memory.local", BUDGET)
        .output("R")
        .run();
    assert_eq!(
        ran.result.expect_err("it does not fit").kind(),
        ErrorKind::Memory
    );
}

#[test]
fn local_matrices_that_do_not_fit_are_cut() {
    let text = "R = colSums(X * 2 + X)";
    let backend = Arc::new(LocalBackend::default());
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .matrix("X", x())
        .config("fulgurite.memory.local", BUDGET)
        .config("fulgurite.blocksize", "100")
        .output("R")
        .run();
    assert_eq!(cells(&ran, "R"), cells(&local(text, "R"), "R"));
    assert!(backend.counters().tasks >= 5, "{:?}", backend.counters());
}

#[test]
fn local_matrices_whose_transposes_do_not_fit_are_cut_as_they_lie() {
    for result in ["rowSums(Y)", "Y %*% X", "Y[3,]"] {
        let text = format!("Y = t(X)\nif (sum(Y ^ 2) == 0.5) {{ print(\"\") }}\nR = {result}");
        let backend = Arc::new(LocalBackend::default());
        let ran = script(&text)
            .backend(Arc::clone(&backend))
            .matrix("X", x())
            // X alone would fit.
            .config("fulgurite.memory.local", "40k")
            .config("fulgurite.blocksize", "100")
            .output("R")
            .run();
        assert_eq!(cells(&ran, "R"), cells(&local(&text, "R"), "R"), "{text}");
        let counters = backend.counters();
        assert!(
            counters.tasks + counters.collected > 0,
            "{text}: {counters:?}"
        );
    }
}

#[test]
fn side_inputs_beyond_the_broadcast_limit_are_shuffled() {
    let text = "R = sum(X * Y)";
    let run = |limit: &str| {
        let backend = Arc::new(LocalBackend::default());
        let ran = script(text)
            .backend(Arc::clone(&backend))
            .dataset("X", x(), 37)
            .matrix("Y", exact(ROWS, COLS, 11))
            .config("fulgurite.memory.local", BUDGET)
            .config("fulgurite.memory.broadcast", limit)
            .config("fulgurite.blocksize", "64")
            .output("R")
            .run();
        (ran.number("R"), backend.counters().broadcasts)
    };
    let (broadcast, aligned) = (run("1m"), run("1k"));
    assert_eq!(broadcast.0, aligned.0);
    assert_eq!((broadcast.1, aligned.1), (1, 0));
}

/// Random expressions over X by rows.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("X".to_owned()),
        Just("colSums(X)".to_owned()),
        Just("rowSums(X)".to_owned()),
        (-3i32..4).prop_map(|number| number.to_string()),
        Just("(X %*% matrix(0.5, ncol(X), ncol(X)))".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec!["+", "-", "*", ">"]),
                inner.clone()
            )
                .prop_map(|(left, op, right)| format!("({left} {op} {right})")),
            inner.clone().prop_map(|of| format!("abs({of})")),
            (inner.clone(), inner).prop_map(|(left, right)| format!("max({left}, {right})")),
        ]
    })
}

#[test]
fn an_output_that_fails_leaves_none_of_the_others_behind() {
    let backend = Arc::new(LocalBackend::default());
    let ran = script("A = X + 1\nB = t(X)")
        .backend(Arc::clone(&backend))
        .dataset("X", x(), 37)
        .config("fulgurite.memory.local", "2k")
        .output("A")
        .output("B")
        .run();
    let error = ran.result.expect_err("B has rows of 4000 bytes");
    assert_eq!(
        (error.kind(), error.operator()),
        (ErrorKind::Memory, Some("output B"))
    );
    assert_eq!(backend.counters().held, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_expressions_agree(of in expression(), reduce in 0usize..4) {
        let reduced = match reduce {
            0 => format!("R = sum(X * ({of}))"),
            1 => format!("R = colSums(X + ({of}))"),
            2 => format!("R = rowSums(X - ({of}))"),
            _ => format!("R = t(X) %*% (X + ({of}))"),
        };
        // What has the shape of neither rows nor columns is not what this is about.
        if local(&reduced, "R").result.is_ok() {
            assert_same(&reduced, "R");
        }
    }
}
