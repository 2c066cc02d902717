//! How often statement blocks were planned in an execution, and why again.

use std::{collections::BTreeMap, fmt};

use fulgurite_fusion::FusionStatistics;
use serde::{Deserialize, Serialize};

/// Why a block was planned. Where there are several reasons, the first one of these counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Replan {
    /// It had not been run before.
    First,
    /// Sizes were not known when it was planned, and are now.
    SizesKnown,
    /// Sizes changed by a factor that matters, or what they allow changed.
    Sizes,
    /// The share of non-zeros changed by a factor that matters.
    Sparsity,
    /// An operator now fits into memory, or no longer does.
    Memory,
    /// A scalar that decides sizes has another value, or the block is rewritten to other operators.
    Values,
}

impl Replan {
    fn text(self) -> &'static str {
        match self {
            Replan::First => "first",
            Replan::SizesKnown => "sizes became known",
            Replan::Sizes => "sizes changed",
            Replan::Sparsity => "sparsity changed",
            Replan::Memory => "memory limits were crossed",
            Replan::Values => "values changed",
        }
    }
}

/// What became of the plans of statement blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlanningReport {
    /// Plans that were made, by the reason.
    pub made: BTreeMap<Replan, u64>,
    /// Runs of blocks with a plan that was made for sizes near by, and got the actual ones.
    pub resized: u64,
    /// Runs of blocks with a plan as it was.
    pub served: u64,
}

impl PlanningReport {
    /// Plans that were made for this reason.
    pub fn count(&self, why: Replan) -> u64 {
        self.made.get(&why).copied().unwrap_or(0)
    }

    /// Counts a plan that was made.
    pub fn add(&mut self, why: Replan) {
        *self.made.entry(why).or_insert(0) += 1;
    }

    /// Adds what one of several interpreters did.
    pub fn absorb(&mut self, other: &PlanningReport) {
        for (why, count) in &other.made {
            *self.made.entry(*why).or_insert(0) += count;
        }
        self.resized += other.resized;
        self.served += other.served;
    }
}

impl fmt::Display for PlanningReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made: Vec<String> = self
            .made
            .iter()
            .map(|(why, count)| format!("{} {count}", why.text()))
            .collect();
        let made = match made.is_empty() {
            true => String::new(),
            false => format!(" ({})", made.join(", ")),
        };
        write!(
            f,
            "plans of blocks: {} made{made}, {} resized, {} served again",
            self.made.values().sum::<u64>(),
            self.resized,
            self.served
        )
    }
}

/// What choosing fused operators took, over all plans that were made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FusionReport {
    pub operators: u64,
    pub interesting_points: u64,
    /// Plans there are if each DAG, or each partition of one, is one search space.
    pub plans_of_dags: f64,
    pub plans_of_partitions: f64,
    pub plans_costed: u64,
    /// In one partition.
    pub most_plans_costed: u64,
    pub explore_milliseconds: f64,
    pub select_milliseconds: f64,
    pub construct_milliseconds: f64,
}

impl FusionReport {
    /// Counts a plan that was made.
    pub fn add(&mut self, one: &FusionStatistics) {
        let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        self.operators += one.hops;
        self.interesting_points += one.interesting_points;
        self.plans_of_dags += one.plans_of_dags;
        self.plans_of_partitions += one.plans_of_partitions;
        self.plans_costed += one.plans_costed;
        self.most_plans_costed = self.most_plans_costed.max(one.most_plans_costed);
        self.explore_milliseconds += milliseconds(one.explore);
        self.select_milliseconds += milliseconds(one.select);
        self.construct_milliseconds += milliseconds(one.construct);
    }

    /// Adds what one of several interpreters did.
    pub fn absorb(&mut self, other: &FusionReport) {
        self.operators += other.operators;
        self.interesting_points += other.interesting_points;
        self.plans_of_dags += other.plans_of_dags;
        self.plans_of_partitions += other.plans_of_partitions;
        self.plans_costed += other.plans_costed;
        self.most_plans_costed = self.most_plans_costed.max(other.most_plans_costed);
        self.explore_milliseconds += other.explore_milliseconds;
        self.select_milliseconds += other.select_milliseconds;
        self.construct_milliseconds += other.construct_milliseconds;
    }
}

impl fmt::Display for FusionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "fusion: explored in {:.1} ms, selected in {:.1} ms with {} plans costed, constructed in {:.1} ms",
            self.explore_milliseconds,
            self.select_milliseconds,
            self.plans_costed,
            self.construct_milliseconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_listed() {
        let mut report = PlanningReport::default();
        insta::assert_snapshot!(report, @"plans of blocks: 0 made, 0 resized, 0 served again");
        for why in [Replan::Sparsity, Replan::First, Replan::First] {
            report.add(why);
        }
        report.served = 40;
        insta::assert_snapshot!(
            report,
            @"plans of blocks: 3 made (first 2, sparsity changed 1), 0 resized, 40 served again"
        );
    }
}
