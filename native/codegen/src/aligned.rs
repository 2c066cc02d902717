//! Cells that begin with a cache line: a vector as wide as one that lies across two takes twice as long to load or store, and
//! allocators promise no more than two cells.

use std::ops::{Deref, DerefMut};

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
    pub fn zeros(len: usize) -> Self {
        if len == 0 {
            return AlignedCells::default();
        }
        let room = vec![0.0; len + LINE - 1];
        let start = room.as_ptr().align_offset(LINE * size_of::<f64>());
        AlignedCells {
            room,
            // Whatever is said of the address, the cells are there.
            start: start.min(LINE - 1),
            len,
        }
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

impl Clone for AlignedCells {
    fn clone(&self) -> Self {
        let mut copy = AlignedCells::zeros(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_begin_with_a_line_and_are_kept() {
        for len in [0, 1, 7, 8, 9, 1000] {
            let mut cells = AlignedCells::zeros(len);
            assert_eq!(*cells, *vec![0.0; len]);
            for (at, cell) in cells.iter_mut().enumerate() {
                *cell = at as f64;
            }
            let copy = cells.clone();
            for cells in [&cells, &copy] {
                assert!(len == 0 || cells.as_ptr().align_offset(64) == 0);
            }
            let numbers: Vec<f64> = (0..len).map(|at| at as f64).collect();
            assert_eq!(copy.into_vec(), numbers);
        }
    }
}
