//! Which columns share a code: greedily, the pair of groups first that saves the most.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::{codes::bits_for, sample::SampledCodes};

/// A lookup of a code takes as long as reading so many bytes from memory.
const LOOKUP_BYTES: f64 = 1.0;

/// Tables of products of more tuples leave the first-level cache: groups are not joined beyond, unless their columns depend on each
/// other.
const MOST_INDEPENDENT: f64 = 1024.0;

/// Pairs of sampled codes that are looked at: what bounds the time, as a clock would, but the same each time. About a second.
const MOST_WORK: usize = 1 << 25;

/// Groups that each group is paired with at first, its neighbours in the order of estimated tuples: pairs of all would be too many.
const NEIGHBOURS: usize = 24;

/// Columns that share a code, by their places among those to be grouped.
#[derive(Debug, Clone)]
pub(super) struct CodedTogether {
    pub(super) columns: Vec<usize>,
    pub(super) sampled: SampledCodes,
}

/// Bytes that a group is estimated to take in its best encoding, and what its lookups cost.
pub(super) fn estimated_cost(sampled: &SampledCodes, width: usize, rows: usize) -> f64 {
    estimated_bytes(sampled, width, rows) + LOOKUP_BYTES * rows as f64
}

/// Bytes that a group is estimated to take in its best encoding.
pub(super) fn estimated_bytes(sampled: &SampledCodes, width: usize, rows: usize) -> f64 {
    let rows = rows as f64;
    let code = f64::from(bits_for(sampled.distinct as usize)) / 8.0;
    // A value for each column, and a count.
    let dictionary = 8.0 * sampled.distinct * (width + 1) as f64;
    let coded = rows * code;
    let exceptions = rows * (1.0 - sampled.largest_share) * (4.0 + code);
    let runs = sampled.runs * (4.0 + code);
    dictionary + coded.min(exceptions).min(runs)
}

/// A pair of groups that would save something together.
struct Candidate {
    saved: f64,
    left: usize,
    right: usize,
    joint: SampledCodes,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_places = (other.left, other.right).cmp(&(self.left, self.right));
        self.saved.total_cmp(&other.saved).then(by_places)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// Columns in groups, of which each saves more than its columns alone.
pub(super) fn grouped(
    columns: Vec<SampledCodes>,
    sample: &[usize],
    rows: usize,
) -> Vec<CodedTogether> {
    let mut groups: Vec<Option<CodedTogether>> = columns
        .into_iter()
        .enumerate()
        .map(|(column, sampled)| {
            Some(CodedTogether {
                columns: vec![column],
                sampled,
            })
        })
        .collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    let distinct =
        |group: &Option<CodedTogether>| group.as_ref().map_or(0.0, |g| g.sampled.distinct);
    order.sort_by(|a, b| {
        distinct(&groups[*a])
            .total_cmp(&distinct(&groups[*b]))
            .then(a.cmp(b))
    });
    let mut work = 0;
    let mut queue = BinaryHeap::new();
    for (place, left) in order.iter().enumerate() {
        for right in order[place + 1..].iter().take(NEIGHBOURS) {
            work += sample.len();
            queue.extend(candidate(&groups, *left, *right, sample, rows));
        }
        if work > MOST_WORK {
            break;
        }
    }
    while let Some(best) = queue.pop() {
        if groups[best.left].is_none() || groups[best.right].is_none() {
            continue;
        }
        let (Some(left), Some(right)) = (groups[best.left].take(), groups[best.right].take())
        else {
            continue;
        };
        let mut columns = left.columns;
        columns.extend(right.columns);
        columns.sort_unstable();
        let joined = groups.len();
        groups.push(Some(CodedTogether {
            columns,
            sampled: best.joint,
        }));
        for other in 0..joined {
            if work > MOST_WORK {
                break;
            }
            if groups[other].is_some() {
                work += sample.len();
                queue.extend(candidate(&groups, other, joined, sample, rows));
            }
        }
    }
    groups.into_iter().flatten().collect()
}

fn candidate(
    groups: &[Option<CodedTogether>],
    left: usize,
    right: usize,
    sample: &[usize],
    rows: usize,
) -> Option<Candidate> {
    let (one, other) = (groups[left].as_ref()?, groups[right].as_ref()?);
    // Columns that seem constant need no code.
    if one.sampled.distinct <= 1.0 || other.sampled.distinct <= 1.0 {
        return None;
    }
    let most = one.sampled.distinct.max(other.sampled.distinct);
    let joint = one.sampled.with(&other.sampled, sample, rows);
    let depend = joint.distinct <= 1.5 * most;
    if joint.distinct > MOST_INDEPENDENT && !depend {
        return None;
    }
    let width = one.columns.len() + other.columns.len();
    let apart = estimated_cost(&one.sampled, one.columns.len(), rows)
        + estimated_cost(&other.sampled, other.columns.len(), rows);
    let saved = apart - estimated_cost(&joint, width, rows);
    (saved > 0.0).then_some(Candidate {
        saved,
        left,
        right,
        joint,
    })
}
