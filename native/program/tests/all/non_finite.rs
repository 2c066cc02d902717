//! One answer whatever the plan and the layout: zeros, infinities and NaN in all operands, in every pair of layouts, fused or
//! not, rewritten or not, in one process and over stripes.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_hop::rewrites::{Precision, rules};
use fulgurite_matrix::{DenseMatrix, Layout, MatrixBlock};
use fulgurite_program::OutputValue;
use fulgurite_test_numbers::is_close;

use crate::common::{Ran, script};

const ROWS: usize = 60;
const COLS: usize = 8;
const LAYOUTS: [Layout; 3] = [Layout::Dense, Layout::Csr, Layout::Coordinate];

/// Mostly zeros, with every kind of other cell; row 7 is empty.
fn x() -> MatrixBlock {
    let cell = |i: usize, j: usize| match (i * 31 + j * 17) % 97 {
        _ if i == 7 => 0.0,
        0..=5 => 2.5,
        6..=9 => -1.0,
        10 => f64::INFINITY,
        11 => f64::NEG_INFINITY,
        12 => f64::NAN,
        13 => 0.25,
        _ => 0.0,
    };
    DenseMatrix::from_fn(ROWS, COLS, cell).unwrap().into()
}

/// Mostly numbers, with zeros of both signs and what is not finite beside zeros of [`x`].
fn y() -> MatrixBlock {
    let cell = |i: usize, j: usize| match (i * 13 + j * 29) % 41 {
        0 => 0.0,
        1 => -0.0,
        2 if i.is_multiple_of(3) => f64::INFINITY,
        3 if i.is_multiple_of(4) => f64::NAN,
        4 if i.is_multiple_of(5) => f64::NEG_INFINITY,
        other => other as f64 / 8.0 - 2.0,
    };
    DenseMatrix::from_fn(ROWS, COLS, cell).unwrap().into()
}

/// Finite and without zeros, so that zeros beside it are skipped.
fn z() -> MatrixBlock {
    DenseMatrix::from_fn(ROWS, COLS, |i, j| ((i * 7 + j) % 5) as f64 + 0.5)
        .unwrap()
        .into()
}

fn vector(rows: usize, odd: f64) -> MatrixBlock {
    DenseMatrix::from_fn(rows, 1, |i, _| if i == 3 { odd } else { i as f64 - 2.5 })
        .unwrap()
        .into()
}

const CELLS: &[&str] = &[
    "X * Y",
    "X / Y",
    "X %% Y",
    "X %/% Y",
    "(X * Y) / (Y * Y)",
    "X * Y * Z",
    "X * log(Y)",
    "X * log(Z) / Z",
    "X / colSums(abs(Y[1:4, ]))",
    "X * w",
    "(X != 0) * exp(Y * 400)",
    "X ^ 0.5 + round(X)",
    "!(X < Y) + !(X >= Y)",
    "(X > 0) - (X < 0)",
    "(X > 0) * X",
    "X * (w %*% matrix(1, 1, 8))",
    "(X & TRUE) + (X | FALSE) + (X & Y)",
    "ifelse(X == 0, 0, 1 / X)",
    "(X * s) / 3 + Y / 3",
    "matrix(0, 60, 8) * Y",
    "X - X * Y",
    "is.nan(X) + is.na(X * Y)",
    "is.infinite(X) * Z",
    "sigmoid(X) * Y",
];

const AGGREGATES: &[&str] = &[
    "sum(X != 0) + sum(X & TRUE)",
    "sum(X * Y)",
    "sum(X / Y)",
    "sum(X * Z) + sum(X / Z)",
    "rowSums(X * Y)",
    "colSums(X / Y)",
    "rowSums(X / Z)",
    "colSums(X * log(Y))",
    "sum(rev(X) * Z)",
    "contains(X, NaN) + contains(X * Z, 1.25) + contains(X, -3)",
    "rowcumsum(X * Z)",
    "rowSums((X * Y != X * Y) * 1)",
];

const PRODUCTS: &[&str] = &[
    "X %*% v",
    "X %*% t(Y)",
    "t(X) %*% Y",
    "t(Y) %*% X",
    "t(X) %*% X",
    "t(X) %*% w",
    "t(X) %*% (X %*% u)",
    "t(X) %*% (X %*% v)",
    "t(X) %*% (w * (X %*% u))",
    "t(X) %*% (w / (X %*% u))",
    "t(X) %*% (Z[, 1] / (X %*% u))",
    "t(Z) %*% (X %*% t(X) %*% w)",
    "matrix(0, 60, 8) %*% v",
    "diag(u) %*% t(X)",
    "diag(u) * s",
];

struct Case<'a> {
    text: String,
    matrices: Vec<(&'a str, MatrixBlock)>,
}

impl Case<'_> {
    /// With dense matrices of the cells that the layouts store: sparse ones store no sign of a zero, which decides the
    /// sign of a quotient by it.
    fn dense(mut self) -> Self {
        for (_, matrix) in &mut self.matrices {
            *matrix = matrix.clone().in_layout(Layout::Dense).unwrap();
        }
        self
    }

    fn run(&self, policy: &str, off: &str, stripes: Option<usize>) -> Vec<f64> {
        let mut run = script(&self.text)
            .config("fulgurite.fusion.policy", policy)
            .config("fulgurite.rewrites.off", off)
            .output("R");
        let backend = Arc::new(LocalBackend::default());
        if stripes.is_some() {
            run = run
                .backend(Arc::clone(&backend))
                .config("fulgurite.memory.local", "2k");
        }
        for (name, matrix) in &self.matrices {
            run = match stripes {
                Some(rows) if matrix.rows() == ROWS => run.dataset(name, matrix.clone(), rows),
                _ => run.matrix(name, matrix.clone()),
            };
        }
        let ran: Ran = run.run();
        if let Err(error) = &ran.result {
            panic!("{}: {error}", self.text);
        }
        match &ran.outcome().outputs["R"] {
            OutputValue::Scalar(value) => vec![value.as_f64().expect("a number")],
            _ => ran
                .matrix_of("R", &*backend)
                .to_dense()
                .unwrap()
                .values()
                .to_vec(),
        }
    }
}

fn assert_same(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            is_close(*found, *expected, 1e-9),
            "{what}: cell {at} is {found}, not {expected}"
        );
    }
}

fn names(which: impl Fn(Precision) -> bool) -> String {
    let names = rules().filter(|rule| which(rule.precision));
    names.map(|rule| rule.name).collect::<Vec<_>>().join(",")
}

fn case<'a>(text: &str, layouts: [Layout; 2], s: &str) -> Case<'a> {
    Case {
        text: format!("s = {s}\nR = {text}"),
        matrices: vec![
            ("X", x().in_layout(layouts[0]).unwrap()),
            ("Y", y().in_layout(layouts[1]).unwrap()),
            ("Z", z()),
            ("w", vector(ROWS, f64::NAN)),
            ("v", vector(COLS, f64::INFINITY)),
            ("u", vector(COLS, 0.5)),
        ],
    }
}

fn check(texts: &[&str], s: &str) {
    let (all, rounding) = (names(|_| true), names(|rule| rule == Precision::Rounding));
    for text in texts {
        let expected = |y| {
            case(text, [Layout::Dense, y], s)
                .dense()
                .run("none", &all, None)
        };
        for y in LAYOUTS {
            let expected = expected(y);
            for x in LAYOUTS {
                for (policy, off) in [("none", &all), ("cost", &rounding), ("fuse-all", &all)] {
                    let found = case(text, [x, y], s).run(policy, off, None);
                    let what = format!("{text}, X {x:?}, Y {y:?}, {policy}, s = {s}");
                    assert_same(&found, &expected, &what);
                }
            }
        }
        let expected = expected(Layout::Dense);
        for x in LAYOUTS {
            for policy in ["none", "fuse-all"] {
                let found = case(text, [x, Layout::Dense], s).run(policy, &rounding, Some(7));
                let what = format!("{text}, X {x:?} in stripes, {policy}, s = {s}");
                assert_same(&found, &expected, &what);
            }
        }
    }
}

#[test]
fn cells_are_the_same_in_every_plan_and_layout() {
    check(CELLS, "0.5");
    check(&["(X * s) / 3 + Y / 3", "X * s"], "0/0");
}

#[test]
fn aggregates_are_the_same_in_every_plan_and_layout() {
    check(AGGREGATES, "0.5");
}

#[test]
fn products_are_the_same_in_every_plan_and_layout() {
    check(PRODUCTS, "1/0");
}

fn number(text: &str) -> f64 {
    script(text).output("R").run().number("R")
}

#[test]
fn values_are_right() {
    let nan = number(
        "Z = rand(rows=400, cols=6, sparsity=0.02, seed=3)
         W = matrix(seq(1, 2400) %% 4, rows=400, cols=6)
         Q = Z / W
         R = sum(Q != Q)",
    );
    assert_eq!(nan, 587.0);
    let x = "X = matrix(\"0 2 -1 0.5\", rows=4, cols=1)\n";
    assert_eq!(number(&format!("{x}R = sum(X & TRUE)")), 3.0);
    assert_eq!(number(&format!("{x}R = sum(X | FALSE)")), 3.0);
    let nans = "A = matrix(0, rows=3, cols=1) / matrix(0, rows=3, cols=1)\n";
    assert_eq!(number(&format!("{nans}R = sum(!(A < 1))")), 3.0);
    assert_eq!(number(&format!("{nans}R = sum((A > 0) - (A < 0))")), 0.0);
}

fn error(text: &str) -> String {
    script(text).output("R").run().text()
}

#[test]
fn errors_are_not_hidden() {
    let reshaped = error(
        "X = rand(rows=2, cols=as.scalar(rand(rows=1, cols=1, min=2, max=2)))\nR = sum(matrix(X, rows=3, cols=1))",
    );
    assert!(reshaped.contains("dimension error"), "{reshaped}");
    let counted = error("R = 0\nfor (i in 1:(0/0)) { R = R + 1 }");
    assert!(
        counted.contains("a loop cannot count from or to NaN"),
        "{counted}"
    );
    let overflow = error("R = 9223372036854775807 + 1");
    assert!(overflow.contains("does not fit a 64-bit int"), "{overflow}");
    let empty = error("R = sum(rowIndexMax(matrix(0, rows=3, cols=0)))");
    assert!(empty.contains("dimension error"), "{empty}");
}

#[test]
fn sums_over_stripes_are_those_of_one_process() {
    let cell = |i: usize, _: usize| match i {
        0 => 1e16,
        1001 => -1e16,
        _ => 1.0,
    };
    let values: MatrixBlock = DenseMatrix::from_fn(1002, 1, cell).unwrap().into();
    let far = |i: usize, _: usize| 1e9 + (i % 7) as f64 / 3.0;
    let far: MatrixBlock = DenseMatrix::from_fn(1002, 1, far).unwrap().into();
    let text = |of: &str| format!("R = {of}");
    for of in [
        "sum(X)",
        "sum(colSums(X))",
        "sum(X * 2) / 2",
        "mean(X) * 1002",
    ] {
        for policy in ["none", "fuse-all"] {
            let run = || {
                script(&text(of))
                    .config("fulgurite.fusion.policy", policy)
                    .output("R")
            };
            let here = run().matrix("X", values.clone()).run().number("R");
            let there = run()
                .dataset("X", values.clone(), 7)
                .config("fulgurite.memory.local", "2k")
                .run()
                .number("R");
            assert_eq!((here, there), (1000.0, 1000.0), "{of}, {policy}");
        }
    }
    for of in [
        "var(X)",
        "sd(X)",
        "moment(X, 2)",
        "moment(X, 3)",
        "cov(X, X)",
    ] {
        let here = script(&text(of)).matrix("X", far.clone()).output("R").run();
        let there = script(&text(of))
            .dataset("X", far.clone(), 7)
            .config("fulgurite.memory.local", "2k")
            .output("R")
            .run();
        let (here, there) = (here.number("R"), there.number("R"));
        assert!(
            here.is_finite() && (here - there).abs() <= 1e-14 * here.abs().max(0.1),
            "{of}: {here}, {there}"
        );
    }
}
