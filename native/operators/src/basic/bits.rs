//! Bitwise functions, with the widths of SystemDS: doubles are cut to 32 bits and ints keep their lowest 32, except where ints are
//! moved to the right.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Literal, ParameterizedOp, scalar};
use fulgurite_matrix::kernels;

use super::super::value::Value;
use super::inputs::Inputs;

pub(super) fn execute(
    op: ParameterizedOp,
    inputs: &Inputs,
    [left, right]: [usize; 2],
) -> Result<Value> {
    let Some(of_doubles) = of_doubles(op) else {
        return Err(Error::internal(format!("'{}' is not bitwise", op.code())));
    };
    match (inputs.get(left)?, inputs.get(right)?) {
        (Value::Scalar(Literal::Int(left)), Value::Scalar(Literal::Int(right))) => {
            Ok(Value::Scalar(Literal::Int(of_ints(op, *left, *right))))
        }
        (Value::Scalar(left), Value::Scalar(right)) => {
            let (left, right) = (scalar::number(left)?, scalar::number(right)?);
            Ok(Value::Scalar(Literal::Double(of_doubles(left, right))))
        }
        _ => kernels::binary(inputs.operand(left)?, inputs.operand(right)?, of_doubles)
            .map(Value::Matrix),
    }
}

/// As Java casts doubles: numbers that are too large become the largest int, and NaN 0.
fn of_doubles(op: ParameterizedOp) -> Option<fn(f64, f64) -> f64> {
    Some(match op {
        ParameterizedOp::BitwAnd => |x, y| f64::from(x as i32 & y as i32),
        ParameterizedOp::BitwOr => |x, y| f64::from(x as i32 | y as i32),
        ParameterizedOp::BitwXor => |x, y| f64::from(x as i32 ^ y as i32),
        ParameterizedOp::BitwShiftL => |x, y| f64::from((x as i32).wrapping_shl(y as i32 as u32)),
        ParameterizedOp::BitwShiftR => |x, y| f64::from((x as i32).wrapping_shr(y as i32 as u32)),
        _ => return None,
    })
}

fn of_ints(op: ParameterizedOp, left: i64, right: i64) -> i64 {
    let (low, other) = (left as i32, right as i32);
    match op {
        ParameterizedOp::BitwOr => i64::from(low | other),
        ParameterizedOp::BitwXor => i64::from(low ^ other),
        ParameterizedOp::BitwShiftL => i64::from(low.wrapping_shl(other as u32)),
        ParameterizedOp::BitwShiftR => left.wrapping_shr(other as u32),
        _ => i64::from(low & other),
    }
}

#[cfg(test)]
mod tests {
    use super::{ParameterizedOp::*, *};

    /// As SystemDS 3.4 printed them.
    #[test]
    fn widths_are_those_of_systemds() {
        assert_eq!(of_ints(BitwAnd, 12, 10), 8);
        assert_eq!(of_ints(BitwOr, 1 << 32, 1), 1);
        assert_eq!(of_ints(BitwXor, 12, 10), 6);
        assert_eq!(of_ints(BitwShiftL, 1, 70), 64);
        assert_eq!(of_ints(BitwShiftL, 1, 40), 256);
        assert_eq!(of_ints(BitwShiftR, -9, 1), -5);
        assert_eq!(of_ints(BitwShiftR, 1 << 32, 3), 1 << 29);
        let of = |op, x, y| of_doubles(op).unwrap()(x, y);
        assert_eq!(of(BitwAnd, 12.7, -2.0), 12.0);
        assert_eq!(of(BitwAnd, 1e20, -1.0), 2147483647.0);
        assert_eq!(of(BitwXor, f64::NAN, 3.0), 3.0);
        assert_eq!(of(BitwShiftL, 4294967296.0, 1.0), -2.0);
        assert_eq!(of(BitwShiftR, -7.5, 1.0), -4.0);
        assert_eq!(of(BitwShiftR, 1e20, 1.0), 1073741823.0);
        assert!(of_doubles(Roll).is_none());
    }
}
