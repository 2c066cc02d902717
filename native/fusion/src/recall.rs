//! What was found in partitions, taken over for those like them.

use std::collections::VecDeque;

use crate::{
    explain::Explanation, likeness::Likeness, partition::InterestingPoint,
    plan_cost::PartitionCosts, search::Search,
};

/// What was found in partitions, the latest first.
#[derive(Debug, Clone, Default)]
pub struct Searches(VecDeque<Search>);

/// More than the blocks of a script have; looking through them takes microseconds.
const MAX_SEARCHES: usize = 256;

impl Searches {
    pub const fn none() -> Self {
        Searches(VecDeque::new())
    }

    /// Keeps what was searched for a DAG.
    pub fn add(&mut self, explanation: &Explanation) {
        let searches = explanation.partitions.iter();
        let searches = searches.filter_map(|partition| partition.search.as_ref());
        for search in searches.filter(|search| !search.points.is_empty() && !search.is_recalled) {
            self.0.push_front(search.clone());
        }
        self.0.truncate(MAX_SEARCHES);
    }

    /// What was found in a partition like this.
    pub(crate) fn of(&self, likeness: &Likeness) -> Option<&Search> {
        self.0
            .iter()
            .find(|search| search.likeness.is_like(likeness))
    }
}

impl Search {
    /// The same assignment in a partition like the one that was searched, with the costs that it has there.
    pub(crate) fn recalled(&self, likeness: Likeness, costs: &mut PartitionCosts) -> Search {
        let points = self.order.iter().map(|point| *costs.point(*point));
        let points: Vec<InterestingPoint> = points.collect();
        let none = vec![false; points.len()];
        let cost_fuse_all = costs.plan(&points, &none, f64::INFINITY);
        let cost = costs.plan(&points, &self.assignment, f64::INFINITY);
        let unfused = costs.unfused();
        Search {
            points,
            order: self.order.clone(),
            assignment: self.assignment.clone(),
            likeness,
            is_recalled: true,
            cost: cost.min(unfused),
            cost_fuse_all,
            cost_unfused: unfused,
            unfused: unfused < cost,
            plans_costed: 2,
            sub_problems: 0,
            passed_over: self.passed_over,
            budget_exhausted: self.budget_exhausted,
        }
    }
}
