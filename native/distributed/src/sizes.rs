//! How large what workers move may be: estimates of sizes against the limits of the configuration.

use fulgurite_config::Config;
use fulgurite_matrix::MatrixBlock;

/// Bytes that may come to the driver to be sent to every worker.
pub(crate) fn through_driver(config: &Config) -> u64 {
    config.memory_broadcast.min(config.memory_local)
}

/// A stripe of a transpose may take this share of `fulgurite.memory.local`.
const SHARE_OF_LOCAL: u64 = 4;

/// Columns of a matrix of so many rows that are in one stripe of its transpose; `None` where not even one fits.
pub(crate) fn rows_per_turn(rows: u64, config: &Config) -> Option<u64> {
    let row_bytes = rows.saturating_mul(8).max(1);
    let limit = config.memory_local;
    (row_bytes <= limit)
        .then(|| (limit / SHARE_OF_LOCAL / row_bytes).clamp(1, config.blocksize.max(1)))
}

/// Rows of so many cells that may be sent at a time.
pub(crate) fn rows_per_piece(cols: u64, config: &Config) -> u64 {
    through_driver(config) / cols.saturating_mul(8).max(1)
}

/// Whether a result by rows comes to the driver at once, unless it stays for its readers: when an operator with two of its
/// size and a result would fit there, and it could be sent back.
pub fn comes_back(bytes: Option<u64>, config: &Config) -> bool {
    bytes.is_some_and(|bytes| bytes <= config.memory_local / 4 && bytes <= config.memory_broadcast)
}

/// What the matrix takes when it is full.
pub fn dense_bytes(matrix: &MatrixBlock) -> u64 {
    let cells = (matrix.rows() as u64).saturating_mul(matrix.cols() as u64);
    cells.saturating_mul(8)
}
