//! Ranges that fused operators read in place: with them every program leaves what it leaves where each range is a matrix of
//! its own, bit by bit, here and over stripes.

use std::{fmt::Write, sync::Arc};

use fulgurite_backend_local::LocalBackend;
use fulgurite_error::{Error, ErrorKind};
use fulgurite_matrix::MatrixBlock;
use proptest::prelude::*;

use crate::common::{Cells, Ran, matrix, script};

const ROWS: usize = 90;
const COLS: usize = 23;

/// Ranges that begin and end anywhere, all of one shape, and what is computed of them.
#[derive(Debug, Clone)]
struct Ranges {
    cells: Cells,
    height: usize,
    width: usize,
    numbers: Vec<usize>,
}

impl Ranges {
    fn strategy() -> impl Strategy<Value = Ranges> {
        let cells = prop::sample::select(vec![Cells::Dense, Cells::Dense, Cells::Scattered]);
        let height = prop_oneof![Just(1), Just(ROWS), 2..ROWS];
        let width = prop_oneof![Just(1), Just(COLS), 2..COLS];
        let numbers = prop::collection::vec(0..10_000usize, 40);
        (cells, height, width, numbers).prop_map(|(cells, height, width, numbers)| Ranges {
            cells,
            height,
            width,
            numbers,
        })
    }

    fn text(&self) -> String {
        let mut writer = Writer {
            ranges: self,
            at: 0,
            statements: String::new(),
        };
        let (first, second) = (writer.expression(3), writer.expression(2));
        let result = match writer.pick(7) {
            0 => format!("rowSums({first})"),
            1 => format!("colSums({first})"),
            2 => format!("as.matrix(sum({first}) + max({second}))"),
            3 => format!("rowMaxs({first}) + 1"),
            4 => format!("({first}) %*% t({second})"),
            5 => format!("t({first}) %*% ({second})"),
            _ => first,
        };
        let other = writer.expression(2);
        format!(
            "{}R = {result}\nS = as.matrix(sum({other}))\n",
            writer.statements
        )
    }
}

struct Writer<'a> {
    ranges: &'a Ranges,
    at: usize,
    statements: String,
}

impl Writer<'_> {
    fn pick(&mut self, below: usize) -> usize {
        self.at += 1;
        self.ranges.numbers[self.at % self.ranges.numbers.len()] % below
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.operand();
        }
        match self.pick(6) {
            0 => format!("abs({} - 1)", self.expression(depth - 1)),
            1 => format!("2 * {}", self.expression(depth - 1)),
            2 => format!(
                "({} > {})",
                self.expression(depth - 1),
                self.expression(depth - 1)
            ),
            _ => {
                let op = ["+", "-", "+"][self.pick(3)];
                format!(
                    "({} {op} {})",
                    self.expression(depth - 1),
                    self.expression(depth - 1)
                )
            }
        }
    }

    fn operand(&mut self) -> String {
        let Ranges { height, width, .. } = *self.ranges;
        match self.pick(8) {
            0 if height > 1 => {
                let (row, cols) = (1 + self.pick(ROWS), self.part(COLS, width));
                format!("({} + X[{row}, {cols}])", self.range())
            }
            1 if width > 1 => {
                let (rows, col) = (self.part(ROWS, height), 1 + self.pick(COLS));
                format!("({} - X[{rows}, {col}])", self.range())
            }
            _ => self.range(),
        }
    }

    fn range(&mut self) -> String {
        let Ranges { height, width, .. } = *self.ranges;
        match self.pick(5) {
            1 => {
                let (rows, cols) = (
                    height + self.pick(ROWS - height + 1),
                    width + self.pick(COLS - width + 1),
                );
                let (outer_rows, outer_cols) = (self.part(ROWS, rows), self.part(COLS, cols));
                let (inner_rows, inner_cols) = (self.part(rows, height), self.part(cols, width));
                let name = format!("A{}", self.at);
                let _ = writeln!(self.statements, "{name} = X[{outer_rows}, {outer_cols}]");
                format!("{name}[{inner_rows}, {inner_cols}]")
            }
            _ => {
                let (rows, cols) = (self.part(ROWS, height), self.part(COLS, width));
                format!("X[{rows}, {cols}]")
            }
        }
    }

    /// `length` of `size` rows or columns; the scalar k, which no plan knows, is 1.
    fn part(&mut self, size: usize, length: usize) -> String {
        let first = 1 + self.pick(size - length + 1);
        match self.pick(3) {
            0 => format!("{first}:{}", first + length - 1),
            1 => format!("(k + {}):(k + {})", first - 1, first + length - 2),
            _ => format!("{first}:(k + {})", first + length - 2),
        }
    }
}

fn bits(matrix: &MatrixBlock) -> (usize, usize, Vec<u64>) {
    let dense = matrix.to_dense().expect("there is memory");
    // Sparse results do not keep the sign of zero.
    let cells = dense.values().iter().map(|cell| (cell + 0.0).to_bits());
    (matrix.rows(), matrix.cols(), cells.collect())
}

fn run(text: &str, x: &MatrixBlock, settings: &[(&str, &str)]) -> Ran {
    let mut script = script(text).matrix("X", x.clone());
    script = script.scalar("k", fulgurite_hop::Literal::Int(1));
    for (key, value) in settings {
        script = script.config(key, value);
    }
    script.output("R").output("S").run()
}

fn results(ran: &Ran) -> [(usize, usize, Vec<u64>); 2] {
    ["R", "S"].map(|name| bits(&ran.matrix(name)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn ranges_in_place_change_nothing(ranges in Ranges::strategy()) {
        let x = matrix(ROWS, COLS, ranges.cells, 7);
        let text = ranges.text();
        let expected = results(&run(&text, &x, &[("fulgurite.fusion.policy", "none")]));
        for policy in ["cost", "fuse-all", "fuse-no-redundancy"] {
            for threads in ["1", "2"] {
                let settings = [("fulgurite.fusion.policy", policy), ("fulgurite.threads", threads)];
                let ran = run(&text, &x, &settings);
                prop_assert_eq!(&results(&ran), &expected, "{}, {} threads:\n{}", policy, threads, text);
            }
        }
    }

    #[test]
    fn over_stripes_too(ranges in Ranges::strategy(), local in prop::sample::select(vec!["4k", "9k", "18k", "40k"])) {
        let x = matrix(ROWS, COLS, ranges.cells, 7);
        let text = ranges.text();
        let expected = results(&run(&text, &x, &[("fulgurite.fusion.policy", "none")]));
        let backend = Arc::new(LocalBackend::default());
        for is_dataset in [true, false] {
            let script = script(&text).backend(Arc::clone(&backend));
            let script = match is_dataset {
                true => script.dataset("X", x.clone(), 40),
                false => script.matrix("X", x.clone()),
            };
            let ran = script
                .scalar("k", fulgurite_hop::Literal::Int(1))
                .config("fulgurite.memory.local", local)
                .config("fulgurite.fusion.policy", "fuse-all")
                .config("fulgurite.threads", "2")
                .output("R")
                .output("S")
                .run();
            // Not all transposes of these products have room.
            let is_refused = |error: &Error| error.kind() == ErrorKind::Memory;
            if ran.result.as_ref().is_err_and(is_refused) {
                continue;
            }
            let got = ["R", "S"].map(|name| bits(&ran.matrix_of(name, &*backend)));
            prop_assert_eq!(&got, &expected, "{}:\n{}", local, text);
        }
    }
}

const STENCIL: &str = "\
n = nrow(X)
m = ncol(X)
R = 0.25 * (X[1:(n-2), 2:(m-1)] + X[3:n, 2:(m-1)] + X[2:(n-1), 1:(m-2)] + X[2:(n-1), 3:m])
S = as.matrix(sum(R))
";

#[test]
fn long_rows_are_read_where_they_are() {
    let x = matrix(40, 9000, Cells::Dense, 3);
    let expected = run(STENCIL, &x, &[("fulgurite.fusion.policy", "none")]);
    let ran = run(STENCIL, &x, &[("fulgurite.threads", "1")]);
    assert_eq!(results(&ran), results(&expected));
}

#[test]
fn the_memory_of_ranges_is_not_needed() {
    let x = matrix(100, 100, Cells::Dense, 3);
    // X and the result take 156,832 bytes. Four ranges would take as much again, and one of them beside X does fit.
    let settings = [("fulgurite.memory.local", "165k")];
    let ran = run(STENCIL, &x, &settings);
    let expected = run(STENCIL, &x, &[("fulgurite.fusion.policy", "none")]);
    assert_eq!(results(&ran), results(&expected));
}

#[test]
fn bounds_are_checked_as_ever() {
    let x = matrix(20, 10, Cells::Dense, 3);
    for range in [
        "X[(k+1):(k+20), 2:9]",
        "X[k:(k+1), (k+2):(k+10)]",
        "X[(k+4):(k+2), 1:3]",
        "X[(k-1):(k+3), 1:3]",
        "X[k:(k+9), 1:9][1:3, (k+4):(k+9)]",
    ] {
        let inner = range.split_once("][");
        let text = match inner {
            Some((outer, inner)) => {
                format!("print('begun')\nA = {outer}]\nR = abs(A[{inner}) + 1\nS = R")
            }
            None => format!("print('begun')\nR = abs({range}) + 1\nS = R"),
        };
        let unfused = run(&text, &x, &[("fulgurite.fusion.policy", "none")]);
        let fused = run(&text, &x, &[("fulgurite.fusion.policy", "fuse-all")]);
        assert!(
            unfused.text().contains("dimension error"),
            "{}",
            unfused.text()
        );
        assert_eq!(unfused.text(), fused.text());
    }
    // Plans that serve for all values meet the bounds when they run.
    let text = "\
for (i in 1:30) {
  print(i)
  R = abs(X[i:(i + 2), 2:9] - X[1:3, 1:8]) + 1
}
S = R
";
    let unfused = run(text, &x, &[("fulgurite.fusion.policy", "none")]);
    assert!(
        unfused.text().contains("a matrix with 20 rows"),
        "{}",
        unfused.text()
    );
    for policy in ["cost", "fuse-all"] {
        let fused = run(text, &x, &[("fulgurite.fusion.policy", policy)]);
        assert_eq!(unfused.text(), fused.text());
    }
}

#[test]
fn a_range_holds_what_its_matrix_held() {
    let text = "\
A = X[2:19, 2:9]
S = as.matrix(sum(abs(A) + 1))
X[3, 3] = 100
R = 2 * A + abs(A) * X[1:18, 1:8]
X[4:5, ] = X[3:4, ] * 2 + X[5:6, ]
R = R + X[3:20, 3:10]
";
    let x = matrix(20, 10, Cells::Dense, 3);
    let expected = run(text, &x, &[("fulgurite.fusion.policy", "none")]);
    for policy in ["cost", "fuse-all"] {
        let ran = run(text, &x, &[("fulgurite.fusion.policy", policy)]);
        assert_eq!(results(&ran), results(&expected));
    }
}

#[test]
fn a_loop_reads_columns_and_rows_in_place() {
    let text = "\
R = matrix(0, nrow(X), ncol(X))
for (i in 2:ncol(X)) { R[, i] = 2 * X[, i - 1] + abs(X[, i]) - R[, i - 1] }
S = matrix(0, 1, 1)
for (i in 3:nrow(X)) { S = S + sum(abs(X[i, 2:5] - X[i - 2, 3:6]) * 2) }
";
    for cells in [Cells::Dense, Cells::Scattered] {
        let x = matrix(60, 12, cells, 3);
        let expected = run(text, &x, &[("fulgurite.fusion.policy", "none")]);
        for threads in ["1", "2"] {
            let ran = run(text, &x, &[("fulgurite.threads", threads)]);
            assert_eq!(results(&ran), results(&expected));
        }
    }
}
