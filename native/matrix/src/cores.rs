//! How many threads this process may run at a time.

use std::{sync::OnceLock, thread};

/// Cores that this process may use; 1 where the system does not say. Asked for once: on Linux the answer is in a dozen
/// files of control groups, which take longer to read than a small block takes to run.
///
/// ```
/// assert!(fulgurite_matrix::cores() >= 1);
/// ```
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}
