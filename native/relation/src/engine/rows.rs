//! Some rows of tables: by a mask, or by their places.

use arrow::{
    array::{Array, ArrayRef, BooleanArray, UInt32Array},
    compute::{FilterBuilder, take as take_array},
};
use fulgurite_error::Result;
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;

use crate::{kernels::value::failed, table::Table};

/// The rows for which the mask is true.
///
/// # Errors
/// `memory`; `interrupted`.
pub fn filter(table: &Table, mask: &BooleanArray) -> Result<Table> {
    let columns = filtered(table.columns(), mask)?;
    Table::trusted(mask.true_count(), table.names().to_vec(), columns)
}

/// The same for columns.
///
/// # Errors
/// As [`filter`].
pub fn filtered(columns: &[ArrayRef], mask: &BooleanArray) -> Result<Vec<ArrayRef>> {
    let kept = mask.true_count();
    if kept == mask.len() {
        return Ok(columns.to_vec());
    }
    let mut predicate = FilterBuilder::new(mask);
    if columns.len() > 1 {
        predicate = predicate.optimize();
    }
    let predicate = predicate.build();
    each(columns, kept, |column| {
        predicate.filter(column).map_err(failed)
    })
}

/// The rows of these places, in their order. A null place is a row of nulls.
///
/// # Errors
/// `unsupported` for more text than one array has room for; `memory`; `interrupted`.
pub fn take(table: &Table, places: &UInt32Array) -> Result<Table> {
    let columns = taken(table.columns(), places)?;
    Table::trusted(places.len(), table.names().to_vec(), columns)
}

/// The same for columns.
///
/// # Errors
/// As [`take`].
pub fn taken(columns: &[ArrayRef], places: &UInt32Array) -> Result<Vec<ArrayRef>> {
    each(columns, places.len(), |column| {
        take_array(column, places, None).map_err(failed)
    })
}

/// Applies a function to columns on all threads; each result has so many rows.
fn each(
    columns: &[ArrayRef],
    rows: usize,
    f: impl Fn(&ArrayRef) -> Result<ArrayRef> + Sync,
) -> Result<Vec<ArrayRef>> {
    for column in columns {
        let width = match column.data_type().primitive_width() {
            Some(width) => width,
            None => column.get_buffer_memory_size() / column.len().max(1) + 4,
        };
        memory::admit(rows.saturating_mul(width.min(1 << 10)))?;
    }
    let interrupt = Interrupt::current();
    let applied = columns.par_iter().map(|column| {
        interrupt.within(|| {
            interrupt.check()?;
            f(column)
        })
    });
    applied.collect()
}
