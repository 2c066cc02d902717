//! What plans have found out about the rows of a table, for the next plan over it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::{
    array::{ArrayRef, UInt32Array},
    buffer::{BooleanBuffer, ScalarBuffer},
};
use fulgurite_error::Result;
use fulgurite_lazy::Expression;
use fulgurite_matrix::memory;

use crate::{
    engine::groups::{self, Groups},
    numbers,
    parallel::{by_tasks, rows_of_a_thread},
};

/// Sets of keys whose groups are kept with a table, and predicates whose rows are.
const MOST_KEPT: usize = 4;

/// Rows with equal keys, as plans read them.
#[derive(Debug)]
pub(crate) struct KeyGroups {
    codes: ScalarBuffer<u32>,
    column: OnceLock<Arc<Expression>>,
    /// The first row of each group.
    pub first_rows: UInt32Array,
}

impl KeyGroups {
    /// # Errors
    /// `memory`; `interrupted`.
    pub fn of(keys: &[ArrayRef]) -> Result<Self> {
        let Groups {
            codes, first_rows, ..
        } = groups::codes(keys)?;
        Ok(KeyGroups::new(codes.into(), first_rows.into()))
    }

    /// Groups that are numbered by their first rows.
    pub fn new(codes: ScalarBuffer<u32>, first_rows: UInt32Array) -> Self {
        KeyGroups {
            codes,
            column: OnceLock::new(),
            first_rows,
        }
    }

    /// The number of each row's group, from 1 on, as a column.
    ///
    /// # Errors
    /// `memory`; `interrupted`.
    pub fn column(&self) -> Result<Arc<Expression>> {
        if let Some(known) = self.column.get() {
            return Ok(Arc::clone(known));
        }
        let made = numbers::column(self.codes.len(), |row| f64::from(self.codes[row]) + 1.0)?;
        Ok(Arc::clone(self.column.get_or_init(|| made)))
    }

    /// The same with 0, which is no group, for rows without a flag.
    ///
    /// # Errors
    /// As [`KeyGroups::column`].
    pub fn column_where(&self, flags: &BooleanBuffer) -> Result<Arc<Expression>> {
        numbers::column(self.codes.len(), |row| match flags.value(row) {
            true => f64::from(self.codes[row]) + 1.0,
            false => 0.0,
        })
    }

    /// The first row with a flag of each group that has one, ascending.
    ///
    /// # Errors
    /// `memory`; `interrupted`.
    pub fn first_rows_where(&self, flags: &BooleanBuffer) -> Result<UInt32Array> {
        const NONE: u32 = u32::MAX;
        let rows = self.codes.len();
        let firsts = by_tasks(rows, rows_of_a_thread(rows), |rows| {
            let mut firsts = memory::filled(self.first_rows.len(), NONE)?;
            for row in rows.filter(|row| flags.value(*row)) {
                let first = &mut firsts[self.codes[row] as usize];
                *first = (row as u32).min(*first);
            }
            Ok(firsts)
        })?;
        let mut firsts = firsts.into_iter();
        let mut all = firsts.next().unwrap_or_default();
        for later in firsts {
            for (first, later) in all.iter_mut().zip(later) {
                *first = later.min(*first);
            }
        }
        all.retain(|row| *row != NONE);
        all.sort_unstable();
        Ok(all.into())
    }
}

/// Values by columns, and by what else they depend on, of which a few are kept.
type Few<T> = Mutex<Vec<(Vec<ArrayRef>, String, T)>>;

fn found<T: Clone>(
    few: &Few<T>,
    columns: &[ArrayRef],
    text: &str,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let is_same = |known: &[ArrayRef]| {
        known.len() == columns.len() && known.iter().zip(columns).all(|(a, b)| Arc::ptr_eq(a, b))
    };
    let kept = few.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept.iter().find_map(|(known, of, value)| {
        let is_it = is_same(known) && of == text;
        is_it.then(|| value.clone())
    });
    drop(kept);
    if let Some(known) = known {
        return Ok(known);
    }
    let made = make()?;
    keep(few, columns, text, made.clone());
    Ok(made)
}

fn keep<T>(few: &Few<T>, columns: &[ArrayRef], text: &str, value: T) {
    let mut kept = few.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() == MOST_KEPT {
        kept.remove(0);
    }
    kept.push((columns.to_vec(), text.to_owned(), value));
}

/// Groups of rows and selected rows that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    groups: Few<Arc<KeyGroups>>,
    flags: Few<BooleanBuffer>,
}

impl Kept {
    /// The groups by these columns.
    ///
    /// # Errors
    /// `memory`; `interrupted`.
    pub fn groups(&self, keys: &[ArrayRef]) -> Result<Arc<KeyGroups>> {
        found(&self.groups, keys, "", || KeyGroups::of(keys).map(Arc::new))
    }

    /// Keeps the groups by a column, which are known.
    pub fn keep_groups(&self, key: &ArrayRef, groups: KeyGroups) {
        keep(
            &self.groups,
            std::slice::from_ref(key),
            "",
            Arc::new(groups),
        );
    }

    /// The rows that a predicate of these columns selects, which `find` finds.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn flags(
        &self,
        columns: &[ArrayRef],
        predicate: &str,
        find: impl FnOnce() -> Result<BooleanBuffer>,
    ) -> Result<BooleanBuffer> {
        found(&self.flags, columns, predicate, find)
    }
}
