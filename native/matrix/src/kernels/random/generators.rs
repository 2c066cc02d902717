//! Java's generators.

/// `java.util.Random`.
pub(super) struct JavaRandom(u64);

impl JavaRandom {
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const INCREMENT: u64 = 0xB;
    const MASK: u64 = (1 << 48) - 1;

    pub(super) fn new(seed: i64) -> Self {
        JavaRandom((seed as u64 ^ Self::MULTIPLIER) & Self::MASK)
    }

    pub(super) fn next(&mut self, bits: u32) -> i32 {
        self.0 = self
            .0
            .wrapping_mul(Self::MULTIPLIER)
            .wrapping_add(Self::INCREMENT)
            & Self::MASK;
        (self.0 >> (48 - bits)) as i32
    }

    pub(super) fn next_int(&mut self) -> i32 {
        self.next(32)
    }

    pub(super) fn next_long(&mut self) -> i64 {
        (i64::from(self.next(32)) << 32).wrapping_add(i64::from(self.next(32)))
    }

    /// As `(next(26) << 27) + next(27)` over 2^53. Both states come from the one before: the second one does not wait for the first.
    pub(super) fn next_double(&mut self) -> f64 {
        const TWICE: u64 = JavaRandom::MULTIPLIER.wrapping_mul(JavaRandom::MULTIPLIER);
        const ADDED: u64 =
            JavaRandom::MULTIPLIER.wrapping_mul(JavaRandom::INCREMENT) + JavaRandom::INCREMENT;
        let first = self
            .0
            .wrapping_mul(Self::MULTIPLIER)
            .wrapping_add(Self::INCREMENT)
            & Self::MASK;
        self.0 = self.0.wrapping_mul(TWICE).wrapping_add(ADDED) & Self::MASK;
        let (high, low) = (first >> 22, self.0 >> 21);
        ((high << 27) + low) as i64 as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Below `bound`, which is positive.
    pub(super) fn next_int_below(&mut self, bound: i32) -> i32 {
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(self.next(31))) >> 31) as i32;
        }
        loop {
            let bits = self.next(31);
            let value = bits % bound;
            if (bits - value).checked_add(bound - 1).is_some() {
                return value;
            }
        }
    }

    pub(super) fn next_long_below(&mut self, bound: i64) -> i64 {
        loop {
            let bits = ((self.next_long() << 1) as u64 >> 1) as i64;
            let value = bits % bound;
            if (bits - value).checked_add(bound - 1).is_some() {
                return value;
            }
        }
    }
}

/// The generator of Panneton, L'Ecuyer and Matsumoto, as commons-math seeds and reads it.
#[derive(Clone)]
pub(super) struct Well1024a {
    state: [u32; 32],
    index: usize,
}

impl Well1024a {
    pub(super) fn new(seed: [i32; 32]) -> Self {
        Well1024a {
            state: seed.map(|word| word as u32),
            index: 0,
        }
    }

    /// Two words of seed, spread over the state.
    pub(super) fn from_long(seed: i64) -> Self {
        let mut state = [0i32; 32];
        state[0] = (seed >> 32) as i32;
        state[1] = seed as i32;
        for index in 2..32 {
            let word = i64::from(state[index - 2]);
            state[index] = 1_812_433_253i64
                .wrapping_mul(word ^ (word >> 30))
                .wrapping_add(index as i64) as i32;
        }
        Well1024a::new(state)
    }

    pub(super) fn next(&mut self, bits: u32) -> i32 {
        let at = |offset: usize| (self.index + offset) % 32;
        let (v0, vm1, vm2, vm3) = (
            self.state[self.index],
            self.state[at(3)],
            self.state[at(24)],
            self.state[at(10)],
        );
        let previous = at(31);
        let z0 = self.state[previous];
        let z1 = v0 ^ (vm1 ^ (vm1 >> 8));
        let z2 = (vm2 ^ (vm2 << 19)) ^ (vm3 ^ (vm3 << 14));
        let z4 = (z0 ^ (z0 << 11)) ^ (z1 ^ (z1 << 7)) ^ (z2 ^ (z2 << 13));
        self.state[self.index] = z1 ^ z2;
        self.state[previous] = z4;
        self.index = previous;
        (z4 >> (32 - bits)) as i32
    }

    pub(super) fn next_long(&mut self) -> i64 {
        (i64::from(self.next(32)) << 32) | i64::from(self.next(32) as u32)
    }

    pub(super) fn next_double(&mut self) -> f64 {
        let high = i64::from(self.next(26)) << 26;
        (high | i64::from(self.next(26))) as f64 / (1u64 << 52) as f64
    }
}
