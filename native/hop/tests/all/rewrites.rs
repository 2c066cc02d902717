//! That no rewrite breaks a DAG or runs forever. What each does to its cases is in `tests/cases/rewrite`.

use std::{fs, path::Path};

use crate::common::Builder;
use fulgurite_hop::{
    BinaryOp, Characteristics, Dag, Folding, HopId, HopOp, Literal, Symbols, ValueType,
    VariableInfo, propagate_dag, propagate_dag_folding, rewrite_dag, rewrite_dag_traced,
    rewrites::{Precision, rules, to_markdown},
};
use proptest::prelude::*;

#[test]
fn names_are_unique_and_rules_described() {
    let mut names: Vec<&str> = rules().map(|rule| rule.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(rules().all(|rule| rule.formula.contains("->")));
}

/// `FULGURITE_BLESS=1` writes the page.
#[test]
fn the_page_of_rules_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rewrites.md");
    let text = to_markdown();
    if std::env::var_os("FULGURITE_BLESS").is_some() {
        fs::write(&path, &text).expect("docs can be written");
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == text,
        "docs/rewrites.md is out of date: run the test with FULGURITE_BLESS=1"
    );
}

#[test]
fn chains_are_rewritten_to_their_end() {
    let mut b = Builder::new();
    let x = b.matrix("X", Characteristics::dims(10, 5));
    let mut value = x;
    for _ in 0..100 {
        let (three, one) = (b.int(3), b.int(1));
        value = b.binary(BinaryOp::Mult, value, three);
        value = b.binary(BinaryOp::Plus, value, one);
    }
    let sum = b.sum(value);
    b.write("R", sum);
    let (dag, _) = propagate_dag(&b.dag, &Symbols::new()).expect("sizes fit");
    let cellwise = |dag: &Dag| {
        let of_matrices = dag.iter().filter(|(_, hop)| hop.is_matrix());
        of_matrices
            .filter(|(_, hop)| matches!(hop.op, HopOp::Binary(_)))
            .count()
    };
    assert_eq!(cellwise(&dag), 200);
    let rewritten = rewrite_dag(&dag, &[]).expect("no rule fails");
    assert_eq!(cellwise(&rewritten), 0, "the sum has passed all of them");
}

#[test]
fn rules_are_switched_off_by_name() {
    let mut b = Builder::new();
    let x = b.matrix("X", Characteristics::dims(10, 5));
    let transposed = b.transpose(x);
    let twice = b.transpose(transposed);
    b.write("R", twice);
    let written = |dag: &Dag| dag.whole_expression(dag.roots[0]);
    let rewritten = rewrite_dag(&b.dag, &[]).expect("no rule fails");
    assert_eq!(written(&rewritten), "R = X");
    let off = ["double-transpose".to_owned()];
    let kept = rewrite_dag(&b.dag, &off).expect("no rule fails");
    assert_eq!(written(&kept), "R = t(t(X))");
    let unknown = rewrite_dag(&b.dag, &["no-such-rule".to_owned()]);
    let message = unknown.expect_err("it is unknown").to_string();
    assert!(message.contains("no-such-rule") && message.contains("dead-code"));
}

/// A random scalar expression over two variables, as operator and choices among what is there.
fn expression(steps: &[(BinaryOp, usize, usize)], constants: &[f64]) -> Dag {
    let mut b = Builder::new();
    let mut values = vec![
        b.scalar("x", ValueType::Double),
        b.scalar("y", ValueType::Double),
    ];
    values.extend(constants.iter().map(|value| b.double(*value)));
    for (op, left, right) in steps {
        let (left, right) = (values[left % values.len()], values[right % values.len()]);
        values.push(b.binary(*op, left, right));
    }
    for (place, id) in values.iter().enumerate() {
        b.write(&format!("v{place}"), *id);
    }
    b.dag
}

/// What a DAG writes, bit by bit, but with one NaN.
fn values(dag: &Dag, x: f64, y: f64) -> Vec<(String, u64)> {
    let constant = |value| VariableInfo::constant(Literal::Double(value));
    let symbols: Symbols = [("x".to_owned(), constant(x)), ("y".to_owned(), constant(y))].into();
    let (dag, _) = propagate_dag_folding(dag, &symbols, Folding::Variables).expect("scalars fit");
    let write = |root: &HopId| {
        let input = dag.hop(dag.hop(*root).inputs[0]);
        let HopOp::Literal(value) = &input.op else {
            panic!("{} is not folded", input.op);
        };
        let value = value.as_f64().expect("a number");
        let bits = if value.is_nan() { f64::NAN } else { value }.to_bits();
        (dag.hop(*root).op.code(), bits)
    };
    dag.roots.iter().map(write).collect()
}

fn special() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![
        -1.0,
        -0.0,
        0.0,
        1.0,
        2.0,
        -2.5,
        1e300,
        f64::INFINITY,
        f64::NAN,
    ])
}

/// Names of the rules that may change bits.
fn inexact() -> Vec<String> {
    rules()
        .filter(|rule| rule.precision != Precision::Exact)
        .map(|rule| rule.name.to_owned())
        .collect()
}

proptest! {
    #[test]
    fn exact_rewrites_change_no_bit(
        steps in prop::collection::vec(
            (
                prop::sample::select(vec![
                    BinaryOp::Plus, BinaryOp::Minus, BinaryOp::Mult, BinaryOp::Div, BinaryOp::Pow,
                ]),
                any::<usize>(),
                any::<usize>(),
            ),
            1..15,
        ),
        constants in prop::collection::vec(special(), 0..4),
        x in special(),
        y in special(),
    ) {
        let dag = expression(&steps, &constants);
        let rewritten = rewrite_dag(&dag, &inexact()).expect("no rule fails");
        prop_assert_eq!(values(&rewritten, x, y), values(&dag, x, y));
    }
}

/// A thousand operators: layers of cell-wise operators, products, aggregates and transposes.
fn large_dag() -> Dag {
    let mut b = Builder::new();
    let size = Characteristics::dims(1000, 100);
    let mut values: Vec<HopId> = (0..8).map(|i| b.matrix(&format!("X{i}"), size)).collect();
    let two = b.double(2.0);
    while b.dag.len() < 990 {
        let at = |offset: usize| values[(b.dag.len() * 7 + offset * 3) % values.len()];
        let (x, y) = (at(1), at(2));
        let scaled = b.binary(BinaryOp::Mult, x, two);
        let sum = b.binary(BinaryOp::Plus, scaled, y);
        let transposed = b.transpose(sum);
        let product = b.matmult(transposed, x);
        let back = b.matmult(y, product);
        let place = b.dag.len() % values.len();
        values[place] = back;
    }
    for (place, value) in values.iter().enumerate() {
        b.write(&format!("R{place}"), *value);
    }
    let symbols = (0..8).map(|i| (format!("X{i}"), VariableInfo::matrix(size)));
    propagate_dag(&b.dag, &symbols.collect())
        .expect("sizes fit")
        .0
}

#[test]
fn a_thousand_operators_are_rewritten_about_once_each() {
    let dag = large_dag();
    assert!(dag.len() > 950);
    let (_, applied) = rewrite_dag_traced(&dag, &[]).expect("no rule fails");
    // Rules that undo each other would be applied in every pass, of which there are as many as operators.
    assert!(applied.len() < 2 * dag.len(), "{} rewrites", applied.len());
}

#[test]
fn rewriting_a_large_dag_again_changes_nothing() {
    let once = rewrite_dag(&large_dag(), &[]).expect("no rule fails");
    let twice = rewrite_dag(&once, &[]).expect("no rule fails");
    assert_eq!(once.len(), twice.len());
}
