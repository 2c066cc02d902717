//! Compressed matrices: lossless column groups that operators work on without decompressing them.
//!
//! A [`CompressedMatrix`] is cut into [`ColumnGroup`]s. A group encodes the tuples of values that its columns have in a row: once
//! each in a dictionary, and a code for each row that names one. Every column belongs to exactly one group, values are kept to the
//! bit, and all buffers are reference-counted.
//!
//! Operators visit a tile of rows at a time. Whatever the encoding, a group gives the codes of a tile as a slice (`codes`, `group`);
//! products and aggregates then look partial results up in a table of one entry for each tuple (`product`, `reduce`, `crossing`),
//! and cell functions change dictionaries only (`cells`). `compress` finds the groups; start there for how.
//!
//! The scheme is that of Elgohary et al., *Compressed Linear Algebra for Large-Scale Machine Learning* (VLDB 2016), and Baunsgaard
//! and Boehm, *AWARE* (SIGMOD 2023).

mod as_block;
mod cells;
mod co_code;
mod codes;
mod compress;
mod crossing;
mod dummies;
mod encode;
mod expand;
mod group;
mod product;
mod ranges;
mod reduce;
mod sample;
#[cfg(test)]
mod tests;
mod wire;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use fulgurite_error::{Error, Result};

pub use codes::GroupCodes;
pub use compress::{CompressionPlan, compress, plan};
pub use group::{ColumnGroup, GroupEncoding};
pub use wire::{COMPRESSED_VERSION, WireBuffers};

use codes::TILE;

/// A matrix of column groups. Immutable; clones share all buffers.
#[derive(Debug, Clone, PartialEq)]
pub struct CompressedMatrix {
    rows: usize,
    cols: usize,
    groups: Arc<[ColumnGroup]>,
}

impl CompressedMatrix {
    /// A matrix of these groups.
    ///
    /// # Errors
    /// `data` unless all groups have `rows` rows and each of `cols` columns is in exactly one.
    ///
    /// ```
    /// use fulgurite_matrix::compressed::{ColumnGroup, CompressedMatrix, GroupCodes};
    /// let codes = GroupCodes::new(2, [0, 1, 1])?;
    /// let coded = ColumnGroup::coded(vec![0, 2], vec![1.0, 2.0, 3.0, 4.0], codes)?;
    /// let empty = ColumnGroup::empty(3, vec![1])?;
    /// let matrix = CompressedMatrix::new(3, 3, vec![coded, empty])?;
    /// assert_eq!(matrix.to_dense()?.row(1), [3.0, 0.0, 4.0]);
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    pub fn new(rows: usize, cols: usize, groups: Vec<ColumnGroup>) -> Result<Self> {
        // Before memory is taken for a number of columns that somebody wrote.
        let grouped = groups.iter().map(ColumnGroup::width).sum::<usize>();
        if grouped != cols {
            return Err(Error::data(format!(
                "the groups of a compressed matrix of {cols} columns have {grouped}"
            )));
        }
        let mut seen: Vec<u8> = crate::memory::zeros_of(cols)?;
        for group in &groups {
            if group.rows() != rows {
                return Err(Error::data(format!(
                    "a group of {} rows in a compressed matrix of {rows}",
                    group.rows()
                )));
            }
            for column in group.columns() {
                match seen.get_mut(*column as usize) {
                    None => {
                        return Err(Error::data(format!(
                            "column {column} of a group is outside a compressed matrix of {cols} columns"
                        )));
                    }
                    Some(1) => {
                        return Err(Error::data(format!(
                            "column {column} of a compressed matrix is in two groups"
                        )));
                    }
                    Some(seen) => *seen = 1,
                }
            }
        }
        Ok(CompressedMatrix {
            rows,
            cols,
            groups: groups.into(),
        })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn groups(&self) -> &[ColumnGroup] {
        &self.groups
    }

    /// Cells that are not 0 (NaN counts).
    pub fn nnz(&self) -> usize {
        self.groups.iter().map(ColumnGroup::nnz).sum()
    }

    /// Bytes of the buffers. A buffer that groups share counts for each.
    pub fn memory_bytes(&self) -> usize {
        self.groups.iter().map(ColumnGroup::memory_bytes).sum()
    }

    /// How many groups there are of each [kind](ColumnGroup::name).
    pub fn kinds(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for group in self.groups.iter() {
            *kinds.entry(group.name()).or_default() += 1;
        }
        kinds
    }

    /// Bytes of a dense matrix of this size for each byte of the buffers.
    pub fn ratio(&self) -> f64 {
        8.0 * self.rows as f64 * self.cols as f64 / self.memory_bytes().max(1) as f64
    }
}

/// Calls a function with each tile of rows.
fn for_tiles(rows: Range<usize>, mut visit: impl FnMut(Range<usize>)) {
    for from in rows.clone().step_by(TILE) {
        visit(from..(from + TILE).min(rows.end));
    }
}

/// Rows cut into tasks, of whole tiles. By shapes alone, so that sums have the same bits on any number of threads.
fn tile_tasks(rows: usize) -> Vec<Range<usize>> {
    const MOST_TASKS: usize = 32;
    /// Fewer are not worth another thread.
    const LEAST_ROWS: usize = 8 * TILE;
    let per_task = rows.div_ceil(MOST_TASKS).next_multiple_of(TILE);
    crate::parallel::row_tasks(rows, per_task.max(LEAST_ROWS))
}
