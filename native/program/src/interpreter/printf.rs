//! Java's `String.format`, as far as scripts use it: `%d %f %e %g %s %b %x %%  %n` with flags, width and
//! precision.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Literal, scalar::LimitedString};

/// The pattern with its values in place.
///
/// # Errors
/// Validation: a value is missing, has the wrong type, or the conversion is not known.
pub(crate) fn format(pattern: &str, values: &[&Literal]) -> Result<String> {
    let mut text = LimitedString::default();
    let mut values = values.iter();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        text.push(&rest[..at])?;
        let (specifier, after) = Specifier::parse(&rest[at + 1..])?;
        rest = after;
        match specifier.conversion {
            '%' => text.push(&specifier.padded("%".into()))?,
            'n' => text.push("\n")?,
            _ => {
                let value = values.next().ok_or_else(|| {
                    Error::validation(format!(
                        "the format '{pattern}' asks for more values than are given"
                    ))
                })?;
                text.push(&specifier.format(value)?)?;
            }
        }
    }
    text.push(rest)?;
    Ok(text.into_string())
}

struct Specifier {
    left: bool,
    zeros: bool,
    plus: bool,
    blank: bool,
    groups: bool,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

/// Wider than any line that someone reads, and small enough to be held.
const MOST: usize = 10_000;

impl Specifier {
    fn parse(text: &str) -> Result<(Self, &str)> {
        let mut specifier = Specifier {
            left: false,
            zeros: false,
            plus: false,
            blank: false,
            groups: false,
            width: 0,
            precision: None,
            conversion: ' ',
        };
        let flags_end = text.find(|c| !"-0+ ,".contains(c)).unwrap_or(text.len());
        for flag in text[..flags_end].chars() {
            match flag {
                '-' => specifier.left = true,
                '0' => specifier.zeros = true,
                '+' => specifier.plus = true,
                ' ' => specifier.blank = true,
                _ => specifier.groups = true,
            }
        }
        let (width, mut rest) = digits(&text[flags_end..])?;
        specifier.width = width.unwrap_or(0);
        if let Some(after) = rest.strip_prefix('.') {
            (specifier.precision, rest) = digits(after)?;
        }
        let mut letters = rest.chars();
        specifier.conversion = letters.next().ok_or_else(|| {
            Error::validation("the format ends in the middle of a '%' conversion")
                .with_help("write '%%' for a percent sign")
        })?;
        Ok((specifier, letters.as_str()))
    }

    fn format(&self, value: &Literal) -> Result<String> {
        let number = || {
            let wrong = || self.wrong(value, "a number");
            match value {
                Literal::Double(number) => Ok(*number),
                Literal::Int(_) => {
                    Err(wrong().with_help("write '%d', or convert it with as.double()"))
                }
                _ => Err(wrong()),
            }
        };
        let precision = self.precision.unwrap_or(6);
        let body = match (self.conversion, value) {
            ('d', Literal::Int(number)) => {
                self.signed(*number < 0, number.unsigned_abs().to_string())
            }
            ('d', _) => {
                let error = self.wrong(value, "an int");
                return Err(error.with_help("write '%f', or convert it with as.integer()"));
            }
            ('x', Literal::Int(number)) => format!("{number:x}"),
            ('f', _) => self.double(number()?, |magnitude| format!("{magnitude:.precision$}")),
            ('e', _) => self.double(number()?, |magnitude| scientific(magnitude, precision)),
            ('g', _) => self.double(number()?, |magnitude| general(magnitude, precision.max(1))),
            ('s', _) => cut(value.to_string(), self.precision),
            ('b', Literal::Boolean(truth)) => cut(truth.to_string(), self.precision),
            ('b', _) => return Err(self.wrong(value, "a boolean")),
            (other, _) => {
                return Err(
                    Error::validation(format!("there is no conversion '%{other}'"))
                        .with_help("there are %d, %x, %f, %e, %g, %s, %b, %n and %%"),
                );
            }
        };
        Ok(self.padded(body))
    }

    fn wrong(&self, value: &Literal, expected: &str) -> Error {
        Error::validation(format!(
            "'%{}' takes {expected}, not '{value}'",
            self.conversion
        ))
    }

    fn double(&self, value: f64, text: impl Fn(f64) -> String) -> String {
        if value.is_nan() {
            return "NaN".into();
        }
        let magnitude = match value.is_infinite() {
            true => "Infinity".into(),
            false => text(value.abs()),
        };
        self.signed(value.is_sign_negative(), magnitude)
    }

    fn signed(&self, negative: bool, magnitude: String) -> String {
        let magnitude = if self.groups {
            grouped(&magnitude)
        } else {
            magnitude
        };
        let sign = match (negative, self.plus, self.blank) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        if self.zeros && !self.left && magnitude.starts_with(|c: char| c.is_ascii_digit()) {
            let width = self.width.saturating_sub(sign.len());
            return format!("{sign}{magnitude:0>width$}");
        }
        format!("{sign}{magnitude}")
    }

    fn padded(&self, body: String) -> String {
        let width = self.width;
        match self.left {
            true => format!("{body:<width$}"),
            false => format!("{body:>width$}"),
        }
    }
}

fn digits(text: &str) -> Result<(Option<usize>, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    if end == 0 {
        return Ok((None, text));
    }
    let number = text[..end].parse().ok().filter(|number| *number <= MOST);
    let number = number.ok_or_else(|| {
        Error::validation(format!("widths and precisions of formats go up to {MOST}"))
    })?;
    Ok((Some(number), &text[end..]))
}

fn cut(text: String, precision: Option<usize>) -> String {
    match precision {
        Some(most) => text.chars().take(most).collect(),
        None => text,
    }
}

/// Rust writes `1.5e2`, Java `1.5e+02`.
fn scientific(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// `precision` significant digits; plain from 10^-4 up to 10^precision, as Java does.
fn general(magnitude: f64, precision: usize) -> String {
    let rounded: f64 = format!("{magnitude:.*e}", precision - 1)
        .parse()
        .unwrap_or(magnitude);
    if rounded != 0.0 && !(1e-4..10f64.powi(precision as i32)).contains(&rounded) {
        return scientific(magnitude, precision - 1);
    }
    let digits_before = if rounded == 0.0 {
        1
    } else {
        rounded.log10().floor() as i64 + 1
    };
    let digits_after = (precision as i64 - digits_before).max(0) as usize;
    format!("{magnitude:.digits_after$}")
}

fn grouped(magnitude: &str) -> String {
    let (whole, fraction) = match magnitude.find(['.', 'e']) {
        Some(at) => magnitude.split_at(at),
        None => (magnitude, ""),
    };
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(pattern: &str, values: &[Literal]) -> String {
        let values: Vec<&Literal> = values.iter().collect();
        match format(pattern, &values) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        }
    }

    /// Expected texts are Java 17's.
    #[test]
    fn numbers_print_as_java_formats_them() {
        let double = Literal::Double;
        assert_eq!(
            show("%d|%5d|%-5d|%05d", &[1, 2, 3, -4].map(Literal::Int)),
            "1|    2|3    |-0004"
        );
        assert_eq!(
            show("%f %.2f %8.3f", &[1.0, 2.345, -3.5].map(double)),
            "1.000000 2.35   -3.500"
        );
        assert_eq!(
            show("%e %.1e", &[12345.678, 0.00012].map(double)),
            "1.234568e+04 1.2e-04"
        );
        assert_eq!(
            show("%g %g %g", &[0.0001, 123456.0, 1234567.0].map(double)),
            "0.000100000 123456 1.23457e+06"
        );
        assert_eq!(
            show("%+.1f %,d", &[double(2.0), Literal::Int(1_234_567)]),
            "+2.0 1,234,567"
        );
        assert_eq!(
            show("%5.1f|%f", &[f64::NAN, f64::NEG_INFINITY].map(double)),
            "  NaN|-Infinity"
        );
    }

    #[test]
    fn texts_and_booleans() {
        let values = [
            Literal::String("abc".into()),
            Literal::Boolean(true),
            Literal::Double(0.5),
        ];
        assert_eq!(show("%5s|%b|%s|100%%", &values), "  abc|true|0.5|100%");
        assert_eq!(show("%.2s%n", &values[..1]), "ab\n");
    }

    #[test]
    fn wrong_formats_say_what_is_expected() {
        let shown = [
            show("%d", &[Literal::Double(1.0)]),
            show("%f", &[Literal::Int(1)]),
            show("%q", &[Literal::Int(1)]),
            show("%d %d", &[Literal::Int(1)]),
            show("50%", &[]),
        ];
        insta::assert_snapshot!(shown.join("\n"), @r"
        validation error[E0300]: '%d' takes an int, not '1.0'
           = help: write '%f', or convert it with as.integer()
        validation error[E0300]: '%f' takes a number, not '1'
           = help: write '%d', or convert it with as.double()
        validation error[E0300]: there is no conversion '%q'
           = help: there are %d, %x, %f, %e, %g, %s, %b, %n and %%
        validation error[E0300]: the format '%d %d' asks for more values than are given
        validation error[E0300]: the format ends in the middle of a '%' conversion
           = help: write '%%' for a percent sign
        ");
    }
}
