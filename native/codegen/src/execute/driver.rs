//! Sparse main inputs: passing over what is stored of them, and of ultra-sparse ones over rows that are not empty only.

use std::borrow::Cow;

use fulgurite_error::Result;
use fulgurite_fusion::cplan::{CNode, InputBinding, RowOutput, Template};
use fulgurite_matrix::{CompactRows, CsrMatrix, MatrixBlock, kernels};

use super::Skipped;
use crate::bind::{Bound, Operand};
use crate::compiled::CompiledPlan;

/// A main input of which stored cells are visited.
pub(super) struct Driver<'a> {
    pub csr: Cow<'a, CsrMatrix>,
    /// The rows' numbers in the main input where empty ones are left out.
    numbers: Option<Vec<usize>>,
    /// Of the main input.
    rows: usize,
}

impl<'a> Driver<'a> {
    /// None of a dense matrix.
    pub fn of(main: Operand<'a>) -> Option<Self> {
        let Operand::Matrix(main) = main else {
            return None;
        };
        match main {
            MatrixBlock::Dense(_) | MatrixBlock::Compressed(_) => None,
            MatrixBlock::Csr(csr) => Some(Driver {
                csr: Cow::Borrowed(csr),
                numbers: None,
                rows: csr.rows(),
            }),
            MatrixBlock::Coordinate(coordinates) => {
                let CompactRows { numbers, csr } = coordinates.compact();
                Some(Driver {
                    csr: Cow::Owned(csr),
                    numbers: Some(numbers),
                    rows: coordinates.rows(),
                })
            }
        }
    }

    /// A dense matrix's non-zeros.
    pub fn of_non_zeros(main: &MatrixBlock) -> Result<Self> {
        let csr = main.to_csr()?;
        Ok(Driver {
            rows: csr.rows(),
            csr: Cow::Owned(csr),
            numbers: None,
        })
    }

    /// Rows of the main input.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number in the main input of a row of [`Driver::csr`].
    pub fn number(&self, row: usize) -> usize {
        match &self.numbers {
            Some(numbers) => numbers[row],
            None => row,
        }
    }

    /// A row of `width` cells for each row of the main input: those computed, and `empty` for rows left out.
    pub fn spread(&self, computed: Vec<f64>, width: usize, empty: &[f64]) -> Result<Vec<f64>> {
        let Some(numbers) = &self.numbers else {
            return Ok(computed);
        };
        let mut cells = super::zeros(self.rows, width)?;
        if empty.iter().any(|cell| *cell != 0.0) {
            for row in cells.chunks_exact_mut(width) {
                row.copy_from_slice(empty);
            }
        }
        for (row, number) in numbers.iter().enumerate() {
            let from = number * width;
            cells[from..from + width].copy_from_slice(&computed[row * width..][..width]);
        }
        Ok(cells)
    }
}

/// Operands that stand for ultra-sparse ones, and for sparse rows whose zeros count; `None` where an operand stays, and
/// nothing if all do.
pub(super) fn replacements(
    plan: &CompiledPlan,
    bound: &Bound<'_>,
    skipped: Skipped,
) -> Result<Vec<Option<MatrixBlock>>> {
    let operands = bound.operands;
    if let (Template::Row(_), Skipped::Nothing) = (&plan.plan().template, skipped) {
        let reads_csr = &plan.kernel().program.reads_csr;
        let replaced = operands.iter().zip(reads_csr);
        return replaced
            .map(|(operand, reads_csr)| {
                Ok(match operand {
                    Operand::Matrix(MatrixBlock::Dense(_) | MatrixBlock::Compressed(_))
                    | Operand::Range(_)
                    | Operand::Scalar(_) => None,
                    Operand::Matrix(matrix) if *reads_csr => Some(matrix.to_dense()?.into()),
                    Operand::Matrix(MatrixBlock::Coordinate(coordinates)) => {
                        Some(coordinates.to_csr()?.into())
                    }
                    Operand::Matrix(MatrixBlock::Csr(_)) => None,
                })
            })
            .collect();
    }
    if !operands.iter().any(Operand::is_ultra_sparse) {
        return Ok(Vec::new());
    }
    let with_all_rows = |matrix: &MatrixBlock| -> Result<Option<MatrixBlock>> {
        match matrix {
            MatrixBlock::Coordinate(coordinates) => Ok(Some(coordinates.to_csr()?.into())),
            _ => Ok(None),
        }
    };
    let filled = match (bound.main, &plan.plan().template) {
        (Operand::Matrix(MatrixBlock::Coordinate(main)), Template::Row(row))
            if skipped == Skipped::Rows && skips_empty_rows(plan, row.output) =>
        {
            Some(main.compact())
        }
        _ => None,
    };
    let visits_stored = skipped != Skipped::Nothing && plan.plan().template.is_sparse_safe();
    let replaced = operands.iter().zip(&plan.plan().inputs).enumerate();
    replaced
        .map(|(input, (operand, binding))| {
            let goes_with_main =
                matches!(binding, InputBinding::Matrix | InputBinding::ColumnVector);
            let copied;
            let matrix = match operand {
                Operand::Matrix(matrix) => *matrix,
                Operand::Range(range) if filled.is_some() && goes_with_main => {
                    copied = range.to_dense()?.into();
                    &copied
                }
                Operand::Range(_) | Operand::Scalar(_) => return Ok(None),
            };
            match &filled {
                Some(CompactRows { csr, .. }) if input == 0 => Ok(Some(csr.clone().into())),
                Some(CompactRows { numbers, .. }) if goes_with_main => {
                    let rows = kernels::take_rows(matrix, numbers.len(), |row| numbers[row])?;
                    Ok(Some(with_all_rows(&rows)?.unwrap_or(rows)))
                }
                None if input == 0 && visits_stored => Ok(None),
                _ => with_all_rows(matrix),
            }
        })
        .collect()
}

/// Whether rows without stored cells add nothing: the main input's rows are the left operands of outer products.
pub(super) fn skips_empty_rows(plan: &CompiledPlan, output: RowOutput) -> bool {
    let program = &plan.kernel().program;
    let left = program
        .outer_product
        .map(|(left, _)| &program.nodes[left.index()]);
    matches!(output, RowOutput::OuterProduct { .. }) && matches!(left, Some(CNode::Input(0)))
}
