//! What can be typed.

use std::path::PathBuf;

use clap::{
    Args, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use fulgurite_error::Code;
use fulgurite_program::{ExplainFormat, ExplainLevel};

const ARGUMENTS: &str = "\
Arguments of scripts:
  -nvargs k=v ...  named arguments, $k in the script
  -args a b ...    positional arguments, $1, $2 ... in the script

Options as SystemML has them:
  fulgurite -f FILE [-nvargs ... | -args ...] [-stats] [-explain [hops|runtime]] [-exec singlenode|hybrid]

Exit codes: 0 done; 1 the script failed, with the reason and its place on the standard error; 2 wrong usage;
130 stopped by Ctrl-C, and --stats reports what has run; 141 nobody reads the standard output any more (as in
fulgurite ... | head): the script ends at its next print.
Logging: set RUST_LOG, for instance to debug.";

const EXPLAIN: &str = "\
Sizes come from the metadata (.mtd) of the files that -nvargs names, and from --size; what is left unknown is shown as ?.
-nvargs k=v ... and -args a b ... give the script's arguments, as for run.

Examples:
  fulgurite explain mlogreg.dml -nvargs X=X.csv Y=Y.csv
  fulgurite explain mlogreg.dml --size X=10000x50 --size y=10000x1 --level partitions --format json
  fulgurite explain mlogreg.dml --size X=10000x50 --size y=10000x1 --assume classes=10 --format html > plan.html
  fulgurite explain mlogreg.dml --size X=10000x50 --size y=10000x1 --assume classes=10 --why 71";

const CHECK: &str = "\
-nvargs k=v ... and -args a b ... give the script's arguments, as for run.

Exit codes: 0 no errors, whatever warnings there are; 1 errors; 2 wrong usage.

Examples:
  fulgurite check mlogreg.dml -nvargs X=X.csv Y=Y.csv
  fulgurite check mlogreg.dml --format json -nvargs X=X.csv Y=Y.csv
  fulgurite check --explain E0201";

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
        #[arg(long, value_name = "LEVEL", value_parser = levels())]
        explain: Option<ExplainLevel>,
    },
    /// Show what would be executed, and why, without running anything
    #[command(after_help = EXPLAIN)]
    Explain {
        #[command(flatten)]
        script: Script,
        /// What is shown
        #[arg(long, default_value = "plan", value_parser = levels())]
        level: ExplainLevel,
        /// How it is shown: dot, svg and html draw the levels hops, partitions and plan
        #[arg(long, default_value = "text", value_parser = formats())]
        format: ExplainFormat,
        /// Why operators are fused, or not: those at LINE or LINE:COLUMN (FILE:LINE in other files), BLOCK.HOP as
        /// the level hops numbers them, or all of a code as 'ba(+*)'. In place of a level; as text or json
        #[arg(long, value_name = "WHERE", conflicts_with = "level")]
        why: Option<String>,
        /// The size of a matrix that the script reads into the variable NAME, as if its file were there: ROWSxCOLS
        /// or ROWSxCOLS:NONZEROS, with ? for what is not known; may be repeated
        #[arg(long = "size", value_name = "NAME=SIZE", value_parser = size)]
        sizes: Vec<MatrixSize>,
        /// The value of a scalar that only a run would tell, as if the script assigned it to NAME; may be repeated
        #[arg(long = "assume", value_name = "NAME=VALUE", value_parser = entry)]
        assumed: Vec<(String, String)>,
    },
    /// Compile a script and report all errors and warnings, without running anything
    #[command(after_help = CHECK)]
    Check {
        #[command(flatten)]
        script: Option<Script>,
        /// How errors and warnings are reported: as text on the standard error, or as one JSON document on the
        /// standard output
        #[arg(long, default_value = "text", value_parser = ["text", "json"])]
        format: String,
        /// Show the page about a code of an error or warning, such as E0201
        #[arg(long, value_name = "CODE", exclusive = true, value_parser = code)]
        explain: Option<Code>,
    },
    /// List all configuration keys with type, default and meaning, and the speeds that the cost model reckons with
    Config {
        /// Measure this machine, also if that was done before
        #[arg(long)]
        calibrate: bool,
        /// A configuration entry; may be repeated
        #[arg(long = "config", value_name = "KEY=VALUE", value_parser = entry)]
        entries: Vec<(String, String)>,
    },
}

#[derive(Debug, Args)]
pub struct Script {
    /// The script; - for the standard input
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

/// Rows, columns and non-zeros; -1 where they are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixSize {
    pub name: String,
    pub rows: i64,
    pub cols: i64,
    pub nnz: i64,
}

/// `E0201`, in any case.
fn code(text: &str) -> Result<Code, String> {
    let unknown = |_| "there is no such code; docs/errors lists them".to_owned();
    text.parse().map_err(unknown)
}

fn levels() -> impl TypedValueParser<Value = ExplainLevel> {
    let levels = ExplainLevel::ALL.iter();
    let values = levels.map(|(_, name, shows)| PossibleValue::new(*name).help(*shows));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<ExplainLevel>())
}

fn formats() -> impl TypedValueParser<Value = ExplainFormat> {
    let names = ExplainFormat::ALL.map(ExplainFormat::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<ExplainFormat>())
}

/// `X=1000x10` or `X=1000x10:500`.
fn size(text: &str) -> Result<MatrixSize, String> {
    let wrong =
        || "must look like X=1000x10 or X=1000x10:500, with ? for what is not known".to_owned();
    let number = |text: &str| match text {
        "?" => Ok(-1),
        digits if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            digits.parse::<i64>().map_err(|_| wrong())
        }
        _ => Err(wrong()),
    };
    let (name, size) = entry(text).map_err(|_| wrong())?;
    let (dims, nnz) = size.split_once(':').unwrap_or((&size, "?"));
    let (rows, cols) = dims.split_once('x').ok_or_else(wrong)?;
    let size = MatrixSize {
        name,
        rows: number(rows)?,
        cols: number(cols)?,
        nnz: number(nnz)?,
    };
    let cells = size.rows.checked_mul(size.cols);
    match size.rows >= 0 && size.cols >= 0 && cells.is_none_or(|cells| size.nnz > cells) {
        true => Err(format!(
            "{text} has more non-zeros than cells, or more cells than can be counted"
        )),
        false => Ok(size),
    }
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
    fn sizes_are_read() {
        let of = |rows, cols, nnz| MatrixSize {
            name: "X".into(),
            rows,
            cols,
            nnz,
        };
        assert_eq!(size("X=1000x10"), Ok(of(1000, 10, -1)));
        assert_eq!(size("X=1000x?:500"), Ok(of(1000, -1, 500)));
        for wrong in [
            "X",
            "X=10",
            "=1x1",
            "X=-1x5",
            "X=1x1:2",
            "X=ax1",
            "X=9223372036854775807x9",
        ] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn entries_are_cut_at_the_first_sign() {
        assert_eq!(entry("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(entry("=b").is_err() && entry("a").is_err());
    }
}
