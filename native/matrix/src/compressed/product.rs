//! Products with vectors and matrices: `X %*% B`, `t(X) %*% Y`, `Y %*% X` and `t(X) %*% f(X %*% v)`.
//!
//! From the left, a table holds the product of each tuple with the right operand, and rows add up what their codes name. From the
//! right, each code adds up the rows that have it, and dictionaries are multiplied at the end.
//!
//! Sums are grouped by codes before they are multiplied: they may overflow where products of single rows would not.

use std::ops::Range;

use fulgurite_error::{Code as ErrorCode, Error, Result};
use rayon::prelude::*;

use super::{
    ColumnGroup, CompressedMatrix, GroupEncoding,
    codes::{Code, TILE, TileCodes, TileRoom, with_codes},
    for_tiles,
    reduce::folded_tuples,
    tile_tasks,
};
use crate::{
    DenseMatrix, Interrupt, MatrixBlock,
    kernels::{self, reorganize, take_rows},
    memory,
};

/// Entries of the tables of codes of one byte: a code can't be outside.
const BYTE: usize = 256;

/// Accumulators of a code: rows with the same code, one after the other, would wait for each other's sums.
const COPIES: usize = 4;

impl CompressedMatrix {
    /// `X %*% right`: a dense block.
    ///
    /// # Errors
    /// `dimension` unless `right` has a row for each column; `memory`.
    pub fn matmult(&self, right: &MatrixBlock) -> Result<MatrixBlock> {
        if right.rows() != self.cols {
            return Err(self.misfit("multiply", right));
        }
        let width = right.cols();
        let mut out = self.plain_products(right)?;
        if width == 0 {
            return MatrixBlock::dense(self.rows, 0, out);
        }
        let tables = self.tables(&right.to_dense()?)?;
        let interrupt = Interrupt::current();
        let tasks = out.par_chunks_mut(8 * TILE * width).enumerate();
        tasks.try_for_each(|(task, out)| {
            interrupt.check()?;
            let mut rooms = self.rooms();
            for (number, out) in out.chunks_mut(TILE * width).enumerate() {
                let from = task * 8 * TILE + number * TILE;
                let rows = from..from + out.len() / width;
                tables.add_to(rows, &mut rooms, out);
            }
            Ok::<(), Error>(())
        })?;
        MatrixBlock::dense(self.rows, width, out)
    }

    /// `t(X) %*% right`: a dense block.
    ///
    /// # Errors
    /// `dimension` unless both have as many rows; `memory`.
    pub fn transposed_matmult(&self, right: &MatrixBlock) -> Result<MatrixBlock> {
        if right.rows() != self.rows {
            return Err(self.misfit("multiply the transpose of", right));
        }
        let width = right.cols();
        let dense = right.to_dense()?;
        let sums = self.summed(width, |sums, rows, rooms| {
            sums.add(
                rows.clone(),
                rooms,
                &dense.values()[rows.start * width..rows.end * width],
            );
        })?;
        let mut out = memory::zeros(memory::cells(self.cols, width)?)?;
        sums.multiply(&mut out)?;
        for group in self.groups.iter() {
            if let Some(block) = group.plain() {
                let product = kernels::transposed_matmult(block, right)?.to_dense()?;
                for (at, column) in group.columns().iter().enumerate() {
                    let column = *column as usize * width;
                    out[column..column + width].copy_from_slice(product.row(at));
                }
            }
        }
        MatrixBlock::dense(self.cols, width, out)
    }

    /// `left %*% X`: a dense block.
    ///
    /// # Errors
    /// `dimension` unless `left` has a column for each row; `memory`.
    pub fn left_matmult(&self, left: &MatrixBlock) -> Result<MatrixBlock> {
        if left.cols() != self.rows {
            return Err(self.misfit("multiply from the right", left));
        }
        let turned = match left {
            // A row is a column in memory.
            MatrixBlock::Dense(row) if row.rows() == 1 => {
                DenseMatrix::new(self.rows, 1, row.buffer().clone())?.into()
            }
            left => reorganize::transpose(left)?,
        };
        reorganize::transpose(&self.transposed_matmult(&turned)?)
    }

    /// `t(X) %*% (w * (X %*% v))`; without weights, `t(X) %*% (X %*% v)`.
    ///
    /// # Errors
    /// `dimension` unless `v` is a column with a cell for each column, and `w` one with a cell for each row; `memory`.
    pub fn mmchain(
        &self,
        vector: &MatrixBlock,
        weights: Option<&MatrixBlock>,
    ) -> Result<MatrixBlock> {
        let Some(weights) = weights else {
            return self.chain(vector, |_, _| {});
        };
        if (weights.rows(), weights.cols()) != (self.rows, 1) {
            return Err(self.misfit("weigh the rows of", weights));
        }
        let weights = weights.to_dense()?;
        self.chain(vector, |rows, products| {
            for (product, weight) in products.iter_mut().zip(&weights.values()[rows]) {
                *product *= weight;
            }
        })
    }

    /// `t(X) %*% f(X %*% v)`, where `change(rows, products)` is f on some rows. Codes are read once.
    ///
    /// # Errors
    /// `dimension` unless `v` is a column with a cell for each column; `memory`.
    pub fn chain(
        &self,
        vector: &MatrixBlock,
        change: impl Fn(Range<usize>, &mut [f64]) + Sync,
    ) -> Result<MatrixBlock> {
        if (vector.rows(), vector.cols()) != (self.cols, 1) {
            return Err(self.misfit("chain", vector));
        }
        if self.groups.iter().any(|group| group.plain().is_some()) {
            let mut products = self.matmult(vector)?.to_dense()?.into_vec()?;
            let chunks = products.par_chunks_mut(TILE).enumerate();
            chunks.for_each(|(at, part)| change(at * TILE..at * TILE + part.len(), part));
            return self.transposed_matmult(&MatrixBlock::dense(self.rows, 1, products)?);
        }
        let tables = self.tables(&vector.to_dense()?)?;
        let sums = self.summed(1, |sums, rows, rooms| {
            let mut products = [0.0; TILE];
            let products = &mut products[..rows.len()];
            tables.add_to(rows.clone(), rooms, products);
            change(rows.clone(), products);
            sums.add(rows, rooms, products);
        })?;
        let mut out = memory::zeros(self.cols)?;
        sums.multiply(&mut out)?;
        MatrixBlock::dense(self.cols, 1, out)
    }

    fn rooms(&self) -> Vec<TileRoom> {
        vec![TileRoom::default(); self.groups.len()]
    }

    /// Products of the groups that are not compressed, or zeros.
    fn plain_products(&self, right: &MatrixBlock) -> Result<Vec<f64>> {
        let mut total: Option<Vec<f64>> = None;
        for group in self.groups.iter() {
            let Some(block) = group.plain() else { continue };
            let columns = group.columns().iter().map(|column| *column as usize);
            let product = kernels::matmult(block, &rows_at(right, columns)?)?;
            let product = product.to_dense()?.into_vec()?;
            match &mut total {
                None => total = Some(product),
                Some(total) => {
                    total
                        .iter_mut()
                        .zip(product)
                        .for_each(|(total, product)| *total += product);
                }
            }
        }
        total.map_or_else(
            || memory::zeros(memory::cells(self.rows, right.cols())?),
            Ok,
        )
    }

    fn tables(&self, right: &DenseMatrix) -> Result<ProductTables<'_>> {
        let width = right.cols();
        let mut tables = ProductTables {
            width,
            constant: memory::zeros(width)?,
            groups: Vec::new(),
        };
        for (number, group) in self.groups.iter().enumerate() {
            if group.plain().is_some() {
                continue;
            }
            let of_column = |column: usize| {
                let products = |at: usize, value: f64| value * right.values()[at * width + column];
                folded_tuples(group, 0.0, products, |sum, product| *sum += product)
            };
            if let GroupEncoding::Empty | GroupEncoding::Constant(_) = group.encoding() {
                for (column, constant) in tables.constant.iter_mut().enumerate() {
                    *constant += of_column(column)?[0];
                }
                continue;
            }
            let mut table = match width {
                1 => of_column(0)?,
                _ => {
                    let mut table = memory::zeros(memory::cells(group.distinct(), width)?)?;
                    for column in 0..width {
                        let entries = table.chunks_exact_mut(width).zip(of_column(column)?);
                        entries.for_each(|(entry, product)| entry[column] = product);
                    }
                    table
                }
            };
            if width == 1 && table.len() < BYTE {
                table.resize(BYTE, 0.0);
            }
            tables.groups.push((number, group, table));
        }
        Ok(tables)
    }

    /// What the rows of each code sum up to; `add` adds those of a tile.
    fn summed<'a>(
        &'a self,
        width: usize,
        add: impl Fn(&mut CodeSums<'a>, Range<usize>, &mut [TileRoom]) + Sync,
    ) -> Result<CodeSums<'a>> {
        let interrupt = Interrupt::current();
        let tasks = tile_tasks(self.rows).into_par_iter().map(|task| {
            interrupt.check()?;
            let mut sums = CodeSums::new(&self.groups, width)?;
            let mut rooms = self.rooms();
            for_tiles(task, |rows| add(&mut sums, rows, &mut rooms));
            sums.fold_copies();
            Ok(sums)
        });
        let mut parts = tasks.collect::<Result<Vec<_>>>()?.into_iter();
        let mut total = parts
            .next()
            .map_or_else(|| CodeSums::new(&self.groups, width), Ok)?;
        parts.for_each(|part| total.merge(&part));
        Ok(total)
    }

    fn misfit(&self, what: &str, other: &MatrixBlock) -> Error {
        Error::dimension(format!(
            "cannot {what} a compressed {} x {} matrix with a {} x {} matrix",
            self.rows,
            self.cols,
            other.rows(),
            other.cols()
        ))
        .with_code(ErrorCode::ShapesDiffer)
    }
}

fn rows_at(matrix: &MatrixBlock, rows: impl Iterator<Item = usize>) -> Result<MatrixBlock> {
    let rows: Vec<usize> = rows.collect();
    take_rows(matrix, rows.len(), |row| rows[row])
}

/// Products of tuples with a right operand.
struct ProductTables<'a> {
    /// Columns of the right operand.
    width: usize,
    /// Of the groups whose rows are all the same.
    constant: Vec<f64>,
    /// A group's number, and `width` products for each tuple.
    groups: Vec<(usize, &'a ColumnGroup, Vec<f64>)>,
}

impl ProductTables<'_> {
    /// Adds products of a tile of rows to these.
    fn add_to(&self, rows: Range<usize>, rooms: &mut [TileRoom], out: &mut [f64]) {
        for out in out.chunks_exact_mut(self.width) {
            out.iter_mut()
                .zip(&self.constant)
                .for_each(|(out, value)| *out += value);
        }
        if self.width > 1 {
            for (number, group, table) in &self.groups {
                with_codes!(group.tile(rows.clone(), &mut rooms[*number]), (), |codes| {
                    add_entries(codes, table, self.width, out);
                });
            }
            return;
        }
        let mut bytes: Vec<(&[u8], &[f64; BYTE])> = Vec::new();
        let mut free = rooms;
        let mut next = 0;
        for (number, group, table) in &self.groups {
            let (room, later) = free[number - next..].split_at_mut(1);
            (free, next) = (later, number + 1);
            match group.tile(rows.clone(), &mut room[0]) {
                TileCodes::Same => {}
                TileCodes::Bytes(codes) => {
                    if let Some(table) = table.first_chunk() {
                        bytes.push((codes, table));
                    }
                }
                TileCodes::Shorts(codes) => add_looked_up(codes, table, out),
                TileCodes::Words(codes) => add_looked_up(codes, table, out),
            }
        }
        let (fours, rest) = bytes.as_chunks::<4>();
        for four in fours {
            add_of_four(*four, out);
        }
        for (codes, table) in rest {
            for (out, code) in out.iter_mut().zip(*codes) {
                *out += table[code.place()];
            }
        }
    }
}

/// What four groups give: cells are read and written once for all.
fn add_of_four([a, b, c, d]: [(&[u8], &[f64; BYTE]); 4], out: &mut [f64]) {
    let codes = a.0.iter().zip(b.0).zip(c.0.iter().zip(d.0));
    for (out, ((i, j), (k, l))) in out.iter_mut().zip(codes) {
        let left = a.1[i.place()] + b.1[j.place()];
        let right = c.1[k.place()] + d.1[l.place()];
        *out += left + right;
    }
}

fn add_looked_up<C: Code>(codes: &[C], table: &[f64], out: &mut [f64]) {
    for (out, code) in out.iter_mut().zip(codes) {
        *out += table[code.place()];
    }
}

fn add_entries<C: Code>(codes: &[C], table: &[f64], width: usize, out: &mut [f64]) {
    for (out, code) in out.chunks_exact_mut(width).zip(codes) {
        let from = code.place() * width;
        let entry = &table[from..from + width];
        out.iter_mut()
            .zip(entry)
            .for_each(|(out, value)| *out += value);
    }
}

/// Sums, over rows of a right operand, for each code.
struct CodeSums<'a> {
    groups: &'a [ColumnGroup],
    width: usize,
    /// `width` sums for each code of a group; in copies, of 256 codes each, where these are bytes and the width is 1.
    sums: Vec<Vec<f64>>,
    /// Of all rows.
    all: Vec<f64>,
}

impl<'a> CodeSums<'a> {
    fn new(groups: &'a [ColumnGroup], width: usize) -> Result<Self> {
        let of_group = |group: &ColumnGroup| {
            let is_copied = width == 1 && group.distinct() <= BYTE;
            memory::zeros(match is_copied {
                true => COPIES * BYTE,
                false => memory::cells(group.distinct(), width)?,
            })
        };
        Ok(CodeSums {
            groups,
            width,
            sums: groups.iter().map(of_group).collect::<Result<_>>()?,
            all: memory::zeros(width)?,
        })
    }

    /// Adds a tile of rows.
    fn add(&mut self, rows: Range<usize>, rooms: &mut [TileRoom], cells: &[f64]) {
        let width = self.width;
        if width == 0 {
            return;
        }
        let mut uses_all = false;
        let mut bytes: Vec<(&[u8], &mut [[f64; BYTE]; COPIES])> = Vec::new();
        for ((group, sums), room) in self.groups.iter().zip(&mut self.sums).zip(rooms) {
            match group.tile(rows.clone(), room) {
                TileCodes::Same => uses_all |= group.plain().is_none(),
                TileCodes::Bytes(codes) if width == 1 => {
                    if let Some(copies) = sums.as_chunks_mut().0.first_chunk_mut() {
                        bytes.push((codes, copies));
                    }
                }
                TileCodes::Bytes(codes) => add_to_sums(codes, cells, width, sums),
                TileCodes::Shorts(codes) => add_to_sums(codes, cells, width, sums),
                TileCodes::Words(codes) => add_to_sums(codes, cells, width, sums),
            }
        }
        let (pairs, last) = bytes.as_chunks_mut::<2>();
        for [left, right] in pairs {
            add_to_two(left, right, cells);
        }
        for (codes, copies) in last {
            add_to_copies(codes, cells, copies);
        }
        if uses_all {
            for cells in cells.chunks_exact(width) {
                self.all
                    .iter_mut()
                    .zip(cells)
                    .for_each(|(all, cell)| *all += cell);
            }
        }
    }

    fn fold_copies(&mut self) {
        for (group, sums) in self.groups.iter().zip(&mut self.sums) {
            if self.width == 1 && group.distinct() <= BYTE {
                let (first, others) = sums.split_at_mut(BYTE);
                for copy in others.chunks_exact(BYTE) {
                    first
                        .iter_mut()
                        .zip(copy)
                        .for_each(|(sum, copy)| *sum += copy);
                }
                sums.truncate(group.distinct());
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        let add = |sums: &mut Vec<f64>, others: &Vec<f64>| {
            sums.iter_mut()
                .zip(others)
                .for_each(|(sum, other)| *sum += other);
        };
        self.sums
            .iter_mut()
            .zip(&other.sums)
            .for_each(|(sums, others)| add(sums, others));
        add(&mut self.all, &other.all);
    }

    /// The products of dictionaries with their sums, into rows of columns.
    fn multiply(&self, out: &mut [f64]) -> Result<()> {
        for (group, sums) in self.groups.iter().zip(&self.sums) {
            let sums = match group.encoding() {
                GroupEncoding::Plain(_) => continue,
                GroupEncoding::Empty | GroupEncoding::Constant(_) => &self.all,
                GroupEncoding::Coded { .. }
                | GroupEncoding::Exceptions { .. }
                | GroupEncoding::Runs { .. }
                | GroupEncoding::OneHot { .. } => sums,
            };
            multiply_dictionary(group, sums, self.width, |column, at, value| {
                out[column as usize * self.width + at] = value;
            })?;
        }
        Ok(())
    }
}

/// Calls `set(column, at, value)` with the sum over codes of the group's value and the code's sums, of which there are `width`. Codes
/// that no row has are left out.
pub(super) fn multiply_dictionary(
    group: &ColumnGroup,
    sums: &[f64],
    width: usize,
    mut set: impl FnMut(i32, usize, f64),
) -> Result<()> {
    let columns = group.columns();
    if let GroupEncoding::OneHot { on, off, .. } = group.encoding() {
        let last = columns.len();
        let mut behind = memory::zeros(last + 1)?;
        for at in 0..width {
            behind[last] = sums[last * width + at];
            for code in (0..last).rev() {
                behind[code] = behind[code + 1] + sums[code * width + at];
            }
            let mut before = 0.0;
            for (code, column) in columns.iter().enumerate() {
                let sum = sums[code * width + at];
                let rows = group.counts()[code];
                let mut value = 0.0;
                if rows > 0 {
                    value += on[code] * sum;
                }
                if rows < group.rows() as u64 {
                    value += off[code] * (before + behind[code + 1]);
                }
                set(*column, at, value);
                before += sum;
            }
        }
        return Ok(());
    }
    for (place, column) in columns.iter().enumerate() {
        for at in 0..width {
            let mut value = 0.0;
            for (code, count) in group.counts().iter().enumerate() {
                if *count > 0 {
                    value += group.cell(code, place) * sums[code * width + at];
                }
            }
            set(*column, at, value);
        }
    }
    Ok(())
}

/// Two groups take turns, so that neither waits for its own sums.
fn add_to_two(
    (left_codes, left): &mut (&[u8], &mut [[f64; BYTE]; COPIES]),
    (right_codes, right): &mut (&[u8], &mut [[f64; BYTE]; COPIES]),
    cells: &[f64],
) {
    let ((left_fours, left_rest), (right_fours, right_rest)) = (
        left_codes.as_chunks::<COPIES>(),
        right_codes.as_chunks::<COPIES>(),
    );
    let (cell_fours, cell_rest) = cells.as_chunks::<COPIES>();
    for ((left_codes, right_codes), cells) in left_fours.iter().zip(right_fours).zip(cell_fours) {
        for copy in 0..COPIES {
            left[copy][left_codes[copy].place()] += cells[copy];
            right[copy][right_codes[copy].place()] += cells[copy];
        }
    }
    add_to_copies(left_rest, cell_rest, left);
    add_to_copies(right_rest, cell_rest, right);
}

fn add_to_copies(codes: &[u8], cells: &[f64], copies: &mut [[f64; BYTE]; COPIES]) {
    let (fours, rest) = codes.as_chunks::<COPIES>();
    let (cell_fours, cell_rest) = cells.as_chunks::<COPIES>();
    for (codes, cells) in fours.iter().zip(cell_fours) {
        for ((code, cell), copy) in codes.iter().zip(cells).zip(copies.iter_mut()) {
            copy[code.place()] += cell;
        }
    }
    for ((code, cell), copy) in rest.iter().zip(cell_rest).zip(copies) {
        copy[code.place()] += cell;
    }
}

fn add_to_sums<C: Code>(codes: &[C], cells: &[f64], width: usize, sums: &mut [f64]) {
    if width == 1 {
        for (code, cell) in codes.iter().zip(cells) {
            sums[code.place()] += cell;
        }
        return;
    }
    for (code, cells) in codes.iter().zip(cells.chunks_exact(width)) {
        let from = code.place() * width;
        let sums = &mut sums[from..from + width];
        sums.iter_mut()
            .zip(cells)
            .for_each(|(sum, cell)| *sum += cell);
    }
}
