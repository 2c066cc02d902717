//! Rewrites keep what is computed: each rule on its cases, with what its precision promises, and all of them
//! together on random expressions.

use std::collections::BTreeMap;

use fulgurite_backend_local::with_chosen_backend;
use fulgurite_cases::rewrite::{RuleCase, rule_cases, variables};
use fulgurite_config::Config;
use fulgurite_differential_tests::data::Numbers;
use fulgurite_hop::{
    DataType, Literal,
    rewrites::{Precision, rules},
};
use fulgurite_matrix::{DenseMatrix, MatrixBlock};
use fulgurite_program::{
    Execution, OutputValue, Request, Session, execute,
    request::{Binding, Input},
};

/// Which values the inputs hold.
#[derive(Clone, Copy, PartialEq)]
enum Cells {
    /// Finite numbers of both signs, zeros of both signs among them.
    Finite,
    /// NaN and infinities too.
    Any,
}

const SPECIAL: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 0.5, -1.0];

fn matrix(rows: usize, cols: usize, cells: Cells, seed: u64) -> MatrixBlock {
    let mut numbers = Numbers::new(seed);
    let dense = DenseMatrix::from_fn(rows, cols, |_, _| {
        let (kind, value) = (numbers.next_number(), 4.0 * numbers.next_number() - 2.0);
        match kind {
            kind if kind < 0.1 => 0.0,
            kind if kind < 0.2 => -0.0,
            kind if kind < 0.35 && cells == Cells::Any => SPECIAL[(kind * 1e6) as usize % 6],
            _ => value,
        }
    })
    .unwrap();
    dense.into()
}

/// A matrix with that many non-zeros.
fn sparse(rows: usize, cols: usize, nnz: usize) -> MatrixBlock {
    let distance = (rows * cols).checked_div(nnz).unwrap_or(1);
    let dense = DenseMatrix::from_fn(rows, cols, |row, col| match row * cols + col {
        cell if cell % distance == 0 && cell / distance < nnz => row as f64 - 4.5,
        _ => 0.0,
    })
    .unwrap();
    MatrixBlock::from(dense)
}

/// Values of the [`variables`].
fn inputs(cells: Cells) -> (Vec<Input>, BTreeMap<String, MatrixBlock>) {
    let (mut inputs, mut matrices) = (Vec::new(), BTreeMap::new());
    for (name, info) in variables() {
        if info.data_type == DataType::Scalar {
            let value = match name.as_str() {
                "s" => Literal::Double(1.75),
                "q" => Literal::Double(-0.3),
                "k" => Literal::Int(3),
                "b" => Literal::Boolean(true),
                _ => panic!("{name} has no value"),
            };
            inputs.push(Input {
                name,
                binding: Binding::Scalar { value },
            });
            continue;
        }
        let known = info.characteristics;
        // What the compiler does not know is as large as most.
        let rows = known.rows.unwrap_or(10) as usize;
        let cols = known.cols.unwrap_or(5) as usize;
        let value = match known.nnz {
            None => matrix(rows, cols, cells, matrices.len() as u64 + 1),
            Some(0) => MatrixBlock::filled(rows, cols, 0.0).unwrap(),
            Some(nnz) => {
                let sparse = sparse(rows, cols, nnz as usize);
                assert_eq!(sparse.nnz() as u64, nnz, "{name}");
                MatrixBlock::Csr(sparse.to_csr().expect("small"))
            }
        };
        inputs.push(Input::local(&name));
        matrices.insert(name, value);
    }
    (inputs, matrices)
}

/// What the statements assign, as matrices, without these rewrites.
fn run(
    statements: &str,
    outputs: &[String],
    cells: Cells,
    off: &[&str],
) -> BTreeMap<String, MatrixBlock> {
    let (inputs, matrices) = inputs(cells);
    let mut request = Request::script("case.dml", statements);
    request.inputs = inputs;
    request.outputs = outputs.to_vec();
    let mut config = Config::default();
    for (key, value) in [
        ("fulgurite.fusion.policy", "none"),
        ("fulgurite.threads", "1"),
        ("fulgurite.rewrites.off", &off.join(",")),
    ] {
        config.set(key, value).expect("a known key");
    }
    let outcome = execute(
        Execution::new(request, matrices),
        &with_chosen_backend(Session::new(config)),
    )
    .unwrap_or_else(|error| panic!("{statements}\n{error}"));
    let value = |(name, value)| {
        let matrix = match value {
            OutputValue::Matrix(matrix) => matrix,
            OutputValue::Scalar(value) => {
                MatrixBlock::filled(1, 1, value.as_f64().expect("a number")).unwrap()
            }
            OutputValue::Frame(_) | OutputValue::List(_) | OutputValue::Dataset { .. } => {
                panic!("{name} is distributed")
            }
        };
        (name, matrix)
    };
    outcome.outputs.into_iter().map(value).collect()
}

/// Panics unless the cells agree as far as the precision promises.
fn compare(what: &str, before: &MatrixBlock, after: &MatrixBlock, precision: Precision) {
    assert_eq!(
        (before.rows(), before.cols()),
        (after.rows(), after.cols()),
        "{what}"
    );
    let cells = || (0..before.rows()).flat_map(|row| (0..before.cols()).map(move |col| (row, col)));
    let largest = cells().map(|(row, col)| before.get(row, col).abs());
    let largest = largest.filter(|cell| cell.is_finite()).fold(0.0, f64::max);
    for (row, col) in cells() {
        let (before, after) = (before.get(row, col), after.get(row, col));
        let agree = match precision {
            _ if before.is_nan() && after.is_nan() => true,
            Precision::Exact => before.to_bits() == after.to_bits(),
            Precision::ZeroSign => before == after,
            Precision::Rounding => before == after || (before - after).abs() <= 1e-10 * largest,
        };
        assert!(
            agree,
            "{what}[{}, {}]: {before:e} became {after:e}",
            row + 1,
            col + 1
        );
    }
}

fn outputs(statements: &str) -> Vec<String> {
    let names = statements.lines().filter_map(|line| line.split_once(" = "));
    let names = names.map(|(name, _)| name.split('[').next().unwrap_or_default());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.dedup();
    names
}

#[test]
fn every_rule_keeps_what_it_promises() {
    let all: Vec<&str> = rules().map(|rule| rule.name).collect();
    for case in rule_cases().expect("the cases can be read") {
        let RuleCase {
            rule: name,
            statements,
        } = case;
        let rule = rules()
            .find(|rule| rule.name == name)
            .expect("the rule is listed");
        let others: Vec<&str> = all.iter().copied().filter(|other| *other != name).collect();
        let kinds = match rule.precision {
            Precision::Exact | Precision::ZeroSign => [Cells::Finite, Cells::Any].as_slice(),
            Precision::Rounding => &[Cells::Finite],
        };
        for cells in kinds {
            for output in outputs(&statements) {
                let output = [output];
                let before = run(&statements, &output, *cells, &all);
                let after = run(&statements, &output, *cells, &others);
                for (variable, value) in before {
                    let what = format!("{name}: {variable}");
                    compare(&what, &value, &after[&variable], rule.precision);
                }
            }
        }
    }
}

/// A random script: each statement computes something from earlier ones. Values stay near 1, and no function has
/// steps, where rounding would show. Products take another kernel if an operand is another kind of operator, and
/// then give zeros of another sign.
fn random_script(seed: u64, products: bool) -> (String, Vec<String>) {
    let mut numbers = Numbers::new(seed);
    let mut choose = |choices: usize| (numbers.next_number() * choices as f64) as usize;
    // A sparse matrix does not store the sign of its zeros.
    let sparse = if products { "G" } else { "Z" };
    let mut values: Vec<(String, usize, usize)> = ["X", "Y", sparse, "E"]
        .iter()
        .map(|name| ((*name).to_owned(), 10, 5))
        .chain([
            ("A".to_owned(), 5, 10),
            ("v".to_owned(), 10, 1),
            ("r".to_owned(), 1, 5),
            ("o".to_owned(), 1, 1),
        ])
        .collect();
    let mut script = String::new();
    let mut names = Vec::new();
    for number in 0..12 {
        let (x, rows, cols) = values[choose(values.len())].clone();
        let fitting = |fits: &dyn Fn(usize, usize) -> bool| {
            let fit = |value: &&(String, usize, usize)| fits(value.1, value.2);
            values.iter().filter(fit).cloned().collect::<Vec<_>>()
        };
        let same = fitting(&|r, c| (r, c) == (rows, cols));
        let (y, _, _) = same[choose(same.len())].clone();
        let (text, rows, cols) = match choose(if products { 18 } else { 16 }) {
            0 => (format!("{x} * {y}"), rows, cols),
            1 => (format!("{x} + {y}"), rows, cols),
            2 => (format!("{x} - {y} * s"), rows, cols),
            3 => (format!("{x} * s + {y} * q"), rows, cols),
            4 => (format!("({x} * 0.5) * 2 - 0"), rows, cols),
            5 => (format!("1 / (1 + exp(-{x}))"), rows, cols),
            6 => (format!("t({x})"), cols, rows),
            7 => (format!("t({x}) * 0.5"), cols, rows),
            8 => (format!("rowSums({x}) / {cols}"), rows, 1),
            9 => (format!("colSums({x} * s) / {rows}"), 1, cols),
            10 => (format!("colMeans({x} * {y})"), 1, cols),
            11 => (format!("{x} + as.scalar(o) * sum({y}) / 50"), rows, cols),
            12 => (format!("{x} * {x} * 0.25"), rows, cols),
            13 => (format!("{x} - {x} * {y}"), rows, cols),
            14 => (format!("{x} + matrix(0.5, {rows}, {cols})"), rows, cols),
            15 => (format!("-(-{x} + {y})"), rows, cols),
            16 => {
                let right = fitting(&|r, _| r == cols);
                match right.is_empty() {
                    true => (format!("abs({x})"), rows, cols),
                    false => {
                        let (z, _, n) = right[choose(right.len())].clone();
                        (format!("({x} %*% {z}) / {cols}"), rows, n)
                    }
                }
            }
            _ => {
                let right = fitting(&|r, _| r == rows);
                let (z, _, n) = right[choose(right.len())].clone();
                (format!("(t({x}) %*% {z}) / {rows}"), cols, n)
            }
        };
        let name = format!("R{number}");
        script += &format!("{name} = {text}\n");
        values.push((name.clone(), rows, cols));
        // Not all, so that some values have one reader only.
        if choose(3) == 0 || number >= 10 {
            names.push(name);
        }
    }
    (script, names)
}

#[test]
fn all_rules_together_keep_random_expressions() {
    let all: Vec<&str> = rules().map(|rule| rule.name).collect();
    let inexact = |rule: &&fulgurite_hop::rewrites::Rule| rule.precision != Precision::Exact;
    let inexact: Vec<&str> = rules().filter(inexact).map(|rule| rule.name).collect();
    for seed in 0..400 {
        let exact = seed % 2 == 0;
        let (script, outputs) = random_script(seed, !exact);
        let (off, precision) = match exact {
            // An operand of another form can lead a later product to another kernel, which may give the other zero.
            true => (inexact.as_slice(), Precision::ZeroSign),
            false => (&[] as &[&str], Precision::Rounding),
        };
        let before = run(&script, &outputs, Cells::Finite, &all);
        let after = run(&script, &outputs, Cells::Finite, off);
        for (name, value) in before {
            let what = format!("seed {seed}\n{script}{name}");
            compare(&what, &value, &after[&name], precision);
        }
    }
}

/// Loops whose invariant operators move before them, one of which never runs and would fail if it did.
#[test]
fn loops_give_the_same() {
    let script = "\
        limit = as.integer(max(abs(o))) + 3
        i = 0
        T = h
        while (i < limit) {
          P = X[, 1:k] * (X %*% cbind(T, T * 2, T * 3))
          W1 = t(X) %*% (P - X[, 1:k] * rowSums(P))
          T = T + W1[, 1] / (1 + max(abs(W1))) + sum(X ^ 2) / 1000
          for (j in 1:k) { T = T * 0.9 + j * sum(Y) / 1000 }
          i = i + 1
        }
        while (i > limit + 5) {
          T = T + X[1:5, limit * 100]
          i = i - 1
        }
        for (j in seq(1, 0 - limit, 1)) { T = T + X[1:5, limit * 100] }";
    let all: Vec<&str> = rules().map(|rule| rule.name).collect();
    let outputs = ["T".to_owned(), "i".to_owned()];
    let before = run(script, &outputs, Cells::Finite, &all);
    let after = run(script, &outputs, Cells::Finite, &[]);
    for (name, value) in before {
        compare(&name, &value, &after[&name], Precision::Rounding);
    }
}
