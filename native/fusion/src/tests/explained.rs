//! What is kept of plans that were not chosen.

use super::support::{Build, expression_2};
use crate::{CostConstants, FusedDag, FusionConfig, Policy, fuse};
use fulgurite_hop::Dag;

fn explained(dag: &Dag, policy: Policy) -> FusedDag {
    let config = FusionConfig {
        policy,
        // Plans must not depend on the cores of the machine that runs the tests.
        cost: CostConstants::default().computing_at(4.0),
        explain: true,
        ..FusionConfig::default()
    };
    fuse(dag, &config).unwrap()
}

/// A shared intermediate that is cheaper to keep than to compute twice.
fn shared_product() -> Dag {
    let mut b = Build::default();
    let [x, y] = ["X", "Y"].map(|name| b.read(name, 1000, 1000));
    let product = b.mult(x, y);
    let deep = (0..30).fold(product, |value, _| {
        b.unary(fulgurite_hop::UnaryOp::Exp, value)
    });
    let (sum, rows) = (b.sum(deep), b.row_sums(deep));
    b.write("s", sum);
    b.write("r", rows);
    b.dag
}

#[test]
fn costs_of_other_plans() {
    let dag = shared_product();
    let mut lines = String::new();
    for policy in Policy::ALL {
        let explanation = explained(&dag, *policy).explanation;
        for partition in &explanation.partitions {
            let decisions = partition.decisions.iter().map(|decision| {
                let otherwise = decision.otherwise.map(|cost| format!("{cost:.2e}"));
                (decision.materialize, otherwise.unwrap_or_default())
            });
            let decisions: Vec<_> = decisions.collect();
            let costs = partition.costs.unwrap();
            lines += &format!("{}: {costs}\n  {decisions:?}\n", policy.name());
        }
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn the_choice_is_the_cheapest_and_what_it_says() {
    for dag in [shared_product(), expression_2(1797, 64, 9)] {
        let fused = explained(&dag, Policy::Cost);
        for partition in &fused.explanation.partitions {
            let costs = partition.costs.unwrap();
            let search = partition.search.as_ref().unwrap();
            assert_eq!(costs.chosen, search.cost);
            for other in [costs.fuse_all, costs.fuse_no_redundancy, costs.unfused] {
                assert!(costs.chosen <= other);
            }
            let otherwise = partition.decisions.iter().filter_map(|d| d.otherwise);
            assert!(otherwise.into_iter().all(|other| costs.chosen <= other));
        }
        assert!(!fused.explanation.basic_costs.is_empty());
        assert!(fused.statistics.plans_costed > 0 && fused.statistics.entries > 0);
    }
}

/// A full aggregate closes the plan below it: nothing goes on from it.
#[test]
fn edges_that_no_plan_crosses_say_why() {
    let mut b = Build::default();
    let [x, y] = ["X", "Y"].map(|name| b.read(name, 1000, 10));
    let product = b.mult(x, y);
    let total = b.sum(product);
    let scaled = b.mult(x, total);
    let shifted = b.plus(scaled, y);
    let turned = b.t(shifted);
    let negated = b.unary(fulgurite_hop::UnaryOp::Exp, turned);
    b.write("R", negated);
    let edges = explained(&b.dag, Policy::Cost).explanation.edge_refusals;
    let line = |edge: &crate::explain::EdgeRefusal| {
        let reasons = edge.reasons.iter().map(ToString::to_string);
        let reasons: Vec<String> = reasons
            .filter(|reason| reason.starts_with("Row") || reason.starts_with("Cell"))
            .collect();
        format!(
            "{} <- {}: {}",
            edge.consumer,
            edge.input,
            reasons.join("; ")
        )
    };
    let lines: Vec<String> = edges.iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"));
}
