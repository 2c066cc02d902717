//! The `fulgurite` command: runs, explains and checks scripts without a JVM.
//!
//! [`options`] declares what can be typed; [`systemml`] turns SystemML's single-dash options into it; [`commands`]
//! does the work; [`ctrl_c`] ends it.

#![forbid(unsafe_code)]

mod commands;
mod ctrl_c;
mod options;
mod systemml;

use std::process::ExitCode;

use clap::Parser;
use fulgurite_error::ErrorKind;

use crate::{commands::Failure, options::Cli};

/// A script, or what it asked for, failed.
const FAILED: u8 = 1;
/// What was typed is not understood.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    fulgurite_matrix::memory::keep_freed_memory();
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let typed = match systemml::translate(std::env::args().collect()) {
        Ok(typed) => typed,
        Err(message) => {
            eprintln!("error: {message}\n\nFor more information, try '--help'.");
            return ExitCode::from(USAGE);
        }
    };
    // Exits with 2 on wrong usage, with 0 on --help and --version.
    let cli = Cli::parse_from(typed);
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Script(error)) => {
            eprintln!("{error}");
            ExitCode::from(match error.kind() {
                ErrorKind::Interrupted => ctrl_c::INTERRUPTED,
                _ => FAILED,
            })
        }
        Err(Failure::Usage(error)) => {
            eprintln!("{error}");
            ExitCode::from(USAGE)
        }
    }
}
