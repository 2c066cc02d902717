//! The `fulgurite` command: runs, explains and checks scripts without a JVM.
//!
//! [`options`] declares what can be typed; [`systemml`] turns SystemML's single-dash options into it; [`commands`]
//! does the work.

#![forbid(unsafe_code)]

mod commands;
mod options;
mod systemml;

use std::{io::IsTerminal, process::ExitCode};

use clap::Parser;
use fulgurite_matrix::memory;
use fulgurite_runtime::panics;

use crate::{commands::Failure, options::Cli};

#[global_allocator]
static ALLOCATOR: memory::ballast::Allocator = memory::ballast::Allocator;

/// A script, or what it asked for, failed.
const FAILED: u8 = 1;
/// What was typed is not understood.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    memory::keep_freed_memory();
    memory::ballast::hold();
    panics::install_hook();
    let filter = tracing_subscriber::EnvFilter::builder()
        .with_default_directive(tracing_subscriber::filter::LevelFilter::WARN.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(std::env::var_os("RUST_LOG").is_some())
        .without_time()
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
            ExitCode::from(FAILED)
        }
        Err(Failure::Usage(error)) => {
            eprintln!("{error}");
            ExitCode::from(USAGE)
        }
    }
}
