//! What is done to each column, as SystemDS's JSON says it.

use std::sync::Arc;

use fulgurite_error::{Error, Result};
use serde_json::{Map, Value};

use crate::{
    Frame,
    json::{bad, count, object_of},
};

/// How numbers are put into bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binning {
    /// Bins of one width between the smallest and the largest number.
    EquiWidth,
    /// Bins of about as many rows each.
    EquiHeight,
}

/// How a column becomes numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Its cells are numbers.
    Pass,
    Recode,
    Bin {
        method: Binning,
        bins: usize,
    },
    Hash {
        buckets: usize,
    },
    Scale(Scaling),
    /// The row of an embedding that its code says.
    Embed,
}

/// How numbers are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    MeanSubtraction,
    /// By the standard deviation, too.
    ZScore,
}

/// What takes the place of missing cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filling {
    Mean,
    /// The most frequent value.
    Mode,
    Constant(Arc<str>),
}

/// What is done to a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSpec {
    pub coding: Coding,
    /// A column of the matrix for each code.
    pub dummycode: bool,
    pub fill: Option<Filling>,
    /// Rows where it misses a value are left out.
    pub omit: bool,
}

/// A specification.
#[derive(Debug, Clone)]
pub struct Spec(Map<String, Value>);

impl Spec {
    /// Reads JSON, in which names need no quotes: `{ids: true, recode: [1], bin: [{id: 2, method: equi-width, numbins: 5}]}`.
    ///
    /// # Errors
    /// `syntax` when it does not parse; `unsupported`, with the path, for keys that are not known here.
    pub fn parse(text: &str) -> Result<Self> {
        let keys = object_of(text)?;
        for key in keys.keys() {
            match key.as_str() {
                "ids" | "recode" | "dummycode" | "bin" | "hash" | "K" | "impute" | "omit"
                | "scale" | "word_embedding" => {}
                "udf" => {
                    return Err(Error::unsupported(format!(
                        "$.{key}: '{key}' of a specification"
                    )));
                }
                _ => {
                    return Err(Error::data(format!(
                        "$.{key}: a specification has no key '{key}'"
                    )));
                }
            }
        }
        Ok(Spec(keys))
    }

    /// What is done to each column of this frame.
    ///
    /// # Errors
    /// `data` with the path in the JSON: columns that are not there, or are coded twice.
    pub fn columns(&self, frame: &Frame) -> Result<Vec<ColumnSpec>> {
        let by_ids = match self.0.get("ids") {
            None => false,
            Some(Value::Bool(by_ids)) => *by_ids,
            Some(other) => return Err(bad("$.ids", "true or false", other)),
        };
        let find = |path: &str, value: &Value| -> Result<usize> {
            match (by_ids, value) {
                (true, Value::Number(id)) => id
                    .as_u64()
                    .and_then(|id| usize::try_from(id).ok())
                    .filter(|id| (1..=frame.cols()).contains(id))
                    .map(|id| id - 1)
                    .ok_or_else(|| {
                        Error::data(format!(
                            "{path}: the frame has {} columns, not {id}",
                            frame.cols()
                        ))
                    }),
                (false, Value::String(name)) => frame.find(name).map_err(|error| {
                    let message = format!("{path}: {}", error.message());
                    error.with_message(message)
                }),
                (true, other) => Err(bad(path, "a number, as ids is true", other)),
                (false, other) => Err(bad(path, "a name, as ids is false", other)),
            }
        };
        let pass = ColumnSpec {
            coding: Coding::Pass,
            dummycode: false,
            fill: None,
            omit: false,
        };
        let mut columns: Vec<_> = std::iter::repeat_n(pass, frame.cols()).collect();
        let mut set = |path: &str, col: usize, coding: Coding| match columns[col].coding {
            Coding::Pass => {
                columns[col].coding = coding;
                Ok(())
            }
            _ => Err(Error::data(format!(
                "{path}: column '{}' is coded twice",
                frame.names()[col]
            ))),
        };
        for (path, value) in self.entries("recode")? {
            set(&path, find(&path, value)?, Coding::Recode)?;
        }
        let hashed = self.entries("hash")?;
        if !hashed.is_empty() {
            let buckets = count("$.K", self.0.get("K"))?;
            for (path, value) in hashed {
                set(&path, find(&path, value)?, Coding::Hash { buckets })?;
            }
        }
        let key = if by_ids { "id" } else { "name" };
        for (path, value) in self.entries("word_embedding")? {
            set(&path, find(&path, value)?, Coding::Embed)?;
        }
        for (path, value) in self.entries("scale")? {
            let (scale, column) = object(&path, value, key, "method")?;
            let scaling = match scale.get("method").and_then(Value::as_str) {
                Some("mean-subtraction") => Scaling::MeanSubtraction,
                Some("z-score") => Scaling::ZScore,
                other => {
                    let other = other.unwrap_or("missing");
                    return Err(Error::data(format!(
                        "{path}.method: mean-subtraction or z-score, not {other}"
                    )));
                }
            };
            set(&path, find(&path, column)?, Coding::Scale(scaling))?;
        }
        for (path, value) in self.entries("bin")? {
            let (bin, column) = object(&path, value, key, "method and numbins")?;
            let method = match bin.get("method").and_then(Value::as_str) {
                Some("equi-width") => Binning::EquiWidth,
                Some("equi-height") => Binning::EquiHeight,
                other => {
                    let other = other.unwrap_or("missing");
                    return Err(Error::data(format!(
                        "{path}.method: equi-width or equi-height, not {other}"
                    )));
                }
            };
            let bins = count(&format!("{path}.numbins"), bin.get("numbins"))?;
            set(&path, find(&path, column)?, Coding::Bin { method, bins })?;
        }
        for (path, value) in self.entries("dummycode")? {
            let col = find(&path, value)?;
            let column = &mut columns[col];
            if matches!(column.coding, Coding::Scale(_) | Coding::Embed) {
                return Err(Error::data(format!(
                    "{path}: column '{}' is coded twice",
                    frame.names()[col]
                )));
            }
            column.dummycode = true;
            if column.coding == Coding::Pass {
                column.coding = Coding::Recode;
            }
        }
        for (path, value) in self.entries("omit")? {
            columns[find(&path, value)?].omit = true;
        }
        for (path, value) in self.entries("impute")? {
            let (impute, column) = object(&path, value, key, "method")?;
            let filling = match impute.get("method").and_then(Value::as_str) {
                Some("global_mean") => Filling::Mean,
                Some("global_mode") => Filling::Mode,
                Some("constant") => Filling::Constant(match impute.get("value") {
                    Some(Value::String(text)) => text.as_str().into(),
                    Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string().into(),
                    other => {
                        let path = format!("{path}.value");
                        return Err(bad(
                            &path,
                            "a text or number",
                            other.unwrap_or(&Value::Null),
                        ));
                    }
                }),
                other => {
                    let other = other.unwrap_or("missing");
                    return Err(Error::data(format!(
                        "{path}.method: global_mean, global_mode or constant, not {other}"
                    )));
                }
            };
            let col = find(&path, column)?;
            let is_category = matches!(
                columns[col].coding,
                Coding::Recode | Coding::Hash { .. } | Coding::Embed
            );
            if filling == Filling::Mean && is_category {
                return Err(Error::data(format!(
                    "{path}.method: the categories of column '{}' have no mean",
                    frame.names()[col]
                ))
                .with_help("take global_mode"));
            }
            columns[col].fill = Some(filling);
        }
        Ok(columns)
    }

    /// The entries of a list with their paths. The older form has them under `attributes`.
    fn entries(&self, key: &str) -> Result<Vec<(String, &Value)>> {
        let (path, value) = match self.0.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Object(older)) => (format!("$.{key}.attributes"), older.get("attributes")),
            Some(value) => (format!("$.{key}"), Some(value)),
        };
        match value {
            Some(Value::Array(entries)) => {
                let entries = entries.iter().enumerate();
                Ok(entries
                    .map(|(at, entry)| (format!("{path}[{at}]"), entry))
                    .collect())
            }
            other => Err(bad(&path, "a list", other.unwrap_or(&Value::Null))),
        }
    }
}

/// An object and what it names its column by.
fn object<'a>(
    path: &str,
    value: &'a Value,
    key: &str,
    others: &str,
) -> Result<(&'a Map<String, Value>, &'a Value)> {
    let Value::Object(object) = value else {
        let expected = format!("an object with {key}, {others}");
        return Err(bad(path, &expected, value));
    };
    let column = object
        .get(key)
        .ok_or_else(|| Error::data(format!("{path}.{key} is missing")))?;
    Ok((object, column))
}
