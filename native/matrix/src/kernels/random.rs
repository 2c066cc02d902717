//! `rand` and `sample` with SystemML's numbers for SystemML's seeds, or with SystemDS's: see [`RandStream`].
//!
//! The two generators are those of Java: `java.util.Random`, and commons-math's Well1024a, which draws a
//! seed for each block of 1000 x 1000 cells. Blocks are independent of each other, so they are made in
//! parallel, and a part of the rows takes the blocks that it crosses.

mod block_seeds;
mod blocks;
mod generators;

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::{
    block_seeds::block_seeds,
    blocks::{BLOCK, Cell, Drawn, LARGE_MEAN},
    generators::JavaRandom,
};
use super::{generate::fill, results::settle};
use crate::{
    CsrMatrix, Interrupt, MatrixBlock, SPARSE_THRESHOLD,
    memory::{self, zeros},
    parallel::cells,
};

/// What a random cell is drawn from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    Uniform { min: f64, max: f64 },
    Normal,
    Poisson { lambda: f64 },
}

/// Whose numbers `rand` gives for a seed. `sample` is the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RandStream {
    /// SystemML 1.2: the block's seed starts both the values and the pattern of zeros.
    #[default]
    SystemMl,
    /// SystemDS 3.4: the first value that the block's seed gives is the seed of the pattern of zeros, so that values
    /// and pattern are independent; the cells take the values after it.
    SystemDs,
}

/// A random matrix; a cell is non-zero with probability `sparsity`. A `seed` of `None` is a fresh one.
///
/// # Errors
/// `runtime` for a sparsity outside 0 to 1, `unsupported` for a Poisson mean of 40 and more.
pub fn rand(
    rows: usize,
    cols: usize,
    distribution: Distribution,
    sparsity: f64,
    seed: Option<i64>,
    stream: RandStream,
) -> Result<MatrixBlock> {
    rand_rows(rows, cols, distribution, sparsity, seed, stream, 0..rows)
}

/// The rows `part` of the matrix that [`rand`] gives; what lies outside of the blocks that they cross is not drawn.
///
/// # Errors
/// As [`rand`]; `dimension` for rows that the matrix does not have.
pub fn rand_rows(
    rows: usize,
    cols: usize,
    distribution: Distribution,
    sparsity: f64,
    seed: Option<i64>,
    stream: RandStream,
    part: Range<usize>,
) -> Result<MatrixBlock> {
    if part.start > part.end || part.end > rows {
        return Err(Error::dimension(format!(
            "rows {} to {} of a random matrix with {rows} rows",
            part.start + 1,
            part.end
        )));
    }
    if !(0.0..=1.0).contains(&sparsity) {
        return Err(Error::runtime(format!(
            "rand needs a sparsity from 0 to 1, not {sparsity}"
        )));
    }
    let height = part.len();
    match distribution {
        Distribution::Uniform { min: 0.0, max: 0.0 } => return fill(0.0, height, cols),
        Distribution::Uniform { min, max } if min == max && sparsity == 1.0 => {
            return fill(min, height, cols);
        }
        Distribution::Poisson { lambda } if !(lambda > 0.0 && lambda < LARGE_MEAN) => {
            return Err(Error::unsupported(format!(
                "rand draws Poisson numbers of means from 0 to {LARGE_MEAN}, not {lambda}"
            )));
        }
        _ => {}
    }
    if height == 0 || cols == 0 || sparsity == 0.0 {
        return fill(0.0, height, cols);
    }
    // Before seeds are drawn for all of it, which alone may take longer than anybody waits.
    let is_sparse = cols > 1 && sparsity < SPARSE_THRESHOLD && i32::try_from(cols).is_ok();
    match is_sparse {
        true => {
            let stored = height as f64 * cols as f64 * sparsity;
            memory::admit((12.0 * stored + 8.0 * height as f64) as usize)?;
        }
        false => memory::admit(memory::bytes_of::<f64>(cells(height, cols)?)?)?,
    }
    let blocks_across = cols.div_ceil(BLOCK);
    let blocks_below = part.start / BLOCK..part.end.div_ceil(BLOCK);
    let first_block = blocks_below.start * blocks_across;
    let seeds = block_seeds(
        seed.unwrap_or_else(fresh_seed),
        first_block..blocks_below.end * blocks_across,
    )?;
    let interrupt = Interrupt::current();
    let drawn = Drawn {
        rows,
        cols,
        distribution,
        sparsity,
        stream,
        part,
        seeds,
        first_block,
    };
    if is_sparse {
        // The rows of `part` in a row of blocks, which are drawn as a whole.
        let cells_of_row = sparsity * cols as f64 * size_of::<Cell>() as f64;
        let rows_of = |below: usize| {
            interrupt.check()?;
            memory::admit((cells_of_row * drawn.height(below) as f64) as usize)?;
            drawn.sparse_rows(below, &interrupt)
        };
        let drawn = blocks_below.into_par_iter().map(rows_of);
        let drawn = drawn.collect::<Result<Vec<Vec<Vec<Cell>>>>>()?;
        let stored = drawn.iter().flatten().map(Vec::len).sum();
        let mut pointers = memory::room(height + 1)?;
        pointers.push(0i64);
        let (mut indices, mut values) = (memory::room(stored)?, memory::room(stored)?);
        for row in drawn.into_iter().flatten() {
            indices.extend(row.iter().map(|(col, _)| *col as i32));
            values.extend(row.iter().map(|(_, value)| *value));
            pointers.push(values.len() as i64);
        }
        return CsrMatrix::new(height, cols, pointers, indices, values).and_then(settle);
    }
    let mut values = zeros(cells(height, cols)?)?;
    let mut rest = &mut values[..];
    let mut tasks = memory::room(blocks_below.len())?;
    for below in blocks_below {
        let (out, others) = rest.split_at_mut(drawn.kept(below).len() * cols);
        tasks.push((below, out));
        rest = others;
    }
    tasks
        .into_par_iter()
        .try_for_each(|(below, out)| drawn.dense_rows(below, out, &interrupt))?;
    MatrixBlock::dense(height, cols, values)
}

/// `sample(range, size, replace, seed)`: a column vector of numbers from 1 to `range`.
///
/// # Errors
/// `runtime` when there are fewer numbers than asked for, or none.
pub fn sample(range: i64, size: usize, replace: bool, seed: Option<i64>) -> Result<MatrixBlock> {
    if range < 1 || (!replace && size as i64 > range) {
        return Err(
            Error::runtime(format!("cannot draw {size} numbers from 1 to {range}"))
                .with_help("draw fewer, or with replace=TRUE"),
        );
    }
    cells(size, 1)?;
    let mut random = JavaRandom::new(seed.unwrap_or_else(fresh_seed));
    let drawn: Vec<i64> = if replace {
        memory::collected((0..size).map(|_| 1 + random.next_long_below(range)))?
    } else {
        let mut drawn = memory::room(size)?;
        drawn.extend(1..=size as i64);
        let bound = |bound: i64| {
            i32::try_from(bound).map_err(|_| {
                Error::unsupported(format!("sample without replacement from 1 to {range}"))
            })
        };
        let (size_bound, _) = (bound(size as i64)?, bound(range)?);
        for number in size as i64 + 1..=range {
            if random.next_int_below(bound(number)?) < size_bound {
                drawn[random.next_int_below(size_bound) as usize] = number;
            }
        }
        for index in 0..size.saturating_sub(1) {
            let other = index + random.next_int_below(bound((size - index) as i64)?) as usize;
            drawn.swap(index, other);
        }
        drawn
    };
    let values = memory::collected(drawn.into_iter().map(|number| number as f64))?;
    MatrixBlock::dense(size, 1, values)
}

/// A seed that differs from call to call: the standard library seeds its hash maps that way.
pub fn fresh_seed() -> i64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0u8) as i64
}

#[cfg(test)]
mod tests;
