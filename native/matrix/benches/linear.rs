//! Milliseconds of linear systems and inverses, the best run and the median one, on one and on two threads:
//! `cargo bench -p fulgurite-matrix --bench linear`. Orders may follow after `--`.

use std::{hint::black_box, time::Instant};

use fulgurite_matrix::{
    DenseMatrix, MatrixBlock,
    kernels::{factorize, tsmm},
    memory::keep_freed_memory,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Seconds for each measurement.
const SECONDS: f64 = 1.0;

fn print(name: &str, pools: &[ThreadPool; 2], work: &(dyn Fn() + Sync)) {
    print!("{name:40}");
    for pool in pools {
        let mut runs = pool.install(|| {
            work();
            let started = Instant::now();
            let mut runs = Vec::new();
            while runs.len() < 3 || started.elapsed().as_secs_f64() < SECONDS {
                let start = Instant::now();
                work();
                runs.push(1e3 * start.elapsed().as_secs_f64());
            }
            runs
        });
        runs.sort_by(f64::total_cmp);
        print!(" {:9.2} {:9.2}", runs[0], runs[runs.len() / 2]);
    }
    println!();
}

/// Cells between -1 and 1 that look random, and a diagonal.
fn matrix(rows: usize, cols: usize, diagonal: f64) -> MatrixBlock {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let cell = |row, col| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let cell = (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        if row == col { cell + diagonal } else { cell }
    };
    let matrix = DenseMatrix::from_fn(rows, cols, cell);
    matrix.expect("there is room").into()
}

fn main() {
    keep_freed_memory();
    let pools = [1, 2].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads start")
    });
    let asked: Vec<usize> = std::env::args()
        .filter_map(|word| word.parse().ok())
        .collect();
    let orders = match asked.is_empty() {
        true => vec![100, 500, 1000, 2000],
        false => asked,
    };
    println!("milliseconds: best and median on one thread, and on two");
    for order in orders {
        let general = matrix(order, order, 0.0);
        let definite = tsmm(&matrix(2 * order, order, 0.0)).expect("there is room");
        let column = matrix(order, 1, 0.0);
        for (kind, matrix) in [("general", &general), ("definite", &definite)] {
            print(&format!("solve(A, b), {kind}, {order}"), &pools, &|| {
                drop(black_box(factorize::solve(black_box(matrix), &column)));
            });
            print(&format!("inv(A), {kind}, {order}"), &pools, &|| {
                drop(black_box(factorize::inverse(black_box(matrix))));
            });
        }
    }
}
