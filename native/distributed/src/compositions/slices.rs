//! Ranges of rows or columns of a matrix, each as a whole in one stripe, for tasks that read nothing else of it.

use fulgurite_dataflow::{Assemble, Cut, DistributedMatrix, Pieces};
use fulgurite_error::Result;
use fulgurite_hop::Formulas;

use super::{range_sort::row_numbers, size};
use crate::{task_builder::TaskBuilder, workers::Workers};

impl Workers<'_> {
    /// The part, in stripes of so many rows. It is kept on the workers as long as the matrix is, whatever loop asks for it.
    ///
    /// # Errors
    /// Of the backend.
    pub fn slices(&self, matrix: &DistributedMatrix, cut: Cut) -> Result<DistributedMatrix> {
        matrix.dataset.sliced(cut, || match cut.columns {
            true => self.columns_in_stripes(matrix, cut),
            false => self.rows_in_stripes(matrix, cut),
        })
    }

    /// Stripes are cut by columns; what is there of a range of columns is put together and transposed.
    pub(super) fn columns_in_stripes(
        &self,
        matrix: &DistributedMatrix,
        cut: Cut,
    ) -> Result<DistributedMatrix> {
        let mut builder = TaskBuilder::new(self, matrix);
        let mut root = builder.lead();
        if (cut.from, cut.until) != (0, size(matrix.stripes.cols)?) {
            let (first, last) = (builder.int(cut.from + 1), builder.int(cut.until));
            root = builder.columns(root, first, last);
        }
        let pieces = Pieces::Columns { every: cut.every };
        let targets = (cut.until - cut.from).div_ceil(cut.every);
        let columns = builder.shuffle(root, pieces, targets, Assemble::Below, "transpose")?;
        let columns = DistributedMatrix::new(columns, matrix.stripes);
        let mut builder = TaskBuilder::new(self, &columns);
        let stripe = builder.lead();
        let root = builder.transposed(stripe);
        self.placed(&builder.map(root, "transpose")?)
    }

    /// Each row goes to the stripe that its number says.
    fn rows_in_stripes(&self, matrix: &DistributedMatrix, cut: Cut) -> Result<DistributedMatrix> {
        let mut builder = TaskBuilder::new(self, matrix);
        let stripe = builder.lead();
        let numbers = row_numbers(&mut builder);
        let first = builder.number(cut.from as f64 + 1.0);
        let every = builder.number(cut.every as f64);
        let below = builder.minus(numbers, first);
        let target = builder.quotient(below, every);
        let root = builder.side_by_side(vec![stripe, target]);
        let targets = (cut.until - cut.from).div_ceil(cut.every);
        let pieces = Pieces::Named { targets };
        let rows = builder.shuffle(root, pieces, targets, Assemble::Below, "slices")?;
        self.placed(&rows)
    }
}
