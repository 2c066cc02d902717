//! Variances over stripes: each stripe gives for each column its number of rows, their mean, and the sum of squared
//! deviations from it. Two such parts combine exactly (Chan, Golub and LeVeque), where sums of squares would cancel. Means and sums
//! carry what they were rounded by: means around 1e9 that are 1 apart would lose seven digits of that.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Dag, Direction, Formulas, HopId};
use fulgurite_matrix::MatrixBlock;

use super::compensated::two_sum;

/// Adds what a task computes of its stripe: 5 x columns.
pub fn of_stripe(dag: &mut Dag, stripe: HopId) -> HopId {
    let means = dag.means_of_columns(stripe);
    let deviations = dag.minus(stripe, means);
    let squares = dag.squares_of_columns(deviations);
    let lows = dag.means_of_columns(deviations);
    let (rows, cols, one) = (dag.rows_in(stripe), dag.columns_in(stripe), dag.int(1));
    let counts = dag.filled(rows, one, cols);
    let zero = dag.number(0.0);
    let errors = dag.filled(zero, one, cols);
    dag.stacked(vec![counts, means, lows, squares, errors])
}

/// Of one column.
#[derive(Debug, Clone, Copy)]
struct Moments {
    rows: f64,
    mean: f64,
    /// What the mean was rounded by.
    low: f64,
    squares: f64,
    /// What the squares were rounded by.
    error: f64,
}

impl Moments {
    const NONE: Self = Moments {
        rows: 0.0,
        mean: 0.0,
        low: 0.0,
        squares: 0.0,
        error: 0.0,
    };

    fn and(self, other: Self) -> Self {
        if self.rows == 0.0 {
            return other;
        }
        if other.rows == 0.0 {
            return self;
        }
        let rows = self.rows + other.rows;
        let apart = (other.mean - self.mean) + (other.low - self.low);
        let (mean, rounded) = two_sum(self.mean, apart * (other.rows / rows));
        let (mean, low) = two_sum(mean, self.low + rounded);
        let (squares, first) = two_sum(self.squares, other.squares);
        let between = apart * apart * (self.rows * other.rows / rows);
        let (squares, second) = two_sum(squares, between);
        Moments {
            rows,
            mean,
            low,
            squares,
            error: self.error + other.error + first + second,
        }
    }

    /// Unbiased; 0 of one row, as the local operators have it.
    fn variance(self) -> f64 {
        match self.rows == 1.0 {
            true => 0.0,
            // Infinite squares have no error.
            false if !self.error.is_finite() => self.squares / (self.rows - 1.0),
            false => (self.squares + self.error) / (self.rows - 1.0),
        }
    }
}

/// # Errors
/// `dimension`, for what is not 5 x columns.
fn read(block: &MatrixBlock) -> Result<Vec<Moments>> {
    if block.rows() != 5 {
        return Err(Error::dimension(format!(
            "moments have 5 rows, not {}",
            block.rows()
        )));
    }
    let moments = |column| Moments {
        rows: block.get(0, column),
        mean: block.get(1, column),
        low: block.get(2, column),
        squares: block.get(3, column),
        error: block.get(4, column),
    };
    Ok((0..block.cols()).map(moments).collect())
}

/// The moments of the rows of both.
///
/// # Errors
/// `dimension`, for what is not 5 x columns.
pub(super) fn combine(left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    let both: Vec<Moments> = read(left)?
        .into_iter()
        .zip(read(right)?)
        .map(|(left, right)| left.and(right))
        .collect();
    let row = |of: fn(&Moments) -> f64| both.iter().map(of);
    let cells = row(|m| m.rows)
        .chain(row(|m| m.mean))
        .chain(row(|m| m.low))
        .chain(row(|m| m.squares))
        .chain(row(|m| m.error));
    MatrixBlock::dense(5, both.len(), cells.collect())
}

/// Variances of the columns, or of all cells; or their roots.
///
/// # Errors
/// `dimension`, for what is not 5 x columns.
pub fn variances(parts: &MatrixBlock, direction: Direction, root: bool) -> Result<MatrixBlock> {
    let mut columns = read(parts)?;
    if direction == Direction::Full {
        columns = vec![columns.into_iter().fold(Moments::NONE, Moments::and)];
    }
    let variance = |moments: Moments| match root {
        true => moments.variance().sqrt(),
        false => moments.variance(),
    };
    let cells: Vec<f64> = columns.into_iter().map(variance).collect();
    MatrixBlock::dense(1, cells.len(), cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_combine_without_cancellation() {
        // Values around 1e9: the sum of their squares would lose the variance, which is 2 of 1, 3, 5 minus 1 ...
        let part = |values: &[f64]| {
            let rows = values.len() as f64;
            let mean = values.iter().sum::<f64>() / rows;
            let squares = values
                .iter()
                .map(|value| (value - mean) * (value - mean))
                .sum();
            let lows: f64 = values.iter().map(|value| value - mean).sum();
            MatrixBlock::dense(5, 1, vec![rows, mean, lows / rows, squares, 0.0]).expect("5 cells")
        };
        let both =
            combine(&part(&[1e9 + 1.0, 1e9 + 3.0]), &part(&[1e9 + 5.0])).expect("5 rows each");
        let variance = variances(&both, Direction::Col, false).expect("5 rows");
        assert_eq!(variance.get(0, 0), 4.0);
        // Means of 1/3 beside 1e9 are rounded by 4e-8.
        let thirds = |from: f64| part(&[1e9 + from, 1e9 + from + 1.0, 1e9 + from]);
        let both_thirds = combine(&thirds(0.0), &thirds(7.0)).expect("5 rows each");
        let variance = variances(&both_thirds, Direction::Full, false).expect("5 rows");
        let exact = (2.0 / 3.0 + 2.0 / 3.0 + 49.0 * 1.5) / 5.0;
        assert!((variance.get(0, 0) - exact).abs() < 1e-14 * exact);
        let none = vec![0.0, f64::NAN, f64::NAN, 0.0, 0.0];
        let none = MatrixBlock::dense(5, 1, none).expect("5 cells");
        assert_eq!(combine(&none, &both).expect("5 rows each"), both);
        assert!(combine(&MatrixBlock::filled(2, 1, 0.0).unwrap(), &both).is_err());
    }
}
