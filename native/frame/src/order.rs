//! Rows in an order, and each once.

use std::hash::Hash;

use arrow::array::{Array, StringArray};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, MatrixBlock, memory};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Cell, Column, Frame,
    column::{ROWS_AT_ONCE, push},
    compare::java_order,
};

/// A number for each cell, in the order of their values and equal where they are. Missing cells and NaN come last.
type Key = (bool, u64);
const LAST: Key = (true, 0);

impl Frame {
    /// The rows in the order of these columns, the first of which counts most.
    ///
    /// Numbers are ordered as numbers, text as Java compares strings. Rows whose cells are equal stay in their order.
    /// Missing cells and NaN come last.
    ///
    /// # Errors
    /// `dimension` for a column that the frame does not have; `memory`.
    ///
    /// ```
    /// use fulgurite_frame::{Cell, csv::{self, CsvFormat}};
    /// let frame = csv::read("b,1\na,2\n".as_bytes(), &CsvFormat::default(), None)?;
    /// assert_eq!(frame.order(&[0], false)?.cell(0, 1), Some(Cell::Text("2")));
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    pub fn order(&self, by: &[usize], decreasing: bool) -> Result<Frame> {
        self.take(&self.ordered(by, decreasing)?)
    }

    /// The numbers of the rows in this order, counted from 1, as a column.
    ///
    /// # Errors
    /// As [`Frame::order`].
    pub fn order_index(&self, by: &[usize], decreasing: bool) -> Result<MatrixBlock> {
        let order = self.ordered(by, decreasing)?;
        let numbers = memory::collected(order.iter().map(|row| (row + 1) as f64))?;
        MatrixBlock::dense(numbers.len(), 1, numbers)
    }

    fn ordered(&self, by: &[usize], decreasing: bool) -> Result<Vec<usize>> {
        if let Some(beyond) = by.iter().find(|col| **col >= self.cols()) {
            return Err(Error::dimension(format!(
                "column {} is not within the {} of the frame",
                beyond.saturating_add(1),
                self.cols()
            )));
        }
        let interrupt = Interrupt::current();
        let mut order: Vec<usize> = memory::collected(0..self.rows())?;
        // Stable sorts by the last column, then the one before it, give the order of all.
        for col in by.iter().rev() {
            let mut keys = ordered_keys(&self.columns()[*col])?;
            if decreasing {
                keys.iter_mut()
                    .filter(|key| !key.0)
                    .for_each(|key| key.1 = !key.1);
            }
            order = sorted(order, &interrupt, |row| keys[*row])?;
        }
        Ok(order)
    }

    /// Each row once, in the order of their first appearance. Missing cells are equal, and so are NaNs.
    ///
    /// # Errors
    /// `memory`.
    pub fn unique_rows(&self) -> Result<Frame> {
        let interrupt = Interrupt::current();
        let mut groups: Vec<usize> = memory::filled(self.rows(), 0)?;
        for column in self.columns() {
            let keys = keys(column)?;
            let mut numbers = Numbers::default();
            for (row, group) in groups.iter_mut().enumerate() {
                if row % ROWS_AT_ONCE == 0 {
                    interrupt.check()?;
                }
                *group = numbers.of((*group, keys[row]))?;
            }
        }
        let mut first = Vec::new();
        for (row, group) in groups.iter().enumerate() {
            if *group == first.len() {
                push(&mut first, row)?;
            }
        }
        match first.len() == self.rows() {
            true => Ok(self.clone()),
            false => self.take(&first),
        }
    }

    /// How many different values the cells of the frame have, by their texts. A missing cell has none.
    ///
    /// # Errors
    /// `memory`.
    pub fn count_distinct(&self) -> Result<f64> {
        let interrupt = Interrupt::current();
        let mut seen = FxHashSet::default();
        for column in self.columns() {
            // Each distinct value of the column once.
            let mut numbers = Numbers::default();
            for (row, key) in keys(column)?.into_iter().enumerate() {
                if row % ROWS_AT_ONCE == 0 {
                    interrupt.check()?;
                }
                let known = numbers.len();
                if numbers.of(key)? < known {
                    continue;
                }
                if let Some(cell) = column.cell(row) {
                    let text = cell.text();
                    if !seen.contains(&*text) {
                        if seen.len().is_power_of_two() {
                            memory::admit(
                                seen.len().saturating_mul(64).saturating_add(text.len()),
                            )?;
                        }
                        seen.insert(text.into_owned());
                    }
                }
            }
        }
        Ok(seen.len() as f64)
    }

    /// Whether a cell has this value: the same number in a column of numbers, else the same text. NaN is equal to itself.
    pub fn contains(&self, value: Cell<'_>) -> bool {
        let text = value.text();
        self.columns().iter().any(|column| {
            column.cells().flatten().any(|cell| match (cell, value) {
                (Cell::Text(found), _) => found == text,
                (_, Cell::Text(_)) => cell.text() == text,
                (Cell::Int(found), Cell::Int(value)) => found == value,
                _ => match (cell.number(), value.number()) {
                    (Some(found), Some(value)) => {
                        found == value || (found.is_nan() && value.is_nan())
                    }
                    _ => false,
                },
            })
        })
    }
}

/// Numbers from 0 for the values that are asked for, in the order of their first appearance.
struct Numbers<K>(FxHashMap<K, usize>);

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Numbers(FxHashMap::default())
    }
}

impl<K: Eq + Hash> Numbers<K> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn of(&mut self, key: K) -> Result<usize> {
        let next = self.0.len();
        if next == self.0.capacity() {
            // The map is about to double.
            memory::admit(next.saturating_mul(2 * (size_of::<(K, usize)>() + 1)))?;
        }
        Ok(*self.0.entry(key).or_insert(next))
    }
}

/// Equal for equal cells. Those of text are in no order.
fn keys(column: &Column) -> Result<Vec<Key>> {
    let rows = column.len();
    match column {
        Column::Text(texts) => {
            let mut numbers = Numbers::default();
            let mut keys = memory::room(rows)?;
            for row in 0..rows {
                keys.push(match texts.is_null(row) {
                    true => LAST,
                    false => (false, numbers.of(texts.value(row))? as u64),
                });
            }
            Ok(keys)
        }
        Column::Coded(coded) => {
            let values = coded.values().as_any().downcast_ref::<StringArray>();
            let mut numbers = Numbers::default();
            let mut by_code = memory::room(coded.values().len())?;
            for value in values.into_iter().flatten() {
                by_code.push(match value {
                    None => LAST,
                    Some(text) => (false, numbers.of(text)? as u64),
                });
            }
            memory::collected((0..rows).map(|row| match coded.is_null(row) {
                true => LAST,
                false => by_code[coded.keys().value(row) as usize],
            }))
        }
        Column::Boolean(_)
        | Column::Int32(_)
        | Column::Int64(_)
        | Column::Fp32(_)
        | Column::Fp64(_) => {
            memory::collected((0..rows).map(|row| column.cell(row).map_or(LAST, number_key)))
        }
    }
}

/// Bits whose order is that of the number, with one zero.
fn number_key(cell: Cell<'_>) -> Key {
    const SIGN: u64 = 1 << 63;
    if let Cell::Int(value) = cell {
        return (false, value as u64 ^ SIGN);
    }
    match cell.number() {
        Some(value) if !value.is_nan() => {
            let bits = (value + 0.0).to_bits();
            let negative = bits & SIGN != 0;
            (false, if negative { !bits } else { bits ^ SIGN })
        }
        _ => LAST,
    }
}

/// As [`keys`], in the order of the cells.
fn ordered_keys(column: &Column) -> Result<Vec<Key>> {
    let rows = column.len();
    match column {
        Column::Text(texts) => ranks(texts),
        Column::Coded(coded) => {
            let values = coded.values().as_any().downcast_ref::<StringArray>();
            let by_code = values.map_or(Ok(Vec::new()), ranks)?;
            memory::collected((0..rows).map(|row| match coded.is_null(row) {
                true => LAST,
                false => by_code[coded.keys().value(row) as usize],
            }))
        }
        Column::Boolean(_)
        | Column::Int32(_)
        | Column::Int64(_)
        | Column::Fp32(_)
        | Column::Fp64(_) => keys(column),
    }
}

/// The places of texts in the order of Java, equal for equal ones.
fn ranks(texts: &StringArray) -> Result<Vec<Key>> {
    struct ByJava<'a>(&'a str);
    impl PartialEq for ByJava<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for ByJava<'_> {}
    impl PartialOrd for ByJava<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for ByJava<'_> {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            java_order(self.0, other.0)
        }
    }
    let interrupt = Interrupt::current();
    let mut ranks = memory::filled(texts.len(), LAST)?;
    let mut present = Vec::new();
    for at in (0..texts.len()).filter(|at| !texts.is_null(*at)) {
        push(&mut present, at)?;
    }
    let order = sorted(present, &interrupt, |at| ByJava(texts.value(*at)))?;
    let mut rank = 0;
    for (place, at) in order.iter().enumerate() {
        if place > 0 && texts.value(order[place - 1]) != texts.value(*at) {
            rank += 1;
        }
        ranks[*at] = (false, rank);
    }
    Ok(ranks)
}

/// A stable sort that asks the interrupt flag. It does not depend on the number of threads: its pieces are of one length.
fn sorted<K: Ord>(
    mut places: Vec<usize>,
    interrupt: &Interrupt,
    key: impl Fn(&usize) -> K + Sync,
) -> Result<Vec<usize>> {
    places.par_chunks_mut(ROWS_AT_ONCE).try_for_each(|piece| {
        interrupt.check()?;
        piece.sort_by_key(&key);
        Ok(())
    })?;
    if places.len() <= ROWS_AT_ONCE {
        return Ok(places);
    }
    let mut merged = memory::filled(places.len(), 0)?;
    let mut width = ROWS_AT_ONCE;
    while width < places.len() {
        let pairs = places
            .par_chunks(2 * width)
            .zip(merged.par_chunks_mut(2 * width));
        pairs.try_for_each(|(from, to)| {
            let (left, right) = from.split_at(width.min(from.len()));
            merge(left, right, to, interrupt, &key)
        })?;
        std::mem::swap(&mut places, &mut merged);
        width *= 2;
    }
    Ok(places)
}

fn merge<'a, K: Ord>(
    mut left: &'a [usize],
    mut right: &'a [usize],
    to: &mut [usize],
    interrupt: &Interrupt,
    key: &impl Fn(&usize) -> K,
) -> Result<()> {
    for (at, to) in to.iter_mut().enumerate() {
        if at % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        let from = match (left.first(), right.first()) {
            (Some(one), Some(other)) if key(other) < key(one) => &mut right,
            (None, _) => &mut right,
            _ => &mut left,
        };
        if let Some((first, rest)) = from.split_first() {
            *to = *first;
            *from = rest;
        }
    }
    Ok(())
}
