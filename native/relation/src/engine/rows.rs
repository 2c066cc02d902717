//! Some rows of tables: by a mask, or by their places.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, PrimitiveArray, UInt32Array},
    buffer::BooleanBuffer,
    compute::{concat, filter as filter_array, take as take_array},
    datatypes::{DataType, Int32Type},
};
use fulgurite_error::Result;
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;

use crate::{
    kernels::value::{failed, with_type},
    parallel::{by_tasks, rows_of_a_task, written},
    table::Table,
};

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
    let flags = true_where(mask);
    let of_a_task = rows_of_a_task(mask.len());
    let counts = by_tasks(mask.len(), of_a_task, |rows| {
        Ok(flags.slice(rows.start, rows.len()).count_set_bits())
    })?;
    each(columns, kept, |column| {
        filtered_column(column, &flags, &counts, of_a_task)
    })
}

fn filtered_column(
    column: &ArrayRef,
    flags: &BooleanBuffer,
    counts: &[usize],
    of_a_task: usize,
) -> Result<ArrayRef> {
    let kind = column.data_type();
    if column.null_count() == 0 {
        if let DataType::Dictionary(..) = kind {
            let coded = column.as_dictionary::<Int32Type>();
            let codes: ArrayRef = Arc::new(coded.keys().clone());
            let codes = filtered_column(&codes, flags, counts, of_a_task)?;
            let codes = codes.as_primitive::<Int32Type>().clone();
            let coded = DictionaryArray::try_new(codes, Arc::clone(coded.values()));
            return Ok(Arc::new(coded.map_err(failed)?));
        }
        with_type!(kind, T => {
            let column = column.as_primitive::<T>();
            let values = column.values();
            let kept = written(counts, |task, kept| {
                let start = task * of_a_task;
                let rows = of_a_task.min(flags.len() - start);
                let rows = flags.slice(start, rows);
                let values = &values[start..];
                for (place, row) in kept.iter_mut().zip(rows.set_indices()) {
                    *place = values[row];
                }
            })?;
            let kept = PrimitiveArray::<T>::new(kept.into(), None);
            return Ok(Arc::new(kept.with_data_type(kind.clone())));
        }, else {});
    }
    let parts = by_tasks(flags.len(), of_a_task, |rows| {
        let mask = BooleanArray::new(flags.slice(rows.start, rows.len()), None);
        filter_array(&column.slice(rows.start, rows.len()), &mask).map_err(failed)
    })?;
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    concat(&parts).map_err(failed)
}

/// Where truths are there and true.
pub(crate) fn true_where(truths: &BooleanArray) -> BooleanBuffer {
    match truths.nulls() {
        Some(nulls) => truths.values() & nulls.inner(),
        None => truths.values().clone(),
    }
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
