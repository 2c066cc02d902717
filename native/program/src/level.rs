//! What can be asked of `explain`: levels, formats, and which go together.

use std::{fmt, str::FromStr};

use fulgurite_error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What `explain` shows; in the order of the compiler's stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ExplainLevel {
    Hops,
    Rewrites,
    Memo,
    Partitions,
    #[default]
    Plan,
    CPlan,
    Clif,
    Asm,
    Stats,
}

impl ExplainLevel {
    /// All levels with their names and what they show: the one place that the command line's help, errors and
    /// documentation take them from.
    pub const ALL: &'static [(ExplainLevel, &'static str, &'static str)] = &[
        (
            ExplainLevel::Hops,
            "hops",
            "the DAGs of high-level operators after rewrites, with sizes and memory",
        ),
        (
            ExplainLevel::Rewrites,
            "rewrites",
            "which rewrite fired where, and what it replaced by what",
        ),
        (
            ExplainLevel::Memo,
            "memo",
            "all partial fusion plans, and why operators have none",
        ),
        (
            ExplainLevel::Partitions,
            "partitions",
            "what is decided together, the decisions and the search",
        ),
        (
            ExplainLevel::Plan,
            "plan",
            "the chosen operators with places and costs, and what other plans cost",
        ),
        (
            ExplainLevel::CPlan,
            "cplan",
            "what each fused operator computes",
        ),
        (
            ExplainLevel::Clif,
            "clif",
            "the intermediate code of fused operators",
        ),
        (
            ExplainLevel::Asm,
            "asm",
            "the machine's instructions of fused operators",
        ),
        (
            ExplainLevel::Stats,
            "stats",
            "how much each stage of the compiler did, and how long it took",
        ),
    ];

    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(level, _, _)| *level == self);
        known.map_or("", |(_, name, _)| name)
    }

    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|(_, name, _)| *name).collect()
    }

    /// Levels that are pictures of a DAG too.
    fn is_drawn(self) -> bool {
        matches!(
            self,
            ExplainLevel::Hops | ExplainLevel::Partitions | ExplainLevel::Plan
        )
    }

    pub fn formats(self) -> &'static [ExplainFormat] {
        match self.is_drawn() {
            true => &ExplainFormat::ALL,
            false => &[ExplainFormat::Text, ExplainFormat::Json],
        }
    }
}

/// How `explain` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ExplainFormat {
    #[default]
    Text,
    Json,
    /// For Graphviz.
    Dot,
    Svg,
    /// One page that needs nothing else.
    Html,
}

impl ExplainFormat {
    pub const ALL: [ExplainFormat; 5] = [
        ExplainFormat::Text,
        ExplainFormat::Json,
        ExplainFormat::Dot,
        ExplainFormat::Svg,
        ExplainFormat::Html,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ExplainFormat::Text => "text",
            ExplainFormat::Json => "json",
            ExplainFormat::Dot => "dot",
            ExplainFormat::Svg => "svg",
            ExplainFormat::Html => "html",
        }
    }

    /// # Errors
    /// `argument`, where there is no such picture of the level.
    pub fn check(self, level: ExplainLevel) -> Result<()> {
        if level.formats().contains(&self) {
            return Ok(());
        }
        let drawn = ExplainLevel::ALL
            .iter()
            .filter(|(level, _, _)| level.is_drawn());
        Err(Error::argument(format!(
            "the level '{level}' has no format '{self}': it has {}",
            list(level.formats())
        ))
        .with_help(format!(
            "{self} is there for {}",
            drawn
                .map(|(_, name, _)| *name)
                .collect::<Vec<_>>()
                .join(", ")
        )))
    }
}

fn list(formats: &[ExplainFormat]) -> String {
    let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    names.join(", ")
}

impl fmt::Display for ExplainLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ExplainFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ExplainLevel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = Self::ALL.iter().find(|(_, name, _)| *name == text);
        known.map(|(level, _, _)| *level).ok_or_else(|| {
            Error::argument(format!("there is no explain level '{text}'"))
                .with_help(format!("the levels are {}", Self::names().join(", ")))
        })
    }
}

impl FromStr for ExplainFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|format| format.name() == text);
        known.ok_or_else(|| {
            Error::argument(format!("there is no explain format '{text}'"))
                .with_help(format!("the formats are {}", list(&Self::ALL)))
        })
    }
}

macro_rules! as_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse().map_err(|error: Error| match error.help() {
                    Some(help) => format!("{}; {help}", error.message()),
                    None => error.message().to_owned(),
                })
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.name().to_owned()
            }
        }
    };
}
as_text!(ExplainLevel);
as_text!(ExplainFormat);
