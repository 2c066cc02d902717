//! Specifications, as JSON in which names need no quotes. Errors name the path.

use fulgurite_error::{Error, Result};
use serde_json::{Map, Value};

/// The largest number of bins or buckets: that of a matrix's columns.
const MOST_CODES: u64 = i32::MAX as u64;

/// # Errors
/// `syntax` when the text is no object.
pub(crate) fn object_of(text: &str) -> Result<Map<String, Value>> {
    let value: Value = serde_json::from_str(&quoted(text))
        .map_err(|error| Error::syntax(format!("the specification does not parse: {error}")))?;
    match value {
        Value::Object(keys) => Ok(keys),
        _ => Err(Error::syntax("the specification is not an object")),
    }
}

/// What stands at the path in the place of what is expected.
pub(crate) fn bad(path: &str, expected: &str, found: &Value) -> Error {
    Error::data(format!("{path}: {expected}, not {found}"))
}

/// A number of 1 or more.
pub(crate) fn count(path: &str, value: Option<&Value>) -> Result<usize> {
    let found = value.unwrap_or(&Value::Null);
    let count = found
        .as_u64()
        .filter(|count| (1..=MOST_CODES).contains(count));
    let count = count.and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| bad(path, "a number of 1 or more", found))
}

/// With quotes around the words that have none, and none but double ones: the JSON library of SystemDS takes both.
fn quoted(text: &str) -> String {
    let mut json = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' | '\'' => {
                let mut escaped = false;
                let close = rest.char_indices().skip(1).find(|(_, letter)| {
                    let closes = *letter == first && !escaped;
                    escaped = *letter == '\\' && !escaped;
                    closes
                });
                let end = close.map_or(rest.len(), |(at, _)| at + 1);
                match (first, close) {
                    ('\'', Some((at, _))) => json.push_str(&Value::from(&rest[1..at]).to_string()),
                    _ => json.push_str(&rest[..end]),
                }
                end
            }
            ',' | ':' | '{' | '}' | '[' | ']' => {
                json.push(first);
                1
            }
            letter if letter.is_whitespace() => {
                json.push(' ');
                letter.len_utf8()
            }
            _ => {
                let stop = |letter: char| letter.is_whitespace() || ",:{}[]\"'".contains(letter);
                let end = rest.find(stop).unwrap_or(rest.len());
                let word = &rest[..end];
                match serde_json::from_str::<Value>(word).is_ok() {
                    true => json.push_str(word),
                    false => json.push_str(&Value::from(word).to_string()),
                }
                end
            }
        };
        rest = &rest[end..];
    }
    json
}
