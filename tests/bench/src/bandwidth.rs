//! The limit that memory-bound operators are held to.

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
