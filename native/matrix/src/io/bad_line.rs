//! Lines of text that are not what they have to be.

use serde::Serialize;

use super::chunks::{lines, shown};

/// A line that is not what it has to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// From 1, among the lines parsed.
    pub line: usize,
    pub reason: String,
    pub text: String,
    pub help: &'static str,
}

impl BadLine {
    /// The line that is number `line` of `stretch`, which comes after so many others.
    pub(super) fn of(
        stretch: &[u8],
        before: usize,
        line: usize,
        reason: String,
        help: &'static str,
    ) -> Self {
        let text = lines(stretch).nth(line.saturating_sub(1));
        BadLine {
            line: before + line,
            reason,
            text: shown(text.unwrap_or_default()),
            help,
        }
    }
}
