//! The aggregates.

use arrow::datatypes::DataType;
use serde::Deserialize;

use crate::types;

/// One value of many. Nulls are skipped, but by `len`, `first`, `last` and `n_unique`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// Of no values 0. Integers wrap; small ones are added up as `Int64`, booleans as `UInt32`.
    Sum,
    Mean,
    /// NaN only where all are NaN.
    Min,
    Max,
    /// Of the values that are not null.
    Count,
    /// Of rows.
    Len,
    /// Null counts as a value.
    NUnique,
    First,
    Last,
    /// With `options.ddof`, 1 by default; null of too few values.
    Var,
    Std,
    Median,
    /// `options.quantile`, by `options.interpolation`.
    Quantile,
    /// Of no values false.
    Any,
    /// Of no values true.
    All,
}

impl Aggregate {
    pub const ALL: &[Aggregate] = &[
        Aggregate::Sum,
        Aggregate::Mean,
        Aggregate::Min,
        Aggregate::Max,
        Aggregate::Count,
        Aggregate::Len,
        Aggregate::NUnique,
        Aggregate::First,
        Aggregate::Last,
        Aggregate::Var,
        Aggregate::Std,
        Aggregate::Median,
        Aggregate::Quantile,
        Aggregate::Any,
        Aggregate::All,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Aggregate::Sum => "sum",
            Aggregate::Mean => "mean",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
            Aggregate::Count => "count",
            Aggregate::Len => "len",
            Aggregate::NUnique => "n_unique",
            Aggregate::First => "first",
            Aggregate::Last => "last",
            Aggregate::Var => "var",
            Aggregate::Std => "std",
            Aggregate::Median => "median",
            Aggregate::Quantile => "quantile",
            Aggregate::Any => "any",
            Aggregate::All => "all",
        }
    }

    /// The type of the argument that is worked on and that of the result; `None` for arguments that it does not take.
    ///
    /// Means of dates are moments: they are worked on as their microseconds.
    pub fn types(self, arg: &DataType) -> Option<(DataType, DataType)> {
        let is_plain = types::is_number(arg) || *arg == DataType::Boolean;
        let real = match arg {
            DataType::Float32 => DataType::Float32,
            _ => DataType::Float64,
        };
        let as_it_is = |result: DataType| Some((arg.clone(), result));
        match self {
            Aggregate::Count | Aggregate::Len => as_it_is(DataType::UInt32),
            _ if types::is_decimal(arg) => None,
            Aggregate::NUnique => as_it_is(DataType::UInt32),
            Aggregate::First | Aggregate::Last => as_it_is(arg.clone()),
            Aggregate::Any | Aggregate::All if is_plain || *arg == DataType::Null => {
                Some((DataType::Boolean, DataType::Boolean))
            }
            Aggregate::Any | Aggregate::All => None,
            _ if *arg == DataType::Null => as_it_is(DataType::Null),
            Aggregate::Min | Aggregate::Max => as_it_is(arg.clone()),
            Aggregate::Sum => match arg {
                DataType::Boolean => Some((DataType::UInt32, DataType::UInt32)),
                DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => {
                    Some((DataType::Int64, DataType::Int64))
                }
                kind if types::is_number(kind) => as_it_is(kind.clone()),
                _ => None,
            },
            Aggregate::Mean | Aggregate::Median | Aggregate::Quantile if types::is_date(arg) => {
                Some((types::datetime(), types::datetime()))
            }
            Aggregate::Quantile if *arg == DataType::Boolean => None,
            Aggregate::Mean
            | Aggregate::Var
            | Aggregate::Std
            | Aggregate::Median
            | Aggregate::Quantile => is_plain.then(|| (real.clone(), real)),
        }
    }
}
