//! What is legal and looks like a mistake.

use std::fmt;

use crate::{Code, Note, Position, details, text};

/// A remark on a script that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    pub code: Code,
    pub message: String,
    pub position: Position,
    pub help: Option<String>,
    pub notes: Vec<Note>,
}

impl Warning {
    pub fn new(code: Code, message: impl Into<String>, position: &Position) -> Self {
        Warning {
            code,
            message: text::clean(message.into()),
            position: position.clone(),
            help: None,
            notes: Vec::new(),
        }
    }

    pub fn with_help(self, help: impl Into<String>) -> Self {
        Warning {
            help: Some(text::clean(help.into())),
            ..self
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warning[{}]: {}", self.code, self.message)?;
        details::write(f, Some(&self.position), &self.notes, self.help.as_deref())
    }
}
