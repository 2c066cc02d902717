//! Accuracy, special values, and that results depend on nothing but the cell.

mod accuracy;
mod exact;
mod reference;
mod special;

use super::over::{Unary, unary_with};
use crate::lanes::Instructions;

/// The instructions that can be tested here.
fn present() -> impl Iterator<Item = Instructions> {
    Instructions::MATH
        .iter()
        .copied()
        .filter(|set| set.has_math())
}

/// Results with each set of instructions.
struct Every(Vec<Vec<f64>>);

impl Every {
    fn of(function: impl Unary, x: &[f64]) -> Self {
        let with = |instructions| {
            let mut out = vec![0.0; x.len()];
            unary_with(Some(instructions), function, x, &mut out);
            out
        };
        Every(present().map(with).collect())
    }
}

/// Random numbers between 0 and 1, the same for the same seed.
fn uniform(seed: u64, count: usize) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    })
}
