//! Decompression: of all rows, or of some at a time.

use std::{borrow::Cow, ops::Range};

use fulgurite_error::{Error, Result};

use super::{
    ColumnGroup, CompressedMatrix, GroupEncoding,
    codes::{Code, TILE, TileRoom, with_codes},
    for_tiles,
};
use crate::{
    ByRows, CsrMatrix, DenseMatrix, Layout, MatrixBlock,
    memory::{self, by_chunks},
    parallel::csr_by_rows,
};

/// Cells of a tile that is written column by column: half of a small second-level cache.
const TILE_CELLS: usize = 1 << 15;

/// Columns and values of a tuple's cells.
type TupleCells = Vec<(i32, f64)>;

impl CompressedMatrix {
    /// # Errors
    /// `memory` when there is none for all cells.
    pub fn to_dense(&self) -> Result<DenseMatrix> {
        let values = self.expanded(0..self.rows)?;
        DenseMatrix::new(self.rows, self.cols, values)
    }

    /// Some rows (from 0), dense.
    ///
    /// # Errors
    /// `dimension` when the rows are not there; `memory`.
    pub fn dense_rows(&self, rows: Range<usize>) -> Result<DenseMatrix> {
        if rows.start > rows.end || rows.end > self.rows {
            return Err(Error::dimension(format!(
                "rows {} to {} (exclusive) of a compressed matrix of {}",
                rows.start, rows.end, self.rows
            )));
        }
        DenseMatrix::new(rows.len(), self.cols, self.expanded(rows)?)
    }

    /// The matrix in the layout that its non-zeros ask for.
    ///
    /// # Errors
    /// `memory` when there is none for it.
    pub fn to_block(&self) -> Result<MatrixBlock> {
        match Layout::best(self.rows, self.cols, self.nnz()) {
            Layout::Dense => self.to_dense().map(MatrixBlock::Dense),
            layout @ (Layout::Csr | Layout::Coordinate | Layout::Compressed) => {
                MatrixBlock::Csr(self.to_csr()?).in_layout(layout)
            }
        }
    }

    /// # Errors
    /// `unsupported` when there are more columns than a CSR index can hold; `memory`.
    pub fn to_csr(&self) -> Result<CsrMatrix> {
        let stored = self.nonzero_tuples();
        let plain = self.plain_by_rows();
        let per_row = self.nnz() / self.rows.max(1) + self.groups.len();
        csr_by_rows(self.rows, self.cols, per_row, |rows, part| {
            let mut cells: Vec<Vec<(i32, f64)>> = vec![Vec::new(); rows.len()];
            for ((group, stored), plain) in self.groups.iter().zip(&stored).zip(&plain) {
                let columns = group.columns();
                if let Some(plain) = plain {
                    for (row, cells) in rows.clone().zip(&mut cells) {
                        plain_cells(plain, row, |at, value| cells.push((columns[at], value)));
                    }
                    continue;
                }
                group.for_each_code(rows.clone(), |row, code| {
                    let cells = &mut cells[row - rows.start];
                    match stored {
                        Some(stored) => cells.extend_from_slice(&stored[code]),
                        None => cells.extend(
                            columns
                                .get(code)
                                .map(|column| (*column, group.cell(code, code))),
                        ),
                    }
                });
            }
            for cells in &mut cells {
                if !cells.is_sorted_by_key(|cell| cell.0) {
                    cells.sort_unstable_by_key(|cell| cell.0);
                }
                cells
                    .iter()
                    .for_each(|(column, value)| part.push(*column as usize, *value));
                part.end_row();
            }
        })
    }

    /// The cells of each tuple that are not 0; none for one-hot groups of which only one is.
    fn nonzero_tuples(&self) -> Vec<Option<Vec<TupleCells>>> {
        let of_group = |group: &ColumnGroup| {
            if let GroupEncoding::OneHot { off, .. } = group.encoding()
                && off.iter().all(|value| *value == 0.0)
            {
                return None;
            }
            let tuple = |code: usize| {
                let cells = group.columns().iter().enumerate();
                let cells = cells.map(|(at, column)| (*column, group.cell(code, at)));
                cells.filter(|(_, value)| *value != 0.0).collect()
            };
            Some((0..group.distinct()).map(tuple).collect())
        };
        self.groups.iter().map(of_group).collect()
    }

    /// The blocks of groups that are not compressed.
    pub(super) fn plain_by_rows(&self) -> Vec<Option<ByRows<'_>>> {
        self.groups.iter().map(plain_rows).collect()
    }

    /// Writes the cells of some rows and columns, row after row, into `out`.
    pub fn fill(&self, rows: Range<usize>, cols: Range<usize>, out: &mut [f64]) {
        if cols == (0..self.cols) {
            out.fill(0.0);
            let plain = self.plain_by_rows();
            for_tiles(rows.clone(), |tile| {
                let cells =
                    (tile.start - rows.start) * self.cols..(tile.end - rows.start) * self.cols;
                self.expand_into(&plain, tile, &mut out[cells]);
            });
            return;
        }
        let width = cols.len();
        for group in self.groups.iter() {
            for (at, column) in group.columns().iter().enumerate() {
                let Some(col) = (*column as usize).checked_sub(cols.start) else {
                    continue;
                };
                if col >= width {
                    break;
                }
                match group.plain() {
                    Some(block) => rows.clone().enumerate().for_each(|(place, row)| {
                        out[place * width + col] = block.get(row, at);
                    }),
                    None => group.for_each_code(rows.clone(), |row, code| {
                        out[(row - rows.start) * width + col] = group.cell(code, at);
                    }),
                }
            }
        }
    }

    fn expanded(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        let (start, cols) = (rows.start, self.cols);
        let plain = self.plain_by_rows();
        let tile = (TILE_CELLS / cols.max(1)).clamp(8, TILE);
        by_chunks(
            memory::cells(rows.len(), cols)?,
            tile * cols,
            |chunk, out| {
                let from = start + chunk * tile;
                self.expand_into(&plain, from..from + out.len() / cols, out);
            },
        )
    }

    /// Writes rows, at most a tile of them, into cells that are 0.
    pub(super) fn expand_into(
        &self,
        plain: &[Option<ByRows<'_>>],
        rows: Range<usize>,
        out: &mut [f64],
    ) {
        let mut room = TileRoom::default();
        for (group, plain) in self.groups.iter().zip(plain) {
            let columns = group.columns();
            let outs = out.chunks_exact_mut(self.cols);
            if let Some(plain) = plain {
                for (row, out) in rows.clone().zip(outs) {
                    plain_cells(plain, row, |at, value| out[columns[at] as usize] = value);
                }
                continue;
            }
            let width = columns.len();
            let codes = group.tile(rows.clone(), &mut room);
            match group.encoding() {
                GroupEncoding::Empty | GroupEncoding::Plain(_) => {}
                GroupEncoding::Constant(tuple) => {
                    outs.for_each(|out| write_tuple(out, columns, tuple));
                }
                GroupEncoding::Coded { dictionary, .. }
                | GroupEncoding::Exceptions { dictionary, .. }
                | GroupEncoding::Runs { dictionary, .. } => {
                    if let [column] = columns {
                        let column = *column as usize;
                        with_codes!(codes, (), |codes| for (out, code) in outs.zip(codes) {
                            out[column] = dictionary[code.place()];
                        });
                    } else {
                        with_codes!(codes, (), |codes| for (out, code) in outs.zip(codes) {
                            let from = code.place() * width;
                            write_tuple(out, columns, &dictionary[from..from + width]);
                        });
                    }
                }
                GroupEncoding::OneHot { on, off, .. } => {
                    let is_zero = off.iter().all(|value| value.to_bits() == 0);
                    with_codes!(codes, (), |codes| for (out, code) in outs.zip(codes) {
                        if !is_zero {
                            write_tuple(out, columns, off);
                        }
                        let code = code.place();
                        if code < width {
                            out[columns[code] as usize] = on[code];
                        }
                    });
                }
            }
        }
    }
}

fn plain_rows(group: &ColumnGroup) -> Option<ByRows<'_>> {
    match group.plain()? {
        MatrixBlock::Dense(dense) => Some(ByRows::Dense(Cow::Borrowed(dense))),
        MatrixBlock::Csr(csr) => Some(ByRows::Csr(Cow::Borrowed(csr))),
        // Groups have no others.
        MatrixBlock::Coordinate(_) | MatrixBlock::Compressed(_) => None,
    }
}

#[inline(always)]
fn write_tuple(out: &mut [f64], columns: &[i32], tuple: &[f64]) {
    for (column, value) in columns.iter().zip(tuple) {
        out[*column as usize] = *value;
    }
}

/// Calls `visit(column in the group, value)` for cells of a row that may not be 0.
fn plain_cells(plain: &ByRows<'_>, row: usize, mut visit: impl FnMut(usize, f64)) {
    match plain {
        ByRows::Dense(dense) => {
            dense
                .row(row)
                .iter()
                .enumerate()
                .for_each(|(at, value)| visit(at, *value));
        }
        ByRows::Csr(csr) => {
            let (indices, values) = csr.row(row);
            indices
                .iter()
                .zip(values)
                .for_each(|(at, value)| visit(*at as usize, *value));
        }
    }
}
