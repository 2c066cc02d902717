//! What fusion considered, chose and refused, as data.
//!
//! [`Explanation`] is kept with every plan and prints as text (`text`). What only a reader wants to know, the costs
//! of what was not chosen (`costs`), is there if [`FusionConfig::explain`](crate::FusionConfig::explain) asks for it.

mod costs;
pub mod text;

use std::time::Duration;

use fulgurite_error::Position;
use fulgurite_hop::HopId;
use serde::Serialize;

pub(crate) use costs::Choice;
pub use costs::{BasicCost, Decision, OperatorCosts, PlanCosts};

use crate::{
    FusedOperator, Policy,
    memo::{CloseStatus, MemoTable, TemplateType},
    operator::Operator,
    partition::Partition,
    reason::TemplateReason,
    search::Search,
    view::DagView,
};

/// HOPs are numbered as in the DAG before fusion.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub policy: Policy,
    pub memo: Vec<Group>,
    pub partitions: Vec<PartitionExplanation>,
    pub operators: Vec<OperatorExplanation>,
    pub refusals: Vec<Refusal>,
    /// Of the operators one by one, without fusion; if asked for.
    pub basic_costs: Vec<BasicCost>,
    /// Between operators that could be neighbours in a plan; if asked for.
    pub edge_refusals: Vec<EdgeRefusal>,
}

/// A group of the memo table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    pub hop: HopId,
    pub code: String,
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub template: TemplateType,
    /// `R(10,-1)`: per input the group that the plan goes on into, or -1.
    pub text: String,
    pub close: CloseStatus,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionExplanation {
    #[serde(flatten)]
    pub partition: Partition,
    /// In the order of the search.
    pub decisions: Vec<Decision>,
    pub costs: Option<PlanCosts>,
    /// Of the cost-based policy.
    pub search: Option<Search>,
}

/// A fused operator that was chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorExplanation {
    pub label: String,
    pub template: TemplateType,
    pub root: HopId,
    /// Of several aggregates at once, all; else the root alone.
    pub roots: Vec<HopId>,
    /// In topological order.
    pub covered: Vec<HopId>,
    /// The first is the main input.
    pub inputs: Vec<HopId>,
    #[serde(flatten)]
    pub costs: OperatorCosts,
    pub plan: String,
}

/// An operator of a kind that can fuse, and why it runs on its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub hop: HopId,
    pub code: String,
    pub position: Option<Position>,
    pub reasons: Vec<TemplateReason>,
}

/// How much there was to plan, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FusionStatistics {
    /// HOPs that are needed.
    pub hops: u64,
    /// Groups of the memo table with entries, and the entries.
    pub groups: u64,
    pub entries: u64,
    pub partitions: u64,
    pub interesting_points: u64,
    pub plans_costed: u64,
    /// In one partition.
    #[serde(skip)]
    pub most_plans_costed: u64,
    /// Plans there are if each DAG, or each partition, is one search space: two to the power of its points.
    #[serde(skip)]
    pub plans_of_dags: f64,
    #[serde(skip)]
    pub plans_of_partitions: f64,
    pub fused_operators: u64,
    #[serde(skip)]
    pub explore: Duration,
    /// With partitioning and costing.
    #[serde(skip)]
    pub select: Duration,
    #[serde(skip)]
    pub construct: Duration,
}

impl FusionStatistics {
    pub(crate) fn counts(view: &DagView, explanation: &Explanation) -> Self {
        let partitions = &explanation.partitions;
        let points = partitions.iter().map(|each| each.partition.points.len());
        let searches = partitions.iter().filter_map(|each| each.search.as_ref());
        let costed = searches.map(|search| search.plans_costed);
        let plans = |points: usize| (points as f64).exp2();
        let live = view.dag.iter().filter(|(hop, _)| view.is_live(*hop));
        FusionStatistics {
            hops: live.count() as u64,
            groups: explanation.memo.len() as u64,
            entries: explanation
                .memo
                .iter()
                .map(|group| group.entries.len() as u64)
                .sum(),
            partitions: partitions.len() as u64,
            interesting_points: points.clone().sum::<usize>() as u64,
            plans_costed: costed.clone().sum(),
            most_plans_costed: costed.max().unwrap_or(0),
            plans_of_dags: match partitions.is_empty() {
                true => 0.0,
                false => plans(points.clone().sum()),
            },
            plans_of_partitions: points.map(plans).sum(),
            fused_operators: explanation.operators.len() as u64,
            ..FusionStatistics::default()
        }
    }

    /// Of two plannings together.
    pub fn plus(self, other: Self) -> Self {
        FusionStatistics {
            hops: self.hops + other.hops,
            groups: self.groups + other.groups,
            entries: self.entries + other.entries,
            partitions: self.partitions + other.partitions,
            interesting_points: self.interesting_points + other.interesting_points,
            plans_costed: self.plans_costed + other.plans_costed,
            most_plans_costed: self.most_plans_costed.max(other.most_plans_costed),
            plans_of_dags: self.plans_of_dags + other.plans_of_dags,
            plans_of_partitions: self.plans_of_partitions + other.plans_of_partitions,
            fused_operators: self.fused_operators + other.fused_operators,
            explore: self.explore + other.explore,
            select: self.select + other.select,
            construct: self.construct + other.construct,
        }
    }
}

/// No plan goes from the consumer on into this input.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EdgeRefusal {
    pub consumer: HopId,
    pub input: HopId,
    /// The one of the two that the reasons are about.
    pub refused_by: HopId,
    pub reasons: Vec<TemplateReason>,
}

impl Explanation {
    pub(crate) fn new<'a>(
        view: &DagView,
        policy: Policy,
        memo: &MemoTable,
        partitions: Vec<PartitionExplanation>,
        chosen: impl Iterator<Item = (&'a Operator, OperatorCosts)>,
        built: &[FusedOperator],
        refusals: Vec<Refusal>,
    ) -> Self {
        let groups = view
            .dag
            .iter()
            .filter(|(id, _)| !memo.group(*id).is_empty());
        let groups = groups.map(|(id, hop)| Group {
            hop: id,
            code: hop.op.code(),
            entries: memo
                .group(id)
                .iter()
                .map(|entry| Entry {
                    template: entry.template,
                    text: entry.text(&hop.inputs),
                    close: entry.close,
                })
                .collect(),
        });
        let operators = chosen.zip(built).map(|((chosen, costs), built)| {
            let mut covered: Vec<HopId> = chosen.covered.iter().map(|(hop, _)| *hop).collect();
            covered.sort_unstable();
            OperatorExplanation {
                label: built.label.clone(),
                template: chosen.template,
                root: chosen.root,
                roots: chosen.roots().collect(),
                covered,
                inputs: built.inputs.clone(),
                costs,
                plan: built.plan.to_string(),
            }
        });
        Explanation {
            policy,
            memo: groups.collect(),
            partitions,
            operators: operators.collect(),
            refusals,
            basic_costs: Vec::new(),
            edge_refusals: Vec::new(),
        }
    }
}
