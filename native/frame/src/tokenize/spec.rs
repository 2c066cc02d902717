//! How texts are taken apart and what is said of their tokens, as SystemDS's JSON says it.

use fulgurite_error::{Error, Result};
use serde_json::{Map, Value};

use crate::json::{bad, count, object_of};

/// What is said of the tokens of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Each token with the place where it begins, from 1, in units of UTF-16.
    Position,
    /// Each distinct token with how often it occurs: the most frequent first, or in the order of the alphabet.
    Count { by_alphabet: bool },
    /// How many tokens fall into each bucket of Java's hash.
    Hash { buckets: usize },
}

/// A specification of [`tokenize`](super::tokenize).
#[derive(Debug, Clone)]
pub struct Spec {
    /// What stands between words, as Java writes patterns.
    pub(super) between: String,
    /// How many words a token has, at least and at most.
    pub(super) words: (usize, usize),
    pub(super) output: Output,
    /// All tokens of a text in one row.
    pub(super) wide: bool,
    /// Counted from 1, with their paths.
    pub(super) ids: Vec<(String, usize)>,
    /// Counted from 1.
    pub(super) text: usize,
}

const WHITE_SPACE: &str = r"\s+";
/// As many buckets as SystemDS has.
const BUCKETS: usize = 1 << 20;
const MOST_WORDS: usize = 2;

impl Spec {
    /// Reads JSON, in which names need no quotes: `{algo: split, out: count, id_cols: [1], tokenize_col: 2}`.
    ///
    /// # Errors
    /// `syntax` when it does not parse; `data`, with the path, for keys that there are not, or values that they do not take.
    ///
    /// ```
    /// use fulgurite_frame::tokenize::Spec;
    /// let error = Spec::parse("{algo: whitespace, out: count, id_cols: [1], tokenize_col: 2}").unwrap_err();
    /// assert_eq!(error.message(), "$.algo: split or ngram, not \"whitespace\"");
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let keys = object_of(text)?;
        let known = [
            "algo",
            "algo_params",
            "out",
            "out_params",
            "format_wide",
            "id_cols",
            "tokenize_col",
        ];
        check_keys("$", &keys, &known)?;
        let nothing = Map::new();
        let (is_ngram, algorithm_keys): (bool, &[&str]) = match keys.get("algo") {
            Some(Value::String(name)) if name == "split" => (false, &["regex"]),
            Some(Value::String(name)) if name == "ngram" => {
                (true, &["regex", "min_gram", "max_gram"])
            }
            other => return Err(refused("$.algo", "split or ngram", other)),
        };
        let parameters = object("$.algo_params", keys.get("algo_params"), &nothing)?;
        check_keys("$.algo_params", parameters, algorithm_keys)?;
        let between = match parameters.get("regex") {
            None => WHITE_SPACE.to_owned(),
            Some(Value::String(pattern)) => pattern.clone(),
            other => return Err(refused("$.algo_params.regex", "a text", other)),
        };
        let number = |key: &str, default: usize| match parameters.get(key) {
            None => Ok(default),
            value => count(&format!("$.algo_params.{key}"), value),
        };
        let words = match is_ngram {
            false => (1, 1),
            true => (number("min_gram", 1)?, number("max_gram", MOST_WORDS)?),
        };
        if words.0 > words.1 {
            return Err(Error::data(format!(
                "$.algo_params.min_gram: {} is above max_gram, {}",
                words.0, words.1
            )));
        }
        let parameters = object("$.out_params", keys.get("out_params"), &nothing)?;
        check_keys("$.out_params", parameters, &["sort_alpha", "num_features"])?;
        let by_alphabet = truth("$.out_params.sort_alpha", parameters.get("sort_alpha"))?;
        let buckets = match parameters.get("num_features") {
            None => BUCKETS,
            value => count("$.out_params.num_features", value)?,
        };
        let output = match keys.get("out") {
            Some(Value::String(name)) if name == "position" => Output::Position,
            Some(Value::String(name)) if name == "count" => Output::Count { by_alphabet },
            Some(Value::String(name)) if name == "hash" => Output::Hash { buckets },
            other => return Err(refused("$.out", "count, position or hash", other)),
        };
        let wide = truth("$.format_wide", keys.get("format_wide"))?;
        if wide && matches!(output, Output::Count { .. }) {
            return Err(
                Error::data("$.format_wide: counts of tokens have no wide format")
                    .with_help("leave it out, or take \"out\": \"hash\""),
            );
        }
        let Some(Value::Array(ids)) = keys.get("id_cols") else {
            return Err(refused(
                "$.id_cols",
                "a list of numbers of columns",
                keys.get("id_cols"),
            ));
        };
        let ids = ids.iter().enumerate().map(|(at, id)| {
            let path = format!("$.id_cols[{at}]");
            let id = count(&path, Some(id))?;
            Ok((path, id))
        });
        Ok(Spec {
            between,
            words,
            output,
            wide,
            ids: ids.collect::<Result<_>>()?,
            text: count("$.tokenize_col", keys.get("tokenize_col"))?,
        })
    }
}

fn check_keys(path: &str, keys: &Map<String, Value>, known: &[&str]) -> Result<()> {
    match keys.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(
            Error::data(format!("{path}.{key}: there is no key '{key}' here"))
                .with_help(format!("the keys are {}", known.join(", "))),
        ),
    }
}

fn refused(path: &str, expected: &str, found: Option<&Value>) -> Error {
    bad(path, expected, found.unwrap_or(&Value::Null))
}

fn object<'a>(
    path: &str,
    value: Option<&'a Value>,
    nothing: &'a Map<String, Value>,
) -> Result<&'a Map<String, Value>> {
    match value {
        None => Ok(nothing),
        Some(Value::Object(keys)) => Ok(keys),
        other => Err(refused(path, "an object", other)),
    }
}

fn truth(path: &str, value: Option<&Value>) -> Result<bool> {
    match value {
        None => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        other => Err(refused(path, "true or false", other)),
    }
}
