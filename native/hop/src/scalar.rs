//! Arithmetic on scalars, with DML's typing: constant folding and the interpreter share it.
//!
//! Ints stay ints under `+ - * %% %/%`, two-argument `min`/`max` and `abs`; everything else numeric gives
//! doubles; comparisons and logic give booleans; `+` with a string concatenates and comparisons with a
//! string compare texts. Start with [`eval_scalar_binary`]; [`binary_value_type`] says the same of types
//! alone.

use std::borrow::Cow;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::java_double;

pub use crate::numbers::double_to_int;
pub use crate::ops::{floor_div, floor_mod};
use crate::{
    BinaryOp, CastOp, HopOp, Literal, TernaryOp, UnaryOp, ValueType,
    numbers::INDEX_EPSILON,
    ops::{IntResult, OfScalars},
};
pub use fulgurite_matrix::vector_math::{maximum, minimum};

/// A double as an int, as `as.integer` has it: without its fraction, NaN as 0.
///
/// # Errors
/// Runtime, for what does not fit 64 bits.
pub fn truncated(value: f64) -> Result<i64> {
    // Beyond the largest int, which as a double is rounded up to 2^63.
    const LIMIT: f64 = i64::MAX as f64;
    let whole = (value + INDEX_EPSILON.copysign(value)).trunc();
    match whole.is_nan() || (-LIMIT..LIMIT).contains(&whole) {
        true => Ok(whole as i64),
        false => Err(
            Error::runtime(format!("{} does not fit a 64-bit int", java_double(value)))
                .with_help("compute with doubles, and round with floor() or round()"),
        ),
    }
}

/// The value of a loop's bound or increment; doubles are floored.
///
/// # Errors
/// Argument, for what is NaN or infinite; validation, for strings.
pub fn loop_bound(value: &Literal) -> Result<i64> {
    let value = match value {
        Literal::Int(value) => return Ok(*value),
        other => number(other)?,
    };
    match value.is_finite() {
        true => Ok(double_to_int(value)),
        false => Err(Error::argument(format!(
            "a loop cannot count from or to {}",
            java_double(value)
        ))
        .with_help("bounds and increments of loops are finite numbers")),
    }
}

/// Whether a predicate holds: booleans, and numbers that are not 0.
///
/// # Errors
/// Validation, for strings.
pub fn truth(value: &Literal) -> Result<bool> {
    match value {
        Literal::Boolean(value) => Ok(*value),
        other => Ok(number(other)? != 0.0),
    }
}

/// The number of a scalar, booleans as 0 and 1.
///
/// # Errors
/// Validation, for strings.
pub fn number(value: &Literal) -> Result<f64> {
    value.as_f64().ok_or_else(|| {
        Error::validation(format!(
            "the string '{}' stands where a number is needed",
            shown(&value.to_string())
        ))
        .with_help("convert it with as.double() or as.integer()")
    })
}

/// The type of `left op right` on scalars.
pub fn binary_value_type(op: BinaryOp, left: ValueType, right: ValueType) -> ValueType {
    op.value_type_of(left, right)
}

/// The type of `op(operand)` on a scalar.
pub fn unary_value_type(op: UnaryOp, operand: ValueType) -> ValueType {
    op.value_type_of(operand)
}

/// `left op right`.
///
/// The result has the type that [`binary_value_type`] says, with one exception: an int `%% 0` is the
/// double NaN, as ints have none.
///
/// # Errors
/// Runtime, where an int result does not fit 64 bits (`+ - * %/%`); validation, for operators that
/// strings do not have.
pub fn eval_scalar_binary(op: BinaryOp, left: &Literal, right: &Literal) -> Result<Literal> {
    let result = match (left, right) {
        (Literal::String(_), _) | (_, Literal::String(_)) => strings(op, left, right),
        (Literal::Int(left), Literal::Int(right)) => ints(op, *left, *right),
        _ => doubles(op, left, right),
    };
    result.map_err(|error| error.in_operator(format!("b({})", op.code())))
}

/// Bytes that a string may have.
pub const MAX_STRING_BYTES: usize = 64 << 20;
/// Bytes of a string that is computed before a script runs: plans and programs hold it, in each of its statements.
const MAX_CONSTANT_BYTES: usize = 4 << 10;

/// A string that is filled, within [`MAX_STRING_BYTES`].
#[derive(Debug, Default)]
pub struct LimitedString(String);

impl LimitedString {
    /// # Errors
    /// Memory, where the string becomes too long or there is no memory for it.
    pub fn push(&mut self, text: &str) -> Result<()> {
        let bytes = self.0.len().saturating_add(text.len());
        if bytes > MAX_STRING_BYTES {
            return Err(Error::memory(format!(
                "a string of {bytes} bytes or more; strings have up to {} MB",
                MAX_STRING_BYTES >> 20
            ))
            .with_help("print, or write, its parts one after the other"));
        }
        self.0.try_reserve(text.len()).map_err(|_| {
            Error::memory(format!("there is no memory for a string of {bytes} bytes"))
        })?;
        self.0.push_str(text);
        Ok(())
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

/// Whether a value may stand in a program as a literal that nobody wrote.
pub fn is_constant_size(value: &Literal) -> bool {
    match value {
        Literal::String(text) => text.len() <= MAX_CONSTANT_BYTES,
        Literal::Double(_) | Literal::Int(_) | Literal::Boolean(_) => true,
    }
}

/// A string in a message, which need not be whole.
fn shown(text: &str) -> Cow<'_, str> {
    const MOST_CHARS: usize = 80;
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}...", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

fn text(value: &Literal) -> Cow<'_, str> {
    match value {
        Literal::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn strings(op: BinaryOp, left: &Literal, right: &Literal) -> Result<Literal> {
    let (left, right) = (text(left), text(right));
    if op.joins(ValueType::String, ValueType::String) {
        let mut joined = LimitedString::default();
        joined.push(&left)?;
        joined.push(&right)?;
        return Ok(Literal::String(joined.into_string()));
    }
    // As Java compares strings: by UTF-16 units.
    let order = left.encode_utf16().cmp(right.encode_utf16());
    match op.of_scalars() {
        OfScalars::Comparison(holds) => Ok(Literal::Boolean(holds(Some(order)))),
        OfScalars::Double | OfScalars::Number(_) | OfScalars::Boolean => {
            Err(Error::validation(format!(
                "strings can be joined and compared, but have no '{}'",
                op.code()
            ))
            .with_help("convert them with as.double() or as.integer()"))
        }
    }
}

fn ints(op: BinaryOp, left: i64, right: i64) -> Result<Literal> {
    let function = match op.of_scalars() {
        OfScalars::Number(function) => function,
        OfScalars::Comparison(holds) => return Ok(Literal::Boolean(holds(Some(left.cmp(&right))))),
        OfScalars::Double | OfScalars::Boolean => {
            return doubles(op, &Literal::Int(left), &Literal::Int(right));
        }
    };
    match function(left, right) {
        IntResult::Int(value) => Ok(Literal::Int(value)),
        IntResult::NaN => Ok(Literal::Double(f64::NAN)),
        IntResult::TooLarge => Err(Error::runtime(format!(
            "{left} {} {right} does not fit a 64-bit int",
            op.code()
        ))
        .with_help("compute with doubles: as.double()")),
        IntResult::DividedByZero => Err(Error::runtime(format!(
            "{left} {} 0 divides an int by zero",
            op.code()
        ))
        .with_help("divide doubles, which gives Inf or NaN: as.double()")),
    }
}

fn doubles(op: BinaryOp, left: &Literal, right: &Literal) -> Result<Literal> {
    let result = op.eval(number(left)?, number(right)?);
    Ok(if op.is_logical() {
        Literal::Boolean(result != 0.0)
    } else {
        Literal::Double(result)
    })
}

/// `op(operand)`.
///
/// # Errors
/// Validation, for strings; runtime, for the absolute value of the smallest int, which no int is.
pub fn eval_scalar_unary(op: UnaryOp, operand: &Literal) -> Result<Literal> {
    if let (UnaryOp::Abs, Literal::Int(value)) = (op, operand) {
        return value.checked_abs().map(Literal::Int).ok_or_else(|| {
            Error::runtime(format!("abs({value}) does not fit a 64-bit int"))
                .with_help("compute with doubles: as.double()")
                .in_operator("u(abs)")
        });
    }
    let result = number(operand)
        .map(|operand| op.eval(operand))
        .map_err(|error| error.in_operator(format!("u({})", op.code())))?;
    Ok(match op.value_type_of(operand.value_type()) {
        ValueType::Boolean => Literal::Boolean(result != 0.0),
        ValueType::Double | ValueType::Int | ValueType::String => Literal::Double(result),
    })
}

/// `op(x, y, z)`. `ifelse` keeps the type of the branch it takes.
///
/// # Errors
/// Validation, for strings where numbers are needed.
pub fn eval_scalar_ternary(
    op: TernaryOp,
    x: &Literal,
    y: &Literal,
    z: &Literal,
) -> Result<Literal> {
    let result = match op {
        TernaryOp::IfElse => truth(x).map(|holds| if holds { y.clone() } else { z.clone() }),
        TernaryOp::PlusMult | TernaryOp::MinusMult => number(x).and_then(|x| {
            let (y, z) = (number(y)?, number(z)?);
            Ok(Literal::Double(op.eval(x, y, z)))
        }),
    };
    result.map_err(|error| error.in_operator(format!("t({})", op.code())))
}

/// A cast from scalar to scalar.
///
/// # Errors
/// Validation, for a text that is not a number, and for casts that take or give no scalars.
pub fn eval_scalar_cast(op: CastOp, value: &Literal) -> Result<Literal> {
    let target = match op {
        CastOp::AsDouble => ValueType::Double,
        CastOp::AsInteger => ValueType::Int,
        CastOp::AsLogical => ValueType::Boolean,
        CastOp::AsScalar => {
            return Err(
                Error::validation("as.scalar() of a value that is a scalar already")
                    .with_help("leave the cast out"),
            );
        }
        CastOp::AsMatrix | CastOp::AsFrame => {
            return Err(Error::validation(format!(
                "{}() gives no scalar",
                op.code()
            )));
        }
    };
    convert(value, target).map_err(|error| error.in_operator(format!("u({})", op.code())))
}

/// A scalar as another type: what `as.integer` and its kin do, and what passing an argument to a typed
/// parameter does.
///
/// # Errors
/// Validation, for a text that is not a number; runtime, for a number that does not fit the type.
pub fn convert(value: &Literal, target: ValueType) -> Result<Literal> {
    Ok(match (target, value) {
        (ValueType::String, value) => Literal::String(value.to_string()),
        (ValueType::Double, Literal::String(text)) => Literal::Double(parse_double(text)?),
        (ValueType::Double, value) => Literal::Double(number(value)?),
        (ValueType::Int, Literal::Int(value)) => Literal::Int(*value),
        (ValueType::Int, Literal::String(text)) => match text.trim().parse() {
            Ok(value) => Literal::Int(value),
            Err(_) => Literal::Int(truncated(parse_double(text)?)?),
        },
        (ValueType::Int, value) => Literal::Int(truncated(number(value)?)?),
        // Only this spelling is true.
        (ValueType::Boolean, Literal::String(text)) => Literal::Boolean(text == "TRUE"),
        (ValueType::Boolean, value) => Literal::Boolean(truth(value)?),
    })
}

fn parse_double(text: &str) -> Result<f64> {
    fulgurite_matrix::parse_double(text.trim()).ok_or_else(|| not_a_number(text))
}

fn not_a_number(text: &str) -> Error {
    Error::validation(format!("the string '{}' is not a number", shown(text)))
        .with_help("numbers look like 12, -1.5, 1e-3, NaN or Infinity")
}

/// An operator on scalars, whichever kind it is; `None` for what has no value of its own.
///
/// # Errors
/// As the function of its kind.
pub fn eval_scalar(op: &HopOp, inputs: &[&Literal]) -> Option<Result<Literal>> {
    if let Some(value) = op.constant() {
        return Some(Ok(value.clone()));
    }
    Some(match (op, inputs) {
        (HopOp::Unary(op), [x]) => eval_scalar_unary(*op, x),
        (HopOp::Binary(op), [x, y]) => eval_scalar_binary(*op, x, y),
        (HopOp::Ternary(op), [x, y, z]) => eval_scalar_ternary(*op, x, y, z),
        (HopOp::Cast(CastOp::AsMatrix | CastOp::AsFrame), _) => return None,
        (HopOp::Cast(op), [x]) => eval_scalar_cast(*op, x),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use BinaryOp::*;
    use proptest::prelude::*;

    use super::*;

    fn int(value: i64) -> Literal {
        Literal::Int(value)
    }

    fn double(value: f64) -> Literal {
        Literal::Double(value)
    }

    fn text(value: &str) -> Literal {
        Literal::String(value.into())
    }

    fn show(op: BinaryOp, left: Literal, right: Literal) -> String {
        match eval_scalar_binary(op, &left, &right) {
            Ok(value) => format!("{:?} {value}", value.value_type()),
            Err(error) => format!("{} error", error.kind()),
        }
    }

    #[test]
    fn strings_are_limited() {
        let half = text(&"x".repeat(MAX_STRING_BYTES / 2));
        let whole = eval_scalar_binary(Plus, &half, &half).expect("as long as may be");
        assert!(!is_constant_size(&whole));
        let error = eval_scalar_binary(Plus, &whole, &text("y")).expect_err("too long");
        assert_eq!(error.kind(), fulgurite_error::ErrorKind::Memory);
        let error = number(&whole).expect_err("no number");
        assert!(error.message().len() < 200, "{}", error.message().len());
    }

    #[test]
    fn operators_take_texts_or_refuse_them() {
        for op in BinaryOp::ALL {
            let taken = eval_scalar_binary(*op, &text("a"), &text("b")).is_ok();
            assert_eq!(taken, op.takes_texts(), "{op:?}");
        }
    }

    #[test]
    fn ints_stay_ints_where_dml_says_so() {
        assert_eq!(show(Plus, int(i64::MAX), int(1)), "runtime error");
        assert_eq!(show(Minus, int(i64::MIN), int(1)), "runtime error");
        assert_eq!(
            show(Plus, int(i64::MAX), int(-1)),
            format!("Int {}", i64::MAX - 1)
        );
        assert_eq!(show(Mult, int(i64::MAX), int(2)), "runtime error");
        assert_eq!(show(IntDiv, int(-5), int(3)), "Int -2");
        assert_eq!(show(IntDiv, int(6), int(-3)), "Int -2");
        assert_eq!(show(IntDiv, int(1), int(0)), "runtime error");
        assert_eq!(show(IntDiv, int(i64::MIN), int(-1)), "runtime error");
        assert_eq!(show(Modulus, int(-5), int(3)), "Int 1");
        assert_eq!(show(Modulus, int(5), int(-3)), "Int -1");
        assert_eq!(show(Modulus, int(i64::MIN), int(-1)), "Int 0");
        assert_eq!(show(Modulus, int(5), int(0)), "Double NaN");
        assert_eq!(show(Max, int(3), int(4)), "Int 4");
        assert_eq!(show(Div, int(6), int(2)), "Double 3.0");
        assert_eq!(show(Pow, int(2), int(10)), "Double 1024.0");
    }

    #[test]
    fn doubles_and_booleans_give_doubles() {
        assert_eq!(show(Plus, int(1), double(2.0)), "Double 3.0");
        assert_eq!(
            show(Plus, Literal::Boolean(true), Literal::Boolean(true)),
            "Double 2.0"
        );
        assert_eq!(show(Max, Literal::Boolean(true), int(0)), "Double 1.0");
        assert_eq!(show(IntDiv, double(1.0), double(0.0)), "Double Infinity");
        assert_eq!(show(Pow, double(f64::NAN), int(0)), "Double 1.0");
        assert_eq!(show(Pow, double(-8.0), double(1.0 / 3.0)), "Double NaN");
    }

    #[test]
    fn comparisons_give_booleans_and_nan_equals_nothing() {
        assert_eq!(
            show(Equal, double(f64::NAN), double(f64::NAN)),
            "Boolean FALSE"
        );
        assert_eq!(show(NotEqual, double(f64::NAN), int(1)), "Boolean TRUE");
        assert_eq!(show(Less, int(1), double(1.5)), "Boolean TRUE");
        // Ints compare as ints: as doubles, these two are equal.
        assert_eq!(show(Less, int(i64::MAX - 1), int(i64::MAX)), "Boolean TRUE");
        assert_eq!(show(And, double(f64::NAN), int(1)), "Boolean TRUE");
    }

    #[test]
    fn strings_join_and_compare() {
        assert_eq!(show(Plus, int(3), text("a")), "String 3a");
        assert_eq!(show(Plus, text("a"), double(1.0)), "String a1.0");
        assert_eq!(
            show(Plus, text("a"), Literal::Boolean(true)),
            "String aTRUE"
        );
        assert_eq!(show(Less, text("10"), text("9")), "Boolean TRUE");
        assert_eq!(show(Equal, text("1"), int(1)), "Boolean TRUE");
        assert_eq!(show(Mult, text("a"), int(2)), "validation error");
    }

    #[test]
    fn unary_functions_give_doubles_but_for_abs_and_not() {
        let show = |op, value| {
            let result = eval_scalar_unary(op, &value).expect("a number");
            format!("{:?} {result}", result.value_type())
        };
        assert_eq!(show(UnaryOp::Abs, int(-3)), "Int 3");
        assert_eq!(show(UnaryOp::Round, int(3)), "Double 3.0");
        assert_eq!(show(UnaryOp::Sqrt, int(9)), "Double 3.0");
        assert_eq!(show(UnaryOp::Not, int(0)), "Boolean TRUE");
        assert_eq!(show(UnaryOp::Not, double(f64::NAN)), "Boolean FALSE");
    }

    #[test]
    fn ifelse_keeps_the_type_of_its_branch() {
        let choose = |condition| {
            eval_scalar_ternary(TernaryOp::IfElse, &condition, &int(1), &text("b"))
                .expect("a condition")
        };
        assert_eq!(choose(double(f64::NAN)), int(1));
        assert_eq!(choose(Literal::Boolean(false)), text("b"));
    }

    #[test]
    fn casts_truncate_and_read_texts() {
        let cast = |op, value: Literal| match eval_scalar_cast(op, &value) {
            Ok(value) => value.to_string(),
            Err(error) => error.kind().to_string(),
        };
        assert_eq!(cast(CastOp::AsInteger, double(-2.9)), "-2");
        assert_eq!(cast(CastOp::AsInteger, double(-0.3)), "0");
        assert_eq!(cast(CastOp::AsInteger, text("-3.9")), "-3");
        assert_eq!(cast(CastOp::AsInteger, double(1e300)), "runtime");
        assert_eq!(cast(CastOp::AsInteger, double(-9.3e18)), "runtime");
        assert_eq!(cast(CastOp::AsInteger, double(0.9999999999999999)), "1");
        assert_eq!(cast(CastOp::AsInteger, double(f64::NAN)), "0");
        assert_eq!(cast(CastOp::AsInteger, text(" 12 ")), "12");
        assert_eq!(cast(CastOp::AsInteger, text("1e2")), "100");
        assert_eq!(cast(CastOp::AsDouble, text("Infinity")), "Infinity");
        assert_eq!(cast(CastOp::AsDouble, text("inf")), "validation");
        assert_eq!(cast(CastOp::AsDouble, text("one")), "validation");
        assert_eq!(cast(CastOp::AsLogical, text("true")), "FALSE");
        assert_eq!(cast(CastOp::AsLogical, text("TRUE")), "TRUE");
        assert_eq!(cast(CastOp::AsLogical, double(f64::NAN)), "TRUE");
        assert_eq!(cast(CastOp::AsScalar, int(1)), "validation");
    }

    fn any_literal() -> impl Strategy<Value = Literal> {
        prop_oneof![
            any::<f64>().prop_map(Literal::Double),
            (-9i64..9).prop_map(Literal::Int),
            any::<i64>().prop_map(Literal::Int),
            any::<bool>().prop_map(Literal::Boolean),
            "[a-z0-9]{0,3}".prop_map(Literal::String),
        ]
    }

    proptest! {
        /// What static typing says is what evaluation gives.
        #[test]
        fn types_agree_with_values(
            op in prop::sample::select(BinaryOp::ALL), left in any_literal(), right in any_literal()
        ) {
            let is_int_modulo_zero = op == Modulus && right == Literal::Int(0);
            if let Ok(value) = eval_scalar_binary(op, &left, &right)
                && !is_int_modulo_zero
            {
                prop_assert_eq!(
                    value.value_type(),
                    binary_value_type(op, left.value_type(), right.value_type())
                );
            }
        }

        /// On small ints, int arithmetic is what doubles give.
        #[test]
        fn ints_agree_with_doubles(
            op in prop::sample::select(BinaryOp::ALL), left in -50i64..50, right in -50i64..50
        ) {
            if let Ok(value) = eval_scalar_binary(op, &int(left), &int(right)) {
                let expected = op.eval(left as f64, right as f64);
                let value = number(&value).expect("no string comes of numbers");
                prop_assert!(value == expected || (value.is_nan() && expected.is_nan()));
            }
        }
    }
}
