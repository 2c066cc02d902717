//! Loops and functions of scalars: as compiled code, and block by block, they leave the same, print the same and fail
//! the same.

use std::fmt::Write;

use fulgurite_error::ErrorKind;
use fulgurite_hop::Literal;
use fulgurite_matrix::{Layout, MatrixBlock};
use fulgurite_program::OutputValue;
use proptest::prelude::*;

use crate::common::{Cells, Ran, Script, exact, matrix, script};

const SWITCH: &str = "fulgurite.codegen.scalars";

fn runs(script: impl Fn() -> Script) -> [Ran; 2] {
    ["true", "false"].map(|switch| script().config(SWITCH, switch).run())
}

/// What a run leaves, prints and fails with, to the bit.
fn shown(ran: &Ran) -> String {
    let mut text = ran.text();
    let outputs = ran.result.iter().flat_map(|outcome| &outcome.outputs);
    for (name, value) in outputs {
        let value = match value {
            OutputValue::Scalar(Literal::Double(value)) => {
                format!("double {:016x} {value}", canonical(*value))
            }
            OutputValue::Scalar(value) => format!("{value:?}"),
            OutputValue::Matrix(matrix) => {
                let cells = matrix.to_dense().expect("there is memory");
                let cells = cells.values().iter();
                let cells: Vec<u64> = cells.map(|cell| canonical(*cell)).collect();
                format!("{} x {}: {cells:x?}", matrix.rows(), matrix.cols())
            }
            other => format!("{other:?}"),
        };
        writeln!(text, "{name}: {value}").expect("a string");
    }
    text
}

/// All NaN are one: processors differ in their signs.
fn canonical(value: f64) -> u64 {
    match value.is_nan() {
        true => f64::NAN.to_bits(),
        false => value.to_bits(),
    }
}

/// The rows of compiled code in the report: their labels, and how often each ran.
fn compiled(ran: &Ran) -> Vec<(String, u64)> {
    let operators = ran.outcome().report.operators.iter();
    let mut compiled: Vec<(String, u64)> = operators
        .filter(|operator| operator.label.starts_with("compiled "))
        .map(|operator| (operator.label.clone(), operator.count))
        .collect();
    compiled.sort();
    compiled
}

fn assert_same(script: impl Fn() -> Script) -> Ran {
    let [fast, slow] = runs(script);
    assert_eq!(shown(&fast), shown(&slow));
    if slow.result.is_ok() {
        assert_eq!(compiled(&slow), []);
    }
    fast
}

#[test]
fn loops_are_compiled_as_a_whole() {
    for (text, expected) in [
        (
            "s = 0\nfor (i in 1:100) { if (i %% 3 == 0) { s = s + 0.5 } else { s = s + i } }",
            &[("compiled for i test.dml:2", 1)][..],
        ),
        (
            "s = 0\nwhile (s < 100) { s = s + 1\nfor (j in 1:s) { s = s + j } }",
            &[("compiled while test.dml:2", 1)],
        ),
        (
            "f = function(int n) return (int r) { if (n < 2) { r = n } else { r = f(n - 1) + f(n - 2) } }\n\
             s = f(15)\nfor (i in 1:3) { s = s + f(i) }",
            // The first calls, one in the other, came before.
            &[
                ("compiled f test.dml:1", 144),
                ("compiled for i test.dml:3", 1),
            ],
        ),
        (
            "X = matrix(0, 5, 5)\nfor (i in 1:5) { X[i, i] = i + as.scalar(X[1, 1]) }\ns = sum(X)",
            &[("compiled for i test.dml:2", 1)],
        ),
        // A product of matrices keeps the outer loop from it, not the inner one.
        (
            "X = matrix(1, 3, 3)\ns = 1\nfor (i in 1:4) { X = X %*% X\nfor (j in 1:9) { s = s + j } }\ns = s + sum(X)",
            &[("compiled for j test.dml:4", 4)],
        ),
        ("s = ''\nfor (i in 1:3) { s = s + i }", &[]),
    ] {
        let ran = assert_same(|| script(text).output("s"));
        let expected: Vec<(String, u64)> = expected
            .iter()
            .map(|(label, count)| ((*label).to_owned(), *count))
            .collect();
        let found = compiled(&ran);
        let labels = |of: &[(String, u64)]| -> Vec<String> {
            of.iter().map(|(label, _)| label.clone()).collect()
        };
        assert_eq!(labels(&found), labels(&expected), "{text}");
        for ((label, found), (_, expected)) in found.iter().zip(&expected) {
            // How often recursive calls come before they are compiled is nobody's business.
            assert!(
                label.starts_with("compiled f ") || found == expected,
                "{label}: {found}"
            );
        }
    }
}

#[test]
fn types_change_as_a_loop_runs() {
    assert_same(|| {
        script(
            "s = 0
            b = TRUE
            n = 3
            for (i in 1:10) {
              s = ifelse(i > 4, s + 0.25, s + 1)
              k = i %% n
              n = n - 1
              b = b + 1
              print(s + ' ' + k + ' ' + b + ' ' + n)
            }
            t = s
            s = k
            k = t",
        )
        .output("s")
        .output("k")
        .output("b")
    });
}

#[test]
fn a_cell_is_read_as_it_was_before_it_is_written() {
    let ran = assert_same(|| {
        script(
            "for (k in 1:20) {
              for (i in 1:(nrow(X) - 1)) {
                for (j in 1:ncol(X)) {
                  a = as.scalar(X[i, j])
                  b = as.scalar(X[i + 1, j])
                  if (a > b) {
                    X[i, j] = b
                    X[i + 1, j] = a
                    X[i, j] = X[i, j] * 1 + 0
                  }
                }
              }
            }
            for (i in 2:nrow(Y)) { Y[i, 1] = Y[i - 1, 1] + Y[1, 1] * 0.5
              t = Y[i, 1]
              Y[i, 1] = Y[1, 1]
              Y[1, 1] = t }",
        )
        .matrix("X", exact(12, 3, 5))
        .matrix("Y", exact(6, 1, 7))
        .output("X")
        .output("Y")
    });
    let sorted = ran.matrix("X").to_dense().expect("there is memory");
    for row in 1..sorted.rows() {
        let rows = sorted.row(row - 1).iter().zip(sorted.row(row));
        assert!(rows.into_iter().all(|(above, below)| above <= below));
    }
    assert_eq!(compiled(&ran).len(), 2);
}

#[test]
fn the_matrix_of_another_variable_stays_as_it_is() {
    assert_same(|| {
        script(
            "Y = X
            f = function(matrix[double] A, int n) return (double r) {
              r = 0
              for (i in 1:n) { A[1, 1] = A[1, 1] + i
                r = r + as.scalar(A[1, 1]) * nrow(A) }
            }
            s = 0
            for (i in 1:20) { X[2, 2] = i
              s = s + as.scalar(Y[2, 2]) }
            t = f(X, 5) + f(Y, 6)",
        )
        .matrix("X", exact(3, 3, 5))
        .output("X")
        .output("Y")
        .output("s")
        .output("t")
    });
}

#[test]
fn sparse_matrices_are_read_as_they_are_and_written_as_dense_ones() {
    let ran = assert_same(|| {
        script(
            "Z = matrix(0, 50, 40)
            s = 0
            for (i in 1:50) {
              Z[i, i %% 7 + 1] = i
              s = s + as.scalar(S[i, 3]) + as.scalar(Z[i, 2])
            }
            n = 0
            for (i in 1:50) { for (j in 1:40) { n = n + (as.scalar(Z[i, j]) != 0) } }
            t = s + n + sum(Z)",
        )
        .matrix("S", matrix(50, 40, Cells::Scattered, 3))
        .output("Z")
        .output("t")
    });
    assert_eq!(compiled(&ran).len(), 2);
    assert_eq!(ran.matrix("Z").layout(), Layout::Csr);
}

#[test]
fn errors_have_their_kind_place_and_text() {
    for (body, kind, part) in [
        (
            "x = x * 1000000",
            ErrorKind::Runtime,
            "does not fit a 64-bit int",
        ),
        (
            "x = i %/% (5 - i)",
            ErrorKind::Runtime,
            "divides an int by zero",
        ),
        (
            "x = as.scalar(X[i, 1])",
            ErrorKind::Dimension,
            "row 4 of a matrix with 3 rows",
        ),
        (
            "X[1, i] = 3",
            ErrorKind::Dimension,
            "column 3 of a matrix with 2 columns",
        ),
        (
            "x = as.scalar(X[1 - i, i])",
            ErrorKind::Dimension,
            "row 0 of a matrix",
        ),
        (
            "if (i == 7) { stop('at ' + i) }",
            ErrorKind::Stopped,
            "at 7",
        ),
        ("assert(i < 5)", ErrorKind::Stopped, "assertion failed"),
        (
            "x = as.integer(1e30 * i)",
            ErrorKind::Runtime,
            "does not fit a 64-bit int",
        ),
        (
            "for (j in 1:(1 / (i - 3))) { x = j }",
            ErrorKind::Argument,
            "a loop cannot count",
        ),
        (
            "for (j in seq(1, 3, 3 - i)) { x = j }",
            ErrorKind::Runtime,
            "the increment of a loop is 0",
        ),
        ("x = g(x)", ErrorKind::Runtime, "more than 5000 calls"),
        (
            "x = h(i + 0.5)",
            ErrorKind::Validation,
            "the function gives the double 1.5",
        ),
        ("x = u(i)", ErrorKind::Runtime, "did not assign its result"),
        (
            "if (i == 3) { y = 1 }\nif (i == 2) { x = y }",
            ErrorKind::Runtime,
            "variable 'y' has no value",
        ),
        (
            "x = abs(-9223372036854775807 - i)",
            ErrorKind::Runtime,
            "does not fit",
        ),
        (
            "while (f(i) < 3) { x = as.scalar(X[9, 9]) }",
            ErrorKind::Dimension,
            "row 9",
        ),
        (
            "x = f(f(as.scalar(X[i, i])))",
            ErrorKind::Dimension,
            "column 3",
        ),
    ] {
        let text = format!(
            "g = function(double n) return (double r) {{ r = g(n + 1) }}
            h = function(double n) return (int r) {{ r = n }}
            u = function(double n) return (double r) {{ if (n > 2) {{ r = n }} }}
            f = function(double n) return (double r) {{ r = n * 2 }}
            x = 1
            for (i in 1:10) {{
              {body}
              print(i + ' ' + x)
            }}"
        );
        let [fast, slow] = runs(|| {
            script(&text)
                .matrix("X", exact(3, 2, 3))
                .output("x")
                .output("X")
        });
        assert_eq!(shown(&fast), shown(&slow));
        let error = fast.result.expect_err(body);
        assert_eq!(error.kind(), kind, "{body}: {error}");
        assert!(error.message().contains(part), "{body}: {error}");
    }
}

/// Scripts over a few scalars and two matrices, which are wrong now and then.
struct Writer<'a> {
    choices: std::slice::Iter<'a, u16>,
    text: String,
    depth: usize,
    /// Loops around, whose counters expressions read.
    counters: Vec<String>,
    names: usize,
    in_function: bool,
}

impl Writer<'_> {
    /// Below `n`; 0 once the choices are used up, so that every script ends.
    fn pick(&mut self, n: usize) -> usize {
        usize::from(self.choices.next().copied().unwrap_or(0)) % n
    }

    fn of(&mut self, words: &[&str]) -> String {
        let at = self.pick(words.len());
        words[at].to_owned()
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn variable(&mut self) -> String {
        let known = self.counters.len();
        match self.pick(4 + known) {
            at if at >= 4 => self.counters[at - 4].clone(),
            at => ["a", "b", "c", "d"][at].to_owned(),
        }
    }

    fn leaf(&mut self) -> String {
        match self.pick(8) {
            0 => self.of(&["0", "1", "2", "3", "7", "-1"]),
            1 => self.of(&["0.5", "-1.5", "1e300", "0.0", "3.0", "9223372036854775807"]),
            2 => self.of(&["TRUE", "FALSE"]),
            _ => self.variable(),
        }
    }

    /// Within the matrices, but for some.
    fn index(&mut self, size: usize) -> String {
        match self.pick(8) {
            0 => self.expression(1),
            1 | 2 => format!("(abs(as.integer({})) %% {size} + 1)", self.variable()),
            3 => format!("min(max({}, 1), {size})", self.variable()),
            _ => (1 + self.pick(size)).to_string(),
        }
    }

    fn cell(&mut self) -> String {
        let (name, rows, cols) = match self.pick(2) {
            0 => ("X", 3, 4),
            _ => ("Y", 2, 1),
        };
        let (row, col) = (self.index(rows), self.index(cols));
        format!("{name}[{row}, {col}]")
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let below = depth - 1;
        let cells = if self.in_function { 0 } else { 3 };
        match self.pick(15 + cells) {
            0..=4 => {
                let op = self.of(&["+", "-", "*", "/", "%%", "%/%", "+", "-", "*"]);
                format!(
                    "({} {op} {})",
                    self.expression(below),
                    self.expression(below)
                )
            }
            5 | 6 => {
                let op = self.of(&["<", "<=", ">", ">=", "==", "!="]);
                format!(
                    "({} {op} {})",
                    self.expression(below),
                    self.expression(below)
                )
            }
            7 => {
                let op = self.of(&["&", "|"]);
                format!(
                    "({} {op} {})",
                    self.expression(below),
                    self.expression(below)
                )
            }
            8 => {
                let function = self.of(&["min", "max", "xor"]);
                format!(
                    "{function}({}, {})",
                    self.expression(below),
                    self.expression(below)
                )
            }
            9 => {
                let function = self.of(&[
                    "abs",
                    "floor",
                    "round",
                    "sqrt",
                    "exp",
                    "sign",
                    "!",
                    "as.double",
                    "as.logical",
                    "-",
                    "sin",
                ]);
                format!("{function}({})", self.expression(below))
            }
            10 => format!("as.integer({} %% 1000)", self.expression(below)),
            11 => format!(
                "ifelse({}, {}, {})",
                self.expression(below),
                self.expression(below),
                self.expression(below)
            ),
            12 => format!(
                "({} ^ {})",
                self.expression(below),
                self.of(&["2", "0.5", "b"])
            ),
            13 | 14 => self.leaf(),
            15 => {
                let (left, right) = (self.cell(), self.cell());
                let op = self.of(&["+", "-", "*", "/", "%%", "<"]);
                format!("as.scalar({left} {op} {right})")
            }
            _ => format!("as.scalar({})", self.cell()),
        }
    }

    fn block(&mut self, statements: usize) {
        self.depth += 1;
        for _ in 0..statements {
            self.statement();
        }
        self.depth -= 1;
    }

    fn statement(&mut self) {
        let target = self.of(&["a", "b", "c", "d"]);
        let nested = self.depth < 4;
        let few = 1 + self.pick(3);
        match self.pick(16) {
            0 | 1 if nested => {
                let condition = self.expression(2);
                self.line(&format!("if ({condition}) {{"));
                self.block(few);
                if self.pick(2) == 0 {
                    self.line("} else {");
                    self.block(few);
                }
                self.line("}");
            }
            2 if nested => {
                let counter = format!("i{}", self.names);
                self.names += 1;
                let range = match self.pick(5) {
                    0 => "seq(5, 1, -2)".to_owned(),
                    1 => format!("1:min(max({}, -2), 6)", self.variable()),
                    2 => format!("seq(1, 6, {})", self.leaf()),
                    _ => format!("1:{}", 1 + self.pick(4)),
                };
                self.line(&format!("for ({counter} in {range}) {{"));
                self.counters.push(counter);
                self.block(few);
                self.counters.pop();
                self.line("}");
            }
            3 if nested => {
                let counter = format!("w{}", self.names);
                self.names += 1;
                self.line(&format!("{counter} = 0"));
                let condition = self.expression(1);
                self.line(&format!("while ({counter} < 4 & ({condition}) != 7) {{"));
                self.depth += 1;
                self.line(&format!("{counter} = {counter} + 1"));
                self.depth -= 1;
                self.counters.push(counter);
                self.block(few);
                self.counters.pop();
                self.line("}");
            }
            4..=6 if !self.in_function => {
                let (cell, value) = (self.cell(), self.expression(2));
                self.line(&format!("{cell} = {value}"));
            }
            7 if !self.in_function => {
                let (from, to) = (self.cell(), self.cell());
                self.line(&format!("{to} = {from}"));
            }
            8 if !self.in_function => {
                let call = match self.pick(4) {
                    0 => format!("f({}, {})", self.expression(1), self.expression(1)),
                    1 => format!("g(as.integer({} %% 20), {})", self.variable(), self.leaf()),
                    2 => format!("h(X, {})", self.index(3)),
                    _ => format!("k({})", self.expression(1)),
                };
                self.line(&format!("{target} = {call}"));
            }
            9 => {
                let value = self.expression(1);
                self.line(&format!("print('{target} ' + {value} + ' ' + {target})"));
            }
            10 if self.pick(8) == 0 => {
                let (condition, value) = (self.expression(1), self.leaf());
                self.line(&format!(
                    "if ({condition}) {{ stop('stopped at ' + {value}) }}"
                ));
            }
            _ => {
                let value = self.expression(3);
                self.line(&format!("{target} = {value}"));
            }
        }
    }

    /// Functions of a random body and fixed ones, then a loop over random statements.
    fn program(choices: &[u16]) -> String {
        let mut writer = Writer {
            choices: choices.iter(),
            text: String::new(),
            depth: 0,
            counters: Vec::new(),
            names: 0,
            in_function: true,
        };
        writer.line("f = function(double a, int b) return (double r) {");
        writer.line("  c = a\n  d = b");
        let few = 1 + writer.pick(3);
        writer.block(few);
        let result = writer.expression(2);
        writer.line(&format!("  r = {result}\n}}"));
        writer.line("g = function(int n, double s) return (double r) { if (n <= 0) { r = s } else { r = g(n - 1, s * 0.5 + n) } }");
        writer.line("h = function(matrix[double] M, int i) return (double r) { r = as.scalar(M[i, 1]) + nrow(M) }");
        writer.line("k = function(double x = 2, boolean y = TRUE) return (int r) { r = ifelse(y, floor(x) == x, 3) + 1\nr = as.integer(r) }");
        writer.in_function = false;
        let times = 1 + writer.pick(12);
        writer.line(&format!("for (n in 1:{times}) {{"));
        writer.counters.push("n".to_owned());
        let statements = 2 + writer.pick(6);
        writer.block(statements);
        writer.line("}");
        writer.text
    }
}

fn value() -> impl Strategy<Value = Literal> {
    prop_oneof![
        (-3i64..8).prop_map(Literal::Int),
        prop::sample::select(vec![0.0, -0.0, 0.5, 2.0, -1.25, f64::NAN, f64::INFINITY])
            .prop_map(Literal::Double),
        any::<bool>().prop_map(Literal::Boolean),
    ]
}

fn random(text: &str, values: &[Literal], matrices: &[MatrixBlock; 2]) -> Script {
    let mut script = script(text);
    for (name, value) in ["a", "b", "c", "d"].into_iter().zip(values) {
        script = script.scalar(name, value.clone()).output(name);
    }
    for (name, matrix) in ["X", "Y"].into_iter().zip(matrices) {
        script = script.matrix(name, matrix.clone()).output(name);
    }
    script
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn random_programs_do_the_same(
        choices in prop::collection::vec(any::<u16>(), 20..400),
        values in prop::collection::vec(value(), 4),
        seed in any::<u64>(),
    ) {
        let text = Writer::program(&choices);
        let matrices = [exact(3, 4, seed), exact(2, 1, seed ^ 5)];
        let [fast, slow] = runs(|| random(&text, &values, &matrices));
        prop_assert_eq!(shown(&fast), shown(&slow), "{}", text);
    }
}

#[test]
fn most_random_programs_are_compiled_and_some_fail() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let choices = prop::collection::vec(any::<u16>(), 20..400);
    let (mut succeeded, mut were_compiled, mut failed) = (0, 0, 0);
    for seed in 0..150 {
        let choices = choices.new_tree(&mut runner).expect("a strategy").current();
        let text = Writer::program(&choices);
        let values = [
            Literal::Int(3),
            Literal::Double(0.5),
            Literal::Boolean(true),
            Literal::Int(-1),
        ];
        let matrices = [exact(3, 4, seed), exact(2, 1, seed ^ 5)];
        let ran = random(&text, &values, &matrices).run();
        match ran.result {
            Ok(_) => {
                succeeded += 1;
                were_compiled += usize::from(!compiled(&ran).is_empty());
            }
            Err(_) => failed += 1,
        }
    }
    assert!(failed >= 15, "{failed} fail");
    assert!(succeeded >= 40, "{succeeded} succeed");
    assert!(
        were_compiled * 5 >= succeeded * 4,
        "{were_compiled} of {succeeded} are compiled"
    );
}
