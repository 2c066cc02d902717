//! Who may take how much: the operator that runs on a thread, and the process.

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

use fulgurite_error::{Error, Result};

use super::{available, ballast};

/// What one allocation of an operator may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub bytes: u64,
    /// The configuration key that raises it.
    pub setting: &'static str,
}

/// Allocations below this size ask nobody.
const SMALL_BYTES: usize = 64 << 10;
/// The system is asked what is left after every allocation of this size, when little is left ...
const LEAST_UNCHECKED_BYTES: usize = 4 << 20;
/// ... or after more, up to this, when a lot is.
const MOST_UNCHECKED_BYTES: usize = 256 << 20;
/// The share of what is left that may be taken before the system is asked again.
const UNCHECKED_SHARE: u64 = 16;

/// Bytes taken since the system was asked last, and how many may be.
static UNCHECKED: AtomicUsize = AtomicUsize::new(0);
static ALLOWANCE: AtomicUsize = AtomicUsize::new(LEAST_UNCHECKED_BYTES);

thread_local! {
    static BUDGET: Cell<Option<Budget>> = const { Cell::new(None) };
}

/// Runs an operator whose allocations on this thread have this budget.
///
/// ```
/// use fulgurite_matrix::memory::{self, Budget};
/// let budget = Budget { bytes: 1 << 20, setting: "fulgurite.memory.local" };
/// let refused = memory::within(budget, || memory::zeros(1 << 18)).unwrap_err();
/// assert_eq!(
///     refused.message(),
///     "a result or an intermediate of 2097152 bytes is needed and fulgurite.memory.local is 1048576"
/// );
/// assert!(memory::zeros(1 << 18).is_ok());
/// ```
pub fn within<R>(budget: Budget, operator: impl FnOnce() -> R) -> R {
    struct Before(Option<Budget>);
    impl Drop for Before {
        fn drop(&mut self) {
            BUDGET.set(self.0);
        }
    }
    let _before = Before(BUDGET.replace(Some(budget)));
    operator()
}

/// Asks whether so many bytes may be taken.
///
/// # Errors
/// `memory`, when the operator's budget or the process has no room for them.
pub fn admit(bytes: usize) -> Result<()> {
    if bytes < SMALL_BYTES {
        return Ok(());
    }
    if let Some(budget) = BUDGET.get()
        && bytes as u64 > budget.bytes
    {
        let Budget {
            bytes: limit,
            setting,
        } = budget;
        return Err(Error::memory(format!(
            "a result or an intermediate of {bytes} bytes is needed and {setting} is {limit}"
        ))
        .with_help(format!("raise {setting}, or run the script on Spark")));
    }
    admit_to_process(bytes)
}

/// The same for what is no operator's: a stack, say.
///
/// # Errors
/// `memory`, when the process has no room for so many bytes.
pub(super) fn admit_to_process(bytes: usize) -> Result<()> {
    let unchecked = UNCHECKED
        .fetch_add(bytes, Ordering::Relaxed)
        .saturating_add(bytes);
    if unchecked < ALLOWANCE.load(Ordering::Relaxed) {
        return Ok(());
    }
    ballast::check()?;
    let left = available::admit(bytes)?;
    let share = usize::try_from(left / UNCHECKED_SHARE).unwrap_or(usize::MAX);
    ALLOWANCE.store(
        share.clamp(LEAST_UNCHECKED_BYTES, MOST_UNCHECKED_BYTES),
        Ordering::Relaxed,
    );
    UNCHECKED.store(0, Ordering::Relaxed);
    Ok(())
}
