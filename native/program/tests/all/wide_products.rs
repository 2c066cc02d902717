//! Products with more columns than a narrow Row plan takes: fused, their cells are never in one place, and what is computed of
//! them is what it is where they are.

use fulgurite_matrix::MatrixBlock;

use crate::common::{Ran, script};

/// Twice a million cells, which is where such plans begin.
const ROWS: usize = 4096;
const DEPTH: usize = 64;
const COLS: usize = 512;

/// Cells from -1 to 1.
fn cells(rows: usize, cols: usize, seed: usize) -> MatrixBlock {
    let cells = (0..rows * cols).map(|at| ((at * 7919 + seed * 31) % 2003) as f64 / 1001.0 - 1.0);
    MatrixBlock::dense(rows, cols, cells.collect()).unwrap()
}

fn ran(text: &str, policy: &str, threads: usize) -> Ran {
    script(text)
        .matrix("X", cells(ROWS, DEPTH, 1))
        .matrix("B", cells(DEPTH, COLS, 2))
        .config("fulgurite.fusion.policy", policy)
        .config("fulgurite.threads", &threads.to_string())
        .output("R")
        .run()
}

fn has_product(ran: &Ran) -> bool {
    let operators = &ran.outcome().report.operators;
    operators
        .iter()
        .any(|operator| operator.label.starts_with("ba(+*)"))
}

#[test]
fn products_of_a_million_cells_are_fused_with_what_follows() {
    for text in [
        "R = rowSums(exp(X %*% B))",
        "R = rowMaxs(X %*% B) + rowSums((X %*% B)^2)",
        "R = colSums(exp(-abs(X %*% B)))",
        "P = exp(X %*% B)\nR = rowSums(P * (P > 1))",
    ] {
        let unfused = ran(text, "none", 2);
        assert!(has_product(&unfused), "{text}");
        let expected = unfused.matrix("R").to_dense().unwrap();
        for threads in [1, 2] {
            let fused = ran(text, "cost", threads);
            let report = &fused.outcome().report;
            assert!(!has_product(&fused), "{text}: {report}");
            assert!(report.to_string().contains(" Row "), "{text}: {report}");
            let got = fused.matrix("R").to_dense().unwrap();
            assert_eq!(
                (got.rows(), got.cols()),
                (expected.rows(), expected.cols()),
                "{text}"
            );
            for (got, expected) in got.values().iter().zip(expected.values()) {
                let error = (got - expected).abs();
                assert!(
                    error <= 1e-12 * expected.abs().max(1.0),
                    "{text}: {got} {expected}"
                );
            }
        }
    }
}
