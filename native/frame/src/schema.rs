//! The types that a column can have, by the names that SystemDS gives them.

use std::fmt;

use fulgurite_error::{Error, Result};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    String,
    Boolean,
    Int32,
    Int64,
    Fp32,
    Fp64,
}

impl ColumnType {
    /// The type of this name, in any case; `INT`, `LONG`, `DOUBLE` and their like are other names of the same types.
    ///
    /// # Errors
    /// `data` when no type has the name.
    ///
    /// ```
    /// use fulgurite_frame::ColumnType;
    /// assert_eq!(ColumnType::parse("double")?, ColumnType::Fp64);
    /// assert_eq!(ColumnType::parse("INT32")?.to_string(), "INT32");
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    pub fn parse(name: &str) -> Result<Self> {
        Ok(match name.trim().to_ascii_uppercase().as_str() {
            "STRING" | "CHARACTER" => ColumnType::String,
            "BOOLEAN" => ColumnType::Boolean,
            "INT32" | "INT" | "UINT4" | "UINT8" => ColumnType::Int32,
            "INT64" | "LONG" => ColumnType::Int64,
            "FP32" | "FLOAT" => ColumnType::Fp32,
            "FP64" | "DOUBLE" => ColumnType::Fp64,
            _ => {
                return Err(Error::data(format!("'{name}' is no type of a column"))
                    .with_help("types are STRING, BOOLEAN, INT32, INT64, FP32 and FP64"));
            }
        })
    }

    /// The type of a column with values of both: of numbers FP64, else text.
    #[must_use]
    pub fn common(self, other: ColumnType) -> ColumnType {
        let is_number = |kind| !matches!(kind, ColumnType::String | ColumnType::Boolean);
        match self == other {
            true => self,
            false if is_number(self) && is_number(other) => ColumnType::Fp64,
            false => ColumnType::String,
        }
    }

    /// The name in SystemDS.
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::String => "STRING",
            ColumnType::Boolean => "BOOLEAN",
            ColumnType::Int32 => "INT32",
            ColumnType::Int64 => "INT64",
            ColumnType::Fp32 => "FP32",
            ColumnType::Fp64 => "FP64",
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
