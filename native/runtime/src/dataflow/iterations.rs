//! A `parfor` whose iterations run on the workers: what tasks get, and what they give back.
//!
//! A task runs a range of iterations, one after the other, and is a function of that range alone: it may run twice, or
//! again elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::Error;
use fulgurite_hop::{Literal, Program};
use fulgurite_matrix::arrow_block::Block;
use serde::{Deserialize, Serialize};

use crate::report::RemoteWork;

/// A loop as all its tasks get it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoteLoop {
    /// The loop's body, with the functions that it calls.
    pub program: Program,
    /// What each iteration has its number in.
    pub variable: String,
    /// Matrices of which iterations write parts.
    pub results: BTreeSet<String>,
    /// Rows and columns of the matrices that iterations add to.
    pub sums: BTreeMap<String, (usize, usize)>,
    /// Variables bound to the primitive's broadcasts, in order.
    pub matrices: Vec<String>,
    /// The variable bound to a stripe, where iterations run on those.
    pub stripe: Option<String>,
    pub scalars: BTreeMap<String, Literal>,
    /// As iterations would be configured in the control program's process, so that they are planned alike.
    pub config: BTreeMap<String, String>,
    /// What plans call the backend.
    pub backend: String,
    /// Threads of a task.
    pub threads: usize,
    /// Operators cut their work as if they had so many.
    pub cut_for: usize,
    /// What the loop is called in logs, statistics and the Spark UI: `parfor i kmeans.dml:42`.
    pub label: String,
}

/// Iterations one after the other: `first`, `first + increment`, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationRange {
    /// How many iterations of the loop come before these.
    pub number: u64,
    pub first: i64,
    pub increment: i64,
    pub count: u64,
}

impl IterationRange {
    /// The iterations with values `from..=to`.
    pub fn within(self, from: i64, to: i64) -> Self {
        let step = i128::from(self.increment);
        let (first, from, to) = (i128::from(self.first), i128::from(from), i128::from(to));
        // In steps from the first value, rounded inwards.
        let (near, far) = match step > 0 {
            true => (from - first, to - first),
            false => (first - to, first - from),
        };
        let step = step.abs().max(1);
        let skipped = near.max(0).div_euclid(step) + i128::from(near.max(0).rem_euclid(step) > 0);
        let until = (far.div_euclid(step) + 1).clamp(0, i128::from(self.count));
        let count = u64::try_from(until - skipped).unwrap_or(0);
        let value = first + i128::from(self.increment) * skipped;
        IterationRange {
            number: self
                .number
                .saturating_add(u64::try_from(skipped).unwrap_or(u64::MAX)),
            first: i64::try_from(value).unwrap_or(self.first),
            increment: self.increment,
            count,
        }
    }

    /// The number of each iteration, and what the loop's variable is in it.
    pub fn iterations(self) -> impl Iterator<Item = (u64, i64)> {
        let iteration = move |index: u64| {
            let value = i128::from(self.first) + i128::from(self.increment) * i128::from(index);
            Some((self.number + index, i64::try_from(value).ok()?))
        };
        (0..self.count).map_while(iteration)
    }
}

/// A task as it crosses to native code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RangeTask {
    pub range: IterationRange,
    #[serde(rename = "loop")]
    pub of: RemoteLoop,
}

/// What a task gives.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeResult {
    pub account: RangeAccount,
    /// Each is what the [account](RangeAccount::parts) says.
    pub blocks: Vec<Block>,
}

/// What happened in a range. Iterations are counted from the first one of the loop, which is 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RangeAccount {
    pub parts: Vec<Part>,
    /// What iterations printed.
    pub lines: Vec<(u64, String)>,
    /// The iteration that failed, after which there were no more.
    pub failed: Option<(u64, Error)>,
    pub work: RemoteWork,
}

/// What a block of a task's results is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// What an iteration has added up.
    Sum { variable: String, iteration: u64 },
    /// The part of a result outside of which nothing has changed, with its place.
    Changed { variable: String },
    /// A result that has other sizes now.
    Replaced { variable: String },
}

/// What the workers can run beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Tasks at a time.
    pub tasks: u64,
    /// Cores of a task.
    pub cores: usize,
    /// Memory of a task, where there is a limit.
    pub bytes: Option<u64>,
    /// What all results of a job may take on their way back, where there is a limit.
    pub result_bytes: Option<u64>,
    /// Whether the cores are those that local operators have.
    pub is_here: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_within_bounds_are_found_without_going_through_all() {
        for (first, increment, count) in [
            (1, 1, 10),
            (10, -1, 10),
            (3, 4, 5),
            (-2, 3, 6),
            (9, -4, 4),
            (5, 7, 1),
        ] {
            let range = IterationRange {
                number: 2,
                first,
                increment,
                count,
            };
            for from in -5..13 {
                for to in from..14 {
                    let expected = range
                        .iterations()
                        .filter(|(_, value)| (from..=to).contains(value));
                    assert!(
                        range.within(from, to).iterations().eq(expected),
                        "{range:?} {from}..={to}"
                    );
                }
            }
        }
    }
}
