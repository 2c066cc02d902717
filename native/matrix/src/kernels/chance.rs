//! Reproducible cells for tests.

/// Whole numbers and fractions, by Knuth's linear congruential generator.
pub(super) struct Random(pub u64);

impl Random {
    /// From 0 on, below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) % limit
    }

    /// From 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }
}
