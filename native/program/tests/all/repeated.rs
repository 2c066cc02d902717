//! Requests that come again: programs and plans are found, and nothing else is.

use std::sync::Arc;

use fulgurite_hop::Literal;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::Programs;

use crate::common::{Ran, Script, exact, script};

const SUM: &str = "R = sum(X * X + lambda)\n";

/// Plans of blocks that were made.
fn planned(ran: &Ran) -> u64 {
    ran.outcome().report.block_plans
}

fn summed(programs: &Arc<Programs>, matrix: MatrixBlock, lambda: f64) -> Script {
    script(SUM)
        .matrix("X", matrix)
        .scalar("lambda", Literal::Double(lambda))
        .output("R")
        .programs(programs)
}

fn sum_of_squares(matrix: &MatrixBlock, lambda: f64) -> f64 {
    let dense = matrix.to_dense().unwrap();
    dense.values().iter().map(|x| x * x + lambda).sum()
}

#[test]
fn the_second_time_nothing_is_planned() {
    let programs = Arc::default();
    let (first, second) = (exact(70, 9, 1), exact(71, 9, 1));
    // All that is known of both is the same.
    let doubled = first
        .to_dense()
        .unwrap()
        .values()
        .iter()
        .map(|x| x * 2.0)
        .collect();
    let doubled = MatrixBlock::dense(70, 9, doubled).unwrap();
    let runs = [
        (&first, 0.5, false),
        (&first, 0.5, true),
        (&doubled, 0.5, true),
        (&second, 0.5, false),
        (&first, 0.25, false),
        (&first, 0.5, true),
    ];
    for (matrix, lambda, is_known) in runs {
        let ran = summed(&programs, matrix.clone(), lambda).run();
        assert_eq!(ran.number("R"), sum_of_squares(matrix, lambda));
        assert_eq!(planned(&ran) == 0, is_known);
    }
}

#[test]
fn what_a_program_follows_from_tells_requests_apart() {
    let programs = Arc::default();
    let request = || summed(&programs, exact(70, 9, 1), 0.5);
    assert!(planned(&request().run()) > 0);
    for other in [
        request().config("fulgurite.fusion.policy", "none"),
        request().config("fulgurite.rewrites.off", "common-subexpressions"),
        request().argument("k", "3"),
        request().output("X"),
    ] {
        assert!(planned(&other.run()) > 0);
    }
    assert_eq!(planned(&request().run()), 0);
}

#[test]
fn control_flow_and_functions_run_again() {
    let text = "
        f = function(matrix[double] A, double b) return (double s) { s = sum(A * b) }
        total = 0
        for (i in 1:3) { if (i > 1) { total = total + f(X, i) } }
        R = total
        parfor (j in 1:4) { X[j, ] = X[j, ] * 2 }
        T = sum(X)";
    let programs = Arc::default();
    let request = || {
        let script = script(text).matrix("X", exact(8, 3, 5));
        script.output("R").output("T").programs(&programs).run()
    };
    let (first, second) = (request(), request());
    assert_eq!(first.number("R"), second.number("R"));
    assert_eq!(first.number("T"), second.number("T"));
    assert_eq!((planned(&first) > 0, planned(&second)), (true, 0));
}

#[test]
fn numbers_without_a_seed_are_new() {
    let programs = Arc::default();
    let request = || script("R = sum(rand(rows=20, cols=20))").output("R");
    let numbers = [(); 2].map(|()| request().programs(&programs).run().number("R"));
    assert_ne!(numbers[0], numbers[1]);
}

#[test]
fn files_that_changed_are_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let programs = Arc::default();
    let request = || {
        let text = format!(
            "source(\"{}\") as other\nR = other::f(sum(read(\"{}\")))",
            path("other.dml"),
            path("x.csv"),
        );
        let script = script(&text).output("R").programs(&programs);
        script.run().number("R")
    };
    let function =
        |factor: u32| format!("f = function(double a) return (double b) {{ b = a * {factor} }}\n");
    let metadata = |rows: u32| {
        format!(r#"{{"data_type": "matrix", "format": "csv", "rows": {rows}, "cols": 2}}"#)
    };
    write("other.dml", &function(2));
    write("x.csv", "1,2\n");
    write("x.csv.mtd", &metadata(1));
    assert_eq!(request(), 6.0);
    write("other.dml", &function(10));
    assert_eq!(request(), 30.0);
    write("x.csv", "1,2\n3,4\n");
    write("x.csv.mtd", &metadata(2));
    assert_eq!(request(), 100.0);
}

#[test]
fn a_dag_is_found_and_the_latest_ones_are_kept() {
    let programs = Arc::default();
    let request = |factor: i32| {
        let hops = serde_json::json!([
            {"id": 1, "op": "TRead X", "rows": 6, "cols": 3},
            {"id": 2, "op": format!("lit {factor}")},
            {"id": 3, "op": "b(*)", "inputs": [1, 2]},
            {"id": 4, "op": "TWrite R", "inputs": [3]},
        ]);
        let dag = serde_json::json!({"format": "fulgurite-hop", "version": 1, "hops": hops, "roots": [4]});
        let ran = script("").dag(dag).matrix("X", exact(6, 3, 1));
        ran.output("R").programs(&programs).run()
    };
    let cells = |ran: &Ran| ran.matrix("R").to_dense().unwrap().values().to_vec();
    let first = request(1);
    assert!(planned(&first) > 0);
    let again = request(1);
    assert_eq!((planned(&again), cells(&again)), (0, cells(&first)));
    for factor in 2..40 {
        assert!(planned(&request(factor)) > 0);
    }
    assert_eq!(planned(&request(39)), 0);
    assert!(
        planned(&request(1)) > 0,
        "of many requests the first is forgotten"
    );
}
