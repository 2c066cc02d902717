//! What compiling one fused operator takes, and finding it compiled.

use std::time::Instant;

use fulgurite_codegen::{CompiledPlan, Kept, PlanCache};
use fulgurite_error::Result;
use fulgurite_fusion::cplan::{CNode, CPlan, CellTemplate, InputBinding, NodeId, Template};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction, UnaryOp};
use serde_json::{Value, json};

const NODES: [usize; 2] = [20, 500];
/// Plans that are compiled for each figure, all different; the first ones do not count.
const PLANS: usize = 41;
const WARM_UP: usize = 10;
/// A hit is too short for the clock.
const HITS: usize = 10_000;

/// A JSON object for each number of nodes.
///
/// # Errors
/// Those of the compiler.
pub fn measure() -> Result<Vec<Value>> {
    NODES.map(measure_nodes).into_iter().collect()
}

fn measure_nodes(nodes: usize) -> Result<Value> {
    let mut milliseconds = Vec::new();
    let cache = PlanCache::new();
    for variant in 0..PLANS {
        let plan = cell_chain(nodes, variant);
        let start = Instant::now();
        CompiledPlan::compile(&plan)?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        cache.get_or_compile(&plan)?;
    }
    let plan = cell_chain(nodes, PLANS / 2);
    // As a statement block keeps it.
    let kept = Kept::default();
    let start = Instant::now();
    for _ in 0..HITS {
        let plan = std::hint::black_box(&plan);
        std::hint::black_box(cache.get_or_compile_kept(plan, &kept)?);
    }
    let hit = start.elapsed().as_secs_f64() * 1e6 / HITS as f64;
    let counted = &mut milliseconds[WARM_UP..];
    counted.sort_by(f64::total_cmp);
    Ok(json!({
        "nodes": nodes, "compileMilliseconds": counted[counted.len() / 2],
        "slowestMilliseconds": counted.last(), "hitMicroseconds": hit,
    }))
}

/// The sum of a chain of cell operations on two matrices: `nodes` nodes with inputs and literals, as a script's
/// expressions have them; another plan for each variant.
fn cell_chain(nodes: usize, variant: usize) -> CPlan {
    let mut body = vec![CNode::Input(0), CNode::Input(1)];
    let mut push = |node| {
        body.push(node);
        NodeId(body.len() as u32 - 1)
    };
    let (x, y) = (NodeId(0), NodeId(1));
    let mut value = x;
    let mut step = variant;
    while value.index() + 1 < nodes {
        step += 1;
        let is_last = value.index().max(1) + 2 >= nodes;
        value = match step % 8 {
            0 => push(CNode::Binary(BinaryOp::Plus, value, y)),
            1 => push(CNode::Binary(BinaryOp::Minus, value, x)),
            2 => push(CNode::Unary(UnaryOp::Abs, value)),
            3 => push(CNode::Unary(UnaryOp::Sqrt, value)),
            4 => push(CNode::Unary(UnaryOp::Exp, value)),
            5 => push(CNode::Binary(BinaryOp::Max, value, y)),
            _ if is_last => push(CNode::Binary(BinaryOp::Mult, value, y)),
            number => {
                let factor = push(CNode::Literal((step + number) as f64 / 8.0));
                push(CNode::Binary(BinaryOp::Mult, value, factor))
            }
        };
    }
    CPlan {
        template: Template::Cell(CellTemplate {
            value,
            aggregate: Some((AggregateOp::Sum, Direction::Full)),
            sparse_safe: false,
        }),
        inputs: vec![InputBinding::Main, InputBinding::Matrix],
        body,
    }
}
