//! What stands below the first line of an error or a warning.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::position::Position;

/// What else there is to know of an error, with a place of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub message: String,
    pub position: Option<Position>,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.position {
            Some(position) => write!(f, "{} at {position}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// What follows the first line of an error or a warning.
pub(crate) fn write(
    f: &mut fmt::Formatter<'_>,
    position: Option<&Position>,
    notes: &[Note],
    help: Option<&str>,
) -> fmt::Result {
    if let Some(position) = position {
        write!(f, "\n{}", position.snippet())?;
    }
    for note in notes {
        write!(f, "\n   = note: {note}")?;
    }
    match help {
        Some(help) => write!(f, "\n   = help: {help}"),
        None => Ok(()),
    }
}
