//! Compressed or not, scripts give the same: operators on column groups, in generated code, and those that expand them.

use fulgurite_error::ErrorKind;
use fulgurite_matrix::{DenseMatrix, Layout, MatrixBlock};
use fulgurite_program::{OutputValue, Report};
use fulgurite_test_numbers::is_close;

use crate::common::script;

const ROWS: usize = 3000;
const COLS: usize = 12;

/// Columns of few values, dummies, a constant, and one of noise.
fn cell(row: usize, col: usize) -> f64 {
    match col {
        0 => (row % 7) as f64 - 3.0,
        1 => (row / 500) as f64,
        2 => 2.5,
        3..=9 => f64::from(u8::from(row % 7 == col - 3)),
        10 => f64::from(u8::from(row.is_multiple_of(100))) * 4.0,
        _ => (row as f64 * 0.37).sin(),
    }
}

fn x() -> MatrixBlock {
    DenseMatrix::from_fn(ROWS, COLS, cell).unwrap().into()
}

/// With what is not finite, and zeros of both signs.
fn special() -> MatrixBlock {
    let odd = |row: usize, col: usize| match (row % 11, col) {
        (3, 0) => f64::NAN,
        (4, 1) => f64::INFINITY,
        (5, 1) => f64::NEG_INFINITY,
        (6, 10) => -0.0,
        _ => cell(row, col),
    };
    DenseMatrix::from_fn(ROWS, COLS, odd).unwrap().into()
}

fn run(text: &str, x: &MatrixBlock, compression: &str, policy: &str) -> (MatrixBlock, Report) {
    let ran = script(text)
        .matrix("X", x.clone())
        .config("fulgurite.compression", compression)
        .config("fulgurite.fusion.policy", policy)
        .config("fulgurite.threads", "2")
        .output("R")
        .run();
    let outcome = ran.result.unwrap_or_else(|error| panic!("{text}: {error}"));
    let value = match &outcome.outputs["R"] {
        OutputValue::Matrix(matrix) => matrix.clone(),
        OutputValue::Scalar(value) => {
            MatrixBlock::filled(1, 1, value.as_f64().expect("a number")).unwrap()
        }
        other => panic!("{text}: {other:?}"),
    };
    (value, outcome.report)
}

fn check(body: &str, x: &MatrixBlock) {
    // What is printed reads X, too, where the loop reads it once.
    let text = format!(
        "R = 0\nprint(max(X))\nprint(min(X))\nprint(sum(X))\nfor (i in 1:2) {{\n v = seq(1, ncol(X)) / (i + 3)\n w = seq(1, nrow(X)) / nrow(X) - 0.4\n R = {body}\n}}"
    );
    for policy in ["cost", "none", "fuse-all"] {
        let (expected, _) = run(&text, x, "off", policy);
        let (found, report) = run(&text, x, "on", policy);
        assert!(
            report.compressions.iter().any(|run| run.groups.is_some()),
            "{body}: {report}"
        );
        assert_eq!(
            (found.rows(), found.cols()),
            (expected.rows(), expected.cols())
        );
        let (found, expected) = (found.to_dense().unwrap(), expected.to_dense().unwrap());
        let largest = expected.values().iter().filter(|cell| cell.is_finite());
        let largest = largest.fold(1.0_f64, |largest, cell| largest.max(cell.abs()));
        for (at, (found, expected)) in found.values().iter().zip(expected.values()).enumerate() {
            let same = found == expected
                || (found.is_nan() && expected.is_nan())
                || is_close(*found, *expected, 1e-10 * largest);
            assert!(
                same,
                "{policy}: {body}: cell {at}: {found} instead of {expected}"
            );
        }
    }
}

/// What neither sums in another order nor multiplies: these take special values, too.
const CELLS: &[&str] = &[
    "X != 0",
    "X * 2 - 1",
    "3 / X",
    "exp(X)",
    "X ^ 2",
    "X - colMeans(X)",
    "abs(X) * t(v)",
    "min(X)",
    "max(X)",
    "colMaxs(X)",
    "rowMins(X)",
    "rowIndexMax(X)",
    "rowIndexMin(X)",
    "sum(X != 0)",
    "sum(X == 0)",
    "colSums(X > 1)",
    "rowSums(X <= 0)",
    "X[, 2:4]",
    "X[5:2900, 3]",
    "X[i, ]",
    "X[i:(i + 1), 2:5]",
    "cbind(X, w)",
    "cbind(X, matrix(1, nrow(X), 1)) * 2",
    "t(X)",
    "rbind(X, X)",
    "rev(X)",
    "replace(target=X, pattern=0, replacement=7)",
    "ifelse(X > 1, X, -1)",
    "X * w",
    "X + X",
    "X * X - X",
    "nrow(X) + ncol(X)",
    "removeEmpty(target=X, margin=\"rows\")",
    "order(target=X, by=1)",
    "as.scalar(X[3, 4])",
    "cumsum(X[1:20, ])",
    "max(X, w)",
];

/// What sums and multiplies.
const SUMS: &[&str] = &[
    "X %*% v",
    "t(X) %*% w",
    "t(w) %*% X",
    "X %*% cbind(v, v * 2, v - 1)",
    "t(X) %*% X",
    "X %*% t(X[1:3, ])",
    "t(X) %*% (X %*% v)",
    "t(X) %*% (w * (X %*% v))",
    "t(X) %*% (w - X %*% v)",
    "t(X) %*% (X * w)",
    "sum(X)",
    "sum(X ^ 2)",
    "sum(X * X * 3 - X)",
    "mean(X)",
    "sd(X)",
    "var(X)",
    "colSums(X)",
    "colMeans(X ^ 2)",
    "colSds(X)",
    "rowSums(X)",
    "rowMeans(X * 2)",
    "sum(X * w)",
    "colSums(X * w)",
    "sum(abs(X - colMeans(X)))",
    "rowSums((X - t(v)) ^ 2)",
    "1 / (1 + exp(-(X %*% v)))",
    "X / rowSums(abs(X) + 1)",
    "t(X) %*% (1 / (1 + exp(-(X %*% v))) - (w > 0))",
    "cbind(as.matrix(sum(X)), as.matrix(sum(X ^ 2)), as.matrix(min(X)))",
    "aggregate(target=X, groups=X[, 2] + 1, fn=\"sum\")",
];

#[test]
fn operators_give_the_same_on_groups() {
    for body in CELLS.iter().chain(SUMS) {
        check(body, &x());
    }
}

#[test]
fn special_values_are_kept() {
    for body in CELLS {
        check(body, &special());
    }
}

#[test]
fn sparse_dummies_are_compressed_too() {
    let dummies = DenseMatrix::from_fn(ROWS, 40, |row, col| {
        f64::from(u8::from((row * 13) % 40 == col))
    });
    let dummies = MatrixBlock::from(dummies.unwrap())
        .in_layout(Layout::Csr)
        .unwrap();
    for body in [
        "X %*% v",
        "t(X) %*% w",
        "t(X) %*% X",
        "t(X) %*% (w * (X %*% v))",
        "sum(X)",
        "X * w",
        "rev(X)",
    ] {
        check(body, &dummies);
    }
}

#[test]
fn what_does_not_compress_stays_and_the_report_says_so() {
    let noise = DenseMatrix::from_fn(500, 6, |row, col| ((row * 6 + col) as f64 * 0.731).sin());
    let text = "R = 0\nfor (i in 1:3) { R = R + sum(X %*% matrix(i, ncol(X), 1)) }";
    let (_, report) = run(text, &noise.unwrap().into(), "on", "cost");
    let decisions = &report.compressions;
    assert!(!decisions.is_empty(), "{report}");
    assert!(
        decisions.iter().all(|decision| decision.groups.is_none()),
        "{report}"
    );
    assert!(
        report
            .to_string()
            .contains("not compressed X at for i test.dml:2"),
        "{report}"
    );
}

#[test]
fn off_compresses_nothing_and_auto_no_small_matrix() {
    let text = "R = 0\nfor (i in 1:50) { R = R + sum(X %*% matrix(i, ncol(X), 1)) }";
    for mode in ["off", "auto"] {
        let (_, report) = run(text, &x(), mode, "cost");
        assert_eq!(report.compressions, []);
    }
}

#[test]
fn a_variable_that_a_loop_assigns_is_left_alone() {
    let text = "Y = X\nfor (i in 1:3) { Y = Y * 2\n R = sum(Y) }";
    let (found, report) = run(text, &x(), "on", "cost");
    let (expected, _) = run(text, &x(), "off", "cost");
    assert_eq!(found.get(0, 0), expected.get(0, 0));
    assert!(
        !report
            .compressions
            .iter()
            .any(|run| run.label.starts_with('Y')),
        "{report}"
    );
}

#[test]
fn inputs_of_compressed_blocks_are_accepted() {
    let groups = fulgurite_matrix::compressed::compress(&x()).unwrap();
    let (found, _) = run(
        "R = colSums(X) + sum(X[1:3, ])",
        &groups.into(),
        "off",
        "cost",
    );
    let (expected, _) = run("R = colSums(X) + sum(X[1:3, ])", &x(), "off", "cost");
    for col in 0..COLS {
        assert!(is_close(found.get(0, col), expected.get(0, col), 1e-9));
    }
}

#[test]
fn ranges_outside_are_refused_as_ever() {
    let ran = script("for (i in 1:2) { R = X[4000, ] + sum(X) }")
        .matrix("X", x())
        .config("fulgurite.compression", "on")
        .output("R")
        .run();
    let error = ran.result.expect_err("there are 3000 rows");
    assert_eq!(error.kind(), ErrorKind::Dimension);
}
