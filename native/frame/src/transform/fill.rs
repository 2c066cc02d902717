//! Missing values filled, and rows left out that have some.

use std::sync::Arc;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, java_double, memory, parse_double};
use rustc_hash::FxHashMap;

use super::{Coding, ColumnSpec, Filling};
use crate::{
    Cell, Column, ColumnType, Frame,
    column::{ROWS_AT_ONCE, push},
    frame::column_of_numbers,
};

/// What fills the missing cells of a column, as text. None where the column has no cell to learn it from.
pub(super) fn fill_of(column: &Column, name: &str, spec: &ColumnSpec) -> Result<Option<Arc<str>>> {
    match &spec.fill {
        None => Ok(None),
        Some(Filling::Constant(text)) => Ok(Some(text.clone())),
        Some(Filling::Mean) => {
            let numbers = column_of_numbers(column, name)?;
            Ok(mean(&numbers).map(|mean| java_double(mean).into()))
        }
        Some(Filling::Mode) => mode(column),
    }
}

/// Without NaN, which is missing too. Of a million numbers the last digits are right: the sum is compensated (Neumaier).
pub(super) fn mean(numbers: &[f64]) -> Option<f64> {
    let (mut sum, mut lost, mut count) = (0.0_f64, 0.0_f64, 0_usize);
    for number in numbers.iter().filter(|number| !number.is_nan()) {
        let next = sum + number;
        lost += match sum.abs() >= number.abs() {
            true => (sum - next) + number,
            false => (number - next) + sum,
        };
        sum = next;
        count += 1;
    }
    // An infinite sum has no digits to lose.
    let sum = if sum.is_finite() { sum + lost } else { sum };
    (count > 0).then(|| sum / count as f64)
}

/// The text that most cells have; of several, the first in the column.
fn mode(column: &Column) -> Result<Option<Arc<str>>> {
    let interrupt = Interrupt::current();
    let mut counts: FxHashMap<String, (usize, usize)> = FxHashMap::default();
    for row in 0..column.len() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        let Some(cell) = column.cell(row).filter(|cell| !is_nan(*cell)) else {
            continue;
        };
        let text = cell.text();
        match counts.get_mut(&*text) {
            Some((count, _)) => *count += 1,
            None => {
                if counts.len().is_power_of_two() {
                    memory::admit(counts.len().saturating_mul(96).saturating_add(text.len()))?;
                }
                counts.insert(text.into_owned(), (1, row));
            }
        }
    }
    let most = counts
        .into_iter()
        .max_by_key(|(_, (count, row))| (*count, std::cmp::Reverse(*row)));
    Ok(most.map(|(text, _)| text.into()))
}

fn is_nan(cell: Cell<'_>) -> bool {
    match cell {
        Cell::Fp32(value) => value.is_nan(),
        Cell::Fp64(value) => value.is_nan(),
        _ => false,
    }
}

/// The column with its missing cells filled: text where categories are coded, else numbers.
pub(super) fn filled(column: &Column, name: &str, spec: &ColumnSpec, fill: &str) -> Result<Column> {
    match spec.coding {
        Coding::Recode | Coding::Hash { .. } | Coding::Embed => {
            let cells = column.cells().map(|cell| {
                let cell = cell.filter(|cell| !is_nan(*cell));
                Some(cell.unwrap_or(Cell::Text(fill)))
            });
            Column::of_cells(ColumnType::String, name, cells)
        }
        Coding::Pass | Coding::Bin { .. } | Coding::Scale(_) => {
            let number = parse_double(fill.trim()).ok_or_else(|| {
                Error::data(format!(
                    "column '{name}': '{fill}', for missing cells, is no FP64"
                ))
            })?;
            let mut numbers = column_of_numbers(column, name)?;
            numbers
                .iter_mut()
                .filter(|value| value.is_nan())
                .for_each(|value| *value = number);
            Ok(Column::Fp64(numbers.into()))
        }
    }
}

/// The rows that have no missing cell in columns that ask for it. None where that is all.
pub(super) fn kept(frame: &Frame, plan: &[ColumnSpec]) -> Result<Option<Vec<usize>>> {
    let asking: Vec<_> = frame
        .columns()
        .iter()
        .zip(plan)
        .filter(|(_, plan)| plan.omit)
        .map(|(column, _)| column)
        .collect();
    if asking.is_empty() {
        return Ok(None);
    }
    let interrupt = Interrupt::current();
    let mut kept = Vec::new();
    for row in 0..frame.rows() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        let present = |column: &&Column| column.cell(row).is_some_and(|cell| !is_nan(cell));
        if asking.iter().all(present) {
            push(&mut kept, row)?;
        }
    }
    Ok((kept.len() < frame.rows()).then_some(kept))
}
