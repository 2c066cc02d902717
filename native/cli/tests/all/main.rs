//! The command, as a process.

mod command;
#[cfg(unix)]
mod docs;
mod files;
#[cfg(unix)]
mod language;
mod memory;
mod no_executable_memory;
