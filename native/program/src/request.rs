//! What callers ask for, as JSON: a script or a HOP DAG, its arguments, what its inputs are, which variables
//! come back. `docs/decisions/requests-as-json.md` documents the fields.

use std::collections::BTreeMap;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Literal};
use serde::{Deserialize, Serialize};

use super::level::{ExplainFormat, ExplainLevel};

/// A request, without the values of local matrices: those travel beside it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Request {
    pub command: Command,
    /// What the caller calls this run, to interrupt it; 0 if it won't.
    pub run: i64,
    /// The script's text.
    pub script: Option<String>,
    /// What the script is called in messages.
    pub name: Option<String>,
    /// A HOP DAG instead of a script: a program of one block, whose `TRead`s are the inputs.
    pub dag: Option<serde_json::Value>,
    /// `$`-arguments, as they would stand on the command line; positional ones are called `1`, `2` …
    pub arguments: BTreeMap<String, String>,
    /// Whether arguments that are not given are empty strings, as in `MLContext`, instead of errors.
    pub allow_missing_arguments: bool,
    pub inputs: Vec<Input>,
    /// Variables to hand back.
    pub outputs: Vec<String>,
    pub config: BTreeMap<String, String>,
    /// Whether paths of data without a scheme name files of the backend's default file system, instead of this machine's.
    pub paths_elsewhere: bool,
    /// For `explain`.
    pub level: ExplainLevel,
    pub format: ExplainFormat,
    /// For `explain`: the operators asked about, as the command line's `--why` takes them; in place of a level.
    pub why: Option<String>,
    /// For `explain`: values of scalar variables, as if the script assigned these.
    pub assume: BTreeMap<String, String>,
}

/// What is to be done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    #[default]
    Execute,
    Explain,
    Check,
}

/// An input variable of the program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Input {
    pub name: String,
    #[serde(flatten)]
    pub binding: Binding,
}

/// Where an input's value is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Binding {
    Scalar {
        value: Literal,
    },
    /// In this process; the caller resolves the handle.
    Local {
        handle: u64,
    },
    /// A frame of this process, which `Execution::frames` holds under the same name.
    Frame,
    /// Registered with the backend under the input's name. Unknown sizes are -1.
    Dataset {
        #[serde(default = "unknown")]
        rows: i64,
        #[serde(default = "unknown")]
        cols: i64,
        #[serde(default = "unknown")]
        nnz: i64,
    },
}

impl Input {
    /// A matrix of this process, which `Execution::matrices` holds under the same name.
    pub fn local(name: impl AsRef<str>) -> Self {
        Input {
            name: name.as_ref().to_owned(),
            binding: Binding::Local { handle: 0 },
        }
    }
}

impl Input {
    /// A frame of this process, which `Execution::frames` holds under the same name.
    pub fn frame(name: impl AsRef<str>) -> Self {
        Input {
            name: name.as_ref().to_owned(),
            binding: Binding::Frame,
        }
    }
}

fn unknown() -> i64 {
    -1
}

impl Binding {
    /// Sizes that the caller promised; unknown for what is not a dataset.
    pub fn characteristics(&self) -> Characteristics {
        let known = |size: i64| u64::try_from(size).ok();
        match self {
            Binding::Dataset { rows, cols, nnz } => {
                Characteristics::new(known(*rows), known(*cols), known(*nnz))
            }
            _ => Characteristics::UNKNOWN,
        }
    }
}

impl Request {
    /// A request to execute a script.
    pub fn script(name: impl Into<String>, text: impl Into<String>) -> Self {
        Request {
            script: Some(text.into()),
            name: Some(name.into()),
            ..Request::default()
        }
    }

    /// # Errors
    /// `argument`, for text that is not a request.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text)
            .map_err(|error| Error::argument(format!("the request is not understood: {error}")))
    }
}
