//! The types that columns have, and the type that two of them have in common.
//!
//! The rules are those of Polars 2.1. Text is `Utf8` or, coded, a dictionary of `Int32` keys; both are "String" to a user.

use arrow::datatypes::{DataType, TimeUnit};

/// The type of coded text.
pub fn coded_text() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The type of moments in time.
pub fn datetime() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

/// The type that a column of this Arrow type is kept as; `None` where tables have no such columns.
pub fn kept_as(kind: &DataType) -> Option<DataType> {
    Some(match kind {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::Date32
        | DataType::Decimal128(..) => kind.clone(),
        DataType::Decimal32(digits, scale) | DataType::Decimal64(digits, scale) => {
            DataType::Decimal128(*digits, *scale)
        }
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Timestamp(_, None) => datetime(),
        DataType::Dictionary(_, values) => match kept_as(values)? {
            DataType::Utf8 => coded_text(),
            other => other,
        },
        _ => return None,
    })
}

/// The name that users know a type by.
pub fn name(kind: &DataType) -> String {
    match kind {
        DataType::Utf8 => "String".to_owned(),
        DataType::Dictionary(..) => "String".to_owned(),
        DataType::Date32 => "Date".to_owned(),
        DataType::Timestamp(..) => "Datetime".to_owned(),
        DataType::Decimal128(digits, scale) => format!("Decimal({digits}, {scale})"),
        other => other.to_string(),
    }
}

/// The type that a plan names so in `cast`.
pub fn named(name: &str) -> Option<DataType> {
    Some(match name {
        "boolean" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float32" => DataType::Float32,
        "float64" => DataType::Float64,
        "string" => DataType::Utf8,
        "date" => DataType::Date32,
        "datetime" => datetime(),
        _ => return None,
    })
}

pub fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::Dictionary(..))
}

pub fn is_date(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Timestamp(..))
}

/// Whether it is a type whose columns are carried along and cast, and no more.
pub fn is_decimal(kind: &DataType) -> bool {
    matches!(kind, DataType::Decimal128(..))
}

/// Whether arithmetic takes it: integers and floating-point numbers.
pub fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating()
}

/// The integer type of so many bits.
fn integer(bits: usize, signed: bool) -> DataType {
    match (bits, signed) {
        (..=8, true) => DataType::Int8,
        (..=16, true) => DataType::Int16,
        (..=32, true) => DataType::Int32,
        (_, true) => DataType::Int64,
        (..=8, false) => DataType::UInt8,
        (..=16, false) => DataType::UInt16,
        (..=32, false) => DataType::UInt32,
        (_, false) => DataType::UInt64,
    }
}

/// The bits of a type of numbers.
fn bits(kind: &DataType) -> usize {
    8 * kind.primitive_width().unwrap_or(0)
}

/// The smallest integer type, signed where asked for, that has the value. `None` where there is none of 64 bits.
fn smallest(value: i128, signed: bool) -> Option<DataType> {
    [8, 16, 32, 64]
        .into_iter()
        .map(|bits| integer(bits, signed))
        .find(|kind| fits(value, kind))
}

/// Whether an integer type has the value.
pub fn fits(value: i128, kind: &DataType) -> bool {
    let bits = bits(kind) as u32;
    match kind.is_signed_integer() {
        true => value >= -(1i128 << (bits - 1)) && value < 1i128 << (bits - 1),
        false => value >= 0 && value < 1i128 << bits,
    }
}

/// The type that holds the values of both; `None` where there is none.
///
/// A signed and an unsigned integer of 64 bits have none: Polars takes 128 bits for them.
pub fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    if one == other {
        return Some(one.clone());
    }
    Some(match (one, other) {
        (DataType::Null, kind) | (kind, DataType::Null) => kind.clone(),
        _ if is_text(one) && is_text(other) => DataType::Utf8,
        (DataType::Boolean, kind) | (kind, DataType::Boolean) if is_number(kind) => kind.clone(),
        (DataType::Date32, DataType::Timestamp(..))
        | (DataType::Timestamp(..), DataType::Date32) => datetime(),
        _ if one.is_integer() && other.is_integer() => {
            let (one_bits, other_bits) = (bits(one), bits(other));
            match (one.is_signed_integer(), other.is_signed_integer()) {
                (true, true) => integer(one_bits.max(other_bits), true),
                (false, false) => integer(one_bits.max(other_bits), false),
                (one_signed, _) => {
                    let (signed, unsigned) = match one_signed {
                        true => (one_bits, other_bits),
                        false => (other_bits, one_bits),
                    };
                    if unsigned == 64 {
                        return None;
                    }
                    integer(signed.max(2 * unsigned), true)
                }
            }
        }
        _ if one.is_floating() && other.is_floating() => DataType::Float64,
        (float, kind) | (kind, float) if float.is_floating() && kind.is_integer() => {
            match *float == DataType::Float32 && bits(kind) <= 16 {
                true => DataType::Float32,
                false => DataType::Float64,
            }
        }
        _ => return None,
    })
}

/// Whether a type has a place for all values of another one.
pub fn has_all_values(to: &DataType, from: &DataType) -> bool {
    match to {
        DataType::Utf8 | DataType::Dictionary(..) => is_text(from),
        DataType::Float64 => is_number(from) || *from == DataType::Boolean,
        DataType::Timestamp(..) => is_date(from),
        other => common(other, from).is_some_and(|common| common == *other),
    }
}

/// The type that a whole number of the script takes beside a column of this type.
pub fn beside_integer(value: i128, kind: &DataType) -> Option<DataType> {
    Some(match kind {
        DataType::Null | DataType::Boolean => alone(value),
        _ if kind.is_floating() => kind.clone(),
        _ if kind.is_integer() && fits(value, kind) => kind.clone(),
        _ if kind.is_integer() => {
            let signed = kind.is_signed_integer() || value < 0;
            common(kind, &smallest(value, signed)?).unwrap_or(DataType::Int64)
        }
        _ => return None,
    })
}

/// The type that a floating-point number of the script takes beside a column of this type.
pub fn beside_float(kind: &DataType) -> Option<DataType> {
    match kind {
        DataType::Float32 => Some(DataType::Float32),
        DataType::Null | DataType::Boolean => Some(DataType::Float64),
        _ if is_number(kind) => Some(DataType::Float64),
        _ => None,
    }
}

/// The type of a whole number that stands beside no column.
pub fn alone(value: i128) -> DataType {
    if fits(value, &DataType::Int32) {
        DataType::Int32
    } else if fits(value, &DataType::Int64) {
        DataType::Int64
    } else {
        DataType::UInt64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_types_are_those_of_polars() {
        use DataType::*;
        let cases = [
            (Int8, UInt8, Some(Int16)),
            (Int32, UInt8, Some(Int32)),
            (Int8, UInt32, Some(Int64)),
            (Int64, UInt64, None),
            (Int8, Float32, Some(Float32)),
            (Int32, Float32, Some(Float64)),
            (UInt64, Float64, Some(Float64)),
            (Boolean, UInt8, Some(UInt8)),
            (Null, Utf8, Some(Utf8)),
            (coded_text(), Utf8, Some(Utf8)),
            (Date32, datetime(), Some(datetime())),
            (Utf8, Int8, None),
            (Date32, Int32, None),
        ];
        for (one, other, expected) in cases {
            assert_eq!(common(&one, &other), expected, "{one} {other}");
            assert_eq!(common(&other, &one), expected, "{other} {one}");
        }
    }

    #[test]
    fn numbers_of_the_script_take_the_types_of_columns() {
        use DataType::*;
        let cases = [
            (1, Int8, Int8),
            (300, Int8, Int16),
            (300, UInt8, UInt16),
            (-1, UInt8, Int16),
            (-1, UInt32, Int64),
            (-1, UInt64, Int64),
            (5_000_000_000, UInt32, UInt64),
            (5_000_000_000, Float32, Float32),
            (1, Boolean, Int32),
            (5_000_000_000, Null, Int64),
        ];
        for (value, kind, expected) in cases {
            assert_eq!(
                beside_integer(value, &kind),
                Some(expected),
                "{value} {kind}"
            );
        }
        assert_eq!(beside_integer(1, &Utf8), None);
        assert_eq!(beside_float(&Int8), Some(Float64));
        assert_eq!(beside_float(&Float32), Some(Float32));
    }
}
