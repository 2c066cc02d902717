//! What the subcommands do.

use std::io::{self, Write};

use fulgurite_error::{Error, ErrorKind, Result};
use fulgurite_matrix::Interrupt;
use fulgurite_runtime::{
    Config, Execution, Outcome, Request, Session, Watch,
    calibration::Calibration,
    check, config, execute, explain,
    request::{Binding, Input},
};

use crate::{
    ctrl_c::{self, Ending},
    options::{Cli, Command, MatrixSize, Script},
};

/// Why a command could not do what was asked.
pub enum Failure {
    /// What was typed does not go together.
    Usage(Error),
    /// The script, or what it needs.
    Script(Error),
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
                eprintln!("{}", explain(&request, &session)?);
            }
            let execution = Execution {
                request,
                ..Execution::default()
            };
            let outcome = interruptible(execution, session, stats)?;
            if stats {
                eprintln!("{}", outcome.report);
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
            let request = Request {
                level,
                format,
                why,
                inputs: sizes.into_iter().map(sized).collect(),
                assume: assumed.into_iter().collect(),
                ..request
            };
            print(&explain(&request, &session)?)
        }
        Command::Check { script } => {
            let (request, session) = prepare(script)?;
            Ok(check(&request, &session)?)
        }
        Command::Config { calibrate, entries } => {
            let configuration = configuration(&entries)?;
            let calibration = Calibration::of_this_machine();
            if calibrate {
                calibration.measured(configuration.effective_threads())?;
            }
            print(&format!(
                "{}\n{}",
                config::to_text(),
                calibration.describe(&configuration)
            ))
        }
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
            eprintln!("{report}");
        }
    };
    let (tell, asked) = (report.clone(), interrupt.clone());
    ctrl_c::stops(&interrupt, &ending, move || {
        tell();
        if let Err(interrupted) = asked.check() {
            eprintln!("{interrupted}");
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

/// To the standard output. Whoever reads it may close it early, as `head` does.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Script(Error::io(
            format!("cannot write to the standard output: {error}"),
        ))),
        _ => Ok(()),
    }
}

/// The script as a request, in a session with the configuration given.
fn prepare(script: Script) -> Result<(Request, Session)> {
    let path = script.file.display();
    let text = std::fs::read_to_string(&script.file)
        .map_err(|error| Error::io(format!("cannot read the script {path}: {error}")))?;
    let mut request = Request::script(path.to_string(), text);
    let positional = script.positional.into_iter().enumerate();
    let positional = positional.map(|(index, value)| ((index + 1).to_string(), value));
    request.arguments = script.named.into_iter().chain(positional).collect();
    let mut configuration = configuration(&script.config)?;
    if let Some(threads) = script.threads {
        configuration.set("fulgurite.threads", &threads.to_string())?;
    }
    let session = Session::new(configuration).with_calibration(Calibration::of_this_machine());
    Ok((request, session))
}

fn configuration(entries: &[(String, String)]) -> Result<Config> {
    let mut configuration = Config::default();
    for (key, value) in entries {
        configuration.set(key, value)?;
    }
    Ok(configuration)
}
