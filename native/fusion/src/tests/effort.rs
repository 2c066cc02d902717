//! How many plans the search costs, and how long planning takes.

use std::time::Instant;

use fulgurite_hop::{AggregateOp, Dag, Direction, UnaryOp};

use super::{
    random,
    support::{Build, expression_2},
};
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

/// `cargo test --profile ci -p fulgurite-fusion -- --ignored --nocapture planning_time`
#[test]
#[ignore = "a measurement"]
fn planning_time() {
    use proptest::{
        strategy::{Strategy, ValueTree},
        test_runner::TestRunner,
    };
    let mut runner = TestRunner::deterministic();
    let mut random = |steps: usize| {
        let steps = random::steps(steps..steps + 1)
            .new_tree(&mut runner)
            .unwrap()
            .current();
        random::dag(&steps, 10_000, 20, None)
    };
    let dags = [
        ("expression 2", expression_2(1797, 64, 9)),
        ("unrolled 7", unrolled(7)),
        ("unrolled 100", unrolled(100)),
        ("ladder 10", ladder(10)),
        ("ladder 30", ladder(30)),
        ("random 70", random(70)),
        ("random 70", random(70)),
        ("random 200", random(200)),
        ("random 1500", random(1500)),
    ];
    for (name, dag) in dags {
        let config = FusionConfig {
            max_plans_per_partition: 1 << 14,
            ..FusionConfig::default()
        };
        let start = Instant::now();
        let fused = fuse(&dag, &config).unwrap();
        let time = start.elapsed();
        let partitions = &fused.explanation.partitions;
        let points: Vec<usize> = partitions
            .iter()
            .map(|p| p.partition.points.len())
            .collect();
        let costed = partitions
            .iter()
            .map(|p| p.search.as_ref().unwrap().plans_costed);
        println!(
            "{name}: {} HOPs, {} fused, {:?}, {} plans costed, points {:?}",
            dag.len(),
            fused.operators.len(),
            time,
            costed.sum::<u64>(),
            points
                .iter()
                .filter(|points| **points > 3)
                .collect::<Vec<_>>()
        );
    }
}
