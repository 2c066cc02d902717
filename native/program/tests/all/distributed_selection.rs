//! `table(seq(1, n), index) %*% X` on the workers: rows of X are sent to their places, with repeated and missing ones.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_matrix::MatrixBlock;

use crate::common::{Ran, exact, script};

const ROWS: usize = 500;
const COLS: usize = 40;
const STRIPE: usize = 37;
const BLOCK: usize = 50;
/// Less than X and the results (160 kB), more than an index.
const BUDGET: &str = "70k";

fn x() -> MatrixBlock {
    exact(ROWS, COLS, 7)
}

/// What is not finite spreads over the sums of a product.
fn x_with_nan() -> MatrixBlock {
    let mut cells = x().to_dense().unwrap().into_vec().unwrap();
    cells[3 * COLS + 5] = f64::NAN;
    cells[4 * COLS] = f64::INFINITY;
    MatrixBlock::dense(ROWS, COLS, cells).expect("sized for it")
}

fn cells(ran: &Ran, backend: &LocalBackend) -> Vec<f64> {
    ran.matrix_of("R", backend)
        .to_dense()
        .unwrap()
        .into_vec()
        .unwrap()
}

/// Runs the script where X is distributed, and gives how many tasks that took. The result is that of the driver.
fn tasks_of(text: &str, budget: &str, broadcast: &str) -> u64 {
    let backend = Arc::new(LocalBackend::default());
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .dataset("X", x(), STRIPE)
        .config("fulgurite.memory.local", budget)
        .config("fulgurite.memory.broadcast", broadcast)
        .config("fulgurite.blocksize", &BLOCK.to_string())
        .output("R")
        .run();
    let here = script(text).matrix("X", x()).output("R").run();
    let counters = backend.counters();
    let (found, expected) = (cells(&ran, &backend), cells(&here, &backend));
    assert_eq!(found.len(), expected.len(), "{text}");
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(same, "{text}: {found} for {expected} in cell {at}");
    }
    // Neither X nor the result came to the driver.
    assert!(
        counters.largest_collected <= 3 * ROWS as u64,
        "{text}: {counters:?}"
    );
    counters.tasks
}

/// Two tasks for each stripe of X, which looks whether it is finite and sends its rows, and one for each stripe of the result,
/// which puts them in order.
fn tasks_of_sending(rows: usize) -> u64 {
    (2 * ROWS.div_ceil(STRIPE) + rows.div_ceil(BLOCK)) as u64
}

#[test]
fn rows_that_are_not_selected_count_if_they_are_not_finite() {
    let text = "n = nrow(X)\nR = table(seq(1, n), n - seq(1, n) + 1, n, n) %*% X";
    let backend = Arc::new(LocalBackend::default());
    let there = script(text)
        .backend(Arc::clone(&backend))
        .dataset("X", x_with_nan(), STRIPE)
        .config("fulgurite.memory.local", BUDGET)
        .output("R")
        .run();
    let here = script(text).matrix("X", x_with_nan()).output("R").run();
    let (there, here) = (cells(&there, &backend), cells(&here, &backend));
    let same = |(x, y): (&f64, &f64)| x == y || x.is_nan() && y.is_nan();
    assert!(there.iter().zip(&here).all(same));
    assert!(there[5].is_nan() && there[1] == here[1]);
}

#[test]
fn rows_are_sent_to_their_places() {
    for (index, rows) in [
        // A permutation, the rows backwards, and one of steps.
        ("n - seq(1, n) + 1", ROWS),
        ("(seq(1, n) * 7) %% n + 1", ROWS),
        // Rows that come several times; others do not come at all.
        ("ceil(seq(1, n) / 3)", ROWS),
        ("round((seq(1, 400) * 11) %% 50) + 1", 400),
    ] {
        let text =
            format!("n = nrow(X)\ni = {index}\nm = nrow(i)\nR = table(seq(1, m), i, m, n) %*% X");
        assert_eq!(
            tasks_of(&text, BUDGET, "1m"),
            tasks_of_sending(rows),
            "{text}"
        );
        // Places that may not be sent whole are spread and shuffled.
        tasks_of(&text, BUDGET, "1k");
    }
}

#[test]
fn rows_that_select_nothing_are_zero() {
    // Indices beyond X are dropped, and so are rows of NaN; there are more rows of the result than X has.
    let text = "n = nrow(X)\ni = seq(1, n) * 2\nR = table(seq(1, n), i, n + 130, n) %*% X";
    assert_eq!(tasks_of(text, BUDGET, "1m"), tasks_of_sending(ROWS + 130));
    // Without dimensions the last index says how many columns the table has.
    let text = "n = nrow(X)\nR = table(seq(1, n), n - seq(1, n) + 1) %*% X";
    assert_eq!(tasks_of(text, BUDGET, "1m"), tasks_of_sending(ROWS));
}

#[test]
fn a_selection_that_workers_have_is_looked_at_there() {
    // A table of 500 rows takes 10 kB, which the driver may not hold; its index, of 4 kB, comes there.
    let text = "n = nrow(X)\nR = table(seq(1, n), n - seq(1, n) + 1, n, n) %*% X";
    let there = script(text)
        .dataset("X", x(), STRIPE)
        .config("fulgurite.memory.local", "9k")
        .config("fulgurite.memory.broadcast", "8k")
        .config("fulgurite.blocksize", &BLOCK.to_string())
        .output("R")
        .run();
    let report = &there.outcome().report;
    let label = |code: &str| {
        report
            .operators
            .iter()
            .any(|operator| operator.location == "dataflow" && operator.label.contains(code))
    };
    assert!(label("t(ctable)") && label("ba(+*)"), "{report}");
    tasks_of(text, "9k", "8k");
}

#[test]
fn other_tables_are_multiplied() {
    for text in [
        // Weights, two ones in a row, and a row that is everywhere.
        "n = nrow(X)\nR = table(seq(1, n), n - seq(1, n) + 1, 2, n, n) %*% replace(target=X, pattern=NaN, replacement=0)",
        "n = nrow(X)\nR = table(ceil(seq(1, n) / 2), seq(1, n), n, n) %*% replace(target=X, pattern=NaN, replacement=0)",
        "n = nrow(X)\nR = table(seq(1, n), matrix(3, n, 1), n, n) %*% replace(target=X, pattern=NaN, replacement=0)",
    ] {
        tasks_of(text, BUDGET, "1m");
    }
}
