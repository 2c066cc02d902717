//! Blocks of a random matrix, and the cells that are drawn in each.

use std::ops::Range;

use fulgurite_error::Result;

use super::{
    Distribution, RandStream,
    generators::{JavaRandom, Well1024a},
};
use crate::{Interrupt, SPARSE_THRESHOLD};

/// Rows and columns that share a seed.
pub(super) const BLOCK: usize = 1000;

/// What is drawn, and the seeds of the blocks that it crosses.
pub(super) struct Drawn {
    pub rows: usize,
    pub cols: usize,
    pub distribution: Distribution,
    pub sparsity: f64,
    pub stream: RandStream,
    /// The rows that are asked for.
    pub part: Range<usize>,
    pub seeds: Vec<i64>,
    pub first_block: usize,
}

impl Drawn {
    /// Rows of a row of blocks.
    pub fn height(&self, below: usize) -> usize {
        BLOCK.min(self.rows - below * BLOCK)
    }

    /// Of these, the ones that are asked for.
    pub fn kept(&self, below: usize) -> Range<usize> {
        let top = below * BLOCK;
        let end = self.part.end.saturating_sub(top).min(self.height(below));
        self.part.start.saturating_sub(top)..end
    }

    /// The blocks beside each other.
    fn blocks(&self, below: usize) -> impl Iterator<Item = Block> + '_ {
        (0..self.cols.div_ceil(BLOCK)).map(move |across| {
            let from = across * BLOCK;
            let blocks_across = self.cols.div_ceil(BLOCK);
            let seed = self.seeds[below * blocks_across + across - self.first_block];
            let mut values = Values::new(self.distribution, seed);
            let zeros = JavaRandom::new(match self.stream {
                RandStream::SystemMl => seed,
                // Java's conversion to long, which saturates as Rust's does.
                RandStream::SystemDs => (values.draw() * i64::MAX as f64) as i64,
            });
            Block {
                height: self.height(below),
                from,
                width: BLOCK.min(self.cols - from),
                sparsity: self.sparsity,
                values,
                zeros,
            }
        })
    }

    pub fn sparse_rows(&self, below: usize, interrupt: &Interrupt) -> Result<Vec<Vec<Cell>>> {
        let mut rows = vec![Vec::new(); self.height(below)];
        for block in self.blocks(below) {
            interrupt.check()?;
            block.draw(|row, col, value| rows[row].push((col, value)));
        }
        let Range { start, end } = self.kept(below);
        rows.truncate(end);
        rows.drain(..start);
        Ok(rows)
    }

    pub fn dense_rows(&self, below: usize, out: &mut [f64], interrupt: &Interrupt) -> Result<()> {
        let kept = self.kept(below);
        for mut block in self.blocks(below) {
            interrupt.check()?;
            if self.sparsity < 1.0 {
                block.draw(|row, col, value| {
                    let row = row.checked_sub(kept.start);
                    if let Some(cell) = row.and_then(|row| out.get_mut(row * self.cols + col)) {
                        *cell = value;
                    }
                });
                continue;
            }
            block.values.skip(kept.start * block.width);
            if block.width == self.cols {
                block.values.fill(out);
            } else {
                for row in out.chunks_exact_mut(self.cols) {
                    block
                        .values
                        .fill(&mut row[block.from..block.from + block.width]);
                }
            }
        }
        Ok(())
    }
}

/// A column and its value.
pub(super) type Cell = (usize, f64);

/// Cells that share a seed.
struct Block {
    height: usize,
    /// Its first column.
    from: usize,
    width: usize,
    sparsity: f64,
    values: Values,
    /// Says which cells are zero.
    zeros: JavaRandom,
}

impl Block {
    /// Gives each non-zero, with its row in the block and its column in the matrix.
    fn draw(mut self, mut put: impl FnMut(usize, usize, f64)) {
        let (height, from, width) = (self.height, self.from, self.width);
        if self.sparsity == 1.0 {
            for row in 0..height {
                for col in from..from + width {
                    put(row, col, self.values.next());
                }
            }
        } else if stored_sparse(height, width, self.sparsity) {
            // From one non-zero to the next, by a geometric distribution.
            let log = (1.0 - self.sparsity).ln();
            let mut position = 0usize;
            loop {
                let skip = (self.zeros.next_double().ln() / log).ceil().max(1.0);
                position = position.saturating_add(skip as usize);
                if position > height * width {
                    break;
                }
                let at = position - 1;
                put(at / width, from + at % width, self.values.next());
            }
        } else {
            for row in 0..height {
                for col in from..from + width {
                    if self.zeros.next_double() <= self.sparsity {
                        put(row, col, self.values.next());
                    }
                }
            }
        }
    }
}

/// SystemML's choice of a block's layout, going by its estimates of bytes.
fn stored_sparse(rows: usize, cols: usize, sparsity: f64) -> bool {
    let (rows, cols) = (rows as f64, cols as f64);
    let share = (sparsity * rows * cols).floor() / (rows * cols);
    let filled_rows = rows.min((share * rows * cols).ceil());
    let sparse_row = 116.0 + 12.0 * (share * cols).ceil().max(4.0);
    share < SPARSE_THRESHOLD && 4.0 * rows + filled_rows * sparse_row < 8.0 * rows * cols
}

/// The values of a block's non-zeros.
pub(super) enum Values {
    Uniform {
        random: JavaRandom,
        min: f64,
        range: f64,
    },
    Normal {
        random: JavaRandom,
        second: Option<f64>,
    },
    Poisson {
        random: Well1024a,
        lambda: f64,
    },
}

/// Box and Muller's transform gives two numbers of the normal distribution at a time.
#[inline]
fn normal_pair(random: &mut JavaRandom) -> [f64; 2] {
    let (u, v) = (random.next_double(), random.next_double());
    let radius = (-2.0 * u.ln()).sqrt();
    let angle = 2.0 * std::f64::consts::PI * v;
    [radius * angle.cos(), radius * angle.sin()]
}

/// Poisson means from here on need another algorithm.
pub(super) const LARGE_MEAN: f64 = 40.0;

impl Values {
    pub(super) fn new(distribution: Distribution, seed: i64) -> Self {
        let random = JavaRandom::new(seed);
        match distribution {
            Distribution::Uniform { min, max } => Values::Uniform {
                random,
                min,
                range: max - min,
            },
            Distribution::Normal => Values::Normal {
                random,
                second: None,
            },
            Distribution::Poisson { lambda } => Values::Poisson {
                random: Well1024a::from_long(seed),
                lambda,
            },
        }
    }

    /// As many cells' values.
    fn fill(&mut self, cells: &mut [f64]) {
        match self {
            Values::Uniform { random, min, range } => {
                let (min, range) = (*min, *range);
                for cell in cells {
                    *cell = min + range * random.next_double();
                }
            }
            Values::Normal { random, second } => {
                let waiting = usize::from(second.is_some()).min(cells.len());
                let (first, cells) = cells.split_at_mut(waiting);
                first
                    .iter_mut()
                    .for_each(|cell| *cell = second.take().unwrap_or(*cell));
                let (pairs, last) = cells.as_chunks_mut();
                pairs
                    .iter_mut()
                    .for_each(|pair| *pair = normal_pair(random));
                for cell in last {
                    let [value, other] = normal_pair(random);
                    (*cell, *second) = (value, Some(other));
                }
            }
            Values::Poisson { .. } => {
                for cell in cells {
                    *cell = self.draw();
                }
            }
        }
    }

    /// Passes over so many cells' values.
    fn skip(&mut self, cells: usize) {
        for _ in 0..cells {
            self.draw();
        }
    }

    /// A cell's value.
    pub(super) fn next(&mut self) -> f64 {
        match self {
            Values::Uniform { random, min, range } => *min + *range * random.next_double(),
            Values::Normal { .. } | Values::Poisson { .. } => self.draw(),
        }
    }

    /// A number of the distribution; of the uniform one from 0 to 1.
    pub(super) fn draw(&mut self) -> f64 {
        match self {
            Values::Uniform { random, .. } => random.next_double(),
            Values::Normal { random, second } => match second.take() {
                Some(value) => value,
                None => {
                    let [value, other] = normal_pair(random);
                    *second = Some(other);
                    value
                }
            },
            Values::Poisson { random, lambda } => {
                // Knuth: how many uniform factors until the product falls below e^-lambda.
                let limit = (-*lambda).exp();
                let (mut count, mut product) = (0u64, 1.0);
                while (count as f64) < 1000.0 * *lambda {
                    product *= random.next_double();
                    if product < limit {
                        break;
                    }
                    count += 1;
                }
                count as f64
            }
        }
    }
}
