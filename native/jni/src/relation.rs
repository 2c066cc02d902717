//! Relational plans on one table, as Spark's tasks run them.

use arrow::array::RecordBatch;
use fulgurite_error::{Error, Result};

/// Runs the plan on the table, which is its scan 0.
pub(crate) fn relate(_plan: &[u8], _table: RecordBatch) -> Result<RecordBatch> {
    Err(Error::data("no engine yet"))
}
