//! Runs fused operators on values.

use std::sync::Once;

use fulgurite_codegen::{Operand, Output, PlanCache, execute};
use fulgurite_error::Result;
use fulgurite_hop::{Hop, Literal, scalar};
use fulgurite_matrix::MatrixBlock;

use super::{plan::FusedPlan, threads::Threads, value::Value};

/// Cells of a dense output that are looked at to tell whether it is worth counting all.
const SAMPLE: usize = 1024;

/// The operator's value, with machine code from the cache.
pub(super) fn run(
    cache: &PlanCache,
    fused: &FusedPlan,
    hop: &Hop,
    inputs: &[Value],
    threads: &Threads,
) -> Result<Value> {
    let compiled = cache.get_or_compile_kept(&fused.plan, &fused.compiled)?;
    if let Some(reason) = compiled.why_interpreted() {
        // Here rather than with the report, which workers have none of.
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            tracing::warn!("no machine code, fused operators are interpreted: {reason}");
        });
    }
    let mut operands = Vec::new();
    for input in inputs {
        operands.push(match input {
            Value::Matrix(block) => Operand::Matrix(block),
            Value::Range(range) => Operand::Range(range),
            Value::Scalar(value) => Operand::Scalar(scalar::number(value)?),
        });
    }
    Ok(match execute(compiled, &operands, &threads.fused)? {
        Output::Matrix(block) if hop.is_scalar() && (block.rows(), block.cols()) == (1, 1) => {
            Value::Scalar(Literal::Double(block.get(0, 0)))
        }
        Output::Matrix(block) => Value::Matrix(in_observed_layout(block)?),
        Output::Scalar(value) if hop.is_matrix() => {
            Value::Matrix(MatrixBlock::filled(1, 1, value)?)
        }
        Output::Scalar(value) => Value::Scalar(Literal::Double(value)),
    })
}

/// The output in the layout that its cells ask for, so that what comes next is planned for its actual sparsity.
///
/// Operators keep the structure of a sparse input, also where values became 0, and write dense outputs without
/// counting. Dropping the zeros pays when they are more than a tenth; dense outputs are counted only if a sample
/// of their cells is mostly 0, and converted if that halves them: a few columns are read faster as they are.
fn in_observed_layout(block: MatrixBlock) -> Result<MatrixBlock> {
    match &block {
        MatrixBlock::Csr(csr) if csr.non_zeros() < csr.stored() - csr.stored() / 10 => {
            csr.without_zeros().map(MatrixBlock::Csr)
        }
        MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) | MatrixBlock::Compressed(_) => Ok(block),
        MatrixBlock::Dense(dense) => {
            let cells = dense.values();
            // An odd step, so that the sample is not one column.
            let step = (cells.len() / SAMPLE) | 1;
            let sample = cells.iter().step_by(step);
            let (looked_at, zeros) = sample.fold((0, 0), |(count, zeros), cell| {
                (count + 1, zeros + usize::from(*cell == 0.0))
            });
            let is_sparse = 2 * zeros > looked_at && {
                let csr_bytes = 12 * block.nnz() + 8 * (block.rows() + 1);
                2 * csr_bytes <= block.memory_bytes()
            };
            Ok(match is_sparse {
                true => block.in_best_layout()?,
                false => block,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(cells: impl Iterator<Item = f64>) -> MatrixBlock {
        let cells: Vec<f64> = cells.collect();
        MatrixBlock::dense(cells.len() / 100, 100, cells).expect("rows of 100 cells")
    }

    #[test]
    fn outputs_take_the_layout_of_their_cells() {
        let observed = |block| in_observed_layout(block).expect("it is a matrix");
        let mostly_zero = block((0..100_000).map(|cell| f64::from(u8::from(cell % 7 == 0))));
        let sparse = observed(mostly_zero.clone());
        assert!(matches!(&sparse, MatrixBlock::Csr(csr) if csr.stored() == 14_286));
        assert_eq!(sparse.to_dense().unwrap(), mostly_zero.to_dense().unwrap());
        let full = block((0..100_000).map(f64::from));
        assert!(matches!(observed(full), MatrixBlock::Dense(_)));

        let MatrixBlock::Csr(csr) = sparse else {
            panic!("it is sparse")
        };
        let (pointers, indices, values) = csr.into_buffers();
        let half: Vec<f64> = values
            .iter()
            .enumerate()
            .map(|(at, value)| value * (at % 2) as f64)
            .collect();
        let stored = fulgurite_matrix::CsrMatrix::new(1000, 100, pointers, indices, half)
            .expect("the same structure");
        let dropped = observed(MatrixBlock::Csr(stored.clone()));
        assert!(matches!(&dropped, MatrixBlock::Csr(csr) if csr.stored() == 7_143));
        assert_eq!(
            dropped.to_dense().unwrap(),
            MatrixBlock::Csr(stored).to_dense().unwrap()
        );
    }
}
