//! GFLOP/s of dense products on one and on two threads, and what the processor could do:
//! `cargo bench -p fulgurite-matrix --bench dense_product`.

use std::{hint::black_box, time::Instant};

use fulgurite_matrix::{
    MatrixBlock,
    kernels::{matmult, transposed_matmult, tsmm},
    lanes::{Instructions, Kernel, Lanes, run_with},
    memory::keep_freed_memory,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Seconds for each measurement.
const SECONDS: f64 = 0.5;
/// Floating-point operations of a run, at least.
const RUN_OPERATIONS: f64 = 2e7;

/// The best and the median of the runs that the time is enough for, three at least.
fn seconds(operations: f64, work: &(dyn Fn() + Sync)) -> [f64; 2] {
    let repeats = (RUN_OPERATIONS / operations).ceil();
    let started = Instant::now();
    let mut runs = Vec::new();
    while runs.len() < 3 || started.elapsed().as_secs_f64() < SECONDS {
        let start = Instant::now();
        for _ in 0..repeats as usize {
            work();
        }
        runs.push(start.elapsed().as_secs_f64() / repeats);
    }
    runs.sort_by(f64::total_cmp);
    [runs[0], runs[runs.len() / 2]]
}

fn matrix(rows: usize, cols: usize) -> MatrixBlock {
    let cells = (0..rows * cols).map(|at| (at % 17) as f64).collect();
    MatrixBlock::dense(rows, cols, cells).expect("as many cells as the shape says")
}

/// Multiply-adds that do not wait for each other.
struct Chains;

const CHAINS: usize = 12;
const STEPS: usize = 100_000;

impl Kernel for Chains {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let factor = L::splat(black_box(0.5));
        let mut sums = [L::splat(1.0); CHAINS];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = sum.mul_add(factor, factor);
            }
        }
        let mut total = 0.0;
        for sum in sums {
            total += sum.sum();
        }
        black_box(total);
    }
}

/// GFLOP/s that one thread could reach at best.
fn peak() -> f64 {
    struct Width<'a>(&'a mut usize);
    impl Kernel for Width<'_> {
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            *self.0 = L::WIDTH;
        }
    }
    let widest = Instructions::present().next();
    let instructions = widest.unwrap_or(Instructions::Portable);
    let mut width = 0;
    // SAFETY: the instructions are present.
    unsafe { run_with(instructions, Width(&mut width)) };
    let operations = (2 * CHAINS * STEPS * width) as f64;
    // SAFETY: the instructions are present.
    let [best, _] = seconds(operations, &|| unsafe { run_with(instructions, Chains) });
    operations / best / 1e9
}

/// GFLOP/s of the best run and of the median one, by threads.
fn print(name: &str, operations: f64, pools: &[ThreadPool; 2], work: &(dyn Fn() + Sync)) {
    print!("{name:40}");
    for pool in pools {
        let [best, median] = pool.install(|| seconds(operations, work));
        let [best, median] = [best, median].map(|seconds| operations / seconds / 1e9);
        print!(" {best:9.1} {median:9.1}");
    }
    println!();
}

fn main() {
    keep_freed_memory();
    let pools = [1, 2].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads start")
    });
    println!("one thread could reach {:.1} GFLOP/s", peak());
    println!("GFLOP/s: best and median on one thread, and on two");
    let shapes = [
        (2000, 2000, 2000),
        (1000, 1000, 1000),
        (500, 500, 500),
        (128, 784, 128),
        (512, 50, 100),
        (50, 512, 100),
        (512, 100, 500),
        (512, 2, 100),
        (64, 64, 64),
        (10_000, 1000, 8),
        (8, 1000, 10_000),
        (100, 20_000, 50),
    ];
    for (rows, depth, cols) in shapes {
        let (left, turned, right) = (
            matrix(rows, depth),
            matrix(depth, rows),
            matrix(depth, cols),
        );
        let operations = 2.0 * (rows * depth * cols) as f64;
        let shape = format!("{rows} x {depth} x {cols}");
        print(&format!("X %*% Y, {shape}"), operations, &pools, &|| {
            drop(black_box(matmult(black_box(&left), &right)));
        });
        print(&format!("t(X) %*% Y, {shape}"), operations, &pools, &|| {
            drop(black_box(transposed_matmult(black_box(&turned), &right)));
        });
    }
    for (rows, cols) in [(20_000, 1000), (100_000, 200), (100_000, 50)] {
        let left = matrix(rows, cols);
        // Half of the result, and the diagonal.
        let operations = (rows * cols * (cols + 1)) as f64;
        let name = format!("t(X) %*% X, {rows} x {cols}");
        print(&name, operations, &pools, &|| {
            drop(black_box(tsmm(black_box(&left))));
        });
    }
}
