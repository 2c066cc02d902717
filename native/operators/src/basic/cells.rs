//! Cell-by-cell operators: scalars by the scalar rules, matrices by kernels over their vector forms.

use fulgurite_error::Result;
use fulgurite_hop::{BinaryOp, TernaryOp, UnaryOp, scalar};
use fulgurite_matrix::kernels;
use fulgurite_matrix::vector_math::Cells;

use super::super::value::Value;
use super::inputs::Inputs;

pub(super) fn unary(op: UnaryOp, inputs: &Inputs) -> Result<Value> {
    let matrix = match inputs.get(0)? {
        Value::Scalar(value) => {
            return scalar::eval_scalar_unary(op, value).map(Value::Scalar);
        }
        Value::Matrix(_) | Value::Range(_) => inputs.matrix(0)?,
    };
    kernels::unary_over_slices(matrix, |x, out| op.eval_cells(x, out)).map(Value::Matrix)
}

pub(super) fn binary(op: BinaryOp, inputs: &Inputs) -> Result<Value> {
    if let (Value::Scalar(left), Value::Scalar(right)) = (inputs.get(0)?, inputs.get(1)?) {
        return scalar::eval_scalar_binary(op, left, right).map(Value::Scalar);
    }
    let (left, right) = (inputs.operand(0)?, inputs.operand(1)?);
    let over = |x: Cells, y: Cells, out: &mut [f64]| op.eval_cells(x, y, out);
    // Kernels are compiled for functions whose vector form has the bits of the scalar one.
    macro_rules! compiled {
        ($($exact:ident)*, over slices: $($other:ident)*) => {
            match op {
                $(BinaryOp::$exact => {
                    kernels::binary_by(left, right, |x, y| BinaryOp::$exact.eval(x, y), over)
                })*
                $(BinaryOp::$other)|* => kernels::binary_over_slices(left, right, over),
            }
        };
    }
    compiled!(
        Plus Minus Mult Div Modulus IntDiv Min Max Less LessEqual Greater GreaterEqual Equal NotEqual And Or Xor,
        over slices: Pow LogBase
    )
    .map(Value::Matrix)
}

pub(super) fn ternary(op: TernaryOp, inputs: &Inputs) -> Result<Value> {
    if let (Value::Scalar(x), Value::Scalar(y), Value::Scalar(z)) =
        (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?)
    {
        return scalar::eval_scalar_ternary(op, x, y, z).map(Value::Scalar);
    }
    let operands = [inputs.operand(0)?, inputs.operand(1)?, inputs.operand(2)?];
    let over = |operands: [Cells; 3], out: &mut [f64]| op.eval_cells(operands, out);
    macro_rules! compiled {
        ($($op:ident)*) => {
            match op {
                $(TernaryOp::$op => {
                    kernels::ternary_by(operands, |x, y, z| TernaryOp::$op.eval(x, y, z), over)
                })*
            }
        };
    }
    compiled!(IfElse PlusMult MinusMult).map(Value::Matrix)
}
