//! Matrices as nested loops: the independent reference of the tests.

use fulgurite_matrix::{DenseMatrix, MatrixBlock};

/// Rows of cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Naive {
    rows: usize,
    cols: usize,
    cells: Vec<f64>,
}

impl Naive {
    pub fn from_fn(rows: usize, cols: usize, cell: impl Fn(usize, usize) -> f64) -> Self {
        let cells = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
        Naive {
            rows,
            cols,
            cells: cells.map(|(i, j)| cell(i, j)).collect(),
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn at(&self, row: usize, col: usize) -> f64 {
        self.cells[row * self.cols + col]
    }

    pub fn times(&self, right: &Naive) -> Naive {
        assert_eq!(self.cols, right.rows);
        Naive::from_fn(self.rows, right.cols, |i, j| {
            (0..self.cols).map(|k| self.at(i, k) * right.at(k, j)).sum()
        })
    }

    pub fn transposed(&self) -> Naive {
        Naive::from_fn(self.cols, self.rows, |i, j| self.at(j, i))
    }

    pub fn map(&self, f: impl Fn(f64) -> f64) -> Naive {
        Naive::from_fn(self.rows, self.cols, |i, j| f(self.at(i, j)))
    }

    /// Cell by cell; the right side's only row or column stands for all.
    pub fn with(&self, right: &Naive, f: impl Fn(f64, f64) -> f64) -> Naive {
        Naive::from_fn(self.rows, self.cols, |i, j| {
            let row = if right.rows == 1 { 0 } else { i };
            let col = if right.cols == 1 { 0 } else { j };
            f(self.at(i, j), right.at(row, col))
        })
    }

    pub fn minus(&self, right: &Naive) -> Naive {
        self.with(right, |x, y| x - y)
    }

    pub fn sum(&self) -> f64 {
        self.cells.iter().sum()
    }

    pub fn squares(&self) -> f64 {
        self.cells.iter().map(|cell| cell * cell).sum()
    }

    pub fn largest(&self) -> f64 {
        self.cells
            .iter()
            .fold(0.0, |most: f64, cell| most.max(cell.abs()))
    }

    /// Each column shifted to mean 0 and scaled to variance 1.
    pub fn standardized(&self) -> Naive {
        let n = self.rows as f64;
        let means = Naive::from_fn(1, self.cols, |_, j| {
            (0..self.rows).map(|i| self.at(i, j)).sum::<f64>() / n
        });
        let centered = self.minus(&means);
        let deviations = Naive::from_fn(1, self.cols, |_, j| {
            let squares: f64 = (0..self.rows).map(|i| centered.at(i, j).powi(2)).sum();
            (squares / (n - 1.0)).sqrt()
        });
        centered.with(&deviations, |x, deviation| x / deviation)
    }

    pub fn with_ones(&self) -> Naive {
        Naive::from_fn(self.rows, self.cols + 1, |i, j| {
            if j < self.cols { self.at(i, j) } else { 1.0 }
        })
    }
}

impl From<&MatrixBlock> for Naive {
    fn from(block: &MatrixBlock) -> Self {
        Naive::from_fn(block.rows(), block.cols(), |i, j| block.get(i, j))
    }
}

impl From<&Naive> for MatrixBlock {
    fn from(naive: &Naive) -> Self {
        DenseMatrix::from_fn(naive.rows, naive.cols, |i, j| naive.at(i, j))
            .unwrap()
            .into()
    }
}
