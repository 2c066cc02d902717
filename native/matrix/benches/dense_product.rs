//! GFLOP/s of dense products on one and on two threads: `cargo bench -p fulgurite-matrix --bench dense_product`.

use std::{hint::black_box, time::Instant};

use fulgurite_matrix::{
    MatrixBlock,
    kernels::{matmult, transposed_matmult},
};

const RUNS: usize = 20;
/// Floating-point operations of a run, at least.
const RUN_OPERATIONS: f64 = 2e7;

/// The best of some runs.
fn seconds(operations: f64, work: impl Fn()) -> f64 {
    let repeats = (RUN_OPERATIONS / operations).ceil();
    let run = |_| {
        let start = Instant::now();
        for _ in 0..repeats as usize {
            work();
        }
        start.elapsed().as_secs_f64() / repeats
    };
    (0..RUNS).map(run).fold(f64::MAX, f64::min)
}

fn matrix(rows: usize, cols: usize) -> MatrixBlock {
    let cells = (0..rows * cols).map(|at| (at % 17) as f64).collect();
    MatrixBlock::dense(rows, cols, cells).expect("as many cells as the shape says")
}

fn main() {
    println!(
        "GFLOP/s of (rows x depth) %*% (depth x cols)   X %*% Y, 1, 2 threads   t(X) %*% Y, 1, 2 threads"
    );
    let shapes = [
        (512, 50, 100),
        (50, 512, 100),
        (512, 100, 500),
        (500, 512, 100),
        (512, 2, 100),
        (64, 64, 64),
        (1000, 1000, 1000),
        (10_000, 1000, 8),
        (100, 20_000, 50),
    ];
    let pools = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads start")
    });
    for (rows, depth, cols) in shapes {
        let (left, turned, right) = (
            matrix(rows, depth),
            matrix(depth, rows),
            matrix(depth, cols),
        );
        let operations = 2.0 * (rows * depth * cols) as f64;
        let plain = || drop(black_box(matmult(black_box(&left), &right)));
        let transposed = || drop(black_box(transposed_matmult(black_box(&turned), &right)));
        let rate = |pool: &rayon::ThreadPool, work: &(dyn Fn() + Sync)| {
            pool.install(|| operations / seconds(operations, work) / 1e9)
        };
        let [one, two] = [0, 1].map(|at| rate(&pools[at], &plain));
        let [one_transposed, two_transposed] = [0, 1].map(|at| rate(&pools[at], &transposed));
        println!(
            "{:44} {one:9.1} {two:9.1} {one_transposed:15.1} {two_transposed:9.1}",
            format!("{rows} x {depth} x {cols}")
        );
    }
}
