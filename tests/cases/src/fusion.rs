//! `explore`, `select` and `cplan`: what fusion makes of a DAG, under constants that no machine changes.

use std::fmt::Write;

use fulgurite_error::{Error, Result};
use fulgurite_fusion::{
    CostConstants, FusedDag, FusionConfig, Policy,
    explain::text::{MemoText, PartitionsText, RefusalsText},
    fuse,
};
use fulgurite_hop::{
    HopId,
    text::{DagText, from_text},
};

use crate::Case;

/// GFLOP/s: plans must not depend on the machine that runs the tests.
const COMPUTING: f64 = 4.0;

/// The memo table.
pub fn memo_table(case: &Case) -> Result<String> {
    let fused = fused(case)?;
    Ok(MemoText(&fused.explanation).to_string())
}

/// Partitions with their points and costs, operators chosen, operators left alone and why, and the DAG with the
/// fused operators in place.
pub fn selection(case: &Case) -> Result<String> {
    let fused = fused(case)?;
    let explanation = &fused.explanation;
    let mut text = PartitionsText(explanation).to_string();
    let list = |hops: &[HopId]| {
        let hops: Vec<String> = hops.iter().map(ToString::to_string).collect();
        hops.join(" ")
    };
    for (number, operator) in explanation.operators.iter().enumerate() {
        let (covered, inputs) = (list(&operator.covered), list(&operator.inputs));
        let _ = writeln!(text, "fused({number}) {}", operator.label);
        let _ = writeln!(text, "  covers [{covered}], reads [{inputs}]");
    }
    let _ = write!(text, "{}", RefusalsText(explanation));
    let _ = write!(text, "{}", DagText(&fused.dag));
    Ok(text)
}

/// The CPlans.
pub fn plans(case: &Case) -> Result<String> {
    let mut text = String::new();
    for (number, operator) in fused(case)?.operators.iter().enumerate() {
        let _ = writeln!(text, "fused({number}) {}", operator.label);
        for line in operator.plan.to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    Ok(text)
}

fn fused(case: &Case) -> Result<FusedDag> {
    let fused = fuse(&from_text(&case.body)?, &config(case)?)?;
    is_explained(&fused)?;
    Ok(fused)
}

/// The explanation says of each operator what was built.
fn is_explained(fused: &FusedDag) -> Result<()> {
    let (built, explained) = (&fused.operators, &fused.explanation.operators);
    if built.len() != explained.len() {
        let (built, explained) = (built.len(), explained.len());
        return Err(Error::internal(format!(
            "{built} operators are built, {explained} are explained"
        )));
    }
    for (number, (built, explained)) in built.iter().zip(explained).enumerate() {
        let (built, explained) = (
            (&built.label, &built.plan.to_string(), &built.inputs),
            (&explained.label, &explained.plan, &explained.inputs),
        );
        if built != explained {
            return Err(Error::internal(format!(
                "fused({number}) is {built:?}, but explained as {explained:?}"
            )));
        }
    }
    Ok(())
}

/// Settings: `policy`, `computing` (as [`CostConstants::computing_at`]), and in bytes `local-memory`,
/// `memory-limit` and `broadcast-memory`.
fn config(case: &Case) -> Result<FusionConfig> {
    let mut config = FusionConfig {
        cost: CostConstants::default().computing_at(COMPUTING),
        ..FusionConfig::default()
    };
    for setting in &case.settings {
        let wrong = || Error::argument(format!("the setting '{setting}' is not understood"));
        let (key, value) = setting.split_once('=').ok_or_else(wrong)?;
        let bytes = || value.parse().map_err(|_| wrong());
        match key {
            "policy" => config.policy = Policy::from_name(value).ok_or_else(wrong)?,
            "computing" => {
                let gflop_per_s = value.parse().map_err(|_| wrong())?;
                config.cost = CostConstants::default().computing_at(gflop_per_s);
            }
            "local-memory" => config.local_memory = bytes()?,
            "memory-limit" => config.memory_limit = bytes()?,
            "broadcast-memory" => config.broadcast_memory = bytes()?,
            _ => return Err(wrong()),
        }
    }
    Ok(config)
}
