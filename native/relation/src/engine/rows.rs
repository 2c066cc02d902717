//! Some rows of tables: by a mask, or by their places.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, PrimitiveArray, StringArray,
        UInt32Array,
    },
    buffer::{BooleanBuffer, ScalarBuffer},
    compute::{concat, filter as filter_array, take as take_array},
    datatypes::{DataType, Int32Type},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;

use super::coder::{Coded, coded_texts};
use crate::{
    kernels::value::{Number, failed, with_type},
    numbers::EXACT,
    parallel::{by_tasks, rows_of_a_task, written, written_with},
    table::Table,
    text_codes::by_first_rows,
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
    let counts = counts_where(&flags, of_a_task)?;
    each(columns, kept, |column| {
        filtered_column(column, &flags, &counts, of_a_task)
    })
}

/// Some rows of a column of texts by codes, which are the rows' groups, too.
pub(crate) struct CodedRows {
    pub texts: ArrayRef,
    pub codes: ScalarBuffer<u32>,
    pub first_rows: UInt32Array,
}

/// The texts of flagged rows, none of which is null. They are never put together.
///
/// # Errors
/// As [`filter`].
pub(crate) fn coded_where(texts: &StringArray, flags: &BooleanBuffer) -> Result<CodedRows> {
    let of_a_task = rows_of_a_task(flags.len());
    let counts = counts_where(flags, of_a_task)?;
    let rows = written(&counts, |task, kept: &mut [u32]| {
        let start = task * of_a_task;
        let flags = flags.slice(start, of_a_task.min(flags.len() - start));
        for (place, row) in kept.iter_mut().zip(flags.set_indices_u32()) {
            *place = start as u32 + row;
        }
    })?;
    let Coded { codes, first_rows } = coded_texts(texts, rows.len(), |at| rows[at] as usize)?;
    let mut of_texts = memory::room(first_rows.len())?;
    of_texts.extend(first_rows.iter().map(|first| rows[*first as usize]));
    let codes = ScalarBuffer::from(codes);
    let texts = by_first_rows(texts, &codes, of_texts, None)?;
    Ok(CodedRows {
        texts: Arc::new(texts),
        codes,
        first_rows: first_rows.into(),
    })
}

/// How many rows of each task have a flag.
fn counts_where(flags: &BooleanBuffer, of_a_task: usize) -> Result<Vec<usize>> {
    by_tasks(flags.len(), of_a_task, |rows| {
        Ok(flags.slice(rows.start, rows.len()).count_set_bits())
    })
}

/// Rows whose cells of all columns stay in the cache until they are beside each other.
const ROWS_BESIDE: usize = 1 << 11;

/// Flagged rows of columns of numbers without nulls as doubles, the cells of a row beside each other; and whether doubles have all whole
/// numbers exactly.
///
/// # Errors
/// As [`filter`]; `internal` for other columns.
pub(crate) fn beside_where(
    columns: &[&ArrayRef],
    flags: &BooleanBuffer,
) -> Result<(Vec<f64>, bool)> {
    let width = columns.len();
    let of_a_task = rows_of_a_task(flags.len());
    let counts = counts_where(flags, of_a_task)?;
    let cells = counts.iter().map(|count| count * width);
    let (cells, exact) = written_with(&cells.collect::<Vec<_>>(), |task, cells| {
        let rows = task * of_a_task..flags.len().min((task + 1) * of_a_task);
        let mut all_exact = true;
        let mut places = [0; ROWS_BESIDE];
        let mut left = cells;
        for start in rows.clone().step_by(ROWS_BESIDE) {
            let flags = flags.slice(start, ROWS_BESIDE.min(rows.end - start));
            let mut count = 0;
            for (place, row) in places.iter_mut().zip(flags.set_indices_u32()) {
                *place = row;
                count += 1;
            }
            let (block, later) = std::mem::take(&mut left).split_at_mut(count * width);
            left = later;
            for (col, column) in columns.iter().enumerate() {
                with_type!(column.data_type(), T => {
                    let values = &column.as_primitive::<T>().values()[start..];
                    for (row, place) in block.chunks_exact_mut(width).zip(&places) {
                        let cell = values[*place as usize].as_f64();
                        all_exact &= cell.abs() <= EXACT;
                        row[col] = cell;
                    }
                }, else return Err(Error::internal(format!("numbers of {}", column.data_type()))));
            }
        }
        Ok(all_exact)
    })?;
    Ok((cells, exact.into_iter().all(|exact| exact)))
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
