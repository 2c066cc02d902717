//! Cells that begin with a cache line: a vector as wide as one that lies across two takes twice as long to load or store, and
//! allocators promise no more than two cells.

use std::ops::{Deref, DerefMut};

use fulgurite_error::Result;
use fulgurite_matrix::memory;

/// Cells of a cache line, which is also the widest vector.
pub(crate) const LINE: usize = 8;

/// Cells of scratch memory, all zero when they are made.
#[derive(Debug, Default)]
pub(crate) struct AlignedCells {
    /// With room to begin at any of the first [`LINE`] cells. Never grows.
    room: Vec<f64>,
    start: usize,
    len: usize,
}

impl AlignedCells {
    /// # Errors
    /// `memory` when there is none.
    pub fn zeros(len: usize) -> Result<Self> {
        if len == 0 {
            return Ok(AlignedCells::default());
        }
        let room = memory::zeros(len.saturating_add(LINE - 1))?;
        let start = room.as_ptr().align_offset(LINE * size_of::<f64>());
        Ok(AlignedCells {
            room,
            // Whatever is said of the address, the cells are there.
            start: start.min(LINE - 1),
            len,
        })
    }

    pub fn into_vec(mut self) -> Vec<f64> {
        self.room.copy_within(self.start..self.start + self.len, 0);
        self.room.truncate(self.len);
        self.room
    }
}

impl Deref for AlignedCells {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.room[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedCells {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.room[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_begin_with_a_line_and_are_kept() {
        for len in [0, 1, 7, 8, 9, 1000] {
            let mut cells = AlignedCells::zeros(len).unwrap();
            assert_eq!(*cells, *vec![0.0; len]);
            for (at, cell) in cells.iter_mut().enumerate() {
                *cell = at as f64;
            }
            assert!(len == 0 || cells.as_ptr().align_offset(64) == 0);
            let numbers: Vec<f64> = (0..len).map(|at| at as f64).collect();
            assert_eq!(cells.into_vec(), numbers);
        }
    }
}
