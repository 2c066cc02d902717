//! Files of file systems that a backend knows.

use serde::Deserialize;

/// What a backend has found of a file, before anybody reads its cells.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoundFile {
    /// Of all parts together.
    pub bytes: u64,
    /// The first bytes, each a character of ISO 8859-1: JSON has no bytes.
    pub head: String,
    /// The text of the `.mtd` file, where there is one.
    pub metadata: Option<String>,
}

impl FoundFile {
    /// The first bytes.
    pub fn head_bytes(&self) -> Vec<u8> {
        let byte = |c: char| u8::try_from(u32::from(c)).unwrap_or(b'?');
        self.head.chars().map(byte).collect()
    }
}
