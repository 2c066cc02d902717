//! How much each stage of the compiler did for a script, and how long it took.

use std::{
    fmt,
    time::{Duration, Instant},
};

use fulgurite_error::Result;
use fulgurite_fusion::FusionStatistics;
use fulgurite_program::Session;
use serde::Serialize;

use super::analysis::Analysis;

/// Of one explanation: every block planned once, every fused operator compiled unless the session has it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Statistics {
    pub milliseconds: Stages,
    #[serde(flatten)]
    pub counts: FusionStatistics,
    pub rewrites: u64,
    pub plan_cache_hits: u64,
    pub plan_cache_misses: u64,
    pub blocks: Vec<BlockStatistics>,
}

#[derive(Debug, Serialize)]
pub(super) struct Stages {
    pub parse: f64,
    pub rewrite: f64,
    pub explore: f64,
    pub select: f64,
    pub construct: f64,
    pub compile: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct BlockStatistics {
    pub block: usize,
    #[serde(flatten)]
    pub counts: FusionStatistics,
}

impl Statistics {
    /// # Errors
    /// As compiling.
    pub fn of(analysis: &Analysis, session: &Session) -> Result<Self> {
        let before = session.plan_cache.statistics();
        let started = Instant::now();
        for operator in analysis
            .blocks
            .iter()
            .flat_map(|block| &block.fused.operators)
        {
            session.plan_cache.get_or_compile(&operator.plan)?;
        }
        let compile = started.elapsed();
        let after = session.plan_cache.statistics();
        let counts = analysis.statistics();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        Ok(Statistics {
            milliseconds: Stages {
                parse: milliseconds(analysis.front.parse),
                rewrite: milliseconds(analysis.front.rewrite),
                explore: milliseconds(counts.explore),
                select: milliseconds(counts.select),
                construct: milliseconds(counts.construct),
                compile: milliseconds(compile),
            },
            counts,
            rewrites: analysis.front.rewrites.len() as u64,
            plan_cache_hits: after.hits.saturating_sub(before.hits),
            plan_cache_misses: after.misses.saturating_sub(before.misses),
            blocks: analysis
                .blocks
                .iter()
                .filter(|block| block.has_matrices())
                .map(|block| BlockStatistics {
                    block: block.number,
                    counts: block.fused.statistics,
                })
                .collect(),
        })
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stages {
            parse,
            rewrite,
            explore,
            select,
            construct,
            compile,
        } = self.milliseconds;
        let counts = self.counts;
        let total = parse + rewrite + explore + select + construct + compile;
        writeln!(f, "{:<10} {:>12}  result", "stage", "milliseconds")?;
        let mut stage = |name: &str, time: f64, result: String| {
            writeln!(
                f,
                "{}",
                format!("{name:<10} {time:>12.3}  {result}").trim_end()
            )
        };
        stage("parse", parse, String::new())?;
        stage(
            "rewrite",
            rewrite,
            format!("{} rewrites leave {} HOPs", self.rewrites, counts.hops),
        )?;
        stage(
            "explore",
            explore,
            format!("{} entries in {} groups", counts.entries, counts.groups),
        )?;
        stage(
            "select",
            select,
            format!(
                "{} plans costed for {} interesting points in {} partitions",
                counts.plans_costed, counts.interesting_points, counts.partitions
            ),
        )?;
        stage(
            "construct",
            construct,
            format!("{} fused operators", counts.fused_operators),
        )?;
        stage(
            "compile",
            compile,
            format!(
                "{} compiled, {} from the cache",
                self.plan_cache_misses, self.plan_cache_hits
            ),
        )?;
        stage("total", total, String::new())?;
        writeln!(
            f,
            "{:>5}  {:>5}  {:>7}  {:>10}  {:>6}  {:>5}  {:>5}",
            "block", "HOPs", "entries", "partitions", "points", "plans", "fused"
        )?;
        for block in &self.blocks {
            let counts = block.counts;
            writeln!(
                f,
                "{:>5}  {:>5}  {:>7}  {:>10}  {:>6}  {:>5}  {:>5}",
                block.block,
                counts.hops,
                counts.entries,
                counts.partitions,
                counts.interesting_points,
                counts.plans_costed,
                counts.fused_operators
            )?;
        }
        Ok(())
    }
}
