//! How many plans the search costs. (How long it takes is measured by `benches/planning.rs`.)

use fulgurite_hop::{AggregateOp, Dag, Direction, UnaryOp};

use super::support::{Build, expression_2};
use crate::{FusionConfig, fuse};

/// Iterations of multinomial logistic regression's inner loop, each reading what the last one wrote.
fn unrolled(iterations: usize) -> Dag {
    let mut b = Build::default();
    let x = b.read("X", 10_000, 64);
    let p = b.read("P", 10_000, 10);
    let mut v = b.read("v", 64, 9);
    let step = b.scalar("step");
    for _ in 0..iterations {
        let p = b.columns(p, 1, 9);
        let xv = b.matmult(x, v);
        let q = b.mult(p, xv);
        let sums = b.row_sums(q);
        let scaled = b.mult(p, sums);
        let difference = b.minus(q, scaled);
        let xt = b.t(x);
        let h = b.matmult(xt, difference);
        let h = b.mult(h, step);
        v = b.minus(v, h);
    }
    b.write("v", v);
    b.dag
}

/// One partition with a shared intermediate per layer.
fn ladder(layers: usize) -> Dag {
    let mut b = Build::default();
    let x = b.read("X", 10_000, 20);
    let y = b.read("Y", 10_000, 20);
    let mut shared = b.mult(x, y);
    for _ in 0..layers {
        let left = b.unary(UnaryOp::Abs, shared);
        let right = b.plus(shared, y);
        shared = b.mult(left, right);
    }
    let sum = b.aggregate(AggregateOp::Sum, Direction::Full, shared);
    b.write("s", sum);
    b.dag
}

fn plans_costed(dag: &Dag) -> u64 {
    let fused = fuse(dag, &FusionConfig::default()).unwrap();
    let partitions = fused.explanation.partitions.iter();
    partitions
        .map(|partition| partition.search.as_ref().unwrap().plans_costed)
        .sum()
}

#[test]
fn few_plans_are_costed() {
    assert_eq!(plans_costed(&expression_2(1797, 64, 9)), 1);
    assert!(plans_costed(&unrolled(100)) <= 250);
    assert!(plans_costed(&ladder(30)) <= 2);
}
