//! Products of two matrices that are both too large to be sent whole.

use fulgurite_dataflow::{
    Assemble, Combine, DistributedMatrix, LargeProduct, LocalMatrix, Pieces, Variable, Whole,
};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Formulas};
use fulgurite_matrix::kernels;

use super::size;
use crate::{
    operator::Operator,
    row_wise::Slot,
    sizes::rows_per_piece,
    task_builder::TaskBuilder,
    workers::{Rows, Workers},
};

impl Workers<'_> {
    /// `X %*% Y` of matrices that are both too large to be sent whole.
    ///
    /// # Errors
    /// Of the operator and the backend.
    pub(crate) fn large_product(
        &self,
        form: LargeProduct,
        operator: &Operator,
        left: &Variable,
        right: &Variable,
    ) -> Result<Variable> {
        match form {
            LargeProduct::Pieces(_) => self.product_in_pieces(operator, left, right),
            LargeProduct::Rmm { bytes, row_bytes } => {
                self.product_over_stripes(operator, left, right, (bytes, row_bytes))
            }
            LargeProduct::Cpmm { result_comes_here } => {
                self.product_by_common_rows(operator, left, right, result_comes_here)
            }
        }
    }

    /// `X %*% Y`, a row of stripes of X after the other: the sum of the products of X's columns with the stripes of Y that they
    /// go with, in the order of these. What it gives has the stripes of X.
    fn product_over_stripes(
        &self,
        operator: &Operator,
        left: &Variable,
        right: &Variable,
        bytes: (u64, u64),
    ) -> Result<Variable> {
        let (left, right) = (self.distributed(left)?, self.distributed(right)?);
        // All partitions of X read it.
        right.dataset.persist()?;
        let mut builder = TaskBuilder::new(self, &left);
        let stripe = builder.lead();
        let (over, first, last) = builder.over();
        let columns = builder.columns(stripe, first, last);
        let root = builder.product(columns, over);
        let dataset = builder.map_over(root, &right, Combine::Sum, bytes, operator.label)?;
        let stripes = Characteristics::new(left.stripes.rows, right.stripes.cols, None);
        Ok(Variable::Distributed(DistributedMatrix::new(
            dataset, stripes,
        )))
    }

    /// `X %*% Y` as the sum over stripes of Y of what they give with the columns of X that go with them. The larger one stays
    /// where it is, of X what its columns become as rows.
    fn product_by_common_rows(
        &self,
        operator: &Operator,
        left: &Variable,
        right: &Variable,
        result_comes_here: bool,
    ) -> Result<Variable> {
        let turned = match left.whole()? {
            Whole::Distributed(matrix) => self.lying(matrix, true)?,
            Whole::Matrix(matrix) => {
                let transposed = LocalMatrix::new(kernels::transpose(matrix.block())?);
                self.striped(&transposed)?.transpose()
            }
            Whole::Scalar(_) => return Err(scalar()),
        };
        let rows = size(turned.stripes.cols)?;
        let right = self.distributed(right)?;
        let lead = match turned.stripes.cells() > right.stripes.cells() {
            true => &turned,
            false => &right,
        };
        let mut builder = TaskBuilder::new(self, lead);
        let columns = builder.bind(Slot::Columns, &Variable::Distributed(turned.clone()))?;
        let columns = builder.transposed(columns);
        let stripe = builder.bind(Slot::Rows, &Variable::Distributed(right.clone()))?;
        let root = builder.product(columns, stripe);
        if result_comes_here {
            let sum = builder.aggregate(root, &Combine::Sum, operator.label)?;
            return Ok(Variable::matrix(sum));
        }
        let parts = builder.combine_partitions(root, Combine::Sum, operator.label)?;
        let whole = Characteristics::new(None, right.stripes.cols, None);
        let parts = DistributedMatrix::new(parts, whole);
        let mut builder = TaskBuilder::new(self, &parts);
        let part = builder.lead();
        let every = self.config.blocksize;
        let pieces = Pieces::Rows {
            every,
            skip_zeros: true,
        };
        let (targets, assemble) = (rows.div_ceil(every), Assemble::Combined(Combine::Sum));
        let sums = builder.shuffle(part, pieces, targets, assemble, operator.label)?;
        Ok(Variable::Distributed(self.placed(&sums)?))
    }

    /// `X %*% Y` with pieces of Y's rows sent one after the other: each with the columns of X that go with it, whose
    /// stripes stay where they are. Sums are kept by the workers.
    fn product_in_pieces(
        &self,
        operator: &Operator,
        left: &Variable,
        right: &Variable,
    ) -> Result<Variable> {
        let left = self.distributed(left)?;
        // Each piece goes over it.
        left.dataset.persist()?;
        let known = right.characteristics();
        let (common, cols) = (size(known.rows)?, size(known.cols)?);
        let rows_per_piece = rows_per_piece(cols, self.config);
        if rows_per_piece == 0 {
            let (row_bytes, limit) = (cols.saturating_mul(8), self.through_driver());
            return Err(Error::memory(format!(
                "every task needs a row of {row_bytes} bytes of a matrix {known}, which may be sent up to {limit} bytes"
            ))
            .with_help("raise fulgurite.memory.broadcast and fulgurite.memory.local"));
        }
        let right = match right {
            // In stripes of its rows, of which some come here at a time.
            Variable::Distributed(matrix) => {
                let matrix = self.lying(matrix, false)?;
                matrix.dataset.persist()?;
                Variable::Distributed(matrix)
            }
            other => other.clone(),
        };
        let stripes = Characteristics::new(left.stripes.rows, Some(cols), None);
        let mut sum: Option<DistributedMatrix> = None;
        for from in (0..common).step_by(usize::try_from(rows_per_piece).unwrap_or(usize::MAX)) {
            let until = common.min(from.saturating_add(rows_per_piece));
            let piece = Variable::Matrix(self.rows_here(&right, from, until)?);
            let mut builder = TaskBuilder::new(self, &left);
            let stripe = builder.lead();
            let (first, last) = (builder.int(from + 1), builder.int(until));
            let columns = builder.columns(stripe, first, last);
            let piece = builder.bind(Slot::Whole, &piece)?;
            let mut root = builder.product(columns, piece);
            if let Some(sum) = sum {
                let before = builder.bind(Slot::Rows, &Variable::Distributed(sum))?;
                root = builder.plus(before, root);
            }
            let dataset = builder.map(root, operator.label)?;
            // Run now: neither the piece nor the former sum is needed any more.
            dataset.persist()?;
            sum = Some(DistributedMatrix::new(dataset, stripes));
        }
        let product = sum.ok_or_else(|| Error::internal("a product over no rows"))?;
        Ok(Variable::Distributed(product))
    }

    fn rows_here(&self, matrix: &Variable, from: u64, until: u64) -> Result<LocalMatrix> {
        match matrix.whole()? {
            Whole::Distributed(of) => {
                let range = Rows { of, from, until };
                let rows = self.concatenate(&[range])?.collect()?;
                // Rows without zeros of a sparse matrix take less when they are dense, which the limit is for.
                Ok(LocalMatrix::new(rows.into_block().in_best_layout()?))
            }
            Whole::Matrix(matrix) => {
                let row = |row| {
                    usize::try_from(row)
                        .unwrap_or(usize::MAX)
                        .min(matrix.block().rows())
                };
                let rows = matrix.block().slice_rows(row(from), row(until));
                Ok(LocalMatrix::new(rows.in_best_layout()?))
            }
            Whole::Scalar(_) => Err(scalar()),
        }
    }
}

fn scalar() -> Error {
    Error::internal("a scalar stands where a matrix is multiplied")
}
