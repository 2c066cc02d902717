//! Sums over slices that carry their rounding errors along.

use crate::lanes::math::{MathKernel, MathLanes};
use crate::lanes::{Instructions, fetch_ahead, run_math};

/// Sums that are independent, because a chain of dependent additions would wait on each: four vectors of AVX2, two of AVX-512. How
/// many does not depend on the processor, and so the bits do not.
const CHAINS: usize = 16;
/// Vectors of the narrowest lanes that hold them.
const MOST_VECTORS: usize = CHAINS / 2;
/// Cells that are mapped together: a multiple of the chains.
const MAPPED: usize = 64;

/// The sum of two numbers as rounded, and its rounding error (Knuth's branch-free two-sum).
#[inline(always)]
pub(crate) fn two_sum(left: f64, right: f64) -> (f64, f64) {
    let total = left + right;
    let rest = total - left;
    (total, (left - (total - rest)) + (right - rest))
}

/// The sum of `map` of each cell as rounded, and the sum of the rounding errors.
#[inline]
pub(crate) fn sum_of(values: &[f64], map: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut total = (0.0, 0.0);
    let summed = Instructions::best_for_math().is_some_and(|best| {
        let (map, total) = (&map, &mut total);
        run_math(best, Cells { values, map, total })
    });
    if summed {
        return total;
    }
    let mut chains = Chains::START;
    for (place, value) in values.iter().enumerate() {
        chains.add(place % CHAINS, map(*value), 0.0);
    }
    chains.total(CHAINS)
}

/// The sums of chains, and their errors.
struct Chains {
    sums: [f64; CHAINS],
    errors: [f64; CHAINS],
}

impl Chains {
    const START: Self = Chains {
        sums: [0.0; CHAINS],
        errors: [0.0; CHAINS],
    };

    #[inline(always)]
    fn add(&mut self, chain: usize, value: f64, errors: f64) {
        let (sum, error) = two_sum(self.sums[chain], value);
        self.sums[chain] = sum;
        self.errors[chain] += errors + error;
    }

    /// The upper half of the first `count` chains is added to the lower one until one is left.
    #[inline(always)]
    fn total(mut self, mut count: usize) -> (f64, f64) {
        while count > 1 {
            count /= 2;
            for chain in 0..count {
                self.add(chain, self.sums[chain + count], self.errors[chain + count]);
            }
        }
        (self.sums[0], self.errors[0])
    }
}

/// Cells that are added to the chains, in turns. Zeros at the end change nothing.
struct Cells<'a, F> {
    values: &'a [f64],
    map: &'a F,
    total: &'a mut (f64, f64),
}

/// As [`two_sum`].
#[inline(always)]
fn two_sum_of_lanes<V: MathLanes>(left: V, right: V) -> (V, V) {
    let total = left + right;
    let rest = total - left;
    (total, (left - (total - rest)) + (right - rest))
}

/// Adds cells, whole numbers of the chains, to these.
#[inline(always)]
fn add<V: MathLanes>(sums: &mut [V; MOST_VECTORS], errors: &mut [V; MOST_VECTORS], cells: &[f64]) {
    for cells in cells.chunks_exact(CHAINS) {
        for vector in 0..CHAINS / V::WIDTH {
            let value = V::read(&cells[vector * V::WIDTH..]);
            let (sum, error) = two_sum_of_lanes(sums[vector], value);
            sums[vector] = sum;
            errors[vector] = errors[vector] + error;
        }
    }
}

impl<F: Fn(f64) -> f64> MathKernel for Cells<'_, F> {
    #[inline(always)]
    fn run<V: MathLanes>(self) {
        let vectors = CHAINS / V::WIDTH;
        let zero = V::splat(0.0);
        let (mut sums, mut errors) = ([zero; MOST_VECTORS], [zero; MOST_VECTORS]);
        // Stretches of one length stay in registers.
        let (stretches, rest) = self.values.as_chunks::<MAPPED>();
        for values in stretches {
            fetch_ahead(values);
            let mapped = values.map(self.map);
            add(&mut sums, &mut errors, &mapped);
        }
        let mut mapped = [0.0; MAPPED];
        for (mapped, value) in mapped.iter_mut().zip(rest) {
            *mapped = (self.map)(*value);
        }
        let length = rest.len().next_multiple_of(CHAINS);
        add(&mut sums, &mut errors, &mapped[..length]);
        let mut count = vectors;
        while count > 1 {
            count /= 2;
            for vector in 0..count {
                let other = vector + count;
                let (sum, error) = two_sum_of_lanes(sums[vector], sums[other]);
                sums[vector] = sum;
                errors[vector] = errors[vector] + (errors[other] + error);
            }
        }
        let mut chains = Chains::START;
        sums[0].write(&mut chains.sums);
        errors[0].write(&mut chains.errors);
        *self.total = chains.total(V::WIDTH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_errors_are_those_of_one_chain_in_twice_the_precision() {
        for length in (0..200).chain([1000, 4097]) {
            // Large terms that cancel, and small ones that are left.
            let values: Vec<f64> = (0..length)
                .map(|at| match at % 4 {
                    0 => 1e16 * (1 + at / 4) as f64,
                    2 => -1e16 * (1 + at / 4) as f64,
                    _ => 0.1 * at as f64,
                })
                .collect();
            let large: f64 = values[length / 4 * 4..].iter().step_by(2).sum();
            let small: f64 = values.iter().skip(1).step_by(2).sum();
            let (sum, error) = sum_of(&values, |x| 2.0 * x);
            let expected = 2.0 * (large + small);
            assert!(
                (sum + error - expected).abs() <= 1e-14 * expected.abs(),
                "{length}: {sum} {error} {expected}"
            );
        }
    }

    #[test]
    fn one_that_is_not_finite_makes_the_sum_so() {
        let mut values = vec![1.0; 100];
        values[37] = f64::INFINITY;
        assert_eq!(sum_of(&values, |x| x).0, f64::INFINITY);
        values[99] = f64::NAN;
        assert!(sum_of(&values, |x| x).0.is_nan());
    }
}
