//! The one error type of Fulgurite.
//!
//! Every error says what kind it is (the same word in Rust, on the command line and in the JVM's
//! `FulguriteException`), what went wrong and what to do next, and, where it comes from a script,
//! points at the place: file, line, column, the line itself and a caret.
//!
//! ```
//! use fulgurite_error::{Error, ErrorKind, Position, Source};
//! let source = Source::new("a.dml", "x = 1\ny = X %*% x\n");
//! let error = Error::new(ErrorKind::Validation, "variable 'X' is not defined")
//!     .at(&Position::new(&source, 2, 5, 1))
//!     .with_help("assign it before this line, or pass it as an input");
//! assert_eq!(
//!     error.to_string(),
//!     "validation error: variable 'X' is not defined\n  --> a.dml:2:5\n   |\n 2 | y = X %*% x\n   |     ^\n   = help: assign it before this line, or pass it as an input"
//! );
//! ```

mod position;
mod text;

use std::{fmt, sync::Arc};

pub use position::{Position, Source};
use serde::{Deserialize, Serialize};
pub use text::{printable, without_credentials};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose fault an error is, and where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// The script (or JSON text) does not parse.
    Syntax,
    /// The script parses but means nothing: unknown names, wrong types or numbers of arguments.
    Validation,
    /// Shapes do not fit, at compile time or at run time.
    Dimension,
    /// A `$`-argument, an option or a configuration value is missing or wrong.
    Argument,
    /// A file can't be found, read or written.
    Io,
    /// Data can't be understood: a bad csv cell, a null, a short buffer.
    Data,
    /// A HOP DAG from outside is inconsistent.
    Plan,
    /// Legal, but not there yet.
    Unsupported,
    /// More memory is needed than the configuration allows.
    Memory,
    /// The script asked for an impossible computation while running.
    Runtime,
    /// The script called `stop()`.
    Stopped,
    /// Somebody has asked the run to stop.
    Interrupted,
    /// The backend (Spark) failed.
    Backend,
    /// A bug in Fulgurite.
    Internal,
}

impl ErrorKind {
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Syntax => "syntax",
            ErrorKind::Validation => "validation",
            ErrorKind::Dimension => "dimension",
            ErrorKind::Argument => "argument",
            ErrorKind::Io => "io",
            ErrorKind::Data => "data",
            ErrorKind::Plan => "plan",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Memory => "memory",
            ErrorKind::Runtime => "runtime",
            ErrorKind::Stopped => "stopped",
            ErrorKind::Interrupted => "interrupted",
            ErrorKind::Backend => "backend",
            ErrorKind::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error with its kind, its place in the script and what to do next.
///
/// Its texts come from data and paths, too: control characters in them are escaped, and credentials left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Inner {
    kind: ErrorKind,
    message: String,
    operator: Option<String>,
    position: Option<Position>,
    help: Option<String>,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: text::clean(message.into()),
            operator: None,
            position: None,
            help: None,
        }))
    }

    /// Points at a place in the script; the first (innermost) place stays.
    pub fn at(mut self, position: &Position) -> Self {
        self.0.position.get_or_insert_with(|| position.clone());
        self
    }

    /// As [`Error::at`], for a place that may be unknown.
    pub fn at_option(self, position: Option<&Position>) -> Self {
        match position {
            Some(position) => self.at(position),
            None => self,
        }
    }

    /// Names the operator that failed, by its code (`ba(+*)`); the first one stays.
    pub fn in_operator(mut self, operator: impl Into<String>) -> Self {
        if self.0.operator.is_none() {
            self.0.operator = Some(operator.into());
        }
        self
    }

    /// Says what to do next.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(text::clean(help.into()));
        self
    }

    /// Gives the place the text of its script back: an error that was serialised comes without.
    pub fn with_sources(mut self, sources: &[Arc<Source>]) -> Self {
        if let Some(position) = &mut self.0.position
            && let Some(source) = sources
                .iter()
                .find(|source| source.name == position.source.name)
        {
            position.source = Arc::clone(source);
        }
        self
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The bare message, without kind, operator and place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn operator(&self) -> Option<&str> {
        self.0.operator.as_deref()
    }

    pub fn position(&self) -> Option<&Position> {
        self.0.position.as_ref()
    }

    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            // Nothing went wrong.
            ErrorKind::Interrupted => write!(f, "{}: {}", self.0.kind, self.0.message)?,
            kind => write!(f, "{kind} error: {}", self.0.message)?,
        }
        if let Some(operator) = &self.0.operator {
            write!(f, " (in {operator})")?;
        }
        if let Some(position) = &self.0.position {
            write!(f, "\n{}", position.snippet())?;
        }
        if let Some(help) = &self.0.help {
            write!(f, "\n   = help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

macro_rules! constructors {
    ($($name:ident => $kind:ident),* $(,)?) => {
        impl Error {
            $(pub fn $name(message: impl Into<String>) -> Self { Error::new(ErrorKind::$kind, message) })*
        }
    };
}
constructors! {
    syntax => Syntax, validation => Validation, dimension => Dimension, argument => Argument,
    io => Io, data => Data, plan => Plan, unsupported => Unsupported, memory => Memory,
    runtime => Runtime, stopped => Stopped, interrupted => Interrupted, backend => Backend, internal => Internal,
}
