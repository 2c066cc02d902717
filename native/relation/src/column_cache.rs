//! What is kept with a column of a table once it was asked for: its numbers as a matrix, its texts by codes.

use std::sync::{Arc, OnceLock};

use arrow::{
    array::{Array, ArrayRef, AsArray, StringArray},
    datatypes::{DataType, Float64Type},
};
use fulgurite_error::Result;
use rayon::prelude::*;

use crate::{
    engine::{
        coder::{Coded, coded, coded_texts},
        text_key::TextKey,
    },
    numbers::NumericColumn,
    parallel::{changed, rows_of_a_task},
    text_codes::by_first_rows,
};

/// Fewer rows are not worth a look at which texts they have.
const LEAST_ROWS: usize = 1 << 16;
/// Rows that are looked at.
const SAMPLE: usize = 1 << 12;
/// A text that comes so often on average is worth a code.
const ROWS_OF_A_TEXT: usize = 16;

#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnCache {
    numbers: Arc<OnceLock<Option<NumericColumn>>>,
    has_nan: Arc<OnceLock<bool>>,
    codes: Arc<OnceLock<Option<ArrayRef>>>,
}

impl ColumnCache {
    /// The column as a matrix of one column; none for texts.
    ///
    /// # Errors
    /// `memory`; `interrupted`.
    pub fn numbers(&self, array: &ArrayRef) -> Result<Option<NumericColumn>> {
        if let Some(known) = self.numbers.get() {
            return Ok(known.clone());
        }
        let made = NumericColumn::of(array)?;
        Ok(self.numbers.get_or_init(|| made).clone())
    }

    /// Whether a value is NaN.
    pub fn has_nan(&self, array: &ArrayRef) -> bool {
        *self.has_nan.get_or_init(|| match array.data_type() {
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>().values();
                values.par_iter().any(|value| value.is_nan())
            }
            _ => false,
        })
    }

    /// Texts by codes of the distinct ones; none where a sample says that these are many.
    ///
    /// # Errors
    /// `memory`; `interrupted`.
    pub fn coded(&self, array: &ArrayRef) -> Result<Option<ArrayRef>> {
        if let Some(known) = self.codes.get() {
            return Ok(known.clone());
        }
        let made = match array.data_type() {
            DataType::Utf8 => codes_of(array.as_string::<i32>())?,
            _ => None,
        };
        Ok(self.codes.get_or_init(|| made).clone())
    }

    /// The same if it was asked for before.
    pub fn known_coded(&self) -> Option<ArrayRef> {
        self.codes.get().cloned().flatten()
    }
}

fn codes_of(texts: &StringArray) -> Result<Option<ArrayRef>> {
    let rows = texts.len();
    if rows < LEAST_ROWS || !are_few(texts)? {
        return Ok(None);
    }
    let Coded {
        mut codes,
        mut first_rows,
    } = coded_texts(texts, rows, |row| row)?;
    if let Some(null) = (first_rows.iter()).position(|row| texts.is_null(*row as usize)) {
        first_rows.remove(null);
        changed(&mut codes, rows_of_a_task(rows), |_, codes| {
            for code in codes {
                // That of null may be any.
                *code = match *code as usize > null {
                    true => *code - 1,
                    false => *code % first_rows.len().max(1) as u32,
                };
            }
        })?;
    }
    let coded = by_first_rows(texts, &codes.into(), first_rows, texts.nulls().cloned())?;
    Ok(Some(Arc::new(coded)))
}

/// Whether a sample says that each text comes often. As many pairs of rows are equal as there would be if all texts came equally often
/// (of D texts, s (s - 1) / 2 D of the pairs among s rows); where some come more often than others, there are more.
fn are_few(texts: &StringArray) -> Result<bool> {
    let step = texts.len() / SAMPLE;
    // A step of its own for each row, so that periods in the data are not met.
    let row = |at: usize| at * step + at.wrapping_mul(0x9E37_79B9) % step;
    let sample = coded(SAMPLE, |at| TextKey::of(texts, row(at)))?;
    let repeated = SAMPLE - sample.first_rows.len();
    let distinct = SAMPLE * SAMPLE / (2 * repeated).max(1);
    Ok(repeated > SAMPLE / 2 || distinct.saturating_mul(ROWS_OF_A_TEXT) < texts.len())
}
