//! Files, which a script reads and writes.

use std::borrow::Cow;

use fulgurite_error::Result;
use serde::{Deserialize, Serialize};

use super::{
    call::Call,
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Input, Inputs, Memory, Operator, Purity,
        Zeros,
    },
};
use crate::{Characteristics, DataType, ValueType, variable_info::VariableInfo};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FileFormat {
    #[serde(rename = "csv")]
    Csv,
    #[serde(rename = "text")]
    Text,
    #[serde(rename = "mm")]
    MatrixMarket,
    #[serde(rename = "binary")]
    Binary,
    /// The label is the last column.
    #[serde(rename = "libsvm")]
    Libsvm,
    #[serde(rename = "parquet")]
    Parquet,
    /// Of frames alone.
    #[serde(rename = "jsonl")]
    JsonLines,
}

impl FileFormat {
    pub const ALL: &'static [FileFormat] = &[
        FileFormat::Csv,
        FileFormat::Text,
        FileFormat::MatrixMarket,
        FileFormat::Binary,
        FileFormat::Libsvm,
        FileFormat::Parquet,
        FileFormat::JsonLines,
    ];

    pub fn code(self) -> &'static str {
        match self {
            FileFormat::Csv => "csv",
            FileFormat::Text => "text",
            FileFormat::MatrixMarket => "mm",
            FileFormat::Binary => "binary",
            FileFormat::Libsvm => "libsvm",
            FileFormat::Parquet => "parquet",
            FileFormat::JsonLines => "jsonl",
        }
    }

    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.code() == code)
    }
}

/// Parameters of `read`; what is not given comes from the `.mtd` file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    pub format: Option<FileFormat>,
    pub rows: Option<u64>,
    pub cols: Option<u64>,
    pub nnz: Option<u64>,
    pub separator: Option<String>,
    pub header: Option<bool>,
    pub fill: Option<bool>,
    #[serde(with = "crate::literal::optional_double")]
    pub default: Option<f64>,
    pub na_strings: Option<Vec<String>>,
    pub data_type: Option<crate::DataType>,
    pub value_type: Option<crate::ValueType>,
    /// Types of a frame's columns, with commas between them.
    pub schema: Option<String>,
}

/// Parameters of `write`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WriteOptions {
    /// `text` where the script gives none.
    pub format: Option<FileFormat>,
    /// The format as a string scalar among the inputs (the third), where the script computes it.
    pub format_is_input: bool,
    pub separator: Option<String>,
    pub header: Option<bool>,
    pub sparse: Option<bool>,
}

const PATH: Input = ("path", Accepts::Scalar);
const FORMAT: Input = ("format", Accepts::Scalar);
const VALUE: Input = ("value", Accepts::Any);

impl Operator for ReadOptions {
    fn code(&self) -> Cow<'static, str> {
        "PRead".into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "Reads a file.",
            inputs: Inputs::of(&[PATH]),
            gives: Gives::Usually(DataType::Matrix, ValueType::Double),
            purity: Purity::Pure,
            finite: Finite::Unknown,
            certain: Certain::No,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: Form::Function("read"),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let declared = call.declared();
        let data_type = self.data_type.unwrap_or(declared.data_type);
        let known = declared.characteristics;
        Ok(VariableInfo {
            data_type,
            value_type: self.value_type.unwrap_or(declared.value_type),
            characteristics: match data_type {
                DataType::Scalar => Characteristics::SCALAR,
                DataType::Matrix | DataType::Frame | DataType::List => Characteristics {
                    rows: self.rows.or(known.rows),
                    cols: self.cols.or(known.cols),
                    nnz: self.nnz.or(known.nnz),
                },
            },
            constant: None,
        })
    }
}

impl Operator for WriteOptions {
    fn code(&self) -> Cow<'static, str> {
        "PWrite".into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "Writes a file.",
            inputs: Inputs::of(match self.format_is_input {
                true => &[VALUE, PATH, FORMAT],
                false => &[VALUE, PATH],
            }),
            gives: Gives::Input,
            purity: Purity::Effect,
            finite: Finite::Unknown,
            certain: Certain::No,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory::COORDINATES,
            form: Form::Function("write"),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(VariableInfo {
            constant: None,
            ..call.input(0).clone()
        })
    }
}
