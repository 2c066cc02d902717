//! Matrices that workers generate beyond the rows that an int counts, in tall stripes.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;

use crate::common::script;

/// More than 2^31.
const ROWS: f64 = 2_200_000_000.0;

/// Of partial results of at most so many cells.
fn number(text: &str, collected: u64) -> f64 {
    let backend = Arc::new(LocalBackend::default());
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .config("fulgurite.memory.local", "256m")
        .config("fulgurite.rewrites.off", "aggregate-of-filled")
        // 32 MB, which are the task's again for the next stripe.
        .config("fulgurite.blocksize", "4194304")
        .output("R")
        .run();
    assert!(backend.counters().tasks >= 500);
    assert_eq!(backend.counters().largest_collected, collected);
    ran.number("R")
}

#[test]
fn matrices_of_one_value_and_sequences_have_more_rows_than_an_int_counts() {
    // A sum, and what was rounded away from it.
    let sum = number(&format!("R = sum(matrix(2, rows={ROWS}, cols=1))"), 2);
    assert_eq!(sum, 2.0 * ROWS);
    let last = number(&format!("R = max(seq(1, {ROWS}))"), 1);
    assert_eq!(last, ROWS);
}
