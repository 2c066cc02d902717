//! Deterministic inputs.

use fulgurite_matrix::{DenseMatrix, MatrixBlock};

/// A small generator of reproducible numbers in [0, 1): the tests need no statistical quality, only variety.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Numbers(seed)
    }

    pub fn next_number(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Features, a share of `density` of them non-zero, between -1 and 1.
pub fn features(rows: usize, cols: usize, density: f64, seed: u64) -> MatrixBlock {
    let mut numbers = Numbers::new(seed);
    DenseMatrix::from_fn(rows, cols, |_, _| {
        let (present, value) = (numbers.next_number() < density, numbers.next_number());
        if present { 2.0 * value - 1.0 } else { 0.0 }
    })
    .unwrap()
    .into()
}

/// A column: for each row of the features, `label` of its product with fixed weights and some noise.
pub fn labels(features: &MatrixBlock, seed: u64, label: impl Fn(f64) -> f64) -> MatrixBlock {
    let mut numbers = Numbers::new(seed);
    let weights: Vec<f64> = (0..features.cols())
        .map(|_| numbers.next_number() - 0.5)
        .collect();
    DenseMatrix::from_fn(features.rows(), 1, |row, _| {
        let score: f64 = (0..features.cols())
            .map(|col| features.get(row, col) * weights[col])
            .sum();
        label(score + 0.2 * (numbers.next_number() - 0.5))
    })
    .unwrap()
    .into()
}

/// Whole numbers from 0 to `most`, a share of `density` of them not 0.
pub fn counts(rows: usize, cols: usize, most: usize, density: f64, seed: u64) -> MatrixBlock {
    let mut numbers = Numbers::new(seed);
    DenseMatrix::from_fn(rows, cols, |_, _| {
        let (present, value) = (numbers.next_number() < density, numbers.next_number());
        if present {
            (value * most as f64).floor().min(most as f64 - 1.0) + 1.0
        } else {
            0.0
        }
    })
    .unwrap()
    .into()
}

/// Classes 1 .. `classes`: each row's is the one of `classes` directions that it points along most.
pub fn classes(features: &MatrixBlock, classes: usize, seed: u64) -> MatrixBlock {
    let mut numbers = Numbers::new(seed);
    let directions: Vec<Vec<f64>> = (0..classes)
        .map(|_| {
            (0..features.cols())
                .map(|_| numbers.next_number() - 0.5)
                .collect()
        })
        .collect();
    DenseMatrix::from_fn(features.rows(), 1, |row, _| {
        let scores = directions.iter().map(|direction| {
            let terms = direction.iter().enumerate();
            terms
                .map(|(col, weight)| features.get(row, col) * weight)
                .sum::<f64>()
        });
        let best = scores
            .enumerate()
            .max_by(|(_, left), (_, right)| left.total_cmp(right));
        best.map_or(1.0, |(class, _)| class as f64 + 1.0)
    })
    .unwrap()
    .into()
}
