//! The measurement: writing a new vector, writing it again, reading it twice, and a compiled operator on cells in the caches.

use std::{
    fs,
    hint::black_box,
    time::{Duration, Instant},
};

use fulgurite_codegen::{CompiledPlan, Operand, Output, execute};
use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CNode, CPlan, CellTemplate, InputBinding, NodeId, Template};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction};
use fulgurite_matrix::MatrixBlock;
use rayon::prelude::*;

use super::Measured;
use crate::{config, interpreter::Threads};

/// The vector is larger than the caches, but not larger than this, nor than this share of the memory. Beyond, pages
/// of a new vector take longer to come than a measurement may.
const MOST_BYTES: u64 = 128 << 20;
const LEAST_BYTES: u64 = 32 << 20;
const SHARE_OF_MEMORY: u64 = 16;

/// Cells of each thread under the compiled operator: they fit into its caches.
const CELLS_PER_THREAD: usize = 1 << 17;
/// Pairs of multiplication and addition in the compiled operator.
const STEPS: usize = 8;
/// Timings of which the best counts: others are disturbed.
const REPETITIONS: usize = 3;

pub(super) fn measure(threads: &Threads) -> Result<Measured> {
    let started = Instant::now();
    let cells = (vector_bytes() / 8) as usize;
    let (write, rewrite, read) = threads.run(|| bandwidths(cells));
    let bytes = 8.0 * cells as f64;
    let (operations, seconds) = compute(threads)?;
    let measured = Measured {
        read_gb_per_s: bytes / read / 1e9,
        write_gb_per_s: bytes / write / 1e9,
        rewrite_gb_per_s: bytes / rewrite / 1e9,
        compute_gflop_per_s: operations / seconds / 1e9,
    };
    tracing::debug!(?measured, elapsed = ?started.elapsed(), "calibrated");
    Ok(measured)
}

/// Seconds to write a new vector, to write it again, and to read it.
fn bandwidths(cells: usize) -> (f64, f64, f64) {
    let part = cells.div_ceil(4 * rayon::current_num_threads());
    let started = Instant::now();
    let mut vector = vec![0.0f64; cells];
    let mut fill = |started: Instant, value: f64| {
        vector
            .par_chunks_mut(part)
            .for_each(|part| part.fill(black_box(value)));
        started.elapsed()
    };
    let write = fill(started, 1.0);
    let rewrite = fill(Instant::now(), 2.0).min(fill(Instant::now(), 3.0));
    let read = (0..2).map(|_| {
        let started = Instant::now();
        black_box(vector.par_chunks(part).map(sum).sum::<f64>());
        started.elapsed()
    });
    let read = read.min().unwrap_or(Duration::MAX);
    (seconds(write), seconds(rewrite), seconds(read))
}

/// In lanes, so that memory is what it waits for.
fn sum(part: &[f64]) -> f64 {
    let mut lanes = [0.0; 32];
    for cells in part.chunks_exact(lanes.len()) {
        for (lane, cell) in lanes.iter_mut().zip(cells) {
            *lane += cell;
        }
    }
    lanes.iter().sum()
}

/// Operations of a compiled operator, as the cost model counts them, and its seconds.
fn compute(threads: &Threads) -> Result<(f64, f64)> {
    let plan = polynomial();
    let per_cell: f64 = plan
        .body
        .iter()
        .map(|node| match node {
            CNode::Binary(op, ..) => op.flops(),
            _ => 0.0,
        })
        .sum();
    let compiled = CompiledPlan::compile(&plan)?;
    let rows = CELLS_PER_THREAD / 64 * threads.fused.threads();
    let main = MatrixBlock::filled(rows, 64, 0.5);
    let mut best = Duration::MAX;
    // The first one fetches the cells and wakes the threads.
    for _ in 0..=REPETITIONS {
        let started = Instant::now();
        let output = execute(&compiled, &[Operand::Matrix(&main)], &threads.fused)?;
        best = best.min(started.elapsed());
        match black_box(output) {
            Output::Scalar(total) if total.is_finite() => {}
            _ => return Err(Error::internal("a sum of finite cells is a finite number")),
        }
    }
    let operations = per_cell * (rows * 64) as f64;
    Ok((operations, seconds(best)))
}

/// `sum(((X * 0.5 + 0.25) * 0.5 + 0.25) ...)`.
fn polynomial() -> CPlan {
    let mut body = vec![CNode::Input(0), CNode::Literal(0.5), CNode::Literal(0.25)];
    let mut value = NodeId(0);
    for _ in 0..STEPS {
        for (op, operand) in [(BinaryOp::Mult, NodeId(1)), (BinaryOp::Plus, NodeId(2))] {
            body.push(CNode::Binary(op, value, operand));
            value = NodeId(body.len() as u32 - 1);
        }
    }
    CPlan {
        template: Template::Cell(CellTemplate {
            value,
            aggregate: Some((AggregateOp::Sum, Direction::Full)),
            sparse_safe: false,
        }),
        inputs: vec![InputBinding::Main],
        body,
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64().max(1e-9)
}

/// Larger than the largest cache.
fn vector_bytes() -> u64 {
    let largest_cache = (0..8).filter_map(cache_bytes).max().unwrap_or(0);
    let most = (config::physical_memory() / SHARE_OF_MEMORY).min(MOST_BYTES);
    largest_cache
        .saturating_mul(2)
        .max(LEAST_BYTES)
        .min(most.max(1 << 20))
}

fn cache_bytes(index: u32) -> Option<u64> {
    let file = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
    let text = fs::read_to_string(file).ok()?;
    let kibibytes: u64 = text.trim().strip_suffix('K')?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
