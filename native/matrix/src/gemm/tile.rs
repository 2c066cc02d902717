//! The innermost loop of a product: a tile of the result, whose sums stay in registers.
//!
//! Each sum begins at zero and takes the products in the order of the depth, each by one fused multiply-add. So its bits are
//! the same in all tiles and with all instructions, but for plain arrays, which round the products as well.

use super::view::{View, ViewMut};
use crate::lanes::{self, CACHE_LINE, Instructions, Kernel, Lanes, run_with};

/// What becomes of the cells that a product is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    Replace,
    Add,
    /// The product is taken from the cells.
    Subtract,
}

impl Write {
    /// What becomes of the cells when a later part of the depth is written to them.
    pub(super) fn next(self) -> Self {
        match self {
            Write::Replace | Write::Add => Write::Add,
            Write::Subtract => Write::Subtract,
        }
    }
}

/// How many sums the registers of some instructions hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileShape {
    pub rows: usize,
    pub vectors: usize,
    /// Cells of a vector.
    pub width: usize,
}

/// The most of any instructions, which [`multiply`] has a loop for each of.
const MOST_ROWS: usize = 8;
const MOST_VECTORS: usize = 3;

impl TileShape {
    pub fn of(instructions: Instructions) -> Self {
        struct Ask<'a>(&'a mut TileShape);
        impl Kernel for Ask<'_> {
            #[inline(always)]
            unsafe fn run<L: Lanes>(self) {
                let (rows, vectors) = L::TILE;
                *self.0 = TileShape {
                    rows: rows.min(MOST_ROWS),
                    vectors: vectors.min(MOST_VECTORS),
                    width: L::WIDTH,
                };
            }
        }
        let mut shape = TileShape {
            rows: 1,
            vectors: 1,
            width: 1,
        };
        // SAFETY: constants need no instructions.
        unsafe { run_with(instructions, Ask(&mut shape)) };
        shape
    }

    /// Columns of a tile.
    pub fn cols(&self) -> usize {
        self.vectors * self.width
    }
}

/// Cells that a tile reads at each step along the depth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip<'a> {
    pub cells: &'a [f64],
    /// From a cell to the next one of the same step, and from a step to the next one.
    pub across: usize,
    pub along: usize,
}

impl<'a> Strip<'a> {
    /// The rows of a left operand, where they are.
    pub fn of_rows(left: View<'a>) -> Self {
        Strip {
            cells: left.cells(),
            across: left.down(),
            along: left.across(),
        }
    }

    /// Without the first cells of each step.
    pub fn from(self, cell: usize) -> Self {
        let cells = self.cells.get(cell * self.across..).unwrap_or(&[]);
        Strip { cells, ..self }
    }

    fn has(&self, steps: usize, cells: usize) -> bool {
        let last = (steps - 1)
            .checked_mul(self.along)
            .zip((cells - 1).checked_mul(self.across))
            .and_then(|(along, across)| along.checked_add(across));
        last.is_some_and(|last| last < self.cells.len())
    }
}

/// What later tiles need, which is fetched meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead<'a> {
    /// Cells of a right operand, asked for one after the other, `step` cells further at each step of the depth.
    pub cells: &'a [f64],
    pub step: usize,
    /// Where the next tile's result begins, whose rows are as far apart as this one's. Nothing is read there.
    ///
    /// Its rows are asked for one by one, spread over the depth. All at once they hold up the operands: on a Zen 5 processor that took
    /// a tenth of a large product's time.
    pub out: *const f64,
}

/// What a tile reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct TileOperands<'a> {
    /// Each step has a cell for each row of the tile.
    pub left: Strip<'a>,
    /// Each step has a cell for each column, and more up to whole vectors. They stand side by side.
    pub right: Strip<'a>,
    pub depth: usize,
    pub ahead: Ahead<'a>,
}

/// `out = left %*% right`, `out += left %*% right` or `out -= left %*% right` for a tile of at most the instructions' [`TileShape`].
///
/// # Panics
/// If the tile is larger than the shape, or a strip too short.
#[inline(always)]
pub(super) fn multiply(
    instructions: Instructions,
    shape: TileShape,
    operands: TileOperands<'_>,
    out: ViewMut<'_>,
    write: Write,
) {
    let (rows, cols) = (out.rows(), out.cols());
    if rows == 0 || cols == 0 {
        return;
    }
    let TileOperands {
        left, right, depth, ..
    } = operands;
    let vectors = cols.div_ceil(shape.width);
    assert!(rows <= shape.rows && vectors <= shape.vectors);
    assert!(depth == 0 || left.has(depth, rows) && right.has(depth, vectors * shape.width));
    assert!(right.across == 1);
    // The innermost loop reads these where they are stored now. A copy reads two fields at a time. The processor can't forward two
    // stores to one load, and waits until the last tile's results, which were stored before, are in the cache.
    let mut product = TileProduct {
        operands,
        out,
        write,
    };
    match vectors {
        1 => product.of_rows::<1>(instructions, rows),
        2 => product.of_rows::<2>(instructions, rows),
        _ => product.of_rows::<MOST_VECTORS>(instructions, rows),
    }
}

struct TileProduct<'a> {
    operands: TileOperands<'a>,
    out: ViewMut<'a>,
    write: Write,
}

impl TileProduct<'_> {
    fn of_rows<const VECTORS: usize>(&mut self, instructions: Instructions, rows: usize) {
        match rows {
            1 => self.run::<1, VECTORS>(instructions),
            2 => self.run::<2, VECTORS>(instructions),
            3 => self.run::<3, VECTORS>(instructions),
            4 => self.run::<4, VECTORS>(instructions),
            5 => self.run::<5, VECTORS>(instructions),
            6 => self.run::<6, VECTORS>(instructions),
            7 => self.run::<7, VECTORS>(instructions),
            _ => self.run::<MOST_ROWS, VECTORS>(instructions),
        }
    }

    fn run<const ROWS: usize, const VECTORS: usize>(&mut self, instructions: Instructions) {
        let tile = FixedTile::<ROWS, VECTORS>(self);
        // SAFETY: the caller has checked the strips, and the instructions are present.
        unsafe { run_with(instructions, tile) }
    }
}

/// Sums of so many rows and vectors.
struct FixedTile<'t, 'a, const ROWS: usize, const VECTORS: usize>(&'t mut TileProduct<'a>);

impl<const ROWS: usize, const VECTORS: usize> Kernel for FixedTile<'_, '_, ROWS, VECTORS> {
    /// # Safety
    /// The instructions are present. `out` has as many rows, and its columns end in the last vector. `left` has a cell for each row at each
    /// step, `right` whole vectors.
    #[inline(always)]
    #[expect(
        clippy::needless_range_loop,
        reason = "closures and iterators over vectors may be called, without the instructions: ten times slower"
    )]
    unsafe fn run<L: Lanes>(self) {
        let (rows, vectors) = L::TILE;
        if ROWS > rows || VECTORS > vectors {
            // No tile of these instructions is so large: no code for it.
            return;
        }
        let TileProduct {
            operands,
            out,
            write,
        } = self.0;
        let TileOperands {
            left,
            right,
            depth,
            ahead,
        } = *operands;
        let (last, stride) = (out.cols() - (VECTORS - 1) * L::WIDTH, out.stride());
        let out = out.start();
        let (across, along) = (left.across, left.along);
        let (mut cell, mut vector) = (left.cells.as_ptr(), right.cells.as_ptr());
        let mut fetched = ahead.cells.as_ptr();
        let mut sums = [[L::splat(0.0); VECTORS]; ROWS];
        let mut from = 0;
        for later in 0..ROWS {
            let later_row = ahead.out.wrapping_add(later * stride);
            // Each cache line, wherever the row begins in one.
            for cell in (0..VECTORS * L::WIDTH).step_by(CACHE_LINE) {
                L::prefetch(later_row.wrapping_add(cell));
            }
            L::prefetch(later_row.wrapping_add(VECTORS * L::WIDTH - 1));
            let to = depth * (later + 1) / ROWS;
            for _ in from..to {
                let mut factors = [L::splat(0.0); VECTORS];
                for at in 0..VECTORS {
                    // SAFETY: the step has whole vectors.
                    factors[at] = unsafe { L::load(vector.wrapping_add(at * L::WIDTH)) };
                }
                for row in 0..ROWS {
                    // SAFETY: the step has a cell for each row.
                    let cell = L::splat(unsafe { *cell.wrapping_add(row * across) });
                    for at in 0..VECTORS {
                        sums[row][at] = cell.mul_add(factors[at], sums[row][at]);
                    }
                }
                L::prefetch(fetched);
                fetched = fetched.wrapping_add(ahead.step);
                cell = cell.wrapping_add(along);
                vector = vector.wrapping_add(right.along);
            }
            from = to;
        }
        for row in 0..ROWS {
            for at in 0..VECTORS {
                let count = if at + 1 == VECTORS { last } else { L::WIDTH };
                // SAFETY: `out` has the row, and `count` columns from this one on.
                unsafe {
                    let out = out.add(row * stride + at * L::WIDTH);
                    let sum = match write {
                        Write::Replace => sums[row][at],
                        Write::Add => {
                            let before: L = lanes::load(out, count);
                            L::splat(1.0).mul_add(before, sums[row][at])
                        }
                        Write::Subtract => {
                            let before: L = lanes::load(out, count);
                            L::splat(-1.0).mul_add(sums[row][at], before)
                        }
                    };
                    lanes::store(sum, out, count);
                }
            }
        }
    }
}
