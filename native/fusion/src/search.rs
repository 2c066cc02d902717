//! What a search in one partition found.

use serde::Serialize;

use crate::{likeness::Likeness, partition::InterestingPoint};

/// The outcome of the search in one partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Search {
    /// Points in the order of the search space, and the chosen assignment. (They serialise as decisions.)
    #[serde(skip)]
    pub points: Vec<InterestingPoint>,
    /// The place of each of these points among those of the partition.
    #[serde(skip)]
    pub(crate) order: Vec<usize>,
    #[serde(skip)]
    pub assignment: Vec<bool>,
    #[serde(skip)]
    pub(crate) likeness: Likeness,
    /// Found in a partition like this, and taken over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_recalled: bool,
    /// Seconds of the chosen assignment, of fusing all and of fusing nothing.
    pub cost: f64,
    pub cost_fuse_all: f64,
    pub cost_unfused: f64,
    /// No assignment is cheaper than basic operators throughout.
    pub unfused: bool,
    pub plans_costed: u64,
    /// Independent parts that were solved on their own.
    pub sub_problems: u64,
    /// The share of the costs that plans promised to save at most, of those that were passed over as not worth a visit;
    /// 0 where the plan is the cheapest one.
    #[serde(skip_serializing_if = "is_zero")]
    pub passed_over: f64,
    /// The budget ended the search; the assignment is the best one seen.
    pub budget_exhausted: bool,
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}
