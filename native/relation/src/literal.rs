//! Values that stand in a plan, and the options of functions.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use arrow::{
    array::{
        ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int16Array,
        Int32Array, Int64Array, StringArray, TimestampMicrosecondArray, UInt8Array, UInt16Array,
        UInt32Array, UInt64Array, new_null_array,
    },
    datatypes::DataType,
};
use fulgurite_error::{Error, Result};
use rustc_hash::FxHashSet;
use serde::Deserialize;

use crate::types;

/// A value of the script.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Boolean(bool),
    /// Within 64 bits, signed or not.
    Integer(i128),
    Float(f64),
    String(Arc<str>),
    /// Days since 1970.
    Date(i32),
    /// Microseconds since 1970.
    Datetime(i64),
}

/// The form in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    lit: serde_json::Value,
    #[serde(rename = "type")]
    kind: String,
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { lit, kind } = Written::deserialize(deserializer)?;
        Literal::from_json(&lit, &kind).map_err(|error| serde::de::Error::custom(error.message()))
    }
}

impl Literal {
    /// The value that a plan in JSON has.
    ///
    /// # Errors
    /// `plan` for a value that is not of the type; `data` for an integer of more than 64 bits.
    pub fn from_json(value: &serde_json::Value, kind: &str) -> Result<Literal> {
        let wrong = || Error::plan(format!("{value} is no literal of the type '{kind}'"));
        Ok(match kind {
            "null" if value.is_null() => Literal::Null,
            "boolean" => Literal::Boolean(value.as_bool().ok_or_else(wrong)?),
            "int" => match (value.as_i64(), value.as_u64()) {
                (Some(value), _) => Literal::Integer(value.into()),
                (_, Some(value)) => Literal::Integer(value.into()),
                _ if value.is_number() => {
                    return Err(Error::data(format!(
                        "the integer {value} needs more than 64 bits"
                    ))
                    .with_help("write it as a floating-point number"));
                }
                _ => return Err(wrong()),
            },
            "float" => Literal::Float(match value.as_str() {
                Some("NaN") => f64::NAN,
                Some("inf") => f64::INFINITY,
                Some("-inf") => f64::NEG_INFINITY,
                _ => value.as_f64().ok_or_else(wrong)?,
            }),
            "string" => Literal::String(value.as_str().ok_or_else(wrong)?.into()),
            "date" => {
                let days = value.as_i64().and_then(|days| i32::try_from(days).ok());
                Literal::Date(days.ok_or_else(wrong)?)
            }
            "datetime" => Literal::Datetime(value.as_i64().ok_or_else(wrong)?),
            _ => return Err(wrong()),
        })
    }

    /// Its type where it stands beside no column.
    pub fn data_type(&self) -> DataType {
        match self {
            Literal::Null => DataType::Null,
            Literal::Boolean(_) => DataType::Boolean,
            Literal::Integer(value) => types::alone(*value),
            Literal::Float(_) => DataType::Float64,
            Literal::String(_) => DataType::Utf8,
            Literal::Date(_) => DataType::Date32,
            Literal::Datetime(_) => types::datetime(),
        }
    }

    /// As an array of one value, of a type that takes it. Integers wrap: the types of literals have room for them.
    ///
    /// # Errors
    /// `internal` for a type that does not take it.
    pub fn to_array(&self, kind: &DataType) -> Result<ArrayRef> {
        let days = |value: i32| i64::from(value) * 86_400_000_000;
        Ok(match (self, kind) {
            (Literal::Null, _) => new_null_array(kind, 1),
            (Literal::Boolean(value), DataType::Boolean) => {
                Arc::new(BooleanArray::from(vec![*value]))
            }
            (Literal::Boolean(value), _) => {
                return Literal::Integer(i128::from(*value)).to_array(kind);
            }
            (Literal::Integer(v), DataType::Int8) => Arc::new(Int8Array::from(vec![*v as i8])),
            (Literal::Integer(v), DataType::Int16) => Arc::new(Int16Array::from(vec![*v as i16])),
            (Literal::Integer(v), DataType::Int32) => Arc::new(Int32Array::from(vec![*v as i32])),
            (Literal::Integer(v), DataType::Int64) => Arc::new(Int64Array::from(vec![*v as i64])),
            (Literal::Integer(v), DataType::UInt8) => Arc::new(UInt8Array::from(vec![*v as u8])),
            (Literal::Integer(v), DataType::UInt16) => Arc::new(UInt16Array::from(vec![*v as u16])),
            (Literal::Integer(v), DataType::UInt32) => Arc::new(UInt32Array::from(vec![*v as u32])),
            (Literal::Integer(v), DataType::UInt64) => Arc::new(UInt64Array::from(vec![*v as u64])),
            (Literal::Integer(v), DataType::Boolean) => Arc::new(BooleanArray::from(vec![*v != 0])),
            (Literal::Integer(v), _) => return Literal::Float(*v as f64).to_array(kind),
            (Literal::Float(v), DataType::Float32) => Arc::new(Float32Array::from(vec![*v as f32])),
            (Literal::Float(v), DataType::Float64) => Arc::new(Float64Array::from(vec![*v])),
            (Literal::String(v), DataType::Utf8) => Arc::new(StringArray::from(vec![&**v])),
            (Literal::Date(v), DataType::Date32) => Arc::new(Date32Array::from(vec![*v])),
            (Literal::Date(v), DataType::Timestamp(..)) => {
                Arc::new(TimestampMicrosecondArray::from(vec![days(*v)]))
            }
            (Literal::Datetime(v), DataType::Timestamp(..)) => {
                Arc::new(TimestampMicrosecondArray::from(vec![*v]))
            }
            (
                Literal::Float(_) | Literal::String(_) | Literal::Date(_) | Literal::Datetime(_),
                _,
            ) => {
                return Err(Error::internal(format!("the literal {self} as {kind}")));
            }
        })
    }
}

/// As Python writes it.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("None"),
            Literal::Boolean(true) => f.write_str("True"),
            Literal::Boolean(false) => f.write_str("False"),
            Literal::Integer(value) => write!(f, "{value}"),
            Literal::Float(value) if value.is_nan() => f.write_str("float(\"nan\")"),
            Literal::Float(value) if value.is_infinite() => {
                write!(f, "float(\"{value}\")")
            }
            Literal::Float(value) => write!(f, "{value:?}"),
            Literal::String(value) => write!(f, "{value:?}"),
            Literal::Date(days) => {
                let (year, month, day) = civil(i64::from(*days));
                write!(f, "date({year}, {month}, {day})")
            }
            Literal::Datetime(micros) => {
                let (year, month, day) = civil(micros.div_euclid(86_400_000_000));
                let time = micros.rem_euclid(86_400_000_000);
                let (seconds, micros) = (time / 1_000_000, time % 1_000_000);
                let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
                write!(
                    f,
                    "datetime({year}, {month}, {day}, {hour}, {minute}, {second}"
                )?;
                match micros {
                    0 => f.write_str(")"),
                    _ => write!(f, ", {micros})"),
                }
            }
        }
    }
}

/// Year, month and day of so many days since 1970, in the proleptic Gregorian calendar
/// (Hinnant, "chrono-compatible low-level date algorithms").
pub fn civil(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u8, day as u8)
}

/// How a quantile between two values is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interpolation {
    #[default]
    Nearest,
    Linear,
    Lower,
    Higher,
    Midpoint,
    Equiprobable,
}

/// The values of a list as a kernel looks them up: made by the first task that does.
#[derive(Debug, Default)]
pub struct Members {
    numbers: OnceLock<(DataType, FxHashSet<u64>)>,
    texts: OnceLock<FxHashSet<Arc<str>>>,
}

impl Members {
    /// The keys of numbers of a type.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn numbers(
        &self,
        kind: &DataType,
        make: impl Fn() -> Result<FxHashSet<u64>>,
    ) -> Result<Cow<'_, FxHashSet<u64>>> {
        if self.numbers.get().is_none() {
            // Another thread may be faster.
            let _ = self.numbers.set((kind.clone(), make()?));
        }
        match self.numbers.get() {
            Some((of, keys)) if of == kind => Ok(Cow::Borrowed(keys)),
            _ => make().map(Cow::Owned),
        }
    }

    /// The texts.
    pub fn texts(&self, make: impl FnOnce() -> FxHashSet<Arc<str>>) -> &FxHashSet<Arc<str>> {
        self.texts.get_or_init(make)
    }
}

impl Clone for Members {
    fn clone(&self) -> Self {
        // The copy may be for another type.
        Members::default()
    }
}

impl PartialEq for Members {
    fn eq(&self, _: &Self) -> bool {
        // They follow from the values.
        true
    }
}

/// What functions and aggregates take beside their arguments.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub pattern: Option<Arc<str>>,
    pub literal: bool,
    pub prefix: Option<Arc<str>>,
    pub suffix: Option<Arc<str>>,
    pub characters: Option<Arc<str>>,
    pub value: Option<Arc<str>>,
    pub values: Option<Vec<Literal>>,
    #[serde(skip)]
    pub members: Members,
    pub nulls_equal: bool,
    pub offset: Option<i64>,
    pub length: Option<i64>,
    pub n: Option<i64>,
    pub group: Option<usize>,
    pub decimals: Option<i32>,
    pub base: Option<f64>,
    pub quantile: Option<f64>,
    pub interpolation: Interpolation,
    pub ddof: Option<u32>,
}
