//! Exact encoding of columns that share a code, in one pass over the rows, on all threads.
//!
//! Each task of rows has dictionaries of its own. They become one in the order of tasks, so that codes are numbered as their tuples
//! come first in the matrix, on any number of threads.

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{
    codes::GroupCodes,
    dummies::for_nonzero,
    group::{ColumnGroup, GroupEncoding},
    tile_tasks,
};
use crate::{ByRows, Interrupt, memory};

/// Another encoding than codes of all rows must take less than this share of their space: it is slower.
const WORTH_IT: f64 = 0.5;

/// Rows that all groups visit before the next ones are read.
const ROWS_TOGETHER: usize = 256;

/// Different tuples, numbered as they come.
struct NumberedTuples {
    width: usize,
    /// Bits of the values.
    tuples: Vec<u64>,
    /// Numbers from 1; a power of two of them.
    slots: Vec<u32>,
}

impl NumberedTuples {
    fn new(width: usize) -> Self {
        NumberedTuples {
            width,
            tuples: Vec::new(),
            slots: vec![0; 64],
        }
    }

    fn len(&self) -> usize {
        self.tuples.len() / self.width
    }

    fn number(&mut self, tuple: &[u64]) -> u32 {
        let mut slot = self.first_slot(tuple);
        loop {
            match self.slots[slot] {
                0 => break,
                found => {
                    let from = (found as usize - 1) * self.width;
                    if self.tuples[from..from + self.width] == *tuple {
                        return found - 1;
                    }
                }
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        let number = self.len() as u32;
        self.tuples.extend_from_slice(tuple);
        self.slots[slot] = number + 1;
        if 2 * self.len() > self.slots.len() {
            self.grow();
        }
        number
    }

    fn first_slot(&self, tuple: &[u64]) -> usize {
        let mut hash = 0u64;
        for bits in tuple {
            hash = (hash.rotate_left(23) ^ bits).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        let slots = 4 * self.slots.len();
        self.slots.clear();
        self.slots.resize(slots, 0);
        for number in 0..self.len() {
            let tuple = &self.tuples[number * self.width..(number + 1) * self.width];
            let mut slot = self.first_slot(tuple);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = number as u32 + 1;
        }
    }
}

/// The codes of a task's rows, as narrow as they have been so far.
enum TaskCodes {
    Bytes(Vec<u8>),
    Shorts(Vec<u16>),
    Words(Vec<u32>),
}

impl TaskCodes {
    fn push(&mut self, code: u32) {
        match self {
            TaskCodes::Bytes(codes) => match u8::try_from(code) {
                Ok(code) => codes.push(code),
                Err(_) => {
                    *self = TaskCodes::Shorts(codes.iter().map(|code| u16::from(*code)).collect());
                    self.push(code);
                }
            },
            TaskCodes::Shorts(codes) => match u16::try_from(code) {
                Ok(code) => codes.push(code),
                Err(_) => {
                    *self = TaskCodes::Words(codes.iter().map(|code| u32::from(*code)).collect());
                    self.push(code);
                }
            },
            TaskCodes::Words(codes) => codes.push(code),
        }
    }

    fn for_each(&self, mut visit: impl FnMut(usize)) {
        match self {
            TaskCodes::Bytes(codes) => codes.iter().for_each(|code| visit(usize::from(*code))),
            TaskCodes::Shorts(codes) => codes.iter().for_each(|code| visit(usize::from(*code))),
            TaskCodes::Words(codes) => codes.iter().for_each(|code| visit(*code as usize)),
        }
    }
}

/// What a task finds of a group; nothing where it has so many tuples that it does not compress.
type TaskGroup = Option<(NumberedTuples, TaskCodes)>;

/// Groups of these columns; nothing for those that don't compress.
pub(super) fn encode_groups(
    matrix: &ByRows<'_>,
    (rows, cols): (usize, usize),
    groups: &[Vec<usize>],
) -> Result<Vec<Option<ColumnGroup>>> {
    let interrupt = Interrupt::current();
    let parts = tile_tasks(rows).into_par_iter().map(|task| {
        let length = task.len();
        let mut found = Vec::new();
        for columns in groups {
            let codes = TaskCodes::Bytes(memory::room(length)?);
            found.push(Some((NumberedTuples::new(columns.len()), codes)));
        }
        // Most tuples of a task for which a dictionary and its codes take less than the cells.
        let most = length / 2 + 1;
        let mut sparse: Vec<f64> = match matrix {
            ByRows::Dense(_) => Vec::new(),
            ByRows::Csr(_) => memory::zeros(memory::cells(ROWS_TOGETHER, cols)?)?,
        };
        let mut rows = task;
        while !rows.is_empty() {
            interrupt.check()?;
            let end = (rows.start + ROWS_TOGETHER).min(rows.end);
            let cells: &[f64] = match matrix {
                ByRows::Dense(dense) => &dense.values()[rows.start * cols..end * cols],
                ByRows::Csr(_) => {
                    sparse.fill(0.0);
                    for (row, out) in (rows.start..end).zip(sparse.chunks_exact_mut(cols)) {
                        for_nonzero(matrix, row, |column, value| out[column] = value);
                    }
                    &sparse[..(end - rows.start) * cols]
                }
            };
            for (columns, group) in groups.iter().zip(&mut found) {
                number_rows(cells, cols, columns, group, most);
            }
            rows.start = end;
        }
        Ok(found)
    });
    let mut parts = parts.collect::<Result<Vec<Vec<TaskGroup>>>>()?;
    let mut by_group: Vec<Vec<TaskGroup>> = groups.iter().map(|_| Vec::new()).collect();
    for part in parts.drain(..) {
        by_group
            .iter_mut()
            .zip(part)
            .for_each(|(group, part)| group.push(part));
    }
    let encoded = by_group
        .into_par_iter()
        .zip(groups)
        .map(|(parts, columns)| {
            let parts: Option<Vec<(NumberedTuples, TaskCodes)>> = parts.into_iter().collect();
            parts.map_or(Ok(None), |parts| encode_group(rows, columns, &parts))
        });
    encoded.collect()
}

fn number_rows(cells: &[f64], cols: usize, columns: &[usize], group: &mut TaskGroup, most: usize) {
    let Some((tuples, codes)) = group else { return };
    if let [column] = columns {
        // Runs are frequent: the tuple before is looked at first.
        let mut last: Option<(u64, u32)> = None;
        for row in cells.chunks_exact(cols) {
            let bits = row[*column].to_bits();
            let code = match last {
                Some((same, code)) if same == bits => code,
                _ => tuples.number(&[bits]),
            };
            last = Some((bits, code));
            codes.push(code);
        }
    } else {
        let mut tuple = vec![0; columns.len()];
        for row in cells.chunks_exact(cols) {
            for (bits, column) in tuple.iter_mut().zip(columns) {
                *bits = row[*column].to_bits();
            }
            codes.push(tuples.number(&tuple));
        }
    }
    if tuples.len() > most {
        *group = None;
    }
}

fn encode_group(
    rows: usize,
    columns: &[usize],
    parts: &[(NumberedTuples, TaskCodes)],
) -> Result<Option<ColumnGroup>> {
    let width = columns.len();
    let mut all = NumberedTuples::new(width);
    let mut codes: Vec<u32> = memory::room(rows)?;
    for (tuples, part) in parts {
        let numbers: Vec<u32> = memory::collected(
            tuples
                .tuples
                .chunks_exact(width)
                .map(|tuple| all.number(tuple)),
        )?;
        part.for_each(|code| codes.push(numbers[code]));
    }
    let mut dictionary: Vec<f64> =
        memory::collected(all.tuples.iter().map(|bits| f64::from_bits(*bits)))?;
    let numbers = memory::collected(columns.iter().map(|column| *column as i32))?;
    if all.len() <= 1 {
        return match dictionary.iter().all(|value| value.to_bits() == 0) {
            true => ColumnGroup::empty(rows, numbers).map(Some),
            false => ColumnGroup::constant(rows, numbers, dictionary).map(Some),
        };
    }
    let distinct = all.len();
    let mut counts: Vec<usize> = memory::zeros_of(distinct)?;
    codes.iter().for_each(|code| counts[*code as usize] += 1);
    let runs = 1 + codes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let (most_frequent, most) = counts
        .iter()
        .enumerate()
        .max_by_key(|(_, count)| **count)
        .unwrap_or((0, &0));
    let bits = usize::from(super::codes::bits_for(distinct));
    let coded = rows * bits / 8;
    let of_places = |places: usize| 4 * places + places * bits / 8;
    let (in_runs, in_exceptions) = (of_places(runs), of_places(rows - most));
    let least = coded.min(in_runs).min(in_exceptions);
    if least + 8 * dictionary.len() >= 8 * rows * width {
        return Ok(None);
    }
    let limit = (WORTH_IT * coded as f64) as usize;
    let has_numbers = u32::try_from(rows).is_ok();
    let encoding = if has_numbers && in_runs < limit && in_runs <= in_exceptions {
        let is_start = |row: &usize| *row == 0 || codes[*row] != codes[row - 1];
        let mut starts: Vec<u32> = memory::room(runs)?;
        starts.extend((0..rows).filter(is_start).map(|row| row as u32));
        let of_runs: Vec<u32> = memory::collected(starts.iter().map(|row| codes[*row as usize]))?;
        GroupEncoding::Runs {
            dictionary: dictionary.into(),
            starts: starts.into(),
            codes: GroupCodes::new(distinct, of_runs)?,
        }
    } else if has_numbers && in_exceptions < limit {
        // The default's code is 0.
        let default = most_frequent as u32;
        for at in 0..width {
            dictionary.swap(at, most_frequent * width + at);
        }
        let mut at: Vec<u32> = memory::room(rows - most)?;
        at.extend(
            (0..rows)
                .filter(|row| codes[*row] != default)
                .map(|row| row as u32),
        );
        let of_exceptions = at.iter().map(|row| match codes[*row as usize] {
            0 => default,
            code => code,
        });
        let of_exceptions: Vec<u32> = memory::collected(of_exceptions)?;
        GroupEncoding::Exceptions {
            dictionary: dictionary.into(),
            at: at.into(),
            codes: GroupCodes::new(distinct, of_exceptions)?,
        }
    } else {
        GroupEncoding::Coded {
            dictionary: dictionary.into(),
            codes: GroupCodes::new(distinct, codes)?,
        }
    };
    ColumnGroup::new(rows, numbers, encoding).map(Some)
}
