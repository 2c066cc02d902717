//! Dummy columns: neighbours of which at most one is not 0 in a row, and that have one value where they are not.
//!
//! A row forbids blocks that hold two of its columns. Blocks grow from the left until one would.

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{
    codes::{GroupCodes, bits_for},
    group::{ColumnGroup, GroupEncoding},
    tile_tasks,
};
use crate::{ByRows, Interrupt, memory, parallel::row_tasks};

/// Narrower blocks are coded like other columns.
const LEAST_WIDTH: usize = 3;

/// Calls `visit(column, value)` for the cells of a row that are not 0. A negative zero is not.
pub(super) fn for_nonzero(matrix: &ByRows<'_>, row: usize, mut visit: impl FnMut(usize, f64)) {
    match matrix {
        ByRows::Dense(dense) => {
            for (column, value) in dense.row(row).iter().enumerate() {
                if value.to_bits() != 0 {
                    visit(column, *value);
                }
            }
        }
        ByRows::Csr(csr) => {
            let (indices, values) = csr.row(row);
            for (column, value) in indices.iter().zip(values) {
                if value.to_bits() != 0 {
                    visit(*column as usize, *value);
                }
            }
        }
    }
}

/// What rows say about columns.
struct Seen {
    /// Bits of the value that a column has where it is not 0.
    values: Vec<u64>,
    has_several: Vec<u8>,
    /// The first column that is not 0 in one row with this one.
    next: Vec<usize>,
    counts: Vec<usize>,
}

impl Seen {
    fn new(cols: usize) -> Result<Self> {
        Ok(Seen {
            values: memory::zeros_of(cols)?,
            has_several: memory::zeros_of(cols)?,
            next: memory::filled(cols, usize::MAX)?,
            counts: memory::zeros_of(cols)?,
        })
    }

    fn add(&mut self, column: usize, bits: u64) {
        match self.values[column] {
            0 => self.values[column] = bits,
            seen => self.has_several[column] |= u8::from(seen != bits),
        }
    }

    fn add_row(&mut self, matrix: &ByRows<'_>, row: usize) {
        let mut last: Option<usize> = None;
        for_nonzero(matrix, row, |column, value| {
            self.add(column, value.to_bits());
            self.counts[column] += 1;
            if let Some(last) = last {
                self.next[last] = self.next[last].min(column);
            }
            last = Some(column);
        });
    }

    fn merge(&mut self, other: &Seen) {
        for column in 0..self.values.len() {
            if other.values[column] != 0 {
                self.add(column, other.values[column]);
            }
            self.has_several[column] |= other.has_several[column];
            self.next[column] = self.next[column].min(other.next[column]);
            self.counts[column] += other.counts[column];
        }
    }
}

/// A block of dummy columns.
#[derive(Debug, Clone)]
pub(super) struct DummyBlock {
    pub columns: Range<usize>,
    on: Vec<f64>,
}

/// Blocks of dummy columns that take less as one code. All rows are looked at.
pub(super) fn dummy_blocks(
    matrix: &ByRows<'_>,
    (rows, cols): (usize, usize),
) -> Result<Vec<DummyBlock>> {
    let interrupt = Interrupt::current();
    let cells = match matrix {
        ByRows::Dense(_) => rows * cols,
        ByRows::Csr(csr) => csr.stored(),
    };
    // Each task takes a few numbers for each column.
    let most_tasks = (cells / (8 * cols.max(1))).clamp(1, 32);
    let parts = row_tasks(rows, rows.div_ceil(most_tasks))
        .into_par_iter()
        .map(|task| {
            interrupt.check()?;
            let mut seen = Seen::new(cols)?;
            task.for_each(|row| seen.add_row(matrix, row));
            Ok(seen)
        });
    let mut seen = Seen::new(cols)?;
    parts
        .collect::<Result<Vec<Seen>>>()?
        .iter()
        .for_each(|part| seen.merge(part));
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < cols {
        let (mut end, mut limit, mut stored) = (start, cols, 0usize);
        while end < limit && seen.has_several[end] == 0 {
            limit = limit.min(seen.next[end]);
            stored += seen.counts[end];
            end += 1;
        }
        let width = end - start;
        let coded = rows * usize::from(bits_for(width + 1)) / 8 + 20 * width;
        let uncoded = match matrix {
            ByRows::Dense(_) => 8 * rows * width,
            ByRows::Csr(_) => 12 * stored,
        };
        if width >= LEAST_WIDTH && coded < uncoded {
            let on = seen.values[start..end].iter().map(|bits| match bits {
                0 => 1.0,
                bits => f64::from_bits(*bits),
            });
            blocks.push(DummyBlock {
                columns: start..end,
                on: memory::collected(on)?,
            });
        }
        start = end.max(start + 1);
    }
    Ok(blocks)
}

/// The groups of blocks.
pub(super) fn encode_dummies(
    matrix: &ByRows<'_>,
    rows: usize,
    cols: usize,
    blocks: &[DummyBlock],
) -> Result<Vec<ColumnGroup>> {
    if blocks.is_empty() {
        return Ok(Vec::new());
    }
    // For each column the number of its block, from 1.
    let mut block_of: Vec<usize> = memory::zeros_of(cols)?;
    for (number, block) in blocks.iter().enumerate() {
        block_of[block.columns.clone()].fill(number + 1);
    }
    let interrupt = Interrupt::current();
    let parts = tile_tasks(rows).into_par_iter().map(|task| {
        interrupt.check()?;
        let none = |block: &DummyBlock| memory::filled(task.len(), block.columns.len() as u32);
        let mut codes = blocks.iter().map(none).collect::<Result<Vec<Vec<u32>>>>()?;
        for row in task.clone() {
            for_nonzero(matrix, row, |column, _| {
                if let Some(block) = block_of[column].checked_sub(1) {
                    codes[block][row - task.start] = (column - blocks[block].columns.start) as u32;
                }
            });
        }
        // In their own width, or they would take as much as the matrix.
        let narrow = codes.into_iter().zip(blocks);
        narrow
            .map(|(codes, block)| GroupCodes::new(block.columns.len() + 1, codes))
            .collect()
    });
    let parts = parts.collect::<Result<Vec<Vec<GroupCodes>>>>()?;
    let groups = blocks.par_iter().enumerate().map(|(number, block)| {
        let width = block.columns.len();
        let mut codes = memory::room(rows)?;
        for part in &parts {
            codes.extend(part[number].iter().map(|code| code as u32));
        }
        let columns = memory::collected(block.columns.clone().map(|column| column as i32))?;
        let encoding = GroupEncoding::OneHot {
            on: memory::copied(&block.on)?.into(),
            off: memory::zeros(width)?.into(),
            codes: GroupCodes::new(width + 1, codes)?,
        };
        ColumnGroup::new(rows, columns, encoding)
    });
    groups.collect()
}
