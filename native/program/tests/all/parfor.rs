//! `parfor` on threads, and in tasks of workers, does what one iteration after the other does.

use std::{fmt::Write, sync::Arc};

use fulgurite_matrix::MatrixBlock;

use crate::common::{Script, exact, script};
use proptest::prelude::*;

fn on_threads(text: &str, threads: usize) -> Script {
    script(text).config("fulgurite.threads", &threads.to_string())
}

/// All iterations as one job of the backend in this process.
fn on_workers(text: &str, threads: usize) -> Script {
    on_threads(text, threads)
        .backend(Arc::default())
        .config("fulgurite.parfor.mode", "remote")
}

/// What scripts print on four threads, after making sure that one thread and tasks print the same.
fn printed(text: &str) -> String {
    let (one, four, tasks) = (
        on_threads(text, 1).run().text(),
        on_threads(text, 4).run().text(),
        on_workers(text, 4).run().text(),
    );
    assert_eq!(one, four);
    assert_eq!(one, tasks);
    four
}

fn bits(matrix: &MatrixBlock) -> Vec<u64> {
    let dense = matrix.to_dense().unwrap();
    dense.values().iter().map(|cell| cell.to_bits()).collect()
}

#[test]
fn lines_come_in_the_order_of_iterations() {
    let text = "
        R = matrix(0, 20, 1)
        parfor (i in 1:20) {
          print('begin ' + i)
          work = 0
          for (j in 1:((20 - i) * 50)) { work = work + j }
          R[i, 1] = work
          print('end ' + i)
        }
        print(sum(R))";
    let lines: Vec<String> = printed(text).lines().map(str::to_owned).collect();
    let expected: Vec<String> = (1..21)
        .flat_map(|i| [format!("begin {i}"), format!("end {i}")])
        .collect();
    assert_eq!(lines[..40], expected);
}

#[test]
fn the_first_error_in_order_ends_the_loop() {
    insta::assert_snapshot!(printed(
        "
        R = matrix(0, 30, 1)
        parfor (i in 1:30) {
          print('iteration ' + i)
          if (i > 3) { stop('no more at ' + i) }
          R[i, 1] = i
        }
        print('not reached')"
    ), @r"
    iteration 1
    iteration 2
    iteration 3
    iteration 4
    stopped error[E1200]: no more at 4
      --> test.dml:5:24
       |
     5 |           if (i > 3) { stop('no more at ' + i) }
       |                        ^^^^
    ");
}

#[test]
fn results_are_what_iterations_changed() {
    insta::assert_snapshot!(printed(
        "
        A = matrix(seq(1, 12), 4, 3)
        S = matrix(0, 2, 2)
        Sparse = diag(matrix(seq(1, 100), 100, 1))
        s = 7
        parfor (i in 1:4) {
          row = A[i, ]
          # A zero is a change, what is not written stays.
          if (i != 3) { A[i, 2] = 0 }
          Sparse[i * 2, 1:50] = matrix(0, 1, 50)
          S += matrix(i, 2, 2)
          s = sum(row)
        }
        print(toString(A) + toString(S) + sum(Sparse))
        parfor (i in 1:4, check=0) { s = i }
        parfor (i in 1:4) { parfor (j in 1:3) { A[i, j] = 10 * i + j } }
        print(toString(A))"
    ), @r"
    1.000 0.000 3.000
    4.000 0.000 6.000
    7.000 8.000 9.000
    10.000 0.000 12.000
    10.000 10.000
    10.000 10.000
    5030.0
    11.000 12.000 13.000
    21.000 22.000 23.000
    31.000 32.000 33.000
    41.000 42.000 43.000
    ");
}

/// One at a time, as `for`, on threads, and in tasks.
fn all_ways(body: &str) -> Vec<Vec<u64>> {
    let text = |keyword: &str| {
        format!(
            "f = function(matrix[double] A, double k) return (matrix[double] B, double s) {{
               B = A * k
               s = sum(B)
             }}
             R = X * 0
             S = X * 0
             {keyword} (i in 1:nrow(X)) {{ {body} }}"
        )
    };
    let ways = [
        ("for", 2, false),
        ("parfor", 1, false),
        ("parfor", 2, false),
        ("parfor", 3, false),
        ("parfor", 2, true),
    ];
    let run = |(keyword, threads, in_tasks): (&str, usize, bool)| {
        let place = if in_tasks { on_workers } else { on_threads };
        let ran = place(&text(keyword), threads)
            .matrix("X", exact(24, 5, 3))
            .output("R")
            .output("S")
            .run();
        let report = &ran.outcome().report;
        match (keyword, in_tasks) {
            ("parfor", false) => assert_eq!(report.parfors[0].degree, threads),
            ("parfor", true) => assert_eq!(report.parfors[0].location, "dataflow"),
            _ => {}
        }
        [bits(&ran.matrix("R")), bits(&ran.matrix("S"))].concat()
    };
    ways.into_iter().map(run).collect()
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("R[i, ] = R[i, ] + sqrt(abs(X[i, ])) / 3".to_owned()),
        Just("R[i, 1] = sum(exp(X / 7) * i)".to_owned()),
        Just("c = colSums(X %*% t(X) / i)\nR[i, 2:3] = c[1, 2:3]".to_owned()),
        Just("S += X * (i / 7)".to_owned()),
        Just("[B, s] = f(X, i / 3)\nR[i, ] = B[i, ] - s".to_owned()),
        Just(
            "if (i %% 2 == 0) { w = X / i } else { w = t(t(X) / (i + 1)) }\nR[i, ] = colMeans(w)"
                .to_owned()
        ),
        (1..4).prop_map(|n| format!("for (j in 1:{n}) {{ R[i, j] = mean(X) * j / i }}")),
        Just("k = 0\nwhile (k < i) { k = k + 5\nR[i, 4] = k / 3 }".to_owned()),
        Just("R[i, 5] = sum(rand(rows=9, cols=9, seed=i))".to_owned()),
        Just("parfor (j in 1:5) { R[i, j] = R[i, j] * 2 + 1 / j }".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn iterations_in_parallel_give_the_same_bits(
        body in proptest::collection::vec(statement(), 1..5)
    ) {
        // A sum of its own for each iteration: `S = (S + a) + b` rounds otherwise than `S = S + (a + b)`.
        let sums = body.iter().filter(|statement| statement.starts_with("S +=")).count();
        prop_assume!(sums <= 1);
        let ways = all_ways(&body.join("\n"));
        for way in &ways[1..] {
            prop_assert_eq!(way, &ways[0], "{}", body.join("\n"));
        }
    }
}

#[test]
fn operators_keep_their_bits_on_a_thread_of_their_own() {
    // Large enough for operators to be cut into tasks.
    let text = |keyword: &str| {
        format!(
            "R = matrix(0, 6, 3)
             {keyword} (i in 1:6) {{
               R[i, 1] = sum(X * (X / i) + sqrt(abs(X)))
               R[i, 2] = sum(t(X) %*% (X %*% matrix(1 / i, ncol(X), 1)))
               R[i, 3] = sum(colSums((X - 0.3) / i) ^ 2)
             }}"
        )
    };
    let run = |script: Script| {
        let ran = script.matrix("X", exact(50_000, 9, 5)).output("R").run();
        bits(&ran.matrix("R"))
    };
    let one_by_one = run(on_threads(&text("for"), 3));
    assert_eq!(run(on_threads(&text("parfor"), 3)), one_by_one);
    assert_eq!(run(on_workers(&text("parfor"), 3)), one_by_one);
}

#[test]
fn operators_are_counted_as_of_one_loop() {
    let counts = |threads| {
        let ran = on_threads(
            "R = matrix(0, 40, 1)
             for (l in 1:3) { parfor (i in 1:40) { R[i, 1] = sum(X %*% t(X)) + i } }
             print(sum(R))",
            threads,
        )
        .matrix("X", exact(30, 4, 3))
        .run();
        let report = &ran.outcome().report;
        let operators = report.operators.iter();
        let mut counts: Vec<String> = operators
            .map(|operator| format!("{} {}", operator.label, operator.count))
            .collect();
        counts.sort();
        (counts, report.parfors.clone())
    };
    let ((one, _), (four, parfors)) = (counts(1), counts(4));
    assert_eq!(one, four);
    assert_eq!((parfors[0].runs, parfors[0].iterations), (3, 120));
    assert_eq!(parfors[0].label, "parfor i test.dml:2");
}

/// The degree and its reason.
fn degree(script: Script) -> String {
    let ran = script.config("fulgurite.threads", "4").run();
    let mut text = String::new();
    for parfor in &ran.outcome().report.parfors {
        let _ = writeln!(text, "{parfor}");
    }
    text
}

#[test]
fn the_degree_follows_from_memory_and_the_script() {
    let body = "{ Y = X * i + 1\nY[1, 1] = 0\nR[i, 1] = sum(Y) }\nprint(sum(R))";
    let text = |header: &str| format!("R = matrix(0, 40, 1)\nparfor ({header}) {body}");
    let x = || exact(1000, 100, 3);
    let known = |header: &str| script(&text(header)).matrix("X", x());
    // Sizes that only the run can tell.
    let unknown = script(
        &text("i in 1:40")
            .replace("X * i", "X[1:k, ] * i")
            .replace("R =", "k = sum(X == X) / 100\nR ="),
    )
    .matrix("X", x());
    insta::assert_snapshot!(
        [
            degree(known("i in 1:40")),
            degree(known("i in 1:3")),
            degree(known("i in 1:40, par=2")),
            degree(known("i in 1:40").config("fulgurite.memory.local", "4m")),
            degree(unknown),
            degree(known("i in 1:40").config("fulgurite.backend", "local")),
        ]
        .concat()
    );
}
