//! MPSkipEnum prunes plans, never the best one.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};

use super::random::{Step, dag, steps};
use crate::{
    CostConstants, FusionConfig,
    cost::CostModel,
    enumerate::mp_skip_enum,
    explore::explore,
    likeness::Likeness,
    machine::Constant,
    operator::Chooser,
    partition::{Partition, partitions, referenced_slots},
    plan_cost::{CostTable, PartitionCosts},
    problem::Problem,
    view::DagView,
};

/// Partitions with more points take too long to enumerate exhaustively.
const MAX_POINTS: usize = 14;

/// A DAG, and a machine that makes some decisions on it close.
#[derive(Debug, Clone)]
struct Case {
    steps: Vec<Step>,
    rows: u64,
    percent: Option<u64>,
    config: FusionConfig,
}

const COLS: u64 = 20;

impl Case {
    fn any() -> impl Strategy<Value = Case> {
        let rows = prop::sample::select(vec![200u64, 50_000]);
        let percent = prop::sample::select(vec![None, Some(1u64), Some(40)]);
        (steps(5..60), rows, percent, config()).prop_map(|(steps, rows, percent, config)| Case {
            steps,
            rows,
            percent,
            config,
        })
    }

    /// The same for the same seed.
    fn from_seed(seed: u64) -> Case {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
        let tree = Case::any().new_tree(&mut runner);
        tree.expect("cases have no filters").current()
    }

    fn dag(&self) -> fulgurite_hop::Dag {
        let nnz = self.percent.map(|percent| self.rows * COLS * percent / 100);
        dag(&self.steps, self.rows, COLS, nnz)
    }

    /// Hands over each partition whose points can be enumerated; how many there were.
    fn each_partition(&self, mut check: impl FnMut(&mut PartitionCosts, &Partition)) -> usize {
        let dag = self.dag();
        let view = DagView::new(&dag).with_outer_products_from(self.config.outer_product_cells);
        let exploration = explore(&view);
        let costs = CostModel::new(&view, &self.config);
        let references = referenced_slots(&view, &exploration.memo);
        let mut chooser = Chooser::new(&view, &exploration.memo, &references);
        let mut table = CostTable::new(dag.len());
        let is_distributed = |hop| costs.is_distributed(hop);
        let mut checked = 0;
        for partition in partitions(&view, &exploration.memo, &references, &is_distributed) {
            if (2..=MAX_POINTS).contains(&partition.points.len()) {
                let mut plans =
                    PartitionCosts::new(&view, &costs, &mut chooser, &partition, &mut table);
                check(&mut plans, &partition);
                checked += 1;
            }
        }
        checked
    }

    /// How many partitions the search was held against exhaustive enumeration in.
    fn check(&self, plans_costed: &AtomicU64, plans: &AtomicU64) -> usize {
        self.each_partition(|costs, partition| {
            let found = mp_skip_enum(costs, Likeness::new(costs), None);
            let soon = mp_skip_enum(costs, Likeness::new(costs), Some(2048));
            let best = exhaustive(costs, partition).min(costs.unfused());
            let is_best = (found.cost - best).abs() <= 1e-12 * best;
            assert!(
                is_best,
                "found {} of {best}\n{}\n{self:?}",
                found.cost,
                self.dag()
            );
            // Where time is limited, no more is lost than the search says.
            let worst = best / (1.0 - soon.passed_over.min(0.05)) * (1.0 + 1e-12);
            assert!(
                soon.budget_exhausted || soon.cost <= worst,
                "found {} of {best}, passed over {}\n{self:?}",
                soon.cost,
                soon.passed_over
            );
            plans_costed.fetch_add(found.plans_costed, Ordering::Relaxed);
            plans.fetch_add(1 << partition.points.len(), Ordering::Relaxed);
        })
    }
}

fn config() -> impl Strategy<Value = FusionConfig> {
    let gflop_per_s = prop::sample::select(vec![0.5, 4.0, 1000.0]);
    let write = prop::sample::select(vec![0.5, 8.0, 32.0]);
    let local_memory = prop::sample::select(vec![u64::MAX, 20_000_000, 500_000]);
    (gflop_per_s, write, local_memory).prop_map(|(compute, write, local_memory)| FusionConfig {
        cost: CostConstants::default().with([
            (Constant::Write, write),
            (Constant::Rewrite, 4.0 * write),
            (Constant::CachedWrite, 8.0 * write),
            (Constant::CachedRead, 100.0),
            (Constant::Compute, compute),
            (Constant::Functions, 3.0 * compute),
            (Constant::Products, 5.0 * compute),
        ]),
        local_memory,
        memory_limit: local_memory / 3,
        broadcast_memory: local_memory / 2,
        outer_product_cells: 1,
        ..FusionConfig::default()
    })
}

/// Costs of the cheapest of all assignments. Each differs from the one before in one point (a Gray code), so
/// that few operators are costed again.
fn exhaustive(costs: &mut PartitionCosts, partition: &Partition) -> f64 {
    let points = partition.points.len();
    let whole = Problem::whole(partition);
    let mut plan = vec![false; points];
    let mut best = costs.plan(&partition.points, &plan, f64::INFINITY);
    for number in 1u32..1 << points {
        let point = number.trailing_zeros() as usize;
        plan[point] = !plan[point];
        costs.set(point, plan[point]);
        let cost = costs.cost(&whole, f64::INFINITY);
        best = best.min(cost);
    }
    best
}

#[test]
fn the_cheapest_plan_is_found_in_10_000_partitions() {
    let (next, checked) = (AtomicU64::new(0), AtomicUsize::new(0));
    let (plans_costed, plans) = (AtomicU64::new(0), AtomicU64::new(0));
    let check = || {
        while checked.load(Ordering::Relaxed) < 10_000 {
            let case = Case::from_seed(next.fetch_add(1, Ordering::Relaxed));
            let partitions = case.check(&plans_costed, &plans);
            checked.fetch_add(partitions, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let threads = fulgurite_matrix::cores();
        for _ in 0..threads {
            scope.spawn(check);
        }
    });
    // A search that costs everything proves nothing about pruning.
    let (plans_costed, plans) = (plans_costed.into_inner(), plans.into_inner());
    assert!(plans_costed * 10 < plans, "{plans_costed} of {plans} plans");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_cheapest_plan_is_found(case in Case::any()) {
        case.check(&AtomicU64::new(0), &AtomicU64::new(0));
    }

    #[test]
    fn costs_do_not_depend_on_what_was_costed_before(
        case in Case::any(), bits in prop::collection::vec(any::<u64>(), 12)
    ) {
        case.each_partition(|known, partition| {
            let points = &partition.points;
            for bits in &bits {
                let plan: Vec<bool> = (0..points.len()).map(|i| bits >> i & 1 == 1).collect();
                let cost = known.plan(points, &plan, f64::INFINITY);
                let (view, memo) = (known.view, known.chooser.memo);
                let mut chooser = Chooser::new(view, memo, known.chooser.references);
                let mut table = CostTable::new(view.dag.len());
                let fresh = PartitionCosts::new(view, known.model, &mut chooser, partition, &mut table)
                    .plan(points, &plan, f64::INFINITY);
                assert_eq!(cost, fresh);
            }
        });
    }
}
