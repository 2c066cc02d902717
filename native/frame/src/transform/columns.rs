//! The code of one column.

use std::sync::Arc;

use arrow::{
    array::{Array, DictionaryArray, StringArray},
    datatypes::Int32Type,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, java_double, memory, parse_double};
use rustc_hash::FxHashMap;

use super::{Binning, Coding, ColumnSpec, Scaling, fill::mean, known::Known};
use crate::{
    Cell, Column, ColumnType,
    column::{ROWS_AT_ONCE, push},
    compare::java_hash,
    frame::column_of_numbers,
    types::SEPARATOR,
};

/// What stands for what in a column.
pub(super) enum Coder {
    Pass,
    Recode {
        codes: FxHashMap<Arc<str>, usize>,
        /// The category of code 1 is the first. None where metadata skips a code.
        categories: Vec<Option<Arc<str>>>,
    },
    /// Least and greatest number of each bin; the first is below all numbers and the last above, whatever they say.
    Bin(Vec<(f64, f64)>),
    Hash(usize),
    /// What is subtracted, and what the rest is divided by.
    Scale(f64, f64),
}

impl Coder {
    pub(super) fn build(column: &Column, name: &str, spec: &ColumnSpec) -> Result<Self> {
        Ok(match spec.coding {
            Coding::Pass => Coder::Pass,
            Coding::Hash { buckets } => Coder::Hash(buckets),
            Coding::Bin { method, bins } => {
                // Each bin is two numbers, and a cell of text in the metadata.
                memory::admit(bins.saturating_mul(BYTES_OF_A_BIN))?;
                let mut numbers = column_of_numbers(column, name)?;
                numbers.retain(|number| number.is_finite());
                Coder::Bin(match method {
                    Binning::EquiWidth => equi_width(&numbers, bins)?,
                    Binning::EquiHeight => equi_height(numbers, bins)?,
                })
            }
            Coding::Recode | Coding::Embed => recode(column)?,
            Coding::Scale(scaling) => scale(&column_of_numbers(column, name)?, scaling),
        })
    }

    /// From a column of metadata.
    pub(super) fn read(column: &Column, name: &str, spec: &ColumnSpec) -> Result<Self> {
        let refused = |row: usize, text: &str, what: &str| {
            Error::data(format!(
                "metadata, row {}, column '{name}': '{text}' is no {what}",
                row + 1
            ))
        };
        let cells = column
            .cells()
            .enumerate()
            .filter_map(|(row, cell)| Some((row, cell?.text())));
        match spec.coding {
            Coding::Pass => Ok(Coder::Pass),
            Coding::Hash { buckets } => Ok(Coder::Hash(buckets)),
            Coding::Bin { .. } => {
                let mut bins = Vec::new();
                for (row, text) in cells {
                    let ends = text.split_once(SEPARATOR);
                    let ends =
                        ends.and_then(|(min, max)| Some((parse_double(min)?, parse_double(max)?)));
                    push(
                        &mut bins,
                        ends.ok_or_else(|| refused(row, &text, "bin (min·max)"))?,
                    )?;
                }
                Ok(Coder::Bin(bins))
            }
            Coding::Scale(_) => {
                let found = cells.take(1).map(|(row, text)| {
                    let ends = text.split_once(SEPARATOR);
                    let ends =
                        ends.and_then(|(mean, by)| Some((parse_double(mean)?, parse_double(by)?)));
                    ends.ok_or_else(|| refused(row, &text, "scale (mean·deviation)"))
                });
                let found = found.collect::<Result<Vec<_>>>()?;
                let (mean, by) = found.first().ok_or_else(|| {
                    Error::data(format!(
                        "metadata, column '{name}': no scale (mean·deviation)"
                    ))
                })?;
                Ok(Coder::Scale(*mean, *by))
            }
            Coding::Recode | Coding::Embed => {
                let mut codes = FxHashMap::default();
                let mut categories = Vec::new();
                for (row, text) in cells {
                    // A category may have the separator in it.
                    let found = text.rsplit_once(SEPARATOR);
                    let found = found
                        .and_then(|(category, code)| Some((category, code.parse::<usize>().ok()?)));
                    // There are no more codes than cells.
                    let found = found.filter(|(_, code)| (1..=column.len()).contains(code));
                    let (category, code) =
                        found.ok_or_else(|| refused(row, &text, "category·code"))?;
                    let category: Arc<str> = category.into();
                    while categories.len() < code {
                        push(&mut categories, None)?;
                    }
                    categories[code - 1] = Some(category.clone());
                    codes.insert(category, code);
                }
                Ok(Coder::Recode { codes, categories })
            }
        }
    }

    /// How many codes there are; of columns that pass through, one.
    pub(super) fn codes(&self) -> usize {
        match self {
            Coder::Pass | Coder::Scale(..) => 1,
            Coder::Recode { categories, .. } => categories.len(),
            Coder::Bin(bins) => bins.len(),
            Coder::Hash(buckets) => *buckets,
        }
    }

    pub(super) fn meta_len(&self) -> usize {
        match self {
            Coder::Pass => 0,
            Coder::Hash(_) | Coder::Scale(..) => 1,
            Coder::Recode { .. } | Coder::Bin(_) => self.codes(),
        }
    }

    /// The cells of the column of metadata.
    pub(super) fn meta(&self) -> Vec<String> {
        match self {
            Coder::Pass => Vec::new(),
            Coder::Hash(buckets) => vec![buckets.to_string()],
            Coder::Scale(mean, by) => vec![format!(
                "{}{SEPARATOR}{}",
                java_double(*mean),
                java_double(*by)
            )],
            Coder::Bin(bins) => {
                let bins = bins
                    .iter()
                    .map(|(min, max)| (java_double(*min), java_double(*max)));
                bins.map(|(min, max)| format!("{min}{SEPARATOR}{max}"))
                    .collect()
            }
            Coder::Recode { categories, .. } => {
                let categories = (1..).zip(categories.iter().flatten());
                categories
                    .map(|(code, category)| format!("{category}{SEPARATOR}{code}"))
                    .collect()
            }
        }
    }

    fn code(&self, text: &str) -> f64 {
        match self {
            Coder::Recode { codes, .. } => codes.get(text).map_or(f64::NAN, |code| *code as f64),
            Coder::Hash(buckets) => bucket(text, *buckets),
            Coder::Pass | Coder::Bin(_) | Coder::Scale(..) => f64::NAN,
        }
    }

    /// How many categories there are, where they are recoded.
    pub(super) fn distinct(&self) -> Option<usize> {
        match self {
            Coder::Recode { categories, .. } => Some(categories.len()),
            Coder::Pass | Coder::Bin(_) | Coder::Hash(_) | Coder::Scale(..) => None,
        }
    }

    /// The code of each text of a dictionary.
    pub(super) fn codes_of_keys(&self, coded: &DictionaryArray<Int32Type>) -> Result<Vec<f64>> {
        let Some(values) = coded.values().as_any().downcast_ref::<StringArray>() else {
            return Ok(Vec::new());
        };
        memory::collected((0..values.len()).map(|at| match values.is_null(at) {
            true => f64::NAN,
            false => self.code(values.value(at)),
        }))
    }

    /// The code of each row; NaN where it is missing or not known.
    pub(super) fn encode(&self, column: &Column, name: &str) -> Result<Vec<f64>> {
        match self {
            Coder::Pass => column_of_numbers(column, name),
            Coder::Bin(bins) => {
                let mut numbers = column_of_numbers(column, name)?;
                for number in numbers.iter_mut().filter(|number| !number.is_nan()) {
                    let bin = bins.partition_point(|(_, max)| max < number);
                    *number = (bin.min(bins.len().saturating_sub(1)) + 1) as f64;
                }
                Ok(numbers)
            }
            Coder::Scale(mean, by) => {
                let mut numbers = column_of_numbers(column, name)?;
                for number in &mut numbers {
                    *number = (*number - mean) / by;
                }
                Ok(numbers)
            }
            Coder::Recode { .. } | Coder::Hash(_) => {
                let interrupt = Interrupt::current();
                let mut codes = memory::room(column.len())?;
                // Each distinct text is looked up once.
                let by_key = match column {
                    Column::Coded(coded) => self.codes_of_keys(coded)?,
                    _ => Vec::new(),
                };
                let mut known = Known::default();
                for row in 0..column.len() {
                    if row % ROWS_AT_ONCE == 0 {
                        interrupt.check()?;
                    }
                    codes.push(match column {
                        Column::Coded(coded) if coded.is_null(row) => f64::NAN,
                        Column::Coded(coded) => by_key[coded.keys().value(row) as usize],
                        _ => column
                            .cell(row)
                            .map_or(f64::NAN, |cell| known.of(cell, || self.code(&cell.text()))),
                    });
                }
                Ok(codes)
            }
        }
    }

    /// The column that has these codes.
    pub(super) fn decode(&self, codes: &[f64], name: &str) -> Result<Column> {
        let place = |code: f64, codes: usize| {
            (code >= 1.0 && code < codes as f64 + 1.0).then(|| code as usize - 1)
        };
        let numbers = |numbers: &dyn Fn(f64) -> Option<f64>| {
            let cells = codes.iter().map(|code| numbers(*code).map(Cell::Fp64));
            Column::of_cells(ColumnType::Fp64, name, cells)
        };
        match self {
            Coder::Pass => numbers(&Some),
            Coder::Bin(bins) => numbers(&|code| {
                let (min, max) = bins[place(code, bins.len())?];
                Some(min + (max - min) / 2.0)
            }),
            Coder::Recode { categories, .. } => {
                let cells = codes.iter().map(|code| {
                    let category = categories[place(*code, categories.len())?].as_deref();
                    category.map(Cell::Text)
                });
                Column::of_cells(ColumnType::String, name, cells)
            }
            Coder::Scale(mean, by) => numbers(&|code| Some(code * by + mean)),
            Coder::Hash(_) => Err(Error::unsupported(format!(
                "column '{name}' is hashed: its categories can't be decoded"
            ))),
        }
    }
}

fn recode(column: &Column) -> Result<Coder> {
    let interrupt = Interrupt::current();
    let mut codes: FxHashMap<Arc<str>, usize> = FxHashMap::default();
    let mut categories = Vec::new();
    let mut seen = Vec::new();
    let mut known = Known::default();
    if let Column::Coded(coded) = column {
        seen = memory::filled(coded.values().len(), false)?;
    }
    for row in 0..column.len() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        if let Column::Coded(coded) = column
            && !coded.is_null(row)
            && std::mem::replace(&mut seen[coded.keys().value(row) as usize], true)
        {
            continue;
        }
        let Some(cell) = column.cell(row) else {
            continue;
        };
        let mut is_new = false;
        known.of(cell, || is_new = true);
        if !is_new {
            continue;
        }
        let text = cell.text();
        if !codes.contains_key(&*text) {
            if categories.len().is_power_of_two() {
                memory::admit(
                    categories
                        .len()
                        .saturating_mul(64)
                        .saturating_add(text.len()),
                )?;
            }
            let category: Arc<str> = (&*text).into();
            push(&mut categories, Some(category.clone()))?;
            codes.insert(category, categories.len());
        }
    }
    Ok(Coder::Recode { codes, categories })
}

/// The standard deviation is that of a sample. Where it is 0, or there is one number, the rest is not divided.
fn scale(numbers: &[f64], scaling: Scaling) -> Coder {
    let center = mean(numbers).unwrap_or(0.0);
    let squares = numbers.iter().filter(|number| !number.is_nan());
    let (squares, count) = squares.fold((0.0, 0_usize), |(sum, count), number| {
        (sum + (number - center) * (number - center), count + 1)
    });
    let deviation = (squares / (count.max(2) - 1) as f64).sqrt();
    Coder::Scale(
        center,
        match scaling {
            Scaling::ZScore if deviation > 0.0 => deviation,
            Scaling::ZScore | Scaling::MeanSubtraction => 1.0,
        },
    )
}

/// Twice, as the text is made and then put into a column.
const BYTES_OF_A_BIN: usize = 256;

fn equi_width(numbers: &[f64], bins: usize) -> Result<Vec<(f64, f64)>> {
    let min = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    // Halved, as the difference of two numbers may be too large for one.
    let end = |bin: usize| match bin == bins {
        true => max,
        false => min + (max / 2.0 - min / 2.0) * (2.0 * bin as f64 / bins as f64),
    };
    memory::collected((0..bins).map(|bin| (end(bin), end(bin + 1))))
}

fn equi_height(mut numbers: Vec<f64>, bins: usize) -> Result<Vec<(f64, f64)>> {
    numbers.sort_unstable_by(f64::total_cmp);
    let (Some(first), len) = (numbers.first().copied(), numbers.len()) else {
        return Ok(Vec::new());
    };
    let end = |bin: usize| {
        let rank = (bin as u128 * len as u128).div_ceil(bins as u128) as usize;
        numbers[rank.saturating_sub(1)]
    };
    memory::collected((0..bins).map(|bin| (if bin == 0 { first } else { end(bin) }, end(bin + 1))))
}

/// The absolute value of Java's hash of a string, modulo the number of buckets, from 1.
fn bucket(text: &str, buckets: usize) -> f64 {
    let hash = java_hash(text);
    (u64::from(hash.unsigned_abs()) % buckets as u64 + 1) as f64
}
