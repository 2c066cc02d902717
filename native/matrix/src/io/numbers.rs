//! Numbers in text files: exact, and without a look for the end of a word first.
//!
//! [`leading_number`] reads a number in plain spelling, as almost all cells are, at the front of a text. [`number`] takes a word
//! and knows all spellings. Both give the bits of `f64::from_str`.

/// A number that the text begins with, and its bytes: digits, a point and an exponent, after a minus sign or none. `None` where
/// something else stands there; [`number`] may know it then.
#[inline]
pub(super) fn leading_number(text: &[u8]) -> Option<(f64, usize)> {
    /// A whole number of so many digits is a double.
    const MOST_DIGITS: usize = f64::DIGITS as usize;
    let sign = usize::from(text.first() == Some(&b'-'));
    let (whole, count) = digits(text.get(sign..)?, MOST_DIGITS);
    let end = sign + count;
    match text.get(end) {
        _ if count == 0 => None,
        Some(b'0'..=b'9' | b'.' | b'e' | b'E') => fast_float2::parse_partial(text).ok(),
        // Half the time of the library, for what counts, labels and flags are.
        _ => {
            let value = whole as f64;
            Some((if sign == 1 { -value } else { value }, end))
        }
    }
}

/// The digits that the text begins with, at most so many: as a number, and how many there are.
#[inline]
fn digits(text: &[u8], most: usize) -> (i64, usize) {
    let (mut value, mut count) = (0, 0);
    let digits = text.iter().map(|byte| byte.wrapping_sub(b'0'));
    for digit in digits.take_while(|digit| *digit <= 9).take(most) {
        value = 10 * value + i64::from(digit);
        count += 1;
    }
    (value, count)
}

/// A number in a file. Infinities and NaN are `Infinity`, `inf` and `NaN` in any case, with or without sign: as Java, NumPy and
/// C write them.
pub(super) fn number(word: &[u8]) -> Option<f64> {
    if let Some((value, bytes)) = leading_number(word)
        && bytes == word.len()
    {
        return Some(value);
    }
    let value: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    Some(if value.is_nan() { f64::NAN } else { value })
}

/// A whole number without a sign that the text begins with, and its bytes. `None` where there is none, and for numbers that may be
/// too large.
#[inline]
pub(super) fn leading_whole(text: &[u8]) -> Option<(usize, usize)> {
    const MOST_DIGITS: usize = i64::MAX.ilog10() as usize;
    let (value, count) = digits(text, MOST_DIGITS);
    let is_all = !text.get(count).is_some_and(u8::is_ascii_digit);
    let value = usize::try_from(value).ok()?;
    (count > 0 && is_all).then_some((value, count))
}

pub(super) fn whole_number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(text: &str) {
        let expected: f64 = text.parse().unwrap();
        let found = number(text.as_bytes());
        assert_eq!(found.map(f64::to_bits), Some(expected.to_bits()), "{text}");
        // The text may go on with anything that no number has.
        for end in ["", ",1", "\n2", " 3", ";"] {
            if let Some((value, bytes)) = leading_number(format!("{text}{end}").as_bytes()) {
                assert_eq!(
                    (value.to_bits(), bytes),
                    (expected.to_bits(), text.len()),
                    "{text}"
                );
            }
        }
    }

    /// Numbers that lie at, just below or just above the middle of two doubles, the least and the greatest ones, and odd spellings.
    #[test]
    fn hard_numbers_are_read_as_the_standard_library_reads_them() {
        let zeros = "0".repeat(800);
        let mut hard: Vec<String> = [
            "9007199254740991",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.0000000000000000000000000000000000000001",
            "9007199254740994.9999999999999999999999999999999999999999",
            "9007199254740995",
            "18014398509481986",
            "4611686018427387904.5",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "1.00000000000000011102230246251565404236316680908203124",
            "1.00000000000000011102230246251565404236316680908203125",
            "1.00000000000000011102230246251565404236316680908203126",
            "1.00000000000000033306690738754696212708950042724609374",
            "1.00000000000000033306690738754696212708950042724609375",
            "0.500000000000000166533453693773481063544750213623046875",
            "3.518437208883201171875e13",
            "62.5364939768271845828",
            "8.10109172351e-10",
            "1.50000000000000011102230246251565",
            "8.988465674311580536566680721305e307",
            "1448997445238699",
            "5708990770823839524233143877797980545530986496",
            "4951760157141521099596496896",
            "123456789012345678901234567890.123456789e-17",
            "7.2057594037927933e16",
            "6.631236846766476e-316",
            "3.2378839133029012895883524125015321748630994386617e-319",
            "4.9406564584124654e-324",
            "4.9406564584124654417656879286822137236505980e-324",
            "2.4703282292062327208299396431411068618252990e-324",
            "2.4703282292062328e-324",
            "2.47032822920623272e-324",
            "7.4109846876186981626485318930233205854758970e-324",
            "2.2250738585072011e-308",
            "2.2250738585072012e-308",
            "2.2250738585072013830902327173324040642192159804623318306e-308",
            "2.2250738585072014e-308",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1.797693134862315807e308",
            "179769313486231580793728971405301e276",
            "1e308",
            "1e309",
            "1e999999999999",
            "1e-400",
            "1e-999999999999",
            "0e999999999999",
            "0",
            "00",
            "000000000000000000000000000000000000001",
            "0007.50",
            "1.",
            "1.e3",
            "0.0",
            "1e+5",
            "1E-5",
            "1e05",
            "1e00005",
            ".5",
            "+1.5",
            "+.5e-3",
            "+0",
        ]
        .map(str::to_owned)
        .into();
        hard.push(format!("1{zeros}e-800"));
        hard.push(format!("0.{zeros}1e800"));
        hard.push(format!("9007199254740993{zeros}1e-801"));
        hard.push(format!("9007199254740993.{zeros}1"));
        for text in hard {
            same(&text);
            if !text.starts_with('+') {
                same(&format!("-{text}"));
            }
        }
    }

    #[test]
    fn decimals_are_read_as_the_standard_library_reads_them() {
        const NUMBERS: usize = 100_000;
        let mut state = 88_172_645_463_325_252u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for form in (0..8).cycle().take(NUMBERS) {
            let (bits, digits) = (next(), next() >> (next() % 64));
            let exponent = (next() % 700) as i64 - 350;
            same(&match form {
                0 => format!("{:e}", f64::from_bits(bits & !(1 << 62))),
                1 => format!("{}", (bits >> 11) as f64 / (1u64 << 53) as f64),
                2 => format!("-{}.{digits}", bits % 1000),
                3 => format!("{digits}"),
                4 => format!("{digits}e{exponent}"),
                5 => format!("{digits}.{bits}E{exponent}"),
                // The middle of two doubles, and its neighbours.
                6 => format!(
                    "{}",
                    (u128::from(bits >> 11 | 1 << 52) * 2 + 1) << (digits % 60)
                ),
                _ => format!("0.{:019}{digits}", bits >> (digits % 64)),
            });
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        let others = [
            "", "-", "+", ".", "e5", "1e", "1e+", "1.5.", "1,5", "0x10", "1_000", "--1", "+-1",
            "1 ", " 1", "1f", "in", "nanx", "\u{661}",
        ];
        for text in others {
            assert_eq!(number(text.as_bytes()), None, "{text}");
            assert!(text.parse::<f64>().is_err(), "{text}");
        }
        assert_eq!(number(b"\xff"), None);
        for text in ["inf", "-Infinity", "+INF", "NaN", "-nan"] {
            assert_eq!(leading_number(text.as_bytes()), None);
            assert!(number(text.as_bytes()).is_some());
        }
    }

    #[test]
    fn whole_numbers_end_where_their_digits_do() {
        assert_eq!(leading_whole(b"0120 7"), Some((120, 4)));
        assert_eq!(leading_whole(b"5"), Some((5, 1)));
        for text in ["", "-1", "+1", " 1", "x", "18446744073709551616"] {
            assert_eq!(leading_whole(text.as_bytes()), None, "{text}");
        }
    }
}
