//! What fusion considered, chose and refused, as text. Each part also prints alone.

use std::fmt;

use fulgurite_hop::{HopId, Seconds};

use super::{Entry, Explanation, PartitionExplanation, Refusal};
use crate::{memo::CloseStatus, partition::PointKind, search::Search};

/// The memo table alone.
pub struct MemoText<'a>(pub &'a Explanation);

/// The partitions alone.
pub struct PartitionsText<'a>(pub &'a Explanation);

/// What was not fused, and why.
pub struct RefusalsText<'a>(pub &'a Explanation);

impl fmt::Display for MemoText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "memo table")?;
        for group in &self.0.memo {
            let entries: Vec<String> = group.entries.iter().map(Entry::to_string).collect();
            let name = format!("{} {}", group.hop, group.code);
            writeln!(f, "  {name:<12} {}", entries.join(" "))?;
        }
        Ok(())
    }
}

impl fmt::Display for PartitionsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, partition) in self.0.partitions.iter().enumerate() {
            writeln!(f, "partition {number}")?;
            partition.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for RefusalsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.refusals.is_empty() {
            writeln!(f, "not fused")?;
        }
        for refusal in &self.0.refusals {
            writeln!(f, "  {refusal}")?;
        }
        Ok(())
    }
}

/// `7 ba(+*): Row: the template has no such operator`
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.reasons.iter().map(ToString::to_string).collect();
        write!(f, "{} {}: {}", self.hop, self.code, reasons.join("; "))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        MemoText(self).fmt(f)?;
        PartitionsText(self).fmt(f)?;
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
        RefusalsText(self).fmt(f)
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
        for decision in &self.decisions {
            let kind = match decision.point.kind {
                PointKind::MaterializationPoint => "",
                PointKind::TemplateSwitch => " (template switch)",
                PointKind::ExecutionSwitch => " (local over distributed)",
            };
            let set = match decision.materialize {
                true => ": materialize",
                false => "",
            };
            let (consumer, target) = (decision.point.consumer, decision.point.target);
            write!(f, "  point {consumer} -> {target}{kind}{set}")?;
            match decision.otherwise {
                Some(seconds) => writeln!(f, "; {} otherwise", Seconds(seconds))?,
                None => writeln!(f)?,
            }
        }
        if let Some(search) = &self.search {
            writeln!(
                f,
                "  cost {}, fuse-all {}, unfused {}; {} of {} plans costed{}",
                Seconds(search.cost),
                Seconds(search.cost_fuse_all),
                Seconds(search.cost_unfused),
                search.plans_costed,
                plans(self.decisions.len()),
                found(search)
            )?;
        }
        if let Some(costs) = &self.costs {
            writeln!(f, "  {costs}")?;
        }
        Ok(())
    }
}

/// How good the plan is that was found, where it need not be the cheapest one.
fn found(search: &Search) -> String {
    let recalled = match search.is_recalled {
        true => ", as found before",
        false => "",
    };
    match (search.budget_exhausted, search.passed_over * 100.0) {
        (true, _) => format!("{recalled} (budget exhausted: best so far)"),
        (false, 0.0) => recalled.to_owned(),
        (false, percent) => format!("{recalled} (others could save {percent:.1} % at most)"),
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
