//! Logic of three values, and questions about values.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, StringArray},
    buffer::BooleanBuffer,
    compute::{and_kleene, not as inverse, or_kleene},
    datatypes::DataType,
};
use fulgurite_error::Result;
use fulgurite_matrix::memory;
use rustc_hash::FxHashSet;

use super::{
    Invocation, Value,
    text::over_values,
    value::{Number, failed, nulls_of, with_type},
};
use crate::literal::Literal;

pub fn and(call: &Invocation<'_>) -> Result<ArrayRef> {
    let (left, right) = both(call)?;
    let result = and_kleene(left.as_boolean(), right.as_boolean()).map_err(failed)?;
    Ok(Arc::new(result))
}

pub fn or(call: &Invocation<'_>) -> Result<ArrayRef> {
    let (left, right) = both(call)?;
    let result = or_kleene(left.as_boolean(), right.as_boolean()).map_err(failed)?;
    Ok(Arc::new(result))
}

pub fn xor(call: &Invocation<'_>) -> Result<ArrayRef> {
    let (left, right) = both(call)?;
    let (left, right) = (left.as_boolean(), right.as_boolean());
    let nulls = arrow::buffer::NullBuffer::union(left.nulls(), right.nulls());
    Ok(Arc::new(BooleanArray::new(
        left.values() ^ right.values(),
        nulls,
    )))
}

pub fn not(call: &Invocation<'_>) -> Result<ArrayRef> {
    let result = inverse(call.arg(0)?.array.as_boolean()).map_err(failed)?;
    Ok(Arc::new(result))
}

fn both(call: &Invocation<'_>) -> Result<(ArrayRef, ArrayRef)> {
    memory::admit(call.rows / 8)?;
    Ok((
        call.arg(0)?.spread(call.rows)?,
        call.arg(1)?.spread(call.rows)?,
    ))
}

pub fn is_null(call: &Invocation<'_>) -> Result<ArrayRef> {
    let nulls = call.arg(0)?.array.logical_nulls();
    Ok(Arc::new(BooleanArray::new(
        match nulls {
            None => BooleanBuffer::new_unset(call.rows),
            Some(nulls) => !nulls.inner(),
        },
        None,
    )))
}

pub fn is_not_null(call: &Invocation<'_>) -> Result<ArrayRef> {
    let nulls = call.arg(0)?.array.logical_nulls();
    Ok(Arc::new(BooleanArray::new(
        match nulls {
            None => BooleanBuffer::new_set(call.rows),
            Some(nulls) => nulls.into_inner(),
        },
        None,
    )))
}

pub fn is_nan(call: &Invocation<'_>) -> Result<ArrayRef> {
    asked(call, |x| x.is_nan())
}

pub fn is_not_nan(call: &Invocation<'_>) -> Result<ArrayRef> {
    asked(call, |x| !x.is_nan())
}

pub fn is_finite(call: &Invocation<'_>) -> Result<ArrayRef> {
    asked(call, |x| x.is_finite())
}

pub fn is_infinite(call: &Invocation<'_>) -> Result<ArrayRef> {
    asked(call, |x| x.is_infinite())
}

fn asked(call: &Invocation<'_>, f: impl Fn(f64) -> bool) -> Result<ArrayRef> {
    let arg = call.arg(0)?;
    with_type!(arg.data_type(), T => {
        let values = arg.primitive::<T>().values();
        let bits = BooleanBuffer::collect_bool(values.len(), |at| f(values[at].as_f64()));
        Ok(Arc::new(BooleanArray::new(bits, arg.array.nulls().cloned())))
    }, else call.unexpected())
}

/// Whether a value is one of `options.values`. A null is one only with `nulls_equal`, else the result is null.
pub fn is_in(call: &Invocation<'_>) -> Result<ArrayRef> {
    let arg = call.arg(0)?;
    let values = call.options.values.as_deref().unwrap_or_default();
    let found =
        match arg.data_type() {
            DataType::Utf8 | DataType::Dictionary(..) => {
                let known = call.options.members.texts(|| {
                    let texts = values.iter().filter_map(|value| match value {
                        Literal::String(text) => Some(Arc::clone(text)),
                        Literal::Null
                        | Literal::Boolean(_)
                        | Literal::Integer(_)
                        | Literal::Float(_)
                        | Literal::Date(_)
                        | Literal::Datetime(_) => None,
                    });
                    texts.collect()
                });
                over_values(&arg.array, |texts: &StringArray| {
                    let bits = BooleanBuffer::collect_bool(texts.len(), |at| {
                        known.contains(texts.value(at))
                    });
                    Ok(Arc::new(BooleanArray::new(bits, texts.nulls().cloned())))
                })?
            }
            DataType::Boolean => {
                let truths = arg.array.as_boolean();
                let has = |truth| values.contains(&Literal::Boolean(truth));
                let (yes, no) = (has(true), has(false));
                let bits = BooleanBuffer::collect_bool(truths.len(), |at| {
                    if truths.value(at) { yes } else { no }
                });
                Arc::new(BooleanArray::new(bits, truths.nulls().cloned()))
            }
            DataType::Null => Arc::new(BooleanArray::new_null(arg.array.len())),
            kind => with_type!(kind, T => {
            let known = call.options.members.numbers(kind, || {
                let mut known = FxHashSet::default();
                for value in values.iter().filter(|value| **value != Literal::Null) {
                    // What has no place in the type is none of its values.
                    if let Literal::Integer(value) = value
                        && kind.is_integer()
                        && !crate::types::fits(*value, kind)
                    {
                        continue;
                    }
                    let value = Value::single(value.to_array(kind)?);
                    known.insert(value.primitive::<T>().value(0).key());
                }
                Ok(known)
            })?;
            let values = arg.primitive::<T>().values();
            let bits = BooleanBuffer::collect_bool(values.len(), |at| {
                known.contains(&values[at].key())
            });
            Arc::new(BooleanArray::new(bits, arg.array.nulls().cloned())) as ArrayRef
        }, else return call.unexpected()),
        };
    if !call.options.nulls_equal {
        return Ok(found);
    }
    let has_null = values.contains(&Literal::Null);
    let found = found.as_boolean();
    let nulls = nulls_of(&[arg], arg.array.len());
    let bits = BooleanBuffer::collect_bool(found.len(), |at| {
        match nulls.as_ref().is_some_and(|nulls| nulls.is_null(at)) {
            true => has_null,
            false => found.value(at),
        }
    });
    Ok(Arc::new(BooleanArray::new(bits, None)))
}
