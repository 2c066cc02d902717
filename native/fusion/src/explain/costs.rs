//! What the plan costs by the cost model, and what others would have.

use std::fmt;

use fulgurite_hop::{HopId, Seconds};
use serde::Serialize;

use crate::{
    Policy,
    partition::{InterestingPoint, Partition, PointKind},
    plan_cost::PartitionCosts,
    search::Search,
};

/// Seconds of one partition's plans.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanCosts {
    pub chosen: f64,
    /// The best assignment that the search found, if one was made: the chosen one unless fusing nothing is cheaper.
    pub best_fused: Option<f64>,
    pub fuse_all: f64,
    pub fuse_no_redundancy: f64,
    pub unfused: f64,
}

/// An interesting point and what was decided there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    #[serde(flatten)]
    pub point: InterestingPoint,
    pub materialize: bool,
    /// Seconds of the partition's plan with this one decision taken the other way.
    pub otherwise: Option<f64>,
}

/// Seconds of a chosen operator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorCosts {
    pub cost: f64,
    /// Of what it covers, operator by operator.
    pub unfused: f64,
    pub distributed: bool,
}

/// Seconds of an operator on its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BasicCost {
    pub hop: HopId,
    pub cost: f64,
    /// It exceeds the local memory.
    pub distributed: bool,
}

/// The assignment taken in a partition.
pub(crate) struct Choice {
    points: Vec<InterestingPoint>,
    /// `None` fuses nothing, not even where there is nothing to decide.
    assignment: Option<Vec<bool>>,
}

impl Choice {
    pub fn new(partition: &Partition, search: Option<&Search>, policy: Policy) -> Self {
        let points = search.map_or(&partition.points, |search| &search.points);
        let assignment = match (search, policy) {
            (Some(search), _) if search.unfused => None,
            (Some(search), _) => Some(search.assignment.clone()),
            (None, Policy::None) => None,
            (None, Policy::FuseNoRedundancy) => Some(no_redundancy(points)),
            (None, Policy::FuseAll | Policy::Cost) => Some(vec![false; points.len()]),
        };
        Choice {
            points: points.clone(),
            assignment,
        }
    }

    pub fn assign(&self, plans: &mut PartitionCosts) {
        match &self.assignment {
            Some(assignment) => plans.assign(&self.points, assignment),
            None => plans.assign_none(),
        }
    }

    /// What was decided; with what else it would have cost, if that is asked for.
    pub fn decisions(&self, plans: &mut PartitionCosts, with_costs: bool) -> Vec<Decision> {
        let mut otherwise = |place: usize| {
            let mut other = self.assignment.clone().filter(|_| with_costs)?;
            let decision = other.get_mut(place)?;
            *decision = !*decision;
            Some(plans.plan(&self.points, &other, f64::INFINITY))
        };
        let decision = |(place, point): (usize, &InterestingPoint)| Decision {
            point: *point,
            materialize: self.assignment.as_ref().is_none_or(|set| set[place]),
            otherwise: otherwise(place),
        };
        self.points.iter().enumerate().map(decision).collect()
    }
}

impl PlanCosts {
    pub(crate) fn new(
        plans: &mut PartitionCosts,
        partition: &Partition,
        search: Option<&Search>,
        choice: &Choice,
    ) -> Self {
        let points = &partition.points;
        let mut seconds = |points: &[InterestingPoint], assignment: &[bool]| {
            plans.plan(points, assignment, f64::INFINITY)
        };
        let fuse_all = seconds(points, &vec![false; points.len()]);
        let fuse_no_redundancy = seconds(points, &no_redundancy(points));
        let best_fused = search.map(|search| seconds(&search.points, &search.assignment));
        let chosen = choice
            .assignment
            .as_ref()
            .map(|assignment| seconds(&choice.points, assignment));
        let unfused = plans.unfused();
        PlanCosts {
            chosen: chosen.unwrap_or(unfused),
            best_fused,
            fuse_all,
            fuse_no_redundancy,
            unfused,
        }
    }
}

impl PlanCosts {
    /// Of two partitions together.
    pub fn plus(self, other: Self) -> Self {
        let best = self.best_fused.zip(other.best_fused);
        PlanCosts {
            chosen: self.chosen + other.chosen,
            best_fused: best.map(|(one, two)| one + two),
            fuse_all: self.fuse_all + other.fuse_all,
            fuse_no_redundancy: self.fuse_no_redundancy + other.fuse_no_redundancy,
            unfused: self.unfused + other.unfused,
        }
    }
}

impl fmt::Display for PlanCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chosen {}; ", Seconds(self.chosen))?;
        if let Some(best) = self.best_fused {
            write!(f, "best fused {}, ", Seconds(best))?;
        }
        write!(
            f,
            "fuse-all {}, fuse-no-redundancy {}, none {}",
            Seconds(self.fuse_all),
            Seconds(self.fuse_no_redundancy),
            Seconds(self.unfused)
        )
    }
}

/// Materialises every intermediate with more than one consumer.
fn no_redundancy(points: &[InterestingPoint]) -> Vec<bool> {
    let is_shared = |point: &InterestingPoint| point.kind == PointKind::MaterializationPoint;
    points.iter().map(is_shared).collect()
}
