//! Aggregates: of tuples and their counts, or of tuples looked up for each row.

use fulgurite_error::{Error, Result};

use super::{
    ColumnGroup, CompressedMatrix, GroupEncoding,
    codes::{Code, TILE, TileRoom, with_codes},
};
use crate::{
    MatrixBlock,
    kernels::{aggregate, aggregate::Accumulator, reorganize},
    memory,
};

impl CompressedMatrix {
    /// Over all cells, through `map`: takes as long as dictionaries are, not rows.
    pub fn aggregate<A: Accumulator>(&self, map: impl Fn(f64) -> f64 + Sync) -> Result<f64> {
        let mut all = A::START;
        for group in self.groups.iter() {
            match group.plain() {
                Some(block) => all.add_repeated(
                    aggregate::full::<A>(block, &map),
                    usize::from(group.rows() > 0),
                ),
                None => (0..group.width())
                    .for_each(|column| all.merge(column_total(group, column, &map))),
            }
        }
        Ok(all.result())
    }

    /// Over each column, through `map`: a row vector, as fast as [`CompressedMatrix::aggregate`].
    ///
    /// # Errors
    /// `memory`.
    pub fn aggregate_cols<A: Accumulator>(
        &self,
        map: impl Fn(f64) -> f64 + Sync,
    ) -> Result<MatrixBlock> {
        let mut totals = memory::zeros(self.cols)?;
        for group in self.groups.iter() {
            let plain = match group.plain() {
                Some(block) => Some(aggregate::cols::<A>(block, &map)?.to_dense()?),
                None => None,
            };
            for (at, column) in group.columns().iter().enumerate() {
                totals[*column as usize] = match &plain {
                    Some(plain) => plain.values()[at],
                    None => column_total::<A>(group, at, &map).result(),
                };
            }
        }
        MatrixBlock::dense(1, self.cols, totals)
    }

    /// Over each row, through `map`: a column vector.
    ///
    /// # Errors
    /// `memory`.
    pub fn aggregate_rows<A: Accumulator>(
        &self,
        map: impl Fn(f64) -> f64 + Sync,
    ) -> Result<MatrixBlock> {
        let each = |_: usize, value: f64| {
            let mut one = A::START;
            one.add(map(value));
            one
        };
        self.fold_rows(A::START, each, A::merge, A::result)
    }

    /// The column (from 1) of each row's maximum: the last one on ties; NaN is skipped; 1 where nothing is left.
    ///
    /// # Errors
    /// `dimension` where there are no columns; `memory`.
    pub fn row_index_max(&self) -> Result<MatrixBlock> {
        if self.cols == 0 {
            return Err(Error::dimension(format!(
                "the rows of a {} x 0 matrix have no cell that could be the largest",
                self.rows
            )));
        }
        // The best value, and its column from 1: 0 is none.
        let start = (f64::NEG_INFINITY, 0.0);
        let each = |column: usize, value: f64| match value.is_nan() {
            true => start,
            false => (value, (column + 1) as f64),
        };
        let merge = |best: &mut (f64, f64), other: (f64, f64)| {
            let is_better = other.0 > best.0 || (other.0 == best.0 && other.1 > best.1);
            *best = if is_better { other } else { *best };
        };
        self.fold_rows(start, each, merge, |best| best.1.max(1.0))
    }

    /// What rows fold to: `merge` of `each(column, cell)`, in any order of columns.
    fn fold_rows<S: Copy + Send + Sync>(
        &self,
        start: S,
        each: impl Fn(usize, f64) -> S + Sync,
        merge: impl Fn(&mut S, S) + Sync,
        finish: impl Fn(S) -> f64 + Sync,
    ) -> Result<MatrixBlock> {
        let tables = self.groups.iter().map(|group| match group.plain() {
            Some(_) => Ok(Vec::new()),
            None => folded_tuples(group, start, &each, &merge),
        });
        let tables = tables.collect::<Result<Vec<Vec<S>>>>()?;
        let by_rows = self
            .groups
            .iter()
            .map(|group| group.plain().map(MatrixBlock::by_rows));
        let by_rows = by_rows.map(Option::transpose).collect::<Result<Vec<_>>>()?;
        let values = memory::by_chunks(self.rows, 8 * TILE, |task, out| {
            let mut room = TileRoom::default();
            for (number, out) in out.chunks_mut(TILE).enumerate() {
                let from = task * 8 * TILE + number * TILE;
                let mut states = [start; TILE];
                let states = &mut states[..out.len()];
                for ((group, table), plain) in self.groups.iter().zip(&tables).zip(&by_rows) {
                    if let Some(plain) = plain {
                        for (row, state) in (from..).zip(states.iter_mut()) {
                            fold_plain(group, plain, row, |column, value| {
                                merge(state, each(column, value));
                            });
                        }
                        continue;
                    }
                    with_codes!(
                        group.tile(from..from + out.len(), &mut room),
                        states.iter_mut().for_each(|state| merge(state, table[0])),
                        |codes| for (state, code) in states.iter_mut().zip(codes) {
                            merge(state, table[code.place()]);
                        }
                    );
                }
                for (out, state) in out.iter_mut().zip(states.iter()) {
                    *out = finish(*state);
                }
            }
        })?;
        MatrixBlock::dense(self.rows, 1, values)
    }

    /// `t(X)`, as a dense or sparse block: transposes are not compressed.
    ///
    /// # Errors
    /// As [`CompressedMatrix::to_block`].
    pub fn transposed(&self) -> Result<MatrixBlock> {
        reorganize::transpose(&self.to_block()?)
    }
}

fn fold_plain(
    group: &ColumnGroup,
    plain: &crate::ByRows<'_>,
    row: usize,
    mut visit: impl FnMut(usize, f64),
) {
    let columns = group.columns().iter().map(|column| *column as usize);
    match plain {
        crate::ByRows::Dense(dense) => {
            columns
                .zip(dense.row(row))
                .for_each(|(column, value)| visit(column, *value));
        }
        crate::ByRows::Csr(csr) => {
            let (indices, values) = csr.row(row);
            let mut stored = indices.iter().zip(values).peekable();
            for (at, column) in columns.enumerate() {
                let value = stored.next_if(|(index, _)| **index as usize == at);
                visit(column, value.map_or(0.0, |(_, value)| *value));
            }
        }
    }
}

/// What each tuple folds to.
pub(super) fn folded_tuples<S: Copy>(
    group: &ColumnGroup,
    start: S,
    each: impl Fn(usize, f64) -> S,
    merge: impl Fn(&mut S, S),
) -> Result<Vec<S>> {
    let columns = group.columns();
    if let GroupEncoding::OneHot { on, off, .. } = group.encoding() {
        // The columns that are off before and behind the one that is on.
        let mut behind = memory::filled(columns.len() + 1, start)?;
        for at in (0..columns.len()).rev() {
            let mut state = each(columns[at] as usize, off[at]);
            merge(&mut state, behind[at + 1]);
            behind[at] = state;
        }
        let mut before = start;
        let mut table = memory::room(columns.len() + 1)?;
        for (at, column) in columns.iter().enumerate() {
            let column = *column as usize;
            let mut state = before;
            merge(&mut state, each(column, on[at]));
            merge(&mut state, behind[at + 1]);
            table.push(state);
            merge(&mut before, each(column, off[at]));
        }
        table.push(before);
        return Ok(table);
    }
    memory::collected((0..group.distinct()).map(|code| {
        let mut state = start;
        for (at, column) in columns.iter().enumerate() {
            merge(&mut state, each(*column as usize, group.cell(code, at)));
        }
        state
    }))
}

fn column_total<A: Accumulator>(
    group: &ColumnGroup,
    column: usize,
    map: &impl Fn(f64) -> f64,
) -> A {
    let mut total = A::START;
    if let GroupEncoding::OneHot { on, off, .. } = group.encoding() {
        let count = group.counts()[column] as usize;
        total.add_repeated(map(on[column]), count);
        total.add_repeated(map(off[column]), group.rows() - count);
        return total;
    }
    for (code, count) in group.counts().iter().enumerate() {
        total.add_repeated(map(group.cell(code, column)), *count as usize);
    }
    total
}
