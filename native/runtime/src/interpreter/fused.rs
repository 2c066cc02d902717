//! Runs fused operators on values.

use fulgurite_codegen::{Operand, Output, PlanCache, execute};
use fulgurite_error::Result;
use fulgurite_fusion::cplan::CPlan;
use fulgurite_hop::{Hop, Literal, scalar};
use fulgurite_matrix::MatrixBlock;

use super::Threads;
use crate::Value;

/// The operator's value, with machine code from the cache.
pub(super) fn run(
    cache: &PlanCache,
    plan: &CPlan,
    hop: &Hop,
    inputs: &[Value],
    threads: &Threads,
) -> Result<Value> {
    let compiled = cache.get_or_compile(plan)?;
    let operands = inputs
        .iter()
        .map(|input| {
            Ok(match input {
                Value::Matrix(block) => Operand::Matrix(block),
                Value::Scalar(value) => Operand::Scalar(scalar::number(value)?),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(match execute(&compiled, &operands, &threads.fused)? {
        Output::Matrix(block) if hop.is_scalar() && (block.rows(), block.cols()) == (1, 1) => {
            Value::Scalar(Literal::Double(block.get(0, 0)))
        }
        Output::Matrix(block) => Value::Matrix(block),
        Output::Scalar(value) if hop.is_matrix() => Value::Matrix(MatrixBlock::filled(1, 1, value)),
        Output::Scalar(value) => Value::Scalar(Literal::Double(value)),
    })
}
