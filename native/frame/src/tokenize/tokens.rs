//! The tokens of one text, and what is said of them.

use std::{borrow::Cow, ops::Range};

use fulgurite_error::Result;
use fulgurite_matrix::memory;
use regex::Regex;
use rustc_hash::FxHashMap;

use crate::{
    column::push,
    compare::{java_hash, java_order},
};

/// A word, or some words one behind the other.
pub(super) struct Token<'a> {
    pub(super) text: Cow<'a, str>,
    /// Units of UTF-16 before it, and one.
    pub(super) position: i64,
}

/// Bytes of text between two questions for memory.
const BYTES_AT_ONCE: usize = 1 << 20;

/// The tokens of this many words, the short ones first, and at most so many.
pub(super) fn tokens<'a>(
    text: &'a str,
    between: &Regex,
    words: (usize, usize),
    most: usize,
) -> Result<Vec<Token<'a>>> {
    let single = pieces(text, between)?;
    let (least, longest) = (words.0, words.1.min(single.len()));
    let mut tokens = Vec::new();
    let mut bytes = 0_usize;
    for words in least..=longest {
        for first in 0..=single.len() - words {
            if tokens.len() == most {
                return Ok(tokens);
            }
            let (position, word) = single[first];
            let text = match words {
                1 => Cow::Borrowed(word),
                _ => Cow::Owned(joined(&single[first..first + words])),
            };
            if let Cow::Owned(text) = &text {
                bytes = bytes.saturating_add(text.len());
                if bytes > BYTES_AT_ONCE {
                    memory::admit(std::mem::take(&mut bytes))?;
                }
            }
            push(&mut tokens, Token { text, position })?;
        }
    }
    Ok(tokens)
}

/// As SystemDS writes several words: `"('one', 'two')"`, with all these marks.
fn joined(words: &[(i64, &str)]) -> String {
    let mut text = String::from("\"(");
    for (at, (_, word)) in words.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.push('\'');
        text.push_str(word);
        text.push('\'');
    }
    text.push_str(")\"");
    text
}

/// What is between the matches, where it is not empty, with its position.
fn pieces<'a>(text: &'a str, between: &Regex) -> Result<Vec<(i64, &'a str)>> {
    let mut pieces = Vec::new();
    let (mut units, mut counted, mut from) = (0_i64, 0, 0);
    let mut add = |range: Range<usize>| {
        if range.is_empty() {
            return Ok(());
        }
        let skipped = &text[counted..range.start];
        units += match skipped.is_ascii() {
            true => skipped.len(),
            false => skipped.encode_utf16().count(),
        } as i64;
        counted = range.start;
        push(&mut pieces, (units + 1, &text[range]))
    };
    for found in between.find_iter(text) {
        add(from..found.start())?;
        from = found.end();
    }
    add(from..text.len())?;
    Ok(pieces)
}

/// The distinct tokens and how often they occur.
pub(super) fn counts(
    tokens: Vec<Token<'_>>,
    by_alphabet: bool,
) -> Result<Vec<(Cow<'_, str>, i64)>> {
    let mut counts: Vec<(Cow<'_, str>, i64)> = Vec::new();
    let mut places: FxHashMap<Cow<'_, str>, usize> = FxHashMap::default();
    for token in tokens {
        match places.get(&token.text) {
            Some(place) => counts[*place].1 += 1,
            None => {
                push(&mut counts, (token.text.clone(), 1))?;
                if counts.len().is_power_of_two() {
                    // The map doubles here.
                    memory::admit(counts.len().saturating_mul(64))?;
                }
                places.insert(token.text, counts.len() - 1);
            }
        }
    }
    match by_alphabet {
        true => counts.sort_by(|left, right| java_order(&left.0, &right.0)),
        false => {
            let slots = slots_of_java(counts.len());
            counts.sort_by_cached_key(|(text, count)| (-count, slot_of_java(text, slots)));
        }
    }
    Ok(counts)
}

/// How many slots a hash map of Java has for so many keys: of 16, three quarters are filled, then they double.
fn slots_of_java(keys: usize) -> u32 {
    let mut slots = 16_u32;
    while keys > slots as usize / 4 * 3 && slots < 1 << 30 {
        slots *= 2;
    }
    slots
}

/// Tokens that occur equally often come in the order of their slots, as in SystemDS: it decides which of them are kept.
fn slot_of_java(text: &str, slots: u32) -> u32 {
    let hash = java_hash(text) as u32;
    (hash ^ (hash >> 16)) & (slots - 1)
}

/// How many tokens each bucket has, from the first bucket, without those that have none. Buckets count from 1.
pub(super) fn buckets(tokens: &[Token<'_>], buckets: usize) -> Result<Vec<(i64, i64)>> {
    let bucket =
        |token: &Token<'_>| i64::from(java_hash(&token.text)).rem_euclid(buckets as i64) + 1;
    let mut all = memory::collected(tokens.iter().map(bucket))?;
    all.sort_unstable();
    let mut counts: Vec<(i64, i64)> = Vec::new();
    for bucket in all {
        match counts.last_mut() {
            Some((last, count)) if *last == bucket => *count += 1,
            _ => push(&mut counts, (bucket, 1))?,
        }
    }
    Ok(counts)
}
