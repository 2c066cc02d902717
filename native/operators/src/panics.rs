//! Panics become errors with a message and a backtrace.
//!
//! By the time a panic is caught, its stack is gone; a hook notes it when it happens. Panics of worker threads come
//! to the calling thread without passing the hook again, so notes are found by their message.

use std::{
    any::Any,
    backtrace::Backtrace,
    collections::VecDeque,
    panic::{self, PanicHookInfo},
    sync::{Mutex, Once, PoisonError},
};

use fulgurite_error::{Error, Result};

/// Panics noted and not yet reported: one for each thread that panics at the same time.
const REMEMBERED: usize = 16;

static NOTES: Mutex<VecDeque<Note>> = Mutex::new(VecDeque::new());

struct Note {
    message: String,
    location: String,
    backtrace: Backtrace,
}

/// Sets the hook, once. The hook is this library's own: it carries its own copy of Rust's runtime.
pub fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| panic::set_hook(Box::new(note)));
}

fn note(info: &PanicHookInfo<'_>) {
    let note = Note {
        message: message(info.payload()),
        location: info
            .location()
            .map_or_else(|| "an unknown place".into(), ToString::to_string),
        backtrace: Backtrace::force_capture(),
    };
    tracing::debug!("panic at {}: {}", note.location, note.message);
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.len() == REMEMBERED {
        notes.pop_front();
    }
    notes.push_back(note);
}

fn message(payload: &(dyn Any + Send)) -> String {
    // Formatted messages are `String`s, literals are `&str`s.
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| {
            payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
        })
        .unwrap_or_else(|| "a panic without a message".into())
}

/// Runs something; a panic of it, or of a library that it calls, is an error.
///
/// # Errors
/// Its own; `internal` for a panic.
pub fn caught<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    caught_as(|error| error, run)
}

/// As [`caught`], for errors that hold one of ours.
///
/// # Errors
/// Its own; `internal` for a panic.
pub fn caught_as<R, E>(
    of: impl FnOnce(Error) -> E,
    run: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    // What was being changed is dropped with it: values are shared as immutable ones.
    panic::catch_unwind(panic::AssertUnwindSafe(run))
        .unwrap_or_else(|payload| Err(of(error(payload))))
}

/// The error that stands for a caught panic.
pub fn error(payload: Box<dyn Any + Send>) -> Error {
    let message = message(payload.as_ref());
    // Dropping a payload may panic once more.
    std::mem::forget(payload);
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    let noted = notes
        .iter()
        .rposition(|note| note.message == message)
        .and_then(|index| notes.remove(index));
    drop(notes);
    match noted {
        Some(note) => Error::internal(format!(
            "native code panicked at {}: {message}",
            note.location
        ))
        .with_help(format!(
            "this is a bug in Fulgurite: please report it, with this text\n{}",
            note.backtrace
        )),
        None => Error::internal(format!("native code panicked: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caught(run: impl FnOnce() + panic::UnwindSafe) -> Error {
        install_hook();
        error(panic::catch_unwind(run).unwrap_err())
    }

    #[test]
    fn formatted_and_literal_messages_survive() {
        let number = 7;
        let formatted = caught(|| panic!("formatted {number}"));
        assert!(
            formatted
                .message()
                .starts_with("native code panicked at native/operators/src/panics.rs:"),
            "{formatted}"
        );
        assert!(
            formatted.message().ends_with(": formatted 7"),
            "{formatted}"
        );
        assert!(
            caught(|| panic!("literal"))
                .message()
                .ends_with(": literal")
        );
        assert!(
            caught(|| panic::panic_any(3u8))
                .message()
                .ends_with(": a panic without a message")
        );
    }

    #[test]
    fn the_backtrace_is_that_of_the_panic() {
        #[inline(never)]
        fn the_function_to_blame() {
            panic!("on another thread");
        }
        let error = caught(|| {
            let worker = std::thread::spawn(the_function_to_blame);
            panic::resume_unwind(worker.join().unwrap_err());
        });
        assert!(
            error.help().unwrap().contains("the_function_to_blame"),
            "{error}"
        );
    }
}
