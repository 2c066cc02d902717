//! What the subcommands do.

use std::{io::Read, sync::Arc};

use fulgurite_backend_local::with_chosen_backend;
use fulgurite_config::{Calibration, Config};
use fulgurite_error::{Code, Error, ErrorKind, Result};
use fulgurite_explain::explain;
use fulgurite_matrix::Interrupt;
use fulgurite_program::{
    Execution, Outcome, Request, Session, Watch, check, execute,
    request::{Binding, Input},
    warnings,
};

use crate::{
    ctrl_c::{self, Ending},
    diagnostics::Diagnostics,
    options::{Cli, Command, MatrixSize, Script},
    output::{print, tell},
};

/// Why a command could not do what was asked.
pub enum Failure {
    /// What was typed does not go together.
    Usage(Error),
    /// The script, or what it needs.
    Script(Error),
    /// The script, and its errors are reported already.
    Reported,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Script(error)
    }
}

pub fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Run {
            script,
            stats,
            explain: level,
        } => {
            let (request, session) = prepare(script)?;
            if let Some(level) = level {
                let request = Request {
                    level,
                    ..request.clone()
                };
                tell(&explain(&request, &session)?);
            }
            let execution = Execution {
                request,
                ..Execution::default()
            };
            let outcome = interruptible(execution, session, stats)?;
            if stats {
                tell(&outcome.report.to_string());
            }
            Ok(())
        }
        Command::Explain {
            script,
            level,
            format,
            why,
            sizes,
            assumed,
        } => {
            format.check(level).map_err(Failure::Usage)?;
            let (request, session) = prepare(script)?;
            check_sizes(&sizes, &request).map_err(Failure::Usage)?;
            let request = Request {
                level,
                format,
                why,
                inputs: sizes.into_iter().map(sized).collect(),
                assume: assumed.into_iter().collect(),
                ..request
            };
            Ok(print(&explain(&request, &session)?)?)
        }
        Command::Check {
            explain: Some(code),
            ..
        } => Ok(print(code.page())?),
        Command::Check {
            script: Some(script),
            format,
            explain: None,
        } => checked(script, &format),
        // clap asks for the script.
        Command::Check {
            script: None,
            explain: None,
            ..
        } => Err(Failure::Usage(Error::argument("check needs a script"))),
        Command::Config { calibrate, entries } => {
            let configuration = configuration(&entries)?;
            let calibration = Calibration::of_this_machine();
            if calibrate {
                let threads = configuration.effective_threads();
                calibration.measure(threads, || {
                    fulgurite_operators::Threads::new(threads).map(|threads| threads.pool())
                })?;
            }
            Ok(print(&format!(
                "{}\n{}",
                fulgurite_config::to_text(),
                calibration.describe(&configuration)
            ))?)
        }
    }
}

/// Compiles a script, and reports what is wrong and what looks so.
fn checked(script: Script, format: &str) -> Result<(), Failure> {
    let (error, warnings) = match prepare(script) {
        Ok((request, session)) => (check(&request, &session).err(), warnings(&request)),
        Err(error) => (Some(error), Vec::new()),
    };
    let found = Diagnostics::new(error, warnings);
    match format {
        "json" => print(&found.to_json()?)?,
        _ => found.to_text().iter().for_each(|text| tell(text)),
    }
    match found.has_errors() {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Runs a script until Ctrl-C; of what has run until then there are statistics, too.
fn interruptible(execution: Execution, session: Session, stats: bool) -> Result<Outcome> {
    let (interrupt, watch, ending) = (Interrupt::new(), Watch::default(), Ending::default());
    let session = session
        .with_interrupt(interrupt.clone())
        .with_watch(watch.clone());
    let report = move || {
        if let Some(report) = watch.report().filter(|_| stats) {
            tell(&report.to_string());
        }
    };
    let (told, asked) = (report.clone(), interrupt.clone());
    ctrl_c::stops(&interrupt, &ending, move || {
        told();
        if let Err(interrupted) = asked.check() {
            tell(&interrupted.to_string());
        }
    })?;
    let outcome = execute(execution, &session);
    ending.reached();
    if let Err(error) = &outcome
        && error.kind() == ErrorKind::Interrupted
    {
        report();
    }
    outcome
}

/// A matrix that is there as far as planning is concerned.
fn sized(size: MatrixSize) -> Input {
    let MatrixSize {
        name,
        rows,
        cols,
        nnz,
    } = size;
    Input {
        name,
        binding: Binding::Dataset { rows, cols, nnz },
    }
}

/// Sizes are of variables that the script has: another name is a slip, which would leave a size unknown.
///
/// # Errors
/// `argument`, for a name that the script does not use.
fn check_sizes(sizes: &[MatrixSize], request: &Request) -> Result<()> {
    let script = request.script.as_deref().unwrap_or_default();
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    for MatrixSize { name, .. } in sizes {
        if !script.split(word).any(|found| found == name) {
            return Err(Error::argument(format!(
                "--size {name}=...: the script has no variable '{name}'"
            ))
            .with_help("NAME is the variable that the script reads the matrix into"));
        }
    }
    Ok(())
}

/// What stands for the standard input in the place of a file.
const STANDARD_INPUT: &str = "-";

/// The script's name in messages, and its text.
fn read(script: &Script) -> Result<(String, String)> {
    let path = script.file.display().to_string();
    let (name, text) = if path == STANDARD_INPUT {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        ("<stdin>".to_owned(), read.map(|_| text))
    } else {
        let text = std::fs::read_to_string(&script.file);
        (path, text)
    };
    match text {
        Ok(text) => Ok((name, text)),
        Err(error) => {
            let failed = Error::io(format!("cannot read the script {name}: {error}"));
            Err(match error.kind() {
                std::io::ErrorKind::NotFound => failed.with_code(Code::FileNotFound),
                _ => failed,
            })
        }
    }
}

/// The script as a request, in a session with the configuration given.
fn prepare(script: Script) -> Result<(Request, Session)> {
    let (name, text) = read(&script)?;
    let mut request = Request::script(name, text);
    let positional = script.positional.into_iter().enumerate();
    let positional = positional.map(|(index, value)| ((index + 1).to_string(), value));
    request.arguments = script.named.into_iter().chain(positional).collect();
    let mut configuration = configuration(&script.config)?;
    if let Some(threads) = script.threads {
        configuration.set("fulgurite.threads", &threads.to_string())?;
    }
    let session = with_chosen_backend(Session::new(configuration))
        .with_calibration(Calibration::of_this_machine())
        .with_print(Arc::new(|line| print(&format!("{line}\n"))));
    Ok((request, session))
}

fn configuration(entries: &[(String, String)]) -> Result<Config> {
    let mut configuration = Config::default();
    for (key, value) in entries {
        configuration.set(key, value)?;
    }
    Ok(configuration)
}
