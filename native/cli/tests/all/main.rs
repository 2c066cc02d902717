//! The command, as a process.

mod command;
mod docs;
mod files;
mod memory;
mod no_executable_memory;
