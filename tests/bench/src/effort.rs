//! What planning takes for whole algorithms: the plans there are with all interesting points of a DAG as one search
//! space, with partitions as search spaces, and the plans that are costed in these (Figure 12 of the fusion paper).

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use fulgurite_config::Config;
use fulgurite_error::Result;
use fulgurite_program::{Execution, execute};

use crate::{algorithm::prepare, data::DataScript};

#[derive(Args)]
pub struct Options {
    /// The scripts that make the algorithms' inputs
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// ROWSxCOLSxSPARSITY; the first one that is measured where none is given
    #[arg(long)]
    shape: Option<String>,
}

/// A Markdown table with a line for each algorithm.
///
/// # Errors
/// Those of the scripts.
pub fn table(options: &Options) -> Result<String> {
    let mut table = "| algorithm | shape | block plans | operators | points | all | partitioned | costed | most in one partition | explore ms | select ms | planning ms | compiling ms |\n"
        .to_owned();
    table += "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for path in &options.data {
        let data = DataScript::read(path)?;
        let shape = match &options.shape {
            Some(shape) => shape,
            None => data.words("shapes")?.first().copied().unwrap_or_default(),
        };
        let (request, matrices) = prepare(path, &data, shape)?;
        let session = crate::session(Config::default()).with_print(std::sync::Arc::new(|_| Ok(())));
        let report = execute(Execution::new(request, matrices), &session)?.report;
        let fusion = &report.fusion;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let _ = writeln!(
            table,
            "| {name} | {shape} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} |",
            report.block_plans,
            fusion.operators,
            fusion.interesting_points,
            plans(fusion.plans_of_dags),
            plans(fusion.plans_of_partitions),
            fusion.plans_costed,
            fusion.most_plans_costed,
            fusion.explore_milliseconds,
            fusion.select_milliseconds,
            report.planning_milliseconds,
            report.compile_milliseconds,
        );
    }
    Ok(table)
}

/// All digits while they can be read.
fn plans(count: f64) -> String {
    match count < 1e6 {
        true => count.to_string(),
        false => format!("{count:.1e}"),
    }
}
