//! What is known of a file: `.mtd` files and the parameters of `read`.

use fulgurite_error::{Error, Result};
use serde_json::{Map, Value, json};

/// How a file's cells are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    Csv,
    /// `row column value` lines.
    Text,
    MatrixMarket,
    /// `label index:value ...` lines; the label is the last column.
    Libsvm,
    /// Read and written by Spark only.
    Parquet,
    /// Objects, one in each line; of frames alone.
    JsonLines,
    /// Blocks in Arrow's IPC format.
    Binary,
}

impl FileFormat {
    const ALL: [FileFormat; 7] = [
        FileFormat::Csv,
        FileFormat::Text,
        FileFormat::MatrixMarket,
        FileFormat::Libsvm,
        FileFormat::Parquet,
        FileFormat::JsonLines,
        FileFormat::Binary,
    ];

    /// The name in scripts and `.mtd` files.
    pub fn code(self) -> &'static str {
        match self {
            FileFormat::Csv => "csv",
            FileFormat::Text => "text",
            FileFormat::MatrixMarket => "mm",
            FileFormat::Libsvm => "libsvm",
            FileFormat::Parquet => "parquet",
            FileFormat::JsonLines => "jsonl",
            FileFormat::Binary => "binary",
        }
    }

    /// In any case of letters.
    pub fn from_code(code: &str) -> Option<Self> {
        FileFormat::ALL
            .into_iter()
            .find(|format| format.code().eq_ignore_ascii_case(code))
    }
}

/// Parameters of a file; `None` where nothing is said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    /// `matrix`, `scalar` or `frame`.
    pub data_type: Option<String>,
    /// `double`, `int`, `boolean` or `string`.
    pub value_type: Option<String>,
    pub rows: Option<u64>,
    pub cols: Option<u64>,
    pub nnz: Option<u64>,
    pub format: Option<FileFormat>,
    pub header: Option<bool>,
    pub separator: Option<String>,
    pub fill: Option<bool>,
    pub default: Option<f64>,
    /// Types of a frame's columns, with commas between them.
    pub schema: Option<String>,
    /// Texts that stand for NaN; an empty one leaves empty cells what they are.
    pub na_strings: Option<Vec<String>>,
}

impl Metadata {
    /// Reads a `.mtd` file's text. Unknown keys are left alone; numbers and booleans may be quoted; sizes
    /// of -1 are unknown.
    ///
    /// # Errors
    /// `data` when it is no JSON object or a value is of the wrong kind.
    pub fn parse(text: &str) -> Result<Self> {
        let map: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| Error::data(format!("not a JSON object: {error}")))?;
        let mut metadata = Metadata::default();
        for (key, value) in &map {
            let wrong = || Error::data(format!("the key '{key}' cannot be {value}"));
            match key.as_str() {
                "data_type" => metadata.data_type = Some(lower(value).ok_or_else(wrong)?),
                "value_type" => metadata.value_type = Some(lower(value).ok_or_else(wrong)?),
                "rows" => metadata.rows = size(value).ok_or_else(wrong)?,
                "cols" => metadata.cols = size(value).ok_or_else(wrong)?,
                "nnz" => metadata.nnz = size(value).ok_or_else(wrong)?,
                "format" => {
                    let code = value.as_str().and_then(FileFormat::from_code);
                    metadata.format = Some(code.ok_or_else(wrong)?);
                }
                "header" => metadata.header = Some(boolean(value).ok_or_else(wrong)?),
                "fill" => metadata.fill = Some(boolean(value).ok_or_else(wrong)?),
                "sep" => {
                    metadata.separator = Some(value.as_str().ok_or_else(wrong)?.to_owned());
                }
                "default" => metadata.default = Some(number(value).ok_or_else(wrong)?),
                "schema" => {
                    metadata.schema = Some(value.as_str().ok_or_else(wrong)?.to_owned());
                }
                "na.strings" | "naStrings" => {
                    metadata.na_strings = Some(strings(value).ok_or_else(wrong)?)
                }
                _ => {}
            }
        }
        Ok(metadata)
    }

    /// The text of a `.mtd` file.
    pub fn to_json(&self) -> String {
        let mut map = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(key.to_owned(), value);
            }
        };
        put("data_type", self.data_type.as_ref().map(|text| json!(text)));
        put(
            "value_type",
            self.value_type.as_ref().map(|text| json!(text)),
        );
        put("rows", self.rows.map(|size| json!(size)));
        put("cols", self.cols.map(|size| json!(size)));
        put("nnz", self.nnz.map(|size| json!(size)));
        put("format", self.format.map(|format| json!(format.code())));
        put("header", self.header.map(|header| json!(header)));
        put("sep", self.separator.as_ref().map(|text| json!(text)));
        put("fill", self.fill.map(|fill| json!(fill)));
        put("default", self.default.map(|default| json!(default)));
        put(
            "na.strings",
            self.na_strings.as_ref().map(|list| json!(list)),
        );
        put("schema", self.schema.as_ref().map(|text| json!(text)));
        put("author", Some(json!("Fulgurite")));
        format!("{:#}\n", Value::Object(map))
    }

    /// Whether somebody has said what empty cells of a csv file are; otherwise they are zeros.
    pub fn says_what_empty_cells_are(&self) -> bool {
        self.fill.is_some() || self.default.is_some()
    }

    /// What the call says, completed by the file's own metadata.
    ///
    /// # Errors
    /// `argument` where the two contradict each other.
    pub fn or(self, file: Metadata) -> Result<Metadata> {
        Ok(Metadata {
            data_type: either("data_type", self.data_type, file.data_type)?,
            value_type: either("value_type", self.value_type, file.value_type)?,
            rows: either("rows", self.rows, file.rows)?,
            cols: either("cols", self.cols, file.cols)?,
            nnz: either("nnz", self.nnz, file.nnz)?,
            format: either("format", self.format, file.format)?,
            header: either("header", self.header, file.header)?,
            separator: either("sep", self.separator, file.separator)?,
            fill: either("fill", self.fill, file.fill)?,
            default: either("default", self.default, file.default)?,
            schema: either("schema", self.schema, file.schema)?,
            na_strings: either("na.strings", self.na_strings, file.na_strings)?,
        })
    }
}

fn either<T: PartialEq + std::fmt::Debug>(
    key: &str,
    call: Option<T>,
    file: Option<T>,
) -> Result<Option<T>> {
    match (&call, &file) {
        (Some(in_call), Some(in_file)) if in_call != in_file => Err(Error::argument(format!(
            "'{key}' is {in_call:?} in the call and {in_file:?} in the file's metadata"
        ))
        .with_help("leave the parameter out of the call, or correct the .mtd file")),
        _ => Ok(call.or(file)),
    }
}

fn lower(value: &Value) -> Option<String> {
    value.as_str().map(str::to_ascii_lowercase)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => crate::parse_double(text.trim()),
        other => other.as_f64(),
    }
}

/// `Some(None)` for -1.
fn size(value: &Value) -> Option<Option<u64>> {
    let size = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_i64()?,
    };
    match size {
        -1 => Some(None),
        size => u64::try_from(size).ok().map(Some),
    }
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}
