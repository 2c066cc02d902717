//! Values of Java, and its operators on them.

use std::{borrow::Cow, cmp::Ordering, rc::Rc, sync::Arc};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::java_double;

/// A value while a function runs.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    /// A unit of UTF-16.
    Char(u16),
    Int(i32),
    Long(i64),
    Double(f64),
    Text(Arc<str>),
    Texts(Rc<[Value]>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitAnd,
    BitOr,
    BitXor,
    /// These two look at their right side only when they need it.
    And,
    Or,
}

impl Value {
    pub(super) fn text(text: impl Into<Arc<str>>) -> Self {
        Value::Text(text.into())
    }

    /// What messages call its type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "a boolean",
            Value::Char(_) => "a char",
            Value::Int(_) => "an int",
            Value::Long(_) => "a long",
            Value::Double(_) => "a double",
            Value::Text(_) => "a String",
            Value::Texts(_) => "a String[]",
        }
    }

    /// As `String.valueOf` gives it.
    pub(super) fn shown(&self) -> Result<Cow<'_, str>> {
        Ok(match self {
            Value::Null => Cow::Borrowed("null"),
            Value::Boolean(true) => Cow::Borrowed("true"),
            Value::Boolean(false) => Cow::Borrowed("false"),
            Value::Char(unit) => Cow::Owned(String::from_utf16_lossy(&[*unit])),
            Value::Int(value) => Cow::Owned(value.to_string()),
            Value::Long(value) => Cow::Owned(value.to_string()),
            Value::Double(value) => Cow::Owned(java_double(*value)),
            Value::Text(text) => Cow::Borrowed(text),
            Value::Texts(_) => {
                return Err(
                    Error::data("an array is no text").with_help("take one of its elements")
                );
            }
        })
    }

    pub(super) fn as_double(&self) -> Option<f64> {
        Some(match self {
            Value::Double(value) => *value,
            Value::Long(value) => *value as f64,
            other => f64::from(other.as_int()?),
        })
    }

    pub(super) fn as_long(&self) -> Option<i64> {
        match self {
            Value::Long(value) => Some(*value),
            other => other.as_int().map(i64::from),
        }
    }

    pub(super) fn as_int(&self) -> Option<i32> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Char(unit) => Some(i32::from(*unit)),
            _ => None,
        }
    }

    /// As `equals` of Java: values of one type.
    pub(super) fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::Char(a), Value::Char(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Long(a), Value::Long(b)) => a == b,
            (Value::Double(a), Value::Double(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Value::Text(a), Value::Text(b)) => a == b,
            _ => false,
        }
    }
}

/// Whole numbers of Java wrap; a division by zero of them is an error.
macro_rules! whole {
    ($op:ident, $left:ident, $right:ident, $value:path) => {{
        let zero = || Error::data("a whole number is divided by zero");
        match $op {
            Operator::Add => $value($left.wrapping_add($right)),
            Operator::Subtract => $value($left.wrapping_sub($right)),
            Operator::Multiply => $value($left.wrapping_mul($right)),
            Operator::Divide if $right == 0 => return Err(zero()),
            Operator::Remainder if $right == 0 => return Err(zero()),
            Operator::Divide => $value($left.wrapping_div($right)),
            Operator::Remainder => $value($left.wrapping_rem($right)),
            // The low bits of the count, as in Java.
            Operator::ShiftLeft => $value($left.wrapping_shl($right as u32)),
            Operator::ShiftRight => $value($left.wrapping_shr($right as u32)),
            Operator::BitAnd => $value($left & $right),
            Operator::BitOr => $value($left | $right),
            Operator::BitXor => $value($left ^ $right),
            _ => Value::Boolean(compared($op, $left.partial_cmp(&$right))),
        }
    }};
}

fn compared(op: Operator, order: Option<Ordering>) -> bool {
    match op {
        Operator::Equal => order == Some(Ordering::Equal),
        Operator::NotEqual => order != Some(Ordering::Equal),
        Operator::Less => order == Some(Ordering::Less),
        Operator::LessEqual => order.is_some_and(Ordering::is_le),
        Operator::Greater => order == Some(Ordering::Greater),
        Operator::GreaterEqual => order.is_some_and(Ordering::is_ge),
        _ => false,
    }
}

/// The value of an operator that looks at both of its sides.
pub(super) fn operate(op: Operator, left: &Value, right: &Value) -> Result<Value> {
    if let (Operator::Add, true) = (op, is_text(left) || is_text(right)) {
        let (left, right) = (left.shown()?, right.shown()?);
        return Ok(Value::text(format!("{left}{right}")));
    }
    let equality = matches!(op, Operator::Equal | Operator::NotEqual);
    if equality && (matches!(left, Value::Null) || matches!(right, Value::Null)) {
        let both = matches!((left, right), (Value::Null, Value::Null));
        return Ok(Value::Boolean(both == (op == Operator::Equal)));
    }
    if let (Value::Boolean(a), Value::Boolean(b)) = (left, right) {
        return match op {
            Operator::BitAnd | Operator::And => Ok(Value::Boolean(*a && *b)),
            Operator::BitOr | Operator::Or => Ok(Value::Boolean(*a || *b)),
            Operator::BitXor | Operator::NotEqual => Ok(Value::Boolean(a != b)),
            Operator::Equal => Ok(Value::Boolean(a == b)),
            _ => Err(refused(op, left, right)),
        };
    }
    if equality && is_text(left) && is_text(right) {
        return Err(Error::unsupported(
            "'==' of two texts, which asks whether they are one object",
        )
        .with_help("x.equals(y) compares texts"));
    }
    if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
        return Ok(whole!(op, left, right, Value::Int));
    }
    let shift = matches!(op, Operator::ShiftLeft | Operator::ShiftRight);
    if let (Some(left), Some(right)) = (left.as_long(), right.as_long()) {
        return Ok(whole!(op, left, right, Value::Long));
    }
    match (left.as_double(), right.as_double()) {
        (Some(left), Some(right)) if !shift => Ok(match op {
            Operator::Add => Value::Double(left + right),
            Operator::Subtract => Value::Double(left - right),
            Operator::Multiply => Value::Double(left * right),
            Operator::Divide => Value::Double(left / right),
            Operator::Remainder => Value::Double(left % right),
            Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessEqual
            | Operator::Greater
            | Operator::GreaterEqual => Value::Boolean(compared(op, left.partial_cmp(&right))),
            _ => {
                return Err(refused(op, &Value::Double(left), &Value::Double(right)));
            }
        }),
        _ => Err(refused(op, left, right)),
    }
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::Text(_))
}

fn refused(op: Operator, left: &Value, right: &Value) -> Error {
    Error::data(format!(
        "{op:?} of {} and {}: Java has no such operator",
        left.kind(),
        right.kind()
    ))
}
