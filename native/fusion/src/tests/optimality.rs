//! MPSkipEnum prunes plans, never the best one.

use proptest::prelude::*;

use super::random::{dag, steps};
use crate::{
    CostConstants, FusionConfig,
    cost::CostModel,
    enumerate::mp_skip_enum,
    explore::explore,
    operator::Chooser,
    partition::{partitions, referenced_slots},
    plan_cost::{CostTable, PartitionCosts},
    view::DagView,
};

/// Partitions with more points take too long to enumerate exhaustively.
const MAX_POINTS: usize = 10;

fn config() -> impl Strategy<Value = FusionConfig> {
    let gflop_per_s = prop::sample::select(vec![0.5, 4.0, 1000.0]);
    let write = prop::sample::select(vec![0.5, 8.0, 32.0]);
    let local_memory = prop::sample::select(vec![u64::MAX, 20_000_000, 500_000]);
    (gflop_per_s, write, local_memory).prop_map(|(compute, write, local_memory)| FusionConfig {
        cost: CostConstants {
            compute_gflop_per_s: compute,
            write_gb_per_s: write,
            ..CostConstants::default()
        },
        local_memory,
        broadcast_memory: local_memory / 2,
        ..FusionConfig::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_cheapest_plan_is_found(
        steps in steps(5..45),
        config in config(),
        rows in prop::sample::select(vec![200u64, 50_000]),
        share in prop::sample::select(vec![None, Some(1u64), Some(40)]),
    ) {
        let cols = 20;
        let dag = dag(&steps, rows, cols, share.map(|percent| rows * cols * percent / 100));
        let view = DagView::new(&dag);
        let exploration = explore(&view);
        let costs = CostModel::new(&view, &config);
        let references = referenced_slots(&view, &exploration.memo);
        let mut chooser = Chooser::new(&view, &exploration.memo, &references);
        let mut table = CostTable::new(dag.len());
        let is_distributed = |hop| costs.is_distributed(hop);
        for partition in partitions(&view, &exploration.memo, &references, &is_distributed) {
            let points = partition.points.clone();
            if points.len() > MAX_POINTS {
                continue;
            }
            let mut plans = PartitionCosts::new(&view, &costs, &mut chooser, &partition, &mut table);
            let found = mp_skip_enum(&mut plans, u64::MAX);
            let unfused = plans.unfused();
            let best = (0u32..1 << points.len())
                .map(|bits| {
                    let assignment: Vec<bool> = (0..points.len()).map(|i| bits >> i & 1 == 1).collect();
                    plans.plan(&points, &assignment, f64::INFINITY)
                })
                .fold(unfused, f64::min);
            let same = (found.cost - best).abs() <= 1e-12 * best;
            prop_assert!(same, "found {} of {best}\n{dag}", found.cost);
        }
    }

    #[test]
    fn costs_do_not_depend_on_what_was_costed_before(
        steps in steps(5..45), bits in prop::collection::vec(any::<u64>(), 12)
    ) {
        let config = FusionConfig::default();
        let dag = dag(&steps, 50_000, 20, Some(10_000));
        let view = DagView::new(&dag);
        let exploration = explore(&view);
        let costs = CostModel::new(&view, &config);
        let references = referenced_slots(&view, &exploration.memo);
        let mut chooser = Chooser::new(&view, &exploration.memo, &references);
        let mut table = CostTable::new(dag.len());
        for partition in &partitions(&view, &exploration.memo, &references, &|_| false) {
            let points = &partition.points;
            for bits in &bits {
                let plan: Vec<bool> = (0..points.len()).map(|i| bits >> (i % 64) & 1 == 1).collect();
                let known = PartitionCosts::new(&view, &costs, &mut chooser, partition, &mut table)
                    .plan(points, &plan, f64::INFINITY);
                let mut chooser = Chooser::new(&view, &exploration.memo, &references);
                let mut table = CostTable::new(dag.len());
                let fresh = PartitionCosts::new(&view, &costs, &mut chooser, partition, &mut table)
                    .plan(points, &plan, f64::INFINITY);
                prop_assert_eq!(known, fresh);
            }
        }
    }
}
