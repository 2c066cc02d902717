//! Which `parfor` loops are refused, and with which places.

use std::fmt::Write;

use crate::support::compiled;
use fulgurite_dml::CompileOptions;
use fulgurite_error::ErrorKind;
use fulgurite_hop::Block;
use proptest::{prelude::*, strategy::ValueTree};

/// `X` is a matrix, `n` and `m` are whole numbers that only a run can tell.
fn with_variables(text: &str) -> String {
    format!("X = read('x')\nn = nrow(X)\nm = ncol(X)\nR = matrix(0, rows=n, cols=m)\nk = 4\n{text}")
}

/// Errors without the lines of script that they show.
fn verdict(text: &str) -> String {
    match compiled(&with_variables(text), &CompileOptions::default()) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
            let position = error.position().expect("errors have a place");
            format!("{}:{} {}", position.line, position.column, error.message())
        }
    }
}

fn verdicts(loops: &[&str]) -> String {
    let mut text = String::new();
    for script in loops {
        let _ = writeln!(text, "{script}\n    {}", verdict(script));
    }
    text
}

#[test]
fn iterations_with_cells_of_their_own_are_accepted() {
    let loops = [
        "parfor (i in 1:n) { R[i, ] = X[i, ] * 2 }",
        "parfor (i in 1:n) { R[i, ] = R[i, ] + 1 }",
        "parfor (i in 1:m) { R[, i] = X[, i] / sum(X[, i]) }",
        "parfor (i in 1:n) { R[2 * i + 1, ] = R[2 * i, ] }",
        "parfor (i in 1:n) { R[i, 1] = i; R[i, 2] = -i }",
        "parfor (i in 1:9) { R[i, ] = R[i + 9, ] }",
        "parfor (i in 9:1) { R[i, ] = R[i + 9, ] }",
        "parfor (i in seq(1, 9, 2)) { R[i, ] = R[i + 1, ] }",
        "parfor (i in seq(1, n, 4)) { R[i:(i + 3), ] = X[i:(i + 3), ] }",
        "parfor (i in 1:n) { R[((i - 1) * k + 1):(i * k), ] = X[1:k, ] }",
        "parfor (i in 1:n) { from = (i - 1) * k + 1; to = from + k - 1; R[from:to, ] = X[1:k, ] }",
        "parfor (i in 1:n) { for (j in 1:m) { R[i, j] = i * j } }",
        "parfor (i in 1:n) { for (j in ((i - 1) * k + 1):(i * k)) { R[j, ] = X[i, ] } }",
        "parfor (i in 1:n) { parfor (j in 1:m) { R[i, j] = i * j } }",
        "parfor (i in 1:n) { j = n - i; R[j + 1, ] = X[i, ] }",
        "parfor (i in 1:n) { R[n + i, ] = X[i, ] }",
        "parfor (i in 1:n) { it = 0; while (it < 3) { it = it + 1; R[it, i] = it } }",
        "parfor (i in 1:1) { R[1, 1] = 1 }",
        // Variables of an iteration.
        "s = 0\nparfor (i in 1:n) { s = sum(X[i, ]); R[i, 1] = s }",
        "parfor (i in 1:n) { if (i > 2) { a = 1 } else { a = 2 }; R[i, 1] = a }",
        "parfor (i in 1:n) { a = 0; for (j in 1:m) { a = a + j }; R[i, 1] = a }",
        "parfor (i in 1:n) { for (j in 1:m) { a = j }; R[i, 1] = a }",
        "parfor (i in 1:n) { w = X[i, ]; w[1, 1] = 0; w += 1; R[i, ] = w }",
        "for (l in 1:3) { parfor (i in 1:n) { a = i; R[i, l] = a } }",
        "f = function(matrix[double] A) return (double b, matrix[double] C) { b = sum(A); C = A }\n\
         parfor (i in 1:n) { [b, C] = f(X[i, ]); R[i, ] = C * b }",
        "parfor (i in 1:n) { R[i, nrow(R) - nrow(R) + 1] = 1 }",
        // Sums.
        "parfor (i in 1:n) { R += X * i }",
        "parfor (i in 1:n) { for (j in 1:3) { R += X * j } }\nprint(sum(R))",
        // The author knows better.
        "parfor (i in 2:n, check=0) { R[i, ] = R[i - 1, ] }\nprint(sum(R))",
        "s = 0\nparfor (i in 1:n, check=0) { s = s + i }\nprint(s)",
    ];
    for script in loops {
        assert_eq!(verdict(script), "accepted", "{script}");
    }
}

#[test]
fn races_are_refused_with_both_places() {
    insta::assert_snapshot!(verdicts(&[
        "parfor (i in 2:n) { R[i, ] = R[i - 1, ] }",
        "parfor (i in 1:n) { R[1, ] = X[i, ] }",
        "parfor (i in 1:n) { R[i, ] = X[i, ] * sum(R) }",
        "parfor (i in 1:n) { R[2 * i, ] = X[i, ]; R[3 * i, ] = 0 * X[i, ] }",
        "parfor (i in 1:9) { R[i, ] = R[i + 8, ] }",
        "parfor (i in 1:n) { R[(i - 1) * k + 1, ] = X[i, ]; R[i * k, 1:2] = R[i * k + 1, 1:2] }",
        "parfor (i in 1:n) { R[i:(i + 1), ] = X[1:2, ] }",
        "parfor (i in 1:n) { for (j in 1:m) { R[i + j, 1] = 1 } }",
        "parfor (i in 1:n) { for (j in i:m) { R[j, j] = 1 } }",
        "parfor (i in 1:n) { j = as.scalar(X[i, 1]); R[j, ] = X[i, ] }",
        "parfor (i in 1:n) { R[i / 2, ] = X[i, ] }",
        "parfor (i in 1:n) { R[i * n, ] = X[i, ]; R[i, 1] = 1 }",
        "parfor (i in 1:n) { R[i, 1] += R[1, 1] }",
        "parfor (i in 1:n) { parfor (j in 1:m) { R[j, 1] = i } }",
    ]));
}

#[test]
fn values_do_not_go_from_iteration_to_iteration_or_out_of_the_loop() {
    insta::assert_snapshot!(verdicts(&[
        "s = 0\nparfor (i in 1:n) { s = s + i; R[i, 1] = s }",
        "s = 0\nparfor (i in 1:n) { R[i, 1] = s; s = i }",
        "a = 0\nparfor (i in 1:n) { if (i > 2) { a = i }; R[i, 1] = a }",
        "a = 0\nparfor (i in 1:n) { while (a < i) { a = a + 1 } }",
        "a = 0\nparfor (i in 1:n) { for (j in seq(1, i, 1)) { a = j }; R[i, 1] = a }",
        "parfor (i in 1:n) { R[i, ] = X[i, ]; R = R * 2 }",
        "A = X\nparfor (i in 1:n) { A = X * i }\nprint(sum(A))",
        "s = 0\nparfor (i in 1:n) { s = i }\nprint(s)",
        "A = X\nfor (l in 1:3) { print(sum(A))\nparfor (i in 1:n) { A = X * i } }",
        "f = function(int n) return (double s) { s = 0\nparfor (i in 1:n) { s = i } }",
        "s = 0\nparfor (i in 1:n) { s += i }",
        "parfor (i in 1:n) { R += X; R[i, ] = X[i, ] }",
        "parfor (i in 1:n) { R += X * sum(R) }",
    ]));
}

#[test]
fn options_are_checked() {
    insta::assert_snapshot!(verdicts(&[
        "parfor (i in 1:n, check=2) { }",
        "parfor (i in 1:n, check=n) { }",
        "parfor (i in 1:n, par=0) { }",
        "parfor (i in 1:n, par=2.5) { }",
        "parfor (i in 1:n, mode=CLOUD) { }",
        "parfor (i in 1:n, taskpartitionr=NAIVE) { }",
    ]));
    let script = "parfor (i in 1:n, mode=REMOTE_SPARK, par=4, resultmerge=LOCAL_MEM, opt=RULEBASED, log=debug, \
                  taskpartitioner=FACTORING, tasksize=3, datapartitioner=NONE, profile=0) { R[i, ] = X[i, ] }";
    assert_eq!(verdict(script), "accepted");
}

#[test]
fn the_error_says_what_to_do() {
    let script = "R = matrix(0, 9, 9)\nparfor (i in 2:9) {\n  R[i, ] = R[i - 1, ] + 1\n}";
    let error = compiled(script, &CompileOptions::default()).expect_err("a race");
    insta::assert_snapshot!(error);
}

#[test]
fn what_a_loop_leaves_is_found() {
    let script = "parfor (i in 1:n, par=3) { a = i; X[i, ] = R[i, ]; R[i, 1] = a; k += matrix(i, 1, 1) }\n\
                  print(sum(R) + sum(k))";
    let script = script.replace('k', "S");
    let program = compiled(
        &with_variables(&format!("S = matrix(0, 1, 1)\n{script}")),
        &CompileOptions::default(),
    )
    .expect("no race");
    let parallel = program.body.iter().find_map(|block| match block {
        Block::For { parallel, .. } => parallel.clone(),
        _ => None,
    });
    let parallel = parallel.expect("there is a parfor");
    assert_eq!(
        parallel.results,
        ["R".to_owned()].into(),
        "X is not read later"
    );
    assert_eq!(parallel.accumulated, ["S".to_owned()].into());
    assert_eq!(parallel.degree, Some(3));
}

/// `constant + own * i + inner * j`
#[derive(Debug, Clone, Copy)]
struct Index {
    constant: i64,
    own: i64,
    inner: i64,
}

impl Index {
    fn text(self) -> String {
        format!("{} * i + {} + {} * j", self.own, self.constant, self.inner)
    }

    fn at(self, i: i64, j: i64) -> i64 {
        self.constant + self.own * i + self.inner * j
    }
}

/// Rows from an index on, `height` of them; one column.
#[derive(Debug, Clone, Copy)]
struct Part {
    row: Index,
    height: i64,
    column: Index,
}

impl Part {
    fn text(self) -> String {
        let (row, column) = (self.row.text(), self.column.text());
        match self.height {
            1 => format!("R[{row}, {column}]"),
            height => format!("R[({row}):({row} + {}), {column}]", height - 1),
        }
    }

    fn cells(self, i: i64, j: i64) -> impl Iterator<Item = (i64, i64)> {
        let rows = (0..self.height).map(move |below| self.row.at(i, j) + below);
        rows.map(move |row| (row, self.column.at(i, j)))
    }
}

#[derive(Debug, Clone, Copy)]
struct Range {
    from: i64,
    to: i64,
    by: Option<i64>,
}

impl Range {
    fn text(self) -> String {
        match self.by {
            None => format!("{}:{}", self.from, self.to),
            Some(by) => format!("seq({}, {}, {by})", self.from, self.to),
        }
    }

    fn values(self) -> Vec<i64> {
        let step = self.by.unwrap_or(if self.from > self.to { -1 } else { 1 });
        let mut values = Vec::new();
        let mut value = self.from;
        while if step > 0 {
            value <= self.to
        } else {
            value >= self.to
        } {
            values.push(value);
            value += step;
        }
        values
    }
}

fn index() -> impl Strategy<Value = Index> {
    (-6i64..60, -3i64..4, -2i64..3).prop_map(|(constant, own, inner)| Index {
        constant: constant + 40,
        own,
        inner,
    })
}

fn part() -> impl Strategy<Value = Part> {
    (index(), prop_oneof![2 => Just(1i64), 1 => 2i64..4], index()).prop_map(
        |(row, height, column)| Part {
            row,
            height,
            column,
        },
    )
}

fn range() -> impl Strategy<Value = Range> {
    let by = prop_oneof![
        Just(None),
        (-3i64..4).prop_filter_map("a step", |by| (by != 0).then_some(Some(by)))
    ];
    (-3i64..8, -3i64..8, by).prop_map(|(from, to, by)| Range { from, to, by })
}

#[derive(Debug, Clone)]
struct Case {
    own: Range,
    inner: Range,
    written: Part,
    read: Part,
}

impl Case {
    fn script(&self) -> String {
        format!(
            "R = read('r')\nparfor (i in {}) {{\n  for (j in {}) {{\n    {} = {} * 2\n  }}\n}}\nprint(sum(R))",
            self.own.text(),
            self.inner.text(),
            self.written.text(),
            self.read.text()
        )
    }

    /// Whether an iteration touches a cell that another one writes.
    fn has_conflict(&self) -> bool {
        let inner = self.inner.values();
        let of = |part: Part, i: i64| -> Vec<(i64, i64)> {
            inner.iter().flat_map(|j| part.cells(i, *j)).collect()
        };
        let iterations = self.own.values();
        iterations.iter().any(|one| {
            let written = of(self.written, *one);
            let others = iterations.iter().filter(|other| *other != one);
            others.into_iter().any(|other| {
                let touched = [of(self.written, *other), of(self.read, *other)].concat();
                written.iter().any(|cell| touched.contains(cell))
            })
        })
    }

    fn is_accepted(&self) -> bool {
        match compiled(&self.script(), &CompileOptions::default()) {
            Ok(_) => true,
            Err(error) => {
                assert!(error.message().contains("'R'"), "{error}");
                false
            }
        }
    }
}

fn case() -> impl Strategy<Value = Case> {
    (range(), range(), part(), part()).prop_map(|(own, inner, written, read)| Case {
        own,
        inner,
        written,
        read,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn what_is_accepted_has_no_conflict(case in case()) {
        prop_assert!(!case.is_accepted() || !case.has_conflict(), "{}", case.script());
    }
}

/// Of random loops without a conflict, three in four are accepted.
#[test]
fn few_loops_are_refused_in_vain() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut free, mut accepted) = (0, 0);
    while free < 1000 {
        let case = case().new_tree(&mut runner).expect("a case").current();
        if !case.has_conflict() {
            free += 1;
            accepted += usize::from(case.is_accepted());
        }
    }
    assert!(
        accepted >= 750,
        "{accepted} of {free} loops without conflicts"
    );
}
