//! Functions of text. Of coded text they look at the distinct values only, and coded text stays coded.
//!
//! Lengths and places count characters unless said otherwise; a pattern is a regular expression unless `literal` is set.

use std::{borrow::Cow, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, PrimitiveArray, StringArray,
        StringBuilder, UInt32Array,
    },
    buffer::BooleanBuffer,
    compute::take,
    datatypes::{DataType, Int32Type, UInt32Type},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use regex::{NoExpand, Regex};

use super::{
    Invocation,
    casts::{cast, flattened},
    value::failed,
};
use crate::text_codes::distinct;

/// Rows between two looks at the interrupt flag.
const ROWS_AT_ONCE: usize = 1 << 14;

/// Applies a function of texts to a column: of coded text to its distinct values.
pub fn over_values(
    column: &ArrayRef,
    f: impl FnOnce(&StringArray) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    let DataType::Dictionary(..) = column.data_type() else {
        return f(column.as_string::<i32>());
    };
    let coded = column.as_dictionary::<Int32Type>();
    let result = f(coded.values().as_string::<i32>())?;
    if result.data_type() == &DataType::Utf8 {
        let coded = DictionaryArray::try_new(coded.keys().clone(), result).map_err(failed)?;
        return distinct(&coded);
    }
    memory::admit(column.len().saturating_mul(8))?;
    take(&result, coded.keys(), None).map_err(failed)
}

/// A text for each text.
fn texts(call: &Invocation<'_>, f: impl Fn(&str) -> Option<Cow<'_, str>>) -> Result<ArrayRef> {
    over_values(&call.arg(0)?.array, |texts| {
        memory::admit(texts.value_data().len().saturating_add(texts.len() * 4))?;
        let mut builder = StringBuilder::new();
        let mut bytes = 0usize;
        let mut admitted = texts.value_data().len();
        for (row, text) in texts.iter().enumerate() {
            if row % ROWS_AT_ONCE == 0 {
                Interrupt::current().check()?;
            }
            let Some(text) = text.and_then(&f) else {
                builder.append_null();
                continue;
            };
            bytes = bytes.saturating_add(text.len());
            if bytes > admitted {
                admitted = bytes.saturating_mul(2);
                memory::admit(admitted)?;
            }
            if i32::try_from(bytes).is_err() {
                return Err(Error::unsupported(
                    "a column of more than 2 GiB of text: one array has no room for it",
                ));
            }
            builder.append_value(text);
        }
        Ok(Arc::new(builder.finish()))
    })
}

fn counts(call: &Invocation<'_>, f: impl Fn(&str) -> Option<u32>) -> Result<ArrayRef> {
    over_values(&call.arg(0)?.array, |texts| {
        memory::admit(texts.len().saturating_mul(4))?;
        let counts: UInt32Array = texts.iter().map(|text| f(text?)).collect();
        Ok(Arc::new(counts))
    })
}

fn truths(call: &Invocation<'_>, f: impl Fn(&str) -> bool) -> Result<ArrayRef> {
    over_values(&call.arg(0)?.array, |texts| {
        Interrupt::current().check()?;
        let bits = BooleanBuffer::collect_bool(texts.len(), |at| f(texts.value(at)));
        Ok(Arc::new(BooleanArray::new(bits, texts.nulls().cloned())))
    })
}

/// What an option of the function says, which its declaration requires.
fn required<T: ?Sized>(option: Option<&T>) -> Result<&T> {
    option.ok_or_else(|| Error::internal("a function of text without its option"))
}

/// The regular expression of a pattern.
///
/// # Errors
/// `validation` for one that does not parse.
pub fn regex(pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| {
        Error::validation(format!("{pattern:?} is no regular expression: {error}"))
            .with_help("literal=True takes the pattern as plain text")
    })
}

pub fn len_chars(call: &Invocation<'_>) -> Result<ArrayRef> {
    counts(call, |text| Some(text.chars().count() as u32))
}

pub fn len_bytes(call: &Invocation<'_>) -> Result<ArrayRef> {
    over_values(&call.arg(0)?.array, |texts| {
        memory::admit(texts.len().saturating_mul(4))?;
        let lengths = memory::collected(texts.offsets().lengths().map(|bytes| bytes as u32))?;
        let lengths = PrimitiveArray::<UInt32Type>::new(lengths.into(), texts.nulls().cloned());
        Ok(Arc::new(lengths))
    })
}

pub fn contains(call: &Invocation<'_>) -> Result<ArrayRef> {
    let pattern = required(call.options.pattern.as_deref())?;
    match call.options.literal {
        true => truths(call, |text| text.contains(pattern)),
        false => {
            let regex = regex(pattern)?;
            truths(call, |text| regex.is_match(text))
        }
    }
}

pub fn starts_with(call: &Invocation<'_>) -> Result<ArrayRef> {
    let prefix = required(call.options.prefix.as_deref())?;
    truths(call, |text| text.starts_with(prefix))
}

pub fn ends_with(call: &Invocation<'_>) -> Result<ArrayRef> {
    let suffix = required(call.options.suffix.as_deref())?;
    truths(call, |text| text.ends_with(suffix))
}

pub fn to_lowercase(call: &Invocation<'_>) -> Result<ArrayRef> {
    texts(call, |text| Some(text.to_lowercase().into()))
}

pub fn to_uppercase(call: &Invocation<'_>) -> Result<ArrayRef> {
    texts(call, |text| Some(text.to_uppercase().into()))
}

/// The byte where the character of this number begins, or the end.
fn byte_of(text: &str, character: usize) -> usize {
    match text.is_ascii() {
        true => character.min(text.len()),
        false => text
            .char_indices()
            .nth(character)
            .map_or(text.len(), |(byte, _)| byte),
    }
}

fn sliced(text: &str, offset: i64, length: Option<i64>) -> &str {
    let count = if offset < 0 {
        text.chars().count() as i64
    } else {
        0
    };
    // A negative offset counts from the end, and may lie before the beginning.
    let from = if offset < 0 {
        count.saturating_add(offset)
    } else {
        offset
    };
    let to = length.map(|length| from.saturating_add(length.max(0)).max(0) as usize);
    let from = from.max(0) as usize;
    let begin = byte_of(text, from);
    match to {
        None => &text[begin..],
        Some(to) => &text[begin..begin + byte_of(&text[begin..], to.saturating_sub(from))],
    }
}

pub fn slice(call: &Invocation<'_>) -> Result<ArrayRef> {
    let offset = call.options.offset.unwrap_or(0);
    texts(call, |text| {
        Some(sliced(text, offset, call.options.length).into())
    })
}

/// The first `n` characters; all but the last `-n` where `n` is negative.
pub fn head(call: &Invocation<'_>) -> Result<ArrayRef> {
    let n = call.options.n.unwrap_or(5);
    texts(call, |text| {
        let n = if n < 0 {
            (text.chars().count() as i64).saturating_add(n).max(0)
        } else {
            n
        };
        Some(sliced(text, 0, Some(n)).into())
    })
}

/// The last `n` characters; all but the first `-n` where `n` is negative.
pub fn tail(call: &Invocation<'_>) -> Result<ArrayRef> {
    let n = call.options.n.unwrap_or(5);
    texts(call, |text| {
        Some(match n {
            0 => "".into(),
            ..0 => sliced(text, n.saturating_neg(), None).into(),
            _ => sliced(text, n.saturating_neg(), None).into(),
        })
    })
}

fn stripped(call: &Invocation<'_>, start: bool, end: bool) -> Result<ArrayRef> {
    let characters = call.options.characters.as_deref();
    let is_stripped = |letter: char| match characters {
        None => letter.is_whitespace(),
        Some(characters) => characters.contains(letter),
    };
    texts(call, |text| {
        let text = if start {
            text.trim_start_matches(is_stripped)
        } else {
            text
        };
        let text = if end {
            text.trim_end_matches(is_stripped)
        } else {
            text
        };
        Some(text.into())
    })
}

pub fn strip_chars(call: &Invocation<'_>) -> Result<ArrayRef> {
    stripped(call, true, true)
}

pub fn strip_chars_start(call: &Invocation<'_>) -> Result<ArrayRef> {
    stripped(call, true, false)
}

pub fn strip_chars_end(call: &Invocation<'_>) -> Result<ArrayRef> {
    stripped(call, false, true)
}

/// The first match becomes `options.value`, in which `$1` and `${name}` are groups unless it is literal.
pub fn replace(call: &Invocation<'_>) -> Result<ArrayRef> {
    replaced(call, 1)
}

pub fn replace_all(call: &Invocation<'_>) -> Result<ArrayRef> {
    replaced(call, 0)
}

fn replaced(call: &Invocation<'_>, limit: usize) -> Result<ArrayRef> {
    let pattern = required(call.options.pattern.as_deref())?;
    let value = required(call.options.value.as_deref())?;
    match call.options.literal {
        true => {
            let regex = regex(&regex::escape(pattern))?;
            texts(call, |text| {
                Some(regex.replacen(text, limit, NoExpand(value)))
            })
        }
        false => {
            let regex = regex(pattern)?;
            texts(call, |text| Some(regex.replacen(text, limit, value)))
        }
    }
}

/// A group of the first match, or null.
pub fn extract(call: &Invocation<'_>) -> Result<ArrayRef> {
    let regex = regex(required(call.options.pattern.as_deref())?)?;
    let group = call.options.group.unwrap_or(1);
    texts(call, |text| {
        let found = regex.captures(text)?.get(group)?;
        Some(found.as_str().into())
    })
}

/// The byte where the first match begins, or null.
pub fn find(call: &Invocation<'_>) -> Result<ArrayRef> {
    let pattern = required(call.options.pattern.as_deref())?;
    match call.options.literal {
        true => counts(call, |text| text.find(pattern).map(|at| at as u32)),
        false => {
            let regex = regex(pattern)?;
            counts(call, |text| {
                regex.find(text).map(|found| found.start() as u32)
            })
        }
    }
}

pub fn count_matches(call: &Invocation<'_>) -> Result<ArrayRef> {
    let pattern = required(call.options.pattern.as_deref())?;
    let regex = match call.options.literal {
        true => regex(&regex::escape(pattern))?,
        false => regex(pattern)?,
    };
    counts(call, |text| Some(regex.find_iter(text).count() as u32))
}

/// Zeros in front, behind a sign, up to so many characters.
pub fn zfill(call: &Invocation<'_>) -> Result<ArrayRef> {
    let length = usize::try_from(call.options.length.unwrap_or(0)).unwrap_or(0);
    memory::admit(length)?;
    texts(call, |text| {
        let missing = length.saturating_sub(text.chars().count());
        if missing == 0 {
            return Some(text.into());
        }
        let (sign, digits) = match text.strip_prefix(['+', '-']) {
            Some(digits) => text.split_at(text.len() - digits.len()),
            None => ("", text),
        };
        Some(format!("{sign}{:0>missing$}{digits}", "").into())
    })
}

/// Texts one behind the other; null where one is null. What is no text is cast.
pub fn concat(call: &Invocation<'_>) -> Result<ArrayRef> {
    let mut parts = Vec::new();
    for arg in call.args {
        let array = match arg.data_type() {
            DataType::Dictionary(..) => flattened(&arg.array)?,
            _ => cast(&arg.array, &DataType::Utf8)?,
        };
        parts.push((array, arg.is_single));
    }
    let parts: Vec<(&StringArray, bool)> = parts
        .iter()
        .map(|(array, is_single)| (array.as_string::<i32>(), *is_single))
        .collect();
    let bytes = parts.iter().map(|(texts, is_single)| match is_single {
        true => texts.value_data().len().saturating_mul(call.rows),
        false => texts.value_data().len(),
    });
    memory::admit(bytes.sum::<usize>().saturating_add(4 * call.rows))?;
    let mut builder = StringBuilder::new();
    let mut whole = String::new();
    let mut written = 0usize;
    for row in 0..call.rows {
        if row % ROWS_AT_ONCE == 0 {
            Interrupt::current().check()?;
        }
        whole.clear();
        let mut is_null = false;
        for (texts, is_single) in &parts {
            let at = if *is_single { 0 } else { row };
            is_null |= texts.is_null(at);
            whole.push_str(texts.value(at));
        }
        written = written.saturating_add(whole.len());
        if i32::try_from(written).is_err() {
            return Err(Error::unsupported(
                "a column of more than 2 GiB of text: one array has no room for it",
            ));
        }
        match is_null {
            true => builder.append_null(),
            false => builder.append_value(&whole),
        }
    }
    Ok(Arc::new(builder.finish()))
}
