//! Scalar values, and how they become text.

use std::fmt;

use fulgurite_matrix::JavaDouble;
use serde::{Deserialize, Serialize};

use crate::ValueType;

/// A scalar of the language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "lowercase")]
pub enum Literal {
    #[serde(with = "double_as_text_where_json_cannot")]
    Double(f64),
    Int(i64),
    Boolean(bool),
    String(String),
}

impl Literal {
    /// Whether it is the same value bit by bit: NaN is itself, 0.0 is not -0.0.
    pub fn is(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Double(left), Literal::Double(right)) => left.to_bits() == right.to_bits(),
            _ => self == other,
        }
    }

    pub fn value_type(&self) -> ValueType {
        match self {
            Literal::Double(_) => ValueType::Double,
            Literal::Int(_) => ValueType::Int,
            Literal::Boolean(_) => ValueType::Boolean,
            Literal::String(_) => ValueType::String,
        }
    }

    /// What a text stands for, as on the command line: `TRUE`/`FALSE`, an int, a double, else a string.
    pub fn from_text(text: &str) -> Self {
        match text {
            "TRUE" => return Literal::Boolean(true),
            "FALSE" => return Literal::Boolean(false),
            "NaN" => return Literal::Double(f64::NAN),
            "Infinity" => return Literal::Double(f64::INFINITY),
            "-Infinity" => return Literal::Double(f64::NEG_INFINITY),
            _ => {}
        }
        let is_number = text.contains(|c: char| c.is_ascii_digit());
        if let Ok(value) = text.parse() {
            Literal::Int(value)
        } else if let (true, Ok(value)) = (is_number, text.parse()) {
            Literal::Double(value)
        } else {
            Literal::String(text.into())
        }
    }

    /// The number it stands for; booleans are 0 and 1, strings none.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Literal::Double(value) => Some(*value),
            Literal::Int(value) => Some(*value as f64),
            Literal::Boolean(value) => Some(f64::from(u8::from(*value))),
            Literal::String(_) => None,
        }
    }
}

/// As DML prints it: doubles as Java does (`1.0`, `1.0E7`, `NaN`, `Infinity`), but for small ones down to `0.00001`, booleans
/// `TRUE`/`FALSE`.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Java writes 1.0E-5: no script that prints a tolerance means that.
            Literal::Double(value) if (1e-5..1e-3).contains(&value.abs()) => write!(f, "{value}"),
            Literal::Double(value) => JavaDouble(*value).fmt(f),
            Literal::Int(value) => write!(f, "{value}"),
            Literal::Boolean(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Literal::String(value) => f.write_str(value),
        }
    }
}

/// JSON has no NaN and no infinities: they travel as strings.
mod double_as_text_where_json_cannot {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            serializer.serialize_f64(*value)
        } else {
            serializer.serialize_str(&fulgurite_matrix::java_double(*value))
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum NumberOrText {
        Number(f64),
        Text(String),
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Number(value) => Ok(value),
            NumberOrText::Text(text) => match text.as_str() {
                "NaN" => Ok(f64::NAN),
                "Infinity" => Ok(f64::INFINITY),
                "-Infinity" => Ok(f64::NEG_INFINITY),
                _ => Err(D::Error::custom(format!("'{text}' is not a double"))),
            },
        }
    }
}

/// As [`double_as_text_where_json_cannot`], for options.
pub(crate) mod optional_double {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Double(#[serde(with = "super::double_as_text_where_json_cannot")] f64);

    pub fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(Double).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Double>::deserialize(deserializer)?.map(|Double(value)| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_doubles_print_as_they_are_written() {
        let shown = [0.00001, -0.00025, 0.001, 0.0000099, 1e-300, 0.0, 1e7].map(Literal::Double);
        let shown = shown.map(|value| value.to_string());
        assert_eq!(
            shown,
            [
                "0.00001", "-0.00025", "0.001", "9.9E-6", "1.0E-300", "0.0", "1.0E7"
            ]
        );
    }
}
