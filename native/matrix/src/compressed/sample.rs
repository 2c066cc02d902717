//! What a sample of rows says about columns: how many values they have, how often each, how long their runs are.
//!
//! Values that the sample lacks are estimated by the second-order jackknife D_uj2 of Haas and Stokes, *Estimating the Number of
//! Classes in a Finite Population* (JASA 1998).

use std::collections::HashMap;

use fulgurite_error::Result;

use crate::{ByRows, memory};

/// Rows of a sample. Pairs of neighbours show where runs end.
pub(super) const SAMPLE_ROWS: usize = 1 << 12;

/// The rows of a sample, ascending: pairs of neighbours, evenly spread but for a jitter, so that periods in the data are not met.
pub(super) fn sample_rows(rows: usize) -> Result<Vec<usize>> {
    if rows <= SAMPLE_ROWS {
        return memory::collected(0..rows);
    }
    let pairs = SAMPLE_ROWS / 2;
    let step = rows / pairs;
    let mut sample = memory::room(SAMPLE_ROWS)?;
    // The same sample each time: compression repeats to the bit.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for pair in 0..pairs {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let jitter = ((state >> 33) as usize) % step.max(2).saturating_sub(1).max(1);
        let row = (pair * step + jitter).min(rows - 2);
        if sample.last().is_none_or(|last| *last < row) {
            sample.push(row);
        }
        sample.push(row + 1);
    }
    Ok(sample)
}

/// The codes of a sample's rows in one column or several, and what follows from them.
#[derive(Debug, Clone)]
pub(super) struct SampledCodes {
    pub codes: Vec<u32>,
    /// Distinct tuples of the whole matrix, estimated.
    pub distinct: f64,
    /// Share of the most frequent tuple.
    pub largest_share: f64,
    /// Runs of the whole matrix, estimated.
    pub runs: f64,
}

impl SampledCodes {
    pub fn new(codes: Vec<u32>, rows: &[usize], total: usize) -> Self {
        let mut counts: Vec<u32> = Vec::new();
        for code in &codes {
            let code = *code as usize;
            if counts.len() <= code {
                counts.resize(code + 1, 0);
            }
            counts[code] += 1;
        }
        let largest = counts.iter().copied().max().unwrap_or(0);
        let (mut neighbours, mut ends) = (0u32, 0u32);
        for (row, code) in rows.windows(2).zip(codes.windows(2)) {
            if row[1] == row[0] + 1 {
                neighbours += 1;
                ends += u32::from(code[0] != code[1]);
            }
        }
        let share = f64::from(ends) / f64::from(neighbours.max(1));
        SampledCodes {
            distinct: estimated_distinct(&counts, total),
            largest_share: f64::from(largest) / codes.len().max(1) as f64,
            runs: 1.0 + share * total as f64,
            codes,
        }
    }

    /// The codes of two groups side by side.
    pub fn with(&self, other: &SampledCodes, rows: &[usize], total: usize) -> Self {
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        let pairs = self.codes.iter().zip(&other.codes);
        let codes = pairs.map(|(left, right)| {
            let next = numbers.len() as u32;
            *numbers.entry((*left, *right)).or_insert(next)
        });
        let codes = codes.collect();
        let mut joint = SampledCodes::new(codes, rows, total);
        joint.distinct = joint.distinct.min(self.distinct * other.distinct);
        joint
    }
}

/// The number of different values in `total` rows, of which a sample has these counts.
pub(super) fn estimated_distinct(counts: &[u32], total: usize) -> f64 {
    let sampled: f64 = counts.iter().map(|count| f64::from(*count)).sum();
    let (seen, total) = (
        counts.iter().filter(|count| **count > 0).count() as f64,
        total as f64,
    );
    let once = counts.iter().filter(|count| **count == 1).count() as f64;
    if once == 0.0 || sampled >= total {
        return seen;
    }
    let share = sampled / total;
    let left_out = 1.0 - once * (1.0 - share) / sampled;
    if left_out <= 0.0 {
        return total;
    }
    let first = seen / left_out;
    let pairs: f64 = counts
        .iter()
        .map(|c| f64::from(*c) * (f64::from(*c) - 1.0))
        .sum();
    let skew = (first / (sampled * sampled) * pairs + first / total - 1.0).max(0.0);
    let second = (seen - once * (1.0 - share) * (1.0 - share).ln() * skew / share) / left_out;
    second.clamp(seen, total)
}

/// Codes of each of these columns in the sample's rows.
pub(super) fn sampled_columns(
    matrix: &ByRows<'_>,
    columns: &[usize],
    rows: &[usize],
    total: usize,
) -> Result<Vec<SampledCodes>> {
    let mut cells: Vec<f64> = memory::zeros(memory::cells(columns.len(), rows.len())?)?;
    for (at, row) in rows.iter().enumerate() {
        match matrix {
            ByRows::Dense(dense) => {
                let row = dense.row(*row);
                for (place, column) in columns.iter().enumerate() {
                    cells[place * rows.len() + at] = row[*column];
                }
            }
            ByRows::Csr(csr) => {
                let (indices, values) = csr.row(*row);
                for (index, value) in indices.iter().zip(values) {
                    if let Ok(place) = columns.binary_search(&(*index as usize)) {
                        cells[place * rows.len() + at] = *value;
                    }
                }
            }
        }
    }
    let of_column = |cells: &[f64]| {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let codes = cells.iter().map(|cell| {
            let next = numbers.len() as u32;
            *numbers.entry(cell.to_bits()).or_insert(next)
        });
        let codes = codes.collect();
        SampledCodes::new(codes, rows, total)
    };
    Ok(cells
        .chunks_exact(rows.len().max(1))
        .map(of_column)
        .collect())
}
