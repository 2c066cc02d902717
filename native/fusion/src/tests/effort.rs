//! How many plans the search costs. (How long it takes is measured by `benches/planning.rs`.)

use fulgurite_hop::{AggregateOp, Dag, Direction, UnaryOp};

use super::support::{Build, expression_2};
use crate::{FusionConfig, Known, Searches, fuse, fuse_known, machine::Constant};

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

/// Likelihood, slope and weights of a probit model, for 13 interesting points.
fn probit(rows: u64) -> Dag {
    let mut b = Build::default();
    let [e, tail, y] = ["e", "tail", "y"].map(|name| b.read(name, rows, 1));
    let one = b.double(1.0);
    let [rest, negative] = [b.minus(one, tail), b.unary(UnaryOp::Sign, e)];
    let mu = b.mult(negative, tail);
    let mu = b.plus(mu, rest);
    let complement = b.mult(negative, rest);
    let complement = b.plus(complement, tail);
    let square = b.mult(e, e);
    let density = b.unary(UnaryOp::Exp, square);
    let both = b.mult(mu, complement);
    let ratio = b.mult(density, both);
    let difference = b.minus(mu, y);
    let slope = b.mult(difference, ratio);
    b.write("slope", slope);
    let weights = b.mult(density, ratio);
    b.write("weights", weights);
    let [log_mu, log_complement] = [mu, complement].map(|value| b.unary(UnaryOp::Log, value));
    let [hits, missed] = [b.mult(y, log_mu), b.minus(one, y)];
    let misses = b.mult(missed, log_complement);
    let loss = b.plus(hits, misses);
    let loss = b.sum(loss);
    b.write("loss", loss);
    b.dag
}

/// A plan for vectors of some thousand cells is not worth a long search, and what was left out is told.
#[test]
fn searches_take_no_longer_than_is_worthwhile() {
    let unlimited = FusionConfig {
        max_plans_per_partition: None,
        ..FusionConfig::default()
    };
    let found = |config: &FusionConfig| {
        let fused = fuse(&probit(20_000), config).unwrap();
        let partition = fused.explanation.partitions.into_iter().next().unwrap();
        let text = partition.to_string();
        (partition.search.unwrap(), text)
    };
    let (whole, text) = found(&unlimited);
    assert!(
        (1..=14).contains(&whole.points.len()) && whole.plans_costed > 512,
        "{whole:?}"
    );
    assert!(
        !text.contains("at most") && !text.contains("best so far"),
        "{text}"
    );
    let (soon, text) = found(&FusionConfig::default());
    assert!(
        soon.plans_costed <= 512 && soon.cost <= whole.cost / 0.95,
        "{soon:?}"
    );
    assert!(
        text.contains("could save") || text.contains("best so far"),
        "{text}"
    );
}

#[test]
fn few_plans_are_costed() {
    assert_eq!(plans_costed(&expression_2(1797, 64, 9)), 1);
    assert!(plans_costed(&unrolled(100)) <= 250);
    assert!(plans_costed(&ladder(30)) <= 2);
}

#[test]
fn what_was_found_before_is_taken_over_without_a_search() {
    let shared_products = |names: [&str; 2], rows: u64, further: bool| {
        let mut b = Build::default();
        if further {
            let z = b.read("Z", 3, 7);
            let scaled = b.mult(z, z);
            b.write("scaled", scaled);
        }
        let [x, y] = names.map(|name| b.read(name, rows, 20));
        let product = b.mult(x, y);
        let shared = b.unary(UnaryOp::Exp, product);
        let weighted = b.mult(shared, x);
        let rows = b.row_sums(weighted);
        b.write("rows", rows);
        let shifted = b.plus(shared, y);
        let columns = b.aggregate(AggregateOp::Sum, Direction::Col, shifted);
        b.write("columns", columns);
        b.dag
    };
    let dag = shared_products(["X", "Y"], 10_000, false);
    // Materialising is free: there is something to find.
    let mut config = FusionConfig::default();
    config.cost[Constant::Rewrite] = 1e6;
    config.cost[Constant::CachedWrite] = 1e6;
    config.cost = config.cost.computing_at(0.1);
    let found = fuse(&dag, &config).unwrap();
    let searched = found.explanation.partitions[0].search.as_ref().unwrap();
    assert!(searched.assignment.contains(&true));
    let mut searches = Searches::default();
    searches.add(&found.explanation);
    let known = Known {
        searches: &searches,
        ..Known::default()
    };
    let again = fuse_known(&dag, &config, &known).unwrap();
    assert_eq!(again.statistics.plans_costed, 2);
    assert_eq!(again.dag, found.dag);
    let search = again.explanation.partitions[0].search.as_ref().unwrap();
    assert_eq!(search.cost, searched.cost);
    assert!(search.is_recalled);

    // Nor are partitions searched that are like it in other DAGs: with other names and HOPs around them, not twice as
    // large.
    let like = shared_products(["A", "B"], 19_000, true);
    let again = fuse_known(&like, &config, &known).unwrap();
    let mut searches = again.explanation.partitions.iter();
    assert!(searches.any(|each| each.search.as_ref().unwrap().is_recalled));
    assert_eq!(again.dag, fuse(&like, &config).unwrap().dag);
    let larger = shared_products(["X", "Y"], 21_000, false);
    let again = fuse_known(&larger, &config, &known).unwrap();
    assert!(
        !again.explanation.partitions[0]
            .search
            .as_ref()
            .unwrap()
            .is_recalled
    );
    // Another DAG has other points.
    let other = fuse_known(&ladder(4), &config, &known).unwrap();
    assert_eq!(other.dag, fuse(&ladder(4), &config).unwrap().dag);
}
