//! The words of the language.

use std::fmt;

use fulgurite_error::{Error, Position};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// `name` or `namespace::name`.
    Name {
        namespace: Option<String>,
        name: String,
    },
    Keyword(&'static str),
    Symbol(&'static str),
    Int(i64),
    Double(f64),
    String(String),
    /// `$name` or `$1`, without the `$`.
    Argument(String),
    /// What is no token, with the error that says why.
    Wrong(Error),
    End,
}

/// Names of built-in functions and of types are not reserved.
pub(super) const KEYWORDS: &[&str] = &[
    "if",
    "else",
    "while",
    "for",
    "parfor",
    "in",
    "function",
    "externalFunction",
    "implemented",
    "return",
    "source",
    "setwd",
    "as",
    "ifdef",
    "TRUE",
    "FALSE",
];

/// The only names that may contain a dot.
pub(super) const DOTTED_NAMES: &[&str] = &[
    "as.scalar",
    "as.matrix",
    "as.frame",
    "as.double",
    "as.integer",
    "as.logical",
    "as.boolean",
    "as.list",
    "is.na",
    "is.nan",
    "is.infinite",
    "index.return",
    "empty.return",
    "lower.tail",
    "lower.tri",
    "upper.tri",
    "na.strings",
];

/// Longer symbols stand before their prefixes.
pub(super) const SYMBOLS: &[&str] = &[
    "%*%", "%/%", "%%", "<-", "<=", ">=", "==", "!=", "&&", "||", "+=", "+", "-", "*", "/", "^",
    "<", ">", "!", "&", "|", "=", "(", ")", "[", "]", "{", "}", ",", ";", ":",
];

impl fmt::Display for TokenKind {
    /// As an error message names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenKind::Name {
                namespace: Some(namespace),
                name,
            } => write!(f, "'{namespace}::{name}'"),
            TokenKind::Name { name, .. } => write!(f, "'{name}'"),
            TokenKind::Keyword(text) | TokenKind::Symbol(text) => write!(f, "'{text}'"),
            TokenKind::Int(value) => write!(f, "the number {value}"),
            TokenKind::Double(value) => write!(f, "the number {value}"),
            TokenKind::String(_) => f.write_str("a string"),
            TokenKind::Argument(name) => write!(f, "'${name}'"),
            TokenKind::Wrong(error) => f.write_str(error.message()),
            TokenKind::End => f.write_str("the end of the script"),
        }
    }
}
