//! Numbers that tell matrices apart.

use crate::MatrixBlock;

/// Words that are taken together: a product has to wait for the one before in its lane only.
const LANES: usize = 8;
/// Odd, so that no two words give the same product.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl MatrixBlock {
    /// A number that depends on each bit of what is stored: sizes, values, and where they stand. One value that is another one always
    /// gives another number; any other matrix does with all likelihood. So does the same matrix in another layout. Takes as long as reading it.
    ///
    /// ```
    /// use fulgurite_matrix::MatrixBlock;
    /// assert_ne!(MatrixBlock::filled(2, 2, 1.0)?.checksum(), MatrixBlock::filled(2, 2, 2.0)?.checksum());
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    pub fn checksum(&self) -> u64 {
        let (values, pointers, indices) = match self {
            MatrixBlock::Dense(dense) => (dense.values(), &[][..], &[][..]),
            MatrixBlock::Csr(csr) => (csr.values(), csr.pointers(), csr.indices()),
            MatrixBlock::Coordinate(cells) => {
                (cells.values(), cells.row_indices(), cells.indices())
            }
            MatrixBlock::Compressed(_) => {
                let mut sum = added(0, &[self.rows() as u64, self.cols() as u64], |size| size);
                self.for_each_stored(|row, col, value| {
                    sum = added(sum, &[row as u64, col as u64, value.to_bits()], |word| word);
                });
                return sum;
            }
        };
        let sizes = [self.rows() as u64, self.cols() as u64];
        let sum = added(0, &sizes, |size| size);
        let sum = added(sum, values, f64::to_bits);
        let sum = added(sum, pointers, |pointer| pointer as u64);
        added(sum, indices, |index| index as u64)
    }
}

/// The checksum of what came before, and of these items.
fn added<T: Copy>(before: u64, items: &[T], word: impl Fn(T) -> u64) -> u64 {
    let mut lanes = [before; LANES];
    let chunks = items.chunks_exact(LANES);
    let rest = chunks.remainder();
    let add = |lanes: &mut [u64; LANES], chunk: &[T]| {
        for (lane, item) in lanes.iter_mut().zip(chunk) {
            *lane = mixed(*lane, word(*item));
        }
    };
    for chunk in chunks {
        add(&mut lanes, chunk);
    }
    add(&mut lanes, rest);
    lanes
        .iter()
        .fold(mixed(before, items.len() as u64), |sum, lane| {
            mixed(sum, *lane)
        })
}

/// For each sum, another result for each word; for each word, another result for each sum.
fn mixed(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(FACTOR).rotate_left(31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(rows: usize, cols: usize) -> Vec<f64> {
        (0..rows * cols).map(|cell| cell as f64 / 7.0).collect()
    }

    #[test]
    fn each_cell_and_its_place_count() {
        let (rows, cols) = (7, 5);
        let checksum = |cells: Vec<f64>| MatrixBlock::dense(rows, cols, cells).unwrap().checksum();
        let first = checksum(cells(rows, cols));
        assert_eq!(first, checksum(cells(rows, cols)));
        for cell in 0..rows * cols {
            let mut changed = cells(rows, cols);
            changed[cell] = f64::from_bits(changed[cell].to_bits() ^ 1);
            assert_ne!(first, checksum(changed));
        }
        for cell in 1..rows * cols {
            let mut swapped = cells(rows, cols);
            swapped.swap(0, cell);
            assert_ne!(first, checksum(swapped));
        }
    }

    #[test]
    fn shapes_of_equal_values_differ() {
        let of = |rows, cols| {
            MatrixBlock::dense(rows, cols, cells(4, 6))
                .unwrap()
                .checksum()
        };
        let found = [
            of(4, 6),
            of(6, 4),
            of(1, 24),
            of(24, 1),
            MatrixBlock::filled(0, 6, 0.0).unwrap().checksum(),
        ];
        for (at, one) in found.iter().enumerate() {
            assert!(found[at + 1..].iter().all(|other| one != other));
        }
    }

    #[test]
    fn the_columns_of_sparse_cells_count() {
        let csr = |col: usize| {
            let mut cells = vec![0.0; 40];
            cells[col] = 1.5;
            MatrixBlock::Csr(MatrixBlock::dense(1, 40, cells).unwrap().to_csr().unwrap()).checksum()
        };
        assert_eq!(csr(3), csr(3));
        assert_ne!(csr(3), csr(4));
    }
}
