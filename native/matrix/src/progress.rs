//! How far a run has come, for others than the one who waits for it.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// Counts what is through. It belongs to a run, as its [`Interrupt`](crate::Interrupt) does, through which kernels find it.
///
/// ```
/// # use fulgurite_matrix::{Interrupt, Progress};
/// let interrupt = Interrupt::new();
/// let progress = interrupt.progress().unwrap();
/// progress.expect(vec![1.0, 3.0]);
/// progress.begins(1000);
/// assert_eq!(progress.seen().share, Some(0.0));
/// progress.is_through();
/// assert_eq!(progress.seen().share, Some(0.25));
/// ```
#[derive(Debug, Default)]
pub struct Progress {
    /// What the operators take, in the order in which they run, in any unit.
    expected: OnceLock<Vec<f64>>,
    through: AtomicUsize,
    /// Rows of the operator that runs now.
    rows: AtomicU64,
    /// In how many parts it works, once it has begun to, and how many of them are through.
    parts: AtomicUsize,
    passed: AtomicUsize,
}

/// How far a run was when somebody looked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Operators that are through.
    pub operators: usize,
    /// All operators, where that is known.
    pub of: Option<usize>,
    /// Rows of the operator that runs now that are through, and all of them.
    pub rows: u64,
    pub of_rows: u64,
    /// The share of the run's time that has passed, by what operators were expected to take.
    pub share: Option<f64>,
}

impl Progress {
    /// What the run's operators are expected to take, in any unit. The first to tell is believed.
    pub fn expect(&self, operators: Vec<f64>) {
        let _ = self.expected.set(operators);
    }

    /// An operator on so many rows begins.
    pub fn begins(&self, rows: u64) {
        self.parts.store(0, Relaxed);
        self.passed.store(0, Relaxed);
        self.rows.store(rows, Relaxed);
    }

    /// The operator that has begun is through.
    pub fn is_through(&self) {
        self.begins(0);
        self.through.fetch_add(1, Relaxed);
    }

    pub fn seen(&self) -> Seen {
        let (parts, passed) = (self.parts.load(Relaxed), self.passed.load(Relaxed));
        let of_rows = self.rows.load(Relaxed);
        let of_operator = passed.min(parts) as f64 / parts.max(1) as f64;
        let operators = self.through.load(Relaxed);
        let expected = self.expected.get();
        let share = expected.map(|expected| {
            let all: f64 = expected.iter().sum();
            let through: f64 = expected.iter().take(operators).sum();
            let running = expected.get(operators).unwrap_or(&0.0);
            ((through + of_operator * running) / all.max(f64::MIN_POSITIVE)).min(1.0)
        });
        Seen {
            operators,
            of: expected.map(Vec::len),
            rows: (of_rows as f64 * of_operator) as u64,
            of_rows,
            share,
        }
    }
}

/// Work in parts. Of an operator that works in parts twice, or one within the other, the first one counts.
pub struct Parts<'a>(Option<&'a Progress>);

impl<'a> Parts<'a> {
    pub(crate) fn of(progress: Option<&'a Progress>, parts: usize) -> Self {
        let first = |progress: &&Progress| {
            let begun = progress.parts.compare_exchange(0, parts, Relaxed, Relaxed);
            begun.is_ok()
        };
        Parts(progress.filter(first))
    }

    /// One is through.
    pub fn passed(&self) {
        if let Some(progress) = self.0 {
            progress.passed.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interrupt, memory::by_chunks};

    #[test]
    fn rows_are_counted_by_parts_of_the_outermost_work() {
        let interrupt = Interrupt::new();
        let progress = interrupt.progress().unwrap();
        progress.expect(vec![2.0, 2.0]);
        progress.begins(50);
        let rows_seen = std::sync::Mutex::new(Vec::new());
        let filled = interrupt.within(|| {
            by_chunks(100, 10, |_, _| {
                let inner = by_chunks(6, 2, |_, cells| cells.fill(1.0));
                assert_eq!(inner.unwrap(), [1.0; 6]);
                rows_seen.lock().unwrap().push(progress.seen().rows);
            })
        });
        assert!(filled.is_ok());
        let most = rows_seen.into_inner().unwrap().into_iter().max();
        assert!(most <= Some(45), "{most:?}");
        let seen = progress.seen();
        assert_eq!((seen.rows, seen.of_rows), (50, 50));
        assert_eq!((seen.share, seen.operators), (Some(0.5), 0));
        progress.is_through();
        let seen = progress.seen();
        assert_eq!((seen.rows, seen.operators, seen.of), (0, 1, Some(2)));
        assert_eq!(seen.share, Some(0.5));
    }

    #[test]
    fn more_operators_than_were_expected_are_no_more_than_all() {
        let progress = Progress::default();
        assert_eq!(progress.seen().share, None);
        progress.expect(vec![1.0]);
        progress.is_through();
        progress.is_through();
        assert_eq!(progress.seen().share, Some(1.0));
        let none = Progress::default();
        none.expect(Vec::new());
        assert_eq!(none.seen().share, Some(0.0));
    }
}
