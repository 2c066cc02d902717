//! Numbers as text, as the language reads and writes them.

use std::fmt;

/// `Double.toString`: plain from 1e-3 up to 1e7, else with an exponent, always with a fraction.
pub fn java_double(value: f64) -> String {
    JavaDouble(value).to_string()
}

/// Displays as [`java_double`] does, without an allocation.
#[derive(Debug, Clone, Copy)]
pub struct JavaDouble(pub f64);

impl fmt::Display for JavaDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if value.is_nan() {
            return f.write_str("NaN");
        }
        if value.is_infinite() {
            return f.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
        }
        let magnitude = value.abs();
        if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
            return write!(f, "{value:?}");
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = if mantissa.contains('.') { "" } else { ".0" };
        write!(f, "{mantissa}{fraction}E{exponent}")
    }
}

/// Reads what [`java_double`] writes and every ordinary spelling of a number: `NaN`, `Infinity`,
/// `+Infinity`, `-Infinity`, exponents. `None` where it is not a number; spellings that only Rust
/// knows (`inf`, `nan`) are none.
pub fn parse_double(text: &str) -> Option<f64> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Some(value),
        Ok(value) => {
            // Rust spells the specials freely; an overflowing number (1e999) is infinite in Java too.
            let bare = text.trim_start_matches(['+', '-']);
            (bare == "NaN"
                || bare == "Infinity"
                || bare.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
            .then_some(value)
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_java_prints_them() {
        let printed: Vec<_> = [1.0, 0.001, 1e7, 1e-4, 123456.75, -0.0, f64::NAN, 1.5e300]
            .map(java_double)
            .into();
        assert_eq!(
            printed,
            [
                "1.0",
                "0.001",
                "1.0E7",
                "1.0E-4",
                "123456.75",
                "-0.0",
                "NaN",
                "1.5E300"
            ]
        );
    }

    #[test]
    fn doubles_are_read_as_java_writes_them() {
        for value in [0.1, -2.5e-300, 1e7, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(parse_double(&java_double(value)), Some(value));
        }
        assert!(parse_double("NaN").is_some_and(f64::is_nan));
        assert_eq!(parse_double("1e999"), Some(f64::INFINITY));
        for text in ["", "NA", "inf", "nan", "\"1\"", "1,5", "1.0d", "infinity"] {
            assert_eq!(parse_double(text), None, "{text}");
        }
    }
}
