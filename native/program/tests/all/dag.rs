//! HOP DAGs as requests: what is inconsistent is refused before anything runs, with the node and the rule.

use std::fmt::Write;

use fulgurite_config::Config;
use fulgurite_program::{Request, Session, check};

use crate::common::{exact, script};
use serde_json::{Value, json};

fn dag(hops: Value, roots: Value) -> Value {
    json!({"format": "fulgurite-hop", "version": 1, "hops": hops, "roots": roots})
}

fn read_x() -> Value {
    json!({"id": 1, "op": "TRead X", "rows": 6, "cols": 3})
}

/// Name, DAG.
fn inconsistent() -> Vec<(&'static str, Value)> {
    let write = |of: u64| json!({"id": 9, "op": "TWrite R", "inputs": [of]});
    vec![
        (
            "a cycle",
            dag(
                json!([read_x(), {"id": 2, "op": "b(+)", "inputs": [1, 3]}, {"id": 3, "op": "b(*)", "inputs": [2, 1]}, write(3)]),
                json!([9]),
            ),
        ),
        (
            "a missing input",
            dag(
                json!([{"id": 2, "op": "u(exp)", "inputs": [7]}, write(2)]),
                json!([9]),
            ),
        ),
        (
            "too few inputs",
            dag(
                json!([read_x(), {"id": 2, "op": "b(+)", "inputs": [1]}, write(2)]),
                json!([9]),
            ),
        ),
        (
            "an unknown operator",
            dag(
                json!([read_x(), {"id": 2, "op": "u(swizzle)", "inputs": [1]}, write(2)]),
                json!([9]),
            ),
        ),
        (
            "an id twice",
            dag(
                json!([read_x(), {"id": 1, "op": "u(exp)", "inputs": [1]}]),
                json!([1]),
            ),
        ),
        (
            "a root that is not there",
            dag(json!([read_x(), write(1)]), json!([9, 10])),
        ),
        (
            "more non-zeros than cells",
            dag(
                json!([{"id": 1, "op": "TRead X", "rows": 2, "cols": 2, "nnz": 5}, write(1)]),
                json!([9]),
            ),
        ),
        (
            "a fused operator",
            dag(
                json!([read_x(), {"id": 2, "op": "fused(0)", "inputs": [1]}, write(2)]),
                json!([9]),
            ),
        ),
        (
            "operands that do not fit",
            dag(
                json!([read_x(), {"id": 2, "op": "ba(+*)", "inputs": [1, 1]}, write(2)]),
                json!([9]),
            ),
        ),
        (
            "a scalar where a matrix must be",
            dag(
                json!([{"id": 1, "op": "lit 7"}, {"id": 2, "op": "ba(+*)", "inputs": [1, 1]}, write(2)]),
                json!([9]),
            ),
        ),
    ]
}

#[test]
fn inconsistent_dags_are_refused_with_node_and_rule() {
    let mut refused = String::new();
    for (name, dag) in inconsistent() {
        let ran = script("")
            .dag(dag.clone())
            .matrix("X", exact(6, 3, 1))
            .run();
        let error = ran.result.expect_err(name);
        let _ = writeln!(refused, "{name}\n{error}\n");
        // `check` finds the same without running anything, unless only the actual sizes tell.
        let request = Request {
            dag: Some(dag),
            ..Request::default()
        };
        let checked = check(&request, &Session::new(Config::default()));
        assert_eq!(
            checked.expect_err(name).message(),
            error.message(),
            "{name}"
        );
    }
    insta::assert_snapshot!("refused", refused);
}

#[test]
fn sizes_of_the_actual_inputs_count() {
    // Declared 6 x 3, given 5 x 5: the product fits what is given.
    let product = dag(
        json!([read_x(), {"id": 2, "op": "ba(+*)", "inputs": [1, 1]}, {"id": 9, "op": "TWrite R", "inputs": [2]}]),
        json!([9]),
    );
    let x = exact(5, 5, 1);
    let ran = script("").dag(product).matrix("X", x).output("R").run();
    assert_eq!(ran.matrix("R").rows(), 5);
}
