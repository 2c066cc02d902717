//! Products of two matrices that are both too large to be sent whole.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{BinaryOp, Characteristics, HopOp};

use super::{super::workers::Rows, size, unread};
use crate::{
    Config,
    distributed::{
        DistributedMatrix, Operator, Workers, form::through_driver, row_wise::Slot,
        task_builder::TaskBuilder,
    },
    interpreter::{LocalMatrix, Variable},
};

/// Rows of so many cells that may be sent at a time.
pub(in crate::distributed) fn rows_per_piece(cols: u64, config: &Config) -> u64 {
    through_driver(config) / cols.saturating_mul(8).max(1)
}

impl Workers<'_> {
    /// `X %*% Y` with pieces of Y's rows sent one after the other: each with the columns of X that go with it, whose
    /// stripes stay where they are. Sums are kept by the workers.
    pub(in crate::distributed) fn product_in_pieces(
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
            let mut root = builder.matrix(HopOp::MatMult, vec![columns, piece]);
            if let Some(sum) = sum {
                let before = builder.bind(Slot::Rows, &Variable::Distributed(sum))?;
                root = builder.matrix(HopOp::Binary(BinaryOp::Plus), vec![before, root]);
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
        match matrix {
            Variable::Distributed(of) => {
                let range = Rows { of, from, until };
                self.concatenate(&[range])?.collect()
            }
            Variable::Matrix(matrix) => {
                let row = |row| {
                    usize::try_from(row)
                        .unwrap_or(usize::MAX)
                        .min(matrix.block().rows())
                };
                Ok(LocalMatrix::new(
                    matrix.block().slice_rows(row(from), row(until)),
                ))
            }
            Variable::Scalar(_) => Err(Error::internal(
                "a scalar stands where a matrix is multiplied",
            )),
            Variable::Written(_) => Err(unread()),
        }
    }
}
