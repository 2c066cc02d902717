//! How often blocks are planned, and why: counts of the report, which do not depend on the machine.

use fulgurite_dataflow::{PlanningReport, Replan};
use fulgurite_matrix::MatrixBlock;

use crate::common::{Ran, Script, exact, script};

/// What was planned beyond the first time, and how often plans got new sizes.
fn again(ran: &Ran) -> (Vec<(Replan, u64)>, u64) {
    let PlanningReport { made, resized, .. } = &ran.outcome().report.planning;
    let again = made.iter().filter(|(why, _)| **why != Replan::First);
    (again.map(|(why, count)| (*why, *count)).collect(), *resized)
}

fn run(text: &str) -> Ran {
    script(text).matrix("X", exact(100, 4, 3)).output("R").run()
}

/// A matrix of 1000 x 20 with so many non-zeros, in CSR.
fn sparse(nnz: usize) -> MatrixBlock {
    let mut cells = vec![0.0; 20_000];
    for (index, cell) in cells.iter_mut().step_by(20_000 / nnz).take(nnz).enumerate() {
        *cell = 1.0 + (index % 64) as f64;
    }
    MatrixBlock::dense(1000, 20, cells)
        .expect("sized for it")
        .in_best_layout()
        .unwrap()
}

fn sum_in_turns(nnz: [usize; 2]) -> Script {
    script(
        "R = 0.0
         for (i in 1:12) {
           if (i %% 2 == 0) { Y = A } else { Y = B }
           R = R + sum(Y * Y * 2)
         }",
    )
    .matrix("A", sparse(nnz[0]))
    .matrix("B", sparse(nnz[1]))
    .output("R")
}

#[test]
fn a_loop_over_what_stays_is_planned_once() {
    let ran = run("
        w = matrix(1, ncol(X), 1)
        for (i in 1:20) {
          w = w + 0.001 * (t(X) %*% (X %*% w - i))
        }
        R = sum(w)");
    assert_eq!(again(&ran), (vec![], 0));
    let report = &ran.outcome().report;
    assert!(report.planning.served >= 19, "{report}");
    // The body's operators are compiled once and found in all other iterations.
    assert!(report.plan_cache_hits >= 19, "{report}");
    assert!(report.plan_cache_misses <= 3, "{report}");
}

#[test]
fn a_matrix_that_grows_is_planned_for_when_it_has_doubled() {
    let ran = run("
        Z = X
        R = 0.0
        for (i in 1:60) {
          R = R + sum(sqrt(abs(Z)) * Z)
          Z = cbind(Z, X[, 1])
        }");
    // Z has 4 columns, then 8, 16 and 32.
    assert_eq!(again(&ran), (vec![(Replan::Sizes, 3)], 56));
    let unfused = script(
        "Z = X
         R = 0.0
         for (i in 1:60) {
           R = R + sum(sqrt(abs(Z)) * Z)
           Z = cbind(Z, X[, 1])
         }",
    )
    .matrix("X", exact(100, 4, 3))
    .config("fulgurite.fusion.policy", "none")
    .output("R")
    .run();
    let (fused, expected) = (ran.number("R"), unfused.number("R"));
    assert!(expected.is_finite() && (fused - expected).abs() <= 1e-12 * expected.abs());
}

#[test]
fn growing_to_the_size_of_another_matrix_is_another_plan() {
    // Y is a column vector beside X, then a matrix as wide as X: what was spread is aligned.
    let ran = run("
        Y = X[, 1]
        R = 0.0
        for (i in 1:2) {
          R = R + sum(X * Y)
          Y = X
        }");
    assert_eq!(again(&ran), (vec![(Replan::Sizes, 1)], 0));
}

#[test]
fn a_matrix_that_becomes_sparse_is_planned_for_when_half_of_it_is_gone() {
    let ran = script(
        "t = 0.0
         R = 0.0
         for (i in 1:6) {
           R = R + sum(X * X * 2)
           X = X * (X > t)
           t = 64 - (64 - t) * 0.7
         }",
    )
    .matrix("X", sparse(6400))
    .output("R")
    .run();
    let (again, resized) = again(&ran);
    // 0.7 and 0.49 of the non-zeros: planned for at less than a half, each time.
    assert_eq!((&again[..], resized), (&[(Replan::Sparsity, 2)][..], 0));
}

#[test]
fn sparsities_around_a_limit_share_a_plan_and_others_are_found_again() {
    assert_eq!(again(&sum_in_turns([2700, 2200]).run()), (vec![], 0));
    assert_eq!(again(&sum_in_turns([4000, 2200]).run()), (vec![], 0));
    assert_eq!(
        again(&sum_in_turns([4000, 400]).run()),
        (vec![(Replan::Sparsity, 1)], 0)
    );
}

#[test]
fn a_size_that_changes_in_each_iteration_ends_in_a_plan_for_all() {
    let ran = script(
        "R = 0.0
         for (i in 40:60) {
           R = R + sum(sqrt(abs(X[, 1:i])))
         }",
    )
    .matrix("X", exact(100, 64, 3))
    .output("R")
    .run();
    // Four values are literals; then the fifth plan serves the others.
    assert_eq!(again(&ran), (vec![(Replan::Values, 4)], 16));
}

#[test]
fn sizes_that_become_known_are_planned_for() {
    let ran = run("
        R = 0.0
        for (i in 1:3) {
          Y = removeEmpty(target=X * (X > i), margin='rows')
          if (nrow(Y) > 0) { R = R + sum(sqrt(abs(Y)) * Y) }
        }");
    let unfused = ran.outcome().report.operators.iter();
    let labels: Vec<&str> = unfused.map(|operator| operator.label.as_str()).collect();
    assert!(
        labels
            .iter()
            .any(|label| label.contains("Cell ua(+) test.dml:5")),
        "{labels:?}"
    );
}

#[test]
fn the_report_tells_what_was_planned() {
    let ran = run("
        Z = X
        for (i in 1:5) { Z = cbind(Z, Z) }
        R = sum(Z)");
    let shown = ran.outcome().report.to_string();
    let line = shown
        .lines()
        .find(|line| line.starts_with("plans of blocks"));
    insta::assert_snapshot!(line.unwrap_or(&shown), @"plans of blocks: 9 made (first 5, sizes changed 4), 0 resized, 0 served again");
}

#[test]
fn sizes_that_alternate_resize_a_plan_each_time() {
    let ran = script(
        "R = 0.0
         for (i in 1:6) {
           if (i %% 2 == 0) { Y = A } else { Y = B }
           D = sqrt(abs(Y)) * Y
           E = D %*% C
           if (i == 0) { print(sum(E)) }
           R = R + nrow(D) + nrow(E)
         }",
    )
    .matrix("A", exact(100, 4, 3))
    .matrix("B", exact(90, 4, 3))
    .matrix("C", exact(4, 4, 3))
    .output("R")
    .run();
    assert_eq!(again(&ran).1, 5);
    assert_eq!(ran.number("R"), 2.0 * 3.0 * (100.0 + 90.0));
}

#[test]
fn batches_of_as_many_rows_share_a_plan_as_it_is() {
    let ran = script(
        "R = 0.0
         for (i in 1:20) {
           first = (i - 1) * 5 + 1
           last = i * 5
           B = X[first:last, ]
           R = R + sum(sqrt(abs(B)) * B)
         }",
    )
    .matrix("X", exact(100, 4, 3))
    .output("R")
    .run();
    // Four values are literals; the plan for the others need not even get new sizes.
    assert_eq!(again(&ran), (vec![(Replan::Values, 4)], 0));
    let report = &ran.outcome().report;
    assert!(report.planning.served >= 15, "{report}");
}

/// Up to the factor, sizes are given to the plan that there is; not across what fits into memory.
#[test]
fn growing_beyond_the_memory_is_another_plan() {
    let grown = |memory: &str| {
        let ran = script(
            "R = 0.0
             for (i in 1:2) {
               if (i == 1) { Y = A } else { Y = B }
               S = sum(exp(Y) * Y)
               if (nrow(Y) == 0) { print(S) }
               R = R + S
             }",
        )
        .matrix("A", exact(900, 4, 3))
        .matrix("B", exact(1000, 4, 3))
        .output("R")
        .config("fulgurite.memory.local", memory)
        .run();
        let (why, _) = again(&ran);
        why
    };
    assert_eq!(grown("1m"), vec![]);
    // Between 2 x 28,800 and 2 x 32,000 bytes; the fused operator reads Y alone.
    assert_eq!(grown("61000"), vec![(Replan::Memory, 1)]);
}
