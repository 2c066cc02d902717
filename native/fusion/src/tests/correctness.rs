//! Fused DAGs give what unfused ones give, under every policy and under any assignment.

use std::collections::BTreeSet;

use fulgurite_hop::Dag;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

use super::{
    random::{Step, dag, steps},
    support::{assert_close, run, variables},
};
use crate::{
    FusionConfig, Policy,
    cost::CostModel,
    cplan::Template,
    explore::{explore, is_fusible_kind, prune_dominated},
    fuse,
    machine::Constant,
    operator::{Chooser, Operator},
    partition::{InterestingPoint, PointKind, partitions, referenced_slots},
    plan_cost::{CostTable, PartitionCosts},
    replace::replace,
    select::select,
    view::DagView,
};

/// Outer products of any size are explored.
fn config(policy: Policy) -> FusionConfig {
    FusionConfig {
        policy,
        outer_product_cells: 1,
        ..FusionConfig::default()
    }
}

/// The same where only reading takes time, so that aggregates of small matrices are merged, too.
fn eager(policy: Policy) -> FusionConfig {
    let config = config(policy);
    FusionConfig {
        cost: config.cost.with([
            (Constant::Operator, 0.0),
            (Constant::Compute, 1e9),
            (Constant::CachedWrite, 1e9),
        ]),
        ..config
    }
}

fn check_policies(steps: &[Step], seed: u64) {
    let dag = dag(steps, 12, 4, None);
    let variables = variables(&dag, seed);
    let expected = run(&dag, &[], &variables);
    let configs = Policy::ALL
        .iter()
        .flat_map(|policy| [config(*policy), eager(*policy)]);
    for config in configs {
        let fused = fuse(&dag, &config).unwrap();
        let actual = run(&fused.dag, &fused.operators, &variables);
        assert_close(&actual, &expected, &format!("{dag}\n{}", fused.explanation));
    }
}

fn check_assignments(steps: &[Step], seed: u64, assignments: &[u64]) {
    let dag = dag(steps, 12, 4, None);
    let variables = variables(&dag, seed);
    let expected = run(&dag, &[], &variables);
    let config = eager(Policy::Cost);
    let view = DagView::new(&dag).with_outer_products_from(config.outer_product_cells);
    let exploration = explore(&view);
    let costs = CostModel::new(&view, &config);
    let references = referenced_slots(&view, &exploration.memo);
    let mut chooser = Chooser::new(&view, &exploration.memo, &references);
    let mut table = CostTable::new(dag.len());
    for bits in assignments {
        for partition in &partitions(&view, &exploration.memo, &references, &|_| false) {
            let points = &partition.points;
            let assignment: Vec<bool> = (0..points.len())
                .map(|i| bits >> (i % 64) & 1 == 1)
                .collect();
            PartitionCosts::new(&view, &costs, &mut chooser, partition, &mut table)
                .assign(points, &assignment);
        }
        let selection = select(&view, &config, &costs, &mut chooser);
        let fused = replace(&view, &selection).unwrap();
        let actual = run(&fused.dag, &fused.operators, &variables);
        assert_close(&actual, &expected, &format!("{dag}\n{}", fused.dag));
        assert_eq!(fused.origins.len(), fused.dag.len());
    }
}

/// The operators of a heuristic policy.
fn chosen(dag: &Dag, policy: Policy, prune: bool) -> Vec<Operator> {
    let config = config(policy);
    let view = DagView::new(dag).with_outer_products_from(config.outer_product_cells);
    let mut exploration = explore(&view);
    if prune {
        prune_dominated(&view, &mut exploration.memo);
    }
    let costs = CostModel::new(&view, &config);
    let references = referenced_slots(&view, &exploration.memo);
    let mut chooser = Chooser::new(&view, &exploration.memo, &references);
    let mut table = CostTable::new(dag.len());
    for partition in &partitions(&view, &exploration.memo, &references, &|_| false) {
        let materializes = |point: &InterestingPoint| {
            policy == Policy::FuseNoRedundancy && point.kind == PointKind::MaterializationPoint
        };
        let assignment: Vec<bool> = partition.points.iter().map(materializes).collect();
        PartitionCosts::new(&view, &costs, &mut chooser, partition, &mut table)
            .assign(&partition.points, &assignment);
    }
    select(&view, &config, &costs, &mut chooser).operators
}

/// The same DAGs in every run; the properties below see new ones each time.
#[test]
fn every_plan_of_fixed_dags_gives_the_unfused_result() {
    let mut runner = TestRunner::deterministic();
    let assignments = prop::collection::vec(any::<u64>(), 50);
    for seed in 0..40 {
        let steps = steps(5..25).new_tree(&mut runner).unwrap().current();
        let assignments = assignments.new_tree(&mut runner).unwrap().current();
        check_policies(&steps, seed);
        check_assignments(&steps, seed, &assignments);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_policy_gives_the_unfused_result(steps in steps(1..25), seed: u64) {
        check_policies(&steps, seed);
    }

    #[test]
    fn every_assignment_gives_the_unfused_result(
        steps in steps(1..25), seed: u64, assignments in prop::collection::vec(any::<u64>(), 50)
    ) {
        check_assignments(&steps, seed, &assignments);
    }

    #[test]
    fn heuristic_policies_never_take_dominated_entries(steps in steps(5..40)) {
        let dag = dag(&steps, 12, 4, None);
        for policy in [Policy::FuseAll, Policy::FuseNoRedundancy] {
            prop_assert_eq!(chosen(&dag, policy, true), chosen(&dag, policy, false), "{}", dag);
        }
    }

    #[test]
    fn what_is_not_fused_has_a_reason(steps in steps(1..40)) {
        let dag = dag(&steps, 12, 4, None);
        let view = DagView::new(&dag);
        for policy in Policy::ALL {
            let fused = fuse(&dag, &config(*policy)).unwrap();
            let explanation = &fused.explanation;
            prop_assert!(explanation.refusals.iter().all(|refusal| !refusal.reasons.is_empty()));
            // Each operator of a kind that fuses is covered, refused, or no longer there.
            for (id, _) in dag.iter().filter(|(id, _)| view.is_live(*id) && is_fusible_kind(&view, *id)) {
                let is_covered = explanation.operators.iter().any(|operator| operator.covered.contains(&id));
                let is_refused = explanation.refusals.iter().any(|refusal| refusal.hop == id);
                let is_transpose = view.hop(id).op == fulgurite_hop::HopOp::Transpose;
                prop_assert!(is_covered || is_refused || is_transpose, "{id}\n{dag}{explanation}");
            }
        }
    }

    #[test]
    fn plans_are_consistent_and_survive_json_and_text(steps in steps(1..40)) {
        let dag = dag(&steps, 12, 4, Some(5));
        let fused = fuse(&dag, &eager(Policy::Cost)).unwrap();
        for operator in &fused.operators {
            operator.plan.verify().unwrap();
            let json = serde_json::to_string(&operator.plan).unwrap();
            let (canonical, inputs) = operator.plan.canonical();
            prop_assert_eq!(&canonical, &operator.plan);
            prop_assert_eq!(inputs, (0..operator.plan.inputs.len()).collect::<Vec<_>>());
            let back: crate::cplan::CPlan = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&back, &operator.plan);
            prop_assert_eq!(back.fingerprint(), operator.plan.fingerprint());
            let back: crate::cplan::CPlan = operator.plan.to_string().parse().unwrap();
            prop_assert_eq!(&back, &operator.plan);
        }
        serde_json::to_string(&fused.explanation).unwrap();
    }
}

/// The properties above say little if random DAGs hardly fuse.
#[test]
fn random_dags_reach_all_that_plans_consist_of() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..400 {
        let steps = steps(5..25).new_tree(&mut runner).unwrap().current();
        let dag = dag(&steps, 12, 4, None);
        let fused =
            [config(Policy::Cost), eager(Policy::Cost)].map(|config| fuse(&dag, &config).unwrap());
        let operators = fused.iter().flat_map(|fused| &fused.operators);
        for plan in operators.map(|operator| &operator.plan) {
            seen.extend(plan.body.iter().map(|node| {
                let node = format!("{node:?}");
                node.split(['(', ' ']).next().unwrap().to_owned()
            }));
            seen.extend(plan.inputs.iter().map(|input| input.name().to_owned()));
            seen.insert(match &plan.template {
                Template::Outer(outer) => format!("Outer {:?}", outer.output),
                Template::Group(group) if group.aggregates.len() > 1 => "Groups".into(),
                Template::Group(_) => "Group".into(),
                Template::MultiAggregate(several) => format!("MAgg {:?}", several.direction),
                Template::Cell(cell) => match cell.aggregate {
                    Some((_, direction)) => format!("Cell {direction:?}"),
                    None => "Cell".into(),
                },
                Template::Row(row) => format!("{:?}", row.output)
                    .split(['(', ' '])
                    .next()
                    .unwrap()
                    .into(),
            });
        }
    }
    let seen: Vec<String> = seen.into_iter().collect();
    insta::assert_snapshot!(seen.join(", "));
}
