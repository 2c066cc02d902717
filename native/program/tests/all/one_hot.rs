//! Products with tables of a sequence and categories, which are not made where the product can read their operands.

use fulgurite_backend_local::LocalBackend;
use fulgurite_error::ErrorKind;
use fulgurite_matrix::MatrixBlock;

use crate::common::{Ran, Script, exact, script};

/// Rows of X, and categories.
const ROWS: usize = 600;
const GROUPS: usize = 37;

fn labels() -> MatrixBlock {
    let cells = (0..ROWS).map(|row| (1 + (row * 29 + row / 7) % GROUPS) as f64);
    MatrixBlock::dense(ROWS, 1, cells.collect()).unwrap()
}

fn inputs(text: &str) -> Script {
    let rows = (0..ROWS * 3).map(|cell| (cell * 7919 % 1000) as f64 / 7.0 - 50.0);
    script(text)
        .matrix("X", MatrixBlock::dense(ROWS, 3, rows.collect()).unwrap())
        .matrix("C", exact(GROUPS, 5, 2))
        .matrix("g", labels())
        .output("R")
}

fn tables_made(ran: &Ran) -> bool {
    ran.outcome().report.to_string().contains("t(ctable)")
}

fn bits(ran: &Ran) -> Vec<u64> {
    let matrix = ran.matrix("R").to_dense().unwrap();
    matrix.values().iter().map(|cell| cell.to_bits()).collect()
}

/// Products without a table, each with the same product of a table that is made.
fn pairs() -> Vec<(String, String)> {
    let n = "seq(1, nrow(X))";
    let tables = [
        (format!("table({n}, g)"), "C", "X"),
        (format!("table({n}, g, 0.3)"), "C", "X"),
        (format!("table({n}, g, X[, 1])"), "C", "X"),
        (format!("table({n}, g, nrow(X), {GROUPS})"), "C", "X"),
        (format!("table({n}, t(g))"), "C", "X"),
        (format!("table(g, {n})"), "X", "C"),
        (format!("table(g, {n}, {GROUPS}, nrow(X))"), "X", "C"),
    ];
    let mut pairs = Vec::new();
    for (table, right, right_of_transpose) in tables {
        for (product, right) in [("T", right), ("t(T)", right_of_transpose)] {
            let product = format!("{product} %*% {right}");
            let without = format!("R = {}", product.replace('T', &table));
            let with = format!("T = {table}\nif (sum(T) == 0.5) {{ print(\"\") }}\nR = {product}");
            pairs.push((without, with));
        }
    }
    pairs
}

#[test]
fn products_of_tables_that_are_not_made_have_the_same_bits() {
    for (without, with) in pairs() {
        // A fused product of a table that is made rounds once where basic operators round twice.
        let inputs = |text: &str| inputs(text).config("fulgurite.fusion.policy", "none");
        for threads in ["1", "2"] {
            let run = |text: &str| inputs(text).config("fulgurite.threads", threads).run();
            let (without_table, with_table) = (run(&without), run(&with));
            assert!(!tables_made(&without_table), "{without}");
            assert!(tables_made(&with_table), "{with}");
            assert_eq!(bits(&without_table), bits(&with_table), "{without}");
        }
        let beside_workers = inputs(&without)
            .backend(LocalBackend::default().into())
            .run();
        assert!(!tables_made(&beside_workers), "{without}");
        assert_eq!(
            bits(&beside_workers),
            bits(&inputs(&with).run()),
            "{without}"
        );
    }
}

#[test]
fn the_table_is_made_where_the_product_needs_it() {
    for (text, is_made) in [
        ("R = t(table(seq(1, nrow(X)), g)) %*% X", false),
        // Its size is known: a Row plan over the table would be possible.
        ("R = t(table(seq(1, nrow(X)), g, nrow(X), 37)) %*% X", false),
        // An infinity meets zeros.
        ("R = t(table(seq(1, nrow(X)), g)) %*% (X + 1 / 0)", true),
        (
            "R = t(table(seq(2, nrow(X) + 1), g)) %*% rbind(X[1,], X)",
            true,
        ),
        ("R = t(table(seq(1, nrow(X)), ceil(g / 20))) %*% X", true),
        (
            "R = t(table(seq(1, nrow(X)), g)) %*% table(seq(1, nrow(X)), g + 1)",
            true,
        ),
    ] {
        let ran = inputs(text).run();
        assert_eq!(tables_made(&ran), is_made, "{text}");
    }
    let nan = inputs("R = t(table(seq(1, nrow(X)), g)) %*% (X * (0 / 0))").run();
    assert!(
        nan.matrix("R")
            .to_dense()
            .unwrap()
            .values()
            .iter()
            .all(|cell| cell.is_nan())
    );
}

#[test]
fn errors_are_those_of_the_table() {
    for (text, kind, words) in [
        (
            "R = t(table(seq(1, nrow(X)), g - 1)) %*% X",
            ErrorKind::Runtime,
            "table needs categories from 1 on, not 0",
        ),
        (
            "R = t(table(seq(1, nrow(X)), g)) %*% X[2:nrow(X),]",
            ErrorKind::Dimension,
            "",
        ),
    ] {
        let error = inputs(text).run().result.expect_err(text);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words), "{error}");
        assert_eq!(
            error.position().map(|position| position.line),
            Some(1),
            "{error}"
        );
    }
}
