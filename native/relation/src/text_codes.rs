//! Texts by codes.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, DictionaryArray, Int32Array, StringArray, UInt32Array},
    buffer::{NullBuffer, ScalarBuffer},
    compute::take,
    datatypes::Int32Type,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::memory;
use rustc_hash::FxHashMap;

use crate::{
    kernels::value::failed,
    parallel::{filled, rows_of_a_task},
};

/// Texts by codes of their first rows, none of which is null.
///
/// # Errors
/// `memory`; `unsupported`.
pub(crate) fn by_first_rows(
    texts: &StringArray,
    codes: &ScalarBuffer<u32>,
    first_rows: Vec<u32>,
    nulls: Option<NullBuffer>,
) -> Result<DictionaryArray<Int32Type>> {
    memory::admit(first_rows.len().saturating_mul(32))?;
    let values = take(texts, &UInt32Array::from(first_rows), None).map_err(failed)?;
    // There are no more codes than rows.
    let codes = Int32Array::new(codes.inner().clone().into(), nulls);
    DictionaryArray::try_new(codes, values).map_err(failed)
}

/// The same texts by codes of distinct values that are not null.
///
/// # Errors
/// `memory`; `interrupted`.
pub(crate) fn distinct(column: &DictionaryArray<Int32Type>) -> Result<ArrayRef> {
    let values = column.values().as_string::<i32>();
    memory::admit(values.len().saturating_mul(40))?;
    let mut places: FxHashMap<&str, i32> = FxHashMap::default();
    let mut kept: Vec<&str> = Vec::new();
    let mut codes: Vec<Option<i32>> = memory::room(values.len())?;
    let mut changed = values.null_count() > 0;
    for value in values {
        codes.push(value.map(|value| {
            let next = kept.len() as i32;
            let code = *places.entry(value).or_insert(next);
            match code == next {
                true => kept.push(value),
                false => changed = true,
            }
            code
        }));
    }
    if !changed {
        return Ok(Arc::new(column.clone()));
    }
    let keys = column.keys();
    let keys: Int32Array = match values.null_count() {
        0 => {
            let (recoded, _) = filled(keys.len(), rows_of_a_task(keys.len()), |start, places| {
                for (place, key) in places.iter_mut().zip(&keys.values()[start..]) {
                    // The key of a null may be any.
                    *place = codes.get(*key as usize).copied().flatten().unwrap_or(0);
                }
                Ok(())
            })?;
            Int32Array::new(recoded.into(), keys.nulls().cloned())
        }
        _ => {
            memory::admit(column.len().saturating_mul(4))?;
            keys.iter()
                .map(|key| codes.get(key? as usize).copied().flatten())
                .collect()
        }
    };
    let column = DictionaryArray::try_new(keys, Arc::new(StringArray::from(kept)))
        .map_err(|error| Error::internal(format!("codes of text: {error}")))?;
    Ok(Arc::new(column))
}
