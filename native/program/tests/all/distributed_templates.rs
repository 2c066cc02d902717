//! Outer and multi-aggregate operators over distributed matrices: each variant gives on row stripes what the basic
//! operators give here, reads its source once, and brings no more than its result to the driver.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_matrix::{Layout, MatrixBlock};
use fulgurite_program::OutputValue;
use fulgurite_test_numbers::is_close;

use crate::common::{Ran, exact, script};

const ROWS: usize = 500;
const COLS: usize = 300;
const RANK: usize = 4;
/// Less than X (about 100 kB), more than a factor (16 kB).
const BUDGET: &str = "70k";

/// Ratings: one cell in twenty, in CSR.
fn ratings() -> MatrixBlock {
    let mut cells = vec![0.0; ROWS * COLS];
    for (index, cell) in cells.iter_mut().enumerate() {
        if index * 7919 % 20 == 0 {
            *cell = 1.0 + (index % 5) as f64;
        }
    }
    let dense = MatrixBlock::dense(ROWS, COLS, cells).expect("sized for it");
    dense.in_best_layout().unwrap()
}

struct Case<'a> {
    text: &'a str,
    x: MatrixBlock,
    policy: &'a str,
    broadcast: &'a str,
    /// Of the driver.
    budget: &'a str,
}

impl Case<'_> {
    fn run(&self, distributed: bool) -> (Ran, Arc<LocalBackend>) {
        let backend = Arc::new(LocalBackend::default());
        let factors = script(self.text)
            .matrix("U", exact(ROWS, RANK, 3))
            .matrix("V", exact(COLS, RANK, 5))
            .config("fulgurite.memory.broadcast", self.broadcast)
            .output("R");
        let ran = match distributed {
            true => factors
                .backend(Arc::clone(&backend))
                .dataset("X", self.x.clone(), 37)
                .config("fulgurite.memory.local", self.budget)
                .config("fulgurite.fusion.policy", self.policy)
                .run(),
            false => factors
                .matrix("X", self.x.clone())
                .config("fulgurite.fusion.policy", "none")
                .run(),
        };
        (ran, backend)
    }
}

fn cells(ran: &Ran) -> Vec<f64> {
    match &ran.outcome().outputs["R"] {
        OutputValue::Matrix(matrix) => matrix.to_dense().unwrap().values().to_vec(),
        OutputValue::Scalar(value) => vec![value.as_f64().expect("a number")],
        OutputValue::Frame(_) | OutputValue::List(_) | OutputValue::Dataset { .. } => {
            panic!("R stayed on the workers")
        }
    }
}

/// The operator of the template ran on the workers and gave what basic operators give here.
fn assert_on_workers(template: &str, case: &Case) {
    let text = case.text;
    let expected = cells(&case.run(false).0);
    let (ran, backend) = case.run(true);
    let report = &ran.outcome().report;
    assert!(
        report
            .operators
            .iter()
            .any(|operator| operator.location == "dataflow" && operator.label.contains(template)),
        "{text}\n{report}"
    );
    let found = cells(&ran);
    assert_eq!(found.len(), expected.len(), "{text}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            is_close(*found, *expected, 1e-9),
            "{text}: {found} for {expected}"
        );
    }
    let counters = backend.counters();
    assert_eq!(counters.source_scans, 1, "{text}");
    assert!(
        // Sums come with their errors.
        counters.largest_collected <= 2 * found.len().max(3) as u64,
        "{text}: {counters:?}"
    );
}

#[test]
fn outer_products_at_the_cells_of_a_distributed_driver() {
    for text in [
        "R = sum(X * (U %*% t(V)))",
        "R = sum((X != 0) * (X - U %*% t(V)) ^ 2)",
        "Z = X * abs(U %*% t(V))\nfor (i in 1:1) { R = rowSums(Z) }",
        "R = (X * (U %*% t(V))) %*% V",
        "R = ((X != 0) * (U %*% t(V) - X)) %*% V",
        "R = t(t(U) %*% (X * (U %*% t(V))))",
        "R = t(X * (U %*% t(V))) %*% U",
        "R = t(X / (U %*% t(V) + 100)) %*% U",
    ] {
        for policy in ["cost", "fuse-all"] {
            // Beyond the lower limit U is cut into stripes; a result of its size stays there then.
            let limits = match text.contains("%*% V") {
                true => &["1m"][..],
                false => &["1m", "10k"],
            };
            for broadcast in limits {
                let case = Case {
                    text,
                    x: ratings(),
                    policy,
                    broadcast,
                    budget: BUDGET,
                };
                assert_on_workers("Outer", &case);
            }
        }
    }
}

#[test]
fn several_aggregates_in_one_pass_over_the_stripes() {
    for text in [
        "R = sum(X ^ 2) + sum(X * 3) + min(X - 1)",
        "a = sum(X * U[1, 1])\nb = sum(X ^ 2)\nR = a * b",
    ] {
        for x in [exact(ROWS, 20, 9), ratings()] {
            let case = Case {
                text,
                x,
                policy: "cost",
                broadcast: "1m",
                budget: BUDGET,
            };
            assert_on_workers("MAgg", &case);
        }
    }
}

/// Several aggregates of columns, whose parts are combined row by row, and of rows, which stay with their stripes.
#[test]
fn several_aggregates_of_vectors_in_one_pass_over_the_stripes() {
    for text in [
        "R = colSums(X * 3) + colMaxs(X) * colSums(X ^ 2) - colMeans(X)",
        "R = rowSums(X * abs(X))\nS = rowMins(X)\nT = rowMeans(X)",
        "S = rowSums(X * abs(X))\nR = rowMins(X)\nT = rowMeans(X)",
        "S = rowSums(X * abs(X))\nT = rowMins(X)\nR = rowMeans(X)",
    ] {
        for x in [exact(ROWS, 20, 9), ratings()] {
            let others = ["S", "T"].into_iter();
            let others = others.filter(|name| text.contains(&format!("{name} =")));
            let expected = script(text).matrix("X", x.clone());
            let expected = expected.config("fulgurite.fusion.policy", "none");
            let expected = cells(&expected.output("R").run());
            let backend = Arc::new(LocalBackend::default());
            // As if only reading took time: matrices of tests are small.
            let ran = script(text)
                .backend(Arc::clone(&backend))
                .dataset("X", x, 37)
                .config("fulgurite.memory.local", "20k")
                .config("fulgurite.cost.operator", "0.001")
                .config("fulgurite.cost.compute", "1000000")
                .config("fulgurite.cost.cachedWriteBandwidth", "1000000");
            let ran = others
                .fold(ran.output("R"), |script, name| script.output(name))
                .run();
            let report = &ran.outcome().report;
            let is_one = report
                .operators
                .iter()
                .any(|operator| operator.location == "dataflow" && operator.label.contains("MAgg"));
            assert!(is_one, "{text}\n{report}");
            assert_eq!(backend.counters().source_scans, 1, "{text}");
            for (found, expected) in cells(&ran).iter().zip(&expected) {
                assert!(
                    is_close(*found, *expected, 1e-9),
                    "{text}: {found} for {expected}"
                );
            }
        }
    }
}

/// An Outer operator whose right factor takes 9600 bytes, where 4096 may be sent: in ranges of 128 columns. The outer product
/// itself, of 150000 cells, is held nowhere, however the factor is there.
#[test]
fn a_factor_that_may_not_be_sent_whole_is_sent_in_ranges() {
    for (text, blocks) in [
        // Full aggregates.
        ("R = sum(X * (U %*% t(V)))", 3),
        ("R = sum((X != 0) * (X - U %*% t(V)) ^ 2)", 3),
        ("R = min(X * (U %*% t(V)))", 3),
        // Row and column vectors beside the factors.
        ("w = t(V[, 1])\nR = sum(X * (U %*% t(V)) * w * U[, 2])", 3),
        // Right multiply, by the right factor itself or by another matrix.
        ("R = (X * (U %*% t(V))) %*% V", 3),
        (
            "W = V * 2 + 1\nfor (i in 1:1) { R = (X * (U %*% t(V))) %*% W }",
            5,
        ),
        // Left multiply.
        ("R = t(X * (U %*% t(V))) %*% U", 3),
        ("R = t(X / (U %*% t(V) + 100)) %*% U", 3),
        // No aggregate.
        ("R = X * abs(U %*% t(V))", 3),
    ] {
        for (factor, budget) in [(false, BUDGET), (true, BUDGET), (false, "8k"), (true, "8k")] {
            let backend = Arc::new(LocalBackend::default());
            let (u, v) = (exact(ROWS, RANK, 3), exact(COLS, RANK, 5));
            let on_workers = script(text)
                .backend(Arc::clone(&backend))
                .dataset("X", ratings(), 37)
                .matrix("U", u.clone())
                .config("fulgurite.memory.local", budget)
                .config("fulgurite.memory.broadcast", "4k")
                .config("fulgurite.blocksize", "50")
                .config("fulgurite.fusion.policy", "fuse-all")
                .output("R");
            let on_workers = match factor {
                true => on_workers.dataset("V", v.clone(), 41),
                false => on_workers.matrix("V", v.clone()),
            };
            let ran = on_workers.run();
            let here = script(text)
                .matrix("X", ratings())
                .matrix("U", u)
                .matrix("V", v)
                .config("fulgurite.fusion.policy", "none")
                .output("R")
                .run();
            let case = format!("{text}, V on the workers: {factor}, {budget}");
            let report = &ran.outcome().report;
            assert!(
                report.operators.iter().any(|operator| {
                    operator.location == "dataflow" && operator.label.contains("Outer")
                }),
                "{case}\n{report}"
            );
            let counters = backend.counters();
            // A piece of V and what it is multiplied with, or the result of a range of 128 columns.
            assert!(
                counters.largest_collected <= (ROWS * RANK) as u64,
                "{case}: {counters:?}"
            );
            assert!(
                counters.largest_dense < (ROWS * COLS / 10) as u64,
                "{case}: {counters:?}"
            );
            assert!(counters.broadcasts >= blocks, "{case}: {counters:?}");
            let found = all_cells(&ran, &backend);
            let expected = all_cells(&here, &backend);
            assert_eq!(found.len(), expected.len(), "{case}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    is_close(*found, *expected, 1e-9),
                    "{case}: {found} for {expected}"
                );
            }
        }
    }
}

/// Not even the row of the right factor for one column may be sent: the product is made where its factors are.
#[test]
fn a_factor_with_rows_that_may_not_be_sent_is_not_fused() {
    let case = Case {
        text: "R = sum(X * (U %*% t(V)))",
        x: ratings(),
        policy: "fuse-all",
        broadcast: "16",
        budget: BUDGET,
    };
    let expected = cells(&case.run(false).0);
    let ran = case.run(true).0;
    let report = ran.outcome().report.to_string();
    assert!(
        report.contains("rmm: ") || report.contains("cpmm: "),
        "{report}"
    );
    assert_eq!(cells(&ran), expected);
}

/// The products read all of V, which is not to be sent whole: they run where X and V are, and what is fused around them does not need it.
#[test]
fn a_row_operator_beside_a_matrix_that_may_not_be_sent_is_not_fused() {
    for text in [
        "R = t(X) %*% (X %*% V)",
        "R = rowSums(abs(X %*% V) * 2)",
        "R = t(X) %*% (U * (X %*% V))",
    ] {
        let case = Case {
            text,
            x: ratings(),
            policy: "fuse-all",
            broadcast: "4k",
            budget: BUDGET,
        };
        let expected = cells(&case.run(false).0);
        let ran = case.run(true).0;
        let report = &ran.outcome().report;
        let products = report.operators.iter().filter(|operator| {
            operator.location == "dataflow" && operator.label.contains("ba(+*)")
        });
        let products: Vec<&str> = products.map(|operator| &*operator.label).collect();
        assert!(!products.is_empty(), "{text}\n{report}");
        let fused = products.iter().any(|label| label.contains("fused"));
        assert!(!fused, "{text}\n{report}");
        assert_eq!(cells(&ran), expected, "{text}");
    }
}

/// The cells of R, wherever it is.
fn all_cells(ran: &Ran, backend: &LocalBackend) -> Vec<f64> {
    ran.matrix_of("R", backend)
        .to_dense()
        .unwrap()
        .into_vec()
        .unwrap()
}

/// A cell in one row of eight: 62 of them, 20 bytes each.
#[test]
fn fused_operators_over_stripes_of_coordinates() {
    let mut cells = vec![0.0; ROWS * COLS];
    for row in (3..ROWS).step_by(8) {
        cells[row * COLS + row % COLS] = 1.0 + (row % 5) as f64;
    }
    let dense = MatrixBlock::dense(ROWS, COLS, cells).expect("sized for it");
    let x = dense.in_best_layout().unwrap();
    assert_eq!(x.layout(), Layout::Coordinate);
    for (template, text) in [
        ("Outer", "R = sum(X * (U %*% t(V)))"),
        ("Outer", "R = sum((X != 0) * (X - U %*% t(V)) ^ 2)"),
        ("Cell", "R = sum(abs(X) * 3 * X)"),
        ("MAgg", "a = sum(X * U[1, 1])\nb = sum(X ^ 2)\nR = a * b"),
    ] {
        let case = Case {
            text,
            x: x.clone(),
            policy: "fuse-all",
            broadcast: "1m",
            budget: "1k",
        };
        assert_on_workers(template, &case);
    }
}
