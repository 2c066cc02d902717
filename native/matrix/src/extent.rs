//! Between what limits the cells of a matrix lie: what decides whether zeros may be skipped.

use std::sync::{Arc, OnceLock};

/// Limits of cells, NaN apart. Of no cells at all, `least` is infinite and `greatest` minus infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    pub least: f64,
    pub greatest: f64,
    /// The smallest magnitude: 0 where a cell is zero.
    pub least_magnitude: f64,
    pub has_nan: bool,
}

impl Extent {
    pub const EMPTY: Extent = Extent {
        least: f64::INFINITY,
        greatest: f64::NEG_INFINITY,
        least_magnitude: f64::INFINITY,
        has_nan: false,
    };

    /// Any number, and NaN.
    pub const UNKNOWN: Extent = Extent {
        least: f64::NEG_INFINITY,
        greatest: f64::INFINITY,
        least_magnitude: 0.0,
        has_nan: true,
    };

    /// Of one number.
    pub fn of(value: f64) -> Self {
        match value.is_nan() {
            true => Extent {
                has_nan: true,
                ..Extent::EMPTY
            },
            false => Extent {
                least: value,
                greatest: value,
                least_magnitude: value.abs(),
                has_nan: false,
            },
        }
    }

    /// Of these cells.
    pub fn of_cells(cells: &[f64]) -> Self {
        // So many at a time that compilers use vectors.
        const LANES: usize = 8;
        let mut lanes = [Extent::EMPTY; LANES];
        let chunks = cells.chunks_exact(LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            for (lane, cell) in lanes.iter_mut().zip(chunk) {
                lane.take(*cell);
            }
        }
        for (lane, cell) in lanes.iter_mut().zip(rest) {
            lane.take(*cell);
        }
        lanes.into_iter().fold(Extent::EMPTY, Extent::and)
    }

    #[inline(always)]
    fn take(&mut self, cell: f64) {
        let magnitude = cell.abs();
        // Comparisons with NaN are false.
        self.least = if cell < self.least { cell } else { self.least };
        self.greatest = if cell > self.greatest {
            cell
        } else {
            self.greatest
        };
        self.least_magnitude = if magnitude < self.least_magnitude {
            magnitude
        } else {
            self.least_magnitude
        };
        self.has_nan |= cell.is_nan();
    }

    /// Of the cells of both.
    pub fn and(self, other: Self) -> Self {
        Extent {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            least_magnitude: self.least_magnitude.min(other.least_magnitude),
            has_nan: self.has_nan || other.has_nan,
        }
    }

    /// No cell is NaN or infinite.
    pub fn is_finite(&self) -> bool {
        !self.has_nan && self.least > f64::NEG_INFINITY && self.greatest < f64::INFINITY
    }

    /// All cells are zero, of either sign.
    pub fn is_zero(&self) -> bool {
        !self.has_nan && self.least == 0.0 && self.greatest == 0.0
    }
}

/// The extent of cells that do not change, once it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownExtent(Arc<OnceLock<Extent>>);

impl KnownExtent {
    pub fn get_or_find(&self, find: impl FnOnce() -> Extent) -> Extent {
        *self.0.get_or_init(find)
    }
}

/// What is known of cells does not make matrices differ.
impl PartialEq for KnownExtent {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
