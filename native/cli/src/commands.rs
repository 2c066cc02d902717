//! What the subcommands do.

use fulgurite_error::{Error, Result};
use fulgurite_runtime::{
    Config, Execution, Request, Session, calibration::Calibration, check, config, execute, explain,
};

use crate::options::{Cli, Command, Script};

pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Run {
            script,
            stats,
            explain: level,
        } => {
            let (request, session) = prepare(script)?;
            if let Some(level) = level {
                eprintln!("{}", explain(&request, &session, level)?);
            }
            let execution = Execution {
                request,
                ..Execution::default()
            };
            let outcome = execute(execution, &session)?;
            if stats {
                eprintln!("{}", outcome.report);
            }
            Ok(())
        }
        Command::Explain { script, level } => {
            let (request, session) = prepare(script)?;
            print!("{}", explain(&request, &session, level)?);
            Ok(())
        }
        Command::Check { script } => {
            let (request, session) = prepare(script)?;
            check(&request, &session)
        }
        Command::Config { calibrate, entries } => {
            let configuration = configuration(&entries)?;
            let calibration = Calibration::of_this_machine();
            if calibrate {
                calibration.measured(configuration.effective_threads())?;
            }
            print!(
                "{}\n{}",
                config::to_text(),
                calibration.describe(&configuration)
            );
            Ok(())
        }
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
