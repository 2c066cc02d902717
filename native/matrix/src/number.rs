//! Numbers as text, as the language reads and writes them.

use std::fmt;

/// `Double.toString`: plain from 1e-3 up to 1e7, else with an exponent, always with a fraction. The digits are the fewest that are read
/// back as the same number, and of these the nearest; if two are equally near, the last digit is even.
pub fn java_double(value: f64) -> String {
    JavaDouble(value).to_string()
}

/// Displays as [`java_double`] does, without an allocation.
#[derive(Debug, Clone, Copy)]
pub struct JavaDouble(pub f64);

impl JavaDouble {
    /// Appends what is displayed.
    #[inline]
    pub(crate) fn append_to(self, text: &mut Vec<u8>) {
        self.pieces(|piece| text.extend_from_slice(piece.as_bytes()));
    }

    /// Gives the text in pieces.
    #[inline]
    fn pieces(self, mut put: impl FnMut(&str)) {
        let value = self.0;
        let magnitude = value.abs();
        let is_plain = (1e-3..1e7).contains(&magnitude);
        let whole = value as i32;
        if is_plain && f64::from(whole) == value {
            put(itoa::Buffer::new().format(whole));
            return put(".0");
        }
        let mut buffer = zmij::Buffer::new();
        match value.is_finite() {
            true if is_plain || value == 0.0 => put(buffer.format_finite(value)),
            true => scientific(buffer.format_finite(value), put),
            false if value.is_nan() => put("NaN"),
            false if value > 0.0 => put("Infinity"),
            false => put("-Infinity"),
        }
    }
}

impl fmt::Display for JavaDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut result = Ok(());
        self.pieces(|piece| {
            if result.is_ok() {
                result = f.write_str(piece);
            }
        });
        result
    }
}

/// Gives a number other than 0, as any text without superfluous digits has it, with an exponent: a digit, a fraction, `E` and the exponent.
fn scientific(number: &str, mut put: impl FnMut(&str)) {
    let (sign, number) = match number.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", number),
    };
    let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // Leading zeros are no digits of the mantissa, nor are zeros at its end.
    let (digits, more, exponent) = match whole {
        "0" => {
            let digits = fraction.trim_start_matches('0');
            (
                digits,
                "",
                exponent - 1 - (fraction.len() - digits.len()) as i32,
            )
        }
        whole => (whole, fraction, exponent - 1 + whole.len() as i32),
    };
    let more = more.trim_end_matches('0');
    let (first, rest) = digits.split_at_checked(1).unwrap_or(("0", ""));
    let rest = match more {
        "" => rest.trim_end_matches('0'),
        _ => rest,
    };
    let no_fraction = if rest.is_empty() && more.is_empty() {
        "0"
    } else {
        ""
    };
    let mut exponent_digits = itoa::Buffer::new();
    for piece in [sign, first, ".", rest, more, no_fraction, "E"] {
        put(piece);
    }
    put(exponent_digits.format(exponent));
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

    /// The digits are those of the standard library, which rounds up where two are equally near.
    #[test]
    fn digits_are_the_shortest() {
        let by_library = |value: f64| {
            let magnitude = value.abs();
            if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
                return format!("{value:?}");
            }
            let text = format!("{value:e}");
            let (mantissa, exponent) = text.split_once('e').unwrap();
            let fraction = if mantissa.contains('.') { "" } else { ".0" };
            format!("{mantissa}{fraction}E{exponent}")
        };
        let last_digit = |text: &str| {
            let mantissa = text.split('E').next().unwrap();
            u32::from(mantissa.as_bytes()[mantissa.len() - 1] - b'0')
        };
        let same = |value: f64| {
            let (text, expected) = (java_double(value), by_library(value));
            assert_eq!(text.parse(), Ok(value));
            if text != expected {
                let even = last_digit(&text);
                assert_eq!(
                    (even % 2, even + 1),
                    (0, last_digit(&expected)),
                    "{value:e}"
                );
                assert_eq!(text.len(), expected.len(), "{value:e}");
            }
            let mut appended = b"x".to_vec();
            JavaDouble(value).append_to(&mut appended);
            assert_eq!(appended[1..], *text.as_bytes());
            text == expected
        };
        // As `Double.toString` of Java 19 and `repr` of Python have them.
        for (value, text) in [
            (2f64.powi(-25), "2.9802322387695312E-8"),
            (1_773_696_042_465_283.0 + 0.25, "1.7736960424652832E15"),
            (1_773_696_042_465_283.0 + 0.75, "1.7736960424652838E15"),
            (70_368_744_177_664.0 + 0.125, "7.036874417766412E13"),
        ] {
            assert_eq!(java_double(value), text);
        }
        let mut state = 88_172_645_463_325_252u64;
        for round in 0..50_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let of_bits = f64::from_bits(state);
            if of_bits.is_finite() {
                same(of_bits);
            }
            assert!(same((state >> 11) as f64 / (1u64 << 53) as f64));
            same((state >> (state % 60)) as f64 * [1.0, 0.5, -0.01, 1e-7][round % 4]);
        }
        for power in -324..309 {
            let value: f64 = format!("1e{power}").parse().unwrap();
            for value in [
                value,
                -value,
                value.next_up(),
                value.next_down(),
                9.5 * value,
            ] {
                assert!(!value.is_finite() || same(value), "{value:e}");
            }
        }
        for value in [
            0.0,
            -0.0,
            f64::MIN_POSITIVE,
            f64::MAX,
            9_999_999.0,
            -1e7,
            1e23,
        ] {
            assert!(same(value), "{value:e}");
        }
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
