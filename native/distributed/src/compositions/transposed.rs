//! Transposes: free as the left operand of a product, which reads stripes as columns; all others need the rows of the
//! transpose in stripes of their own, which moves every cell once.

use fulgurite_dataflow::{Cut, DistributedMatrix};
use fulgurite_error::{Error, Result};

use super::size;
use crate::{sizes::rows_per_turn, workers::Workers};

impl Workers<'_> {
    /// The matrix with its stripes being its rows, or, transposed, its columns.
    ///
    /// # Errors
    /// `memory`, where its rows are too wide to be in stripes; of the backend.
    pub fn lying(&self, matrix: &DistributedMatrix, transposed: bool) -> Result<DistributedMatrix> {
        if matrix.transposed == transposed {
            return Ok(matrix.clone());
        }
        let turned = matrix.dataset.turned(|| self.turn(matrix))?;
        Ok(DistributedMatrix {
            transposed,
            ..turned
        })
    }

    fn turn(&self, matrix: &DistributedMatrix) -> Result<DistributedMatrix> {
        let (rows, cols) = (size(matrix.stripes.rows)?, size(matrix.stripes.cols)?);
        let Some(every) = rows_per_turn(rows, self.config) else {
            let (row_bytes, limit) = (rows.saturating_mul(8), self.config.memory_local);
            return Err(Error::memory(format!(
                "a row of the transpose of a distributed {rows} x {cols} matrix has {row_bytes} bytes, and \
                 fulgurite.memory.local is {limit}"
            ))
            .with_help("raise fulgurite.memory.local, or multiply by the transpose from the left"));
        };
        let cut = Cut {
            columns: true,
            from: 0,
            until: cols,
            every,
        };
        self.columns_in_stripes(matrix, cut)
    }
}
