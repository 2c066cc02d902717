//! `parfor` over a distributed matrix of which each iteration reads rows or columns of its own: iterations run where these
//! are.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_matrix::MatrixBlock;

use crate::common::{Ran, Script, exact, script};

fn bits(matrix: &MatrixBlock) -> Vec<u64> {
    let dense = matrix.to_dense().unwrap();
    dense.values().iter().map(|cell| cell.to_bits()).collect()
}

fn left(ran: &Ran) -> (Vec<Vec<u64>>, String) {
    let results = ["R", "S"].map(|name| bits(&ran.matrix(name)));
    (results.to_vec(), ran.printed.clone())
}

/// Sums are exact: plans, and with them the order of additions, depend on what fits here.
/// A loop over `range` in which `x` is what an iteration reads of X.
fn text(range: &str, read: &str) -> String {
    format!(
        "R = matrix(0, 200, 3)
         S = matrix(0, 1, 1)
         b = 7
         parfor (i in {range}) {{
           x = {read}
           R[i, 1] = sum(x ^ 2) / nrow(X) + ncol(X)
           R[i, 2] = sum(abs(x) * x) + nrow(x)
           R[i, 3] = sum(colSums(x) * i) + ncol(x)
           S += as.matrix(sum(x * i))
           if (i %% 5 == 0) {{ print('iteration ' + i + ' ' + nrow(x)) }}
         }}"
    )
}

fn outputs(script: Script) -> Ran {
    script
        .config("fulgurite.threads", "2")
        .output("R")
        .output("S")
        .run()
}

/// Without a request for workers, in stripes of 9 rows.
fn distributed(text: &str, x: MatrixBlock, backend: &Arc<LocalBackend>) -> Ran {
    let script = script(text).backend(Arc::clone(backend)).dataset("X", x, 9);
    outputs(script.config("fulgurite.memory.local", "24k"))
}

fn sparse(rows: usize, cols: usize) -> MatrixBlock {
    let mut cells = exact(rows, cols, 11)
        .to_dense()
        .unwrap()
        .into_vec()
        .unwrap();
    for (number, cell) in cells.iter_mut().enumerate() {
        if number % 5 > 0 {
            *cell = 0.0;
        }
    }
    let dense = MatrixBlock::dense(rows, cols, cells).expect("as many cells");
    MatrixBlock::Csr(dense.to_csr().expect("few columns"))
}

#[test]
fn iterations_run_where_their_slices_are() {
    for (range, read, what) in [
        ("1:40", "X[, i]", "its column of 'X'"),
        ("seq(40, 1, -1)", "X[3:90, i]", "its column of 'X'"),
        ("seq(1, 57, 2)", "X[, i + 1]", "its column of 'X'"),
        ("1:100", "X[151 - i, ]", "its row of 'X'"),
        (
            "3:20",
            "X[((i - 1) * 5 + 1):(i * 5), ]",
            "its 5 rows of 'X'",
        ),
        (
            "1:22",
            "X[((i - 1) * b + 1):min(i * b, nrow(X)), ]",
            "its 7 rows of 'X'",
        ),
        (
            "seq(20, 2, -1)",
            "X[(i * b - 6):(i * b - 3), 2:9]",
            "its 4 rows of 'X'",
        ),
        ("1:20", "X[, (2 * i - 1):(2 * i)]", "its 2 columns of 'X'"),
        (
            "1:20",
            "X[, ((i - 1) * 3 + 1):min(i * 3, ncol(X))]",
            "its 3 columns of 'X'",
        ),
    ] {
        let text = text(range, read);
        for x in [exact(150, 58, 3), sparse(150, 58)] {
            let here = left(&outputs(script(&text).matrix("X", x.clone())));
            let backend = Arc::new(LocalBackend::default());
            let ran = distributed(&text, x, &backend);
            let parfor = &ran.outcome().report.parfors[0];
            assert_eq!(parfor.location, "dataflow", "{read}: {parfor}");
            assert_eq!(
                parfor.location_reason.as_deref(),
                Some(&*format!("each iteration reads {what}")),
                "{read}"
            );
            assert!(parfor.tasks > 1, "{parfor}");
            let counters = backend.counters();
            assert_eq!((counters.source_scans, counters.held), (1, 0), "{read}");
            assert_eq!(left(&ran), here, "{read}");
        }
    }
}

#[test]
fn slices_are_cut_once_for_all_loops_that_read_them() {
    let text = "
        R = matrix(0, 40, 1)
        for (k in 1:3) { parfor (i in 1:40) { R[i, 1] = sum(X[, i] * k) } }
        S = matrix(0, 1, 1)";
    let backend = Arc::new(LocalBackend::default());
    let ran = distributed(text, exact(150, 58, 3), &backend);
    let parfor = &ran.outcome().report.parfors[0];
    assert_eq!((parfor.runs, parfor.location.as_str()), (3, "dataflow"));
    // The tasks of the loops, which are one for each stripe of columns, and those that cut X and transpose its parts.
    let stripes = parfor.tasks;
    assert_eq!(backend.counters().tasks, 17 + stripes + 3 * stripes);
}

#[test]
fn what_is_not_a_slice_of_its_own_stays_here() {
    for (range, read) in [
        // Rows that the next iteration reads as well.
        ("1:30", "X[i:(i + 2), ]"),
        ("1:30", "X[i, ] + X[i + 1, ]"),
        ("1:30", "X[, i] * sum(X[i, ])"),
        ("1:30, par=2", "X[, i]"),
    ] {
        let text = text(range, read);
        let backend = Arc::new(LocalBackend::default());
        let ran = distributed(&text, exact(150, 58, 3), &backend);
        let parfor = ran.outcome().report.parfors[0].to_string();
        let expected = "here (iterations use the distributed matrix 'X')";
        assert!(parfor.contains(expected), "{read}: {parfor}");
        let here = left(&outputs(script(&text).matrix("X", exact(150, 58, 3))));
        assert_eq!(left(&ran), here, "{read}");
    }
}

#[test]
fn few_iterations_are_jobs_of_their_own_unless_a_job_for_all_is_asked_for() {
    let reason = |mode: &str| {
        let text = text("1:4", "X[, i]").replace("1:4", &format!("1:4{mode}"));
        let ran = distributed(&text, exact(150, 58, 3), &Arc::default());
        let parfor = &ran.outcome().report.parfors[0];
        let reason = parfor.location_reason.clone().unwrap_or_default();
        (parfor.location.clone(), reason)
    };
    let (here, why) = reason("");
    assert_eq!(here, "local");
    assert_eq!(
        why,
        "a shuffle that gives each iteration its column of 'X' takes longer than a job for each"
    );
    assert_eq!(
        reason(", mode=REMOTE_SPARK_DP"),
        ("dataflow".to_owned(), "as mode= says".to_owned())
    );
}

#[test]
fn a_slice_beyond_the_matrix_is_the_error_that_it_is_here() {
    for (range, read) in [
        ("1:59", "X[, i]"),
        ("0:9", "X[, i]"),
        ("1:22", "X[((i - 1) * b + 1):(i * b), ]"),
    ] {
        let text = text(range, read);
        let backend = Arc::new(LocalBackend::default());
        let there = distributed(&text, exact(150, 58, 3), &backend).text();
        let here = outputs(script(&text).matrix("X", exact(150, 58, 3))).text();
        assert!(here.contains("error"), "{here}");
        let line = |text: &str| {
            text.lines()
                .find(|line| line.contains("-->"))
                .map(str::to_owned)
        };
        assert_eq!(line(&there), line(&here), "{there}");
    }
}

#[test]
fn the_first_iteration_that_fails_is_the_loops_error() {
    let text = text("1:40", "X[, i]").replace(
        "R[i, 3]",
        "if (i > 17) { stop('no more at ' + i) }\n           R[i, 3]",
    );
    let backend = Arc::new(LocalBackend::default());
    let there = distributed(&text, exact(150, 58, 3), &backend).text();
    let here = outputs(script(&text).matrix("X", exact(150, 58, 3))).text();
    assert!(there.contains("no more at 18"), "{there}");
    assert_eq!(there, here);
}
