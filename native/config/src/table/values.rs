//! The types that configuration values have, and how they are read.

use std::fmt;

use fulgurite_error::{Error, Result};

pub(super) enum Kind {
    Size,
    Integer(u64, u64),
    Boolean,
    Speed,
    Choice(&'static [&'static str]),
    Names,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Size => f.write_str("a size: bytes, or a number with k, m, g or t"),
            Kind::Integer(from, to) => write!(f, "a whole number from {from} to {to}"),
            Kind::Boolean => f.write_str("true or false"),
            Kind::Speed => f.write_str("auto, or a number above 0"),
            Kind::Choice(names) => write!(f, "one of {}", names.join(", ")),
            Kind::Names => f.write_str("a list of names"),
        }
    }
}

/// `4096`, `64k`, `512m`, `4g`, `1t`; a `b` may follow the unit.
pub(super) fn parse_size(text: &str) -> Result<u64> {
    let bad = || Error::argument(format!("'{text}' is not a size"));
    let lower = text.to_ascii_lowercase();
    let lower = lower.strip_suffix('b').unwrap_or(&lower);
    let digits = lower.trim_end_matches(['k', 'm', 'g', 't']);
    let shift = match &lower[digits.len()..] {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(bad()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| bad())?;
    number.checked_mul(1u64 << shift).ok_or_else(bad)
}

pub(super) fn parse_integer(text: &str, from: u64, to: u64) -> Result<u64> {
    text.parse()
        .ok()
        .filter(|value| (from..=to).contains(value))
        .ok_or_else(|| {
            Error::argument(format!(
                "'{text}' is not a whole number from {from} to {to}"
            ))
        })
}

pub(super) fn parse_boolean(text: &str) -> Result<bool> {
    text.to_ascii_lowercase()
        .parse()
        .map_err(|_| Error::argument(format!("'{text}' is neither true nor false")))
}

/// A speed that is set; `None` for `auto`.
pub(super) fn parse_speed(text: &str) -> Result<Option<f64>> {
    if text == "auto" {
        return Ok(None);
    }
    text.parse()
        .ok()
        .filter(|speed: &f64| *speed > 0.0 && speed.is_finite())
        .map(Some)
        .ok_or_else(|| Error::argument(format!("'{text}' is not a speed")))
}

/// Insertions, deletions and replacements between two texts.
pub(super) fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (row, l) in left.chars().enumerate() {
        let mut current = vec![row + 1];
        for (col, r) in right.iter().enumerate() {
            let replaced = previous[col] + usize::from(l != *r);
            current.push(replaced.min(previous[col + 1] + 1).min(current[col] + 1));
        }
        previous = current;
    }
    previous[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let sizes: Vec<_> = ["12", "64k", "3m", "2G", "1tb", "7 k"]
            .map(parse_size)
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(sizes, [12, 64 << 10, 3 << 20, 2 << 30, 1 << 40, 7 << 10]);
        for bad in ["", "k", "1x", "-1", "1.5g", "99999999999t", "1kk"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }
}
