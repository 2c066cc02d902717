//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use fulgurite_runtime::ExplainLevel;

const ARGUMENTS: &str = "\
Arguments of scripts:
  -nvargs k=v ...  named arguments, $k in the script
  -args a b ...    positional arguments, $1, $2 ... in the script

Options as SystemML has them:
  fulgurite -f FILE [-nvargs ... | -args ...] [-stats] [-explain [hops|runtime]] [-exec singlenode|hybrid]

Exit codes: 0 done; 1 the script failed, with the reason and its place on the standard error; 2 wrong usage.
Logging: set RUST_LOG, for instance to debug.";

/// Runs scripts in DML, SystemML's R-like language for linear algebra, with fused operators.
#[derive(Debug, Parser)]
#[command(name = "fulgurite", version, after_help = ARGUMENTS)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a script
    #[command(after_help = ARGUMENTS)]
    Run {
        #[command(flatten)]
        script: Script,
        /// Report on the standard error which operators ran, how often and how long
        #[arg(long)]
        stats: bool,
        /// Show on the standard error, before the run, what will be executed
        #[arg(long, value_name = "LEVEL", value_parser = level)]
        explain: Option<ExplainLevel>,
    },
    /// Show what would be executed, without running anything
    #[command(after_help = ARGUMENTS)]
    Explain {
        #[command(flatten)]
        script: Script,
        /// hops, memo, plan, cplan or clif
        #[arg(long, default_value = "plan", value_parser = level)]
        level: ExplainLevel,
    },
    /// Compile a script and report the first error, without running anything
    #[command(after_help = ARGUMENTS)]
    Check {
        #[command(flatten)]
        script: Script,
    },
    /// List all configuration keys with type, default and meaning, and the speeds that the cost model reckons with
    Config {
        /// Measure this machine, unless that was done before
        #[arg(long)]
        calibrate: bool,
        /// A configuration entry; may be repeated
        #[arg(long = "config", value_name = "KEY=VALUE", value_parser = entry)]
        entries: Vec<(String, String)>,
    },
}

#[derive(Debug, Args)]
pub struct Script {
    /// The script
    pub file: PathBuf,
    /// A configuration entry; may be repeated
    #[arg(long = "config", value_name = "KEY=VALUE", value_parser = entry)]
    pub config: Vec<(String, String)>,
    /// Threads of an operator, 0 for all cores: short for --config fulgurite.threads=N
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// One named argument; `-nvargs k=v ...` gives several
    #[arg(long = "nvarg", value_name = "K=V", hide = true, value_parser = entry)]
    pub named: Vec<(String, String)>,
    /// One positional argument; `-args a b ...` gives several
    #[arg(
        long = "arg",
        value_name = "VALUE",
        hide = true,
        allow_hyphen_values = true
    )]
    pub positional: Vec<String>,
}

fn level(text: &str) -> Result<ExplainLevel, String> {
    text.parse().map_err(|error: fulgurite_error::Error| {
        format!("{}; {}", error.message(), error.help().unwrap_or_default())
    })
}

/// `key=value`; only the first `=` separates.
fn entry(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must look like key=value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn declarations_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn entries_are_cut_at_the_first_sign() {
        assert_eq!(entry("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(entry("=b").is_err() && entry("a").is_err());
    }
}
