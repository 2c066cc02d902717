//! The plans of the paper's expressions, as explain prints them.

use fulgurite_hop::{
    AggregateOp, BinaryOp, Characteristics, CumulativeOp, Dag, Direction, UnaryOp,
};

use super::support::{Build, assert_close, expression_2, run, variables};
use crate::{
    CostConstants, FusedDag, FusionConfig, Policy,
    cplan::{CNode, CPlan, InputBinding, NodeId, interpret::Dense},
    fuse,
    reason::Reason,
};

fn config() -> FusionConfig {
    // Plans must not depend on the cores of the machine that runs the tests.
    let cost = CostConstants::default().computing_at(4.0);
    FusionConfig {
        cost,
        ..FusionConfig::default()
    }
}

fn explain(dag: &Dag) -> String {
    let fused = fuse(dag, &config()).unwrap();
    format!("{}dag\n{}", fused.explanation, fused.dag)
}

fn labels(fused: &FusedDag) -> Vec<&str> {
    let operators = fused.operators.iter();
    operators.map(|operator| operator.label.as_str()).collect()
}

#[test]
fn expression_2_is_one_row_operator() {
    let dag = expression_2(1797, 64, 9);
    let fused = fuse(&dag, &config()).unwrap();
    assert_eq!(fused.operators.len(), 1);
    assert_eq!(fused.operators[0].label, "Row ba(+*)");
    let last = fused.explanation.memo.last().unwrap();
    let entries: Vec<&str> = last
        .entries
        .iter()
        .map(|entry| entry.text.as_str())
        .collect();
    // The paper's R(10,-1), R(-1,9) and R(10,9).
    assert_eq!(entries, ["R(13,-1)", "R(-1,12)", "R(13,12)"]);
    insta::assert_snapshot!(explain(&dag));
}

#[test]
fn plans_do_not_depend_on_sizes_or_names() {
    let plan = |dag: &Dag| fuse(dag, &config()).unwrap().operators[0].plan.clone();
    let (small, large) = (expression_2(1000, 64, 9), expression_2(1_000_000, 200, 9));
    assert_eq!(plan(&small), plan(&large));
    assert_eq!(plan(&small).fingerprint(), plan(&large).fingerprint());

    let product = |names: [&str; 3]| {
        let mut b = Build::default();
        let [x, y, z] = names.map(|name| b.read(name, 100, 10));
        let [x, y, z] = if names[0] < names[1] {
            [x, y, z]
        } else {
            [z, y, x]
        };
        let xy = b.mult(x, y);
        let xyz = b.plus(xy, z);
        let sum = b.sum(xyz);
        b.write("s", sum);
        plan(&b.dag)
    };
    assert_eq!(product(["A", "B", "C"]), product(["Z", "Y", "X"]));
}

#[test]
fn plans_do_not_depend_on_the_order_in_which_they_are_written() {
    // (X * Y) + abs(Z) * step either way around; the step size is no part of the plan. (Which input is the
    // main one is a matter of their sizes.)
    let plan = |swap: bool, step: f64| {
        let mut b = Build::default();
        let x = b.sparse("X", 100, 10, 900);
        let [y, z] = ["Y", "Z"].map(|name| b.read(name, 100, 10));
        let step = b.double(step);
        let product = b.mult(x, y);
        let abs = b.unary(UnaryOp::Abs, z);
        let abs = match swap {
            true => b.mult(step, abs),
            false => b.mult(abs, step),
        };
        let total = match swap {
            true => b.plus(abs, product),
            false => b.plus(product, abs),
        };
        let sum = b.sum(total);
        b.write("s", sum);
        fuse(&b.dag, &config()).unwrap().operators[0].plan.clone()
    };
    let first = plan(false, 0.1);
    assert_eq!(plan(true, 0.3), first);
    assert_eq!(plan(true, 0.3).fingerprint(), first.fingerprint());
    insta::assert_snapshot!(first);
}

/// Explain lists inputs as the plan numbers them.
#[test]
fn explained_inputs_are_those_of_the_plan() {
    let fused = fuse(&expression_1(), &config()).unwrap();
    for operator in &fused.operators {
        let spread = operator.plan.inputs.iter().zip(&operator.inputs);
        for (bound, hop) in spread {
            let hop = expression_1().hop(*hop).clone();
            assert_eq!(*bound == InputBinding::Scalar, hop.is_scalar());
            assert_eq!(*bound == InputBinding::ColumnVector, hop.cols() == Some(1));
        }
    }
}

/// What is known to have gone wrong elsewhere: totals that start at 0, aggregates along rows and columns that
/// are missing, zeros left out of extremes, logical operators, NaN.
#[test]
fn extremes_products_and_logic_are_those_of_basic_operators() {
    let mut b = Build::default();
    let [x, y] = ["X", "Y"].map(|name| b.read(name, 6, 4));
    let z = b.sparse("Z", 6, 4, 6);
    let two = b.int(2);
    let mut values = Vec::new();
    let positive = b.mult(x, two);
    values.push(b.plus(positive, y));
    let zero = b.int(0);
    let negative = b.minus(zero, positive);
    values.push(b.minus(negative, y));
    let abs = b.unary(UnaryOp::Abs, z);
    values.push(b.minus(zero, abs));
    values.push(b.mult(z, x));
    for op in [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor] {
        values.push(b.binary(op, x, z));
    }
    let root = b.unary(UnaryOp::Sqrt, negative);
    values.push(b.mult(root, z));
    let mut outputs = 0;
    for value in values {
        for op in [
            AggregateOp::Min,
            AggregateOp::Max,
            AggregateOp::Prod,
            AggregateOp::Mean,
        ] {
            for direction in [Direction::Full, Direction::Row, Direction::Col] {
                let aggregate = b.aggregate(op, direction, value);
                b.write(&format!("out{outputs}"), aggregate);
                outputs += 1;
            }
        }
    }
    let variables = ["X", "Y", "Z"].map(|name| {
        let cell = |i: usize, j: usize| match name {
            "Z" if (i + j).is_multiple_of(4) => i as f64 - 2.5,
            "Z" => 0.0,
            _ => 1.0 + i as f64 + j as f64 / 4.0,
        };
        (name.to_owned(), Dense::from_fn(6, 4, cell))
    });
    let variables = variables.into();
    let expected = run(&b.dag, &[], &variables);
    for policy in Policy::ALL {
        let config = FusionConfig {
            policy: *policy,
            ..config()
        };
        let fused = fuse(&b.dag, &config).unwrap();
        assert_eq!(fused.operators.is_empty(), *policy == Policy::None);
        let actual = run(&fused.dag, &fused.operators, &variables);
        assert_close(&actual, &expected, &format!("{}", fused.explanation));
    }
}

#[test]
fn sum_of_products_is_one_cell_operator() {
    let mut b = Build::default();
    let [x, y, z] = ["X", "Y", "Z"].map(|name| b.read(name, 1000, 1000));
    let xy = b.mult(x, y);
    let xyz = b.mult(xy, z);
    let sum = b.sum(xyz);
    b.write("s", sum);
    insta::assert_snapshot!(explain(&b.dag));
}

#[test]
fn the_sparsest_factor_is_the_main_input() {
    let mut b = Build::default();
    let y = b.read("Y", 1000, 1000);
    let x = b.sparse("X", 1000, 1000, 10_000);
    let shifted = {
        let one = b.int(1);
        b.plus(y, one)
    };
    let product = b.mult(shifted, x);
    let sum = b.sum(product);
    b.write("s", sum);
    insta::assert_snapshot!(explain(&b.dag));
}

#[test]
fn matrix_vector_chain_is_one_row_operator() {
    let mut b = Build::default();
    let x = b.read("X", 10000, 100);
    let v = b.read("v", 100, 1);
    let xv = b.matmult(x, v);
    let xt = b.t(x);
    let r = b.matmult(xt, xv);
    b.write("r", r);
    insta::assert_snapshot!(explain(&b.dag));
}

/// Figure 1(c): `sum(X * Y)` and `sum(X * Z)`.
#[test]
fn two_aggregates_over_x_are_one_scan() {
    let mut b = Build::default();
    let [x, y, z] = ["X", "Y", "Z"].map(|name| b.read(name, 1000, 1000));
    let (xy, xz) = (b.mult(x, y), b.mult(x, z));
    let (first, second) = (b.sum(xy), b.sum(xz));
    b.write("a", first);
    b.write("b", second);
    insta::assert_snapshot!(explain(&b.dag));
}

/// Across partitions, with basic aggregates: `sum(X^2)` and `sum(Y^2)` share nothing but `sum(X * Y)`.
#[test]
fn aggregates_of_several_partitions_are_one_scan() {
    let mut b = Build::default();
    let [x, y] = ["X", "Y"].map(|name| b.read(name, 1000, 1000));
    let xx = b.aggregate(AggregateOp::SumSq, Direction::Full, x);
    let yy = b.aggregate(AggregateOp::SumSq, Direction::Full, y);
    let xy = b.mult(x, y);
    let xy = b.sum(xy);
    for (name, value) in [("xx", xx), ("xy", xy), ("yy", yy)] {
        b.write(name, value);
    }
    insta::assert_snapshot!(explain(&b.dag));
}

/// `a = sum(X * Y); b = sum(X * a)` needs two scans; so do pairs of which each needs one of the other.
#[test]
fn aggregates_that_need_each_other_are_not_one_scan() {
    let mut b = Build::default();
    let [x, y] = ["X", "Y"].map(|name| b.read(name, 1000, 1000));
    let mut sum_of_product = |factor| {
        let product = b.mult(x, factor);
        b.sum(product)
    };
    let first = sum_of_product(y);
    let second = sum_of_product(first);
    b.write("b", second);
    let fused = fuse(&b.dag, &config()).unwrap();
    assert_eq!(fused.operators.len(), 2, "{}", fused.explanation);

    // Each of x and z has a sum that needs nothing and one that needs the other's first.
    let mut b = Build::default();
    let [x, y, z, w] = ["X", "Y", "Z", "W"].map(|name| b.read(name, 1000, 1000));
    let firsts = [x, z].map(|own| {
        let square = b.mult(own, own);
        b.sum(square)
    });
    for (own, side, needed) in [(x, y, firsts[1]), (z, w, firsts[0])] {
        let product = b.mult(own, side);
        let product = b.mult(product, needed);
        let second = b.sum(product);
        b.write("second", second);
    }
    let fused = fuse(&b.dag, &config()).unwrap();
    for (operator, explained) in fused.operators.iter().zip(&fused.explanation.operators) {
        assert_eq!(operator.label, explained.label);
        assert_eq!(operator.covered.len(), explained.covered.len());
        assert_eq!(operator.plan.to_string(), explained.plan);
        assert_eq!(operator.inputs, explained.inputs);
        assert_eq!(operator.plan.inputs.len(), explained.inputs.len());
    }
    let mut labels: Vec<&str> = labels(&fused);
    labels.sort_unstable();
    let expected = ["Cell ua(+)", "Cell ua(+)", "MAgg ua(+), ua(+)"];
    assert_eq!(labels, expected, "{}", fused.explanation);
}

/// One scan for both would visit what is zero in X for the sake of Y.
#[test]
fn an_aggregate_that_skips_zeros_keeps_its_own_scan() {
    let mut b = Build::default();
    let x = b.sparse("X", 10_000, 1000, 10_000);
    let y = b.read("Y", 10_000, 1000);
    let exp = b.unary(UnaryOp::Exp, y);
    let xy = b.mult(x, exp);
    let xy = b.sum(xy);
    let yy = b.aggregate(AggregateOp::SumSq, Direction::Full, y);
    b.write("xy", xy);
    b.write("yy", yy);
    let fused = fuse(&b.dag, &config()).unwrap();
    assert_eq!(labels(&fused), ["Cell ua(+)"], "{}", fused.explanation);
}

/// Figure 1(d): `sum(X * log(U %*% t(V) + eps))`.
#[test]
fn a_loss_over_an_outer_product_is_one_outer_operator() {
    let mut b = Build::default();
    let x = b.sparse("X", 2000, 2000, 40_000);
    let u = b.read("U", 2000, 100);
    let v = b.read("V", 2000, 100);
    let vt = b.t(v);
    let uv = b.matmult(u, vt);
    let eps = b.double(1e-15);
    let shifted = b.plus(uv, eps);
    let log = b.unary(UnaryOp::Log, shifted);
    let product = b.mult(x, log);
    let sum = b.sum(product);
    b.write("loss", sum);
    insta::assert_snapshot!(explain(&b.dag));
}

/// Expression (1): `O = ((X != 0) * (U %*% t(V))) %*% V + 1e-6 * U * r`.
fn expression_1() -> Dag {
    let mut b = Build::default();
    let x = b.sparse("X", 100_000, 20_000, 20_000_000);
    let u = b.read("U", 100_000, 20);
    let v = b.read("V", 20_000, 20);
    let r = b.read("r", 100_000, 1);
    let zero = b.int(0);
    let known = b.binary(BinaryOp::NotEqual, x, zero);
    let vt = b.t(v);
    let uv = b.matmult(u, vt);
    let product = b.mult(known, uv);
    let projected = b.matmult(product, v);
    let lambda = b.double(1e-6);
    let ridge = b.mult(u, lambda);
    let ridge = b.mult(ridge, r);
    let sum = b.plus(projected, ridge);
    b.write("O", sum);
    b.dag
}

#[test]
fn expression_1_is_one_outer_and_one_cell_operator() {
    insta::assert_snapshot!(explain(&expression_1()));
}

/// A Cell operator over both additions would compute the dense product first.
#[test]
fn an_addition_leaves_the_sparse_outer_operator_alone() {
    let mut b = Build::default();
    let y = b.read("Y", 2000, 2000);
    let x = b.sparse("X", 2000, 2000, 40_000);
    let u = b.read("U", 2000, 100);
    let v = b.read("V", 2000, 100);
    let vt = b.t(v);
    let uv = b.matmult(u, vt);
    let product = b.mult(x, uv);
    let sum = b.plus(y, product);
    b.write("Z", sum);
    insta::assert_snapshot!(explain(&b.dag));
}

/// Distances of cumulated rows: `rowSums(t(cumsum(t(X))) * Y)`.
#[test]
fn cumulative_sums_along_rows_are_part_of_a_row_operator() {
    let mut b = Build::default();
    let [x, y] = ["X", "Y"].map(|name| b.read(name, 1000, 20));
    let t = b.t(x);
    let cumulated = b.cumulative(CumulativeOp::Sum, t);
    let cumulated = b.t(cumulated);
    let product = b.mult(cumulated, y);
    let sums = b.row_sums(product);
    b.write("s", sums);
    insta::assert_snapshot!(explain(&b.dag));
}

/// A transpose that some product makes up for is of no use to anything else that reads it.
#[test]
fn a_covered_transpose_is_covered_for_its_product_only() {
    let mut b = Build::default();
    let x = b.read("X", 50, 50);
    let [y, z] = ["Y", "Z"].map(|name| b.read(name, 50, 50));
    let v = b.read("v", 50, 1);
    let xy = b.mult(x, y);
    let t = b.t(xy);
    let product = b.matmult(t, v);
    let cumulated = b.cumulative(CumulativeOp::Max, t);
    let lies = b.t(cumulated);
    let sums = [(t, z), (cumulated, z), (lies, z)].map(|(a, z)| {
        let product = b.mult(a, z);
        b.row_sums(product)
    });
    for (index, value) in [product].into_iter().chain(sums).enumerate() {
        b.write(&format!("out{index}"), value);
    }
    let variables = variables(&b.dag, 7);
    let expected = run(&b.dag, &[], &variables);
    for policy in Policy::ALL {
        let config = FusionConfig {
            policy: *policy,
            ..config()
        };
        let fused = fuse(&b.dag, &config).unwrap();
        let actual = run(&fused.dag, &fused.operators, &variables);
        assert_close(&actual, &expected, &format!("{}", fused.explanation));
    }
}

/// Class probabilities of multinomial logistic regression, and their use in the gradient.
#[test]
fn class_probabilities_are_one_row_operator() {
    let mut b = Build::default();
    let x = b.read("X", 1797, 64);
    let weights = b.read("B", 64, 10);
    let scores = b.matmult(x, weights);
    let largest = b.aggregate(AggregateOp::Max, Direction::Row, scores);
    let shifted = b.minus(scores, largest);
    let exp = b.unary(UnaryOp::Exp, shifted);
    let sums = b.row_sums(exp);
    let p = b.binary(BinaryOp::Div, exp, sums);
    b.write("P", p);
    insta::assert_snapshot!(explain(&b.dag));
}

/// Linear regression by conjugate gradient: `q = t(X) %*% (X %*% p) + lambda * p; alpha = norm / sum(p * q)`.
#[test]
fn conjugate_gradient_step() {
    let mut b = Build::default();
    let x = b.read("X", 10_000, 50);
    let p = b.read("p", 50, 1);
    let lambda = b.scalar("lambda");
    let xp = b.matmult(x, p);
    let xt = b.t(x);
    let xtxp = b.matmult(xt, xp);
    let ridge = b.mult(p, lambda);
    let q = b.plus(xtxp, ridge);
    let pq = b.mult(p, q);
    let sum = b.sum(pq);
    b.write("q", q);
    b.write("pq", sum);
    insta::assert_snapshot!(explain(&b.dag));
}

/// Vectors that fit the driver stay there when X is distributed: fusing them would broadcast each.
#[test]
fn local_vectors_are_not_sent_to_a_distributed_matrix() {
    let mut b = Build::default();
    let x = b.read("X", 1_000_000, 100);
    let v = b.read("v", 100, 1);
    let [y, w] = ["y", "w"].map(|name| b.read(name, 1_000_000, 1));
    let xv = b.matmult(x, v);
    let yw = b.mult(xv, y);
    let out = b.plus(yw, w);
    let sum = b.sum(out);
    b.write("s", sum);
    let config = FusionConfig {
        local_memory: 64 << 20,
        ..config()
    };
    let fused = fuse(&b.dag, &config).unwrap();
    insta::assert_snapshot!(format!("{}", fused.explanation));
}

/// Reading what was written once is cheaper than computing it twice, but only if it can be written.
#[test]
fn intermediates_that_do_not_fit_are_computed_again() {
    let mut b = Build::default();
    let x = b.read("X", 10_000, 100);
    let value = b.unary(UnaryOp::Exp, x);
    let value = b.unary(UnaryOp::Sin, value);
    let squares = b.mult(value, value);
    let (rows, shifted) = (b.row_sums(squares), b.plus(value, x));
    b.write("rows", rows);
    let columns = b.aggregate(AggregateOp::Sum, Direction::Col, shifted);
    b.write("columns", columns);
    let mut config = config();
    config.cost = config.cost.computing_at(0.1);
    let materialised = |config: &FusionConfig| {
        let fused = fuse(&b.dag, config).unwrap();
        let mut outputs = fused
            .operators
            .iter()
            .map(|operator| operator.output.cells());
        outputs.any(|cells| cells == Some(1_000_000))
    };
    assert!(materialised(&config));
    config.memory_limit = 10_000_000;
    assert!(!materialised(&config));
}

#[test]
fn unknown_sizes_are_a_reason_not_to_fuse() {
    let mut b = Build::default();
    let [x, y] = ["X", "Y"].map(|name| b.read(name, 1000, 1000));
    let product = b.mult(x, y);
    let sum = b.sum(product);
    b.write("s", sum);
    for hop in [y, product] {
        b.dag.hop_mut(hop).characteristics = Characteristics::UNKNOWN;
    }
    let fused = fuse(&b.dag, &config()).unwrap();
    let refused: Vec<_> = fused
        .explanation
        .refusals
        .iter()
        .map(|refusal| refusal.reasons[0].reason)
        .collect();
    assert_eq!(refused, [Reason::UnknownSize, Reason::UnknownSize]);
    assert_eq!(fused.dag, b.dag);
}

#[test]
fn side_inputs_beyond_the_broadcast_budget_are_refused() {
    side_inputs_are_refused(1 << 30, 10_000);
}

/// They are with the workers, and would have to come to the driver to be sent.
#[test]
fn side_inputs_that_the_driver_has_no_room_for_are_refused() {
    side_inputs_are_refused(10_000, 1 << 30);
}

fn side_inputs_are_refused(local_memory: u64, broadcast_memory: u64) {
    let dag = expression_2(10_000_000, 1000, 9);
    let config = FusionConfig {
        local_memory,
        broadcast_memory,
        ..config()
    };
    let fused = fuse(&dag, &config).unwrap();
    let reads_v_whole = fused.operators.iter().any(|operator| {
        let code = |covered: &crate::CoveredOperator| covered.code == "ba(+*)";
        operator.plan.inputs.contains(&InputBinding::Whole) && operator.covered.iter().any(code)
    });
    assert!(!reads_v_whole, "{}", fused.explanation);
    let refusal = fused
        .explanation
        .refusals
        .iter()
        .find(|refusal| refusal.code == "ba(+*)");
    assert!(refusal.is_some(), "{}", fused.explanation);
}

#[test]
fn a_dag_is_fused_once() {
    let fused = fuse(&expression_2(1797, 64, 9), &config()).unwrap();
    let error = fuse(&fused.dag, &config()).unwrap_err();
    assert_eq!(error.kind(), fulgurite_error::ErrorKind::Plan);
}

#[test]
fn inconsistent_plans_are_refused() {
    let plan = fuse(&expression_2(1797, 64, 9), &config())
        .unwrap()
        .operators[0]
        .plan
        .clone();
    plan.verify().unwrap();
    let refuses = |change: &dyn Fn(&mut CPlan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        plan.verify().unwrap_err().message().to_owned()
    };
    let messages = [
        refuses(&|plan| plan.inputs[0] = InputBinding::Matrix),
        refuses(&|plan| plan.body.truncate(5)),
        refuses(&|plan| plan.body[0] = CNode::Input(7)),
        refuses(&|plan| plan.body[0] = CNode::Unary(UnaryOp::Abs, NodeId(3))),
        refuses(&|plan| plan.body[0] = CNode::Literal(1.0)),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
