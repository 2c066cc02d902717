//! Which matrices were compressed before loops, and why others were not.

use std::fmt;

use fulgurite_hop::Bytes;
use serde::{Deserialize, Serialize};

/// The last decision on a variable at one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompressionReport {
    /// The variable and where it was looked at: `X at while l2svm.dml:30`.
    pub label: String,
    /// Column groups by kind: `12 ddc, 1 one-hot`; nothing where it was not compressed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub groups: Option<String>,
    /// Bytes before.
    pub bytes: u64,
    /// Bytes of the groups: estimated, where it was not compressed; nothing where nobody estimated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub compressed_bytes: Option<u64>,
    /// What reading it takes in an iteration, estimated: as it was, and in column groups.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iteration_seconds: Option<(f64, f64)>,
    /// What compressing took, or the decision against it.
    pub seconds: f64,
    /// Why it was, or was not.
    pub reason: String,
}

impl CompressionReport {
    /// Bytes before for each byte of the groups.
    pub fn ratio(&self) -> Option<f64> {
        let bytes = self.compressed_bytes?.max(1);
        Some(self.bytes as f64 / bytes as f64)
    }
}

impl fmt::Display for CompressionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = Bytes(Some(self.bytes));
        match &self.groups {
            Some(groups) => write!(
                f,
                "compressed {} in {:.4} s: {groups}",
                self.label, self.seconds
            )?,
            None => write!(f, "not compressed {}", self.label)?,
        }
        if let (Some(compressed), Some(ratio)) = (self.compressed_bytes, self.ratio()) {
            let estimated = if self.groups.is_none() {
                " estimated"
            } else {
                ""
            };
            let compressed = Bytes(Some(compressed));
            write!(f, "; {bytes} to{estimated} {compressed}, ratio {ratio:.1}")?;
        }
        if let Some((plain, compressed)) = self.iteration_seconds {
            let (plain, compressed) = (1e3 * plain, 1e3 * compressed);
            write!(
                f,
                "; an iteration reads it in about {plain:.3} ms, compressed {compressed:.3} ms"
            )?;
        }
        write!(f, " ({})", self.reason)
    }
}
