//! The `fulgurite` command: runs, explains and checks scripts without a JVM.
//!
//! [`options`] declares what can be typed; [`systemml`] turns SystemML's single-dash options into it; [`commands`]
//! does the work; [`diagnostics`] reports what is wrong with a script; [`output`] writes what comes of it; [`ctrl_c`] ends it.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod commands;
mod ctrl_c;
mod diagnostics;
mod options;
mod output;
mod systemml;

use std::{ffi::OsString, io::IsTerminal, process::ExitCode};

use clap::Parser;
use fulgurite_error::ErrorKind;
use fulgurite_matrix::memory;
use fulgurite_operators::panics;

use crate::{commands::Failure, options::Cli, output::tell};

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

/// A script, or what it asked for, failed.
const FAILED: u8 = 1;
/// What was typed is not understood.
const USAGE: u8 = 2;
/// Nobody reads the standard output any more: what a shell shows for commands that end by SIGPIPE.
const NO_READER: u8 = 128 + 13;

fn main() -> ExitCode {
    memory::share_limited_addresses();
    memory::keep_freed_memory();
    memory::keep_freed_blocks();
    memory::ballast::hold();
    panics::install_hook();
    let filter = tracing_subscriber::EnvFilter::builder()
        .with_default_directive(tracing_subscriber::filter::LevelFilter::WARN.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // It would tell of a standard error that cannot be written to, there.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(std::env::var_os("RUST_LOG").is_some())
        .without_time()
        .init();
    let typed = std::env::args_os().map(text).collect::<Result<_, _>>();
    let typed = match typed.and_then(systemml::translate) {
        Ok(typed) => typed,
        Err(message) => {
            tell(&format!(
                "error: {message}\n\nFor more information, try '--help'."
            ));
            return ExitCode::from(USAGE);
        }
    };
    // Exits with 2 on wrong usage, with 0 on --help and --version.
    let cli = Cli::parse_from(typed);
    match panics::caught_as(Failure::Script, || commands::run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Script(_)) if output::has_no_reader() => ExitCode::from(NO_READER),
        Err(Failure::Script(error)) => {
            tell(&error.to_string());
            ExitCode::from(match error.kind() {
                ErrorKind::Interrupted => ctrl_c::INTERRUPTED,
                _ => FAILED,
            })
        }
        Err(Failure::Reported) => ExitCode::from(FAILED),
        Err(Failure::Usage(error)) => {
            tell(&error.to_string());
            ExitCode::from(USAGE)
        }
    }
}

fn text(typed: OsString) -> Result<String, String> {
    typed
        .into_string()
        .map_err(|typed| format!("the argument {} is not UTF-8", typed.to_string_lossy()))
}
