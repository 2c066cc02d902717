//! The limits that operators are held to: how fast this machine reads and computes, now.

use std::time::Instant;

use rayon::prelude::*;

/// GB/s at which `threads` threads read 256 MB, two streams each: the limit that memory-bound operators are held to.
pub fn read_bandwidth(threads: usize) -> f64 {
    const CELLS: usize = 32 << 20;
    static DATA: std::sync::LazyLock<Vec<f64>> = std::sync::LazyLock::new(|| vec![1.0; CELLS]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let data: &[f64] = &DATA;
    let sum = |part: &[f64]| {
        let (left, right) = part.split_at(part.len() / 2);
        let mut sums = [[0.0f64; 8]; 2];
        for (left, right) in left.chunks_exact(8).zip(right.chunks_exact(8)) {
            for lane in 0..8 {
                sums[0][lane] += left[lane];
                sums[1][lane] += right[lane];
            }
        }
        sums.iter().flatten().sum::<f64>()
    };
    let start = Instant::now();
    let total: f64 = match &pool {
        Ok(pool) => pool.install(|| data.par_chunks(CELLS / threads.max(1)).map(sum).sum()),
        Err(_) => sum(data),
    };
    let seconds = start.elapsed().as_secs_f64();
    assert!(total > 0.0);
    (8 * CELLS) as f64 / seconds / 1e9
}

/// GFLOP/s of `threads` threads that do nothing but fused multiplications and additions on vectors; where the
/// processor has no AVX2, of what the compiler makes of the same loop.
pub fn peak_gigaflops(threads: usize) -> f64 {
    const ROUNDS: usize = 1 << 22;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let start = Instant::now();
    let total: f64 = match &pool {
        Ok(pool) => pool.broadcast(|_| multiply_add(ROUNDS)).iter().sum(),
        Err(_) => multiply_add(ROUNDS),
    };
    let seconds = start.elapsed().as_secs_f64();
    assert!(total.is_finite());
    let threads = pool.map_or(1, |pool| pool.current_num_threads());
    (threads * ROUNDS * 2 * LANES * CHAINS) as f64 / seconds / 1e9
}

const LANES: usize = 4;
/// Independent sums: two units with a latency of four to five cycles each.
const CHAINS: usize = 12;

fn multiply_add(rounds: usize) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { multiply_add_fma(rounds) };
    }
    multiply_add_lanes(rounds)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_add_fma(rounds: usize) -> f64 {
    multiply_add_lanes(rounds)
}

#[inline(always)]
fn multiply_add_lanes(rounds: usize) -> f64 {
    let factor = std::hint::black_box(0.999_999);
    let summand = std::hint::black_box(1e-9);
    let mut sums = [[1.0f64; LANES]; CHAINS];
    for _ in 0..rounds {
        for chain in &mut sums {
            for lane in chain {
                *lane = lane.mul_add(factor, summand);
            }
        }
    }
    sums.iter().flatten().sum()
}
