//! The matrix of coded columns, by blocks of rows.
//!
//! A dummy-coded column is not coded first: the pass over the rows looks up the code of its key, which takes neither the time nor the
//! memory of a column of codes. Blocks are of one length, so that no result depends on the number of threads.

use arrow::{
    array::{Array, DictionaryArray, StringArray},
    datatypes::Int32Type,
};
use fulgurite_error::Result;
use fulgurite_matrix::{CsrMatrix, Interrupt, MatrixBlock, memory};
use rayon::prelude::*;

use super::{Coding, ColumnSpec, columns::Coder};
use crate::Column;

/// Rows of a block: their indices and values stay in the second-level cache.
const BLOCK_ROWS: usize = 1 << 13;

/// Where the cells of a column of the frame come from, and their columns `from..to` in the matrix.
pub(super) struct Source<'a> {
    from: usize,
    to: usize,
    cells: Cells<'a>,
}

enum Cells<'a> {
    /// One number a row.
    Numbers(Vec<f64>),
    /// A one in the column of the code; 0 is no code.
    Dummy(Vec<u32>),
    /// The same by the key of a dictionary.
    DummyByKey {
        column: &'a DictionaryArray<Int32Type>,
        codes: Vec<u32>,
    },
    /// A row of the embedding.
    Embedded {
        codes: Vec<u32>,
        embedding: &'a MatrixBlock,
    },
}

impl<'a> Source<'a> {
    pub(super) fn new(
        (from, to): (usize, usize),
        column: &'a Column,
        name: &str,
        plan: &ColumnSpec,
        coder: &Coder,
        embedding: Option<&'a MatrixBlock>,
    ) -> Result<Self> {
        let most = (to - from) as f64;
        let place = |code: f64, most: f64| match code >= 1.0 && code <= most {
            // A matrix has no more columns, nor an embedding more rows, than that.
            true => code as u32,
            false => 0,
        };
        let cells = match (plan.coding, embedding) {
            (Coding::Embed, Some(embedding)) => {
                let codes = coder.encode(column, name)?;
                let rows = embedding.rows() as f64;
                let codes = codes.into_iter().map(|code| place(code, rows));
                Cells::Embedded {
                    codes: memory::collected(codes)?,
                    embedding,
                }
            }
            _ if !plan.dummycode => Cells::Numbers(coder.encode(column, name)?),
            _ => match (column, coder) {
                (Column::Coded(coded), Coder::Recode { .. } | Coder::Hash(_))
                    if coded.values().as_any().is::<StringArray>() =>
                {
                    let codes = coder.codes_of_keys(coded)?;
                    let codes = codes.into_iter().map(|code| place(code, most));
                    Cells::DummyByKey {
                        column: coded,
                        codes: memory::collected(codes)?,
                    }
                }
                _ => {
                    let codes = coder.encode(column, name)?;
                    let codes = codes.into_iter().map(|code| place(code, most));
                    Cells::Dummy(memory::collected(codes)?)
                }
            },
        };
        Ok(Source { from, to, cells })
    }

    /// Calls for each non-zero of a row, from left to right.
    #[inline]
    fn visit(&self, row: usize, visit: &mut impl FnMut(usize, f64)) {
        let mut one = |code: u32| {
            if code > 0 {
                visit(self.from + code as usize - 1, 1.0);
            }
        };
        match &self.cells {
            Cells::Numbers(numbers) => {
                let value = numbers[row];
                if value != 0.0 {
                    visit(self.from, value);
                }
            }
            Cells::Dummy(codes) => one(codes[row]),
            Cells::DummyByKey { column, codes } => {
                if !column.is_null(row) {
                    one(codes[column.keys().values()[row] as usize]);
                }
            }
            Cells::Embedded { codes, embedding } => {
                let Some(word) = (codes[row] as usize).checked_sub(1) else {
                    return;
                };
                for col in 0..self.to - self.from {
                    let value = embedding.get(word, col);
                    if value != 0.0 {
                        visit(self.from + col, value);
                    }
                }
            }
        }
    }

    /// How many non-zeros each row has, where that is known without a look.
    fn always_one(&self) -> bool {
        match &self.cells {
            Cells::DummyByKey { column, codes } => {
                column.keys().null_count() == 0 && codes.iter().all(|code| *code > 0)
            }
            Cells::Numbers(_) | Cells::Dummy(_) | Cells::Embedded { .. } => false,
        }
    }
}

/// The matrix of so many rows and columns.
pub(super) fn assembled(rows: usize, width: usize, sources: &[Source<'_>]) -> Result<MatrixBlock> {
    let interrupt = Interrupt::current();
    let is_dense = sources.iter().all(|source| match source.cells {
        Cells::Numbers(_) | Cells::Embedded { .. } => true,
        Cells::Dummy(_) | Cells::DummyByKey { .. } => source.to - source.from == 1,
    });
    if is_dense || i32::try_from(width).is_err() {
        let mut cells = memory::zeros(memory::cells(rows, width)?)?;
        let blocks = cells.par_chunks_mut(BLOCK_ROWS.saturating_mul(width.max(1)));
        blocks.enumerate().try_for_each(|(block, cells)| {
            interrupt.check()?;
            for (at, cells) in cells.chunks_mut(width.max(1)).enumerate() {
                let row = block * BLOCK_ROWS + at;
                for source in sources {
                    source.visit(row, &mut |col, value| cells[col] = value);
                }
            }
            Ok(())
        })?;
        return MatrixBlock::dense(rows, width, cells)?.in_best_layout();
    }
    let pointers = pointers(rows, sources, &interrupt)?;
    let nnz = pointers.last().map_or(0, |nnz| *nnz as usize);
    // Zeros are first touched by the threads that write there.
    let mut indices = memory::zeros_of::<i32>(nnz)?;
    let mut values = memory::zeros(nnz)?;
    let mut blocks = Vec::new();
    let (mut rest, mut rest_values) = (&mut indices[..], &mut values[..]);
    for from in (0..rows).step_by(BLOCK_ROWS) {
        let to = rows.min(from + BLOCK_ROWS);
        let len = (pointers[to] - pointers[from]) as usize;
        let (indices, after) = rest.split_at_mut(len);
        let (values, after_values) = rest_values.split_at_mut(len);
        (rest, rest_values) = (after, after_values);
        blocks.push((from..to, indices, values));
    }
    blocks
        .into_par_iter()
        .try_for_each(|(rows, indices, values)| {
            interrupt.check()?;
            let mut at = 0;
            for row in rows {
                for source in sources {
                    source.visit(row, &mut |col, value| {
                        // There are no more columns than an index holds.
                        indices[at] = col as i32;
                        values[at] = value;
                        at += 1;
                    });
                }
            }
            Ok(())
        })?;
    MatrixBlock::Csr(CsrMatrix::new(rows, width, pointers, indices, values)?).in_best_layout()
}

fn pointers(rows: usize, sources: &[Source<'_>], interrupt: &Interrupt) -> Result<Vec<i64>> {
    let mut pointers = memory::zeros_of::<i64>(rows + 1)?;
    let (known, others): (Vec<_>, Vec<_>) = sources.iter().partition(|source| source.always_one());
    let blocks = pointers[1..].par_chunks_mut(BLOCK_ROWS).enumerate();
    blocks.try_for_each(|(block, counts)| {
        interrupt.check()?;
        for (at, count) in counts.iter_mut().enumerate() {
            *count = known.len() as i64;
            for source in &others {
                source.visit(block * BLOCK_ROWS + at, &mut |_, _| *count += 1);
            }
        }
        Ok(())
    })?;
    let mut sum = 0;
    for pointer in &mut pointers {
        sum += *pointer;
        *pointer = sum;
    }
    Ok(pointers)
}
