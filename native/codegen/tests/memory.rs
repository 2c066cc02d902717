//! Machine code is freed with the plan that it belongs to.
#![cfg(target_os = "linux")] // says how much memory the process has

#[path = "all/support/mod.rs"]
mod support;

use fulgurite_codegen::{
    CompiledPlan, ExecutionContext, Kept, Operand, Output, PlanCache, execute,
};
use fulgurite_fusion::cplan::{CNode, CPlan, InputBinding, NodeId};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction};
use fulgurite_matrix::MatrixBlock;
use support::cell_plan;

/// sum(X * number): another plan for each number.
fn plan(number: f64) -> CPlan {
    cell_plan(
        &[InputBinding::Main],
        vec![
            CNode::Input(0),
            CNode::Literal(number),
            CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(1)),
        ],
        Some((AggregateOp::Sum, Direction::Full)),
        true,
    )
}

/// Kilobytes of the process that are in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}

/// One page leaked per operator would be 40 MB.
#[test]
fn ten_thousand_operators_leave_memory_flat() {
    let x = MatrixBlock::filled(2, 2, 1.0).unwrap();
    let context = ExecutionContext::single_threaded();
    let compile = |numbers: std::ops::Range<u32>| {
        for number in numbers.map(f64::from) {
            let compiled = CompiledPlan::compile(&plan(number)).unwrap();
            let sum = execute(&compiled, &[Operand::Matrix(&x)], &context).unwrap();
            assert_eq!(sum, Output::Scalar(4.0 * number));
        }
    };
    compile(0..500);
    let before = resident();
    compile(500..10_500);
    let grown = resident().saturating_sub(before);
    assert!(grown < 8 << 10, "{grown} KB more than before");
}

#[test]
fn a_cleared_cache_compiles_again() {
    let cache = PlanCache::new();
    let first = cache.get_or_compile(&plan(1.0)).unwrap();
    cache.clear();
    assert_eq!(cache.statistics().plans, 0);
    let again = cache.get_or_compile(&plan(1.0)).unwrap();
    assert!(!std::sync::Arc::ptr_eq(&first, &again));
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (0, 2));
}

#[test]
fn a_kept_plan_is_a_hit_that_needs_no_look_at_it() {
    let cache = PlanCache::new();
    let kept = Kept::default();
    let first = cache.get_or_compile_kept(&plan(1.0), &kept).unwrap();
    // What is kept belongs to the plan it came with, so another one is not looked at.
    let again = cache.get_or_compile_kept(&plan(2.0), &kept).unwrap();
    assert!(std::ptr::eq(first, again));
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (1, 1));
    let copy = kept.clone();
    cache.get_or_compile_kept(&plan(1.0), &copy).unwrap();
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (2, 1));
}

#[test]
fn who_compiled_a_plan_knows_how_long_it_took() {
    let cache = PlanCache::new();
    let (first, second) = (Kept::default(), Kept::default());
    let compiled = cache.get_or_compile_kept(&plan(1.0), &first).unwrap();
    assert_eq!(first.compile_time(), Some(compiled.compile_time()));
    cache.get_or_compile_kept(&plan(1.0), &second).unwrap();
    assert_eq!(second.compile_time(), None);
}

#[test]
fn what_is_compiled_ahead_counts_once_and_the_first_request_is_no_hit() {
    let cache = PlanCache::new();
    let plans = [plan(1.0), plan(2.0), plan(1.0), plan(3.0)];
    let kept = [(); 4].map(|()| Kept::default());
    let known = cache.get_or_compile(&plans[3]).unwrap();
    cache.compile_ahead(plans.iter().zip(&kept));
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (0, 3));
    for (plan, kept) in plans.iter().zip(&kept) {
        cache.get_or_compile_kept(plan, kept).unwrap();
    }
    // The third and the fourth were there.
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (2, 3));
    let last = cache.get_or_compile_kept(&plans[3], &kept[3]).unwrap();
    assert!(std::ptr::eq(last, &*known));
    cache.get_or_compile_kept(&plans[0], &kept[0]).unwrap();
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (4, 3));
}
