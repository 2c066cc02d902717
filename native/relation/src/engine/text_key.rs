//! Keys of texts: equal where the texts are. Null has one, too.
//!
//! Short texts have small numbers, which are places of an array. Others have keys that are hashed.

use std::hash::Hash;

use arrow::array::{Array, StringArray};
use fulgurite_error::Result;

use crate::parallel::{by_tasks, rows_of_a_task};

/// Bytes of a text that is short: flags, codes of countries and of states.
const SHORT_BYTES: usize = 2;
/// Short texts by their bytes and their number of bytes, and null.
pub(super) const SHORT_KEYS: usize = ((SHORT_BYTES + 1) << 16) + 1;
/// Fewer rows are not worth so many places.
const LEAST_ROWS: usize = 1 << 16;

/// Whether no text is longer than a short one, and there are so many that their keys may be places of an array.
///
/// # Errors
/// `interrupted`.
pub(super) fn are_short(texts: &StringArray) -> Result<bool> {
    if texts.len() < LEAST_ROWS {
        return Ok(false);
    }
    let offsets = texts.value_offsets();
    let all = offsets.last().zip(offsets.first());
    if all.is_none_or(|(last, first)| (last - first) as usize > SHORT_BYTES * texts.len()) {
        return Ok(false);
    }
    let tasks = by_tasks(texts.len(), rows_of_a_task(texts.len()), |rows| {
        let offsets = &offsets[rows.start..=rows.end];
        let lengths = offsets.iter().zip(&offsets[1..]);
        Ok(lengths.fold(0, |most, (from, to)| most.max(to - from)))
    })?;
    Ok(tasks.into_iter().all(|most| most as usize <= SHORT_BYTES))
}

/// The key of a row, whose text is short, below [`SHORT_KEYS`].
#[inline]
pub(super) fn short_key(texts: &StringArray, row: usize) -> usize {
    if texts.is_null(row) {
        return SHORT_KEYS - 1;
    }
    let (offsets, data) = (texts.value_offsets(), texts.value_data());
    let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
    let bytes = match data.get(from..).and_then(|data| data.first_chunk()) {
        Some(bytes) => u16::from_le_bytes(*bytes),
        // The last one.
        None => u16::from(data.get(from).copied().unwrap_or(0)),
    };
    let length = to - from;
    let mask = (1usize << (8 * length)) - 1;
    length << 16 | usize::from(bytes) & mask
}

/// A text that is compared by its first bytes before the rest of it.
#[derive(Clone, Copy)]
pub(crate) struct TextKey<'a> {
    /// Fifteen bytes, and the length of shorter texts.
    first: u128,
    rest: &'a [u8],
}

const FIRST_BYTES: usize = 15;
const IS_LONG: u128 = 0xFF << 120;
const IS_NULL: u128 = 0xFE << 120;

impl PartialEq for TextKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        // Most texts are short, and have no rest.
        self.first == other.first && (self.rest.is_empty() || self.rest == other.rest)
    }
}

impl Eq for TextKey<'_> {}

impl Hash for TextKey<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.first as u64);
        state.write_u64((self.first >> 64) as u64);
        if !self.rest.is_empty() {
            state.write(self.rest);
        }
    }
}

impl<'a> TextKey<'a> {
    /// The key of a row; null is one.
    pub fn of(texts: &'a StringArray, row: usize) -> Self {
        let (offsets, data) = (texts.value_offsets(), texts.value_data());
        if texts.is_null(row) {
            return TextKey {
                first: IS_NULL,
                rest: &[],
            };
        }
        let (from, to) = (offsets[row] as usize, offsets[row + 1] as usize);
        let first = match data.get(from..).and_then(|data| data.first_chunk()) {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => {
                let mut bytes = [0; 16];
                let known = &data[from..to.min(from + 16)];
                bytes[..known.len()].copy_from_slice(known);
                u128::from_le_bytes(bytes)
            }
        };
        let length = to - from;
        match length <= FIRST_BYTES {
            true => TextKey {
                first: first & ((1 << (8 * length)) - 1) | (length as u128) << 120,
                rest: &[],
            },
            false => TextKey {
                first: first & ((1 << 120) - 1) | IS_LONG,
                rest: &data[from + FIRST_BYTES..to],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_equal_where_their_keys_are() {
        let long = "a text of more than fifteen bytes";
        let texts = [
            "",
            "\0",
            "a",
            "a\0",
            "ab",
            &long[..14],
            &long[..15],
            &long[..16],
            &long[..20],
            long,
            "é",
        ];
        let texts: StringArray = texts.iter().map(|text| Some(*text)).chain([None]).collect();
        for row in 0..texts.len() {
            for other in 0..texts.len() {
                let (one, two) = (TextKey::of(&texts, row), TextKey::of(&texts, other));
                assert_eq!(one == two, row == other, "{row} {other}");
            }
        }
    }
}
