//! Runs one script as often as it is told, on matrices that stay in memory: the side of Fulgurite in `ci/bench work`, whose
//! peers are told the same.
//!
//! Each line of the standard input is a command, and each is answered by a line of JSON:
//!
//! - `run SECONDS MOST` executes the script until so much time is spent, at least once and at most so often. It gives
//!   `milliseconds`, and the largest `peakBytes` of the process since the last command, without those it had before it
//!   loaded the inputs.
//! - `results FOLDER` writes the outputs of the last execution there, scalars as matrices of one cell.
//!
//! From the second execution on, the program, its plan and compiled operators are found again.

use std::{
    fs,
    io::BufRead,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use fulgurite_config::Config;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    Execution, Outcome, OutputValue, Request, Session, execute, request::Input,
};
use serde_json::{Value, json};

use crate::{
    data,
    exchange::{dump, load},
};

#[derive(Args)]
pub struct Options {
    /// A script; its inputs are variables that it does not set
    script: PathBuf,
    /// A folder with the matrices that it takes, as `exchange` describes
    #[arg(long)]
    inputs: PathBuf,
    /// Variables that the caller takes
    #[arg(long = "output")]
    outputs: Vec<String>,
    /// `NAME=VALUE` of a `$`-argument
    #[arg(long = "argument")]
    arguments: Vec<String>,
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Answers commands until there are no more.
///
/// # Errors
/// Those of the script; `argument` when a command is none; `io`.
pub fn serve(
    options: &Options,
    commands: impl BufRead,
    mut answer: impl FnMut(Value),
) -> Result<()> {
    let mut work = Work::new(options)?;
    for command in commands.lines() {
        let command = command.map_err(|error| Error::io(format!("commands: {error}")))?;
        let words: Vec<&str> = command.split_whitespace().collect();
        let reply = match words[..] {
            ["run", seconds, most] => match (seconds.parse(), most.parse()) {
                (Ok(seconds), Ok(most)) => work.run(seconds, most)?,
                _ => return Err(unknown(&command)),
            },
            ["results", folder] => work.results(Path::new(folder))?,
            _ => return Err(unknown(&command)),
        };
        answer(reply);
    }
    Ok(())
}

fn unknown(command: &str) -> Error {
    Error::argument(format!(
        "'{command}' is neither 'run SECONDS MOST' nor 'results FOLDER'"
    ))
}

struct Work {
    session: Session,
    execution: Execution,
    last: Option<Outcome>,
    bytes_before: u64,
}

impl Work {
    fn new(options: &Options) -> Result<Self> {
        let mut config = Config::default();
        config.set("fulgurite.threads", &options.threads.to_string())?;
        let session = crate::session(config);
        let bytes_before = resident_bytes("VmRSS:");

        let matrices = load(&options.inputs)?;
        let name = options.script.display().to_string();
        let mut request = Request::script(&name, data::read(&options.script)?);
        request.allow_missing_arguments = false;
        request.inputs = matrices.keys().map(Input::local).collect();
        request.outputs.clone_from(&options.outputs);
        for argument in &options.arguments {
            let Some((name, value)) = argument.split_once('=') else {
                return Err(Error::argument(format!("'{argument}' is not NAME=VALUE")));
            };
            request.arguments.insert(name.to_owned(), value.to_owned());
        }
        Ok(Work {
            session,
            execution: Execution::new(request, matrices),
            last: None,
            bytes_before,
        })
    }

    fn run(&mut self, seconds: f64, most: usize) -> Result<Value> {
        forget_peak();
        let mut milliseconds = Vec::new();
        let started = Instant::now();
        while milliseconds.is_empty()
            || (started.elapsed().as_secs_f64() < seconds && milliseconds.len() < most)
        {
            // The last result makes room before the clock runs; peers do the same.
            self.last = None;
            let execution = self.execution.clone();
            let start = Instant::now();
            let outcome = execute(execution, &self.session)?;
            milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
            self.last = Some(outcome);
        }
        let peak = resident_bytes("VmHWM:").saturating_sub(self.bytes_before);
        Ok(json!({ "milliseconds": milliseconds, "peakBytes": peak }))
    }

    fn results(&self, folder: &Path) -> Result<Value> {
        let last = self.last.as_ref();
        let last = last.ok_or_else(|| Error::argument("there is no result before a run"))?;
        for (name, value) in &last.outputs {
            let matrix = match value {
                OutputValue::Matrix(matrix) => matrix.clone(),
                OutputValue::Scalar(value) => match value.as_f64() {
                    Some(value) => MatrixBlock::filled(1, 1, value)?,
                    None => return Err(Error::argument(format!("{name} is not a number"))),
                },
                OutputValue::Frame(_) | OutputValue::List(_) | OutputValue::Dataset { .. } => {
                    return Err(Error::argument(format!("{name} is not a local matrix")));
                }
            };
            dump(folder, name, &matrix)?;
        }
        Ok(json!({}))
    }
}

/// Bytes of this process in memory, now (`VmRSS:`) or at most (`VmHWM:`); 0 where the system does not tell.
fn resident_bytes(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// From now on the system counts the peak anew. Where it can't, the peak is that of the whole process.
fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use fulgurite_error::ErrorKind;

    use super::*;

    fn options(folder: &Path, script: &str) -> Options {
        fs::write(folder.join("work.dml"), script).expect("a file");
        Options {
            script: folder.join("work.dml"),
            inputs: folder.to_owned(),
            outputs: vec!["R".into(), "s".into()],
            arguments: vec!["steps=3".into()],
            threads: 1,
        }
    }

    fn answers(options: &Options, commands: &str) -> Result<Vec<Value>> {
        let mut answers = Vec::new();
        serve(options, commands.as_bytes(), |answer| answers.push(answer))?;
        Ok(answers)
    }

    #[test]
    fn a_script_runs_as_often_as_told_and_gives_its_outputs() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        dump(folder, "X", &MatrixBlock::dense(1, 2, vec![1.0, 2.0])?)?;
        let script = "R = X\nfor (i in 1:$steps) { R = R + i }\ns = sum(R)";
        let results = folder.join("results");
        let commands = format!("run 60 4\nrun 0 4\nresults {}\n", results.display());
        let answers = answers(&options(folder, script), &commands)?;

        let runs = |answer: &Value| answer["milliseconds"].as_array().map(Vec::len);
        assert_eq!((runs(&answers[0]), runs(&answers[1])), (Some(4), Some(1)));
        assert_eq!(answers.len(), 3);
        let found = load(&results)?;
        assert_eq!(found["R"].to_dense()?.values(), [7.0, 8.0]);
        assert_eq!(found["s"].to_dense()?.values(), [15.0]);
        Ok(())
    }

    #[test]
    fn the_peak_covers_what_a_run_needs() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let cells = 4 << 20;
        let script = format!("R = rand(rows={cells}, cols=1, seed=1)\ns = 0");
        let answers = answers(&options(folder.path(), &script), "run 0 1\n")?;
        let peak = answers[0]["peakBytes"].as_u64();
        assert!(peak >= Some(8 * cells), "{peak:?}");
        Ok(())
    }

    #[test]
    fn wrong_commands_and_arguments_are_errors() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = options(folder.path(), "R = 1\ns = $steps");
        for command in ["halt", "run", "run soon 1", "run 1 -1", "results now"] {
            let error = answers(&options, command).expect_err(command);
            assert_eq!(error.kind(), ErrorKind::Argument, "{command}");
        }
        options.arguments = vec!["steps".into()];
        let error = answers(&options, "run 0 1").expect_err("no value");
        assert_eq!(error.kind(), ErrorKind::Argument);
    }
}
