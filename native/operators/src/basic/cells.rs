//! Cell-by-cell operators: scalars by the scalar rules, matrices by kernels compiled for the operator, or by its vector form.

use fulgurite_error::Result;
use fulgurite_hop::{BinaryOp, TernaryOp, UnaryOp, scalar};
use fulgurite_matrix::kernels;

use super::super::value::Value;
use super::inputs::Inputs;

pub(super) fn unary(op: UnaryOp, inputs: &Inputs) -> Result<Value> {
    let matrix = match inputs.get(0)? {
        Value::Scalar(value) => {
            return scalar::eval_scalar_unary(op, value).map(Value::Scalar);
        }
        Value::Matrix(matrix) => matrix,
    };
    // Where a function costs less than choosing it, a kernel is compiled for it.
    macro_rules! compiled {
        ($($cheap:ident)*, over slices: $($dear:ident)*) => {
            match op {
                $(UnaryOp::$cheap => kernels::unary(matrix, |x| UnaryOp::$cheap.eval(x)),)*
                $(UnaryOp::$dear)|* => {
                    kernels::unary_over_slices(matrix, |x, out| op.eval_cells(x, out))
                }
            }
        };
    }
    compiled!(
        Abs Sqrt Floor Ceil Sign Not Sprop Pow2,
        over slices: Exp Log Round Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Sigmoid
    )
    .map(Value::Matrix)
}

pub(super) fn binary(op: BinaryOp, inputs: &Inputs) -> Result<Value> {
    if let (Value::Scalar(left), Value::Scalar(right)) = (inputs.get(0)?, inputs.get(1)?) {
        return scalar::eval_scalar_binary(op, left, right).map(Value::Scalar);
    }
    let (left, right) = (inputs.operand(0)?, inputs.operand(1)?);
    macro_rules! compiled {
        ($($cheap:ident)*, over slices: $($dear:ident)*) => {
            match op {
                $(BinaryOp::$cheap => {
                    kernels::binary(left, right, |x, y| BinaryOp::$cheap.eval(x, y))
                })*
                $(BinaryOp::$dear)|* => {
                    kernels::binary_over_slices(left, right, |x, y, out| op.eval_cells(x, y, out))
                }
            }
        };
    }
    compiled!(
        Plus Minus Mult Div Min Max Less LessEqual Greater GreaterEqual Equal NotEqual And Or,
        over slices: Modulus IntDiv Pow Xor LogBase
    )
    .map(Value::Matrix)
}

pub(super) fn ternary(op: TernaryOp, inputs: &Inputs) -> Result<Value> {
    if let (Value::Scalar(x), Value::Scalar(y), Value::Scalar(z)) =
        (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?)
    {
        return scalar::eval_scalar_ternary(op, x, y, z).map(Value::Scalar);
    }
    let operands = (inputs.operand(0)?, inputs.operand(1)?, inputs.operand(2)?);
    macro_rules! compiled {
        ($($op:ident)*) => {
            match op {
                $(TernaryOp::$op => kernels::ternary(operands.0, operands.1, operands.2, |x, y, z| {
                    TernaryOp::$op.eval(x, y, z)
                }),)*
            }
        };
    }
    compiled!(IfElse PlusMult MinusMult).map(Value::Matrix)
}
