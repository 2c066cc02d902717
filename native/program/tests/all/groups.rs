//! Aggregates by groups, fused with what computes their target, and several in one scan.

use fulgurite_backend_local::LocalBackend;
use fulgurite_error::ErrorKind;
use fulgurite_hop::Literal;
use fulgurite_matrix::MatrixBlock;
use fulgurite_test_numbers::is_close;

use crate::common::{Cells, Ran, Script, matrix, script};

const ROWS: usize = 70_001;

/// Group 4 of 6 has no rows; there are rows of groups 0, 7 and NaN.
fn groups() -> MatrixBlock {
    let cells = (0..ROWS).map(|row| match row * 29 % 101 {
        0 => f64::NAN,
        1 => 0.0,
        2 => 7.0,
        3 => 1.5,
        other => [1.0, 2.0, 3.0, 5.0, 6.0][other % 5],
    });
    MatrixBlock::dense(ROWS, 1, cells.collect()).unwrap()
}

fn inputs(text: &str, kind: Cells) -> Script {
    script(text)
        .matrix("X", matrix(ROWS, 3, kind, 1))
        .matrix("x", matrix(ROWS, 1, kind, 2))
        .matrix("y", matrix(ROWS, 1, Cells::Dense, 3))
        .matrix("g", groups())
        .scalar("k", Literal::Int(6))
        .output("R")
}

fn has_groups(ran: &Ran) -> bool {
    ran.outcome().report.to_string().contains(" Group ")
}

fn assert_same(found: &MatrixBlock, expected: &MatrixBlock, what: &str) {
    let size = |matrix: &MatrixBlock| (matrix.rows(), matrix.cols());
    assert_eq!(size(found), size(expected), "{what}");
    let (found, expected) = (found.to_dense().unwrap(), expected.to_dense().unwrap());
    for (found, expected) in found.values().iter().zip(expected.values()) {
        assert!(
            is_close(*found, *expected, 1e-11),
            "{found} is not {expected}: {what}"
        );
    }
}

/// With groups that fuse, and without.
const TEXTS: [&str; 9] = [
    "R = aggregate(target=x * y + 1, groups=g, fn=\"sum\", ngroups=k)",
    "R = aggregate(target=exp(x) * y, groups=g, fn=\"mean\", ngroups=6)",
    "R = aggregate(target=abs(x - y), groups=ceil(g) + 1, fn=\"max\", ngroups=k)",
    "R = aggregate(target=x - y, groups=g, fn=\"min\", ngroups=k + 3)",
    "R = aggregate(target=X * y, groups=g, fn=\"sum\", ngroups=k)",
    "R = aggregate(target=x * y, groups=g, fn=\"sum\", weights=abs(y), ngroups=k)",
    "m = y > 0
     R = cbind(aggregate(target=x * m, groups=g, fn=\"sum\", ngroups=k),
               aggregate(target=ifelse(m, x * y, 0), groups=g, fn=\"sum\", ngroups=k),
               aggregate(target=x * (1 - y) * m, groups=g, fn=\"sum\", ngroups=k),
               aggregate(target=m, groups=g, fn=\"sum\", ngroups=k),
               aggregate(target=y, groups=g, fn=\"mean\", ngroups=k),
               aggregate(target=x, groups=g, fn=\"count\", ngroups=k),
               aggregate(target=x, groups=g, fn=\"max\", ngroups=k))",
    "R = cbind(aggregate(target=x, groups=g, fn=\"sum\", ngroups=k),
               aggregate(target=x, groups=g, fn=\"mean\", ngroups=k),
               aggregate(target=x, groups=g, fn=\"count\", ngroups=k))",
    "R = aggregate(target=1 / x, groups=g, fn=\"sum\", ngroups=k)",
];

#[test]
fn fused_groups_are_those_of_basic_operators() {
    for kind in [Cells::Dense, Cells::Scattered] {
        for text in TEXTS {
            let run = |policy: &str, threads: &str| {
                let script = inputs(text, kind).config("fulgurite.fusion.policy", policy);
                script.config("fulgurite.threads", threads).run()
            };
            let expected = run("none", "1").matrix("R");
            for policy in ["cost", "fuse-all", "fuse-no-redundancy"] {
                let (one, two) = (run(policy, "1"), run(policy, "2"));
                // Costs may be against it.
                assert!(policy == "cost" || has_groups(&two), "{policy}: {text}");
                assert_same(&two.matrix("R"), &expected, text);
                assert_eq!(one.matrix("R"), two.matrix("R"), "{policy}: {text}");
            }
        }
    }
}

#[test]
fn several_aggregates_by_the_same_groups_are_one_operator() {
    let ran = inputs(TEXTS[6], Cells::Dense).run();
    let report = ran.outcome().report.to_string();
    assert_eq!(report.matches(" Group ").count(), 1, "{report}");
    let basic = |line: &str| line.contains("local     p(aggregate)");
    assert!(!report.lines().any(basic), "{report}");
}

#[test]
fn groups_on_workers_are_those_of_one_process() {
    for text in TEXTS {
        let run = |policy: &str| {
            let script = inputs(text, Cells::Dense).config("fulgurite.fusion.policy", policy);
            let script = script.config("fulgurite.memory.local", "400k");
            script.backend(LocalBackend::default().into()).run()
        };
        let expected = inputs(text, Cells::Dense)
            .config("fulgurite.fusion.policy", "none")
            .run();
        let found = run("cost");
        // What basic operators can't do on workers need not be possible.
        match (&found.result, &run("none").result) {
            (Err(error), Err(other)) => assert_eq!(error.kind(), other.kind(), "{text}"),
            _ => assert_same(&found.matrix("R"), &expected.matrix("R"), text),
        }
    }
}

#[test]
fn a_negative_number_of_groups_is_refused() {
    for policy in ["none", "cost"] {
        let text = "R = aggregate(target=x * y, groups=g, fn=\"sum\", ngroups=k - 9)";
        let ran = inputs(text, Cells::Dense)
            .config("fulgurite.fusion.policy", policy)
            .run();
        assert_eq!(ran.result.unwrap_err().kind(), ErrorKind::Dimension);
    }
}

/// Plans serve matrices of about the same size: parts of what they give must not have the first one's.
#[test]
fn plans_that_serve_other_sizes_give_all_rows_and_columns() {
    let text = "R = matrix(0, 0, 1)
S = matrix(0, 0, 1)
for (i in 1:4) {
  n = 60000 + 5000 * i
  Z = matrix(seq(1, 3 * n), n, 3)
  g = 1 + (seq(1, n) %% (100 + i))
  a = rowSums(Z * 2)
  b = rowMaxs(Z)
  R = rbind(R, as.matrix(sum(a)), as.matrix(sum(b)), as.matrix(nrow(a)), as.matrix(nrow(b)))
  c = aggregate(target=Z[, 1] * 2, groups=g, fn=\"sum\", ngroups=100 + i)
  d = aggregate(target=Z[, 1] + 1, groups=g, fn=\"mean\", ngroups=100 + i)
  W = t(Z)
  e = colSums(W * 2)
  f = colMaxs(W)
  S = rbind(S, as.matrix(sum(c)), as.matrix(sum(d)), as.matrix(nrow(c)), as.matrix(sum(e)), as.matrix(sum(f)))
}";
    let run = |policy: &str| {
        let script = script(text).config("fulgurite.fusion.policy", policy);
        script.output("R").output("S").run()
    };
    let (expected, found) = (run("none"), run("cost"));
    for name in ["R", "S"] {
        assert_same(&found.matrix(name), &expected.matrix(name), name);
    }
}
