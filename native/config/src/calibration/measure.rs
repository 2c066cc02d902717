//! The measurement: writing a new vector, writing it again, reading it twice; the same in the caches; and compiled operators
//! and a product on cells in the caches.

use std::{
    fs,
    hint::black_box,
    time::{Duration, Instant},
};

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, Output, execute};
use fulgurite_error::{Error, Result};
use fulgurite_fusion::{
    cplan::{CNode, CPlan, CellTemplate, InputBinding, NodeId, Template},
    machine::Constant,
};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction, UnaryOp};
use fulgurite_matrix::{
    Interrupt, MatrixBlock,
    kernels::dense_product::{View, Write, multiply},
    memory::zeros,
};
use rayon::{ThreadPool, prelude::*};

use super::super::{cost::Measured, memory::physical};

/// The vector is larger than the caches, but not larger than this, nor than this share of the memory. Beyond, pages
/// of a new vector take longer to come than a measurement may.
const MOST_BYTES: u64 = 128 << 20;
const LEAST_BYTES: u64 = 32 << 20;
const SHARE_OF_MEMORY: u64 = 16;

/// Pairs of multiplication and addition in the compiled operator.
const STEPS: usize = 8;
/// Cells of each thread's vector in the caches, and the side of its square matrices.
const CACHED_CELLS: usize = 1 << 16;
const PRODUCT_SIZE: usize = 128;
const CACHED_RUNS: usize = 12;

pub(super) fn measure(pool: &ThreadPool) -> Result<Measured> {
    let started = Instant::now();
    let cells = (vector_bytes() / 8) as usize;
    let (write, rewrite, read) = on(pool, || bandwidths(cells))?;
    let bytes = 8.0 * cells as f64;
    let cached = cached_bandwidths();
    let measured = Measured::from([
        (Constant::Read, bytes / read / 1e9),
        (Constant::CachedRead, cached.read_gb_per_s),
        (Constant::Write, bytes / write / 1e9),
        (Constant::Rewrite, bytes / rewrite / 1e9),
        (Constant::CachedWrite, cached.write_gb_per_s),
        (Constant::Compute, on(pool, || compute(&polynomial()))?),
        (Constant::Functions, on(pool, || compute(&exponentials()))?),
        (Constant::Products, on(pool, products)?),
    ]);
    tracing::debug!(?measured, elapsed = ?started.elapsed(), "calibrated");
    Ok(measured)
}

/// What is measured on the pool's threads, unless the run that waits for it is interrupted.
fn on<R: Send>(pool: &ThreadPool, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let interrupt = Interrupt::current();
    let result = pool.install(|| interrupt.within(work));
    interrupt.check()?;
    result
}

/// Seconds to write a new vector, to write it again, and to read it.
fn bandwidths(cells: usize) -> Result<(f64, f64, f64)> {
    let part = cells.div_ceil(4 * rayon::current_num_threads());
    let started = Instant::now();
    let mut vector = zeros(cells)?;
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
    Ok((seconds(write), seconds(rewrite), seconds(read)))
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

struct Cached {
    read_gb_per_s: f64,
    write_gb_per_s: f64,
}

/// Of one thread.
fn cached_bandwidths() -> Cached {
    let mut vector = vec![0.0; CACHED_CELLS];
    let write = best(|| black_box(&mut vector).fill(black_box(1.0)));
    let read = best(|| {
        black_box(sum(black_box(&vector)));
    });
    let bytes = (8 * CACHED_CELLS) as f64;
    Cached {
        read_gb_per_s: bytes / read / 1e9,
        write_gb_per_s: bytes / write / 1e9,
    }
}

/// GFLOP/s of products.
fn products() -> Result<f64> {
    let cells = vec![0.5; PRODUCT_SIZE * PRODUCT_SIZE];
    let view = View::of_rows(&cells, PRODUCT_SIZE, PRODUCT_SIZE, PRODUCT_SIZE);
    rate(2.0 * (PRODUCT_SIZE as f64).powi(3), || {
        let mut out = vec![0.0; cells.len()];
        multiply(view, view, &mut out, PRODUCT_SIZE, Write::Replace)?;
        black_box(out);
        Ok(())
    })
}

/// GFLOP/s of a compiled operator, with its operations as the cost model counts them.
fn compute(plan: &CPlan) -> Result<f64> {
    let per_cell: f64 = plan
        .body
        .iter()
        .map(|node| match node {
            CNode::Unary(op, ..) => op.flops(),
            CNode::Binary(op, ..) => op.flops(),
            _ => 0.0,
        })
        .sum();
    let compiled = CompiledPlan::compile(plan)?;
    let main = MatrixBlock::filled(CACHED_CELLS / 64, 64, 0.5)?;
    let context = ExecutionContext::single_threaded();
    rate(per_cell * CACHED_CELLS as f64, || {
        let output = execute(&compiled, &[Operand::Matrix(&main)], &context)?;
        match black_box(output) {
            Output::Scalar(total) if total.is_finite() => Ok(()),
            _ => Err(Error::internal("a sum of finite cells is a finite number")),
        }
    })
}

/// Billions of operations a second when each thread does as many at a time, at the pace of the slowest.
fn rate(operations: f64, work: impl Fn() -> Result<()> + Sync) -> Result<f64> {
    let seconds = rayon::broadcast(|_| {
        let mut outcome = Ok(());
        let seconds = best(|| {
            if let Err(error) = work() {
                outcome = Err(error);
            }
        });
        outcome.map(|()| seconds)
    });
    let seconds = seconds.into_iter().collect::<Result<Vec<f64>>>()?;
    let slowest = seconds.iter().copied().fold(0.0, f64::max);
    Ok(operations * seconds.len() as f64 / slowest / 1e9)
}

/// Seconds of the best of some runs: others are disturbed.
fn best(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let started = Instant::now();
        work();
        seconds(started.elapsed())
    };
    (0..CACHED_RUNS).map(run).fold(f64::MAX, f64::min)
}

/// `sum(exp(X))`.
fn exponentials() -> CPlan {
    let body = vec![CNode::Input(0), CNode::Unary(UnaryOp::Exp, NodeId(0))];
    sum_of_cells(body, NodeId(1))
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
    sum_of_cells(body, value)
}

fn sum_of_cells(body: Vec<CNode>, value: NodeId) -> CPlan {
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
    let most = (physical() / SHARE_OF_MEMORY).min(MOST_BYTES);
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
