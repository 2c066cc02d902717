//! Methods and static functions of Java.

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{java_double, memory, parse_double};

use super::{
    names::{Method, Static},
    pattern::{Patterns, Replacement, split},
    stem::stem,
    value::{Operator, Value, operate},
    words::{jaccard, word_error_rate},
};
use crate::{
    column::boolean,
    compare::{java_hash, java_order},
    types::SEPARATOR,
};

/// Bytes of a text that a function may make of a cell.
const LONGEST_TEXT: usize = 64 << 20;

/// A method of a value.
pub(super) fn method(
    method: Method,
    of: &Value,
    arguments: &[Value],
    patterns: &Patterns,
) -> Result<Value> {
    let lacks = || Error::data(format!("{} has no method '{}'", of.kind(), method.name()));
    match (method, of) {
        (_, Value::Null) => return Err(lacks()),
        (Method::Equals, _) => return Ok(Value::Boolean(of.equals(&arguments[0]))),
        (Method::ToString, Value::Text(_)) => return Ok(of.clone()),
        (Method::ToString, _) => return Ok(Value::text(&*of.shown()?)),
        (Method::IntValue, _) => return cast_int(of).ok_or_else(lacks),
        (Method::LongValue, _) => return cast_long(of).ok_or_else(lacks),
        (Method::DoubleValue, _) => {
            return of.as_double().map(Value::Double).ok_or_else(lacks);
        }
        (Method::BooleanValue, Value::Boolean(_)) => return Ok(of.clone()),
        _ => {}
    }
    let Value::Text(text) = of else {
        return Err(lacks());
    };
    let argument = |at: usize| text_of(method.name(), arguments, at);
    let whole = |at: usize| whole_of(method.name(), arguments, at);
    Ok(match method {
        Method::BooleanValue
        | Method::DoubleValue
        | Method::Equals
        | Method::IntValue
        | Method::LongValue
        | Method::ToString => return Err(lacks()),
        Method::CharAt => {
            let at = whole(0)?;
            let unit = usize::try_from(at).ok().and_then(|at| unit_at(text, at));
            Value::Char(unit.ok_or_else(|| beyond(at, text))?)
        }
        Method::CompareTo => Value::Int(java_distance(text, argument(0)?)),
        Method::CompareToIgnoreCase => Value::Int(java_distance(
            &text.to_lowercase(),
            &argument(0)?.to_lowercase(),
        )),
        Method::Concat => Value::text(format!("{text}{}", argument(0)?)),
        Method::Contains => Value::Boolean(text.contains(argument(0)?)),
        Method::EndsWith => Value::Boolean(text.ends_with(argument(0)?)),
        Method::EqualsIgnoreCase => Value::Boolean(match &arguments[0] {
            Value::Text(other) => text.to_lowercase() == other.to_lowercase(),
            _ => false,
        }),
        Method::HashCode => Value::Int(java_hash(text)),
        Method::IndexOf => {
            let from = if arguments.len() > 1 { whole(1)? } else { 0 };
            let from = units_len(text).min(usize::try_from(from).unwrap_or(0));
            let begin = byte_of(text, from).unwrap_or(text.len());
            let found = text[begin..].find(&*needle(method.name(), arguments)?);
            Value::Int(found.map_or(-1, |at| units_len(&text[..begin + at]) as i32))
        }
        Method::LastIndexOf => {
            let found = text.rfind(&*needle(method.name(), arguments)?);
            Value::Int(found.map_or(-1, |at| units_len(&text[..at]) as i32))
        }
        Method::IsBlank => Value::Boolean(text.trim().is_empty()),
        Method::IsEmpty => Value::Boolean(text.is_empty()),
        Method::Length => Value::Int(units_len(text) as i32),
        Method::Matches => Value::Boolean(patterns.get(argument(0)?)?.whole.is_match(text)),
        Method::Repeat => {
            let times = whole(0)?;
            let times = usize::try_from(times)
                .map_err(|_| Error::data(format!("a text is repeated {times} times")))?;
            let bytes = text.len().saturating_mul(times);
            if bytes > LONGEST_TEXT {
                return Err(Error::runtime(format!(
                    "a text of {bytes} bytes; the most is {LONGEST_TEXT}"
                )));
            }
            let mut repeated = memory::room::<u8>(bytes)?;
            for _ in 0..times {
                repeated.extend_from_slice(text.as_bytes());
            }
            let repeated = String::from_utf8(repeated)
                .map_err(|_| Error::internal("a repeated text is none"))?;
            Value::text(repeated)
        }
        Method::Replace => match (&arguments[0], &arguments[1]) {
            (Value::Text(from), Value::Text(to)) => replaced(text, from, to)?,
            (Value::Char(_), Value::Char(_)) => {
                let (from, to) = (arguments[0].shown()?, arguments[1].shown()?);
                replaced(text, &from, &to)?
            }
            (from, to) => {
                return Err(Error::data(format!(
                    "'replace' takes two texts or two chars, not {} and {}",
                    from.kind(),
                    to.kind()
                )));
            }
        },
        Method::ReplaceAll | Method::ReplaceFirst => {
            let pattern = patterns.get(argument(0)?)?;
            let replacement = Replacement::parse(argument(1)?, &pattern.anywhere)?;
            let limit = usize::from(method == Method::ReplaceFirst);
            let longer = argument(1)?
                .len()
                .saturating_mul(text.len().saturating_add(1));
            if longer > LONG {
                memory::admit(longer)?;
            }
            Value::text(&*pattern.anywhere.replacen(text, limit, &replacement))
        }
        Method::Split => {
            let limit = if arguments.len() > 1 { whole(1)? } else { 0 };
            let pattern = patterns.get(argument(0)?)?;
            let pieces = split(text, &pattern.anywhere, limit);
            Value::Texts(pieces.into_iter().map(Value::text).collect())
        }
        Method::StartsWith => {
            let from = if arguments.len() > 1 { whole(1)? } else { 0 };
            let begin = usize::try_from(from).ok().and_then(|at| byte_of(text, at));
            Value::Boolean(
                begin.is_some_and(|at| text[at..].starts_with(argument(0).unwrap_or(""))),
            )
        }
        Method::Strip => Value::text(text.trim()),
        Method::StripLeading => Value::text(text.trim_start()),
        Method::StripTrailing => Value::text(text.trim_end()),
        Method::Substring => {
            let len = units_len(text);
            let begin = whole(0)?;
            let end = if arguments.len() > 1 {
                whole(1)?
            } else {
                len as i32
            };
            let range = usize::try_from(begin).ok().zip(usize::try_from(end).ok());
            let range = range.filter(|(begin, end)| begin <= end && *end <= len);
            let (from, to) = range.ok_or_else(|| {
                Error::data(format!(
                    "characters {begin} to {end} are not within the {len} of '{}'",
                    shortened(text)
                ))
            })?;
            match (byte_of(text, from), byte_of(text, to)) {
                (Some(from), Some(to)) => Value::text(&text[from..to]),
                // Within a character of two units.
                _ => {
                    let units: Vec<u16> = text.encode_utf16().skip(from).take(to - from).collect();
                    Value::text(String::from_utf16_lossy(&units))
                }
            }
        }
        Method::ToLowerCase => Value::text(text.to_lowercase()),
        Method::ToUpperCase => Value::text(text.to_uppercase()),
        // Java's trim drops all up to the space.
        Method::Trim => Value::text(text.trim_matches(|letter| letter <= ' ')),
    })
}

/// From here on the length of a replaced text is asked for.
const LONG: usize = 1 << 20;

fn replaced(text: &str, from: &str, to: &str) -> Result<Value> {
    let longer = to.len().saturating_mul(text.len().saturating_add(1));
    if longer > LONG {
        memory::admit(longer)?;
    }
    Ok(Value::text(text.replace(from, to)))
}

fn text_of<'a>(name: &str, arguments: &'a [Value], at: usize) -> Result<&'a str> {
    match &arguments[at] {
        Value::Text(text) => Ok(text),
        other => Err(Error::data(format!(
            "argument {} of '{name}' is a text, not {}",
            at + 1,
            other.kind()
        ))),
    }
}

fn whole_of(name: &str, arguments: &[Value], at: usize) -> Result<i32> {
    arguments[at].as_int().ok_or_else(|| {
        Error::data(format!(
            "argument {} of '{name}' is an int, not {}",
            at + 1,
            arguments[at].kind()
        ))
    })
}

/// What is looked for: a text or a char.
fn needle(name: &str, arguments: &[Value]) -> Result<String> {
    match &arguments[0] {
        Value::Text(text) => Ok(text.to_string()),
        Value::Char(_) => Ok(arguments[0].shown()?.into_owned()),
        other => Err(Error::data(format!("'{name}' of {}", other.kind()))),
    }
}

fn units_len(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.encode_utf16().count(),
    }
}

/// The byte at which this unit begins, if it begins a character or is the end.
fn byte_of(text: &str, unit: usize) -> Option<usize> {
    if text.is_ascii() {
        return (unit <= text.len()).then_some(unit);
    }
    let mut units = 0;
    for (at, letter) in text.char_indices() {
        if units >= unit {
            return (units == unit).then_some(at);
        }
        units += letter.len_utf16();
    }
    (units == unit).then_some(text.len())
}

fn unit_at(text: &str, at: usize) -> Option<u16> {
    match text.is_ascii() {
        true => text.as_bytes().get(at).map(|byte| u16::from(*byte)),
        false => text.encode_utf16().nth(at),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

fn beyond(at: i32, text: &str) -> Error {
    Error::data(format!(
        "character {at} is not within the {} of '{}'",
        units_len(text),
        shortened(text)
    ))
}

/// The difference of the first units that differ, or of the lengths.
fn java_distance(left: &str, right: &str) -> i32 {
    if java_order(left, right).is_eq() {
        return 0;
    }
    let differ = left
        .encode_utf16()
        .zip(right.encode_utf16())
        .find(|(left, right)| left != right);
    match differ {
        Some((left, right)) => i32::from(left) - i32::from(right),
        None => units_len(left) as i32 - units_len(right) as i32,
    }
}

fn cast_int(value: &Value) -> Option<Value> {
    match value {
        // Both saturate, as casts of Java do.
        Value::Double(value) => Some(Value::Int(*value as i32)),
        other => other.as_long().map(|value| Value::Int(value as i32)),
    }
}

fn cast_long(value: &Value) -> Option<Value> {
    match value {
        Value::Double(value) => Some(Value::Long(*value as i64)),
        other => other.as_long().map(Value::Long),
    }
}

/// A cast to a type of this name.
pub(super) fn cast(to: super::parse::Cast, value: &Value) -> Result<Value> {
    use super::parse::Cast;
    let cast = match to {
        Cast::Int => cast_int(value),
        Cast::Long => cast_long(value),
        Cast::Double => value.as_double().map(Value::Double),
        Cast::Char => cast_int(value)
            .and_then(|value| value.as_int())
            .map(|value| Value::Char(value as u16)),
        Cast::Text => matches!(value, Value::Text(_) | Value::Null).then(|| value.clone()),
    };
    cast.ok_or_else(|| Error::data(format!("{} can't be cast to {to:?}", value.kind())))
}

/// A static function.
pub(super) fn function(function: Static, arguments: &[Value]) -> Result<Value> {
    let name = function.name();
    let text = |at: usize| text_of(name, arguments, at);
    let whole = |at: usize| whole_of(name, arguments, at);
    let double = |at: usize| {
        arguments[at].as_double().ok_or_else(|| {
            Error::data(format!(
                "argument {} of '{name}' is a number, not {}",
                at + 1,
                arguments[at].kind()
            ))
        })
    };
    let letter = || match arguments[0] {
        Value::Char(unit) => {
            let letter = char::decode_utf16([unit])
                .next()
                .and_then(|letter| letter.ok());
            Ok(letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        }
        ref other => Err(Error::data(format!(
            "'{name}' takes a char, not {}",
            other.kind()
        ))),
    };
    let not_a = |text: &str, kind: &str| Error::data(format!("'{}' is no {kind}", shortened(text)));
    let shown = || Ok(Value::text(&*arguments[0].shown()?));
    let ordered = |order: std::cmp::Ordering| Ok(Value::Int(order as i32));
    match function {
        Static::ArraysToString => match &arguments[0] {
            Value::Texts(texts) => {
                let texts: Vec<_> = texts.iter().map(Value::shown).collect::<Result<_>>()?;
                Ok(Value::text(format!("[{}]", texts.join(", "))))
            }
            other => Err(Error::data(format!(
                "'{name}' takes an array, not {}",
                other.kind()
            ))),
        },
        Static::BooleanParse => {
            let is_true =
                matches!(&arguments[0], Value::Text(text) if text.eq_ignore_ascii_case("true"));
            Ok(Value::Boolean(is_true))
        }
        Static::BooleanValueOf => match &arguments[0] {
            Value::Boolean(_) => Ok(arguments[0].clone()),
            _ => Ok(Value::Boolean(text(0)?.eq_ignore_ascii_case("true"))),
        },
        Static::BooleanToString | Static::CharacterToString | Static::StringValueOf => shown(),
        Static::CharacterIsDigit => Ok(Value::Boolean(letter()?.is_ascii_digit())),
        Static::CharacterIsLetter => Ok(Value::Boolean(letter()?.is_alphabetic())),
        Static::CharacterIsLetterOrDigit => Ok(Value::Boolean(letter()?.is_alphanumeric())),
        Static::CharacterIsLowerCase => Ok(Value::Boolean(letter()?.is_lowercase())),
        Static::CharacterIsUpperCase => Ok(Value::Boolean(letter()?.is_uppercase())),
        Static::CharacterIsWhitespace => Ok(Value::Boolean(letter()?.is_whitespace())),
        Static::CharacterToLowerCase => one_unit(letter()?, letter()?.to_lowercase()),
        Static::CharacterToUpperCase => one_unit(letter()?, letter()?.to_uppercase()),
        Static::DoubleCompare => ordered(compare_doubles(double(0)?, double(1)?)),
        Static::DoubleIsNaN => Ok(Value::Boolean(double(0)?.is_nan())),
        Static::DoubleParse => Ok(Value::Double(parse_number(text(0)?)?)),
        Static::DoubleToString => Ok(Value::text(java_double(double(0)?))),
        Static::DoubleValueOf => match &arguments[0] {
            Value::Text(text) => Ok(Value::Double(parse_number(text)?)),
            _ => Ok(Value::Double(double(0)?)),
        },
        Static::IntegerCompare | Static::LongCompare => {
            match (arguments[0].as_long(), arguments[1].as_long()) {
                (Some(left), Some(right)) => ordered(left.cmp(&right)),
                _ => Err(Error::data(format!("'{name}' takes two whole numbers"))),
            }
        }
        Static::IntegerParse => {
            let text = text(0)?;
            let value = text.parse::<i32>().map_err(|_| not_a(text, "int"))?;
            Ok(Value::Int(value))
        }
        Static::IntegerValueOf => match &arguments[0] {
            Value::Text(text) => {
                let value = text.parse::<i32>().map_err(|_| not_a(text, "int"))?;
                Ok(Value::Int(value))
            }
            _ => Ok(Value::Int(whole(0)?)),
        },
        Static::IntegerToString => Ok(Value::text(whole(0)?.to_string())),
        Static::LongParse => {
            let text = text(0)?;
            let value = text.parse::<i64>().map_err(|_| not_a(text, "long"))?;
            Ok(Value::Long(value))
        }
        Static::LongValueOf | Static::LongToString => {
            let value = match &arguments[0] {
                Value::Text(text) if function == Static::LongValueOf => {
                    text.parse::<i64>().map_err(|_| not_a(text, "long"))?
                }
                other => other
                    .as_long()
                    .ok_or_else(|| Error::data(format!("'{name}' of {}", other.kind())))?,
            };
            Ok(match function {
                Static::LongValueOf => Value::Long(value),
                _ => Value::text(value.to_string()),
            })
        }
        Static::MathAbs => match &arguments[0] {
            Value::Double(value) => Ok(Value::Double(value.abs())),
            Value::Long(value) => Ok(Value::Long(value.wrapping_abs())),
            _ => Ok(Value::Int(whole(0)?.wrapping_abs())),
        },
        Static::MathCeil => Ok(Value::Double(double(0)?.ceil())),
        Static::MathExp => Ok(Value::Double(double(0)?.exp())),
        Static::MathFloor => Ok(Value::Double(double(0)?.floor())),
        Static::MathFloorDiv | Static::MathFloorMod => {
            let remainder = operate(Operator::Remainder, &arguments[0], &arguments[1])?;
            let (Some(rest), Some(by)) = (remainder.as_long(), arguments[1].as_long()) else {
                return Err(Error::data(format!("'{name}' takes two whole numbers")));
            };
            let is_below = rest != 0 && (rest < 0) != (by < 0);
            match function {
                Static::MathFloorMod if is_below => {
                    operate(Operator::Add, &remainder, &arguments[1])
                }
                Static::MathFloorMod => Ok(remainder),
                _ => {
                    let quotient = operate(Operator::Divide, &arguments[0], &arguments[1])?;
                    let below = Value::Int(i32::from(is_below));
                    operate(Operator::Subtract, &quotient, &below)
                }
            }
        }
        Static::MathLog => Ok(Value::Double(double(0)?.ln())),
        Static::MathLog10 => Ok(Value::Double(double(0)?.log10())),
        Static::MathMax | Static::MathMin => extreme(function, arguments, double(0)?, double(1)?),
        Static::MathPow => Ok(Value::Double(double(0)?.powf(double(1)?))),
        // Ties go up; the conversion saturates and NaN is 0, as in Java.
        Static::MathRound => Ok(Value::Long(round_up(double(0)?))),
        Static::MathSignum => Ok(Value::Double(match double(0)? {
            value if value == 0.0 || value.is_nan() => value,
            value => value.signum(),
        })),
        Static::MathSqrt => Ok(Value::Double(double(0)?.sqrt())),
        Static::ObjectsEquals => Ok(Value::Boolean(arguments[0].equals(&arguments[1]))),
        Static::StringJoin => {
            let parts = match arguments {
                [_, Value::Texts(texts)] => texts.iter(),
                [_, rest @ ..] => rest.iter(),
                [] => [].iter(),
            };
            let parts: Vec<_> = parts.map(Value::shown).collect::<Result<_>>()?;
            Ok(Value::text(parts.join(text(0)?)))
        }
        Static::Stem => Ok(Value::text(stem(text(0)?))),
        Static::AsciiAt => {
            let at = whole(1)?
                .checked_sub(1)
                .and_then(|at| usize::try_from(at).ok());
            let text = text(0)?;
            let unit = at.and_then(|at| unit_at(text, at));
            Ok(Value::Int(unit.map_or(0, i32::from)))
        }
        Static::IsBoolean => Ok(Value::Boolean(boolean(text(0)?).is_some())),
        Static::IsInteger => {
            let text = text(0)?;
            Ok(Value::Boolean(text.parse::<i64>().is_ok()))
        }
        Static::JaccardSim => Ok(Value::Double(jaccard(text(0)?, text(1)?))),
        Static::ParseDouble => Ok(Value::Double(parse_number(text(0)?)?)),
        Static::ParseInt => Ok(Value::Int(parse_number(text(0)?)? as i32)),
        Static::ParseLong => Ok(Value::Long(parse_number(text(0)?)? as i64)),
        Static::SplitRecodeEntry => {
            let text = text(0)?;
            let (category, code) = text
                .rsplit_once(SEPARATOR)
                .ok_or_else(|| not_a(text, "category with its code"))?;
            Ok(Value::Texts([category, code].map(Value::text).into()))
        }
        Static::WordErrorRate => Ok(Value::Double(word_error_rate(text(0)?, text(1)?)?)),
    }
}

fn parse_number(text: &str) -> Result<f64> {
    parse_double(text.trim())
        .ok_or_else(|| Error::data(format!("'{}' is no double", shortened(text))))
}

/// The letter itself where its other case has more than one.
fn one_unit(letter: char, mut changed: impl Iterator<Item = char>) -> Result<Value> {
    let changed = match (changed.next(), changed.next()) {
        (Some(one), None) => one,
        _ => letter,
    };
    // It comes from one unit.
    Ok(Value::Char(
        u16::try_from(u32::from(changed)).unwrap_or(0xFFFD),
    ))
}

/// -0 is below 0, and NaN above all.
fn compare_doubles(left: f64, right: f64) -> std::cmp::Ordering {
    match (left.is_nan(), right.is_nan()) {
        (false, false) => left.total_cmp(&right),
        (left, right) => left.cmp(&right),
    }
}

fn extreme(function: Static, arguments: &[Value], left: f64, right: f64) -> Result<Value> {
    let is_max = function == Static::MathMax;
    if let (Some(left), Some(right)) = (arguments[0].as_int(), arguments[1].as_int()) {
        return Ok(Value::Int(if is_max {
            left.max(right)
        } else {
            left.min(right)
        }));
    }
    if let (Some(left), Some(right)) = (arguments[0].as_long(), arguments[1].as_long()) {
        return Ok(Value::Long(if is_max {
            left.max(right)
        } else {
            left.min(right)
        }));
    }
    Ok(Value::Double(if left.is_nan() || right.is_nan() {
        f64::NAN
    } else if compare_doubles(left, right).is_gt() == is_max {
        left
    } else {
        right
    }))
}

fn round_up(value: f64) -> i64 {
    let floor = value.floor();
    // The difference is exact.
    let up = if value - floor >= 0.5 { 1.0 } else { 0.0 };
    (floor + up) as i64
}
