//! Each rewrite before and after, and that none changes what a DAG computes.

mod common;

use common::Builder;
use fulgurite_hop::{
    BinaryOp, Characteristics, Dag, DataGenOp, Folding, HopId, HopOp, Literal, Symbols, UnaryOp,
    ValueType, VariableInfo, propagate_dag_folding, rewrite_dag, rewrites::RULES,
};
use proptest::prelude::*;

/// The DAG as it is, after the rule, and after what the rule left is cleaned up.
fn before_and_after(rule: &str, build: impl FnOnce(&mut Builder)) -> String {
    let mut builder = Builder::new();
    build(&mut builder);
    let apply = |dag: &Dag, name: &str| {
        let rule = RULES.iter().find(|rule| rule.name() == name);
        rule.expect("the rule is listed").apply(dag)
    };
    let after = apply(&apply(&builder.dag, rule), "dead-code");
    format!("{}\n=== {rule} ===\n\n{after}", builder.dag)
}

fn x(b: &mut Builder) -> HopId {
    b.matrix("X", Characteristics::dims(10, 5))
}

#[test]
fn constant_folding() {
    insta::assert_snapshot!(before_and_after("constant-folding", |b| {
        let (two, three, text) = (b.int(2), b.double(3.0), b.text("n="));
        let sum = b.binary(BinaryOp::Plus, two, three);
        let root = b.unary(UnaryOp::Sqrt, sum);
        let message = b.binary(BinaryOp::Plus, text, root);
        b.print(message);
        let x = x(b);
        let product = b.binary(BinaryOp::Mult, x, root);
        b.write("Y", product);
        // Fails, so it stays.
        let large = b.int(i64::MAX);
        let overflow = b.binary(BinaryOp::Mult, large, two);
        b.write("o", overflow);
    }));
}

#[test]
fn neutral_factor() {
    insta::assert_snapshot!(before_and_after("neutral-factor", |b| {
        let (x, one) = (x(b), b.double(1.0));
        let left = b.binary(BinaryOp::Mult, one, x);
        let right = b.binary(BinaryOp::Div, left, one);
        let power = b.binary(BinaryOp::Pow, right, one);
        b.write("Y", power);
        // 1 / X is something else, and an int times 1.0 is a double.
        let inverse = b.binary(BinaryOp::Div, one, x);
        b.write("Z", inverse);
        let k = b.scalar("k", ValueType::Int);
        let double = b.binary(BinaryOp::Mult, k, one);
        b.write("d", double);
    }));
}

#[test]
fn neutral_summand() {
    insta::assert_snapshot!(before_and_after("neutral-summand", |b| {
        let (x, zero) = (x(b), b.int(0));
        let same = b.binary(BinaryOp::Minus, x, zero);
        b.write("Y", same);
        // -0.0 + 0 is 0.0.
        let other = b.binary(BinaryOp::Plus, x, zero);
        b.write("Z", other);
    }));
}

#[test]
fn double_negation() {
    insta::assert_snapshot!(before_and_after("double-negation", |b| {
        let (x, minus_one) = (x(b), b.int(-1));
        let negative = b.binary(BinaryOp::Mult, minus_one, x);
        let positive = b.binary(BinaryOp::Mult, negative, minus_one);
        b.write("Y", positive);
    }));
}

#[test]
fn negated_summand() {
    insta::assert_snapshot!(before_and_after("negated-summand", |b| {
        let (x, minus_one) = (x(b), b.int(-1));
        let y = b.matrix("Y", Characteristics::dims(10, 1));
        let negative = b.binary(BinaryOp::Mult, minus_one, y);
        let plus = b.binary(BinaryOp::Plus, x, negative);
        let swapped = b.binary(BinaryOp::Plus, negative, x);
        let minus = b.binary(BinaryOp::Minus, x, negative);
        for (name, id) in [("a", plus), ("b", swapped), ("c", minus)] {
            b.write(name, id);
        }
    }));
}

#[test]
fn double_reorganization() {
    insta::assert_snapshot!(before_and_after("double-reorganization", |b| {
        let x = x(b);
        let t = b.transpose(x);
        let tt = b.transpose(t);
        let rev = b.op(HopOp::Rev, &[tt]);
        let same = b.op(HopOp::Rev, &[rev]);
        b.write("Y", same);
    }));
}

#[test]
fn square() {
    insta::assert_snapshot!(before_and_after("square", |b| {
        let (x, two, three) = (x(b), b.int(2), b.int(3));
        let square = b.binary(BinaryOp::Pow, x, two);
        let cube = b.binary(BinaryOp::Pow, x, three);
        b.write("Y", square);
        b.write("Z", cube);
    }));
}

#[test]
fn common_subexpressions() {
    insta::assert_snapshot!(before_and_after("common-subexpressions", |b| {
        let (x1, x2) = (x(b), x(b));
        let y = b.matrix("Y", Characteristics::dims(10, 5));
        let (one, also_one, real_one) = (b.int(1), b.int(1), b.double(1.0));
        let sum = b.binary(BinaryOp::Plus, x1, y);
        let swapped = b.binary(BinaryOp::Plus, y, x2);
        let product = b.binary(BinaryOp::Mult, sum, swapped);
        b.write("P", product);
        // Each draw is another, and effects stay two.
        let text = b.text("uniform");
        let inputs = [one, also_one, real_one, one, one, one, text, one];
        let first = b.op(HopOp::DataGen(DataGenOp::Rand), &inputs);
        let second = b.op(HopOp::DataGen(DataGenOp::Rand), &inputs);
        let draws = b.op(HopOp::CBind, &[first, second]);
        b.write("R", draws);
        b.print(one);
        b.print(also_one);
    }));
}

#[test]
fn dead_code() {
    insta::assert_snapshot!(before_and_after("dead-code", |b| {
        let x = x(b);
        let unread = b.transpose(x);
        b.sum(unread);
        let sum = b.sum(x);
        b.write("s", sum);
    }));
}

#[test]
fn a_predicate_may_become_its_own_operand() {
    let mut b = Builder::new();
    let (x, one) = (b.scalar("x", ValueType::Double), b.int(1));
    let product = b.binary(BinaryOp::Mult, x, one);
    b.dag.roots = vec![product];
    let rewritten = rewrite_dag(&b.dag, &[]).expect("no rule fails");
    insta::assert_snapshot!(rewritten);
}

#[test]
fn rules_are_switched_off_by_name() {
    let mut b = Builder::new();
    let x = x(&mut b);
    let t = b.transpose(x);
    let tt = b.transpose(t);
    b.write("Y", tt);
    let rewritten = rewrite_dag(&b.dag, &[]).expect("no rule fails");
    assert_eq!(rewritten.len(), 2);
    let off = ["double-reorganization".to_owned()];
    let kept = rewrite_dag(&b.dag, &off).expect("no rule fails");
    assert_eq!(kept.len(), 4);
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
fn written(dag: &Dag, x: f64, y: f64) -> Vec<(String, u64)> {
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

proptest! {
    #[test]
    fn no_rewrite_changes_a_bit(
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
        let rewritten = rewrite_dag(&dag, &[]).expect("no rule fails");
        prop_assert_eq!(written(&rewritten, x, y), written(&dag, x, y));
    }
}
