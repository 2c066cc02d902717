//! The seeds of a random matrix's blocks, which one generator draws for all blocks in turn.
//!
//! A part of the rows needs a run of seeds from somewhere within. Drawing all that come before for each part would take
//! time with the square of the rows, so states of the generator are kept at regular distances: however many parts a
//! matrix is made in, and in whatever order, a process draws each seed about twice.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use fulgurite_error::Result;

use super::generators::{JavaRandom, Well1024a};
use crate::memory;

/// Seeds between two states that are kept, of 136 bytes each.
const DISTANCE: usize = 128;

/// Streams that are kept: as many as there are random matrices that are made at the same time, as a rule.
const STREAMS: usize = 8;

/// The latest ones that were used, with their seeds, most recently used first.
static KNOWN: Mutex<Vec<(i64, Stream)>> = Mutex::new(Vec::new());

/// The seeds of these of the blocks of a matrix with this seed.
///
/// # Errors
/// `memory` when there is none for so many seeds.
pub(super) fn block_seeds(seed: i64, blocks: Range<usize>) -> Result<Vec<i64>> {
    if blocks.start < DISTANCE {
        return Stream::new(seed).seeds(blocks);
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match known.iter().position(|(other, _)| *other == seed) {
        Some(place) => known[..=place].rotate_right(1),
        None => {
            known.insert(0, (seed, Stream::new(seed)));
            known.truncate(STREAMS);
        }
    }
    known[0].1.seeds(blocks)
}

/// The generator of a matrix's block seeds.
struct Stream {
    /// The generator before each multiple of the distance, as far as it has come.
    states: Vec<Well1024a>,
    /// Seeds drawn so far, for tests.
    drawn: usize,
}

impl Stream {
    fn new(seed: i64) -> Self {
        let mut random = JavaRandom::new(seed);
        Stream {
            states: vec![Well1024a::new(std::array::from_fn(|_| random.next_int()))],
            drawn: 0,
        }
    }

    fn seeds(&mut self, blocks: Range<usize>) -> Result<Vec<i64>> {
        let latest = self.states.len() - 1;
        let from = (blocks.start / DISTANCE).min(latest);
        let mut random = self.states[from].clone();
        let mut seeds = memory::room(blocks.len())?;
        for block in from * DISTANCE..blocks.end {
            if block == self.states.len() * DISTANCE {
                self.states.push(random.clone());
            }
            let seed = random.next_long();
            self.drawn += 1;
            if block >= blocks.start {
                seeds.push(seed);
            }
        }
        Ok(seeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_seeds_of_the_whole_and_cost_as_much_however_many_there_are() {
        const BLOCKS: usize = 100_000;
        let whole = Stream::new(7).seeds(0..BLOCKS).unwrap();
        for height in [1, 100, 1000] {
            let mut stream = Stream::new(7);
            let mut parts: Vec<Range<usize>> = (0..BLOCKS)
                .step_by(height)
                .map(|from| from..from + height)
                .collect();
            // In whatever order: the second half before the first.
            let half = parts.len() / 2;
            parts.rotate_left(half);
            for part in parts {
                assert_eq!(stream.seeds(part.clone()).unwrap(), whole[part]);
            }
            let each = stream.drawn / BLOCKS;
            assert!(each <= 1 + DISTANCE / height, "{height}: {each} times");
        }
    }

    #[test]
    fn a_process_remembers_several_streams() {
        let expected = |seed: i64| Stream::new(seed).seeds(5000..5003).unwrap();
        for seed in 0..2 * STREAMS as i64 {
            assert_eq!(block_seeds(seed, 5000..5003).unwrap(), expected(seed));
        }
        assert_eq!(block_seeds(3, 5000..5003).unwrap(), expected(3));
        let known = KNOWN.lock().expect("nobody panics");
        assert!(known.len() <= STREAMS);
        let (seed, stream) = known.iter().find(|(seed, _)| *seed == 3).expect("used");
        assert_eq!((*seed, stream.drawn), (3, 5003));
    }
}
