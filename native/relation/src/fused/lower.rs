//! Expressions of numbers as operators on columns, with exactly the meaning that the kernels of `engine` give them.
//!
//! A column is two matrices: its values, and where they are there. Whole numbers are doubles as long as all that can come
//! about is exact ([`Span`]). A function that has no such form gives none here: kernels compute it, and its column is an input.

use fulgurite_error::Result;
use fulgurite_lazy::Input;

use super::algebra::{binary, if_else, unary};
use crate::numbers::{EXACT, NumericColumn, Span};

/// A column, or one value for all rows.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    pub values: Input,
    /// 1 where a value is there; none where all are.
    pub valid: Option<Input>,
    pub span: Span,
}

impl Number {
    pub fn of_column(column: NumericColumn) -> Self {
        Number {
            values: column.values.into(),
            valid: column.valid.map(Input::from),
            span: column.span,
        }
    }

    pub fn of_value(value: f64) -> Self {
        Number {
            values: value.into(),
            valid: None,
            span: Span::of(value),
        }
    }

    fn truth(values: Input, valid: Option<Input>) -> Self {
        Number {
            values,
            valid,
            span: Span::TRUTH,
        }
    }

    fn literal(&self) -> Option<f64> {
        match &self.values {
            Input::Literal(literal) => literal.as_f64(),
            Input::Expression(_) => None,
        }
    }
}

/// Where all of them are there.
pub(crate) fn all_valid<'a>(
    numbers: impl IntoIterator<Item = &'a Option<Input>>,
) -> Result<Option<Input>> {
    let mut valid = numbers.into_iter().flatten();
    let Some(first) = valid.next().cloned() else {
        return Ok(None);
    };
    valid
        .try_fold(first, |all, more| binary("*", &all, more))
        .map(Some)
}

/// `1 - x`, of truth values.
pub(crate) fn negated(truth: &Input) -> Result<Input> {
    unary("!", truth)
}

/// Arithmetic of doubles, or of whole numbers whose results are exact.
fn arithmetic(code: &str, args: &[Number], span: Span) -> Result<Option<Number>> {
    let [left, right] = args else { return Ok(None) };
    // Rewrites move such factors out of sums, which NaN and infinities do not survive.
    let is_special = |number: &Number| number.literal().is_some_and(|value| !value.is_finite());
    let by_zero = code == "/" && right.literal() == Some(0.0);
    if by_zero || is_special(left) || is_special(right) {
        return Ok(None);
    }
    Ok(Some(Number {
        values: binary(code, &left.values, &right.values)?,
        valid: all_valid([&left.valid, &right.valid])?,
        span,
    }))
}

/// The function of this name in plans, of these arguments; none where columns of doubles do not have it exactly. `are_whole` says
/// that arguments are whole numbers: whether a whole result fits its type is the caller's to see.
pub(crate) fn call(name: &str, args: &[Number], are_whole: bool) -> Result<Option<Number>> {
    match (name, args) {
        ("add", [a, b]) => arithmetic("+", args, sum(a.span, b.span)),
        ("sub", [a, b]) => arithmetic("-", args, sum(a.span, opposite(b.span))),
        ("mul", [a, b]) => arithmetic("*", args, product(a.span, b.span)),
        ("div", [a, b]) if a.span.is_exact() || !are_whole => {
            let exact = !are_whole || b.span.is_exact();
            match exact {
                true => arithmetic("/", args, Span::ANY),
                false => Ok(None),
            }
        }
        ("floordiv" | "mod", [a, b]) if are_whole => whole_division(name, a, b),
        ("neg", [a]) => Ok(Some(Number {
            values: binary("*", &a.values, &Input::from(-1.0))?,
            valid: a.valid.clone(),
            span: opposite(a.span),
        })),
        ("abs", [a]) => Ok(Some(Number {
            values: unary("abs", &a.values)?,
            valid: a.valid.clone(),
            span: Span {
                least: 0.0,
                most: a.span.magnitude(),
                has_nan: a.span.has_nan,
            },
        })),
        ("eq" | "ne" | "lt" | "le" | "gt" | "ge", [a, b]) => comparison(name, a, b).map(Some),
        ("and", [a, b]) => conjunction(a, b).map(Some),
        ("or", [a, b]) => {
            let neither = conjunction(&complement(a)?, &complement(b)?)?;
            complement(&neither).map(Some)
        }
        ("xor", [a, b]) => Ok(Some(Number::truth(
            binary("!=", &a.values, &b.values)?,
            all_valid([&a.valid, &b.valid])?,
        ))),
        ("not", [a]) => complement(a).map(Some),
        ("if_else", [condition, yes, no]) => choice(condition, yes, no).map(Some),
        ("is_null", [a]) => Ok(Some(match &a.valid {
            Some(valid) => Number::truth(negated(valid)?, None),
            None => Number::of_value(0.0),
        })),
        ("is_not_null", [a]) => Ok(Some(match &a.valid {
            Some(valid) => Number::truth(valid.clone(), None),
            None => Number::of_value(1.0),
        })),
        ("is_nan" | "is_not_nan", [a]) => {
            let code = if name == "is_nan" { "!=" } else { "==" };
            let values = binary(code, &a.values, &a.values)?;
            Ok(Some(Number::truth(values, a.valid.clone())))
        }
        ("fill_null" | "coalesce", [a, b]) => Ok(Some(match &a.valid {
            None => a.clone(),
            Some(valid) => Number {
                values: if_else(valid, &a.values, &b.values)?,
                valid: match &b.valid {
                    None => None,
                    Some(other) => Some(binary("max", valid, other)?),
                },
                span: a.span.union(b.span),
            },
        })),
        ("fill_nan", [a, b]) if b.valid.is_none() => {
            let is_number = binary("==", &a.values, &a.values)?;
            Ok(Some(Number {
                values: if_else(&is_number, &a.values, &b.values)?,
                valid: a.valid.clone(),
                span: Span {
                    has_nan: b.span.has_nan,
                    ..a.span.union(b.span)
                },
            }))
        }
        (
            "sqrt" | "exp" | "log" | "log1p" | "expm1" | "log2" | "log10" | "sin" | "cos" | "tan"
            | "sinh" | "cosh" | "tanh" | "arcsin" | "arccos" | "arctan",
            [a],
        ) if !are_whole || a.span.is_exact() => {
            let code = match name {
                "arcsin" => "asin",
                "arccos" => "acos",
                "arctan" => "atan",
                other => other,
            };
            Ok(Some(Number {
                values: unary(code, &a.values)?,
                valid: a.valid.clone(),
                span: Span::ANY,
            }))
        }
        ("floor" | "ceil", [a]) => Ok(Some(Number {
            values: unary(name, &a.values)?,
            valid: a.valid.clone(),
            span: Span {
                least: a.span.least.floor(),
                most: a.span.most.ceil(),
                ..a.span
            },
        })),
        _ => Ok(None),
    }
}

/// With 0 in the place of -0.
pub(crate) fn without_negative_zero(number: &Number) -> Result<Number> {
    let zero = Input::from(0.0);
    let is_zero = binary("==", &number.values, &zero)?;
    Ok(Number {
        values: if_else(&is_zero, &zero, &number.values)?,
        ..number.clone()
    })
}

/// Floored division of whole numbers below 2^53 is exact in doubles: the quotient is rounded to a whole number only where it is
/// one. By zero it is missing.
fn whole_division(name: &str, a: &Number, b: &Number) -> Result<Option<Number>> {
    if !(a.span.is_exact() && b.span.is_exact()) {
        return Ok(None);
    }
    let quotient = unary("floor", &binary("/", &a.values, &b.values)?)?;
    let has_zero = b.span.least <= 0.0 && b.span.most >= 0.0;
    let defined = match has_zero {
        true => Some(binary("!=", &b.values, &Input::from(0.0))?),
        false => None,
    };
    let (values, span) = match name {
        "floordiv" => (
            quotient,
            Span {
                has_nan: has_zero,
                least: -a.span.magnitude(),
                most: a.span.magnitude(),
            },
        ),
        _ => {
            let whole = binary("*", &quotient, &b.values)?;
            let most = b.span.magnitude();
            (
                binary("-", &a.values, &whole)?,
                Span {
                    has_nan: has_zero,
                    least: -most,
                    most,
                },
            )
        }
    };
    // What is missing counts as 0: NaN would spread.
    let values = match &defined {
        Some(defined) => if_else(defined, &values, &Input::from(0.0))?,
        None => values,
    };
    Ok(Some(Number {
        values,
        valid: all_valid([&a.valid, &b.valid, &defined])?,
        span: Span {
            has_nan: false,
            ..span
        },
    }))
}

/// NaN equals NaN and is larger than all other numbers.
fn comparison(name: &str, a: &Number, b: &Number) -> Result<Number> {
    // The comparison, and the one that holds where it does not, of numbers.
    let (code, opposite) = match name {
        "eq" => ("==", "!="),
        "ne" => ("!=", "=="),
        "lt" => ("<", ">="),
        "le" => ("<=", ">"),
        "gt" => (">", "<="),
        _ => (">=", "<"),
    };
    let plain = binary(code, &a.values, &b.values)?;
    let is_nan = |number: &Number| binary("!=", &number.values, &number.values);
    let values = match (a.span.has_nan, b.span.has_nan, name) {
        (false, false, _) => plain,
        // One of them is a number. NaN is larger, and each comparison with it is false by itself.
        (true, false, "gt" | "ge") | (false, true, "lt" | "le") => {
            negated(&binary(opposite, &a.values, &b.values)?)?
        }
        (true, false, _) | (false, true, _) => plain,
        // Both, or neither of them is NaN.
        (_, _, "eq") => binary("|", &plain, &binary("&", &is_nan(a)?, &is_nan(b)?)?)?,
        (_, _, "ne") => binary(
            "&",
            &plain,
            &negated(&binary("&", &is_nan(a)?, &is_nan(b)?)?)?,
        )?,
        // a < b: also where b alone is NaN.
        (_, _, "lt") => binary(
            "|",
            &plain,
            &binary("&", &is_nan(b)?, &negated(&is_nan(a)?)?)?,
        )?,
        (_, _, "gt") => binary(
            "|",
            &plain,
            &binary("&", &is_nan(a)?, &negated(&is_nan(b)?)?)?,
        )?,
        (_, _, "le") => binary("|", &plain, &is_nan(b)?)?,
        (_, _, _) => binary("|", &plain, &is_nan(a)?)?,
    };
    Ok(Number::truth(values, all_valid([&a.valid, &b.valid])?))
}

fn complement(a: &Number) -> Result<Number> {
    Ok(Number::truth(negated(&a.values)?, a.valid.clone()))
}

/// False where one side is false, even if the other one is missing.
fn conjunction(a: &Number, b: &Number) -> Result<Number> {
    let values = binary("&", &a.values, &b.values)?;
    let valid = match (&a.valid, &b.valid) {
        (None, None) => None,
        (left, right) => {
            let mut known = all_valid([left, right])?;
            for (number, valid) in [(a, left), (b, right)] {
                let is_false = negated(&number.values)?;
                let is_false = match valid {
                    Some(valid) => binary("&", &is_false, valid)?,
                    None => is_false,
                };
                known = Some(match known {
                    Some(known) => binary("|", &known, &is_false)?,
                    None => is_false,
                });
            }
            known
        }
    };
    // Missing values are 0 by themselves: where one side is missing, so is the product of truths.
    Ok(Number::truth(values, valid))
}

fn choice(condition: &Number, yes: &Number, no: &Number) -> Result<Number> {
    let taken = match &condition.valid {
        Some(valid) => binary("&", &condition.values, valid)?,
        None => condition.values.clone(),
    };
    if let Some(value) = condition.literal().filter(|_| condition.valid.is_none()) {
        return Ok(if value != 0.0 {
            yes.clone()
        } else {
            no.clone()
        });
    }
    let one = Input::from(1.0);
    let valid = match (&yes.valid, &no.valid) {
        (None, None) => None,
        (left, right) => {
            let left = left.as_ref().unwrap_or(&one);
            let right = right.as_ref().unwrap_or(&one);
            Some(if_else(&taken, left, right)?)
        }
    };
    Ok(Number {
        values: if_else(&taken, &yes.values, &no.values)?,
        valid,
        span: yes.span.union(no.span),
    })
}

fn sum(a: Span, b: Span) -> Span {
    Span {
        least: a.least + b.least,
        most: a.most + b.most,
        has_nan: a.has_nan
            || b.has_nan
            || a.magnitude().is_infinite()
            || b.magnitude().is_infinite(),
    }
}

fn opposite(a: Span) -> Span {
    Span {
        least: -a.most,
        most: -a.least,
        ..a
    }
}

fn product(a: Span, b: Span) -> Span {
    let corners = [
        a.least * b.least,
        a.least * b.most,
        a.most * b.least,
        a.most * b.most,
    ];
    let finite = corners.iter().all(|corner| corner.is_finite());
    match finite {
        true => Span {
            has_nan: a.has_nan || b.has_nan,
            ..corners
                .into_iter()
                .map(Span::of)
                .fold(Span::of(corners[0]), Span::union)
        },
        false => Span::ANY,
    }
}

/// Whether sums of so many numbers of a span are exact, and within a bound.
pub(crate) fn sums_exactly(span: Span, rows: usize, most: f64) -> bool {
    rows == 0 || span.magnitude() * rows as f64 <= EXACT.min(most)
}
