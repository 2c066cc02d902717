//! What has come of the cells of a column so far.

use rustc_hash::FxHashMap;

use crate::Cell;

/// Numbers whose values are kept. Of more, those that come later are asked for anew.
const MOST: usize = 1 << 16;

/// Keeps what is made of numbers, so that the text of each is made once.
pub(super) struct Known<T> {
    /// By whole numbers, which categories often are.
    small: Vec<Option<T>>,
    others: FxHashMap<u64, T>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known {
            small: Vec::new(),
            others: FxHashMap::default(),
        }
    }
}

impl<T: Copy> Known<T> {
    /// What was made of the same number before, or what `make` makes now. Texts are not kept.
    #[inline]
    pub(super) fn of(&mut self, cell: Cell<'_>, make: impl FnOnce() -> T) -> T {
        let bits = match cell {
            Cell::Text(_) => return make(),
            Cell::Boolean(value) => u64::from(value),
            Cell::Int(value) => value as u64,
            Cell::Fp32(value) => u64::from(value.to_bits()),
            Cell::Fp64(value) => {
                let small = value as usize;
                // Not of -0, which has a text of its own.
                if small < MOST && (small as f64).to_bits() == value.to_bits() {
                    return self.of_small(small, make);
                }
                value.to_bits()
            }
        };
        if let Some(known) = self.others.get(&bits) {
            return *known;
        }
        let made = make();
        if self.others.len() < MOST {
            self.others.insert(bits, made);
        }
        made
    }

    #[inline]
    fn of_small(&mut self, number: usize, make: impl FnOnce() -> T) -> T {
        if number >= self.small.len() {
            self.small.resize(number + 1, None);
        }
        *self.small[number].get_or_insert_with(make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_made_once() {
        let mut known = Known::default();
        let mut made = 0;
        let cells = [0.0, -0.0, 1.0, 1.5, f64::NAN, 65535.0, 65536.0, -1.0];
        for _ in 0..2 {
            for value in cells {
                let text = known.of(Cell::Fp64(value), || {
                    made += 1;
                    value.to_bits()
                });
                assert_eq!(text, value.to_bits());
            }
        }
        assert_eq!(made, cells.len());
        for number in 0..(3 * MOST as i64) {
            assert_eq!(known.of(Cell::Int(number << 20), || 7), 7);
        }
        assert!(known.others.len() <= MOST);
    }
}
