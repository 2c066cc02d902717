//! The standard output and the standard error, which others may close.

use std::{
    io::{ErrorKind, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use fulgurite_error::{Error, Result};

/// Whether a write has found that nobody reads the standard output any more.
static NO_READER: AtomicBool = AtomicBool::new(false);

/// # Errors
/// `io`, where the standard output cannot be written to; [`has_no_reader`] says whether for lack of a reader.
pub fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    let written = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
    written.map_err(|error| {
        if error.kind() == ErrorKind::BrokenPipe {
            NO_READER.store(true, Ordering::Relaxed);
        }
        Error::io(format!("cannot write to the standard output: {error}"))
    })
}

pub fn has_no_reader() -> bool {
    NO_READER.load(Ordering::Relaxed)
}

/// A line on the standard error. Where that cannot be written to, there is nowhere to say so.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
