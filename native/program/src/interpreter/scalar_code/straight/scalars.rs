//! Instructions of functions of scalars, as [`fulgurite_hop::scalar`] defines these.

use fulgurite_hop::{BinaryOp, CastOp, TernaryOp, UnaryOp};

use super::{
    super::instructions::{Instruction, Kind, Origin, Register},
    Made, Tools, Value,
};

/// A scalar or a cell as a double.
pub(super) fn number(value: Value, tools: &mut Tools) -> Option<Register> {
    match value {
        Value::Cell(register) => Some(register),
        Value::Scalar(kind, register) => double(kind, register, tools),
        Value::Nothing | Value::Matrix { .. } | Value::Text => None,
    }
}

fn double(kind: Kind, from: Register, tools: &mut Tools) -> Option<Register> {
    match kind {
        Kind::Double => Some(from),
        Kind::Int | Kind::Boolean => match tools.registers.value(from) {
            Some(constant) => {
                let value = constant.cast_signed() as f64;
                tools.registers.constant(value.to_bits())
            }
            None => {
                let to = tools.registers.free()?;
                tools.emitter.emit(Instruction::IntToDouble { to, from });
                Some(to)
            }
        },
        Kind::Undefined | Kind::Matrix(_) | Kind::Other => None,
    }
}

/// A scalar as a boolean.
pub(in super::super) fn truth(kind: Kind, from: Register, tools: &mut Tools) -> Option<Register> {
    let to = match kind {
        Kind::Boolean => return Some(from),
        Kind::Int | Kind::Double => tools.registers.free()?,
        Kind::Undefined | Kind::Matrix(_) | Kind::Other => return None,
    };
    tools.emitter.emit(match kind == Kind::Int {
        true => Instruction::IntToBoolean { to, from },
        false => Instruction::DoubleToBoolean { to, from },
    });
    Some(to)
}

pub(super) fn unary(op: UnaryOp, value: Value, origin: Origin, tools: &mut Tools) -> Option<Value> {
    match value {
        Value::Scalar(kind, x) if op == UnaryOp::Not => {
            let x = truth(kind, x, tools)?;
            let to = tools.registers.free()?;
            tools.emitter.emit(Instruction::Not { to, x });
            Some(Value::Scalar(Kind::Boolean, to))
        }
        Value::Scalar(Kind::Int, x) if op == UnaryOp::Abs => {
            let to = tools.registers.free()?;
            tools.emitter.emit_of(Instruction::AbsInt { to, x }, origin);
            Some(Value::Scalar(Kind::Int, to))
        }
        Value::Scalar(kind, x) => {
            let x = double(kind, x, tools)?;
            let to = tools.registers.free()?;
            tools.emitter.emit(Instruction::Unary { op, to, x });
            Some(Value::Scalar(Kind::Double, to))
        }
        Value::Cell(x) if is_exact(op) => {
            let to = tools.registers.free()?;
            tools.emitter.emit(Instruction::Unary { op, to, x });
            Some(Value::Cell(to))
        }
        Value::Nothing | Value::Cell(_) | Value::Matrix { .. } | Value::Text => None,
    }
}

/// Whether kernels give the very bits that the scalar function gives.
fn is_exact(op: UnaryOp) -> bool {
    use UnaryOp::*;
    match op {
        Sqrt | Abs | Round | RoundHalfEven | Floor | Ceil | Sign | Not | Sprop | Pow2 => true,
        Exp | ExpLess1 | Log | LogOf1Plus | Log2 | Log10 | Sin | Cos | Tan | Asin | Acos | Atan
        | Sinh | Cosh | Tanh | Sigmoid => false,
    }
}

/// As [`is_exact`].
pub(super) fn is_same_on_cells(op: BinaryOp) -> bool {
    use BinaryOp::*;
    match op {
        Plus | Minus | Mult | Div | Modulus | IntDiv | Min | Max | Less | LessEqual | Greater
        | GreaterEqual | Equal | NotEqual | And | Or | Xor => true,
        Pow | LogBase => false,
    }
}

/// `x op y` of doubles, as a double: 0 or 1 of comparisons.
pub(super) fn doubles(op: BinaryOp, to: Register, x: Register, y: Register) -> Instruction {
    use BinaryOp::*;
    match op {
        Plus => Instruction::Add { to, x, y },
        Minus => Instruction::Subtract { to, x, y },
        Mult => Instruction::Multiply { to, x, y },
        Div => Instruction::Divide { to, x, y },
        Modulus | IntDiv | Pow | Min | Max | Less | LessEqual | Greater | GreaterEqual | Equal
        | NotEqual | And | Or | Xor | LogBase => Instruction::Binary { op, to, x, y },
    }
}

/// As [`fulgurite_hop::scalar::eval_scalar_binary`], but for `%%` of ints.
pub(super) fn binary(
    op: BinaryOp,
    (x_kind, x): (Kind, Register),
    (y_kind, y): (Kind, Register),
    origin: Origin,
    tools: &mut Tools,
) -> Option<Value> {
    use BinaryOp::*;
    let are_ints = (x_kind, y_kind) == (Kind::Int, Kind::Int);
    let is_logic = matches!(op, And | Or | Xor);
    let (x, y) = match (are_ints, is_logic) {
        (_, true) => (truth(x_kind, x, tools)?, truth(y_kind, y, tools)?),
        (true, false) => (x, y),
        (false, false) => (double(x_kind, x, tools)?, double(y_kind, y, tools)?),
    };
    let to = tools.registers.free()?;
    let (kind, instruction) = match op {
        Less | Greater | LessEqual | GreaterEqual => {
            let (x, y) = match matches!(op, Greater | GreaterEqual) {
                true => (y, x),
                false => (x, y),
            };
            let instruction = match (matches!(op, Less | Greater), are_ints) {
                (true, true) => Instruction::LessInts { to, x, y },
                (true, false) => Instruction::Less { to, x, y },
                (false, true) => Instruction::LessEqualInts { to, x, y },
                (false, false) => Instruction::LessEqual { to, x, y },
            };
            (Kind::Boolean, instruction)
        }
        Equal | NotEqual => {
            let instruction = match are_ints {
                true => Instruction::EqualInts { to, x, y },
                false => Instruction::Equal { to, x, y },
            };
            if op == Equal {
                (Kind::Boolean, instruction)
            } else {
                tools.emitter.emit(instruction);
                (Kind::Boolean, Instruction::Not { to, x: to })
            }
        }
        And => (Kind::Boolean, Instruction::And { to, x, y }),
        Or => (Kind::Boolean, Instruction::Or { to, x, y }),
        Xor => {
            tools.emitter.emit(Instruction::EqualInts { to, x, y });
            (Kind::Boolean, Instruction::Not { to, x: to })
        }
        Plus if are_ints => (Kind::Int, Instruction::AddInts { op, to, x, y }),
        Minus if are_ints => (Kind::Int, Instruction::SubtractInts { op, to, x, y }),
        Mult if are_ints => (Kind::Int, Instruction::MultiplyInts { op, to, x, y }),
        IntDiv if are_ints => (Kind::Int, Instruction::DivideInts { op, to, x, y }),
        Min if are_ints => (Kind::Int, Instruction::MinInts { to, x, y }),
        Max if are_ints => (Kind::Int, Instruction::MaxInts { to, x, y }),
        Plus | Minus | Mult | Div | Modulus | IntDiv | Pow | Min | Max | LogBase => {
            let (x, y) = match are_ints {
                true => (double(Kind::Int, x, tools)?, double(Kind::Int, y, tools)?),
                false => (x, y),
            };
            (Kind::Double, doubles(op, to, x, y))
        }
    };
    tools.emitter.emit_of(instruction, origin);
    Some(Value::Scalar(kind, to))
}

/// `x %% y` of ints, which is the double NaN where y is 0.
pub(super) fn modulo(x: Register, y: Register, tools: &mut Tools) -> Option<Made> {
    let nan = tools.registers.constant(f64::NAN.to_bits())?;
    let nan = Value::Scalar(Kind::Double, nan);
    let divisor = tools.registers.value(y);
    if divisor == Some(0) {
        return Some(Made::Value(nan));
    }
    let to = tools.registers.free()?;
    let value = Value::Scalar(Kind::Int, to);
    let modulo = Instruction::ModuloInts { to, x, y };
    Some(match divisor {
        Some(_) => {
            tools.emitter.emit(modulo);
            Made::Value(value)
        }
        None => Made::Either {
            test: y,
            otherwise: nan,
            value,
            by: Some(modulo),
        },
    })
}

pub(super) fn ternary(op: TernaryOp, [x, y, z]: [Value; 3], tools: &mut Tools) -> Option<Made> {
    let (Value::Scalar(x_kind, x), Value::Scalar(y_kind, y), Value::Scalar(z_kind, z)) = (x, y, z)
    else {
        return None;
    };
    Some(match op {
        TernaryOp::IfElse => {
            let condition = truth(x_kind, x, tools)?;
            match y_kind == z_kind {
                true => {
                    let to = tools.registers.free()?;
                    tools.emitter.emit(Instruction::Select {
                        to,
                        condition,
                        yes: y,
                        no: z,
                    });
                    Made::Value(Value::Scalar(y_kind, to))
                }
                false => Made::Either {
                    test: condition,
                    otherwise: Value::Scalar(z_kind, z),
                    value: Value::Scalar(y_kind, y),
                    by: None,
                },
            }
        }
        TernaryOp::PlusMult | TernaryOp::MinusMult => {
            let (x, y, z) = (
                double(x_kind, x, tools)?,
                double(y_kind, y, tools)?,
                double(z_kind, z, tools)?,
            );
            let to = tools.registers.free()?;
            tools.emitter.emit(Instruction::Ternary { op, to, x, y, z });
            Made::Value(Value::Scalar(Kind::Double, to))
        }
    })
}

pub(super) fn cast(op: CastOp, value: Value, origin: Origin, tools: &mut Tools) -> Option<Value> {
    let (kind, from) = match (value, op) {
        (Value::Cell(cell), CastOp::AsScalar) => return Some(Value::Scalar(Kind::Double, cell)),
        (Value::Matrix { place, version: 0 }, CastOp::AsScalar) => {
            // The only cell of a matrix.
            let matrix = tools.matrices.get(usize::from(place))?;
            if (matrix.rows, matrix.cols) != (1, 1) {
                return None;
            }
            let one = tools.registers.constant(1)?;
            let to = tools.registers.free()?;
            let read = Instruction::Read {
                to,
                matrix: place,
                row: one,
                col: one,
            };
            tools.emitter.emit_of(read, origin);
            return Some(Value::Scalar(Kind::Double, to));
        }
        (Value::Cell(cell), _) => (Kind::Double, cell),
        (Value::Scalar(kind, register), _) => (kind, register),
        (Value::Nothing | Value::Matrix { .. } | Value::Text, _) => return None,
    };
    let wanted = match op {
        CastOp::AsDouble => Kind::Double,
        CastOp::AsInteger => Kind::Int,
        CastOp::AsLogical => Kind::Boolean,
        CastOp::AsMatrix | CastOp::AsScalar | CastOp::AsFrame => return None,
    };
    let register = convert(kind, wanted, from, origin, tools)?;
    Some(Value::Scalar(wanted, register))
}

/// A scalar as another type, as [`fulgurite_hop::scalar::convert`] has it.
pub(in super::super) fn convert(
    kind: Kind,
    wanted: Kind,
    from: Register,
    origin: Origin,
    tools: &mut Tools,
) -> Option<Register> {
    match (kind, wanted) {
        (_, Kind::Double) => double(kind, from, tools),
        (_, Kind::Boolean) => truth(kind, from, tools),
        // 0 and 1 are ints as they are.
        (Kind::Int | Kind::Boolean, Kind::Int) => Some(from),
        (Kind::Double, Kind::Int) => {
            let to = tools.registers.free()?;
            let instruction = Instruction::DoubleToInt { to, from };
            tools.emitter.emit_of(instruction, origin);
            Some(to)
        }
        (Kind::Undefined | Kind::Matrix(_) | Kind::Other, Kind::Int)
        | (_, Kind::Undefined | Kind::Matrix(_) | Kind::Other) => None,
    }
}
