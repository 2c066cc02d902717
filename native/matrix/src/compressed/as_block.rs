//! A compressed matrix as a block.

use std::{any::Any, ops::Range};

use fulgurite_error::Result;

use super::{ColumnGroup, CompressedMatrix, GroupEncoding, codes::TILE};
use crate::{
    CompressedBlock, CompressedCells, CsrMatrix, DenseMatrix, Extent, MatrixBlock, memory,
};

impl CompressedMatrix {
    /// The column groups of a block that is compressed.
    pub fn of(block: &MatrixBlock) -> Option<&CompressedMatrix> {
        match block {
            MatrixBlock::Compressed(compressed) => compressed.cells().as_any().downcast_ref(),
            MatrixBlock::Dense(_) | MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) => None,
        }
    }
}

impl From<CompressedMatrix> for MatrixBlock {
    fn from(matrix: CompressedMatrix) -> Self {
        MatrixBlock::Compressed(CompressedBlock::new(matrix))
    }
}

impl CompressedCells for CompressedMatrix {
    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn nnz(&self) -> usize {
        CompressedMatrix::nnz(self)
    }

    fn memory_bytes(&self) -> usize {
        CompressedMatrix::memory_bytes(self)
    }

    fn cell(&self, row: usize, col: usize) -> f64 {
        for group in self.groups.iter() {
            let Ok(at) = group.columns().binary_search(&(col as i32)) else {
                continue;
            };
            if let Some(block) = group.plain() {
                return block.get(row, at);
            }
            let mut value = 0.0;
            group.for_each_code(row..row + 1, |_, code| value = group.cell(code, at));
            return value;
        }
        0.0
    }

    fn extent(&self) -> Extent {
        let extents = self.groups.iter().map(extent_of);
        extents.fold(Extent::EMPTY, Extent::and)
    }

    fn for_each_filled(&self, visit: &mut dyn FnMut(usize, usize, f64)) {
        // A tile of rows where there is memory for it, else a row, else a cell.
        let heights = [TILE.min(self.rows), 1];
        let room = heights.iter().find_map(|height| {
            let cells = memory::zeros(memory::cells(*height, self.cols).ok()?);
            Some((*height, cells.ok()?))
        });
        let Some((height, mut room)) = room.filter(|_| self.cols > 0) else {
            for (row, col) in
                (0..self.rows).flat_map(|row| (0..self.cols).map(move |col| (row, col)))
            {
                let value = self.cell(row, col);
                if value.to_bits() != 0 {
                    visit(row, col, value);
                }
            }
            return;
        };
        for from in (0..self.rows).step_by(height.max(1)) {
            let rows = from..(from + height).min(self.rows);
            let cells = &mut room[..rows.len() * self.cols];
            self.fill(rows.clone(), 0..self.cols, cells);
            for (row, cells) in rows.zip(cells.chunks_exact(self.cols)) {
                for (col, value) in cells.iter().enumerate() {
                    if value.to_bits() != 0 {
                        visit(row, col, *value);
                    }
                }
            }
        }
    }

    fn to_dense(&self) -> Result<DenseMatrix> {
        CompressedMatrix::to_dense(self)
    }

    fn to_csr(&self) -> Result<CsrMatrix> {
        CompressedMatrix::to_csr(self)
    }

    fn rows_of(&self, range: Range<usize>) -> Result<CompressedBlock> {
        self.slice_rows(range).map(CompressedBlock::new)
    }

    fn is(&self, other: &dyn CompressedCells) -> bool {
        other.as_any().downcast_ref::<CompressedMatrix>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn extent_of(group: &ColumnGroup) -> Extent {
    if group.rows() == 0 {
        return Extent::EMPTY;
    }
    match group.encoding() {
        GroupEncoding::Empty => Extent::of(0.0),
        GroupEncoding::Constant(tuple) => Extent::of_cells(tuple),
        GroupEncoding::Coded { dictionary, .. }
        | GroupEncoding::Exceptions { dictionary, .. }
        | GroupEncoding::Runs { dictionary, .. } => {
            // Of tuples that no row has, nothing is seen.
            let tuples = dictionary.chunks_exact(group.width().max(1));
            let seen = tuples.zip(group.counts()).filter(|(_, count)| **count > 0);
            seen.map(|(tuple, _)| Extent::of_cells(tuple))
                .fold(Extent::EMPTY, Extent::and)
        }
        GroupEncoding::OneHot { on, off, .. } => {
            let of_column = |column: usize| {
                let count = group.counts()[column];
                let is_on = if count > 0 {
                    Extent::of(on[column])
                } else {
                    Extent::EMPTY
                };
                let is_off = if count < group.rows() as u64 {
                    Extent::of(off[column])
                } else {
                    Extent::EMPTY
                };
                is_on.and(is_off)
            };
            (0..group.width())
                .map(of_column)
                .fold(Extent::EMPTY, Extent::and)
        }
        GroupEncoding::Plain(block) => block.extent(),
    }
}
