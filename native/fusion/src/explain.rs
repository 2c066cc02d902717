//! What fusion considered, chose and refused, as data and as text.

use std::fmt;

use fulgurite_error::Position;
use fulgurite_hop::HopId;
use serde::Serialize;

use crate::{
    FusedOperator, Policy,
    enumerate::Search,
    memo::{CloseStatus, MemoTable, TemplateType},
    operator::Operator,
    partition::{Partition, PointKind},
    reason::TemplateReason,
    view::DagView,
};

/// HOPs are numbered as in the DAG before fusion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    pub policy: Policy,
    pub memo: Vec<Group>,
    pub partitions: Vec<PartitionExplanation>,
    pub operators: Vec<OperatorExplanation>,
    pub refusals: Vec<Refusal>,
}

/// A group of the memo table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    pub hop: HopId,
    pub code: String,
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    pub template: TemplateType,
    /// `R(10,-1)`: per input the group that the plan goes on into, or -1.
    pub text: String,
    pub close: CloseStatus,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartitionExplanation {
    #[serde(flatten)]
    pub partition: Partition,
    /// Of the cost-based policy.
    pub search: Option<Search>,
}

/// A fused operator that was chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorExplanation {
    pub label: String,
    pub root: HopId,
    /// In topological order.
    pub covered: Vec<HopId>,
    /// The first is the main input.
    pub inputs: Vec<HopId>,
    pub plan: String,
}

/// An operator of a kind that can fuse, and why it runs on its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refusal {
    pub hop: HopId,
    pub code: String,
    pub position: Option<Position>,
    pub reasons: Vec<TemplateReason>,
}

impl Explanation {
    pub(crate) fn new(
        view: &DagView,
        policy: Policy,
        memo: &MemoTable,
        partitions: Vec<PartitionExplanation>,
        chosen: &[Operator],
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
        let operators = chosen.iter().zip(built).map(|(chosen, built)| {
            let mut inputs: Vec<HopId> = chosen.inputs.iter().map(|(hop, _)| *hop).collect();
            let main = inputs.remove(chosen.main);
            inputs.insert(0, main);
            let mut covered: Vec<HopId> = chosen.covered.iter().map(|(hop, _)| *hop).collect();
            covered.sort_unstable();
            OperatorExplanation {
                label: built.label.clone(),
                root: chosen.root,
                covered,
                inputs,
                plan: built.plan.to_string(),
            }
        });
        Explanation {
            policy,
            memo: groups.collect(),
            partitions,
            operators: operators.collect(),
            refusals,
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "memo table")?;
        for group in &self.memo {
            let entries: Vec<String> = group.entries.iter().map(Entry::to_string).collect();
            let name = format!("{} {}", group.hop, group.code);
            writeln!(f, "  {name:<12} {}", entries.join(" "))?;
        }
        for (number, partition) in self.partitions.iter().enumerate() {
            writeln!(f, "partition {number}")?;
            partition.fmt(f)?;
        }
        writeln!(f, "policy {}", self.policy.name())?;
        for (number, operator) in self.operators.iter().enumerate() {
            writeln!(f, "fused({number}) {}", operator.label)?;
            writeln!(
                f,
                "  covers {}, reads {}",
                list(&operator.covered),
                list(&operator.inputs)
            )?;
            for line in operator.plan.lines() {
                writeln!(f, "  {line}")?;
            }
        }
        if !self.refusals.is_empty() {
            writeln!(f, "not fused")?;
        }
        for refusal in &self.refusals {
            let reasons: Vec<String> = refusal.reasons.iter().map(ToString::to_string).collect();
            writeln!(
                f,
                "  {} {}: {}",
                refusal.hop,
                refusal.code,
                reasons.join("; ")
            )?;
        }
        Ok(())
    }
}

/// `R(10,-1)`; with `]` where the plan is closed, with `!` where it must not end.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        f.write_str(match self.close {
            CloseStatus::OpenValid => "",
            CloseStatus::OpenInvalid => "!",
            CloseStatus::ClosedValid | CloseStatus::ClosedInvalid => "]",
        })
    }
}

impl fmt::Display for PartitionExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partition = &self.partition;
        writeln!(
            f,
            "  hops {}, roots {}",
            list(&partition.hops),
            list(&partition.roots)
        )?;
        writeln!(f, "  inputs {}", list(&partition.inputs))?;
        if !partition.materialization_points.is_empty() {
            writeln!(
                f,
                "  materialization points {}",
                list(&partition.materialization_points)
            )?;
        }
        let points = self
            .search
            .as_ref()
            .map_or(&partition.points, |search| &search.points);
        for (index, point) in points.iter().enumerate() {
            let kind = match point.kind {
                PointKind::MaterializationPoint => "",
                PointKind::TemplateSwitch => " (template switch)",
                PointKind::ExecutionSwitch => " (local over distributed)",
            };
            let set = self
                .search
                .as_ref()
                .is_some_and(|search| search.assignment[index]);
            let set = if set { ": materialize" } else { "" };
            writeln!(
                f,
                "  point {} -> {}{kind}{set}",
                point.consumer, point.target
            )?;
        }
        if let Some(search) = &self.search {
            writeln!(
                f,
                "  cost {:.3e} s, fuse-all {:.3e} s, unfused {:.3e} s; {} of {} plans costed{}",
                search.cost,
                search.cost_fuse_all,
                search.cost_unfused,
                search.plans_costed,
                plans(points.len()),
                match search.budget_exhausted {
                    true => " (budget exhausted: best so far)",
                    false => "",
                }
            )?;
        }
        Ok(())
    }
}

/// How many assignments there are.
fn plans(points: usize) -> String {
    match points {
        0..=19 => (1u64 << points).to_string(),
        _ => format!("2^{points}"),
    }
}

fn list(hops: &[HopId]) -> String {
    let hops: Vec<String> = hops.iter().map(ToString::to_string).collect();
    format!("[{}]", hops.join(" "))
}
