//! `t(X) %*% X` from how many rows have each pair of codes.
//!
//! Groups of few tuples are counted together: one count of a pair of joint codes stands for all pairs of the groups in them.

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{
    ColumnGroup, CompressedMatrix, GroupEncoding,
    codes::{Code, TileRoom, with_codes},
    for_tiles,
    product::multiply_dictionary,
    tile_tasks,
};
use crate::{
    Interrupt, MatrixBlock,
    kernels::{
        self,
        dense_product::{View, add_upper, mirror_upper},
    },
    memory,
};

/// Joint codes of several groups: a table of pairs of them stays in the first-level cache.
const JOINT: usize = 64;

/// Counts of a pair of groups, unless both are dummies: the product has as many cells then.
const MOST_COUNTS: usize = 1 << 20;

/// Dummies with values that are not 0 where they are off have a full matrix of products with themselves.
const MOST_OFF: usize = 2048;

/// Widest matrix whose tiles are decompressed to be multiplied.
const WIDEST_TILES: usize = 512;

/// What counting a pair of codes takes, in multiply-adds of a dense product.
const COUNT_COST: usize = 24;

/// What decompressing a cell takes, likewise.
const CELL_COST: usize = 12;

impl CompressedMatrix {
    /// `t(X) %*% X`: a dense block.
    ///
    /// # Errors
    /// `memory` when there is none for it.
    pub fn tsmm(&self) -> Result<MatrixBlock> {
        let coded: Vec<&ColumnGroup> = self.groups.iter().filter(|g| g.plain().is_none()).collect();
        let joint = joined(&coded);
        let pairs = joint.len() * (joint.len() + 1) / 2;
        let width: usize = coded.iter().map(|group| group.width()).sum();
        let dense_cost = width * width / 2 + CELL_COST * width;
        let is_dense_cheaper = width <= WIDEST_TILES && dense_cost < COUNT_COST * pairs;
        let has_plain = coded.len() < self.groups.len();
        if !has_plain && (is_dense_cheaper || !can_be_counted(self.rows, &joint)) {
            return match self.cols <= WIDEST_TILES {
                true => self.tsmm_of_tiles(),
                false => kernels::tsmm(&self.to_block()?),
            };
        }
        if !can_be_counted(self.rows, &joint) {
            return kernels::tsmm(&self.to_block()?);
        }
        let n = self.cols;
        let mut out = memory::zeros(memory::cells(n, n)?)?;
        let numbers: Vec<(usize, usize)> = (0..joint.len())
            .flat_map(|a| (a..joint.len()).map(move |b| (a, b)))
            .collect();
        let interrupt = Interrupt::current();
        // A few at a time: products of dummies are as large as the result.
        for numbers in numbers.chunks(16) {
            let products = numbers.par_iter().map(|(a, b)| {
                interrupt.check()?;
                self.joint_products(&joint[*a], &joint[*b], a == b)
            });
            for products in products.collect::<Result<Vec<_>>>()? {
                for product in products {
                    product.put(&mut out, n);
                }
            }
        }
        if has_plain {
            self.plain_squares(&mut out)?;
        }
        MatrixBlock::dense(n, n, out)
    }

    /// Products of groups that are not compressed, with each other and with the others.
    fn plain_squares(&self, out: &mut [f64]) -> Result<()> {
        let n = self.cols;
        let of_groups = |is_plain: bool| {
            let groups = self
                .groups
                .iter()
                .filter(|group| group.plain().is_some() == is_plain);
            groups.cloned().collect::<Vec<ColumnGroup>>()
        };
        let (plain, coded) = (of_groups(true), of_groups(false));
        let numbers: Vec<i32> = coded
            .iter()
            .flat_map(|group| group.columns().to_vec())
            .collect();
        // The coded groups alone, their columns numbered as they come.
        let mut renumbered = Vec::new();
        let mut next = 0;
        for group in &coded {
            let end = next + group.width() as i32;
            renumbered.push(group.at_columns((next..end).collect()));
            next = end;
        }
        let coded = CompressedMatrix::new(self.rows, numbers.len(), renumbered)?;
        for (at, group) in plain.iter().enumerate() {
            let Some(block) = group.plain() else { continue };
            let squares = kernels::tsmm(block)?.to_dense()?;
            put_block(out, n, group.columns(), group.columns(), squares.values());
            let crossed = coded.transposed_matmult(block)?.to_dense()?;
            put_block(out, n, &numbers, group.columns(), crossed.values());
            for other in &plain[at + 1..] {
                if let Some(right) = other.plain() {
                    let crossed = kernels::transposed_matmult(block, right)?.to_dense()?;
                    put_block(out, n, group.columns(), other.columns(), crossed.values());
                }
            }
        }
        Ok(())
    }

    /// By the kernel of dense cells, on tiles of rows that stay in the second-level cache.
    fn tsmm_of_tiles(&self) -> Result<MatrixBlock> {
        const CELLS: usize = 1 << 15;
        let n = self.cols;
        let tile = (CELLS / n.max(1)).max(64);
        let plain: Vec<Option<crate::ByRows<'_>>> = vec![None; self.groups.len()];
        let interrupt = Interrupt::current();
        let tasks = tile_tasks(self.rows).into_par_iter().map(|task| {
            let mut upper = memory::zeros(n * n)?;
            let mut cells = memory::zeros(tile * n)?;
            for from in task.clone().step_by(tile) {
                interrupt.check()?;
                let rows = from..(from + tile).min(task.end);
                let cells = &mut cells[..rows.len() * n];
                cells.fill(0.0);
                self.expand_into(&plain, rows.clone(), cells);
                add_upper(View::of_rows(cells, rows.len(), n, n), &mut upper, n)?;
            }
            Ok(upper)
        });
        let mut total = memory::zeros(n * n)?;
        for part in tasks.collect::<Result<Vec<_>>>()? {
            total
                .iter_mut()
                .zip(part)
                .for_each(|(total, part)| *total += part);
        }
        mirror_upper(&mut total, n);
        MatrixBlock::dense(n, n, total)
    }

    fn joint_products<'a>(
        &self,
        left: &Joint<'a>,
        right: &Joint<'a>,
        is_same: bool,
    ) -> Result<Vec<GroupProduct<'a>>> {
        let mut products = Vec::new();
        if is_same {
            for group in &left.groups {
                products.push(GroupProduct::squares(group)?);
            }
            if left.groups.len() == 1 {
                return Ok(products);
            }
        }
        let counts = self.count_pairs(left, (!is_same).then_some(right))?;
        for (a, left_group) in left.groups.iter().enumerate() {
            let others = if is_same { a + 1 } else { 0 };
            for (b, right_group) in right.groups.iter().enumerate().skip(others) {
                let wanted = right_group.distinct();
                let mut pair: Vec<f64> =
                    memory::zeros(memory::cells(left_group.distinct(), wanted)?)?;
                if left.groups.len() == 1 && right.groups.len() == 1 {
                    pair.iter_mut()
                        .zip(&counts)
                        .for_each(|(pair, count)| *pair = f64::from(*count));
                } else {
                    for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                        let (x, y) = match is_same {
                            true => (at, at),
                            false => (at / right.codes, at % right.codes),
                        };
                        let place = left.digit(a, x) * wanted + right.digit(b, y);
                        pair[place] += f64::from(*count);
                    }
                }
                products.push(GroupProduct::of(left_group, right_group, &pair)?);
            }
        }
        Ok(products)
    }

    /// How many rows have each joint code, or each pair of joint codes.
    fn count_pairs(&self, left: &Joint<'_>, right: Option<&Joint<'_>>) -> Result<Vec<u32>> {
        let right_codes = right.map_or(1, |right| right.codes);
        let mut counts = memory::filled(memory::cells(left.codes, right_codes)?, 0u32)?;
        // Rows take turns with two tables where they are small: the same pair again would wait for the one before.
        let mut others = match counts.len() <= JOINT * JOINT {
            true => memory::copied(&counts)?,
            false => Vec::new(),
        };
        let (mut room, mut places, mut more) = (TileRoom::default(), Vec::new(), Vec::new());
        for_tiles(0..self.rows, |rows| {
            left.codes_of(rows.clone(), &mut room, &mut places, &mut more);
            if let Some(right) = right {
                for place in &mut places {
                    *place *= right_codes as u32;
                }
                right.add_codes(rows, &mut room, &mut places, &mut more);
            }
            if others.is_empty() {
                places.iter().for_each(|place| counts[*place as usize] += 1);
            } else {
                for pair in places.chunks(2) {
                    for (place, counts) in pair.iter().zip([&mut counts, &mut others]) {
                        counts[*place as usize] += 1;
                    }
                }
            }
        });
        counts
            .iter_mut()
            .zip(&others)
            .for_each(|(count, other)| *count += other);
        Ok(counts)
    }
}

/// Groups that are counted together.
struct Joint<'a> {
    groups: Vec<&'a ColumnGroup>,
    /// Joint codes: the product of what the groups have.
    codes: usize,
}

impl Joint<'_> {
    /// The code of a group in a joint code.
    fn digit(&self, group: usize, joint: usize) -> usize {
        let below = self.groups[group + 1..]
            .iter()
            .map(|group| group.distinct());
        joint / below.product::<usize>() % self.groups[group].distinct()
    }

    fn codes_of(
        &self,
        rows: std::ops::Range<usize>,
        room: &mut TileRoom,
        codes: &mut Vec<u32>,
        more: &mut Vec<u32>,
    ) {
        codes.clear();
        codes.resize(rows.len(), 0);
        self.add_codes(rows, room, codes, more);
    }

    /// Adds joint codes to numbers.
    fn add_codes(
        &self,
        rows: std::ops::Range<usize>,
        room: &mut TileRoom,
        places: &mut [u32],
        joint: &mut Vec<u32>,
    ) {
        if let [group] = self.groups[..] {
            with_codes!(group.tile(rows, room), (), |codes| {
                for (place, code) in places.iter_mut().zip(codes) {
                    *place += code.place() as u32;
                }
            });
            return;
        }
        joint.clear();
        joint.resize(rows.len(), 0);
        for group in &self.groups {
            let distinct = group.distinct() as u32;
            with_codes!(
                group.tile(rows.clone(), room),
                joint.iter_mut().for_each(|joint| *joint *= distinct),
                |codes| for (joint, code) in joint.iter_mut().zip(codes) {
                    *joint = *joint * distinct + code.place() as u32;
                }
            );
        }
        places
            .iter_mut()
            .zip(&joint[..])
            .for_each(|(place, joint)| *place += joint);
    }
}

/// Groups together as far as their joint codes stay few; those of many tuples alone.
fn joined<'a>(groups: &[&'a ColumnGroup]) -> Vec<Joint<'a>> {
    let mut by_size = groups.to_vec();
    by_size.sort_by_key(|group| std::cmp::Reverse(group.distinct()));
    let mut joined: Vec<Joint<'a>> = Vec::new();
    for group in by_size {
        let distinct = group.distinct();
        let fitting = joined
            .iter_mut()
            .find(|joint| joint.codes * distinct <= JOINT);
        match fitting {
            Some(joint) => {
                joint.codes *= distinct;
                joint.groups.push(group);
            }
            None => joined.push(Joint {
                groups: vec![group],
                codes: distinct,
            }),
        }
    }
    joined
}

fn can_be_counted(rows: usize, joint: &[Joint<'_>]) -> bool {
    let are_dummies = |joint: &Joint<'_>| joint.groups.iter().all(|group| is_zero_when_off(group));
    let has_room = |left: &Joint<'_>, right: &Joint<'_>| {
        let counts = left.codes.saturating_mul(right.codes);
        counts <= MOST_COUNTS
            || (u32::try_from(counts).is_ok() && are_dummies(left) && are_dummies(right))
    };
    let pairs_fit = |a: usize| {
        joint[a + 1..]
            .iter()
            .all(|right| has_room(&joint[a], right))
    };
    let is_narrow = |group: &&ColumnGroup| {
        !matches!(group.encoding(), GroupEncoding::OneHot { .. })
            || is_zero_when_off(group)
            || group.width() <= MOST_OFF
    };
    u32::try_from(rows).is_ok()
        && (0..joint.len()).all(pairs_fit)
        && joint.iter().all(|joint| joint.groups.iter().all(is_narrow))
}

/// The group has dummy columns, and cells that are 0 or finite.
fn is_zero_when_off(group: &ColumnGroup) -> bool {
    match group.encoding() {
        GroupEncoding::OneHot { on, off, .. } => {
            off.iter().all(|off| *off == 0.0) && on.iter().all(|on| on.is_finite())
        }
        _ => false,
    }
}

/// A block of the result.
enum GroupProduct<'a> {
    /// Rows of one group's columns by the other's.
    Block(&'a ColumnGroup, &'a ColumnGroup, Vec<f64>),
    /// Of dummies with themselves.
    Diagonal(&'a ColumnGroup, Vec<f64>),
}

impl<'a> GroupProduct<'a> {
    fn squares(group: &'a ColumnGroup) -> Result<Self> {
        if let GroupEncoding::OneHot { on, .. } = group.encoding()
            && is_zero_when_off(group)
        {
            let squares = on.iter().zip(group.counts());
            let squares = squares.map(|(on, count)| on * on * *count as f64);
            return Ok(GroupProduct::Diagonal(group, memory::collected(squares)?));
        }
        let width = group.width();
        let mut sums = memory::room(memory::cells(group.distinct(), width)?)?;
        for (code, count) in group.counts().iter().enumerate() {
            // Codes that no row has are left out later.
            sums.extend((0..width).map(|at| match *count {
                0 => 0.0,
                count => group.cell(code, at) * count as f64,
            }));
        }
        Self::multiplied(group, group, &sums)
    }

    /// Of two groups, from how many rows have each pair of codes.
    fn of(left: &'a ColumnGroup, right: &'a ColumnGroup, counts: &[f64]) -> Result<Self> {
        let (codes, width) = (right.distinct(), right.width());
        if let (GroupEncoding::OneHot { on: ons, .. }, GroupEncoding::OneHot { on, .. }) =
            (left.encoding(), right.encoding())
            && is_zero_when_off(left)
            && is_zero_when_off(right)
        {
            let mut block = memory::room(memory::cells(left.width(), width)?)?;
            for (scale, counts) in ons.iter().zip(counts.chunks_exact(codes)) {
                block.extend(
                    counts
                        .iter()
                        .zip(on.iter())
                        .map(|(count, on)| scale * on * count),
                );
            }
            return Ok(GroupProduct::Block(left, right, block));
        }
        let mut sums = memory::zeros(memory::cells(left.distinct(), width)?)?;
        for (counts, sums) in counts.chunks_exact(codes).zip(sums.chunks_exact_mut(width)) {
            if let GroupEncoding::OneHot { on, off, .. } = right.encoding() {
                let rows: f64 = counts.iter().sum();
                for (at, sum) in sums.iter_mut().enumerate() {
                    let ons = counts[at];
                    *sum += if ons > 0.0 { on[at] * ons } else { 0.0 };
                    *sum += if rows > ons {
                        off[at] * (rows - ons)
                    } else {
                        0.0
                    };
                }
                continue;
            }
            for (code, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum += right.cell(code, at) * count;
                }
            }
        }
        Self::multiplied(left, right, &sums)
    }

    fn multiplied(left: &'a ColumnGroup, right: &'a ColumnGroup, sums: &[f64]) -> Result<Self> {
        let width = right.width();
        let mut block = memory::zeros(memory::cells(left.width(), width)?)?;
        let columns = left.columns();
        let mut place = (0, 0);
        multiply_dictionary(left, sums, width, |column, at, value| {
            if columns[place.0] != column {
                place = (columns.partition_point(|other| *other < column), column);
            }
            block[place.0 * width + at] = value;
        })?;
        Ok(GroupProduct::Block(left, right, block))
    }

    fn put(self, out: &mut [f64], n: usize) {
        match self {
            GroupProduct::Block(left, right, block) => {
                put_block(out, n, left.columns(), right.columns(), &block);
            }
            GroupProduct::Diagonal(group, squares) => {
                for (column, square) in group.columns().iter().zip(squares) {
                    out[*column as usize * (n + 1)] = square;
                }
            }
        }
    }
}

/// Writes a block of a symmetric matrix, and what mirrors it.
fn put_block(out: &mut [f64], n: usize, rows: &[i32], columns: &[i32], block: &[f64]) {
    for (row, cells) in rows.iter().zip(block.chunks_exact(columns.len().max(1))) {
        for (column, cell) in columns.iter().zip(cells) {
            out[*row as usize * n + *column as usize] = *cell;
            out[*column as usize * n + *row as usize] = *cell;
        }
    }
}
