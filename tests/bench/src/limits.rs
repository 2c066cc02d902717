//! The limits that operators are held to: how fast this machine reads and computes, now.

use std::time::Instant;

use clap::Args;
use rayon::prelude::*;
use serde_json::{Value, json};

#[derive(Args)]
pub struct Options {
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Each is measured a few times: less than the best was the doing of others.
const TRIES: usize = 5;

pub fn measure(options: &Options) -> Value {
    let best = |limit: fn(usize) -> f64| {
        (0..TRIES).fold(0.0, |best: f64, _| best.max(limit(options.threads)))
    };
    json!({ "readGigabytesPerSecond": best(read_bandwidth), "gigaflopsPerSecond": best(peak_gigaflops) })
}

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

/// GFLOP/s of `threads` threads that do nothing but fused multiplications and additions on vectors, of the widest
/// kind that the processor is fastest with; where it has none, of what the compiler makes of the same loop.
pub fn peak_gigaflops(threads: usize) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let threads = pool.as_ref().map_or(1, |pool| pool.current_num_threads());
    let gigaflops = |kernel: &Kernel| {
        let start = Instant::now();
        let total: f64 = match &pool {
            Ok(pool) => pool.broadcast(|_| (kernel.run)()).iter().sum(),
            Err(_) => (kernel.run)(),
        };
        let seconds = start.elapsed().as_secs_f64();
        assert!(total.is_finite());
        (threads * ROUNDS * 2 * CHAINS * kernel.lanes) as f64 / seconds / 1e9
    };
    kernels().iter().map(gigaflops).fold(0.0, f64::max)
}

const ROUNDS: usize = 1 << 22;
/// Independent sums: two units with a latency of four to five cycles each.
const CHAINS: usize = 12;

/// A loop of `ROUNDS` x `CHAINS` fused multiplications and additions of `lanes` doubles.
struct Kernel {
    lanes: usize,
    run: fn() -> f64,
}

fn kernels() -> Vec<Kernel> {
    let mut kernels = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the features that the function is compiled for.
            let run = || unsafe { multiply_add_avx2() };
            kernels.push(Kernel { lanes: 4, run });
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the feature that the function is compiled for.
            let run = || unsafe { multiply_add_avx512() };
            kernels.push(Kernel { lanes: 8, run });
        }
    }
    if kernels.is_empty() {
        let run = multiply_add;
        kernels.push(Kernel { lanes: 1, run });
    }
    kernels
}

/// With intrinsics, for compilers leave the sums in memory otherwise, or prefer narrower vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_add_avx2() -> f64 {
    use std::arch::x86_64::{_mm256_add_pd, _mm256_cvtsd_f64, _mm256_fmadd_pd, _mm256_set1_pd};
    let factor = _mm256_set1_pd(std::hint::black_box(FACTOR));
    let summand = _mm256_set1_pd(std::hint::black_box(SUMMAND));
    let mut sums = [_mm256_set1_pd(1.0); CHAINS];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = _mm256_fmadd_pd(*sum, factor, summand);
        }
    }
    let total = sums
        .into_iter()
        .reduce(|left, right| _mm256_add_pd(left, right));
    total.map_or(0.0, |total| _mm256_cvtsd_f64(total))
}

/// As with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn multiply_add_avx512() -> f64 {
    use std::arch::x86_64::{_mm512_fmadd_pd, _mm512_reduce_add_pd, _mm512_set1_pd};
    let factor = _mm512_set1_pd(std::hint::black_box(FACTOR));
    let summand = _mm512_set1_pd(std::hint::black_box(SUMMAND));
    let mut sums = [_mm512_set1_pd(1.0); CHAINS];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = _mm512_fmadd_pd(*sum, factor, summand);
        }
    }
    sums.iter().map(|sum| _mm512_reduce_add_pd(*sum)).sum()
}

/// What the compiler makes of it.
fn multiply_add() -> f64 {
    let factor = std::hint::black_box(FACTOR);
    let summand = std::hint::black_box(SUMMAND);
    let mut sums = [1.0f64; CHAINS];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = *sum * factor + summand;
        }
    }
    sums.iter().sum()
}

const FACTOR: f64 = 0.999_999;
const SUMMAND: f64 = 1e-9;
