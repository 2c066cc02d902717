//! Products with a matrix that selects rows, `table(seq(1, n), index) %*% X`: each row of X is sent to where the result has
//! it, once, in place of a partial result of the product for each stripe.

use fulgurite_dataflow::{Combine, DistributedMatrix, Variable, Whole};
use fulgurite_error::Result;
use fulgurite_hop::{Characteristics, Formulas};
use fulgurite_matrix::{Layout, MatrixBlock, memory};

use super::{routes::Routed, size};
use crate::{operator::Operator, row_wise::Slot, task_builder::TaskBuilder, workers::Workers};

/// A task makes so many copies of its stripe at most: for rows that the result has several times, and for rows of zeros.
const MOST_COPIES: u64 = 16;

/// Stands for a row that is none of a matrix that selects.
const NO_SELECTION: f64 = -1.0;

/// Which row of X each row of the result is, from 0; none for a row of zeros.
struct Selection {
    rows: Vec<Option<usize>>,
}

impl Selection {
    /// What a matrix selects that has a one in each row, or nothing; `None` for other matrices.
    fn of(matrix: &MatrixBlock) -> Result<Option<Self>> {
        if matrix.layout() == Layout::Dense || matrix.nnz() > matrix.rows() {
            return Ok(None);
        }
        let mut rows = memory::filled(matrix.rows(), None)?;
        let mut selects = true;
        matrix.for_each_stored(|row, col, value| {
            if value != 0.0 {
                selects &= value == 1.0 && rows[row].is_none();
                rows[row] = Some(col);
            }
        });
        Ok(selects.then_some(Selection { rows }))
    }

    /// For each row of X, of which there are `height`, the places of the result (from 0) that have it, side by side, and then
    /// places of rows of zeros, wherever there is room for them. NaN is no place. Also how many columns are of the first kind.
    /// `None` where they are too many, or take more than `limit` bytes.
    fn places(&self, height: usize, limit: u64) -> Result<Option<(MatrixBlock, u64)>> {
        let mut copies = memory::filled(height, 0u64)?;
        let mut zeros = 0u64;
        for row in &self.rows {
            match row.and_then(|row| copies.get_mut(row)) {
                Some(copies) => *copies += 1,
                None => zeros += 1,
            }
        }
        let most = copies.iter().copied().max().unwrap_or(0);
        let width = most + zeros.div_ceil((height as u64).max(1));
        let bytes = (height as u64).saturating_mul(8 * width);
        if width == 0 || width > MOST_COPIES || bytes > limit {
            return Ok(None);
        }
        let (most_copies, width) = (most as usize, width as usize);
        let mut places = memory::filled(memory::cells(height, width)?, f64::NAN)?;
        let (mut next, mut next_zero) = (memory::filled(height, 0)?, 0);
        for (place, row) in self.rows.iter().enumerate() {
            let cell = match row.filter(|row| *row < height) {
                Some(row) => {
                    next[row] += 1;
                    row * width + next[row] - 1
                }
                None => {
                    next_zero += 1;
                    (next_zero - 1) % height * width + most_copies + (next_zero - 1) / height
                }
            };
            places[cell] = place as f64;
        }
        MatrixBlock::dense(height, width, places).map(|places| Some((places, most)))
    }
}

impl Workers<'_> {
    /// `P %*% X` of a matrix P that selects rows of a matrix X that workers have; `None` for other products.
    ///
    /// # Errors
    /// Of the backend.
    pub(crate) fn selected_rows(
        &self,
        operator: &Operator,
        left: &Variable,
        right: &Variable,
    ) -> Result<Option<Variable>> {
        let Variable::Distributed(right) = right else {
            return Ok(None);
        };
        if operator.plan.is_some() || operator.left_transposed {
            return Ok(None);
        }
        let selection = match left.whole()? {
            Whole::Matrix(matrix) => Selection::of(matrix.block())?,
            Whole::Distributed(matrix) => self.selection_there(operator, matrix)?,
            Whole::Scalar(_) => None,
        };
        let Some(selection) = selection else {
            return Ok(None);
        };
        let right = self.lying(right, false)?;
        let height = usize::try_from(size(right.stripes.rows)?).unwrap_or(usize::MAX);
        let limit = self.config.memory_local;
        let Some((places, copies)) = selection.places(height, limit)? else {
            return Ok(None);
        };
        // Rows that are not selected count if they are not finite.
        if !self.is_finite(&right, operator)? {
            return Ok(None);
        }
        let rows = selection.rows.len() as u64;
        self.sent_to_places(operator, &right, places, copies, rows)
            .map(Some)
    }

    /// Whether no cell is NaN or infinite.
    fn is_finite(&self, matrix: &DistributedMatrix, operator: &Operator) -> Result<bool> {
        let mut builder = TaskBuilder::new(self, matrix);
        builder.carries_errors = false;
        let stripe = builder.lead();
        let zero = builder.number(0.0);
        // Of these cells alone the difference from themselves is NaN, which equals nothing.
        let difference = builder.minus(stripe, stripe);
        let differs = builder.not_equal(difference, zero);
        let found = builder.sums_of_columns(differs);
        let found = builder.aggregate(found, &Combine::Sum, operator.label)?;
        Ok(found.to_dense()?.values().iter().all(|count| *count == 0.0))
    }

    /// What a distributed matrix selects, if it may: its number of non-zeros says so.
    fn selection_there(
        &self,
        operator: &Operator,
        matrix: &DistributedMatrix,
    ) -> Result<Option<Selection>> {
        let Characteristics { rows, cols, nnz } = matrix.stripes;
        let (Some(rows), Some(cols), Some(nnz)) = (rows, cols, nnz) else {
            return Ok(None);
        };
        let bytes = rows.saturating_mul(8);
        if matrix.transposed || nnz > rows || cols < 2 || bytes > self.config.memory_local {
            return Ok(None);
        }
        let mut builder = TaskBuilder::new(self, matrix);
        let stripe = builder.lead();
        let mut number = |value| builder.number(value);
        let (zero, two, other) = (number(0.0), number(2.0), number(NO_SELECTION));
        let not_zero = builder.not_equal(stripe, zero);
        let (count, sum) = (builder.sums_of_rows(not_zero), builder.sums_of_rows(stripe));
        let column = builder.places_of_maxima(stripe);
        // No cell that is not zero, or one that is the sum: a one.
        let (is_sum, is_single) = (builder.equal(sum, count), builder.less(count, two));
        let selects = builder.times(is_sum, is_single);
        let selected = builder.times(column, count);
        let root = builder.if_else(selects, selected, other);
        let found = builder.map(root, operator.label)?.collect(Some(bytes))?;
        let found = found.block().to_dense()?;
        if found.values().contains(&NO_SELECTION) {
            return Ok(None);
        }
        let selected = found.values().iter();
        let selected = selected.map(|column| (*column as usize).checked_sub(1));
        Ok(Some(Selection {
            rows: selected.collect(),
        }))
    }

    /// Rows of X, with their places, go to the stripes of the result, which put them in order.
    fn sent_to_places(
        &self,
        operator: &Operator,
        right: &DistributedMatrix,
        places: MatrixBlock,
        copies: u64,
        rows: u64,
    ) -> Result<Variable> {
        let cols = size(right.stripes.cols)?;
        let width = places.cols() as u64;
        let mut builder = TaskBuilder::new(self, right);
        let stripe = builder.lead();
        let places = builder.bind(Slot::Rows, &Variable::matrix(places))?;
        let (height, zero, cols_in) = (
            builder.rows_in(stripe),
            builder.number(0.0),
            builder.int(cols),
        );
        let mut routes = Vec::new();
        for number in 0..width {
            let column = builder.int(number + 1);
            let place = builder.columns(places, column, column);
            let cells = match number < copies {
                true => stripe,
                false => builder.filled(zero, height, cols_in),
            };
            routes.push(Routed::new(
                self,
                &mut builder,
                &[cells, place],
                place,
                rows,
            ));
        }
        let routed = Routed::together(routes, &mut builder)?;
        let arrived = routed.shuffle(builder, operator.label)?;
        let ranked = Characteristics::new(Some(rows), Some(cols + 1), None);
        let arrived = DistributedMatrix::new(arrived, ranked);
        self.in_order_of_last_column(&arrived, operator.label)
    }

    /// Rows in the order of their last cells, which stay behind.
    pub(super) fn in_order_of_last_column(
        &self,
        arrived: &DistributedMatrix,
        label: &str,
    ) -> Result<Variable> {
        let width = size(arrived.stripes.cols)?;
        let mut builder = TaskBuilder::new(self, arrived);
        let stripe = builder.lead();
        let by_rank = builder.int(width);
        let ordered = builder.in_order(stripe, by_rank);
        let (first, last) = (builder.int(1), builder.int(width - 1));
        let root = builder.columns(ordered, first, last);
        let placed = self.placed(&builder.map(root, label)?)?;
        Ok(Variable::Distributed(placed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(rows: &[Option<usize>]) -> Selection {
        Selection {
            rows: rows.to_vec(),
        }
    }

    #[test]
    fn only_ones_of_which_no_row_has_two_select() {
        let cells = |cells: [f64; 8]| {
            let dense = MatrixBlock::dense(2, 4, cells.to_vec()).expect("8 cells");
            Selection::of(&dense.in_best_layout().unwrap())
                .unwrap()
                .map(|selection| selection.rows)
        };
        let [mut one, mut two] = [[0.0; 8]; 2];
        one[2] = 1.0;
        assert_eq!(cells(one), Some(vec![Some(2), None]));
        two[4] = 2.0;
        assert_eq!(cells(two), None);
        two[4] = 1.0;
        two[7] = 1.0;
        assert_eq!(cells(two), None);
    }

    #[test]
    fn repeated_rows_and_zeros_have_columns_of_their_own() {
        let selection = selection(&[Some(1), None, Some(1), Some(0), None, None]);
        let (places, copies) = selection
            .places(2, 64)
            .expect("it fits")
            .expect("few copies");
        assert_eq!((places.cols(), copies), (4, 2));
        let dense = places.to_dense().unwrap();
        let shown: Vec<Option<u64>> = dense
            .values()
            .iter()
            .map(|place| (!place.is_nan()).then_some(*place as u64))
            .collect();
        assert!(selection.places(2, 63).expect("it fits").is_none());
        let expected = [
            [Some(3), None, Some(1), Some(5)],
            [Some(0), Some(2), Some(4), None],
        ];
        assert_eq!(shown, expected.concat());
    }

    #[test]
    fn a_row_that_is_everywhere_is_not_sent_everywhere() {
        let everywhere = selection(&[Some(0); MOST_COPIES as usize + 1]);
        assert!(everywhere.places(2, 1 << 20).expect("it fits").is_none());
    }
}
