//! A `parfor` whose iterations run on the workers: what tasks get, and what they give back.
//!
//! A task runs a range of iterations, one after the other, and is a function of that range alone: it may run twice, or
//! again elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::Error;
use fulgurite_hop::{Literal, Program};
use fulgurite_matrix::arrow_block::Block;
use serde::{Deserialize, Serialize};

use super::super::reports::RemoteWork;

/// A loop as all its tasks get it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoteLoop {
    /// The loop's body, with the functions that it calls.
    pub program: Program,
    /// What each iteration has its number in.
    pub variable: String,
    /// Matrices of which iterations write parts, in copies of what is among the broadcasts.
    pub results: BTreeSet<String>,
    /// Rows and columns of matrices that iterations only write parts of, and that stay where they are.
    pub written: BTreeMap<String, (usize, usize)>,
    /// Rows and columns of the matrices that iterations add to.
    pub sums: BTreeMap<String, (usize, usize)>,
    /// Variables bound to the primitive's broadcasts, in order.
    pub matrices: Vec<String>,
    /// Where iterations run on stripes of a matrix.
    pub slices: Option<Slices>,
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

/// The rows of a distributed matrix's stripes that iterations read, each in one stripe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slices {
    /// The first row of an iteration is `scale` times the loop's variable and `offset`, counted from 0.
    pub scale: i64,
    pub offset: i64,
    pub rows: u64,
    /// They are columns of what iterations read: the stripe is of its transpose.
    pub are_columns: bool,
    /// The last rows of the matrix may be fewer.
    pub is_cut_off: bool,
}

impl Slices {
    /// The iterations whose first row is one of `rows` from `above` on.
    pub fn of_stripe(&self, range: IterationRange, above: u64, rows: u64) -> IterationRange {
        let near = i128::from(above) - i128::from(self.offset);
        let far = near + i128::from(rows) - 1;
        // Rows that values have lie between these two; a scale of 0 is one that no loop has.
        let scale = i128::from(self.scale);
        let (from, to) = match scale {
            0 => (1, 0),
            1.. => (-(-near).div_euclid(scale), far.div_euclid(scale)),
            _ => (-(far).div_euclid(-scale), (-near).div_euclid(-scale)),
        };
        let value = |value: i128| match i64::try_from(value) {
            Ok(value) => value,
            Err(_) if value < 0 => i64::MIN,
            Err(_) => i64::MAX,
        };
        range.within(value(from), value(to))
    }

    /// The rows that an iteration reads of the stripe, counted from 1; `None` if they are not all there.
    pub fn in_stripe(&self, value: i64, above: u64, rows: u64) -> Option<(i64, i64)> {
        let first = i128::from(self.scale) * i128::from(value) + i128::from(self.offset);
        let first = i64::try_from(first - i128::from(above) + 1).ok()?;
        let rows = i64::try_from(rows).ok()?;
        let last = first.checked_add(i64::try_from(self.rows).ok()?)? - 1;
        let last = if self.is_cut_off {
            last.min(rows)
        } else {
            last
        };
        (1 <= first && first <= last && last <= rows).then_some((first, last))
    }
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
    pub parts: Vec<RangePart>,
    /// What iterations printed.
    pub lines: Vec<(u64, String)>,
    /// The iteration that failed, after which there were no more.
    pub failed: Option<(u64, Error)>,
    pub work: RemoteWork,
}

/// What a block of a task's results is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RangePart {
    /// What an iteration has added up.
    Sum { variable: String, iteration: u64 },
    /// A part that an iteration has written into a matrix that is not there, with its place. Those of an iteration are in the order
    /// in which it wrote them.
    Written { variable: String, iteration: u64 },
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
    fn stripes_have_the_iterations_whose_rows_they_have() {
        let range = IterationRange {
            number: 0,
            first: 1,
            increment: 1,
            count: 12,
        };
        for (scale, offset, rows) in [(1, -1, 1), (3, -3, 3), (-2, 30, 1), (-3, 36, 2), (2, 5, 2)] {
            let slices = Slices {
                scale,
                offset,
                rows,
                are_columns: false,
                is_cut_off: false,
            };
            for (above, height) in [(0, 6), (6, 6), (12, 1), (13, 30), (100, 5)] {
                let first = |value: i64| scale * value + offset;
                let has = |value: i64| (above..above + height).contains(&first(value));
                let expected: Vec<i64> = (1..13).filter(|value| has(*value)).collect();
                let found = slices.of_stripe(range, above as u64, height as u64);
                let found: Vec<i64> = found.iterations().map(|(_, value)| value).collect();
                assert_eq!(found, expected, "{slices:?} {above} {height}");
                for value in found {
                    let first = first(value) - above + 1;
                    let whole = first + rows as i64 - 1 <= height;
                    let expected = whole.then_some((first, first + rows as i64 - 1));
                    let there = slices.in_stripe(value, above as u64, height as u64);
                    assert_eq!(there, expected, "{slices:?} {value}");
                }
            }
        }
    }

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
